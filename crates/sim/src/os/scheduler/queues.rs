//! Run queues: one for each processor, and a common one (FLASH dissertation, 4.1.1).

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

/// Ready threads, the longest waiting first.
#[derive(Clone, Debug, Default)]
pub struct RunQueues {
    local: Vec<VecDeque<Waiting>>,
    common: VecDeque<Waiting>,
}

impl RunQueues {
    /// Empty queues for `processors` processors.
    pub fn new(processors: usize) -> Self {
        Self { local: vec![VecDeque::new(); processors], common: VecDeque::new() }
    }

    /// Queues a thread for `cpu`; another processor may take it if it is `free`.
    pub fn wait_for(&mut self, cpu: CpuId, thread: usize, since: Time, free: bool) {
        self.local[cpu.index()].push_back(Waiting { thread, since, free });
    }

    /// Queues a thread without a processor for any.
    pub fn wait_for_any(&mut self, thread: usize, since: Time) {
        self.common.push_back(Waiting { thread, since, free: true });
    }

    /// Whether a thread waits for `cpu`, in its own queue or the common one.
    pub fn has_work_for(&self, cpu: CpuId) -> bool {
        !self.local[cpu.index()].is_empty() || !self.common.is_empty()
    }

    /// Takes the next thread for `cpu`: from its own queue, unless the first of the common queue has waited longer;
    /// without that exception the common queue would starve while threads of the processor take turns.
    pub fn take(&mut self, cpu: CpuId) -> Option<usize> {
        let own = &mut self.local[cpu.index()];
        let common_first = match (own.front(), self.common.front()) {
            (Some(own), Some(common)) => common.since < own.since,
            (own, _) => own.is_none(),
        };
        let queue = if common_first { &mut self.common } else { own };
        queue.pop_front().map(|waiting| waiting.thread)
    }

    /// Whether any queue has a thread that another processor may take.
    pub fn has_free(&self) -> bool {
        self.local.iter().flatten().any(|waiting| waiting.free)
    }

    /// Takes a thread for idle `cpu` from another queue: that of the next processor with one that is free.
    pub fn steal(&mut self, cpu: CpuId) -> Option<usize> {
        let count = self.local.len();
        let mut others = (1..count).map(|step| (cpu.index() + step) % count);
        let (other, place) =
            others.find_map(|other| Some((other, self.local[other].iter().position(|waiting| waiting.free)?)))?;
        self.local[other].remove(place).map(|waiting| waiting.thread)
    }

    /// The queueing times of all threads.
    pub fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        self.local.iter_mut().flatten().chain(&mut self.common).map(|waiting| &mut waiting.since)
    }

    /// Removes a thread from all queues.
    pub fn forget(&mut self, thread: usize) {
        for queue in self.local.iter_mut().chain([&mut self.common]) {
            queue.retain(|waiting| waiting.thread != thread);
        }
    }
}
