//! The programs on the processors of a system, and who runs where.

use engine::StackPool;
use machine::description::SchedulerSpec;
use units::Time;

use super::ThreadReport;
use super::process::Process;
use super::programs::Running;
use super::schedule::Schedule;
use crate::processor::Post;

/// The threads of a run.
pub(super) struct Threads {
    /// By processor, the program on it.
    pub(super) running: Vec<Option<Running>>,
    /// Reports of ended threads, with their numbers.
    pub(super) reports: Vec<(usize, ThreadReport)>,
    /// Threads at the barrier of a program without a scheduler.
    pub(super) at_barrier: usize,
    /// The process with dynamic threads, if one runs.
    pub(super) process: Option<Process>,
    /// The scheduler, if one places the threads.
    pub(super) schedule: Option<Box<Schedule>>,
    /// The time of the scheduler's next own event.
    pub(super) schedule_next: Time,
    /// Times of the scheduler.
    pub(super) scheduler: SchedulerSpec,
    pub(super) stacks: StackPool,
    /// Messages of a processor on their way to its controller; emptied after every use.
    pub(super) posts: Vec<Post>,
}

impl Threads {
    /// No threads on `processors` processors.
    pub(super) fn new(processors: u16, scheduler: SchedulerSpec) -> Self {
        Self {
            running: (0..processors).map(|_| None).collect(),
            reports: Vec::new(),
            at_barrier: 0,
            process: None,
            schedule: None,
            schedule_next: Time::MAX,
            scheduler,
            stacks: StackPool::default(),
            posts: Vec::new(),
        }
    }
}
