//! Every sharing set against a plain set: it includes every sharer, its store entries add up, and its precision is as
//! documented.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use protocol::msi::catalogue::{Named, Sizes, Visitor, names, resolve};
use protocol::msi::{
    CoarseVector, DynamicPointer, Hybrid, HybridHeader, Insertion, LimitedPointer, Overflow, SetWork, SharingSet, Site,
};
use units::{LineAddr, NodeId};

const LINES: usize = 4;

/// An event on one of a home's lines.
#[derive(Clone, Copy, Debug)]
enum Event {
    Share { line: usize, node: u16 },
    Hint { line: usize, node: u16 },
    Write { line: usize },
}

fn events(nodes: u16) -> impl Strategy<Value = Vec<Event>> {
    let share = (0..LINES, 0..nodes).prop_map(|(line, node)| Event::Share { line, node });
    let hint = (0..LINES, 0..nodes).prop_map(|(line, node)| Event::Hint { line, node });
    let write = (0..LINES).prop_map(|line| Event::Write { line });
    prop::collection::vec(prop_oneof![10 => share, 4 => hint, 1 => write], 1..400)
}

/// Nodes that a set should include, as a function of the nodes that have read the line since it was last written or
/// reclaimed and of those that still have a copy. `None` if the representation guarantees only a superset.
type Expected<'a> = &'a dyn Fn(&BTreeSet<u16>, &BTreeSet<u16>) -> Option<BTreeSet<u16>>;

/// Sharing sets of a home, with the true sharers.
struct Home<S: SharingSet> {
    set: S,
    at: Site,
    headers: [S::Header; LINES],
    store: S::Store,
    sharers: [BTreeSet<u16>; LINES],
    /// Nodes that have been sharers since the set was last emptied.
    readers: [BTreeSet<u16>; LINES],
    reclaimed: usize,
}

impl<S: SharingSet> Home<S> {
    fn new(set: S, at: Site) -> Self {
        let store = set.store();
        let (headers, sharers, readers) = Default::default();
        Self { set, at, headers, store, sharers, readers, reclaimed: 0 }
    }

    fn drain(&mut self, line: usize) -> BTreeMap<u16, usize> {
        let mut named = BTreeMap::new();
        let (set, header) = (self.set.clone(), &mut self.headers[line]);
        set.drain(&self.at, header, &mut self.store, &mut SetWork::default(), |node, _| {
            *named.entry(node.0).or_default() += 1;
        });
        assert!(set.is_empty(&self.headers[line]), "a drained set is empty");
        named
    }

    /// Nodes that the set includes, with their multiplicity; the set keeps them.
    fn named(&mut self, line: usize) -> BTreeMap<u16, usize> {
        let (headers, store) = (self.headers, self.store.clone());
        let named = self.drain(line);
        (self.headers, self.store) = (headers, store);
        named
    }

    fn apply(&mut self, event: Event, random: u32) {
        let set = self.set.clone();
        let mut work = SetWork::default();
        match event {
            Event::Share { line, node } => {
                // A node that has a copy sends no request.
                if self.sharers[line].contains(&node) {
                    return;
                }
                while !set.has_room(&self.at, &self.headers[line], &self.store, &[NodeId(node)]) {
                    let victim = set.victim(&mut self.store, random, &mut work).expect("something fills the store");
                    self.drain(victim.index());
                    self.remove_copies(victim.index());
                    self.reclaimed += 1;
                }
                self.sharers[line].insert(node);
                self.readers[line].insert(node);
                let (header, address) = (&mut self.headers[line], LineAddr(line as u64));
                let inserted = set.insert(&self.at, address, header, &mut self.store, NodeId(node), &mut work);
                if let Insertion::Displaced(displaced) = inserted {
                    assert!(self.sharers[line].remove(&displaced.0), "only a sharer is displaced");
                }
            }
            Event::Hint { line, node } => {
                if self.sharers[line].remove(&node) && set.replacement_hints() {
                    let (header, address) = (&mut self.headers[line], LineAddr(line as u64));
                    set.remove(address, header, &mut self.store, NodeId(node), &mut work);
                }
            }
            Event::Write { line } => {
                self.drain(line);
                self.remove_copies(line);
            }
        }
    }

    /// Removes the line's copies.
    fn remove_copies(&mut self, line: usize) {
        self.sharers[line].clear();
        self.readers[line].clear();
    }

    fn check(&mut self, expected: Expected) {
        let held: u32 = self.headers.iter().map(|header| self.set.entries_held(header, &self.store)).sum();
        assert_eq!(held, self.set.entries_in_use(&self.store));
        for line in 0..LINES {
            let named = self.named(line);
            assert!(self.sharers[line].iter().all(|node| named.contains_key(node)), "the set lacks a sharer");
            assert!(named.keys().all(|&node| node < self.at.nodes), "the set includes a node beyond the machine");
            if let Some(expected) = expected(&self.readers[line], &self.sharers[line]) {
                assert!(named.keys().eq(&expected), "{named:?} {expected:?}");
                assert!(named.values().all(|&times| times == 1), "the set includes a node twice: {named:?}");
            }
            self.check_snapshot(line);
        }
    }

    /// Checks that a set restored from a snapshot has the same snapshot.
    fn check_snapshot(&self, line: usize) {
        let snapshot = |header: &S::Header, store: &S::Store| {
            let mut nodes = Vec::new();
            let form = self.set.snapshot(&self.at, header, store, |node| nodes.push(node));
            (form, nodes)
        };
        let (form, nodes) = snapshot(&self.headers[line], &self.store);
        let mut store = self.set.store();
        let header = self.set.restore(&self.at, LineAddr(line as u64), &mut store, form, &nodes);
        assert_eq!(snapshot(&header, &store), (form, nodes));
    }
}

/// Applies the events to a sharing set, with a check after each.
fn check_events<S: SharingSet>(set: S, nodes: u16, events: &[Event], expected: Expected) {
    let mut home = Home::new(set, Site { home: NodeId(nodes / 2), nodes });
    for (index, &event) in events.iter().enumerate() {
        home.apply(event, index as u32 * 7919);
        home.check(expected);
    }
}

/// A check of a protocol of the catalogue.
struct CheckEvents<'a> {
    nodes: u16,
    events: &'a [Event],
}

impl Visitor for CheckEvents<'_> {
    type Output = ();

    fn visit<S: SharingSet>(self, set: S, named: Named) {
        let Self { nodes, events } = self;
        let home = nodes / 2;
        let all = || (0..nodes).collect::<BTreeSet<_>>();
        let groups = |of: &mut dyn Iterator<Item = u16>| {
            let groups: BTreeSet<_> = of.map(|node| node / named.number.max(1)).collect();
            (0..nodes).filter(|node| groups.contains(&(node / named.number.max(1)))).collect::<BTreeSet<_>>()
        };
        check_events(set, nodes, events, &|readers, sharers| match named.base {
            // Sets that are precise in time, precise in representation, or neither.
            "bit-vector/RH" | "limited-pointer=N" => Some(sharers.clone()),
            "bit-vector" => Some(readers.clone()),
            "hybrid" if readers.len() >= usize::from(nodes - nodes / 16) => Some(all()),
            "hybrid" => Some(readers.clone()),
            "broadcast" => Some(if readers.is_empty() { BTreeSet::new() } else { all() }),
            "cv=N" => Some(groups(&mut readers.iter().copied())),
            "cv=N/LB" => {
                let mut expected = groups(&mut readers.iter().copied().filter(|&node| node != home));
                expected.remove(&home);
                expected.extend(readers.get(&home));
                Some(expected)
            }
            "dynamic-pointer" | "limited-pointer=N/B" => None,
            base => panic!("no expectation for {base}"),
        });
    }
}

/// Nodes: a FLASH of 64, and a smaller machine that ends within a group.
const SIZES: [u16; 2] = [64, 21];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_set_of_the_catalogue_includes_the_expected_nodes(large in events(SIZES[0]), small in events(SIZES[1])) {
        for (nodes, events) in [(SIZES[0], &large), (SIZES[1], &small)] {
            for name in names() {
                let sizes = Sizes { nodes, links: 20, vectors: 2 };
                resolve(name, sizes, CheckEvents { nodes, events }).expect("it is listed");
            }
        }
    }

    #[test]
    fn every_set_includes_every_sharer(large in events(SIZES[0]), small in events(SIZES[1])) {
        for (nodes, events) in [(SIZES[0], &large), (SIZES[1], &small)] {
            check_events(LimitedPointer { pointers: 3, overflow: Overflow::Broadcast }, nodes, events, &|_, _| None);
            // With an unlimited search, and links for all sharers, the list is exact.
            let sharers: Expected = &|_, sharers| Some(sharers.clone());
            check_events(DynamicPointer { links: 256, search: u16::MAX }, nodes, events, sharers);
            // With a search limit, the list still includes every sharer.
            check_events(DynamicPointer { links: 256, search: 2 }, nodes, events, &|_, _| None);
            let readers: Expected = &|readers, _| Some(readers.clone());
            check_events(Hybrid { pointers: 2, all_shared: 99, ..Hybrid::flash(nodes, 1) }, nodes, events, readers);
        }
    }
}

fn share<S: SharingSet>(home: &mut Home<S>, nodes: impl IntoIterator<Item = u16>) {
    nodes.into_iter().for_each(|node| home.apply(Event::Share { line: 0, node }, 0));
}

/// Formats of Figure 5.3 of the FLASH dissertation, from the first sharer to the sixtieth.
#[test]
fn the_hybrid_passes_through_its_formats() {
    let at = Site { home: NodeId(17), nodes: 64 };
    let formats = |sharers: &[u16]| {
        let mut home = Home::new(Hybrid::flash(64, 4), at);
        let each = sharers.iter().map(|&node| {
            share(&mut home, [node]);
            home.headers[0].mnemonic()
        });
        each.collect::<Vec<_>>()
    };
    // Metacube 1 holds nodes 16 to 31.
    assert_eq!(formats(&[18, 31, 16]), ["ONE_SHARER", "LOCAL_BITVECTOR", "LOCAL_BITVECTOR"]);
    assert_eq!(formats(&[18, 31, 3]), ["ONE_SHARER", "LOCAL_BITVECTOR", "LIMIT_PTR"]);
    assert_eq!(formats(&[3, 18]), ["ONE_SHARER", "LIMIT_PTR"]);
    let six_near_one_far = formats(&[16, 17, 18, 19, 20, 21, 40]);
    assert_eq!(six_near_one_far[5..], ["LOCAL_BITVECTOR", "FULL_BITVECTOR"]);
    assert_eq!(formats(&[1, 2, 3, 4, 5, 6])[4..], ["LIMIT_PTR", "FULL_BITVECTOR"]);
    let all: Vec<u16> = (0..60).collect();
    assert_eq!(formats(&all)[58..], ["FULL_BITVECTOR", "ALL_SHARED"]);
}

#[test]
fn the_hybrid_frees_its_vector_when_all_share() {
    let mut home = Home::new(Hybrid::flash(64, 1), Site { home: NodeId(0), nodes: 64 });
    share(&mut home, 0..59);
    assert_eq!(home.store.free_vectors(), 0);
    share(&mut home, [59]);
    assert_eq!((home.headers[0], home.store.free_vectors()), (HybridHeader::AllShared, 1));
    assert_eq!(home.named(0).len(), 64);
}

/// Search limit of a replacement hint: 16 elements (FLASH dissertation, Section 5.2.2).
#[test]
fn a_hint_searches_up_to_its_limit() {
    let set = DynamicPointer { links: 64, search: DynamicPointer::FLASH_SEARCH };
    let mut home = Home::new(set, Site { home: NodeId(0), nodes: 64 });
    // The head link keeps the first sharer; each further sharer is inserted behind it, before the others.
    share(&mut home, 0..20);
    let mut remove = |node: u16| {
        let mut work = SetWork::default();
        set.remove(LineAddr(0), &mut home.headers[0], &mut home.store, NodeId(node), &mut work);
        (work.walked, work.freed)
    };
    assert_eq!(remove(0), (1, 1), "the head link takes over the next one's sharer");
    assert_eq!(remove(18), (2, 1));
    assert_eq!(remove(1), (16, 0), "beyond the search limit");
    let named = home.named(0);
    assert!(named.contains_key(&1) && !named.contains_key(&18));
}

#[test]
fn a_sharer_can_be_in_the_list_twice() {
    let set = DynamicPointer { links: 8, search: 1 };
    let mut home = Home::new(set, Site { home: NodeId(0), nodes: 8 });
    share(&mut home, [1, 2]);
    // The hint does not find node 2, which then requests the line again.
    home.apply(Event::Hint { line: 0, node: 2 }, 0);
    share(&mut home, [2]);
    assert_eq!(home.named(0), BTreeMap::from([(1, 1), (2, 2)]));
}

#[test]
fn an_overflow_displaces_the_oldest_sharer_or_broadcasts() {
    let at = Site { home: NodeId(0), nodes: 16 };
    let mut evicting = Home::new(LimitedPointer { pointers: 2, overflow: Overflow::Evict }, at);
    share(&mut evicting, [4, 9, 11]);
    assert!(evicting.named(0).keys().eq(&[9, 11]));
    let mut broadcasting = Home::new(LimitedPointer { pointers: 2, overflow: Overflow::Broadcast }, at);
    share(&mut broadcasting, [4, 9, 11]);
    assert_eq!(broadcasting.named(0).len(), 16);
}

/// Local bit: an upgrade of a local copy sends the neighbour nothing (FLASH dissertation, Section 5.3.3).
#[test]
fn the_local_bit_spares_the_neighbour() {
    let at = Site { home: NodeId(6), nodes: 16 };
    let named = |set: CoarseVector, sharers: &[u16]| {
        let mut home = Home::new(set, at);
        share(&mut home, sharers.iter().copied());
        home.named(0).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(named(CoarseVector::coarse(2), &[6]), [6, 7]);
    assert_eq!(named(CoarseVector::coarse_with_local_bit(2), &[6]), [6]);
    assert_eq!(named(CoarseVector::coarse_with_local_bit(2), &[6, 7]), [6, 7]);
    assert_eq!(named(CoarseVector::coarse_with_local_bit(2), &[7]), [7]);
    assert_eq!(named(CoarseVector::coarse_with_local_bit(2), &[4]), [4, 5]);
}

#[test]
fn an_exhausted_store_selects_a_line_to_reclaim() {
    let at = Site { home: NodeId(0), nodes: 16 };
    let mut home = Home::new(DynamicPointer { links: 3, search: 16 }, at);
    for line in 0..LINES {
        for node in 0..2 {
            home.apply(Event::Share { line, node }, line as u32);
        }
    }
    assert_eq!(home.reclaimed, 1);
    home.check(&|_, _| None);
}
