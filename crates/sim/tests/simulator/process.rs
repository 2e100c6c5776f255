//! Tests of processes with dynamic threads: their operating system calls happen at their own time, in look-ahead and
//! lock-step, with a processor for each thread or with turns.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use machine::Description;
use sim::{Mode, Options, Program, SimError, Simulator, Thread, ThreadId, ThreadReport};
use units::{CpuId, Duration, NodeId, Time};

fn machine() -> Description {
    machine::load("origin2000-r12k-300-4p").expect("a machine")
}

/// Runs a process in look-ahead and lock-step on `cpus` processors, requires equal results, and returns them.
fn run(cpus: u16, first: impl Fn() -> Program) -> Result<(Vec<ThreadReport>, Time), SimError> {
    run_on(&machine(), cpus, first)
}

/// The same on a machine of four processors.
fn run_on(
    machine: &Description,
    cpus: u16,
    first: impl Fn() -> Program,
) -> Result<(Vec<ThreadReport>, Time), SimError> {
    let once = |mode| {
        let mut simulator = Simulator::new(machine, Options { mode, ..Options::default() })?;
        simulator.map(&[None; 64])?;
        let reports = simulator.run_process((0..cpus).map(CpuId).collect(), None, first())?;
        simulator.check_coherence().expect("coherent");
        Ok((reports, simulator.now()))
    };
    let (ahead, step): (Result<_, SimError>, Result<_, SimError>) = (once(Mode::LookAhead), once(Mode::LockStep));
    match (&ahead, &step) {
        (Ok(ahead), Ok(step)) => assert_eq!(ahead, step),
        (Err(ahead), Err(step)) => assert_eq!(ahead.to_string(), step.to_string()),
        _ => panic!("{ahead:?} and {step:?}"),
    }
    ahead
}

/// A child that counts itself, touches its own page and a shared one, and wakes its creator if it is the last.
fn child(number: u64, done: Rc<Cell<u64>>, all: u64) -> Program {
    Box::new(move |thread: &mut Thread<'_>| {
        for step in 0..200 {
            thread.load(units::VirtualAddr(((number % 16) << 14) | (step * 32)));
            thread.store(units::VirtualAddr((40 << 14) | (step % 4 * 128)));
            thread.instructions(10);
        }
        thread.drain();
        thread.order();
        done.set(done.get() + 1);
        if done.get() == all {
            thread.unpark(ThreadId(0));
        }
    })
}

/// A first thread that creates `all` children and waits for them.
fn parent(all: u64) -> Program {
    Box::new(move |thread: &mut Thread<'_>| {
        let done = Rc::new(Cell::new(0));
        for number in 0..all {
            let id = thread.spawn(child(number, done.clone(), all), Vec::new()).expect("a thread");
            assert_eq!(id, ThreadId(number as usize + 1));
        }
        thread.order();
        while done.get() < all {
            thread.park(None);
        }
    })
}

#[test]
fn threads_begin_run_and_end_on_processors_of_their_own() {
    let (reports, _) = run(4, || parent(3)).expect("it ends");
    let cpus: Vec<u16> = reports.iter().map(|report| report.cpu.0).collect();
    assert_eq!(cpus, [0, 1, 2, 3]);
    assert!(
        reports[1..].iter().all(|report| report.started >= reports[0].started && report.counters.references == 400)
    );
}

#[test]
fn processors_of_threads_that_have_ended_are_taken_again() {
    let body = || -> Program {
        Box::new(|thread| {
            for _ in 0..5 {
                let done = Rc::new(Cell::new(0));
                thread.spawn(child(0, done.clone(), 1), Vec::new()).expect("a thread");
                thread.order();
                while done.get() < 1 {
                    thread.park(None);
                }
                // The child ends after it has woken this thread.
                thread.park(Some(thread.clock() + Duration::from_ns(1000.0)));
            }
        })
    };
    let (reports, _) = run(2, body).expect("it ends");
    assert_eq!(reports.iter().map(|report| report.cpu.0).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1]);
}

#[test]
fn more_threads_than_processors_take_turns() {
    let (reports, _) = run(4, || parent(11)).expect("it ends");
    assert_eq!(reports.len(), 12);
    assert!(reports[1..].iter().all(|report| report.counters.references == 400));
}

#[test]
fn a_parked_thread_goes_on_when_its_time_has_come() {
    for others in [0, 6] {
        let (reports, _) = run(2, || {
            Box::new(move |thread: &mut Thread<'_>| {
                let done = Rc::new(Cell::new(0));
                for number in 0..others {
                    thread.spawn(child(number, done.clone(), u64::MAX), Vec::new()).expect("a thread");
                }
                let until = thread.now() + Duration::from_ns(5_000_000.0);
                thread.park(Some(until));
                assert!(thread.now() >= until, "with {others} others");
                // A timeout in the past causes no wait.
                let now = thread.now();
                thread.park(Some(Time(1)));
                assert_eq!(thread.now(), now);
            })
        })
        .expect("it ends");
        assert_eq!(reports.len() as u64, others + 1);
    }
}

#[test]
fn the_end_of_a_process_cuts_its_threads_off() {
    for cpus in [2, 4] {
        let (reports, end) = run(cpus, || {
            Box::new(|thread: &mut Thread<'_>| {
                for _ in 0..3 {
                    let forever: Program = Box::new(|thread| {
                        loop {
                            thread.instructions(1000);
                            thread.order();
                        }
                    });
                    thread.spawn(forever, Vec::new()).expect("a thread");
                }
                thread.park(Some(Time(50_000_000)));
                thread.end_process();
            })
        })
        .expect("it ends");
        assert_eq!(reports.len(), 4);
        assert!(end < Time(200_000_000_000), "{end}");
    }
}

#[test]
fn threads_that_wait_for_ever_are_a_deadlock() {
    for threads in [1, 6] {
        let error = run(2, || {
            Box::new(move |thread: &mut Thread<'_>| {
                for _ in 1..threads {
                    thread.spawn(Box::new(|thread| thread.park(None)), Vec::new()).expect("a thread");
                }
                thread.park(None);
            })
        });
        assert!(matches!(error, Err(SimError::Deadlock { .. })), "{threads}: {error:?}");
    }
}

#[test]
fn pages_are_mapped_planned_and_found_while_the_process_runs() {
    let mut description = machine();
    description.os.placement = machine::description::PlacementKind::Planned;
    let mut simulator = Simulator::new(&description, Options::default()).expect("a machine");
    simulator.map(&[None; 4]).expect("room");
    let homes = Rc::new(RefCell::new(Vec::new()));
    let told = homes.clone();
    let first: Program = Box::new(move |thread| {
        let start = thread.map(vec![None; 3]).expect("room");
        thread.plan(vec![(start, NodeId(1)), (start.offset(1 << 14), NodeId(99))]);
        for page in 0..2 {
            let at = start.offset(page << 14);
            told.borrow_mut().push(thread.home_of(at));
            thread.store(at);
            thread.drain();
            told.borrow_mut().push(thread.home_of(at));
        }
        thread.migrate(vec![CpuId(3)]);
        told.borrow_mut().push(Some(NodeId(thread.cpu().0)));
    });
    simulator.run_process((0..4).map(CpuId).collect(), None, first).expect("it ends");
    let expected = [None, Some(NodeId(1)), None, Some(NodeId(0)), Some(NodeId(3))];
    assert_eq!(*homes.borrow(), expected, "planned, then where it was first touched, then on processor 3");
}

/// The reference counters of its node interrupt a processor whose program looks at a word in a loop of its own: the rounds go on after
/// each interrupt, whether they are simulated one by one or passed over.
#[test]
fn interrupts_take_their_time_from_a_loop_that_looks() {
    let mut machine = machine();
    (machine.os.migration, machine.os.migration_threshold, machine.os.migration_limit) = (true, 1, 1);
    let page = |number: u64| units::VirtualAddr(number << 14);
    let body = || -> Program {
        Box::new(move |thread| {
            (0..16).for_each(|number| thread.store(page(number)));
            let done = Rc::new(Cell::new(false));
            let over = done.clone();
            let child = move |thread: &mut Thread<'_>| {
                for number in 1..16 {
                    thread.work(3_000);
                    thread.load_dependent(page(number));
                }
                thread.store(page(0));
                thread.order();
                over.set(true);
                thread.publish(page(0));
            };
            thread.spawn(Box::new(child), vec![CpuId(2)]).expect("a processor is free");
            let mut again = false;
            loop {
                thread.look_on(page(0), again, 1 << 10);
                again = true;
                // The look sees the word as it is when its load issues.
                thread.order();
                let seen = done.get();
                thread.load_dependent(page(0));
                if seen {
                    // Longer than the rounds that it might have passed over.
                    return thread.work(100_000);
                }
            }
        })
    };
    let (reports, _) = run_on(&machine, 4, body).expect("it ends");
    let waited = reports[0].counters.time.of(sim::Cause::System);
    assert!(waited >= machine.os.interrupt * 15, "{waited:?}");
}
