//! The scheduler: time-sharing and space-sharing as the FLASH dissertation describes them for IRIX 6.5 (chapter 4).
//!
//! The scheduler is independent of the machine. It receives events of threads with their times and answers with
//! [`Action`]s; [`Scheduler::next`] is the time of its own next event. A process is an entry of [`Jobs`]: threads that
//! start together.

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
    /// A process starts, first come first served and first fit, when there is a processor for each of its threads, and
    /// keeps those processors until it ends.
    #[default]
    Batch,
    /// All threads of a process run, or none: processes take turns.
    Gang,
    /// Each thread is scheduled individually, from the queue of its processor, the common one, or another processor's.
    RunQueue,
}

impl TimeSharing {
    /// Every policy with its name.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Batch, "batch"), (Self::Gang, "gang"), (Self::RunQueue, "run-queue")];
}

/// The processor that a thread runs on (FLASH dissertation, 4.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpaceSharing {
    /// The one where it ran last. A thread that another processor has taken stays there.
    CacheAffinity,
    /// The one next to its memory, where it started. A thread that another processor has taken returns when it is next
    /// descheduled.
    MemoryAffinity,
    /// A fixed one: from the last processor down, away from processor 0.
    PinnedTopDown,
    /// A fixed one: from processor 0 up.
    #[default]
    PinnedInOrder,
}

impl SpaceSharing {
    /// Every policy with its name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::CacheAffinity, "cache-affinity"),
        (Self::MemoryAffinity, "memory-affinity"),
        (Self::PinnedTopDown, "pinned"),
        (Self::PinnedInOrder, "pinned-in-order"),
    ];

    /// Whether threads never leave their processors, even for idle ones.
    pub const fn is_pinned(self) -> bool {
        matches!(self, Self::PinnedTopDown | Self::PinnedInOrder)
    }
}

/// A scheduling policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scheduling {
    /// In time.
    pub time: TimeSharing,
    /// In space.
    pub space: SpaceSharing,
}

/// Scheduling counts of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedulingCounters {
    /// Number of times it gave up its processor to another thread because it blocked or yielded.
    pub voluntary_switches: u64,
    /// Number of preemptions.
    pub involuntary_switches: u64,
    /// Number of times it continued on another processor.
    pub migrations: u64,
    /// Time for which it was ready and had no processor.
    pub descheduled: Duration,
    /// Time for which the operating system held its processor while it was ready: switches and interrupts.
    pub operating_system: Duration,
}

/// An action of the scheduler on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A thread goes on, on an idle processor, at a time not before the present.
    Run {
        /// The processor.
        cpu: CpuId,
        /// The thread.
        thread: usize,
        /// The time.
        at: Time,
    },
    /// The thread of a processor is to leave it as soon as it can, upon which [`Scheduler::left`] is called.
    Preempt {
        /// The processor.
        cpu: CpuId,
    },
    /// The thread of a processor is interrupted.
    Interrupt {
        /// The processor.
        cpu: CpuId,
        /// The duration.
        length: Duration,
    },
}

/// The number of threads of each process, in order of arrival.
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
    /// Operating system time in each tick of processor 0.
    pub boot_load: Duration,
}

impl Costs {
    /// The lower limit of times that are waited for: an action of one processor on another takes an interrupt, and the
    /// simulator's look-ahead never exceeds it.
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
            // Zero means never.
            daemon_interval: scaled(spec.daemon_interval),
            daemon_length: waited(spec.daemon_length),
            age: scaled(spec.age),
            tick,
            boot_load: Duration(tick.0 * u64::from(spec.boot_load_percent) / 100),
        }
    }
}

/// The processors on which the threads of process number `job` start, on a machine of `processors`; no more than there
/// are. Without pinning, idle processors take waiting threads in the order of their scans, which is random.
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
