//! Who runs when and where: time-sharing and space-sharing as the FLASH dissertation tells of IRIX 6.5 (chapter 4).
//!
//! The scheduler knows no machine. It is told what threads do and what time it is, and answers with [`Action`]s; it says when
//! it wants to be woken next ([`Scheduler::next`]). A process is a [`Jobs`] entry: threads that start together.

mod arrivals;
mod core;
mod daemons;
mod gang;
mod past;
mod queues;
#[cfg(test)]
mod tests;

pub use self::core::Scheduler;

use machine::description::SchedulerSpec;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{CpuId, Duration, Time};

/// How processes share the machine in time (FLASH dissertation, 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeSharing {
    /// A process starts, first come first served and first fit, when there is a processor for each of its threads. Until it
    /// ends no other takes them.
    #[default]
    Batch,
    /// All threads of a process run, or none: processes take turns.
    Gang,
    /// Every thread by itself, from the queue of its processor, from the common one, from another's.
    RunQueue,
}

impl TimeSharing {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Batch, "batch"), (Self::Gang, "gang"), (Self::RunQueue, "run-queue")];
}

/// On which processor a thread runs (FLASH dissertation, 4.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpaceSharing {
    /// Where it ran last. One that was taken along to another processor stays there.
    CacheAffinity,
    /// Where its memory is: with the processor that it started on. One that was taken along returns when it is next
    /// descheduled.
    MemoryAffinity,
    /// On one processor and no other: from the last processor down, away from processor 0.
    PinnedTopDown,
    /// On one processor and no other: from processor 0 up.
    #[default]
    PinnedInOrder,
}

impl SpaceSharing {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::CacheAffinity, "cache-affinity"),
        (Self::MemoryAffinity, "memory-affinity"),
        (Self::PinnedTopDown, "pinned"),
        (Self::PinnedInOrder, "pinned-in-order"),
    ];

    /// Whether threads stay where they are, whatever else is idle.
    pub const fn is_pinned(self) -> bool {
        matches!(self, Self::PinnedTopDown | Self::PinnedInOrder)
    }
}

/// What a scheduler goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scheduling {
    /// In time.
    pub time: TimeSharing,
    /// In space.
    pub space: SpaceSharing,
}

/// What the operating system did to a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedulingCounters {
    /// How often it gave its processor to another thread because it had nothing to do.
    pub voluntary_switches: u64,
    /// How often its processor was taken from it.
    pub involuntary_switches: u64,
    /// How often it went on on another processor than before.
    pub migrations: u64,
    /// For how long it could have run and had no processor.
    pub descheduled: Duration,
    /// For how long the operating system held its processor while it could have run: switches and interrupts.
    pub operating_system: Duration,
}

/// What is to be done to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A thread goes on, on a processor that runs none, at a time not before the present.
    Run {
        /// The processor.
        cpu: CpuId,
        /// The thread.
        thread: usize,
        /// When.
        at: Time,
    },
    /// The thread of a processor is to leave it as soon as it can: [`Scheduler::left`] is to be told.
    Preempt {
        /// The processor.
        cpu: CpuId,
    },
    /// The thread of a processor stands still for a while.
    Interrupt {
        /// The processor.
        cpu: CpuId,
        /// For how long.
        length: Duration,
    },
}

/// How many threads each process has, in the order in which the processes came.
pub type Jobs = Vec<usize>;

/// The parameters of a machine's scheduler, divided by its compression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub quantum: Duration,
    pub gang_quantum: Duration,
    pub gang_reschedule: Duration,
    pub switch: Duration,
    pub idle_scan: Duration,
    pub spin_limit: Duration,
    pub daemon_interval: Duration,
    pub daemon_length: Duration,
    pub age: Duration,
    pub tick: Duration,
    /// Of each tick of processor 0, what the operating system takes.
    pub boot_load: Duration,
}

impl Costs {
    /// No time that is waited for is shorter: what one processor does to another takes an interrupt, and no processor of the
    /// simulator runs so far ahead.
    const LEAST: Duration = Duration(1_000_000);

    pub fn new(spec: &SchedulerSpec) -> Self {
        let scaled = |time: Duration| Duration(time.0 / u64::from(spec.compression));
        let waited = |time: Duration| scaled(time).max(Self::LEAST);
        let tick = waited(spec.tick);
        Self {
            quantum: waited(spec.quantum),
            gang_quantum: waited(spec.gang_quantum),
            gang_reschedule: scaled(spec.gang_reschedule),
            switch: scaled(spec.switch),
            idle_scan: waited(spec.idle_scan),
            spin_limit: waited(spec.spin_limit),
            // Zero is never.
            daemon_interval: scaled(spec.daemon_interval),
            daemon_length: waited(spec.daemon_length),
            age: scaled(spec.age),
            tick,
            boot_load: Duration(tick.0 * u64::from(spec.boot_load_percent) / 100),
        }
    }
}

/// The processors on which the threads of process number `job` start, on a machine of `processors`; no more than there are.
/// Without pins, idle processors take what waits in the order in which they come to look: at random.
pub fn places(space: SpaceSharing, processors: usize, threads: usize, job: usize, seed: u64) -> Vec<CpuId> {
    let cpu = |number: usize| CpuId(number as u16);
    match space {
        SpaceSharing::PinnedTopDown => (0..processors).rev().take(threads).map(cpu).collect(),
        SpaceSharing::PinnedInOrder => (0..processors).take(threads).map(cpu).collect(),
        SpaceSharing::CacheAffinity | SpaceSharing::MemoryAffinity => {
            let mut order: Vec<CpuId> = (0..processors).map(cpu).collect();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (job as u64 + 1) << 48);
            for last in (1..order.len()).rev() {
                order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
            }
            order.truncate(threads);
            order
        }
    }
}
