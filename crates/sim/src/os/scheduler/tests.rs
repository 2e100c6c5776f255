//! Tests of the scheduler by itself: the placement of threads after given events.

use machine::description::SchedulerSpec;
use units::{CpuId, Duration, Time};

use super::*;

/// A unit of the scheduler's time in picoseconds: short, yet longer than the lower limit of waiting times.
const UNIT: u64 = 100_000_000;

fn spec() -> SchedulerSpec {
    let unit = Duration(UNIT);
    SchedulerSpec {
        compression: 1,
        quantum: unit * 10,
        gang_quantum: unit * 10,
        gang_reschedule: unit / 10,
        switch: unit / 100,
        idle_scan: unit * 2,
        spin_limit: unit * 3,
        daemon_interval: Duration::ZERO,
        daemon_length: unit * 4,
        age: Duration::ZERO,
        tick: unit,
        boot_load_percent: 0,
    }
}

/// A scheduler on a machine whose threads leave at once when they are preempted.
struct Machine {
    scheduler: Scheduler,
    now: Time,
    /// The thread of each processor.
    running: Vec<Option<usize>>,
    interrupted: Duration,
}

impl Machine {
    fn new(spec: &SchedulerSpec, time: TimeSharing, space: SpaceSharing, processors: usize, jobs: &[usize]) -> Self {
        Self::seeded(spec, time, space, processors, jobs, 1)
    }

    fn seeded(
        spec: &SchedulerSpec,
        time: TimeSharing,
        space: SpaceSharing,
        processors: usize,
        jobs: &[usize],
        seed: u64,
    ) -> Self {
        let scheduling = Scheduling { time, space };
        let scheduler = Scheduler::new(spec, scheduling, processors, &jobs.to_vec(), seed, Time::ZERO);
        let mut machine =
            Self { scheduler, now: Time::ZERO, running: vec![None; processors], interrupted: Duration::ZERO };
        machine.tell(&mut |scheduler, now, actions| scheduler.start(now, actions));
        machine
    }

    fn tell(&mut self, tell: &mut dyn FnMut(&mut Scheduler, Time, &mut Vec<Action>)) {
        let mut actions = Vec::new();
        tell(&mut self.scheduler, self.now, &mut actions);
        let mut leaving = Vec::new();
        for action in actions {
            match action {
                Action::Run { cpu, thread, at } => {
                    assert!(at >= self.now);
                    assert!(!self.running.contains(&Some(thread)), "thread {thread} runs twice");
                    assert_eq!(self.running[cpu.index()].replace(thread), None, "{cpu:?} has a thread");
                }
                Action::Preempt { cpu } => leaving.push(cpu),
                Action::Interrupt { length, .. } => self.interrupted += length,
            }
        }
        for cpu in leaving {
            assert!(self.running[cpu.index()].take().is_some());
            self.tell(&mut |scheduler, now, actions| scheduler.left(cpu, now, actions));
        }
    }

    /// Passes time, with all events of the scheduler itself.
    fn pass(&mut self, units: u64) {
        let end = Time(self.now.0 + units * UNIT);
        while self.scheduler.next() <= end {
            assert!(self.scheduler.next() >= self.now, "time goes on");
            self.now = self.scheduler.next();
            self.tell(&mut |scheduler, now, actions| scheduler.tick(now, actions));
        }
        self.now = end;
    }

    fn end(&mut self, cpu: usize) {
        assert!(self.running[cpu].take().is_some());
        self.tell(&mut |scheduler, now, actions| scheduler.ended(CpuId(cpu as u16), now, actions));
    }

    fn block(&mut self, cpu: usize) -> usize {
        let thread = self.running[cpu].take().expect("a thread");
        self.tell(&mut |scheduler, now, actions| scheduler.blocked(CpuId(cpu as u16), now, actions));
        thread
    }

    fn wake(&mut self, thread: usize) {
        self.tell(&mut |scheduler, now, actions| scheduler.woken(thread, now, actions));
    }

    fn cpu_of(&self, thread: usize) -> Option<usize> {
        self.running.iter().position(|&running| running == Some(thread))
    }

    fn total(&self, of: fn(&SchedulingCounters) -> u64, threads: usize) -> u64 {
        (0..threads).map(|thread| of(&self.scheduler.counters(thread))).sum()
    }
}

const ALL_SPACES: [SpaceSharing; 4] = [
    SpaceSharing::CacheAffinity,
    SpaceSharing::MemoryAffinity,
    SpaceSharing::PinnedTopDown,
    SpaceSharing::PinnedInOrder,
];

#[test]
fn batch_starts_the_first_that_fits() {
    let spec = spec();
    for space in ALL_SPACES {
        let mut machine = Machine::new(&spec, TimeSharing::Batch, space, 8, &[6, 6, 2]);
        let runs =
            |machine: &Machine, threads: std::ops::Range<usize>| threads.clone().all(|t| machine.cpu_of(t).is_some());
        assert!(runs(&machine, 0..6), "the first process has its processors");
        if !space.is_pinned() {
            assert!(runs(&machine, 12..14), "{space:?}: the third fits beside it");
        }
        assert!((6..12).all(|thread| machine.cpu_of(thread).is_none()), "the second does not");
        machine.pass(100);
        assert!(runs(&machine, 0..6), "nobody takes them away");
        assert_eq!(machine.total(|counters| counters.involuntary_switches, 14), 0);
        (0..6).for_each(|thread| {
            let cpu = machine.cpu_of(thread).expect("it runs");
            machine.end(cpu);
        });
        machine.pass(5);
        assert!(runs(&machine, 6..12), "{space:?}: the second follows");
        assert!(machine.scheduler.counters(6).descheduled >= Duration(100 * UNIT));
    }
}

#[test]
fn pins_name_processors_from_the_top_or_from_the_bottom() {
    let down = places(SpaceSharing::PinnedTopDown, 8, 3, 0, 5);
    assert_eq!(down, [7, 6, 5].map(CpuId));
    assert_eq!(places(SpaceSharing::PinnedInOrder, 8, 3, 0, 5), [0, 1, 2].map(CpuId));
    let mut random = places(SpaceSharing::CacheAffinity, 64, 63, 0, 5);
    assert_ne!(random, places(SpaceSharing::CacheAffinity, 64, 63, 0, 6), "seeds differ");
    assert_ne!(random, places(SpaceSharing::CacheAffinity, 64, 63, 1, 5), "processes differ");
    random.sort_unstable();
    random.dedup();
    assert_eq!(random.len(), 63, "a processor each");
}

#[test]
fn threads_take_turns_by_quanta() {
    let mut machine = Machine::new(&spec(), TimeSharing::RunQueue, SpaceSharing::PinnedInOrder, 2, &[2, 2]);
    assert_eq!((machine.cpu_of(0), machine.cpu_of(1)), (Some(0), Some(1)));
    machine.pass(11);
    assert_eq!((machine.cpu_of(2), machine.cpu_of(3)), (Some(0), Some(1)));
    machine.pass(10);
    assert_eq!((machine.cpu_of(0), machine.cpu_of(1)), (Some(0), Some(1)));
    assert_eq!(machine.total(|counters| counters.involuntary_switches, 4), 4);
    assert_eq!(machine.total(|counters| counters.migrations, 4), 0, "pins hold");
}

#[test]
fn no_thread_starves_among_more_than_there_are_processors() {
    let mut machine = Machine::new(&spec(), TimeSharing::RunQueue, SpaceSharing::CacheAffinity, 3, &[10]);
    let mut ran = [false; 10];
    for _ in 0..20 {
        machine.running.iter().flatten().for_each(|&thread| ran[thread] = true);
        machine.pass(10);
    }
    assert_eq!(ran, [true; 10]);
}

/// A daemon preempts thread 1, and an idle processor takes it; the test then checks the policy's next step.
fn stolen(time: TimeSharing, space: SpaceSharing) -> (Machine, usize, usize) {
    let spec = SchedulerSpec { daemon_interval: Duration(UNIT * 300), daemon_length: Duration(UNIT * 30), ..spec() };
    let mut machine = Machine::new(&spec, time, space, 2, &[1]);
    let home = machine.cpu_of(0).expect("it runs");
    for _ in 0..4000 {
        machine.pass(1);
        if machine.cpu_of(0).is_some_and(|cpu| cpu != home) {
            let other = 1 - home;
            return (machine, home, other);
        }
    }
    (machine, home, home)
}

#[test]
fn a_thread_that_was_taken_along_stays_under_cache_affinity() {
    let (mut machine, home, other) = stolen(TimeSharing::RunQueue, SpaceSharing::CacheAffinity);
    assert_ne!(home, other, "it was taken along");
    // The thread blocks and wakes undisturbed: it continues where it ran last.
    let thread = machine.block(other);
    machine.wake(thread);
    assert_eq!(machine.cpu_of(0), Some(other));
    assert_eq!(machine.scheduler.counters(0).migrations, 1);
}

#[test]
fn memory_affinity_returns_a_thread() {
    let (mut machine, home, other) = stolen(TimeSharing::RunQueue, SpaceSharing::MemoryAffinity);
    assert_ne!(home, other, "it was taken along");
    let thread = machine.block(other);
    // The daemon that preempted it ends.
    for _ in 0..40 {
        machine.pass(1);
    }
    machine.wake(thread);
    machine.pass(1);
    assert_eq!(machine.cpu_of(0), Some(home));
    assert_eq!(machine.scheduler.counters(0).migrations, 2);
}

#[test]
fn a_thread_of_a_batch_returns_to_its_memory_when_a_quantum_ends() {
    let (mut machine, home, other) = stolen(TimeSharing::Batch, SpaceSharing::MemoryAffinity);
    assert_ne!(home, other, "it was taken along");
    // The daemon ends, and then a quantum.
    let returns = |machine: &mut Machine, units: usize| {
        (0..units).any(|_| {
            machine.pass(1);
            machine.cpu_of(0) == Some(home)
        })
    };
    assert!(returns(&mut machine, 41));
    let (mut machine, ..) = stolen(TimeSharing::Batch, SpaceSharing::CacheAffinity);
    assert!(!returns(&mut machine, 15), "its cache is where it is now, quanta or not");
}

#[test]
fn pinned_threads_never_migrate() {
    for space in [SpaceSharing::PinnedTopDown, SpaceSharing::PinnedInOrder] {
        for time in [TimeSharing::Batch, TimeSharing::RunQueue, TimeSharing::Gang] {
            let spec = SchedulerSpec { daemon_interval: Duration(UNIT * 50), ..spec() };
            let mut machine = Machine::new(&spec, time, space, 4, &[3, 3]);
            machine.pass(2000);
            assert_eq!(machine.total(|counters| counters.migrations, 6), 0, "{time:?} {space:?}");
            assert!(
                machine.total(|counters| counters.involuntary_switches, 6) > 10,
                "{time:?} {space:?}: daemons come"
            );
        }
    }
}

#[test]
fn a_gang_runs_as_a_block_or_not_at_all() {
    let spec = SchedulerSpec { daemon_interval: Duration(UNIT * 200), ..spec() };
    for space in ALL_SPACES {
        let mut machine = Machine::new(&spec, TimeSharing::Gang, space, 8, &[7, 5]);
        let mut turns = [0, 0];
        for _ in 0..3000 {
            machine.pass(1);
            let count = |machine: &Machine, threads: std::ops::Range<usize>| {
                threads.filter(|&thread| machine.cpu_of(thread).is_some()).count()
            };
            let [first, second] = [count(&machine, 0..7), count(&machine, 7..12)];
            assert!((first, second) == (7, 0) || (first, second) == (0, 5) || (first, second) == (0, 0));
            turns[0] += usize::from(first > 0);
            turns[1] += usize::from(second > 0);
        }
        assert!(turns.iter().all(|&units| units > 500), "{space:?}: both have their turns: {turns:?}");
        if !space.is_pinned() {
            let migrations = machine.total(|counters| counters.migrations, 12);
            assert!(migrations > 20, "{space:?}: those seated on the idle processor move: {migrations}");
        }
    }
}

/// A gang without others is stopped and restarted all the same (FLASH dissertation, 4.2.2).
#[test]
fn a_gang_alone_pays_for_its_turns() {
    let mut machine = Machine::new(&spec(), TimeSharing::Gang, SpaceSharing::PinnedTopDown, 8, &[7]);
    machine.pass(1070);
    // A turn of ten units, and a tenth for each of seven threads.
    assert_eq!(machine.total(|counters| counters.involuntary_switches, 7), 7 * 100);
    assert_eq!(machine.scheduler.counters(0).descheduled, Duration(UNIT * 7 / 10) * 100);
}

/// While a gang is being placed all processors are idle, and any may take any thread (FLASH dissertation, 4.1.2 and
/// 4.2.2).
#[test]
fn turns_of_a_gang_shuffle_threads_that_are_not_pinned() {
    for space in ALL_SPACES {
        let mut machine = Machine::new(&spec(), TimeSharing::Gang, space, 16, &[15]);
        let places = |machine: &Machine| (0..15).map(|thread| machine.cpu_of(thread)).collect::<Vec<_>>();
        let began = places(&machine);
        assert!(began.iter().all(Option::is_some), "{space:?}: all run, where they begin");
        machine.pass(12);
        let second = places(&machine);
        let moved = began.iter().zip(&second).filter(|(first, second)| first != second).count();
        if space.is_pinned() {
            assert_eq!(moved, 0, "{space:?}");
        } else {
            assert!(moved > 8, "{space:?}: {moved} of 15 are elsewhere after one turn");
        }
    }
}

/// Daemons too rare to occur within the simulation have moved threads in its past.
#[test]
fn the_past_has_taken_threads_away_from_where_they_began() {
    let old = SchedulerSpec { daemon_interval: Duration(UNIT * 300), age: Duration(UNIT * 30_000), ..spec() };
    let away = |spec: &SchedulerSpec, time, space| {
        let machine = Machine::new(spec, time, space, 8, &[7]);
        let began = |thread: usize| {
            let cpu = machine.cpu_of(thread).expect("it runs");
            machine.scheduler.began_on(CpuId(cpu as u16)).is_some_and(|began| began.index() != cpu)
        };
        (0..7).filter(|&thread| began(thread)).count()
    };
    let (batch, gang) = (TimeSharing::Batch, TimeSharing::Gang);
    assert!(away(&old, batch, SpaceSharing::CacheAffinity) > 3, "each stays where it was taken");
    assert_eq!(away(&old, batch, SpaceSharing::MemoryAffinity), 0, "each returned");
    assert!(away(&old, gang, SpaceSharing::MemoryAffinity) > 3, "turns shuffle them");
    assert_eq!(away(&old, batch, SpaceSharing::PinnedTopDown), 0);
    assert_eq!(away(&spec(), batch, SpaceSharing::CacheAffinity), 0, "no past");
}

/// Two processes that share processors in run queues have fallen out of step in the past; without one they are in step.
#[test]
fn the_past_has_taken_turns_out_of_step() {
    let young = SchedulerSpec { daemon_interval: Duration(UNIT * 300), ..spec() };
    let old = SchedulerSpec { age: Duration(UNIT * 30_000), ..young.clone() };
    let of_the_first = |spec: &SchedulerSpec| {
        let machine = Machine::new(spec, TimeSharing::RunQueue, SpaceSharing::MemoryAffinity, 16, &[16, 16]);
        assert!(machine.running.iter().filter(|thread| thread.is_some()).count() >= 15, "daemons have one at most");
        assert_eq!(machine.total(|counters| counters.involuntary_switches, 32), 0, "what was before is not counted");
        machine.running.iter().flatten().filter(|&&thread| thread < 16).count()
    };
    assert_eq!(of_the_first(&young), 16);
    assert!((3..14).contains(&of_the_first(&old)), "{} of 16 run", of_the_first(&old));
    // The run continues with all threads.
    let mut machine = Machine::new(&old, TimeSharing::RunQueue, SpaceSharing::MemoryAffinity, 16, &[16, 16]);
    let mut ran = [false; 32];
    for _ in 0..40 {
        machine.running.iter().flatten().for_each(|&thread| ran[thread] = true);
        machine.pass(1);
    }
    assert_eq!(ran, [true; 32]);
}

#[test]
fn who_looks_at_a_word_for_long_lets_others_run() {
    let mut machine = Machine::new(&spec(), TimeSharing::RunQueue, SpaceSharing::PinnedInOrder, 1, &[1, 1]);
    machine.scheduler.spins(CpuId(0), true, machine.now);
    machine.pass(4);
    assert_eq!(machine.cpu_of(1), Some(0));
    assert_eq!(machine.scheduler.counters(0).voluntary_switches, 1);
    machine.scheduler.spins(CpuId(0), true, machine.now);
    machine.scheduler.spins(CpuId(0), false, machine.now);
    machine.pass(4);
    assert_eq!(machine.cpu_of(1), Some(0), "one that stops looking stays");
}

#[test]
fn processor_0_works_for_the_operating_system_too() {
    let spec = SchedulerSpec { boot_load_percent: 15, ..spec() };
    let mut machine = Machine::new(&spec, TimeSharing::Batch, SpaceSharing::PinnedInOrder, 2, &[2]);
    machine.pass(100);
    assert_eq!(machine.interrupted, Duration(UNIT * 15));
    assert_eq!(machine.scheduler.counters(0).operating_system, Duration(UNIT * 15) + Duration(UNIT / 100));
    let mut machine = Machine::new(&spec, TimeSharing::Batch, SpaceSharing::PinnedTopDown, 2, &[1]);
    machine.pass(100);
    assert_eq!(machine.interrupted, Duration::ZERO, "nobody is there");
}

/// One processor more than each process has threads: the idle one takes threads that wait elsewhere, away from their
/// memory.
#[test]
fn the_processor_too_many_takes_threads_away() {
    let migrations = |space, seed| {
        let mut machine = Machine::seeded(&spec(), TimeSharing::RunQueue, space, 4, &[3, 3], seed);
        machine.pass(500);
        machine.total(|counters| counters.migrations, 6)
    };
    // Both processes must leave the same processor idle.
    assert!((0..20).any(|seed| migrations(SpaceSharing::MemoryAffinity, seed) > 0));
    assert!((0..20).all(|seed| migrations(SpaceSharing::PinnedTopDown, seed) == 0));
}

#[test]
fn equal_seeds_give_equal_decisions() {
    let spec = SchedulerSpec { daemon_interval: Duration(UNIT * 40), ..spec() };
    let run = || {
        let mut machine = Machine::new(&spec, TimeSharing::RunQueue, SpaceSharing::CacheAffinity, 8, &[7, 7]);
        machine.pass(300);
        (machine.running.clone(), (0..14).map(|thread| machine.scheduler.counters(thread)).collect::<Vec<_>>())
    };
    assert_eq!(run(), run());
}
