//! Replication of pages that are only read, near their readers (Prestor 2001, 3.3.2, Automatic Memory Locality
//! Management).
//!
//! A page counts as only read until the first store to it. Its translations are read-only, so that the first store
//! traps; the copies are then given up for good. Where counters of the homes select pages, a page is only read from its selection to
//! the next store (Lai and Falsafi 2000, Section 3.1).

use units::{CpuId, NodeId, PhysicalAddr, VirtualAddr};

use super::paging::{Page, PageNumber, Paging};
use super::transfer::Transfer;
use crate::map::node_of;
use crate::memory::Memory;

/// The next step of a processor that references a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reference {
    /// None: its translation is up to date.
    Known,
    /// First touch: the page is not placed yet.
    Untouched,
    /// Wait until copies have been made or given up, by these transfers unless they are already under way.
    Wait(Vec<Transfer>),
}

impl Paging {
    /// A processor of node `node` references `at`, with a store if `writes`.
    pub fn refer(&mut self, cpu: CpuId, node: NodeId, at: VirtualAddr, writes: bool, memory: &mut Memory) -> Reference {
        let page = self.number(at);
        if self.pages[page.0].frame.is_none() {
            return Reference::Untouched;
        }
        if let Some((_, waiting)) = self.changing.get_mut(&page) {
            // A processor that asks again while it waits goes on once.
            if !waiting.contains(&cpu) {
                waiting.push(cpu);
            }
            return Reference::Wait(Vec::new());
        }
        if let Some(transfer) = self.touched_again(cpu, page, memory) {
            return Reference::Wait(vec![transfer]);
        }
        let transfers = self.prepare(page, node, writes, memory);
        if transfers.is_empty() {
            self.inform(cpu, at, memory);
            return Reference::Known;
        }
        self.changing.entry(page).or_default().1.push(cpu);
        Reference::Wait(transfers)
    }

    /// The transfers that are to come before a processor of `node` is given a translation of a page, for a store if `writes`.
    pub fn prepare(&mut self, page: PageNumber, node: NodeId, writes: bool, memory: &mut Memory) -> Vec<Transfer> {
        let transfers = if writes { self.store(page, memory) } else { self.read(page, node, memory) };
        if !transfers.is_empty() {
            self.changing.insert(page, (transfers.len() as u32, Vec::new()));
        }
        transfers
    }

    /// A page that has just been placed is used by the processor whose fault placed it, without a copy however far away it is: the
    /// fault handler copies a page only from a frame that it finds in memory, and there was none (Prestor 2001, 3.3.2).
    pub fn use_placed(&mut self, cpu: CpuId, at: VirtualAddr, writes: bool, memory: &Memory) {
        let PageNumber(page) = self.number(at);
        self.pages[page].stored |= writes;
        self.inform(cpu, at, memory);
    }

    /// The first store to the page: only its first frame remains.
    fn store(&mut self, page: PageNumber, memory: &Memory) -> Vec<Transfer> {
        let only_read = !std::mem::replace(&mut self.pages[page.0].stored, true);
        if only_read && self.copies_everywhere() {
            self.reopened.push(page);
        }
        let copies = self.copies(page, memory).collect::<Vec<_>>();
        self.copies.remove(&page);
        self.counters.collapses += u64::from(!copies.is_empty());
        copies.into_iter().map(|frame| Transfer::Purge(page, frame)).collect()
    }

    /// A read of the page on `node`: an only-read page without a nearby copy is copied there. From then on the frame of the copy
    /// stands for the page.
    fn read(&mut self, page: PageNumber, node: NodeId, memory: &mut Memory) -> Vec<Transfer> {
        let from = self.far(page, node, memory);
        let (Some(from), Some(first)) = (from, self.pages[page.0].frame) else { return Vec::new() };
        let room = (memory.free_frames(node) > 0).then(|| memory.frame(node, self.colour(page))).flatten();
        match room {
            Some(to) => {
                memory.map.frames.bind(to, first);
                vec![Transfer::Copy(page, from, to)]
            }
            // A node without room reads the page where it is, which poison does not let it.
            None if self.copies_everywhere() => self.store(page, memory),
            None => Vec::new(),
        }
    }

    /// Whether every node that reads a copied page needs a copy of its own, because the first frame is poisoned.
    fn copies_everywhere(&self) -> bool {
        self.counted && self.holders.as_ref().is_some_and(|holders| holders.own_node)
    }

    /// The first frame of a page that other nodes may use there again, because it is stored to and all copies have been given up.
    pub fn take_reopened(&mut self, page: PageNumber) -> Option<PhysicalAddr> {
        if self.changing.contains_key(&page) {
            return None;
        }
        let place = self.reopened.iter().position(|&other| other == page)?;
        self.reopened.swap_remove(place);
        self.pages[page.0].frame
    }

    /// The copy of an only-read page that is nearest to `node`, if that is too far away.
    pub(super) fn far(&self, page: PageNumber, node: NodeId, memory: &Memory) -> Option<PhysicalAddr> {
        let alone = !self.spec.replication || self.pages[page.0].stored || self.is_moving(page);
        let from = self.nearest(page, node, memory).filter(|_| !alone)?;
        let far = match self.copies_everywhere() {
            true => node_of(from) != node,
            false => self.policy.hops(node, node_of(from)) > self.spec.coverage_radius,
        };
        far.then_some(from)
    }

    /// The copy of a page that is nearest to a node, its own before all; the oldest of equally near ones.
    pub fn nearest(&self, page: PageNumber, node: NodeId, memory: &Memory) -> Option<PhysicalAddr> {
        let frames = self.pages[page.0].frame.into_iter().chain(self.copies(page, memory));
        frames.min_by_key(|&frame| (self.policy.hops(node, node_of(frame)), node_of(frame) != node))
    }

    /// The frames of a page's copies besides the first frame, oldest first.
    fn copies<'a>(&'a self, page: PageNumber, memory: &'a Memory) -> impl Iterator<Item = PhysicalAddr> + 'a {
        let (first, nodes) = (self.pages[page.0].frame, self.copies.get(&page).into_iter().flatten());
        nodes.filter_map(move |&node| memory.map.frames.local(node, first?))
    }

    /// The page at `at` becomes only-read, if counters select pages, and is gathered from all caches. It does not if it is moving or
    /// copied already, or has left this frame.
    pub fn begin_replication(&mut self, at: PhysicalAddr) -> Option<Transfer> {
        let page = self.owner(at)?;
        let Page { frame, stored, .. } = self.pages[page.0];
        let frame = frame.filter(|frame| frame.page(self.page()) == at.page(self.page()))?;
        if !self.spec.replication || !stored || self.is_moving(page) || self.changing.contains_key(&page) {
            return None;
        }
        self.pages[page.0].stored = false;
        self.changing.insert(page, (1, Vec::new()));
        Some(Transfer::Gather(page, frame))
    }

    /// The page has been copied to `frame`.
    pub fn end_copy(&mut self, page: PageNumber, frame: PhysicalAddr) -> Vec<CpuId> {
        self.copies.entry(page).or_default().push(node_of(frame));
        self.own(page, frame);
        self.counters.replications += 1;
        self.end_change(page)
    }

    /// The page's copy in `frame` has been given up.
    pub fn end_purge(&mut self, page: PageNumber, frame: PhysicalAddr, memory: &mut Memory) -> Vec<CpuId> {
        memory.map.frames.release(frame);
        self.counters.placed[node_of(frame).index()] -= 1;
        self.end_change(page)
    }

    /// One of the transfers that processors wait for is complete. Returns the processors that go on.
    pub fn end_change(&mut self, page: PageNumber) -> Vec<CpuId> {
        let Some((left, _)) = self.changing.get_mut(&page) else { return Vec::new() };
        *left -= 1;
        if *left > 0 {
            return Vec::new();
        }
        self.changing.remove(&page).map(|(_, waiting)| waiting).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::paging::tests::paging;
    use super::*;

    #[test]
    fn a_page_is_copied_to_far_readers_until_somebody_stores_to_it() {
        let (mut paging, mut memory) = paging(|spec| (spec.replication, spec.coverage_radius) = (true, 1));
        let at = paging.map(&[Some(NodeId(0))], &mut memory).expect("there is room");
        let mut refer = |cpu, node, writes| {
            let reference = paging.refer(CpuId(cpu), NodeId(node), at, writes, &mut memory);
            let done = match &reference {
                Reference::Wait(transfers) => match transfers.as_slice() {
                    [Transfer::Copy(page, _, to)] => paging.end_copy(*page, *to),
                    [Transfer::Purge(page, frame)] => paging.end_purge(*page, *frame, &mut memory),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            (reference, done, paging.counters().clone())
        };
        assert_eq!(refer(2, 1, false).0, Reference::Known, "the node at the same router is near enough");
        let (copying, done, counters) = refer(4, 2, false);
        assert!(matches!(copying, Reference::Wait(transfers) if transfers.len() == 1));
        assert_eq!((done, counters.replications, counters.placed), (vec![CpuId(4)], 1, vec![1, 0, 1, 0]));
        assert_eq!(refer(6, 3, false).0, Reference::Known, "near the copy");
        let (collapsing, done, counters) = refer(6, 3, true);
        assert!(matches!(collapsing, Reference::Wait(transfers) if transfers.len() == 1));
        assert_eq!((done, counters.collapses, counters.placed), (vec![CpuId(6)], 1, vec![1, 0, 0, 0]));
        assert_eq!(refer(6, 3, true).0, Reference::Known);
        assert_eq!(refer(4, 2, false).0, Reference::Known, "never again");
    }

    #[test]
    fn who_comes_while_a_page_is_copied_waits_too() {
        let (mut paging, mut memory) = paging(|spec| (spec.replication, spec.coverage_radius) = (true, 0));
        let at = paging.map(&[Some(NodeId(0))], &mut memory).expect("there is room");
        let first = paging.refer(CpuId(4), NodeId(2), at, false, &mut memory);
        let Reference::Wait(transfers) = first else { panic!("{first:?}") };
        assert_eq!(paging.refer(CpuId(6), NodeId(3), at, true, &mut memory), Reference::Wait(Vec::new()));
        let [Transfer::Copy(page, _, to)] = transfers[..] else { panic!("{transfers:?}") };
        assert_eq!(paging.end_copy(page, to), [CpuId(4), CpuId(6)]);
    }
}
