//! Deques of tasks, one for each thread of a team, as LLVM's runtime has them (`kmp_base_thread_data` in
//! openmp/runtime/src/kmp.h, and kmp_tasking.cpp): the owner pushes and takes at the tail, other threads steal at the head.
//!
//! A lock guards each deque. The number of its tasks is read without it, so that a thread passes by an empty deque for the price
//! of a load. A thief that finds the lock taken passes by, too, where LLVM's waits: of many that wait, all but one would find
//! the task gone.
//!
//! The lock is the runtime's own, whatever locks are asked for: those are the program's.

use std::cell::Cell;

use super::platform::{Line, Lock, Word, instructions, loads, stores};
use super::stock::{self, Stock};
use super::tasks::Task;

/// Tasks for which a deque has room at first (`INITIAL_TASK_DEQUE_SIZE`).
pub const ROOM: u32 = 256;

/// Instructions of an operation on a deque beside its references: a round figure.
const OPERATION: u32 = 15;

/// The place of a task.
type Slot = Cell<Option<&'static Task>>;

/// A ring of tasks that grows. All but [`Self::count`] is for the holder of its lock.
pub struct Ring {
    /// How many tasks there are.
    count: Word,
    /// For how many there is room: a power of two.
    room: Cell<u32>,
    /// The slot of the first task.
    head: Cell<u32>,
    /// The slot behind the last one.
    tail: Cell<u32>,
    slots: Cell<*mut Slot>,
}

/// The deque of a thread.
#[repr(C, align(128))]
pub struct Deque {
    /// One while a thread uses the ring.
    lock: Word,
    ring: Ring,
    /// The state of the owner's search for tasks, on a line that no other thread uses.
    pub hunt: Line<Hunt>,
}

/// State of a thread that looks for tasks in the deques of others.
#[derive(Default)]
pub struct Hunt {
    /// The thread from which it has stolen last, while that has tasks (`td_deque_last_stolen`).
    pub victim: Cell<Option<u32>>,
    /// The state of its random numbers.
    random: Cell<u32>,
}

impl Ring {
    /// With room for [`ROOM`] tasks, in the memory of the running thread.
    pub fn new() -> Self {
        Self {
            count: Word::new(0),
            room: Cell::new(ROOM),
            head: Cell::new(0),
            tail: Cell::new(0),
            slots: Cell::new(slots(ROOM)),
        }
    }

    /// The number of tasks, read without the lock.
    pub fn count(&self) -> u32 {
        self.count.look()
    }

    /// Whether there is no room for another task, as its owner finds it without the lock.
    pub fn is_full(&self) -> bool {
        self.count() >= self.room.get()
    }

    fn slot(&self, at: u32) -> &Slot {
        // SAFETY: slots are numbered modulo the room, which is how many there are.
        unsafe { &*self.slots.get().add((at % self.room.get()) as usize) }
    }

    /// Adds a task at the tail; if there is no room, the ring grows.
    pub fn push(&self, task: &'static Task) {
        instructions(OPERATION);
        let count = self.count.peek();
        if count == self.room.get() {
            self.grow();
        }
        let slot = self.slot(self.tail.get());
        slot.set(Some(task));
        stores(slot);
        self.tail.set(self.tail.get().wrapping_add(1));
        stores(&self.tail);
        self.count.set(count + 1);
    }

    /// Moves the tasks to slots of twice the number.
    fn grow(&self) {
        let (old, room) = (self.slots.get(), self.room.get());
        let new = slots(2 * room);
        for at in 0..room {
            let from = self.slot(self.head.get().wrapping_add(at));
            loads(from);
            // SAFETY: there are twice as many new slots as old ones.
            let to = unsafe { &*new.add(at as usize) };
            to.set(from.get());
            stores(to);
        }
        self.slots.set(new);
        self.room.set(2 * room);
        self.head.set(0);
        self.tail.set(room);
        // SAFETY: the old slots came from `slots`, and only the holder of the lock has known them.
        unsafe { stock::free(old.cast()) };
    }

    /// The task at the head that `allowed` allows; `taken` is called before others can see that it is gone.
    pub fn take_first(&self, allowed: impl Fn(&Task) -> bool, taken: impl FnOnce()) -> Option<&'static Task> {
        let task = self.task_at(self.head.get()).filter(|task| allowed(task))?;
        taken();
        self.head.set(self.head.get().wrapping_add(1));
        stores(&self.head);
        self.count.set(self.count.peek() - 1);
        Some(task)
    }

    /// The same for the task at the tail.
    pub fn take_last(&self, allowed: impl Fn(&Task) -> bool) -> Option<&'static Task> {
        let last = self.tail.get().wrapping_sub(1);
        let task = self.task_at(last).filter(|task| allowed(task))?;
        self.tail.set(last);
        stores(&self.tail);
        self.count.set(self.count.peek() - 1);
        Some(task)
    }

    fn task_at(&self, at: u32) -> Option<&'static Task> {
        instructions(OPERATION);
        if self.count.peek() == 0 {
            return None;
        }
        let slot = self.slot(at);
        loads(slot);
        slot.get()
    }
}

/// Slots for so many tasks.
fn slots(count: u32) -> *mut Slot {
    let slots: *mut Slot = stock::allocate(count as usize * size_of::<Slot>()).cast();
    // SAFETY: the block is so long and nobody else's.
    (0..count as usize).for_each(|at| unsafe { slots.add(at).write(Cell::new(None)) });
    slots
}

impl Deque {
    /// An empty deque for the running thread, whose number in its team is `number`.
    pub fn new(stock: &Stock, number: u32) -> &'static Self {
        let hunt = Hunt { victim: Cell::new(None), random: Cell::new(number) };
        let deque = stock.keep(Self { lock: Word::default(), ring: Ring::new(), hunt: Line(hunt) });
        stores(&deque.ring);
        deque
    }

    fn try_lock(&self) -> bool {
        self.lock.look() == 0 && self.lock.change(|taken| (taken == 0).then_some(1)).is_ok()
    }

    /// Does `act` with the ring for its owner.
    fn locked<T>(&self, act: impl FnOnce(&Ring) -> T) -> T {
        while self.lock.change(|taken| (taken == 0).then_some(1)).is_err() {
            self.lock.wait(1, Lock::waiting());
        }
        let result = act(&self.ring);
        self.lock.set(0);
        result
    }

    /// Whether its owner had better do a new task at once.
    pub fn is_full(&self) -> bool {
        self.ring.is_full()
    }

    /// Pushes a task of the owner's.
    pub fn push(&self, task: &'static Task) {
        self.locked(|ring| ring.push(task));
    }

    /// Takes the latest task for its owner, if that may do it.
    pub fn take(&self, allowed: impl Fn(&Task) -> bool) -> Option<&'static Task> {
        if self.ring.count() == 0 {
            return None;
        }
        self.locked(|ring| ring.take_last(allowed))
    }

    /// Takes the oldest task for another thread, if that may do it and no other thread uses the deque. `taken` is called before the
    /// owner can see that it is gone.
    pub fn steal(&self, allowed: impl Fn(&Task) -> bool, taken: impl FnOnce()) -> Option<&'static Task> {
        if self.ring.count() == 0 || !self.try_lock() {
            return None;
        }
        let task = self.ring.take_first(allowed, taken);
        self.lock.set(0);
        task
    }
}

impl Hunt {
    /// A thread of `threads` other than `own`, of a sequence that depends on that alone.
    pub fn random(&self, own: u32, threads: u32) -> u32 {
        // A linear congruential generator with the factors of Numerical Recipes; its upper bits are the random ones.
        let next = self.random.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random.set(next);
        let other = (next >> 16) % (threads - 1);
        other + u32::from(other >= own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openmp::tasks::{Kind, Task};
    use crate::openmp::team::member;

    fn task() -> &'static Task {
        unsafe extern "C-unwind" fn nothing(_: *mut std::ffi::c_void) {}
        Task::child(nothing, 0, Kind::default())
    }

    #[test]
    fn the_owner_takes_the_latest_and_others_the_oldest() {
        let deque = Deque::new(member().stock(), 0);
        assert!(deque.take(|_| true).is_none() && deque.steal(|_| true, || ()).is_none());
        let tasks: Vec<_> = (0..1000).map(|_| task()).collect();
        // Slots are used in a ring before it grows.
        for &early in &tasks[..100] {
            deque.push(early);
            assert!(deque.take(|_| true).is_some_and(|taken| std::ptr::eq(taken, early)));
        }
        for (count, &task) in tasks.iter().enumerate() {
            assert_eq!(deque.is_full(), count == 256 || count == 512, "{count}");
            deque.push(task);
        }
        assert!(deque.take(|_| false).is_none() && deque.steal(|_| false, || ()).is_none(), "not allowed");
        for at in 0..500 {
            assert!(deque.steal(|_| true, || ()).is_some_and(|taken| std::ptr::eq(taken, tasks[at])), "{at}");
            assert!(deque.take(|_| true).is_some_and(|taken| std::ptr::eq(taken, tasks[999 - at])), "{at}");
        }
        assert_eq!(deque.ring.count(), 0);
    }

    #[test]
    fn every_other_thread_is_a_victim_some_time() {
        let hunt = Hunt::default();
        let mut found = [0; 8];
        (0..800).for_each(|_| found[hunt.random(3, 8) as usize] += 1);
        assert_eq!(found[3], 0);
        assert!(found.iter().enumerate().all(|(thread, &count)| thread == 3 || count > 50), "{found:?}");
        assert_eq!(hunt.random(0, 2), 1);
    }
}
