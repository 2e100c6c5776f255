//! Groups of tasks, which are waited for together with their descendants.

use std::cell::Cell;
use std::ptr::{drop_in_place, from_ref, null_mut};

use super::platform::{Word, free, keep};
use super::tasks::Task;
use super::team::Team;

/// Tasks that are waited for together, with their descendants.
pub struct Group {
    outer: Option<&'static Group>,
    /// Whether it is a construct's own and not the program's, which then means the one around it.
    hidden: bool,
    /// Tasks that have not ended.
    pub(super) left: Word,
    cancelled: Word,
    /// Reductions that its tasks take part in.
    pub reductions: Cell<*mut usize>,
}

impl Team {
    /// From here on, tasks of the running one belong together.
    pub fn begin_group(&self) {
        let task = Task::current();
        task.group.set(Some(Group::make(task.group.get(), false)));
    }

    /// The same for a construct whose tasks reduce: the program does not know of the group.
    pub fn begin_hidden_group(&self) {
        let task = Task::current();
        task.group.set(Some(Group::make(task.group.get(), true)));
    }

    /// Waits until the tasks of the group are done, and does them.
    pub fn end_group(&'static self) {
        let task = Task::current();
        let Some(group) = task.group.get() else { return };
        self.work_until(|| group.left.look() == 0);
        task.group.set(group.outer);
        self.give_back(group);
    }

    /// The tasks of a group are done, and nobody knows it any more.
    pub fn give_back(&self, group: &'static Group) {
        let place = from_ref(group).cast_mut();
        // SAFETY: see above.
        unsafe {
            drop_in_place(place);
            free(place.cast());
        }
    }
}

impl Group {
    /// A group within another.
    pub fn make(outer: Option<&'static Self>, hidden: bool) -> &'static Self {
        keep(Self {
            outer,
            hidden,
            left: Word::default(),
            cancelled: Word::default(),
            reductions: Cell::new(outer.map_or(null_mut(), |outer| outer.reductions.get())),
        })
    }

    /// The reductions that were known where it began.
    pub fn before(&self) -> *mut usize {
        self.outer.map_or(null_mut(), |outer| outer.reductions.get())
    }

    /// The program's own group around this one, or this one if it is.
    fn known(&self) -> &Self {
        self.outer.filter(|_| self.hidden).unwrap_or(self)
    }

    /// Its tasks that have not begun need not be done.
    pub fn cancel(&self) {
        self.known().cancelled.set(1);
    }

    /// Whether that was said.
    pub fn is_cancelled(&self) -> bool {
        self.known().cancelled.look() != 0
    }
}
