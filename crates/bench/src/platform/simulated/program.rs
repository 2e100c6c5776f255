//! The kernels as simulated instruction streams.
//!
//! The lists need no pointers in simulated memory: addresses are computed, but a load that would have needed the value of
//! the one before is issued as one that depends on it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use sim::{Program, Thread};
use units::PhysicalAddr;

use crate::platform::{Kernel, Measurement, Task};

/// Elements between two looks at whether another task has finished.
const STOP_INTERVAL: u64 = 16;
/// How many elements ahead of its load an element is prefetched: as compilers do, more than can be outstanding.
const PREFETCH_DISTANCE: u64 = 8;
/// Instructions of an element of the reduction beside its load: the addition. Compiled loops are unrolled so far that
/// their own overhead vanishes (Prestor 2001 section 4.2.1).
const SUM_INSTRUCTIONS: u32 = 1;
/// The same for the read-use loop, which is not unrolled: addition, index, branch.
const READ_USE_INSTRUCTIONS: u32 = 3;
/// And for the read-modify-write loop: multiplication, subtraction, index, branch.
const READ_MODIFY_WRITE_INSTRUCTIONS: u32 = 4;

/// `task` as a program over the region at `base`, which leaves its measurement in `result`. If `racing`, it stops when
/// another task of the phase has finished, and stops the others when it finishes.
///
/// The clock is read after a barrier: a processor that hit in its cache at the end of the phase before may be ahead of
/// the others.
pub(super) fn program(task: Task, base: PhysicalAddr, racing: bool, result: Rc<Cell<Measurement>>) -> Program {
    Box::new(move |thread| {
        thread.barrier();
        let started = thread.now();
        let course = Course { first: base.offset(task.offset.0), task, racing };
        let steps = course.execute(thread);
        result.set(Measurement { elapsed: thread.now().since(started), steps });
        if racing {
            thread.request_stop();
        }
    })
}

/// The elements of a task in memory.
struct Course {
    first: PhysicalAddr,
    task: Task,
    racing: bool,
}

impl Course {
    /// The address of the element at which step number `step` is.
    #[inline]
    fn at(&self, step: u64) -> PhysicalAddr {
        self.first.offset(step % self.task.elements * self.task.stride.0)
    }

    /// Executes the kernel; how many steps were taken.
    fn execute(&self, thread: &mut Thread<'_>) -> u64 {
        match self.task.kernel {
            Kernel::Walk { work } => self.steps(thread, |thread, at, _| {
                thread.load_dependent(at);
                thread.work(work);
            }),
            Kernel::Modify { work } => self.steps(thread, |thread, at, _| {
                thread.store_dependent(at);
                thread.load_dependent(at);
                thread.work(work);
            }),
            Kernel::Sum => self.steps(thread, |thread, at, _| {
                thread.load(at);
                thread.instructions(SUM_INSTRUCTIONS);
            }),
            Kernel::SumPrefetch => self.sum_prefetched(thread),
            Kernel::Fill | Kernel::TouchStore => self.steps(thread, |thread, at, _| thread.store(at)),
            Kernel::TouchLoad => self.steps(thread, |thread, at, _| thread.load(at)),
            Kernel::TouchShared => self.steps(thread, |thread, at, _| {
                thread.prefetch_shared(at);
                thread.load(at);
            }),
            Kernel::ReadUse => self.steps(thread, |thread, at, _| {
                thread.load(at);
                thread.instructions(READ_USE_INSTRUCTIONS);
            }),
            Kernel::ReadModifyWrite => self.steps(thread, |thread, at, _| {
                thread.load(at);
                thread.instructions(READ_MODIFY_WRITE_INSTRUCTIONS);
                thread.store(at);
            }),
            Kernel::DropCaches => {
                thread.drop_caches();
                self.task.count
            }
        }
    }

    fn sum_prefetched(&self, thread: &mut Thread<'_>) -> u64 {
        for step in 0..PREFETCH_DISTANCE.min(self.task.count) {
            thread.prefetch_shared(self.at(step));
        }
        self.steps(thread, |thread, at, step| {
            if step + PREFETCH_DISTANCE < self.task.count {
                thread.prefetch_shared(self.at(step + PREFETCH_DISTANCE));
            }
            thread.load(at);
            thread.instructions(SUM_INSTRUCTIONS);
        })
    }

    /// Calls `step` with the address and number of each step until the count is reached, or another task has finished.
    #[inline]
    fn steps(&self, thread: &mut Thread<'_>, mut step: impl FnMut(&mut Thread<'_>, PhysicalAddr, u64)) -> u64 {
        let mut at = self.first;
        let mut element = 0;
        for taken in 0..self.task.count {
            if taken % STOP_INTERVAL == 0 && self.stop(thread).is_break() {
                return taken;
            }
            step(thread, at, taken);
            element += 1;
            at = at.offset(self.task.stride.0);
            if element == self.task.elements {
                (element, at) = (0, self.first);
            }
        }
        self.task.count
    }

    #[inline]
    fn stop(&self, thread: &mut Thread<'_>) -> ControlFlow<()> {
        if self.racing && thread.stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
