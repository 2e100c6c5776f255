//! Virtual memory: virtual pages and their frames, first touch, and the selection of pages to migrate.

use machine::Topology;
use machine::description::{OsSpec, TlbSpec};
use rustc_hash::FxHashMap;
use units::{Bytes, CpuId, Duration, NodeId, PageAddr, PhysicalAddr, VirtualAddr};

use super::movement::{Discovery, Holders};
use super::placement::{Policy, Preference};
use super::translations::{Translation, Translations};
use crate::map::node_of;
use crate::memory::Memory;

/// Counts of the operating system's memory management since the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PagingCounters {
    /// Pages and copies on each node at present.
    pub placed: Vec<u64>,
    /// Pages that spilled to another node than the policy's because that one was full.
    pub spilled: u64,
    /// Page faults: pages placed at their first touch.
    pub faults: u64,
    /// Interrupts by reference counters.
    pub interrupts: u64,
    /// Pages that moved to another node.
    pub migrations: u64,
    /// Copies made of pages that were only read.
    pub replications: u64,
    /// Pages whose copies were given up after a store.
    pub collapses: u64,
    /// Traps on poisoned lines of old frames.
    pub bus_errors: u64,
    /// Interrupts of processors that took outdated translations away.
    pub shootdowns: u64,
}

/// A virtual page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page {
    /// The node that the program requests.
    planned: Option<NodeId>,
    /// The processor with the first touch.
    toucher: Option<CpuId>,
    /// The frame; of several copies, the first.
    pub(super) frame: Option<PhysicalAddr>,
    /// The frame that it is moving to.
    pub(super) next: Option<PhysicalAddr>,
    /// Number of migrations begun.
    pub(super) moves: u32,
    /// Whether it has been stored to since it was last only read, so that its translations permit stores.
    pub(super) stored: bool,
    /// Whether it moves to the node that touches it next.
    pub(super) touch_again: bool,
}

/// The number of a virtual page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageNumber(pub(super) usize);

/// The pages of the programs on a machine.
pub struct Paging {
    pub(super) spec: OsSpec,
    pub(super) policy: Policy,
    page: Bytes,
    /// Pages that one TLB entry covers.
    entry_pages: usize,
    /// Pages of a large page; 0 if there are none.
    large_pages: usize,
    /// The address space by large pages: whether each is mapped by one.
    large: Vec<bool>,
    pub(super) pages: Vec<Page>,
    /// The page of each frame, old frames included: those are not reused, because a processor may still map them.
    pub(super) owners: FxHashMap<PageAddr, PageNumber>,
    /// The node of each processor.
    pub(super) nodes: Vec<NodeId>,
    /// The nodes with copies of replicated pages besides the first frame, oldest first; the address map has the frames.
    pub(super) copies: FxHashMap<PageNumber, Vec<NodeId>>,
    /// Pages that faults wait for, because copies are made or given up, or a move takes translations away: the transfers still
    /// to come, and the processors that wait for them.
    pub(super) changing: FxHashMap<PageNumber, (u32, Vec<CpuId>)>,
    /// The processors to interrupt before a frame is given up, where outdated translations are taken away.
    pub(super) holders: Option<Holders>,
    /// Pages that other nodes may use in their first frame again, when the transfers that they wait for are complete.
    pub(super) reopened: Vec<PageNumber>,
    /// The translations of each processor; the same for all if pages never move.
    pub(super) known: Vec<Translations>,
    /// Whether programs may request migrations.
    on_request: bool,
    /// Whether counters of the homes select the pages to replicate; otherwise every page is only read until the first store to it.
    pub(super) counted: bool,
    /// Whether the measured part of a program still is to begin, at which pages move to the nodes that touch them next.
    pub(super) touch_again: bool,
    pub(super) counters: PagingCounters,
}

impl Paging {
    /// No pages yet, of the TLB's page size, on a machine where outdated translations are found in this way.
    pub fn new(spec: &OsSpec, topology: &Topology, buffer: &TlbSpec, discovery: Option<Discovery>) -> Self {
        Self {
            spec: spec.clone(),
            policy: Policy::new(spec, topology),
            page: buffer.page,
            entry_pages: buffer.pages_per_entry as usize,
            large_pages: (buffer.large_page.0 / buffer.page.0) as usize,
            large: Vec::new(),
            pages: Vec::new(),
            owners: FxHashMap::default(),
            copies: FxHashMap::default(),
            changing: FxHashMap::default(),
            holders: Holders::new(discovery),
            reopened: Vec::new(),
            nodes: (0..topology.processors() as u16).filter_map(|cpu| topology.node_of(CpuId(cpu))).collect(),
            known: vec![Translations::default(); topology.processors() as usize],
            on_request: false,
            counted: false,
            touch_again: spec.touch_again,
            counters: PagingCounters { placed: vec![0; topology.nodes().len()], ..PagingCounters::default() },
        }
    }

    /// The same, where counters of the homes select the pages to replicate, or not.
    #[must_use]
    pub fn counted(self, counted: bool) -> Self {
        Self { counted, ..self }
    }

    /// The size of a page.
    pub fn page(&self) -> Bytes {
        self.page
    }

    /// The costs and limits in effect.
    pub fn spec(&self) -> &OsSpec {
        &self.spec
    }

    /// Maps consecutive virtual pages, each with the node that the program requests. Under a policy with planned
    /// placement, pages with a node are placed at once, as if the program had touched them before the measurement. A
    /// region of at least a large page begins at one and is mapped by large pages, as far as they are whole; each is
    /// placed as its first page is.
    ///
    /// # Errors
    /// The requested node has no room left.
    pub fn map(&mut self, planned: &[Option<NodeId>], memory: &mut Memory) -> Result<VirtualAddr, NodeId> {
        if self.large_pages > 0 && planned.len() >= self.large_pages {
            let first = self.pages.len().next_multiple_of(self.large_pages);
            self.pages.resize(first, Page::default());
            self.large.resize(first / self.large_pages, false);
            self.large.resize((first + planned.len()) / self.large_pages, true);
        }
        let first = self.pages.len();
        let stored = self.counted;
        self.pages.extend(planned.iter().map(|&planned| Page { planned, stored, ..Page::default() }));
        for number in (first..self.pages.len()).map(PageNumber) {
            let Page { planned, frame, .. } = self.pages[number.0];
            if let (Some(node), None) = (planned.filter(|_| self.policy.follows_plans()), frame) {
                self.place(number, node, memory).ok_or(node)?;
            }
        }
        self.renew_knowledge();
        Ok(VirtualAddr((first as u64) << self.page_shift()))
    }

    /// Allocates the frame of a page on `node` or, for a page of a large one, consecutive frames of all its pages.
    fn place(&mut self, page: PageNumber, node: NodeId, memory: &mut Memory) -> Option<()> {
        if !self.is_large(page) {
            let frame = memory.frame(node, self.colour(page))?;
            self.put(page, frame);
            return Some(());
        }
        let size = Bytes(self.large_pages as u64 * self.page.0);
        let start = memory.aligned(node, size)?;
        let first = page.0 - page.0 % self.large_pages;
        for number in 0..self.large_pages {
            self.put(PageNumber(first + number), start.offset(number as u64 * self.page.0));
        }
        Some(())
    }

    /// Whether a page is part of a large one.
    pub(super) fn is_large(&self, page: PageNumber) -> bool {
        self.large_pages > 0 && self.large.get(page.0 / self.large_pages) == Some(&true)
    }

    /// Free frames of a node for a page; of those for a large one, the frames that begin at a large page.
    fn room(&self, page: PageNumber, node: NodeId, memory: &Memory) -> u64 {
        match self.is_large(page) {
            true => memory.aligned_room(node, Bytes(self.large_pages as u64 * self.page.0)),
            false => memory.free_frames(node),
        }
    }

    /// The program requests node `node` for the page of `at`. Returns false for a page that is already placed, which
    /// stays there.
    pub fn plan(&mut self, at: VirtualAddr, node: NodeId) -> bool {
        let page = self.number(at).0;
        let unplaced = self.pages.get_mut(page).filter(|page| page.frame.is_none());
        unplaced.map(|page| page.planned = Some(node)).is_some()
    }

    /// Makes the processors' translations anew for the present number of pages. Where pages move, they start empty.
    fn renew_knowledge(&mut self) {
        let (pages, shift, changing) = (self.pages.len(), self.page_shift(), self.is_changing());
        let large_shift = shift + self.large_pages.max(1).trailing_zeros();
        if changing {
            self.known.fill_with(|| Translations::new(pages, shift, true).with_large(&self.large, large_shift));
            return;
        }
        let all = Translations::new(pages, shift, false).with_large(&self.large, large_shift);
        for (number, page) in self.pages.iter().enumerate() {
            all.set(number, page.frame.map_or(Translation::NONE, |frame| Translation::new(frame, true)));
        }
        self.known.fill(all);
    }

    /// Whether a processor's translation may become outdated.
    pub fn is_changing(&self) -> bool {
        self.spec.migration || self.spec.replication || self.spec.touch_again || self.on_request
    }

    /// Allows programs to request migrations, so that processors need translations of their own.
    pub fn let_move(&mut self) {
        self.on_request = true;
        self.renew_knowledge();
    }

    /// The translations of a processor.
    pub fn known(&self, cpu: CpuId) -> &Translations {
        &self.known[cpu.index()]
    }

    /// The counts so far.
    pub fn counters(&self) -> &PagingCounters {
        &self.counters
    }

    /// The counts so far, for changes.
    pub fn counters_mut(&mut self) -> &mut PagingCounters {
        &mut self.counters
    }

    /// The physical address of a virtual address, if its page has been placed.
    pub fn frame_of(&self, at: VirtualAddr) -> Option<PhysicalAddr> {
        let frame = self.pages.get(self.number(at).0)?.frame?;
        Some(frame.offset(at.0 & (self.page.0 - 1)))
    }

    /// Records a processor's first touch of the page of `at`.
    pub fn note_toucher(&mut self, at: VirtualAddr, cpu: CpuId) {
        let PageNumber(page) = self.number(at);
        self.pages[page].toucher = Some(cpu);
    }

    /// The processor with the first touch of the page of a virtual address, if it has been touched.
    pub fn toucher_of(&self, at: VirtualAddr) -> Option<CpuId> {
        self.pages.get(self.number(at).0)?.toucher
    }

    /// Gives a processor the translation of the page of `at`, and of its neighbours in a TLB entry, except those that
    /// need a copy.
    pub fn inform(&mut self, cpu: CpuId, at: VirtualAddr, memory: &Memory) {
        let page = self.number(at);
        let first = page.0 - page.0 % self.entry_pages;
        let node = self.nodes[cpu.index()];
        for other in (first..(first + self.entry_pages).min(self.pages.len())).map(PageNumber) {
            let kept = !self.loses_holders(other) && !self.pages[other.0].touch_again;
            if other == page || kept && self.far(other, node, memory).is_none() {
                self.tell(cpu, other, memory);
            }
        }
    }

    /// Gives a processor the translation of a page, if it is placed.
    pub fn tell(&mut self, cpu: CpuId, page: PageNumber, memory: &Memory) {
        let writable = self.pages[page.0].stored || !self.spec.replication;
        if let Some(frame) = self.nearest(page, self.nodes[cpu.index()], memory) {
            self.known[cpu.index()].set(page.0, Translation::new(frame, writable));
            if let Some(holders) = &mut self.holders {
                holders.add(frame, frame.page(self.page), cpu, self.nodes[cpu.index()]);
            }
        }
    }

    /// Places the page of `at` at its first touch, by a processor of node `node`. Returns the cost for the processor;
    /// `None` if no node has room.
    pub fn first_touch(&mut self, node: NodeId, at: VirtualAddr, memory: &mut Memory) -> Option<Duration> {
        let page = self.number(at);
        let planned = self.pages[page.0].planned.filter(|_| self.policy.follows_plans());
        let wish = planned.map_or_else(|| self.policy.wish(node), Preference::Node);
        let (node, spilled) = self.policy.serve(wish, |node| self.room(page, node, memory))?;
        self.place(page, node, memory)?;
        self.counters.spilled += u64::from(spilled);
        self.counters.faults += 1;
        Some(self.spec.page_fault)
    }

    pub(super) fn put(&mut self, page: PageNumber, frame: PhysicalAddr) {
        self.pages[page.0].frame = Some(frame);
        self.own(page, frame);
    }

    /// Records the frame as the page's.
    pub(super) fn own(&mut self, page: PageNumber, frame: PhysicalAddr) {
        self.owners.insert(frame.page(self.page), page);
        self.counters.placed[node_of(frame).index()] += 1;
    }

    pub(super) fn colour(&self, page: PageNumber) -> Option<u64> {
        self.spec.page_colouring.then_some(page.0 as u64)
    }

    /// The page of a virtual address.
    pub fn number(&self, at: VirtualAddr) -> PageNumber {
        PageNumber((at.0 >> self.page_shift()) as usize)
    }

    fn page_shift(&self) -> u32 {
        self.page.0.trailing_zeros()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use machine::description::PlacementKind;

    use super::*;

    pub const PAGE: Bytes = Bytes::from_kib(16);

    pub fn paging(change: impl Fn(&mut OsSpec)) -> (Paging, Memory) {
        let description = machine::load("origin2000-r12k-300-8p").expect("a machine");
        let mut spec = OsSpec { migration: true, migration_limit: 1, ..description.os.clone() };
        change(&mut spec);
        let topology = Topology::new(&description);
        let paging = Paging::new(&spec, &topology, &description.tlb, Some(Discovery::BusErrors));
        let lines = crate::map::LineMap::new(Bytes(128));
        (paging, Memory::new(4, Bytes::from_mib(1), PAGE, Bytes::from_kib(64), lines))
    }

    #[test]
    fn plans_are_placed_at_once_and_the_rest_at_first_touch() {
        let (mut paging, mut memory) = paging(|_| ());
        let start = paging.map(&[Some(NodeId(2)), None], &mut memory).expect("there is room");
        let second = start.offset(PAGE.0);
        assert_eq!(paging.counters().placed, [0, 0, 1, 0]);
        assert!(paging.frame_of(start).is_some() && paging.frame_of(second).is_none());
        let cost = paging.first_touch(NodeId(1), second, &mut memory);
        assert_eq!(cost, Some(paging.spec().page_fault));
        paging.inform(CpuId(0), second, &memory);
        let known = paging.known(CpuId(0)).look_up(second, true);
        assert!(known.is_some() && known == paging.frame_of(second));
        assert_eq!((paging.counters().placed.as_slice(), paging.counters().faults), (&[0, 1, 1, 0][..], 1));
    }

    #[test]
    fn large_pages_are_placed_as_a_whole() {
        let (mut paging, mut memory) = paging(|spec| spec.migration = false);
        paging.large_pages = 4;
        let small = paging.map(&[None; 3], &mut memory).expect("there is room");
        let start = paging.map(&[None; 10], &mut memory).expect("there is room");
        assert_eq!((small.0, start.0), (0, 4 * PAGE.0), "it begins at a large page");
        let at = |page: u64| start.offset(page * PAGE.0 + 8);
        paging.first_touch(NodeId(2), at(5), &mut memory).expect("there is room");
        let frames: Vec<_> =
            (4..8).filter_map(|page| paging.frame_of(at(page))).map(|frame| frame.0 >> 14 & 63).collect();
        assert_eq!(frames, [0, 1, 2, 3]);
        assert_eq!((paging.frame_of(at(0)), paging.frame_of(at(8))), (None, None));
        paging.first_touch(NodeId(1), at(9), &mut memory).expect("there is room");
        assert_eq!((paging.counters().placed.as_slice(), paging.counters().faults), (&[0, 1, 4, 0][..], 2));
        let tag = |page: u64| paging.known(CpuId(0)).tag(at(page).0, 99);
        assert!(tag(0) == tag(3) && tag(4) == tag(7) && tag(3) != tag(4));
        assert_eq!((tag(8), tag(9)), (99, 99), "the rest is mapped by small pages");
    }

    #[test]
    fn other_policies_heed_no_plans() {
        let (mut paging, mut memory) = paging(|spec| spec.placement = PlacementKind::Fixed);
        let start = paging.map(&[Some(NodeId(2))], &mut memory).expect("there is room");
        assert_eq!(paging.frame_of(start), None);
        paging.first_touch(NodeId(3), start, &mut memory).expect("there is room");
        assert_eq!(paging.counters().placed, [1, 0, 0, 0]);
    }
}
