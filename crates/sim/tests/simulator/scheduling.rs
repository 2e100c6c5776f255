//! Tests of threads under the scheduler: look-ahead does not change results, no thread is lost, and deadlocks are
//! found.

use machine::Description;
use sim::{
    Job, Mode, Options, Program, Scheduling, SimError, Simulator, SpaceSharing, Thread, ThreadReport, TimeSharing,
};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr};

/// A machine whose operating system acts every few microseconds.
fn hasty(machine: &str) -> Description {
    let mut description = machine::load(machine).unwrap();
    description.scheduler.compression = 20_000;
    description.scheduler.daemon_interval = Duration::from_ns(6e8);
    description.scheduler.boot_load_percent = 15;
    description
}

fn simulator(description: &Description, mode: Mode) -> (Simulator, Vec<PhysicalAddr>) {
    let options = Options { mode, check_loads: true, seed: 7, ..Options::default() };
    let mut simulator = Simulator::new(description, options).unwrap();
    let nodes = simulator.topology().nodes().len() as u16;
    let regions = (0..nodes).map(|node| simulator.allocate(NodeId(node), Bytes(1 << 20)).unwrap()).collect();
    (simulator, regions)
}

/// Loads, stores, work, and occasional barriers: private lines, and contended ones.
fn busy(number: u64, regions: Vec<PhysicalAddr>) -> Program {
    Box::new(move |thread: &mut Thread<'_>| {
        for step in 0..400u64 {
            let own = regions[number as usize % regions.len()].offset((number * 64 + step % 40) * 128);
            let common = regions[step as usize % regions.len()].offset((1 << 19) + (step * 7 % 5) * 128);
            match step % 8 {
                0 => thread.store(common),
                1 => thread.load_dependent(common),
                2 | 3 => thread.store(own),
                4 => thread.work(150),
                5 => thread.instructions(200),
                _ => thread.load(own),
            }
            if step % 100 == 99 {
                thread.barrier();
            }
        }
    })
}

fn jobs(sizes: &[u64], regions: &[PhysicalAddr]) -> Vec<Job> {
    let job = |(number, &size): (usize, &u64)| Job {
        name: format!("job {number}"),
        threads: (0..size).map(|thread| busy(100 * number as u64 + thread, regions.to_vec())).collect(),
    };
    sizes.iter().enumerate().map(job).collect()
}

fn run(description: &Description, mode: Mode, policy: Scheduling, sizes: &[u64]) -> Vec<Vec<ThreadReport>> {
    let (mut simulator, regions) = simulator(description, mode);
    let reports = simulator.run_jobs(jobs(sizes, &regions), policy).unwrap();
    simulator.check_coherence().unwrap();
    assert_eq!(simulator.messages_under_way(), 0);
    let last = reports.iter().flatten().map(|report| report.finished).max().unwrap();
    assert!(simulator.now() >= last && simulator.now() - last < Duration::from_ns(10_000.0));
    reports
}

fn policies() -> impl Iterator<Item = Scheduling> {
    let spaces = |(time, _)| SpaceSharing::ALL.map(|(space, _)| Scheduling { time, space });
    TimeSharing::ALL.into_iter().flat_map(spaces)
}

#[test]
fn look_ahead_equals_lock_step_under_every_scheduler() {
    for machine in ["origin2000-r12k-300-8p", "flash-8p"] {
        let description = hasty(machine);
        for policy in policies() {
            let [ahead, in_step] =
                [Mode::LookAhead, Mode::LockStep].map(|mode| run(&description, mode, policy, &[7, 7]));
            assert!(ahead == in_step, "{machine} {policy:?}");
            let switches: u64 = ahead.iter().flatten().map(|report| report.scheduling.involuntary_switches).sum();
            assert!(switches > 5, "{machine} {policy:?}: {switches} switches");
            let migrations: u64 = ahead.iter().flatten().map(|report| report.scheduling.migrations).sum();
            assert_eq!(migrations == 0, policy.space.is_pinned(), "{machine} {policy:?}: {migrations} migrations");
            let references: u64 = ahead.iter().flatten().map(|report| report.counters.references).sum();
            assert_eq!(references, 14 * 300, "each access is made once, wherever");
        }
    }
}

/// The default scheduler, without any decision to make, does not change results.
#[test]
fn an_undisturbed_batch_in_order_is_as_without_a_scheduler() {
    let mut description = hasty("origin2000-r12k-300-8p");
    description.scheduler.daemon_interval = Duration::ZERO;
    description.scheduler.boot_load_percent = 0;
    description.scheduler.switch = Duration::ZERO;
    let mut scheduled = run(&description, Mode::LookAhead, Scheduling::default(), &[8]);
    let (mut simulator, regions) = simulator(&description, Mode::LookAhead);
    let programs = (0..8).map(|thread| (CpuId(thread as u16), busy(thread, regions.clone())));
    let mut alone = simulator.run(programs.collect()).unwrap();
    // External requests at a thread's processor do not count for the thread after it has left for a barrier.
    for report in scheduled.iter_mut().flatten().chain(&mut alone) {
        report.counters.external = sim::ExternalCounts::default();
        report.whole.external = sim::ExternalCounts::default();
    }
    assert_eq!(scheduled, [alone]);
}

#[test]
fn more_threads_than_processors_take_turns_or_are_refused() {
    let description = hasty("flash-2p");
    for policy in policies() {
        let (mut simulator, regions) = simulator(&description, Mode::LookAhead);
        let outcome = simulator.run_jobs(jobs(&[5], &regions), policy);
        if policy.time == TimeSharing::RunQueue && !policy.space.is_pinned() {
            assert_eq!(outcome.unwrap()[0].len(), 5);
        } else {
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("job 0 has 5 threads") && !message.contains('\n'), "{message}");
        }
    }
}

/// Loads a word and waits for its value.
fn look(thread: &mut Thread<'_>, at: PhysicalAddr) {
    thread.load(at);
    thread.now();
    thread.order();
}

#[test]
fn who_spins_counts_his_looks_and_sees_the_store() {
    for machine in ["origin2000-r12k-300-4p", "flash-4p"] {
        let spin = |mode| {
            let (mut simulator, regions) = simulator(&hasty(machine), mode);
            let flag = regions[0];
            let waits = move |thread: &mut Thread<'_>| {
                look(thread, flag);
                thread.spin(flag, 4);
                look(thread, flag);
            };
            let stores = move |thread: &mut Thread<'_>| {
                for _ in 0..100 {
                    thread.work(300);
                    thread.drain();
                }
                thread.store(flag);
            };
            let programs = vec![(CpuId(0), Box::new(waits) as Program), (CpuId(2), Box::new(stores) as Program)];
            simulator.run(programs).unwrap()
        };
        let reports = spin(Mode::LookAhead);
        assert_eq!(reports, spin(Mode::LockStep), "{machine}");
        let (waited, stored) = (reports[0], reports[1]);
        assert!(waited.finished + Duration::from_ns(2000.0) > stored.finished, "{machine}: it ends after the store");
        // 30 000 cycles of work, with a spinning load about every three cycles.
        assert!(
            (5_000..20_000).contains(&waited.counters.references),
            "{machine}: {} looks",
            waited.counters.references
        );
    }
}

/// A deadlock is reported with its threads and its time, with or without daemons.
#[test]
fn a_deadlock_is_found_under_every_scheduler() {
    let description = hasty("flash-4p");
    let stuck = |regions: &[PhysicalAddr]| {
        let flag = regions[0];
        let forever = move |thread: &mut Thread<'_>| loop {
            look(thread, flag);
            thread.spin(flag, 4);
        };
        let meets = |thread: &mut Thread<'_>| thread.barrier();
        let threads: Vec<Program> = vec![Box::new(meets), Box::new(forever)];
        Job { name: "locks".to_owned(), threads }
    };
    for policy in policies() {
        let (mut simulator, regions) = simulator(&description, Mode::LookAhead);
        let error = simulator.run_jobs(vec![stuck(&regions), stuck(&regions)], policy).unwrap_err();
        assert!(matches!(error, SimError::Deadlock { .. }), "{policy:?}: {error}");
        let message = error.to_string();
        assert!(message.contains("thread 1 of locks") && message.contains("ns"), "{policy:?}: {message}");
    }
}
