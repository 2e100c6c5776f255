//! Explicit tasks: deferred, with dependences, waited for by their parents, their groups and barriers.
//!
//! A task is a block of memory of the thread that makes it ([`super::stock`]). Threads that look for tasks find them in deques
//! ([`super::stealing`]); what a thread does while it waits is in [`super::waiting`].

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::{drop_in_place, from_ref};

use rustc_hash::FxHashMap;

use super::dependences::{Dependence, Node, Uses, depend, forget_uses};
use super::detached::{DONE, FULFILLED, NONE};
use super::groups::Group;
use super::platform::{Word, instructions, loads, stores, uncharged};
use super::stock;
use super::team::{Body, Controls, Team, globals, member};

/// Instructions that make a task beside its references, and that begin and end one: round figures.
const MAKE: u32 = 30;
const BEGIN: u32 = 20;
const END: u32 = 20;

/// One less, in a word that counts.
pub(super) const ONE_LESS: u32 = u32::MAX;

/// Properties of a task that the compiler tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kind {
    /// Whether its children are done at once.
    pub is_final: bool,
    /// Whether a thread that waits within another task may begin it, although it is no descendant of that.
    pub untied: bool,
}

/// A task, explicit or what a thread does of itself.
#[repr(C, align(16))]
pub struct Task {
    /// The compiler's function; an implicit task has none.
    body: Option<Body>,
    /// The data that the function is called with.
    pub data: Cell<*mut c_void>,
    parent: Option<&'static Task>,
    /// The number of its ancestors.
    level: u32,
    pub(super) kind: Kind,
    /// Whether its parent and its group count it: it may end after the code that made it has gone on.
    counted: Cell<bool>,
    /// Whether the team's barriers count it ([`Team::hold_barriers`]).
    pub(super) holds_barriers: Cell<bool>,
    /// Whether it need not be done when it is cancelled before it has begun: nothing but itself would end what it keeps.
    pub may_be_dropped: Cell<bool>,
    /// The priority: of two tasks that can be done, the one with the higher number is done first.
    pub(super) priority: Cell<i32>,
    /// The group that its children belong to: its own, unless it has begun another.
    pub(super) group: Cell<Option<&'static Group>>,
    /// The latest tied task on the thread that does it: itself, if it is tied.
    last_tied: Cell<Option<&'static Task>>,
    /// Its place among tasks that depend on one another, if it names dependences.
    node: Cell<Option<&'static Node>>,
    /// The settings of the thread that does it, while the thread does something else; before it begins, those of its parent.
    controls: Cell<Controls>,
    /// Its children's dependences, by address. Used by the thread that does the task alone.
    pub(super) uses: RefCell<FxHashMap<usize, Uses>>,
    /// Children that have not ended (`td_incomplete_child_tasks`).
    pub(super) children: Word,
    /// References to it: its own until it ends, and those of its children, its event, and a thread that waits for its end
    /// (`td_allocated_child_tasks`).
    holds: Word,
    /// The state of its event ([`super::detached`]).
    pub(super) event: Word,
}

impl Task {
    fn new(body: Option<Body>, bytes: usize, parent: Option<&'static Self>, kind: Kind) -> &'static Self {
        instructions(MAKE);
        let place: *mut Self = stock::allocate(size_of::<Self>() + bytes).cast();
        let member = member();
        let group = parent.map_or_else(|| member.region.get().team.group.get(), |parent| parent.group.get());
        let task = Self {
            body,
            data: Cell::new(std::ptr::null_mut()),
            parent,
            level: parent.map_or(0, |parent| parent.level + 1),
            kind,
            counted: Cell::new(false),
            holds_barriers: Cell::new(false),
            may_be_dropped: Cell::new(true),
            priority: Cell::new(0),
            group: Cell::new(group),
            last_tied: Cell::new(None),
            node: Cell::new(None),
            controls: Cell::new(member.controls.get()),
            uses: RefCell::default(),
            children: Word::new(0),
            holds: Word::new(1),
            event: Word::new(NONE),
        };
        // SAFETY: the block is long enough, aligned, and nobody else's.
        let task = unsafe {
            place.write(task);
            &*place
        };
        stores(task);
        if let Some(parent) = parent.filter(|parent| parent.is_explicit()) {
            parent.hold();
        }
        task
    }

    /// The running thread's task.
    pub fn current() -> &'static Self {
        let member = member();
        member.region.get().task.unwrap_or_else(|| {
            let implicit = Self::new(None, 0, None, Kind::default());
            implicit.last_tied.set(Some(implicit));
            member.update(|region| region.task = Some(implicit));
            implicit
        })
    }

    /// A child of the running task that will call `body` with its data, for which there is [`Self::room`] of so many bytes.
    pub fn child(body: Body, bytes: usize, kind: Kind) -> &'static Self {
        let parent = Self::current();
        Self::new(Some(body), bytes, Some(parent), Kind { is_final: kind.is_final || parent.kind.is_final, ..kind })
    }

    /// The memory for its data.
    pub fn room(&self) -> *mut c_void {
        // The block is longer than the task.
        from_ref(self).cast_mut().wrapping_add(1).cast()
    }

    /// It is done before others that can be done, if its priority is the higher one.
    pub fn prefer(&self, priority: i32) {
        self.priority.set(priority.clamp(0, globals().settings.priority));
    }

    /// The group that its children belong to.
    pub fn group(&self) -> Option<&'static Group> {
        self.group.get()
    }

    fn is_explicit(&self) -> bool {
        self.body.is_some()
    }

    /// One more reference to it.
    pub(super) fn hold(&self) {
        self.holds.add(1);
    }

    /// One reference less. With the last one go the task and its reference to its parent.
    pub(super) fn let_go(&self) {
        let mut task = self;
        while task.holds.add(ONE_LESS) == 1 {
            let parent = task.parent.filter(|parent| parent.is_explicit());
            let place = from_ref(task).cast_mut();
            // SAFETY: there is no other reference to the task.
            unsafe {
                drop_in_place(place);
                stock::free(place.cast());
            }
            let Some(parent) = parent else { return };
            task = parent;
        }
    }

    /// It is not done after all.
    pub fn discard(&self) {
        self.let_go();
    }

    /// From here on its parent and its group wait for it, and barriers if it has an event.
    fn count(&self, team: &Team) {
        self.counted.set(true);
        if let Some(parent) = self.parent {
            parent.children.add(1);
        }
        if let Some(group) = self.group.get() {
            group.left.add(1);
        }
        if self.has_event() {
            team.hold_barriers(self);
        }
    }

    pub(super) fn has_event(&self) -> bool {
        self.event.peek() != NONE
    }

    /// The task whose descendants alone may be begun while the running thread waits within this one: the task scheduling constraint
    /// for tied tasks (OpenMP 5.1, 2.12.6), as `__kmp_task_is_allowed` of LLVM's runtime has it. None if a thread waits
    /// within an untied task and no explicit task is tied to it.
    pub(super) fn bound(&'static self) -> Option<&'static Self> {
        self.last_tied.get().filter(|tied| tied.is_explicit() || std::ptr::eq(*tied, self))
    }

    /// Whether a thread may begin it that is bound to descendants of `bound`.
    pub(super) fn is_within(&self, bound: Option<&Self>) -> bool {
        let Some(bound) = bound else { return true };
        loads(&self.parent);
        loads(&self.kind);
        if self.kind.untied {
            return true;
        }
        let mut ancestor = self.parent;
        while let Some(task) = ancestor {
            if std::ptr::eq(task, bound) {
                return true;
            }
            loads(&task.level);
            if task.level <= bound.level {
                return false;
            }
            ancestor = task.parent;
        }
        false
    }
}

impl Team {
    /// Has a task done: at once, if `deferred` is not set, else some time.
    pub fn submit(&'static self, task: &'static Task, deferred: bool, depends: &[Dependence]) {
        let outside = self.levels.get().0 == 0;
        let at_once = !deferred || outside || task.parent.is_some_and(|parent| parent.kind.is_final);
        // Where tasks are done as they come, those before are over.
        let alone = (self.is_one() || outside) && !self.detaches.get();
        if alone || (at_once && depends.is_empty() && !task.has_event()) {
            return self.execute(task);
        }
        self.begin_tasks();
        task.count(self);
        let awaited = !deferred && task.has_event();
        if awaited {
            task.hold();
        }
        let node = task.parent.and_then(|parent| depend(parent, task, depends, at_once));
        task.node.set(node);
        let ready = node.is_none_or(Node::is_made);
        if at_once {
            if let Some(node) = node.filter(|_| !ready) {
                // A thread that waits for a task to be ready does others meanwhile.
                self.work_until(|| node.is_ready());
            }
            self.execute(task);
            if awaited {
                self.work_until(|| task.event.look() == DONE);
                task.let_go();
            }
        } else if ready && !self.push(task) {
            self.execute(task);
        }
    }

    /// Does a task.
    pub(super) fn execute(&'static self, task: &'static Task) {
        let outer = self.enter(task);
        instructions(BEGIN);
        loads(&task.body);
        loads(&task.data);
        match task.body.filter(|_| !self.drops(task)) {
            // SAFETY: the program's own outlined function, with the data that the task was made with.
            Some(body) => uncharged(|| unsafe { body(task.data.get()) }),
            None if task.has_event() => task.event.set(FULFILLED),
            None => {}
        }
        self.leave(task, outer);
    }

    /// The running thread does a task, from here on. Returns the task before.
    fn enter(&self, task: &'static Task) -> Option<&'static Task> {
        let member = member();
        let outer = member.region.get().task;
        let around = outer.and_then(|outer| outer.last_tied.get());
        task.last_tied.set(if task.kind.untied { around } else { Some(task) });
        member.update(|region| region.task = Some(task));
        loads(&task.controls);
        task.controls.set(member.controls.replace(task.controls.get()));
        outer
    }

    fn leave(&'static self, task: &'static Task, outer: Option<&'static Task>) {
        let member = member();
        member.controls.set(task.controls.get());
        member.update(|region| region.task = outer);
        if task.is_over() {
            self.finish(task);
        }
    }

    /// The running thread begins a task that the program itself does, at once.
    pub fn begin_undeferred(&self, task: &'static Task) {
        if task.has_event() {
            self.begin_tasks();
            task.count(self);
        }
        let _parent = self.enter(task);
    }

    /// That task is over.
    pub fn end_undeferred(&'static self, task: &'static Task) {
        self.leave(task, task.parent);
    }

    /// A task is over: those that depend on it may be done, and threads that wait for it go on.
    pub(super) fn finish(&'static self, task: &'static Task) {
        instructions(END);
        let mut is_awaited = false;
        if let Some(node) = task.node.take() {
            is_awaited |= self.release_successors(node);
        }
        forget_uses(task.uses.take());
        if task.has_event() {
            task.event.set(DONE);
            is_awaited = true;
        }
        if task.counted.get() {
            is_awaited |= task.parent.is_some_and(|parent| parent.children.add(ONE_LESS) == 1);
            is_awaited |= task.group.get().is_some_and(|group| group.left.add(ONE_LESS) == 1);
        }
        let holds_barriers = task.holds_barriers.get();
        task.let_go();
        if is_awaited {
            self.call();
        }
        if holds_barriers {
            self.release_barriers();
        }
    }

    /// Waits until the children of the running task are done, and does tasks meanwhile.
    pub fn wait_for_children(&'static self) {
        // A thread whose task nobody has asked for has made no child.
        if let Some(task) = member().region.get().task {
            self.work_until(|| task.children.look() == 0);
        }
    }

    /// A thread's own task ends with its region.
    pub fn forget(&self, task: Option<&'static Task>) {
        let Some(task) = task else { return };
        forget_uses(task.uses.take());
        task.let_go();
    }
}
