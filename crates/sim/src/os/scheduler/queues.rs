//! Run queues: one a processor, and a common one (FLASH dissertation, 4.1.1).

use std::collections::VecDeque;

use units::{CpuId, Time};

/// A thread that waits for a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    thread: usize,
    since: Time,
    /// Whether another processor may take it.
    free: bool,
}

/// Threads that could run, longest waiting first.
#[derive(Clone, Debug, Default)]
pub struct RunQueues {
    local: Vec<VecDeque<Waiting>>,
    common: VecDeque<Waiting>,
}

impl RunQueues {
    /// Empty queues for so many processors.
    pub fn new(processors: usize) -> Self {
        Self { local: vec![VecDeque::new(); processors], common: VecDeque::new() }
    }

    /// A thread waits for `cpu`, where another may fetch it if it is `free` to go.
    pub fn wait_for(&mut self, cpu: CpuId, thread: usize, since: Time, free: bool) {
        self.local[cpu.index()].push_back(Waiting { thread, since, free });
    }

    /// A thread that has never run waits for any processor.
    pub fn wait_for_any(&mut self, thread: usize, since: Time) {
        self.common.push_back(Waiting { thread, since, free: true });
    }

    /// Whether `cpu` has a thread to run beside its own.
    pub fn has_work_for(&self, cpu: CpuId) -> bool {
        !self.local[cpu.index()].is_empty() || !self.common.is_empty()
    }

    /// The thread that `cpu` runs next: of its own queue, unless the common queue's has waited longer, lest that starve while
    /// threads of the processor take turns.
    pub fn take(&mut self, cpu: CpuId) -> Option<usize> {
        let own = &mut self.local[cpu.index()];
        let common_first = match (own.front(), self.common.front()) {
            (Some(own), Some(common)) => common.since < own.since,
            (own, _) => own.is_none(),
        };
        let queue = if common_first { &mut self.common } else { own };
        queue.pop_front().map(|waiting| waiting.thread)
    }

    /// Whether any processor could give a thread to another.
    pub fn has_free(&self) -> bool {
        self.local.iter().flatten().any(|waiting| waiting.free)
    }

    /// The thread that idle `cpu` takes from another's queue: the next processor's that has one to give.
    pub fn steal(&mut self, cpu: CpuId) -> Option<usize> {
        let count = self.local.len();
        let mut others = (1..count).map(|step| (cpu.index() + step) % count);
        let (other, place) =
            others.find_map(|other| Some((other, self.local[other].iter().position(|waiting| waiting.free)?)))?;
        self.local[other].remove(place).map(|waiting| waiting.thread)
    }

    /// Since when everybody waits.
    pub fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        self.local.iter_mut().flatten().chain(&mut self.common).map(|waiting| &mut waiting.since)
    }

    /// A thread waits no longer.
    pub fn forget(&mut self, thread: usize) {
        for queue in self.local.iter_mut().chain([&mut self.common]) {
            queue.retain(|waiting| waiting.thread != thread);
        }
    }
}
