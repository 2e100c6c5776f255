//! The movement of pages: the decision, the commit, and the translations that it makes outdated.

use rustc_hash::FxHashMap;
use units::{CpuId, NodeId, PageAddr, PhysicalAddr, VirtualAddr};

use super::paging::{Page, PageNumber, Paging};
use super::transfer::Transfer;
use super::translations::Translation;
use crate::map::node_of;
use crate::memory::Memory;

/// The way in which a processor finds that its translation of a page is outdated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discovery {
    /// A reference to a poisoned line of the old frame ends in a bus error (Prestor 2001, 3.2.1, Protocol Optimizations).
    BusErrors,
    /// The kernel interrupts every processor that may have the translation before the frame is given up.
    Shootdown,
    /// The kernel interrupts the processors of the frame's own node; a reference of any other to a line of the frame, which is
    /// poisoned, ends in a bus error (Lai and Falsafi 2000, Section 3.1).
    Poison,
}

impl Discovery {
    /// Whether references to poisoned lines end in bus errors.
    pub const fn has_bus_errors(self) -> bool {
        matches!(self, Self::BusErrors | Self::Poison)
    }
}

/// An operation on a page that counters of its home's memory have selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageOperation {
    /// The page migrates to the memory of this node.
    Migrate(NodeId),
    /// The page becomes only-read, and is copied to every node that reads it.
    Replicate,
}

/// By frame, the processors to interrupt before it is given up that have been given a translation to it, in the order of their
/// numbers. A TLB drops its entries without notice, so a processor on the list may have none any longer.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    by_frame: FxHashMap<PageAddr, Vec<CpuId>>,
    /// Whether only processors of a frame's own node are interrupted.
    pub(super) own_node: bool,
}

impl Holders {
    /// Those of a machine where outdated translations are found in this way, if any are interrupted.
    pub(super) fn new(discovery: Option<Discovery>) -> Option<Self> {
        let own_node = discovery == Some(Discovery::Poison);
        (own_node || discovery == Some(Discovery::Shootdown)).then(|| Self { own_node, ..Self::default() })
    }

    /// A processor of `node` is given a translation to the frame that begins at `start`.
    pub(super) fn add(&mut self, start: PhysicalAddr, frame: PageAddr, cpu: CpuId, node: NodeId) {
        if self.own_node && node_of(start) != node {
            return;
        }
        let holders = self.by_frame.entry(frame).or_default();
        if let Err(place) = holders.binary_search(&cpu) {
            holders.insert(place, cpu);
        }
    }
}

impl Paging {
    /// The page that is, or was, in the frame of `at`, if any.
    pub fn owner(&self, at: PhysicalAddr) -> Option<PageNumber> {
        self.owners.get(&at.page(self.page())).copied()
    }

    /// Decides whether the page at `at` migrates to node `to`, and allocates its frame there. It does not if it is
    /// moving already, is at its migration limit, has left this frame, or finds no room.
    pub fn begin_move(&mut self, at: PhysicalAddr, to: NodeId, memory: &mut Memory) -> Option<Transfer> {
        let page = self.owner(at)?;
        let Page { frame, moves, .. } = self.pages[page.0];
        frame.filter(|frame| frame.page(self.page()) == at.page(self.page()) && moves < self.spec.migration_limit)?;
        self.begin_move_of(page, to, memory)
    }

    /// Migrates the page of `at` on request of the program, without the migration limit.
    pub fn begin_requested_move(&mut self, at: VirtualAddr, to: NodeId, memory: &mut Memory) -> Option<Transfer> {
        let page = self.number(at);
        self.pages.get(page.0)?;
        self.begin_move_of(page, to, memory)
    }

    /// The measured part of a program begins. Returns whether it is the first one at which pages are to move to the nodes that touch
    /// them next.
    pub fn begins_measured_part(&mut self) -> bool {
        std::mem::take(&mut self.touch_again)
    }

    /// Every page that has been placed moves to the node that touches it next. Processors must lose their translations
    /// ([`Paging::forget_all`]) to find that out.
    pub fn touch_again(&mut self) {
        for page in &mut self.pages {
            page.touch_again = page.frame.is_some();
        }
    }

    /// A processor of `node` touches a page. If the page moves there for it, the processor waits for the transfer.
    pub(super) fn touched_again(&mut self, cpu: CpuId, page: PageNumber, memory: &mut Memory) -> Option<Transfer> {
        if !std::mem::take(&mut self.pages[page.0].touch_again) {
            return None;
        }
        let transfer = self.begin_move_of(page, self.nodes[cpu.index()], memory)?;
        self.changing.entry(page).or_insert((1, Vec::new())).1.push(cpu);
        Some(transfer)
    }

    /// Takes all translations of a processor away.
    pub fn forget_all(&mut self, cpu: CpuId) {
        for page in 0..self.pages.len() {
            self.known[cpu.index()].set(page, Translation::NONE);
        }
    }

    fn begin_move_of(&mut self, page: PageNumber, to: NodeId, memory: &mut Memory) -> Option<Transfer> {
        let Page { frame, next, moves, .. } = self.pages[page.0];
        let from = frame?;
        if self.is_large(page) {
            return None;
        }
        let copied = self.copies.contains_key(&page) || self.changing.contains_key(&page);
        if copied || next.is_some() || node_of(from) == to || memory.free_frames(to) == 0 {
            return None;
        }
        // Early versions of IRIX did not keep the colour (Prestor 2001, 3.3.2).
        let colour = self.colour(page).filter(|_| self.spec.migration_keeps_colour);
        let frame = memory.frame(to, colour)?;
        memory.map.frames.bind(frame, from);
        let state = &mut self.pages[page.0];
        (state.next, state.moves) = (Some(frame), moves + 1);
        if self.holders.is_some() {
            self.changing.insert(page, (1, Vec::new()));
        }
        Some(Transfer::Move(page, from, frame))
    }

    /// Whether a page is moving.
    pub fn is_moving(&self, page: PageNumber) -> bool {
        self.pages[page.0].next.is_some()
    }

    /// Whether the mapper of a page is locked: it is moving, or is being gathered or copied where that takes translations away.
    pub fn is_locked(&self, page: PageNumber) -> bool {
        self.is_moving(page) || self.loses_holders(page)
    }

    /// Whether translations of a page are being taken away.
    pub(super) fn loses_holders(&self, page: PageNumber) -> bool {
        self.holders.is_some() && self.changing.contains_key(&page)
    }

    /// The page has been moved, and its old frame is given up. Returns the processors that go on.
    pub fn end_move(&mut self, page: PageNumber, memory: &mut Memory) -> Vec<CpuId> {
        let Page { frame, next, .. } = self.pages[page.0];
        if let (Some(before), Some(next)) = (frame, next) {
            memory.map.frames.release(next);
            self.counters.placed[node_of(before).index()] -= 1;
            self.counters.migrations += 1;
            self.put(page, next);
            self.pages[page.0].next = None;
        }
        self.end_change(page)
    }

    /// A processor's address of the data that were at `at` before that frame was given up, if a page was there.
    pub fn moved(&self, cpu: CpuId, at: PhysicalAddr, memory: &Memory) -> Option<PhysicalAddr> {
        let frame = self.nearest(self.owner(at)?, self.nodes[cpu.index()], memory)?;
        Some(frame.offset(at.0 & (self.page().0 - 1)))
    }

    /// The processors that may have translations to a frame, which are about to be taken away.
    pub fn take_holders(&mut self, frame: PhysicalAddr) -> Vec<CpuId> {
        let (page, holders) = (frame.page(self.page()), self.holders.as_mut());
        holders.and_then(|holders| holders.by_frame.remove(&page)).unwrap_or_default()
    }

    /// Takes a processor's translation of a page away.
    pub fn forget(&mut self, cpu: CpuId, page: PageNumber) {
        self.known[cpu.index()].set(page.0, Translation::NONE);
    }

    /// The first address of a page.
    pub fn start(&self, page: PageNumber) -> VirtualAddr {
        VirtualAddr(page.0 as u64 * self.page().0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::paging::tests::{PAGE, paging};
    use super::*;

    #[test]
    fn a_page_moves_as_often_as_it_may_and_is_found_from_where_it_was() {
        let (mut paging, mut memory) = paging(|_| ());
        let start = paging.map(&[Some(NodeId(2)), Some(NodeId(2))], &mut memory).expect("there is room");
        let second = start.offset(PAGE.0 + 8);
        let before = paging.frame_of(second).expect("it was asked for");
        let moving = paging.begin_move(before, NodeId(0), &mut memory).expect("it may move");
        assert_eq!(paging.begin_move(before, NodeId(1), &mut memory), None, "it is on its way");
        let page = paging.owner(before).expect("a page is there");
        assert!(
            matches!(moving, Transfer::Move(..)) && paging.is_moving(page) && paging.frame_of(second) == Some(before)
        );
        paging.end_move(page, &mut memory);
        let after = paging.frame_of(second).expect("it is somewhere");
        assert_eq!(paging.moved(CpuId(0), before, &memory), Some(after));
        assert_eq!(after.0 >> 14 & 3, before.0 >> 14 & 3, "of the same colour");
        assert_eq!(paging.counters().placed, [1, 0, 1, 0]);
        assert_eq!(paging.begin_move(before, NodeId(1), &mut memory), None, "it has left");
        assert_eq!(paging.begin_move(after, NodeId(1), &mut memory), None, "it has moved often enough");
        let first = paging.frame_of(start).expect("it was asked for");
        assert_eq!(paging.begin_move(first, NodeId(2), &mut memory), None, "it is there");
    }

    #[test]
    fn the_early_fault_of_irix_forgets_the_colour() {
        let (mut paging, mut memory) = paging(|spec| spec.migration_keeps_colour = false);
        let start = paging.map(&[Some(NodeId(2)); 2], &mut memory).expect("there is room");
        let before = paging.frame_of(start.offset(PAGE.0)).expect("it was asked for");
        let moving = paging.begin_move(before, NodeId(0), &mut memory).expect("it may move");
        let Transfer::Move(_, _, to) = moving else { panic!("{moving:?}") };
        assert_ne!(to.0 >> 14 & 3, before.0 >> 14 & 3);
    }

    #[test]
    fn a_frame_stands_for_the_page_only_while_it_moves() {
        let (mut paging, mut memory) = paging(|_| ());
        let at = paging.map(&[Some(NodeId(2))], &mut memory).expect("there is room");
        let before = paging.frame_of(at).expect("it was asked for");
        let Some(Transfer::Move(page, from, to)) = paging.begin_move(before, NodeId(1), &mut memory) else {
            panic!("it may move");
        };
        assert_eq!((from, memory.map.frames.remote(to)), (before, Some(before)));
        assert_eq!(memory.map.frames.local(NodeId(1), before.offset(200)), Some(to.offset(200)));
        paging.end_move(page, &mut memory);
        assert_eq!((memory.map.frames.remote(to), memory.map.frames.count(NodeId(1))), (None, 0));
    }

    #[test]
    fn whoever_had_a_translation_is_interrupted_once() {
        let (mut paging, mut memory) = paging(|_| ());
        paging.holders = Some(Holders::default());
        let at = paging.map(&[Some(NodeId(2))], &mut memory).expect("there is room");
        let frame = paging.frame_of(at).expect("it was asked for");
        for cpu in [5, 1, 5] {
            paging.inform(CpuId(cpu), at, &memory);
        }
        let page = paging.owner(frame).expect("a page is there");
        assert!(paging.begin_move(frame, NodeId(0), &mut memory).is_some());
        assert_eq!(paging.take_holders(frame), [CpuId(1), CpuId(5)]);
        assert_eq!(paging.take_holders(frame), []);
        paging.forget(CpuId(5), page);
        assert_eq!(paging.known(CpuId(5)).look_up(at, false), None);
        assert!(paging.known(CpuId(1)).look_up(at, false).is_some(), "its interrupt is under way");
    }
}
