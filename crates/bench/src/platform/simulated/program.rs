//! The kernels as simulated instruction streams.
//!
//! The lists need no pointers in simulated memory: addresses are computed, but a load that would have needed the value of
//! the one before is issued as one that depends on it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use record::Disturbance;
use sim::{Program, Thread};
use units::{Bytes, PhysicalAddr};

use super::extents::Extents;
use crate::platform::{Kernel, Measurement, Task};

/// Bytes of a double word.
const WORD: u64 = 8;

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

/// Instructions of a double word of the sign-change kernel beside its load and store: negation, index, branch.
const SIGN_CHANGE_INSTRUCTIONS: u32 = 3;
/// Instructions of a vector of a STREAM loop beside its loads and store: a floating-point operation, and its share of
/// index and branch in a loop that is unrolled fourfold.
const STREAM_INSTRUCTIONS: u32 = 2;
/// Instructions between two windows: the linear congruential generator, the remainder that makes an offset of it, and the
/// call (Seidl 1997, listing 1). The remainder is a division of 64-bit integers, 67 cycles on an R10000 (MIPS R10000 User's
/// Manual, table 1-3); all of it is part of the fit's constant, which stands for the program.
const RANDOM_WINDOW_CYCLES: u32 = 80;

/// How a task takes part in its phase.
#[derive(Clone, Debug)]
pub(super) struct Role {
    /// Whether it stops when another task has finished, and stops the others when it finishes.
    pub(super) racing: bool,
    /// Its number in the phase.
    pub(super) player: u64,
    /// Hand-overs of the phase's ping-pong so far.
    pub(super) turn: Rc<Cell<u64>>,
    /// Instructions that its processor issues in a cycle.
    pub(super) width: u32,
    /// Bytes of an access of a STREAM loop.
    pub(super) vector: Bytes,
    /// The elements of the task's list as it visits them; `None` by address.
    pub(super) visited: Option<Rc<[u64]>>,
}

/// `task` as a program over the region at `extents`, which leaves its measurement in `result`.
///
/// The clock is read after a barrier: a processor that hit in its cache at the end of the phase before may be ahead of
/// the others.
pub(super) fn program(task: Task, extents: Rc<Extents>, role: Role, result: Rc<Cell<Measurement>>) -> Program {
    Box::new(move |thread| {
        thread.barrier();
        let started = thread.now();
        let racing = role.racing;
        let course = Course { extents, task, role };
        // Most lists are laid out in the order of addresses, which a prefetcher would see through. Intel MLC turns it off, too.
        let visits_lists = course.task.kernel.walks_a_list() || course.task.kernel == Kernel::PingPong;
        thread.use_prefetcher(!visits_lists);
        let steps = course.execute(thread);
        let elapsed = thread.now().since(started);
        thread.use_prefetcher(true);
        result.set(Measurement { elapsed, steps, disturbance: Disturbance::default() });
        if racing {
            thread.request_stop();
        }
    })
}

/// The elements of a task in memory.
struct Course {
    extents: Rc<Extents>,
    task: Task,
    role: Role,
}

impl Course {
    /// The address of element number `element`.
    #[inline]
    fn element(&self, element: u64) -> PhysicalAddr {
        self.extents.at(self.task.offset.0 + element * self.task.stride.0)
    }

    /// The address of the element at which step number `step` of this task is.
    #[inline]
    fn at(&self, step: u64) -> PhysicalAddr {
        self.element((self.task.first + step) % self.task.elements)
    }

    /// Executes the kernel; how many steps were taken.
    fn execute(&self, thread: &mut Thread<'_>) -> u64 {
        match self.task.kernel {
            Kernel::Walk { work } => self.steps(thread, |thread, at, _| {
                thread.load_dependent(at);
                thread.work(work);
            }),
            Kernel::Modify { work } => self.modify(thread, work),
            // On a processor that has no such instruction, a load-linked and a store-conditional to a line that is fetched
            // for writing at once.
            Kernel::CompareExchange => self.modify(thread, 0),
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
                self.rest_of_a_cycle(thread, 1 + READ_USE_INSTRUCTIONS);
            }),
            Kernel::ReadModifyWrite => self.steps(thread, |thread, at, _| {
                thread.load(at);
                thread.instructions(READ_MODIFY_WRITE_INSTRUCTIONS);
                thread.store(at);
                self.rest_of_a_cycle(thread, 2 + READ_MODIFY_WRITE_INSTRUCTIONS);
            }),
            Kernel::SumNonTemporal | Kernel::FillNonTemporal => unreachable!("refused before the phase began"),
            Kernel::Stream(operation) => {
                let (read, written) = operation.arrays();
                self.whole_lines(thread, read, written)
            }
            Kernel::Traffic { reads, writes, pause } => self.traffic(thread, reads, writes, pause),
            Kernel::PingPong => self.ping_pong(thread),
            Kernel::SignChange => self.sign_change(thread),
            // A flush takes all other lines, too: what is prepared, or runs before a loop is timed, comes afterwards.
            Kernel::DropCaches | Kernel::Flush => {
                thread.drop_caches();
                thread.drop_shared_cache();
                self.task.count
            }
            Kernel::DropOwnCaches => {
                thread.drop_caches();
                self.task.count
            }
        }
    }

    /// The sum of an iteration, or the index of a loop that is not unrolled, depends on that of the iteration before, a cycle earlier:
    /// no iteration, of so many `instructions`, issues in less, however wide the processor is.
    fn rest_of_a_cycle(&self, thread: &mut Thread<'_>, instructions: u32) {
        if instructions < self.role.width {
            thread.stall(self.role.width - instructions);
        }
    }

    fn modify(&self, thread: &mut Thread<'_>, work: u32) -> u64 {
        self.steps(thread, |thread, at, _| {
            thread.store_dependent(at);
            thread.load_dependent(at);
            thread.work(work);
        })
    }

    /// Vector by vector, loads from the arrays `read` and a store to the array `written`.
    fn whole_lines(&self, thread: &mut Thread<'_>, read: &[u64], written: u64) -> u64 {
        let Task { elements, stride, first, count, .. } = self.task;
        let vector = self.role.vector.0.min(stride.0);
        for taken in 0..count {
            if taken % STOP_INTERVAL == 0 && self.stop(thread).is_break() {
                return taken;
            }
            let line = (first + taken) % elements;
            for part in 0..stride.0 / vector {
                let at = |array: u64| self.element(array * elements + line).offset(part * vector);
                for &array in read {
                    thread.load(at(array));
                }
                thread.instructions(STREAM_INSTRUCTIONS);
                thread.store(at(written));
            }
        }
        count
    }

    fn traffic(&self, thread: &mut Thread<'_>, reads: u32, writes: u32, pause: u32) -> u64 {
        let row = u64::from(reads + writes);
        self.steps(thread, |thread, at, step| {
            if step % row < u64::from(reads) {
                thread.load(at);
            } else {
                thread.store(at);
            }
            if step % row == row - 1 {
                thread.work(pause);
            }
        })
    }

    /// The turn is kept outside of simulated memory, but only looked at after a load of the line and changed after a store
    /// to it: the waiting processor's copy is gone before the other's store is done, so that it sees the change with the
    /// load that fetches the line back.
    fn ping_pong(&self, thread: &mut Thread<'_>) -> u64 {
        let (at, turn) = (self.element(0), &self.role.turn);
        for step in 0..self.task.count {
            while turn.get() != 2 * step + self.role.player {
                thread.load_dependent(at);
                thread.drain();
                thread.order();
            }
            thread.store_dependent(at);
            thread.drain();
            thread.order();
            turn.set(turn.get() + 1);
        }
        self.task.count
    }

    fn sign_change(&self, thread: &mut Thread<'_>) -> u64 {
        let mut random = LinearCongruential::at_step(self.task.first);
        self.steps(thread, |thread, _, _| {
            let window = random.below(self.task.elements);
            thread.work(RANDOM_WINDOW_CYCLES);
            for word in 0..self.task.stride.0 / WORD {
                let at = self.element(window).offset(word * WORD);
                thread.load(at);
                thread.instructions(SIGN_CHANGE_INSTRUCTIONS);
                thread.store(at);
            }
        })
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
        let mut element = self.task.first % self.task.elements;
        let visited = self.role.visited.as_deref();
        for taken in 0..self.task.count {
            if taken % STOP_INTERVAL == 0 && self.stop(thread).is_break() {
                return taken;
            }
            step(thread, self.element(visited.map_or(element, |visited| visited[element as usize])), taken);
            element += 1;
            if element == self.task.elements {
                element = 0;
            }
        }
        self.task.count
    }

    #[inline]
    fn stop(&self, thread: &mut Thread<'_>) -> ControlFlow<()> {
        if self.role.racing && thread.stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The generator of the random windows: every step's number follows from that of the step before.
struct LinearCongruential(u64);

impl LinearCongruential {
    /// Knuth's constants for 64 bits (MMIX).
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    const INCREMENT: u64 = 1_442_695_040_888_963_407;

    /// A generator for a task that begins with step `first`; tasks that begin elsewhere get other numbers.
    fn at_step(first: u64) -> Self {
        Self(first.wrapping_mul(Self::INCREMENT) ^ Self::MULTIPLIER)
    }

    /// The next number, below `bound`; from the upper half, whose period is the whole.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(Self::INCREMENT);
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}
