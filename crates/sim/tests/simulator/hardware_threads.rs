//! Cores with several hardware threads: what these share, what each has for itself, and that look-ahead changes nothing.

use std::cell::Cell;
use std::rc::Rc;

use machine::Description;
use sim::random::RandomTest;
use sim::{Mode, Options, Program, Simulator, Thread, ThreadReport};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr};

fn changed(machine: &str, changes: &[(&str, &str)]) -> Description {
    machine::resolve_changed(machine, machine, "", changes).unwrap_or_else(|error| panic!("{error}")).description
}

/// A server of two threads a core, without prefetchers.
fn server() -> Description {
    changed("xeon-8180-2s", &[("prefetch", "none"), ("processor.threads", "2")])
}

/// The second thread of core 0.
fn sibling(description: &Description) -> CpuId {
    CpuId(description.topology.processors as u16)
}

/// Runs the same program on each of these hardware threads, in both modes, with `lines` lines of memory of its own.
fn run(
    description: &Description,
    threads: &[CpuId],
    lines: u64,
    program: impl Fn(&mut Thread<'_>, PhysicalAddr) + Clone + 'static,
) -> Vec<ThreadReport> {
    let once = |mode| {
        let options = Options { mode, check_loads: true, ..Options::default() };
        let mut simulator = Simulator::new(description, options).unwrap();
        let programs = threads.iter().map(|&cpu| {
            let base = simulator.allocate(NodeId(0), Bytes(lines * 64)).unwrap();
            let program = program.clone();
            (cpu, Box::new(move |thread: &mut Thread<'_>| program(thread, base)) as Program)
        });
        let programs: Vec<_> = programs.collect();
        let reports = simulator.run(programs).unwrap();
        simulator.check_coherence().unwrap();
        reports
    };
    let ahead = once(Mode::LookAhead);
    assert_eq!(ahead, once(Mode::LockStep));
    ahead
}

fn longest(reports: &[ThreadReport]) -> f64 {
    reports.iter().map(|report| report.time.as_ns()).fold(0.0, f64::max)
}

/// The time of the slower of two threads over that of one alone: on one core, and on two.
fn slowdowns(program: impl Fn(&mut Thread<'_>, PhysicalAddr) + Clone + 'static) -> [f64; 2] {
    let description = server();
    let time = |threads: &[CpuId]| longest(&run(&description, threads, 1 << 14, program.clone()));
    let alone = time(&[CpuId(0)]);
    [sibling(&description), CpuId(1)].map(|other| time(&[CpuId(0), other]) / alone)
}

#[test]
fn threads_that_issue_all_the_time_get_every_other_slot() {
    let [one_core, two_cores] = slowdowns(|thread, _| (0..1000).for_each(|_| thread.instructions(8)));
    assert!((1.99..2.01).contains(&one_core), "{one_core}");
    assert!((0.999..1.001).contains(&two_cores), "{two_cores}");
}

#[test]
fn four_threads_take_turns() {
    let description = changed("xeon-e5-2699v3-2s", &[("prefetch", "none"), ("processor.threads", "4")]);
    let cores = description.topology.processors as u16;
    let time = |threads: u16| {
        let threads: Vec<CpuId> = (0..threads).map(|thread| CpuId(thread * cores)).collect();
        longest(&run(&description, &threads, 1, |thread, _| (0..1000).for_each(|_| thread.instructions(8))))
    };
    let [two, four] = [2, 4].map(|threads| time(threads) / time(1));
    assert!((1.99..2.01).contains(&two) && (3.98..4.02).contains(&four), "{two}, {four}");
}

#[test]
fn a_thread_uses_the_slots_while_another_waits_for_memory() {
    let chain = |thread: &mut Thread<'_>, base: PhysicalAddr| {
        (0..1000).for_each(|number: u64| thread.load_dependent(base.offset(number * 389 % 1000 * 16 * 64)));
    };
    let [one_core, two_cores] = slowdowns(chain);
    assert!((0.98..1.1).contains(&one_core) && (0.98..1.1).contains(&two_cores), "{one_core}, {two_cores}");
}

/// A thread with short computations beside one with long ones is not held up by them: it gets every other slot, too.
#[test]
fn short_computations_do_not_wait_for_long_ones() {
    let description = server();
    let programs = |both: bool| {
        let mut simulator = Simulator::new(&description, Options::default()).unwrap();
        let short = |thread: &mut Thread<'_>| (0..1000).for_each(|_| thread.instructions(4));
        let long = |thread: &mut Thread<'_>| (0..100).for_each(|_| thread.instructions(400));
        let mut programs: Vec<(CpuId, Program)> = vec![(CpuId(0), Box::new(short))];
        if both {
            programs.push((sibling(&description), Box::new(long)));
        }
        simulator.run(programs).unwrap()[0].time.as_ns()
    };
    let slowdown = programs(true) / programs(false);
    assert!((1.9..2.1).contains(&slowdown), "{slowdown}");
}

/// Both threads divide the window: a thread overlaps fewer misses of its own.
#[test]
fn threads_divide_the_window_and_share_the_miss_registers() {
    let misses = |thread: &mut Thread<'_>, base: PhysicalAddr| {
        for number in 0..500u64 {
            thread.load(base.offset(number * 389 % 500 * 16 * 64));
            // The whole window holds three such loads, half of it one.
            thread.instructions(70);
        }
    };
    let [one_core, two_cores] = slowdowns(misses);
    assert!(one_core > 1.6 && two_cores < 1.1, "{one_core}, {two_cores}");
}

#[test]
fn threads_of_a_core_find_each_others_lines_in_its_caches() {
    let description = server();
    let read = |other: CpuId| {
        let mut simulator = Simulator::new(&description, Options::default()).unwrap();
        let base = simulator.allocate(NodeId(0), Bytes(64 * 64)).unwrap();
        let lines = move |thread: &mut Thread<'_>| (0..64).for_each(|line| thread.load(base.offset(line * 64)));
        let first = move |thread: &mut Thread<'_>| {
            lines(thread);
            thread.barrier();
        };
        let second = move |thread: &mut Thread<'_>| {
            thread.barrier();
            lines(thread);
        };
        let programs: Vec<(CpuId, Program)> = vec![(CpuId(0), Box::new(first)), (other, Box::new(second))];
        simulator.run(programs).unwrap()[1].counters.primary_misses
    };
    assert_eq!([sibling(&description), CpuId(1)].map(read), [0, 64]);
}

/// A change by one thread of a core is seen by another that spins on the word, though the line stays in their cache.
#[test]
fn a_spinning_thread_sees_a_change_by_its_sibling() {
    let description = server();
    for mode in [Mode::LookAhead, Mode::LockStep] {
        let mut simulator = Simulator::new(&description, Options { mode, ..Options::default() }).unwrap();
        let word = simulator.allocate(NodeId(0), Bytes(64)).unwrap();
        let flag = Rc::new(Cell::new(false));
        let seen = Rc::clone(&flag);
        let setter = move |thread: &mut Thread<'_>| {
            thread.load(word);
            (0..1000).for_each(|_| thread.instructions(40));
            thread.release(Some(word), || flag.set(true));
        };
        let waiter = move |thread: &mut Thread<'_>| {
            while !thread.acquire(Some(word), || seen.get()) {
                thread.spin(word, 2);
            }
        };
        let programs: Vec<(CpuId, Program)> =
            vec![(CpuId(0), Box::new(setter)), (sibling(&description), Box::new(waiter))];
        let reports = simulator.run(programs).unwrap();
        let [set, saw] = [0, 1].map(|number: usize| reports[number].finished);
        assert!(saw > set && saw - set < Duration::from_ns(100.0), "{mode:?}: set at {set:?}, seen at {saw:?}");
    }
}

/// Random programs on all threads, every load and store checked, with look-ahead and without.
#[test]
fn random_programs_survive() {
    for (machine, threads, references) in [
        ("xeon-8180-2s", "2", 40),
        ("xeon-e5-2699v3-2s", "2", 60),
        ("epyc-7702-2s", "2", 20),
        ("xeon-e5-2699v3-2s", "4", 30),
    ] {
        let description = changed(machine, &[("processor.threads", threads)]);
        for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 30.0)] {
            let test = RandomTest { delay: Duration::from_ns(delay), references, lines: 1024, ..RandomTest::new(seed) };
            let of = |mode| RandomTest { mode, ..test }.run(&description).unwrap_or_else(|failure| panic!("{failure}"));
            let ahead = of(Mode::LookAhead);
            assert!(ahead == of(Mode::LockStep), "{machine}, {threads} threads, seed {seed}");
            assert_eq!(
                ahead.threads.len(),
                description.topology.processors as usize * description.processor.threads as usize
            );
        }
    }
}
