//! Where the tasks of a team are queued, and how its threads find them: a deque for each thread, from which others steal
//! (`__kmp_push_task`, `__kmp_remove_my_task` and `__kmp_steal_task` of openmp/runtime/src/kmp_tasking.cpp).
//!
//! Both compilers' programs have this mechanism. LLVM's runtime does it so; gcc's has one lock and one queue for a team
//! (libgomp/task.c), under which a task costs the more the more threads there are.
//!
//! As in LLVM's runtime, tasks of a priority above zero are in queues that all threads share, which they look into first. So are
//! tasks that become ready where no thread of the team runs.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use super::deque::{Deque, Ring};
use super::platform::{Counter, Guarded, Line, Word, allocate, loads, moment, stores};
use super::tasks::{ONE_LESS, Task};
use super::team::{TASKED, Team, member};

/// The queued tasks of a team.
#[derive(Default)]
pub struct Queues {
    /// The deques of its threads.
    table: AtomicPtr<Table>,
    /// Held by a thread that makes the table longer.
    growing: Guarded<()>,
    /// How many tasks are in the shared queues, read without their lock.
    shared_count: Line<Word>,
    /// The shared queues, those of higher priority first.
    shared: Guarded<Vec<(i32, Ring)>>,
    /// Changes when threads that wait are to look for tasks again ([`Team::call`]).
    pub(super) news: Line<Word>,
}

/// The addresses of the threads' deques, by number; zero for a thread that has pushed no task yet.
struct Table(&'static [Counter]);

/// A thread that looks for tasks.
pub struct Search<'a> {
    /// Its number in the team and its deque, how many threads the team has, and their deques.
    number: u32,
    own: &'static Deque,
    threads: u32,
    table: &'static [Counter],
    /// The task whose descendants alone it may begin ([`Task::bound`]).
    bound: Option<&'static Task>,
    /// At a barrier, the phase before it, and the number of threads there that have found no task.
    barrier: Option<(u32, &'a Word)>,
    /// Whether it is one of those.
    is_idle: Cell<bool>,
    /// The time that it took to steal the task that was found last, if it was stolen.
    pub theft: Cell<Option<Duration>>,
}

impl<'a> Search<'a> {
    /// By the running thread, which waits within a task or, if there is none, at a barrier of `threads` of this team.
    pub fn new(team: &Team, threads: u32, bound: Option<&'static Task>, barrier: Option<(u32, &'a Word)>) -> Self {
        let (number, table) = (member().region.get().number, team.queues.table());
        let (own, is_idle, theft) = (own_deque(table, number), Cell::new(false), Cell::new(None));
        Self { number, own, threads, table, bound, barrier, is_idle, theft }
    }

    /// The next victim is another than the last.
    pub fn turn_away(&self) {
        self.own.hunt.victim.set(None);
        stores(&self.own.hunt.victim);
    }

    fn allows(&self, team: &Team, task: &Task) -> bool {
        // Tasks after the barrier are those of another region, perhaps of fewer threads.
        let is_late = self.barrier.is_some_and(|(seen, _)| team.is_past(seen));
        !is_late && task.is_within(self.bound)
    }

    /// At a barrier, the thread has found no task. Returns whether all others have found none either.
    pub fn is_last_idle(&self) -> bool {
        let Some((_, idle)) = self.barrier.filter(|_| !self.is_idle.replace(true)) else { return false };
        idle.add(1).wrapping_add(1) == self.threads
    }

    /// It has found one, or leaves before the barrier is over.
    pub fn is_busy(&self) {
        if let Some((_, idle)) = self.barrier.filter(|_| self.is_idle.replace(false)) {
            idle.add(ONE_LESS);
        }
    }
}

impl Queues {
    fn table(&self) -> &'static [Counter] {
        // SAFETY: null, or a table, which is kept for ever.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }.map_or(&[], |table| table.0)
    }

    /// Makes the table long enough for so many threads.
    ///
    /// # Panics
    /// When there is no memory left: tasks cannot be done without.
    fn make_room(&self, threads: u32) {
        if self.table().len() >= threads as usize {
            return;
        }
        self.growing.with(|_| {
            let (old, count) = (self.table(), threads.next_power_of_two() as usize);
            if old.len() >= count {
                return;
            }
            let room: *mut Counter = allocate(count * size_of::<Counter>()).cast();
            assert!(!room.is_null(), "no memory for the queues of OpenMP tasks");
            // SAFETY: the block is so long, aligned, nobody else's, and never given back: a thread that comes late from a barrier
            // may still look into the old one.
            let new = unsafe {
                (0..count).for_each(|at| room.add(at).write(Counter::default()));
                std::slice::from_raw_parts(room, count)
            };
            for (from, to) in old.iter().zip(new) {
                to.set(from.look());
            }
            self.table.store(Box::into_raw(Box::new(Table(new))), Ordering::Release);
        });
    }
}

/// The deque of a thread, if it has one.
fn deque_of(table: &[Counter], number: u32) -> Option<&'static Deque> {
    let place = table[number as usize].look() as *const Deque;
    // SAFETY: null, or a deque, which is kept for ever.
    unsafe { place.as_ref() }
}

/// The deque of the running thread, which has this number.
fn own_deque(table: &[Counter], number: u32) -> &'static Deque {
    deque_of(table, number).unwrap_or_else(|| {
        let deque = Deque::new(member().stock(), number);
        table[number as usize].set(std::ptr::from_ref(deque) as u64);
        deque
    })
}

impl Team {
    /// The running thread is about to make a task of which others may know: whoever is at a barrier looks for tasks from here on.
    pub(super) fn begin_tasks(&self) {
        if self.phase.look() & TASKED != 0 {
            return;
        }
        self.queues.make_room(self.threads.get());
        self.call_from_tree();
        if self.phase.look() & TASKED == 0 {
            let _before = self.phase.change(|phase| (phase & TASKED == 0).then_some(phase | TASKED));
        }
    }

    /// Queues a task of the running thread. False if there are so many that it had better be done at once.
    pub(super) fn push(&self, task: &'static Task) -> bool {
        if task.priority.get() > 0 {
            self.push_shared(task);
        } else {
            let deque = own_deque(self.queues.table(), member().region.get().number);
            if deque.is_full() {
                return false;
            }
            deque.push(task);
        }
        self.call();
        true
    }

    /// Queues a task for which another that is over has made way, on whichever thread.
    pub(super) fn push_ready(&self, task: &'static Task) {
        let region = member().region.get();
        if !std::ptr::eq(region.team, self) {
            // Nobody of the team may be looking for tasks any more, but for those who wait for this one.
            self.hold_barriers(task);
            self.push_shared(task);
        } else if task.priority.get() > 0 {
            self.push_shared(task);
        } else {
            own_deque(self.queues.table(), region.number).push(task);
        }
        self.call();
    }

    /// Puts a task into the shared queue of its priority.
    fn push_shared(&self, task: &'static Task) {
        let priority = task.priority.get();
        self.queues.shared.with(|levels| {
            let at = levels.partition_point(|(level, _)| *level > priority);
            if levels.get(at).is_none_or(|(level, _)| *level != priority) {
                levels.insert(at, (priority, Ring::new()));
            }
            levels[at].1.push(task);
            self.queues.shared_count.add(1);
        });
    }

    /// The first task of the shared queues that the search allows.
    fn find_shared(&self, search: &Search) -> Option<&'static Task> {
        let count = &self.queues.shared_count;
        // A word that has not changed is in the thread's cache, and costs next to nothing.
        if count.peek() == 0 || count.look() == 0 {
            return None;
        }
        let taken = || {
            search.is_busy();
            count.add(ONE_LESS);
        };
        self.queues
            .shared
            .with(|levels| levels.iter().find_map(|(_, ring)| ring.take_first(|task| search.allows(self, task), taken)))
    }

    /// The oldest task of another thread.
    fn steal(&self, search: &Search, victim: u32) -> Option<&'static Task> {
        // The thread is idle no more before the victim can find its deque empty.
        deque_of(search.table, victim)?.steal(|task| search.allows(self, task), || search.is_busy())
    }

    /// A shared task, or the latest of the running thread.
    fn find_here(&self, search: &Search) -> Option<&'static Task> {
        self.find_shared(search).or_else(|| search.own.take(|task| search.allows(self, task)))
    }

    /// A task for the running thread: a shared one, its own latest, or the oldest of one other thread, of that from which it has
    /// stolen last, or a random one.
    pub(super) fn find(&self, search: &Search) -> Option<&'static Task> {
        let here = self.find_here(search);
        if here.is_some() || search.threads == 1 {
            return here;
        }
        let hunt = &search.own.hunt;
        loads(&hunt.victim);
        let last = hunt.victim.get().filter(|&victim| victim < search.threads);
        let victim = last.unwrap_or_else(|| hunt.random(search.number, search.threads));
        let begun = moment();
        let task = self.steal(search, victim);
        if task.is_some() {
            search.theft.set(Some(moment() - begun));
            hunt.victim.set(Some(victim));
            stores(&hunt.victim);
        } else if last.is_some() {
            search.turn_away();
        }
        task
    }

    /// As [`Self::find`], from any thread.
    pub(super) fn find_anywhere(&self, search: &Search) -> Option<&'static Task> {
        let mut others = (1..search.threads).map(|distance| (search.number + distance) % search.threads);
        self.find_here(search).or_else(|| others.find_map(|victim| self.steal(search, victim)))
    }
}
