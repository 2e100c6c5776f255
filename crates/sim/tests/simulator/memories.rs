//! Tests of nodes with several memories: lines lie in them in turn, each memory is occupied by its own lines alone, and the
//! random tester finds no fault.

use std::cell::RefCell;
use std::rc::Rc;

use machine::Description;
use sim::random::RandomTest;
use sim::{Mode, Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, Duration, NodeId};

/// A bus with memories of one bank, whose banks are held for 200 bus cycles by an access: a microsecond.
fn bus(memories: &str) -> Description {
    let changes = [
        ("memory.controllers", memories),
        ("memory.refresh_cycles", "0"),
        ("banks.channels", "1"),
        ("banks.banks_per_channel", "1"),
        ("banks.bank_cycles", "200"),
    ];
    machine::resolve_changed("smp-2p", "smp-2p", "changed", &changes).expect("a machine").description
}

/// The latency of a read of line 0, and that of a read of line `line` by another processor that begins `later` after it.
fn latencies(description: &Description, line: u64, later: Duration) -> [Duration; 2] {
    let mut simulator = Simulator::new(description, Options::default()).expect("it can be simulated");
    let start = simulator.allocate(NodeId(0), Bytes(4096)).expect("there is room");
    let times = Rc::new(RefCell::new([Duration::ZERO; 2]));
    let size = description.coherent_cache().line.0;
    let cycles = (later.0 / description.processor.clock.period().0) as u32;
    let program = |cpu: u16| {
        let times = times.clone();
        let body = move |thread: &mut Thread<'_>| {
            // The translations are there before the measurement.
            thread.load_dependent(start.offset(63 * size));
            thread.drain();
            thread.work(100_000);
            thread.barrier();
            thread.work(if cpu == 1 { cycles } else { 0 });
            let before = thread.now();
            thread.load_dependent(start.offset(if cpu == 1 { line * size } else { 0 }));
            thread.drain();
            times.borrow_mut()[usize::from(cpu)] = thread.now() - before;
        };
        (CpuId(cpu), Box::new(body) as Program)
    };
    simulator.run(vec![program(0), program(1)]).expect("it runs");
    times.take()
}

/// A read that would reach the bank of an earlier one a bus cycle before the bank is free waits for that cycle; a bus cycle later
/// it waits for nothing.
#[test]
fn a_memory_is_busy_with_its_own_lines_alone() {
    let cycle = Duration::from_ns(5.0);
    for (memories, same, other) in [("1", 1, None), ("2", 2, Some(1)), ("3", 3, Some(2))] {
        let machine = bus(memories);
        let [alone, _] = latencies(&machine, same, Duration::from_ns(10_000.0));
        let second = |line, later: u64| latencies(&machine, line, cycle * later)[1];
        assert_eq!(second(same, 199), alone + cycle, "{memories} memories: the bank is not free");
        assert_eq!(second(same, 200), alone, "{memories} memories: the bank is free");
        assert_eq!(second(same, 100), alone + cycle * 100, "{memories} memories: half of the time");
        if let Some(other) = other {
            assert_eq!(second(other, 100), alone, "{memories} memories: another one");
        }
    }
}

#[test]
fn buses_with_several_memories_survive() {
    for (seed, memories) in [(1, "2"), (2, "3"), (3, "8")] {
        let changes = [("memory.controllers", memories)];
        let machine = machine::resolve_changed("smp-8p", "smp-8p", "changed", &changes).expect("a machine").description;
        for delay in [0.0, 500.0] {
            let test = RandomTest { delay: Duration::from_ns(delay), references: 500, ..RandomTest::new(seed) };
            let report = test.run(&machine).unwrap_or_else(|failure| panic!("{failure}"));
            let step =
                RandomTest { mode: Mode::LockStep, ..test }.run(&machine).unwrap_or_else(|failure| panic!("{failure}"));
            assert!(report == step, "{memories} memories, delay {delay}: look-ahead changes the run");
        }
    }
}
