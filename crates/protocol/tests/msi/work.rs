//! Work that a machine prices: accessed store words in order, work done before each message, format checks.

use proptest::prelude::*;
use protocol::Version;
use protocol::msi::{
    Agent, Clustering, CoarseVector, DirectoryState, DynamicPointer, Entry, HomeContext, HomeOutcome, HomeWork, Hybrid,
    LimitedPointer, Message, MessageKind, Overflow, SetWork, SharingSet, Site, Variant, home, reclaim,
};
use units::{LineAddr, NodeId};

const HOME: NodeId = NodeId(17);
const LINES: u64 = 3;

/// Lines of one home, and the messages and store accesses of the last handler.
struct Bench<S: SharingSet> {
    set: S,
    context: HomeContext,
    entries: Vec<Entry<S::Header>>,
    store: S::Store,
    sent: Vec<(Message, SetWork)>,
    touched: Vec<u32>,
}

impl<S: SharingSet> Bench<S> {
    fn new(set: S, variant: Variant) -> Self {
        let mut store = set.store();
        set.record_touches(&mut store, true);
        let context = HomeContext { site: Site { home: HOME, nodes: 64 }, variant };
        let entries = vec![Entry::default(); LINES as usize];
        Self { set, context, entries, store, sent: Vec::new(), touched: Vec::new() }
    }

    fn take_touched(&mut self) {
        self.touched.clear();
        let touched = &mut self.touched;
        self.set.touched(&mut self.store, |index| touched.push(index));
    }

    fn try_handle(&mut self, line: u64, kind: MessageKind, node: u16) -> Option<HomeWork> {
        self.sent.clear();
        let message = Message::new(kind, LineAddr(line), Agent::Home(HOME), NodeId(node));
        let (entry, sent) = (&mut self.entries[line as usize], &mut self.sent);
        let handled =
            home(&self.set, entry, &mut self.store, &mut Version(0), &message, &self.context, &mut |message, work| {
                sent.push((message, *work));
            });
        self.take_touched();
        match handled.expect("the run is correct") {
            HomeOutcome::Done(work) => Some(work),
            HomeOutcome::StoreExhausted => None,
        }
    }

    fn handle(&mut self, line: u64, kind: MessageKind, node: u16) -> HomeWork {
        self.try_handle(line, kind, node).expect("the store is large enough")
    }

    /// Makes the line clean, as if every outstanding message had been answered.
    fn settle(&mut self, line: u64) {
        self.entries[line as usize].state = DirectoryState::Clean;
    }
}

/// Bench after reads of line 0 by the nodes from 5 on, one after the other.
fn shared_by<S: SharingSet>(set: S, sharers: u16) -> Bench<S> {
    let mut bench = Bench::new(set, Variant::default());
    (0..sharers).for_each(|sharer| {
        bench.handle(0, MessageKind::Get, 5 + sharer);
    });
    bench
}

/// Messages with their destination, and the elements and words accessed before each.
fn sent<S: SharingSet>(bench: &Bench<S>) -> Vec<(&'static str, Agent, u16, u16)> {
    let each = bench.sent.iter();
    each.map(|(message, work)| (message.kind.mnemonic(), message.to, work.walked, work.store_words)).collect()
}

fn node(node: u16) -> Agent {
    Agent::Node(NodeId(node))
}

/// Each pointer of the list is read before its sharer is invalidated (FLASH dissertation, Section 5.3.1).
#[test]
fn a_list_is_read_link_by_link_between_its_messages() {
    let mut bench = shared_by(DynamicPointer { links: 8, search: 16 }, 4);
    bench.handle(0, MessageKind::Upgrade, 7);
    // The head link comes first, then the newest sharer; node 7, the requester, receives nothing.
    assert_eq!(sent(&bench), [("INVAL", node(5), 1, 0), ("INVAL", node(8), 2, 1), ("INVAL", node(6), 4, 3)]);
    assert_eq!(bench.touched, [2, 1, 0]);
}

/// Links are freed after the last message, because no message waits for them.
#[test]
fn a_list_is_given_back_after_its_last_message() {
    let mut bench = shared_by(DynamicPointer { links: 8, search: 16 }, 4);
    let work = bench.handle(0, MessageKind::Upgrade, 7);
    assert_eq!(work.set.freed, 3);
    assert!(bench.sent.iter().all(|(_, before)| before.freed == 0));
    assert_eq!(bench.store.free_links(), 8);
}

#[test]
fn a_hint_touches_the_links_that_it_looks_at_and_the_one_before_the_hole() {
    let mut bench = shared_by(DynamicPointer { links: 8, search: 16 }, 4);
    let work = bench.handle(0, MessageKind::ReplacementHint, 6);
    assert_eq!((work.set.walked, work.set.store_words, work.set.freed), (4, 4, 1));
    assert_eq!(bench.touched, [2, 1, 0, 1]);
    let work = bench.handle(0, MessageKind::Get, 40);
    assert_eq!((work.set.allocated, work.set.store_words, bench.touched.as_slice()), (1, 1, [0].as_slice()));
    assert_eq!(sent(&bench), [("PUT", node(40), 0, 0)], "the answer goes before the set is touched");
}

/// The second level of the hybrid is read once, before the first invalidation.
#[test]
fn a_long_vector_is_read_before_the_messages() {
    let mut bench = shared_by(Hybrid::flash(64, 4), 12);
    assert!(bench.entries[0].sharers.mnemonic() == "FULL_BITVECTOR");
    bench.handle(0, MessageKind::Upgrade, 5);
    assert_eq!(sent(&bench)[..2], [("INVAL", node(6), 2, 1), ("INVAL", node(7), 3, 1)]);
    assert_eq!(bench.touched, [0]);
}

#[test]
fn one_bit_is_one_element_for_all_its_nodes() {
    let mut bench = shared_by(CoarseVector::coarse(4), 1);
    bench.handle(0, MessageKind::GetExclusive, 30);
    assert_eq!(sent(&bench).iter().map(|message| message.2).collect::<Vec<_>>(), [1; 4]);
    let mut pointers = shared_by(LimitedPointer { pointers: 5, overflow: Overflow::Evict }, 3);
    pointers.handle(0, MessageKind::GetExclusive, 30);
    assert_eq!(sent(&pointers).iter().map(|message| message.2).collect::<Vec<_>>(), [1, 2, 3]);
}

/// Clustered invalidations can be sent only after the whole set has been read.
#[test]
fn clusters_are_sent_after_the_whole_set() {
    let clustering = Some(Clustering { nodes: 4, threshold: 1 });
    let mut bench = Bench::new(CoarseVector::BIT_VECTOR, Variant { clustering, ..Variant::default() });
    (0..8).for_each(|sharer| {
        bench.handle(0, MessageKind::Get, sharer);
    });
    bench.handle(0, MessageKind::GetExclusive, 30);
    let walked = sent(&bench).iter().map(|message| (message.0, message.2)).collect::<Vec<_>>();
    assert_eq!(walked, [("CLUSTER_INVAL", 8), ("CLUSTER_INVAL", 8)]);
}

fn format_checks<S: SharingSet>(set: S) -> [u16; 5] {
    let mut bench = Bench::new(set, Variant::default());
    let read = bench.handle(0, MessageKind::Get, 1).set.format_checks;
    let write = bench.handle(0, MessageKind::GetExclusive, 1).set.format_checks;
    let forward = bench.handle(0, MessageKind::Get, 2).set.format_checks;
    assert_eq!(bench.sent[0].1.format_checks, forward, "checked before the message leaves");
    let nack = bench.handle(0, MessageKind::Get, 3).set.format_checks;
    let (_, reclaimed) =
        reclaim(&bench.set, &mut bench.entries[1], &mut bench.store, LineAddr(1), &bench.context, &mut |_, _| {})
            .expect("it is clean");
    [read, write, forward, nack, reclaimed.format_checks]
}

/// Format checks (FLASH dissertation, Sections 5.2.3 and 5.3.1): the hybrid checks the format before it can even
/// forward, and a local bit is a second field to read for the sharers.
#[test]
fn formats_are_checked_first() {
    assert_eq!(format_checks(Hybrid::flash(64, 4)), [1; 5]);
    assert_eq!(format_checks(CoarseVector::coarse_with_local_bit(2)), [0, 1, 0, 0, 1]);
    assert_eq!(format_checks(CoarseVector::coarse(2)), [0; 5]);
    assert_eq!(format_checks(DynamicPointer { links: 8, search: 16 }), [0; 5]);
}

#[test]
fn the_log_is_off_until_it_is_turned_on() {
    let set = DynamicPointer { links: 8, search: 16 };
    let mut store = set.store();
    let mut entry = Entry::default();
    let context = HomeContext { site: Site { home: HOME, nodes: 64 }, variant: Variant::default() };
    for sharer in 0..3 {
        let get = Message::new(MessageKind::Get, LineAddr(0), Agent::Home(HOME), NodeId(sharer));
        home(&set, &mut entry, &mut store, &mut Version(0), &get, &context, &mut |_, _| {})
            .expect("the run is correct");
    }
    set.touched(&mut store, |index| panic!("{index} was logged"));
    set.record_touches(&mut store, true);
    set.record_touches(&mut store, false);
    set.touched(&mut store, |index| panic!("{index} was logged"));
}

/// Events: a line, a node, and the type of message.
fn events() -> impl Strategy<Value = Vec<(u64, u16, u8)>> {
    prop::collection::vec((0..LINES, 0..64u16, 0..12u8), 1..300)
}

/// Logged words equal the counted ones in number and lie within the store, also at a reclamation.
fn words_add_up<S: SharingSet>(set: S, words: u32, events: &[(u64, u16, u8)]) {
    let mut bench = Bench::new(set, Variant::default());
    for &(line, node, what) in events {
        let kind = match what {
            0 => MessageKind::GetExclusive,
            1..4 if bench.set.replacement_hints() => MessageKind::ReplacementHint,
            _ => MessageKind::Get,
        };
        let work = loop {
            if let Some(work) = bench.try_handle(line, kind, node) {
                break work;
            }
            assert_eq!(bench.touched, [], "nothing has happened");
            let mut work = SetWork::default();
            let victim = bench.set.victim(&mut bench.store, node.into(), &mut work).expect("the store is full");
            let entry = &mut bench.entries[victim.index()];
            let reclaimed = reclaim(&bench.set, entry, &mut bench.store, victim, &bench.context, &mut |_, _| {});
            bench.take_touched();
            let (_, drained) = reclaimed.expect("it is clean");
            assert_eq!(bench.touched.len(), usize::from(work.store_words + drained.store_words));
            bench.settle(victim.0);
        };
        assert_eq!(bench.touched.len(), usize::from(work.set.store_words));
        assert!(bench.touched.iter().all(|&index| index < words));
        let mut before = SetWork::default();
        for (_, work) in &bench.sent {
            assert!(work.walked >= before.walked && work.store_words >= before.store_words, "work is not undone");
            before = *work;
        }
        bench.settle(line);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_word_counted_is_handed_out(events in events()) {
        words_add_up(DynamicPointer { links: 20, search: 16 }, 20, &events);
        words_add_up(Hybrid::flash(64, 2), 2, &events);
        words_add_up(CoarseVector::coarse_with_local_bit(2), 0, &events);
    }
}
