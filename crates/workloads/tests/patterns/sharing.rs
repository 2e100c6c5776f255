//! Readers and writers of lines, program by program.

use std::collections::{BTreeMap, BTreeSet};

use units::NodeId;
use workloads::{Counters, HotSpot, Migratory, Private, ProducerConsumer, Uniform, WideReadSharing, Workload};

use crate::mock::{Kind, LINE_WORDS, Reference, run, shape};

const THREADS: usize = 6;

/// The node of a word of a region.
fn home(program: &Workload, region: usize, line: usize) -> NodeId {
    let mut rest = line * LINE_WORDS;
    for part in &program.regions(&shape(THREADS, 1))[region].parts {
        if rest < part.words {
            return part.home.expect("a placed part");
        }
        rest -= part.words;
    }
    panic!("the region ends before line {line}");
}

#[test]
fn migratory_lines_visit_every_processor_which_reads_then_writes() {
    let program = Workload::Migratory(Migratory { lines: 5, rounds: THREADS as u64, work: 0 });
    let run = run(&program, &shape(THREADS, 1));
    let mut visits: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
    for (thread, references) in run.references.iter().enumerate() {
        assert_eq!(references.len(), 2 * 5 * THREADS);
        for pair in references.chunks(2) {
            assert_eq!((pair[0].kind, pair[1].kind), (Kind::Load, Kind::Store));
            assert_eq!(pair[0].word, pair[1].word);
            visits.entry(pair[0].line()).or_default().insert(thread);
        }
        for phase in 0..THREADS {
            assert_eq!(run.lines(thread, phase, Kind::Load).len(), 5);
        }
        // The first set is its own: first touch put it there.
        let own = run.lines(thread, 0, Kind::Load);
        assert!(own.iter().all(|&(region, line)| home(&program, region, line) == NodeId(thread as u16 / 2)));
    }
    assert_eq!(visits.len(), 5 * THREADS);
    assert!(visits.values().all(|threads| threads.len() == THREADS), "a set comes round in as many rounds");
}

#[test]
fn each_produced_line_has_one_writer_and_so_many_readers() {
    for (readers, expected) in [(0, 0), (1, 1), (3, 3), (511, THREADS - 1)] {
        let program = Workload::ProducerConsumer(ProducerConsumer { lines: 4, rounds: 2, readers, work: 0 });
        let run = run(&program, &shape(THREADS, 1));
        for producer in 0..THREADS {
            let produced = run.lines(producer, 0, Kind::Store);
            assert_eq!(produced.len(), 4);
            assert_eq!(produced, run.lines(producer, 2, Kind::Store), "the same lines in every round");
            assert!(run.lines(producer, 0, Kind::Load).is_empty());
            let reads = |reader: &usize| run.lines(*reader, 1, Kind::Load).is_superset(&produced);
            let found: Vec<usize> = (0..THREADS).filter(reads).collect();
            assert_eq!(found.len(), expected, "{readers} readers asked for");
            assert!(!found.contains(&producer));
        }
    }
}

#[test]
fn a_widely_read_line_is_read_by_all_readers_and_updated_by_one() {
    let program = WideReadSharing { lines: 20, rounds: 4, readers: 3, updates: 3, work: 0 };
    let run = run(&Workload::WideReadSharing(program), &shape(THREADS, 1));
    let mut updaters = Vec::new();
    for round in 0..4 {
        let readers: Vec<usize> =
            (0..THREADS).filter(|&thread| run.lines(thread, 2 * round, Kind::Load).len() == 20).collect();
        assert_eq!(readers.len(), 3, "as many readers as asked for");
        let writers: Vec<usize> =
            (0..THREADS).filter(|&thread| !run.lines(thread, 2 * round + 1, Kind::Store).is_empty()).collect();
        assert_eq!(writers.len(), 1);
        updaters.extend(writers);
        let updated = run.references.iter().flatten().filter(|each| each.phase == 2 * round + 1).count();
        assert_eq!(updated, 3);
    }
    updaters.dedup();
    assert_eq!(updaters.len(), 4, "another one in every round");
    // A page of sixteen lines on the node of each thread.
    let page = |block| home(&Workload::WideReadSharing(program), 0, block * 16);
    let homes: BTreeSet<_> = (0..THREADS).map(page).collect();
    assert_eq!(homes.len(), THREADS / 2);
}

/// Nothing hot, nothing shared, nothing stored.
const HOT_SPOT: HotSpot = HotSpot {
    references: 1,
    lines: 1,
    hot_lines: 1,
    hot: 0,
    shared: 0,
    shared_lines: 1,
    target: 0,
    writes: 0,
    work: 0,
};

#[test]
fn hot_references_go_to_one_node_and_every_line_is_touched_once() {
    let program =
        Workload::HotSpot(HotSpot { references: 1000, lines: 1000, hot_lines: 1000, hot: 25, target: 4, ..HOT_SPOT });
    let run = run(&program, &shape(THREADS, 1));
    let mut lines = BTreeSet::new();
    let (mut hot, mut local) = (0, 0);
    for (thread, references) in run.references.iter().enumerate() {
        for each in references {
            assert_eq!(each.kind, Kind::Load);
            assert!(lines.insert(each.line()), "{each:?} again");
            let home = home(&program, each.region, each.word / LINE_WORDS);
            match each.region {
                0 => assert_eq!(home, NodeId(thread as u16 / 2)),
                _ => assert_eq!(home, NodeId(2)),
            }
            *(if each.region == 0 { &mut local } else { &mut hot }) += 1;
        }
    }
    assert_eq!(hot + local, 6000);
    assert!((1350..1650).contains(&hot), "{hot} of 6000 are not 25 percent");
}

#[test]
fn hot_lines_come_again_and_those_of_all_are_read_by_all() {
    let shared = HotSpot {
        references: 2000,
        lines: 100,
        hot_lines: 90,
        hot: 40,
        shared: 50,
        shared_lines: 60,
        writes: 50,
        ..HOT_SPOT
    };
    let run = run(&Workload::HotSpot(shared), &shape(THREADS, 1));
    for (thread, references) in run.references.iter().enumerate() {
        let loads = |region| references.iter().filter(move |each| each.kind == Kind::Load && each.region == region);
        let lines = |region| loads(region).map(Reference::line).collect::<BTreeSet<_>>().len();
        // Some 1200, 400 and 400 of 2000, each line several times, all lines of each region.
        assert_eq!([lines(0), lines(1), lines(2)], [100, 90, 60], "processor {thread}");
        assert!((1100..1300).contains(&loads(0).count()) && (320..480).contains(&loads(2).count()));
        assert!(references.iter().all(|each| each.kind == Kind::Load || each.region < 2), "a shared line is stored to");
        // They begin elsewhere each, and go through the lines in order.
        let order: Vec<usize> = loads(2).map(|each| each.line().1).collect();
        assert_eq!(order[0], 60 * thread / THREADS);
        assert!(order.windows(2).all(|two| two[1] == (two[0] + 1) % 60));
    }
    assert_eq!((run.wrong_loads, run.check), (0, Ok(())));
}

#[test]
fn private_lines_are_touched_by_one_thread_and_lie_where_they_are_asked_for() {
    for distance in [0, 1, 4] {
        let program = Workload::Private(Private { lines: 30, rounds: 2, writes: 50, distance, work: 0 });
        let run = run(&program, &shape(THREADS, 1));
        let mut owners: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
        for (thread, references) in run.references.iter().enumerate() {
            assert_eq!(references.iter().filter(|each| each.kind == Kind::Load).count(), 60);
            let stores = references.iter().filter(|each| each.kind == Kind::Store).count();
            assert!((15..45).contains(&stores), "{stores} of 60");
            for each in references {
                owners.entry(each.line()).or_default().insert(thread);
                let node = (thread + distance as usize) % THREADS / 2;
                assert_eq!(home(&program, each.region, each.word / LINE_WORDS), NodeId(node as u16));
            }
        }
        assert!(owners.len() == 30 * THREADS && owners.values().all(|threads| threads.len() == 1));
    }
}

#[test]
fn uniform_references_reach_every_home_alike() {
    let program = Workload::Uniform(Uniform { lines: 10, references: 3000, writes: 20, work: 0 });
    let run = run(&program, &shape(THREADS, 1));
    let mut by_home: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut stores = 0;
    for each in run.references.iter().flatten() {
        *by_home.entry(home(&program, each.region, each.word / LINE_WORDS)).or_default() += 1;
        stores += usize::from(each.kind == Kind::Store);
    }
    assert_eq!(by_home.len(), THREADS / 2);
    let all: usize = by_home.values().sum();
    assert!(by_home.values().all(|&count| (all * 30 / 100..all * 37 / 100).contains(&count)), "{by_home:?}");
    assert!((3300..3900).contains(&stores), "{stores} of 18000 are not 20 percent");
}

#[test]
fn counters_are_added_to_in_indivisible_steps_only() {
    let run = run(&Workload::Counters(Counters { lines: 3, rounds: 50, work: 0 }), &shape(THREADS, 1));
    let lines: BTreeSet<_> = run.references.iter().flatten().map(|each| each.line()).collect();
    assert_eq!(lines.len(), 3);
    assert!(run.references.iter().flatten().all(|each| each.kind == Kind::FetchAdd));
    assert!(run.references.iter().all(|references| references.len() == 50));
}
