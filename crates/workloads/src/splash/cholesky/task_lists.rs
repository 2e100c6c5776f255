//! Queues of messages as SPLASH-2's program has them: lists of tasks, each list under a lock. The heads of all lists follow each other, so
//! that several share a line; tasks are made by their senders, and used again by their receivers.

use crate::parallel::Locks;
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// Words of a list's head: its lock, its first task and its last one. The program's own, of a lock and four pointers, takes 20 bytes.
const HEAD: usize = 3;
const LOCK: usize = 0;
const FIRST: usize = 1;
const LAST: usize = 2;
/// Words of a task with the header of its allocation, and those that it uses: six numbers of 32 bits in the program.
const TASK: usize = 5;
const MESSAGE: usize = 1;
const REST: usize = 2;
const NEXT: usize = 3;
/// No task: the first words of the region are heads.
const NONE: u64 = 0;

/// Instructions to fill a task in and to link it, without the stores, and to take one from a list; and to allocate one.
const LINK: u32 = 16;
const ALLOCATE: u32 = 40;

/// The lists of all threads. A thread that waits for a message looks at the head of its list without the lock.
pub struct TaskLists<'r, R> {
    region: &'r R,
    locks: Locks<'r, R>,
    /// By thread, the first word of the tasks that it makes.
    firsts: Vec<usize>,
}

/// Tasks of a thread that it may use again, as a list, and how many it has made.
#[derive(Default)]
pub struct Own {
    free: u64,
    made: usize,
}

/// The first words of the tasks of threads that make at most so many, and the end of all.
fn firsts(shape: &Shape, most: &[usize]) -> (Vec<usize>, usize) {
    let mut end = (HEAD * shape.threads()).next_multiple_of(shape.page_words);
    let firsts = most.iter().map(|most| {
        let first = end;
        end += (most * TASK).next_multiple_of(shape.page_words);
        first
    });
    (firsts.collect(), end)
}

impl<'r, R> TaskLists<'r, R> {
    /// The region of the lists of threads that send at most so many messages.
    pub fn plan(shape: &Shape, most: &[usize]) -> RegionPlan {
        RegionPlan::unplaced(shape, firsts(shape, most).1)
    }

    /// The region that their locks draw tickets from, if they do; otherwise one that nobody uses.
    pub fn ticket_plan(shape: &Shape) -> RegionPlan {
        Locks::<R>::ticket_plan(shape, shape.threads()).unwrap_or_else(|| RegionPlan::unplaced(shape, 1))
    }

    /// The empty lists in `region`, with tickets in `tickets`.
    pub fn new(shape: &Shape, most: &[usize], region: &'r R, tickets: &'r R) -> Self {
        let tickets = Locks::<R>::ticket_plan(shape, shape.threads()).map(|_| tickets);
        let locks = Locks::within(shape, region, [LOCK, HEAD], shape.threads(), tickets);
        Self { region, locks, firsts: firsts(shape, most).0 }
    }

    /// Puts a message at the end of the list of a thread.
    pub fn put<T: Thread<Region = R>>(&self, to: usize, message: u64, own: &mut Own, thread: &mut T) {
        let (region, head) = (self.region, to * HEAD);
        let task = self.task(own, thread);
        thread.store(region, task + MESSAGE, message);
        thread.store(region, task + REST, 0);
        thread.store(region, task + NEXT, NONE);
        thread.instructions(LINK);
        self.locks.critical(thread, to, |thread| {
            match thread.load(region, head + LAST) {
                NONE => thread.store_release(region, head + FIRST, task as u64),
                last => thread.store(region, last as usize + NEXT, task as u64),
            }
            thread.store(region, head + LAST, task as u64);
        });
    }

    /// A task to fill in.
    fn task<T: Thread<Region = R>>(&self, own: &mut Own, thread: &mut T) -> usize {
        if own.free == NONE {
            thread.instructions(ALLOCATE);
            own.made += 1;
            return self.firsts[thread.number()] + (own.made - 1) * TASK;
        }
        let task = own.free as usize;
        own.free = thread.load(self.region, task + NEXT);
        task
    }

    /// Waits for the next message of the thread, and takes it.
    pub fn take<T: Thread<Region = R>>(&self, own: &mut Own, thread: &mut T) -> u64 {
        let (region, number) = (self.region, thread.number());
        let head = number * HEAD;
        if thread.load_acquire(region, head + FIRST) == NONE {
            thread.await_change(region, head + FIRST, NONE);
        }
        thread.instructions(LINK);
        let task = self.locks.critical(thread, number, |thread| {
            let task = thread.load(region, head + FIRST) as usize;
            let next = thread.load_dependent(region, task + NEXT);
            thread.store_release(region, head + FIRST, next);
            if next == NONE {
                thread.store(region, head + LAST, NONE);
            }
            task
        });
        let message = thread.load(region, task + MESSAGE);
        thread.load(region, task + REST);
        thread.store(region, task + NEXT, own.free);
        own.free = task as u64;
        message
    }
}
