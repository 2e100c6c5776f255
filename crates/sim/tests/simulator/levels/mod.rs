//! Tests of processors with one to three private levels, of their inclusion and write policies, of write buffers, blocking
//! processors and prefetchers: what each hit, miss and store costs, what the levels hold, and that nothing of it depends on
//! look-ahead.

mod private;

use std::cell::Cell;
use std::rc::Rc;

use machine::Description;
use sim::random::RandomTest;
use sim::{Mode, Options, Program, Simulator, Thread, ThreadReport};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr};

/// `base` with the keys of `text`.
fn machine(base: &str, text: &str) -> Description {
    let text = format!("title = \"t\"\ninherit = \"{base}\"\n{text}");
    machine::parse("levels.toml", &text).unwrap_or_else(|error| panic!("{error}")).description
}

/// The one level of a processor, with lines of 128 bytes.
const ONE: &str = "l2 = \"none\"\n[l1]\nline_bytes = 128\n\
    [l1_port]\nclock_mhz = 200\nwidth_bytes = 16\nfill = \"whole-line\"\nfill_block_bytes = 32\nfill_write_cycles = 2\n\
    tag_check_cycles = 2\n";
/// A third level.
const THIRD: &str = "[l3]\nsize_mib = 16\nways = 4\nline_bytes = 128\nbus_clock_mhz = 100\nbus_width_bytes = 16\n\
    replacement = \"random\"\nway_prediction = false\nfill = \"preemptible-blocks\"\nfill_block_bytes = 32\n\
    fill_write_cycles = 1\nl2_writeback_cycles = 5\ncommon_edge_start = false\nhit_cycles = 30\ntag_check_cycles = 2\n\
    way_miss_cycles = 0\n";

/// A clock with whose edges those of the Hub coincide.
const CLOCK: &str = "[processor]\nclock_mhz = 200\n";

/// Every combination that random programs run on: the name, and the keys.
fn combinations() -> Vec<(&'static str, String)> {
    let l1 = |keys: &str| format!("[l1]\n{keys}\n");
    let l2 = |keys: &str| format!("[l2]\n{keys}\n");
    let long = "line_bytes = 128\n";
    let prefetch =
        |kind: &str, streams: u32| format!("[prefetch]\nkind = \"{kind}\"\ndegree = 2\nstreams = {streams}\n");
    let blocking = "[processor]\nmodel = \"blocking\"\ninstruction_window = 1\nissue_width = 1\n";
    let buffer = |depth: u32| format!("[processor]\nwrite_buffer = {depth}\n");
    let exclusive = format!("{long}inclusion = \"exclusive\"");
    let neither = format!("{long}inclusion = \"neither\"");
    let through = "write = \"through\"";
    let around = "write = \"through\"\nallocate_on_write_miss = false";
    let others = "others_mb_per_s = 200000";
    let gives_up = format!("{around}\nkeep_on_write_hit = false");
    vec![
        ("one level", ONE.to_owned()),
        ("exclusive", l1(&exclusive)),
        ("neither", l1(&neither)),
        ("through", l1(through)),
        ("around, buffered", l1(around) + &buffer(4)),
        ("giving up", l1(&gives_up)),
        ("giving up, buffered", l1(&gives_up) + &buffer(4)),
        ("back, buffered", buffer(2)),
        ("one level, buffered", ONE.to_owned() + &buffer(1)),
        ("three levels", THIRD.to_owned()),
        ("third exclusive", l2("inclusion = \"exclusive\"") + THIRD),
        ("secondary exclusive", l1(&exclusive) + THIRD),
        ("third neither, through", l1(through) + &l2("inclusion = \"neither\"") + THIRD),
        ("all exclusive", l1(&exclusive) + &l2("inclusion = \"exclusive\"") + THIRD),
        ("all neither", l1(&neither) + &l2("inclusion = \"neither\"") + THIRD),
        ("neither, exclusive", l1(&neither) + &l2("inclusion = \"exclusive\"") + THIRD),
        ("secondary through", l2(around) + THIRD),
        ("both giving up", l1(&gives_up) + &l2(&gives_up) + THIRD),
        ("blocking", blocking.to_owned()),
        ("blocking, one level", ONE.to_owned() + blocking),
        ("blocking, through", l1(around) + blocking),
        ("blocking, giving up", l1(&gives_up) + blocking),
        ("next line", prefetch("next-line", 0)),
        ("stride", prefetch("stride", 8)),
        ("stream", prefetch("stream", 4)),
        ("one level, next line", ONE.to_owned() + &prefetch("next-line", 0)),
        ("exclusive, stream", l1(&exclusive) + &prefetch("stream", 4)),
        ("others", l2(others)),
        ("others, exclusive", l1(&exclusive) + &l2(others)),
        ("others in the third", THIRD.to_owned() + others),
        ("others in the third, all exclusive", l1(&exclusive) + &l2("inclusion = \"exclusive\"") + THIRD + others),
        ("three levels, blocking, stride", blocking.to_owned() + THIRD + &prefetch("stride", 4)),
    ]
}

/// Every load returns the last store, whatever the levels, and look-ahead changes nothing.
#[test]
fn any_levels_are_coherent_and_independent_of_look_ahead() {
    for (number, (name, keys)) in (0u64..).zip(combinations()) {
        let mut writebacks = 0;
        for base in ["origin2000-r12k-300-8p", "origin2000-r10k-195-4p", "flash-6p"] {
            let description = machine(base, &keys);
            for seed in [number, number + 100] {
                let delay = Duration::from_ns([0.0, 3000.0][seed as usize % 2]);
                let ahead = RandomTest { delay, references: 400, lines: 1024, ..RandomTest::new(seed) };
                let run =
                    |test: RandomTest| test.run(&description).unwrap_or_else(|failure| panic!("{name}: {failure}"));
                let (first, second) = (run(ahead), run(RandomTest { mode: Mode::LockStep, ..ahead }));
                assert!(first == second, "{name} on {base}, seed {seed}");
                assert!(first.transactions() > 200, "{name} on {base}, seed {seed}");
                writebacks += first.writebacks();
            }
        }
        assert!(writebacks > 100, "{name}: {writebacks}");
    }
}

/// The report of one program on one processor, with `bytes` of local memory.
fn run(
    description: &Description,
    bytes: u64,
    program: impl Fn(&mut Thread<'_>, PhysicalAddr) + 'static,
) -> ThreadReport {
    let mut simulator = Simulator::new(description, Options::default()).unwrap();
    let base = simulator.allocate(NodeId(0), Bytes(bytes)).unwrap();
    let body = move |thread: &mut Thread<'_>| program(thread, base);
    let report = simulator.run(vec![(CpuId(0), Box::new(body) as Program)]).unwrap()[0];
    simulator.check_coherence().unwrap();
    report
}

/// The time that `measured` takes after `before` is done.
fn time_of(
    description: &Description,
    before: impl Fn(&mut Thread<'_>, PhysicalAddr) + 'static,
    measured: impl Fn(&mut Thread<'_>, PhysicalAddr) + 'static,
) -> Duration {
    let time = Rc::new(Cell::new(Duration::ZERO));
    let seen = Rc::clone(&time);
    run(description, 8 << 20, move |thread, base| {
        before(thread, base);
        thread.drain();
        let start = thread.now();
        measured(thread, base);
        thread.drain();
        seen.set(thread.now() - start);
    });
    time.get()
}

/// Dependent loads of consecutive lines.
fn sweep(thread: &mut Thread<'_>, base: PhysicalAddr, lines: u64) {
    for line in 0..lines {
        thread.load_dependent(base.offset(128 * line));
    }
}

/// Direct-mapped levels of 1, 32 and 256 KiB at the speed of the processor, whose hits take 2, 2 + 6 and 2 + 4 + 30 cycles.
fn three() -> Description {
    let second = "size_mib = 0.03125\nways = 1\nbus_clock_mhz = 200\nway_prediction = false\nhit_cycles = 6\n\
        tag_check_cycles = 4\nfill = \"preemptible-blocks\"";
    let third = THIRD
        .replace("size_mib = 16\nways = 4", "size_mib = 0.25\nways = 1")
        .replace("clock_mhz = 100", "clock_mhz = 200");
    machine("origin2000-r12k-300-2p", &format!("{CLOCK}[l1]\nsize_kib = 1\nways = 1\n[l2]\n{second}\n{third}"))
}

/// A dependent load that hits takes the hit time of its level, and the tag check of the level between.
#[test]
fn a_hit_takes_the_time_of_its_level() {
    let machine = three();
    let cycle = machine.processor.clock.period();
    // The last line of the sweep displaces the first from the levels of fewer lines.
    let load_after = |lines: u64| {
        time_of(&machine, move |thread, base| sweep(thread, base, lines), |thread, base| thread.load_dependent(base))
    };
    let (first, second, third) = (load_after(1), load_after(9), load_after(257));
    let memory = load_after(2049);
    assert_eq!((first, second, third), (cycle * 2, cycle * 8, cycle * 36));
    assert!(memory > cycle * 60, "{memory}");
}

/// Hits in the level between are counted, and waits are charged to the level that serves them.
#[test]
fn waits_are_charged_to_their_level() {
    let machine = three();
    let passes = |lines: u64| {
        run(&machine, 1 << 20, move |thread, base| (0..4).for_each(|_| sweep(thread, base, lines))).counters
    };
    let (small, large) = (passes(64), passes(1024));
    assert_eq!((small.middle_hits, small.secondary_misses), (3 * 64, 64));
    assert_eq!((large.middle_hits, large.secondary_misses), (0, 1024));
    assert!(
        small.time.of(sim::Cause::TertiaryCache) == Duration::ZERO
            && large.time.of(sim::Cause::SecondaryCache) == Duration::ZERO
    );
    assert!(small.time.of(sim::Cause::SecondaryCache) >= machine.processor.clock.period() * (6 * 3 * 63));
    assert!(large.time.of(sim::Cause::TertiaryCache) >= machine.processor.clock.period() * (30 * 3 * 1023));
}

/// Requests of the processor in `passes` over `lines` lines.
fn misses(description: &Description, lines: u64, passes: u64) -> u64 {
    run(description, 8 << 20, move |thread, base| (0..passes).for_each(|_| sweep(thread, base, lines)))
        .counters
        .secondary_misses
}

/// A working set between the size of the outer level and the sum of both fits an exclusive pair, and no inclusive one.
#[test]
fn an_exclusive_pair_holds_the_sum_of_both() {
    // 256 and 512 lines, fully used by consecutive lines; true LRU, so that a cyclic sweep of more never hits.
    let with = |inclusion: &str| {
        let l1 = format!("[l1]\nsize_kib = 32\nways = 32\nline_bytes = 128\ninclusion = \"{inclusion}\"\n");
        let l2 = "[l2]\nsize_mib = 0.0625\nways = 32\nreplacement = \"lru\"\nway_prediction = false\n";
        machine("origin2000-r12k-300-2p", &format!("{l1}{l2}"))
    };
    let (exclusive, inclusive) = (with("exclusive"), with("inclusive"));
    let sum = 256 + 512;
    assert_eq!(misses(&exclusive, sum, 5), sum, "cold misses alone");
    assert_eq!(misses(&inclusive, 512, 5), 512);
    assert_eq!(misses(&inclusive, sum, 5), 5 * sum, "every reference misses");
    assert!(misses(&exclusive, sum + 32, 5) > 2 * sum, "and a larger set does not fit");
}

/// Without inclusion, a line that the outer level displaces stays in the inner one while that uses it.
#[test]
fn a_line_in_use_survives_outside_only_with_inclusion() {
    let misses = |inclusion: &str| {
        let l1 = format!("[l1]\nsize_kib = 32\nways = 2\nline_bytes = 128\ninclusion = \"{inclusion}\"\n");
        let l2 = "[l2]\nsize_mib = 0.03125\nways = 1\nreplacement = \"lru\"\nway_prediction = false\n";
        let machine = machine("origin2000-r12k-300-2p", &format!("{l1}{l2}"));
        // Two lines of one set of both levels: the primary cache has room for both, the other one for one.
        run(&machine, 1 << 20, |thread, base| {
            for number in 0..20u64 {
                thread.load_dependent(base.offset(number % 2 * (32 << 10)));
            }
        })
        .counters
        .secondary_misses
    };
    assert_eq!((misses("inclusive"), misses("neither")), (20, 2));
}

/// A modified line that only the primary cache has is found by another processor's request.
#[test]
fn a_request_finds_the_line_in_any_level() {
    for inclusion in ["exclusive", "neither"] {
        let l1 = format!("[l1]\nsize_kib = 32\nways = 2\nline_bytes = 128\ninclusion = \"{inclusion}\"\n");
        let l2 = "[l2]\nsize_mib = 0.03125\nways = 1\nreplacement = \"lru\"\nway_prediction = false\n";
        let description = machine("origin2000-r12k-300-4p", &format!("{l1}{l2}"));
        let options = Options { check_loads: true, ..Options::default() };
        let mut simulator = Simulator::new(&description, options).unwrap();
        let base = simulator.allocate(NodeId(0), Bytes(1 << 20)).unwrap();
        let owner = move |thread: &mut Thread<'_>| {
            thread.store(base);
            // The same set of both levels: the outer one loses the line, unless it never had it.
            thread.load(base.offset(32 << 10));
            thread.barrier();
            thread.barrier();
        };
        let reader = move |thread: &mut Thread<'_>| {
            thread.barrier();
            thread.load(base);
            thread.barrier();
        };
        let reports = simulator
            .run(vec![(CpuId(0), Box::new(owner) as Program), (CpuId(2), Box::new(reader) as Program)])
            .unwrap();
        simulator.check_coherence().unwrap();
        let external = reports[0].counters.external;
        assert_eq!((external.interventions, external.intervention_hits), (1, 1), "{inclusion}");
    }
}

/// A primary level without allocation has no line that was only stored to.
#[test]
fn stores_allocate_where_the_level_allows_it() {
    let second = |allocates: bool| {
        let machine = machine(
            "origin2000-r12k-300-2p",
            &format!("[l1]\nwrite = \"through\"\nallocate_on_write_miss = {allocates}\n"),
        );
        let counters = run(&machine, 1 << 20, |thread, base| {
            thread.store(base);
            thread.drain();
            thread.load(base);
        })
        .counters;
        assert_eq!(counters.secondary_misses, 1);
        counters.primary_misses
    };
    assert_eq!((second(true), second(false)), (1, 2));
}

/// A level that gives up the line of a store that hits has it again after the next load; the coherent level keeps it all the time.
#[test]
fn a_store_takes_its_line_out_of_a_level_that_gives_it_up() {
    let misses = |keeps: bool, between: Option<&'static str>| {
        let around = format!("write = \"through\"\nallocate_on_write_miss = false\nkeep_on_write_hit = {keeps}\n");
        // Two blocks of a line: the store takes out its own alone, or a line of the level between with both.
        let through = "[l1]\nwrite = \"through\"\n";
        let (given, rest) = between.map_or(("l1", String::new()), |third| ("l2", format!("{through}{third}")));
        let machine = machine("origin2000-r12k-300-2p", &format!("[{given}]\n{around}{rest}"));
        let counters = run(&machine, 1 << 20, |thread, base| {
            thread.prefetch_exclusive(base);
            thread.drain();
            for _ in 0..10 {
                thread.load_dependent(base);
                thread.load_dependent(base.offset(32));
                thread.store(base);
                thread.drain();
            }
        })
        .counters;
        assert_eq!(counters.secondary_misses, 1);
        (counters.primary_misses, counters.middle_hits)
    };
    let (keeping, giving) = (misses(true, None), misses(false, None));
    assert_eq!(giving.0 - keeping.0, 9, "each load after a store");
    let (keeping, giving) = (misses(true, Some(THIRD)), misses(false, Some(THIRD)));
    assert_eq!(giving.0 - keeping.0, 2 * 9, "the primary cache loses both blocks of the line");
    assert_eq!(giving.1 - keeping.1, 9, "the second of them is in the level between again");
}

/// Two stores in a row that a write-through level passes on, to lines that it has, on a processor without a cache bus of its own
/// clock: `keys` and a window of eight instructions.
fn through(keys: &str) -> Description {
    let l2 = "bus_clock_mhz = 200\nway_prediction = false\nhit_cycles = 6\ntag_check_cycles = 10\nfill = \"preemptible-blocks\"";
    machine(
        "origin2000-r12k-300-2p",
        &format!("{CLOCK}issue_width = 1\ninstruction_window = 8\n{keys}\n[l1]\nwrite = \"through\"\n[l2]\n{l2}\n"),
    )
}

/// The time in which `stores` stores issue, each of which holds the secondary cache for ten cycles.
fn issue_of(description: &Description, stores: u64) -> Duration {
    let time = Rc::new(Cell::new(Duration::ZERO));
    let seen = Rc::clone(&time);
    run(description, 1 << 20, move |thread, base| {
        let store = |thread: &mut Thread<'_>| (0..stores).for_each(|line| thread.store(base.offset(128 * line)));
        store(thread);
        let start = thread.now();
        store(thread);
        seen.set(thread.clock() - start);
    });
    time.get()
}

/// A store retires into the buffer while it has room, and then waits for the oldest one.
#[test]
fn a_store_waits_for_room_in_the_write_buffer_alone() {
    let cycle = through("").processor.clock.period();
    let buffered = |depth: u64, stores: u64| issue_of(&through(&format!("write_buffer = {depth}")), stores);
    assert_eq!(buffered(4, 4), cycle * 4, "one a cycle while there is room");
    // The first store is in the secondary cache at 2 + 10 cycles, when a fifth one may issue.
    assert_eq!(buffered(4, 5), cycle * 13);
    assert_eq!(buffered(4, 6), cycle * 23);
    // Without a buffer, the window holds eight instructions.
    assert_eq!(issue_of(&through(""), 8), cycle * 8);
    assert_eq!(issue_of(&through(""), 9), cycle * 13);
}

/// A load takes its value from the write buffer while the store is in it.
#[test]
fn a_load_of_a_buffered_store_is_forwarded() {
    let keys = "[l1]\nwrite = \"through\"\nallocate_on_write_miss = false\n";
    let with = |depth: u64| machine("origin2000-r12k-300-2p", &format!("{keys}[processor]\nwrite_buffer = {depth}\n"));
    let counters = |depth: u64, drained: bool| {
        run(&with(depth), 1 << 20, move |thread, base| {
            thread.store(base);
            if drained {
                thread.drain();
            }
            thread.load_dependent(base);
        })
        .counters
    };
    assert_eq!(counters(2, false).forwarded, 1);
    assert_eq!(counters(2, true).forwarded, 0);
    assert_eq!(counters(0, false).forwarded, 0);
}

fn blocking(base: &str) -> Description {
    machine(base, "[processor]\nmodel = \"blocking\"\ninstruction_window = 1\nissue_width = 1\n")
}

/// On a blocking processor, each reference takes as long as it takes alone, independent or not, stores included.
#[test]
fn a_blocking_processor_waits_for_every_reference() {
    let machine = blocking("origin2000-r12k-300-2p");
    let cycle = machine.processor.clock.period();
    let hits = |count: u64, store: bool| {
        time_of(
            &machine,
            |thread, base| thread.store(base),
            move |thread, base| {
                (0..count).for_each(|_| if store { thread.store(base) } else { thread.load(base) });
            },
        )
    };
    for store in [false, true] {
        assert_eq!((hits(1, store), hits(10, store)), (cycle * 2, cycle * 20), "a primary hit takes two cycles");
    }
    let instructions = time_of(&machine, |thread, base| thread.load(base), |thread, _| thread.instructions(10));
    assert_eq!(instructions, cycle * 10);
    let miss = |count: u64, store: bool| {
        let access = move |thread: &mut Thread<'_>, at| if store { thread.store(at) } else { thread.load(at) };
        time_of(
            &machine,
            |thread, base| thread.load(base.offset(8192)),
            move |thread, base| (0..count).for_each(|line| access(thread, base.offset(128 * line))),
        )
    };
    for store in [false, true] {
        let (one, four) = (miss(1, store), miss(4, store));
        assert!(four > one * 3 && one > cycle * 60, "misses do not overlap: {one} and {four}");
    }
    let windowed = machine::load("origin2000-r12k-300-2p").unwrap();
    let overlapped = time_of(
        &windowed,
        |thread, base| thread.load(base.offset(8192)),
        |thread, base| (0..4).for_each(|line| thread.load(base.offset(128 * line))),
    );
    assert!(overlapped * 3 < miss(4, false) * 2, "on a windowed processor they do");
}

/// Dependent loads of consecutive lines of one page after another, with work between.
fn stream(thread: &mut Thread<'_>, base: PhysicalAddr) {
    for line in 0..1024 {
        thread.load_dependent(base.offset(128 * line));
        thread.work(100);
    }
}

fn prefetching(kind: &str, streams: u32) -> Description {
    let keys = format!("[prefetch]\nkind = \"{kind}\"\ndegree = 2\nstreams = {streams}\n");
    machine("origin2000-r12k-300-2p", &keys)
}

/// A sweep waits less for its misses with each prefetcher, whose lines it uses but for the last of each page.
#[test]
fn a_sweep_waits_less_with_a_prefetcher() {
    let plain = run(&machine::load("origin2000-r12k-300-2p").unwrap(), 1 << 20, stream);
    for (kind, streams) in [("next-line", 0), ("stride", 4), ("stream", 4)] {
        let with = run(&prefetching(kind, streams), 1 << 20, stream);
        let counters = with.counters;
        assert!(with.time * 3 < plain.time * 2, "{kind}: {} instead of {}", with.time, plain.time);
        assert!(counters.secondary_misses * 3 < plain.counters.secondary_misses, "{kind}: {counters:?}");
        assert!(counters.useful_prefetches * 10 > counters.prefetches * 9, "{kind}: {counters:?}");
        assert_eq!(counters.prefetches + counters.secondary_misses, 1024, "{kind}: no page is crossed, no line twice");
    }
}

/// Lines in an order without a pattern: strides and streams propose next to nothing, and cost next to nothing.
#[test]
fn a_random_chase_gains_nothing() {
    let chase = |thread: &mut Thread<'_>, base: PhysicalAddr| {
        let mut line = 1u64;
        for _ in 0..1000 {
            // A generator of full period over the 16384 lines (Knuth 1997, 3.2.1.2).
            line = (line * 4093 + 8191) % 16384;
            thread.load_dependent(base.offset(128 * line));
        }
    };
    let plain = run(&machine::load("origin2000-r12k-300-2p").unwrap(), 2 << 20, chase);
    for (kind, streams) in [("next-line", 0), ("stride", 4), ("stream", 4)] {
        let with = run(&prefetching(kind, streams), 2 << 20, chase);
        assert!(with.counters.useful_prefetches * 10 <= plain.counters.secondary_misses, "{kind}: {:?}", with.counters);
        let most = if kind == "next-line" { 3 } else { 1 };
        assert!(with.time.0 * 10 <= plain.time.0 * (10 + most), "{kind}: {} instead of {}", with.time, plain.time);
    }
}

/// Prefetched lines that leave unused are counted.
#[test]
fn useless_prefetches_are_counted() {
    let keys = "[prefetch]\nkind = \"next-line\"\ndegree = 1\n[l2]\nsize_mib = 0.03125\n[l1]\nsize_kib = 1\n";
    let machine = machine("origin2000-r12k-300-2p", keys);
    let every_fourth = |thread: &mut Thread<'_>, base: PhysicalAddr| {
        for line in 0..1000 {
            thread.load_dependent(base.offset(512 * line));
            // Memory has time for both lines.
            thread.work(300);
        }
    };
    let counters = run(&machine, 8 << 20, every_fourth).counters;
    assert_eq!((counters.useful_prefetches, counters.prefetches), (0, 1000));
    assert!(counters.useless_prefetches > 800, "{counters:?}");
}
