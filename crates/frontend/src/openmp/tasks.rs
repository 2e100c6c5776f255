//! Explicit tasks: deferred, with dependences, waited for by their parents and groups, done by whoever waits at a barrier.
//!
//! What is known of tasks is behind one lock a team, as in the compilers' own runtimes. A task is a block of the program's memory
//! that goes when nobody knows it any more: neither a queue, nor a child, nor a later task that may depend on it.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::{drop_in_place, from_ref};

use rustc_hash::FxHashMap;
use sim::Cause;

use super::dependences::{Dependence, Uses, depend, forget_uses};
use super::detached::Event;
use super::groups::Group;
use super::platform::{Word, allocate, charged, free, keep, loads, stores, uncharged};
use super::queues::Ready;
use super::team::{Body, Controls, TASKS, Team, globals, member};

/// Tasks that may be queued for each thread before new ones are done at once, as in libgomp.
const QUEUED_PER_THREAD: u32 = 64;

/// The tasks of a team.
#[derive(Default)]
pub struct Queue {
    /// Those to be done, first come first.
    order: Ready,
    /// How many are to be done.
    queued: u32,
    /// How many have been made and not ended.
    left: u32,
    /// Whether all threads are at a barrier and wait for tasks.
    held_up: bool,
}

/// How far a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It waits for others that it depends on.
    Blocked,
    /// It is in a queue.
    Queued,
    /// Somebody does it.
    Running,
    /// It is over.
    Done,
}

/// A task, explicit or what a thread does of itself.
pub struct Task {
    body: Cell<Option<(Body, *mut c_void)>>,
    /// Memory that goes with it.
    block: Cell<*mut c_void>,
    parent: Option<&'static Task>,
    pub(super) group: Cell<Option<&'static Group>>,
    /// Whether its children are done at once.
    pub is_final: bool,
    /// Whether it need not be done when it is cancelled before it has begun: nothing but itself would end what it keeps.
    pub may_be_dropped: Cell<bool>,
    /// Of two that can be done, the one with the higher number is done first.
    pub(super) priority: Cell<i32>,
    /// What else has to happen before it is over.
    pub(super) event: Cell<Event>,
    /// Changes when one of those ends that its thread waits for.
    wake: Word,
    /// Who knows it.
    holds: Cell<u32>,
    /// What it has set, and while it is done what the thread that does it has set.
    controls: Cell<Controls>,
    /// Whether its parent counts it.
    counted: Cell<bool>,
    pub(super) inner: RefCell<Inner>,
}

/// What is behind the team's lock.
pub(super) struct Inner {
    state: State,
    /// Whether it is not queued when it can be done: whoever made it waits to do it.
    at_once: bool,
    /// Those that it waits for.
    pub(super) blockers: u32,
    /// Those that wait for it.
    pub(super) successors: Vec<&'static Task>,
    /// Children that have not ended.
    children: u32,
    /// Children that were queued.
    queued: Ready,
    /// Whether its thread waits for children.
    waits: bool,
    /// What its children use, by address.
    pub(super) uses: FxHashMap<usize, Uses>,
}

impl Task {
    fn new(
        body: Option<(Body, *mut c_void)>,
        parent: Option<&'static Self>,
        group: Option<&'static Group>,
        is_final: bool,
    ) -> &'static Self {
        keep(Self {
            body: Cell::new(body),
            block: Cell::new(std::ptr::null_mut()),
            parent,
            group: Cell::new(group),
            is_final,
            may_be_dropped: Cell::new(true),
            priority: Cell::new(0),
            event: Cell::default(),
            wake: Word::default(),
            holds: Cell::new(1),
            controls: Cell::new(member().controls.get()),
            counted: Cell::new(false),
            inner: RefCell::new(Inner {
                state: State::Running,
                at_once: false,
                blockers: 0,
                successors: Vec::new(),
                children: 0,
                queued: Ready::default(),
                waits: false,
                uses: FxHashMap::default(),
            }),
        })
    }

    /// What the running thread does.
    pub fn current() -> &'static Self {
        let member = member();
        member.region.get().task.unwrap_or_else(|| {
            let implicit = Self::new(None, None, member.region.get().team.group.get(), false);
            member.update(|region| region.task = Some(implicit));
            implicit
        })
    }

    /// A task that will do `body(data)`, and whose memory `block` is given back at its end.
    pub fn child(body: Body, data: *mut c_void, block: *mut c_void, is_final: bool) -> &'static Self {
        let parent = Self::current();
        let task = Self::new(Some((body, data)), Some(parent), parent.group.get(), is_final || parent.is_final);
        task.block.set(block);
        stores(&task.body);
        task
    }

    /// It is done before others that can be done, if its priority is the higher one.
    pub fn prefer(&self, priority: i32) {
        self.priority.set(priority.clamp(0, globals().settings.priority));
    }

    /// The group that its children belong to.
    pub fn group(&self) -> Option<&'static Group> {
        self.group.get()
    }

    /// One more knows it.
    pub(super) fn hold(&self) {
        self.holds.set(self.holds.get() + 1);
    }

    /// One who knew it does no longer. Under the team's lock, or when nobody else can know it.
    pub(super) fn let_go(&self) {
        self.holds.set(self.holds.get() - 1);
        if self.holds.get() == 0 {
            let parent = self.parent.filter(|_| self.counted.get());
            let place = from_ref(self).cast_mut();
            // SAFETY: nobody knows the task any more; blocks came from `allocate`.
            unsafe {
                let block = self.block.get();
                if !block.is_null() {
                    free(block);
                }
                drop_in_place(place);
                free(place.cast());
            }
            if let Some(parent) = parent {
                parent.let_go();
            }
        }
    }

    /// Whether it is so far.
    pub(super) fn is(&self, state: State) -> bool {
        self.inner.borrow().state == state
    }

    fn mark(&self, state: State) {
        self.inner.borrow_mut().state = state;
    }

    /// It is not done after all.
    pub fn discard(&self) {
        self.let_go();
    }

    /// It is one more to be done.
    fn count(&self, queue: &mut Queue) {
        self.counted.set(true);
        if let Some(parent) = self.parent {
            parent.hold();
            parent.inner.borrow_mut().children += 1;
        }
        if let Some(group) = self.group.get() {
            group.left.set(group.left.get() + 1);
        }
        queue.left += 1;
    }

    /// The latest child that can be done.
    pub(super) fn take_child(&self) -> Option<&'static Self> {
        self.inner.borrow().queued.take_latest()
    }
}

impl Team {
    /// Has a task done: at once, if `deferred` is not set, else some time.
    pub fn submit(&'static self, task: &'static Task, deferred: bool, depends: &[Dependence]) {
        let outside = member().region.get().team.levels.get().0 == 0;
        if (self.is_one() || outside) && !self.detaches.get() {
            // Its elders are done.
            self.tasks.with(|queue| task.count(queue));
            return self.execute(task);
        }
        self.note_tasks();
        let (now, blocked, awaited) = self.tasks.with(|queue| {
            task.count(queue);
            if let Some(parent) = task.parent {
                depend(parent, task, depends);
            }
            let awaited = !deferred && task.event.get() != Event::None;
            if awaited {
                task.hold();
            }
            let full = queue.queued >= QUEUED_PER_THREAD * self.threads.get();
            let at_once = !deferred || task.parent.is_some_and(|parent| parent.is_final) || full || outside;
            let blocked = task.inner.borrow().blockers > 0;
            task.inner.borrow_mut().at_once = at_once;
            match (blocked, at_once) {
                (true, _) => task.mark(State::Blocked),
                (false, true) => task.mark(State::Running),
                (false, false) => self.enqueue(queue, task),
            }
            (at_once, blocked, awaited)
        });
        if now {
            if blocked {
                // Whoever waits for a task does what that waits for.
                self.wait(|_| !task.is(State::Blocked), || task.parent.and_then(Task::take_child), task.parent);
            }
            self.execute(task);
            if awaited {
                self.wait(|_| task.is(State::Done), || task.parent.and_then(Task::take_child), task.parent);
                self.tasks.with(|_| task.let_go());
            }
        }
    }

    /// Barriers of the region are over only when its tasks are.
    fn note_tasks(&self) {
        self.tasked.set(true);
        self.call_from_tree();
    }

    /// Queues a task, and tells those who wait for such.
    fn enqueue(&self, queue: &mut Queue, task: &'static Task) {
        task.mark(State::Queued);
        queue.order.put(task);
        queue.queued += 1;
        // Who is done waits for nobody.
        if let Some(parent) = task.parent.filter(|parent| !parent.is(State::Done)) {
            parent.inner.borrow().queued.put(task);
        }
        if let Some(group) = task.group.get() {
            group.queued.put(task);
        }
        let parent = task.parent.filter(|parent| parent.inner.borrow().waits);
        let waiter = task.group.get().and_then(|group| group.waiter.get());
        if let Some(parent) = parent {
            parent.wake.add(1);
        }
        if let Some(waiter) = waiter.filter(|waiter| !parent.is_some_and(|parent| std::ptr::eq(parent, *waiter))) {
            waiter.wake.add(1);
        }
        if self.anybody_waits() && self.phase.look() & TASKS == 0 {
            let _before = self.phase.change(|phase| Some(phase | TASKS));
        }
    }

    /// Somebody takes a task from the queues.
    fn dequeue(&self, queue: &mut Queue, task: &'static Task) {
        task.mark(State::Running);
        queue.queued -= 1;
        if queue.queued == 0 {
            queue.order.clear();
            if self.phase.look() & TASKS != 0 {
                let _before = self.phase.change(|phase| Some(phase & !TASKS));
            }
        }
    }

    /// Does the first task that is queued, unless the barrier is over at which the thread has seen this phase: tasks after it are
    /// those of another region, perhaps of fewer threads. Whether there was one.
    pub fn do_one(&'static self, seen: u32) -> bool {
        let task = self.tasks.with(|queue| {
            if self.is_past(seen) {
                return None;
            }
            let task = queue.order.take_first()?;
            self.dequeue(queue, task);
            Some(task)
        });
        if let Some(task) = task {
            self.execute(task);
        }
        task.is_some()
    }

    fn execute(&'static self, task: &'static Task) {
        let outer = self.enter(task);
        loads(&task.body);
        match task.body.get().filter(|_| !self.drops(task)) {
            // SAFETY: the program's own outlined function, with the data that the task was made with.
            Some((body, data)) => uncharged(|| unsafe { body(data) }),
            None => task.event.set(Event::None),
        }
        self.leave(task, outer);
    }

    /// The running thread does a task, from here on; what it did before.
    fn enter(&self, task: &'static Task) -> Option<&'static Task> {
        let member = member();
        let outer = member.region.get().task;
        member.update(|region| region.task = Some(task));
        task.controls.set(member.controls.replace(task.controls.get()));
        outer
    }

    fn leave(&'static self, task: &'static Task, outer: Option<&'static Task>) {
        let member = member();
        member.controls.set(task.controls.get());
        member.update(|region| region.task = outer);
        if self.is_over(task) {
            self.finish(task);
        }
    }

    /// The running thread begins a task that the program itself does, at once.
    pub fn begin_undeferred(&self, task: &'static Task) {
        self.note_tasks();
        self.tasks.with(|queue| task.count(queue));
        let _parent = self.enter(task);
    }

    /// That task is over.
    pub fn end_undeferred(&'static self, task: &'static Task) {
        self.leave(task, task.parent);
    }

    /// A task is over.
    pub(super) fn finish(&'static self, task: &'static Task) {
        let goes_on = self.tasks.with(|queue| {
            task.mark(State::Done);
            let (successors, uses, rest) = {
                let mut inner = task.inner.borrow_mut();
                (
                    std::mem::take(&mut inner.successors),
                    std::mem::take(&mut inner.uses),
                    std::mem::take(&mut inner.queued),
                )
            };
            rest.clear();
            forget_uses(uses);
            for successor in successors {
                self.unblock(queue, successor);
                successor.let_go();
            }
            if let Some(parent) = task.parent {
                let mut inner = parent.inner.borrow_mut();
                inner.children -= 1;
                if inner.waits && (inner.children == 0 || task.event.get() != Event::None) {
                    parent.wake.add(1);
                }
            }
            if let Some(group) = task.group.get() {
                group.left.set(group.left.get() - 1);
                if let Some(waiter) = group.waiter.get().filter(|_| group.left.get() == 0) {
                    waiter.wake.add(1);
                }
            }
            queue.left -= 1;
            task.let_go();
            queue.left == 0 && std::mem::take(&mut queue.held_up)
        });
        if goes_on {
            self.pass();
        }
    }

    /// One of those that a task waits for is over.
    fn unblock(&self, queue: &mut Queue, task: &'static Task) {
        let (ready, at_once) = {
            let mut inner = task.inner.borrow_mut();
            inner.blockers -= 1;
            (inner.blockers == 0, inner.at_once)
        };
        match (ready, at_once) {
            (false, _) => {}
            (true, false) => self.enqueue(queue, task),
            (true, true) => {
                task.mark(State::Running);
                task.parent.into_iter().for_each(|parent| {
                    parent.wake.add(1);
                });
            }
        }
    }

    /// All threads have come to a barrier: whether no task is left. If one is, whoever ends the last lets all go on.
    pub fn none_left(&self) -> bool {
        if !self.tasked.get() {
            return true;
        }
        self.tasks.with(|queue| {
            queue.held_up = queue.left > 0;
            !queue.held_up
        })
    }

    /// Does tasks that `next` finds until there is `enough`, for which the thread that does `waiter` waits.
    pub(super) fn wait(
        &'static self,
        enough: impl Fn(&Queue) -> bool,
        next: impl Fn() -> Option<&'static Task>,
        waiter: Option<&'static Task>,
    ) {
        /// What to do.
        enum Next {
            Go,
            Do(&'static Task),
            Sleep(u32),
        }
        let Some(waiter) = waiter else { return };
        loop {
            let next = self.tasks.with(|queue| {
                if enough(queue) {
                    waiter.inner.borrow_mut().waits = false;
                    return Next::Go;
                }
                match next() {
                    Some(task) => {
                        self.dequeue(queue, task);
                        Next::Do(task)
                    }
                    None => {
                        waiter.inner.borrow_mut().waits = true;
                        Next::Sleep(waiter.wake.look())
                    }
                }
            });
            match next {
                Next::Go => return,
                Next::Do(task) => self.execute(task),
                Next::Sleep(seen) => {
                    charged(Cause::Lock, || waiter.wake.wait_while(seen));
                }
            }
        }
    }

    /// Waits until the children of the running task are done, and does them.
    pub fn wait_for_children(&'static self) {
        // Whose task nobody has asked for has no children.
        if let Some(task) = member().region.get().task {
            self.wait(|_| task.inner.borrow().children == 0, || task.take_child(), Some(task));
        }
    }

    /// A thread's own task ends with its region.
    pub fn forget(&self, task: Option<&'static Task>) {
        let Some(task) = task else { return };
        self.tasks.with(|_| {
            let (uses, rest) = {
                let mut inner = task.inner.borrow_mut();
                (std::mem::take(&mut inner.uses), std::mem::take(&mut inner.queued))
            };
            rest.clear();
            forget_uses(uses);
            task.let_go();
        });
    }
}

/// Room for the data of a task, in the program's own memory.
pub fn block(bytes: usize) -> *mut c_void {
    allocate(bytes.max(1))
}
