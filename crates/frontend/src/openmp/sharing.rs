//! Work that a team shares: loops, sections, single regions, in the order in which all threads of the team come to them.
//!
//! Each is set up by whoever comes first and taken down by whoever leaves last; a thread may be many ahead of another.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;

use sim::Cause;

use super::doacross::Doacross;
use super::platform::{Counter, LINE, Line, Word, charged, free, loads, stores};
use super::schedule::{Kind, Schedule, next_share, static_share};
use super::team::{AHEAD, Member, Team};

/// A loop, or sections, that are begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Iterations.
    pub total: u64,
    /// The schedule by which threads get iterations.
    pub schedule: Schedule,
    /// Whether parts of it are done in the order of iterations.
    pub ordered: bool,
    /// The program's first value of the loop variable.
    pub first: i64,
    /// The step from one iteration to the next.
    pub step: i64,
    /// The value after the last, as the program told it.
    pub end: i64,
}

impl Loop {
    /// A loop of `total` iterations that are only numbers.
    pub const fn of(total: u64, schedule: Schedule) -> Self {
        Self { total, schedule, ordered: false, first: 0, step: 1, end: total as i64 }
    }

    /// The program's values for iterations `share`: the first, and the one after the last.
    pub fn values(&self, share: &Range<u64>) -> (i64, i64) {
        let value = |at: u64| self.first.wrapping_add((at as i64).wrapping_mul(self.step));
        (value(share.start), if share.end == self.total { self.end } else { value(share.end) })
    }
}

/// A construct that the team is in, or will be.
#[repr(C, align(128))]
pub struct Share {
    /// The number of the construct in the region that this is for.
    turn: Word,
    /// Whether it is being set up, and whether that is done.
    state: Word,
    /// Threads that have left it.
    left: Word,
    /// The loop.
    what: Cell<Loop>,
    /// For the construct's own purposes: where something is that all share.
    pub place: Cell<*mut c_void>,
    /// Memory that all threads have in common while they are in it.
    pub memory: Cell<*mut c_void>,
    /// Reductions of tasks, as the first thread knows them.
    pub reductions: Cell<*mut usize>,
    /// The next iteration that nobody has.
    next: Line<Counter>,
    /// The iteration whose ordered part may be done.
    ordered: Line<Counter>,
}

const FRESH: u32 = 0;
const BEING_SET_UP: u32 = 1;
const READY: u32 = 2;

/// How far a thread is in its loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Iterations that it has now.
    start: u64,
    end: u64,
    /// Shares that it has had.
    turn: u64,
}

impl Share {
    /// For construct number `number`.
    pub fn new(number: usize) -> Self {
        let nothing = Loop::of(0, Schedule { kind: Kind::Static, chunk: 0 });
        Self {
            turn: Word::new(number as u32),
            state: Word::new(FRESH),
            left: Word::new(0),
            what: Cell::new(nothing),
            place: Cell::new(std::ptr::null_mut()),
            memory: Cell::new(std::ptr::null_mut()),
            reductions: Cell::new(std::ptr::null_mut()),
            next: Line::default(),
            ordered: Line::default(),
        }
    }

    /// The loop that is under way.
    pub fn what(&self) -> Loop {
        loads(&self.what);
        self.what.get()
    }

    /// Sets it up; only whoever comes first does.
    pub fn set_up(&self, what: Loop) {
        self.what.set(what);
        stores(&self.what);
    }

    /// It is as new, for construct number `number`.
    pub fn renew(&self, number: usize) {
        self.take_down();
        self.turn.set(number as u32);
    }

    fn take_down(&self) {
        Doacross::take_down(self);
        let memory = self.memory.replace(std::ptr::null_mut());
        if !memory.is_null() {
            // SAFETY: made for this construct, which all threads have left.
            unsafe { free(memory) };
        }
        self.left.set(0);
        for counter in [&self.next, &self.ordered] {
            if counter.peek() != 0 {
                counter.set(0);
            }
        }
        self.state.set(FRESH);
    }
}

impl Member {
    /// Comes to the next construct of its region. Whoever comes first does `set_up`; returns whether that was this thread, and
    /// the construct.
    pub fn come(&self, set_up: impl FnOnce(&Share)) -> (bool, &'static Share) {
        let share = self.enter();
        charged(Cause::Lock, || {
            // Others may still be in the one that had this place before.
            let turn = self.region.get().begun.wrapping_sub(1);
            loop {
                let found = share.turn.look();
                if found == turn {
                    break;
                }
                share.turn.wait_while(found);
            }
            let first = share.state.change(|state| (state == FRESH).then_some(BEING_SET_UP)).is_ok();
            if first {
                set_up(share);
                share.state.set(READY);
            } else {
                while share.state.look() != READY {
                    share.state.wait_while(BEING_SET_UP);
                }
            }
            (first, share)
        })
    }

    /// Is in the next construct, which is set up.
    pub fn enter(&self) -> &'static Share {
        let region = self.region.get();
        self.update(|region| {
            region.begun = region.begun.wrapping_add(1);
            region.progress = Progress::default();
        });
        region.team.share(region.begun)
    }

    /// The construct that it is in.
    pub fn share(&self) -> &'static Share {
        let region = self.region.get();
        region.team.share(region.begun.wrapping_sub(1))
    }

    /// Leaves the construct that it is in. Waits for nobody.
    pub fn leave(&self) {
        self.leave_construct(self.region.get().begun.wrapping_sub(1));
    }

    /// Leaves the construct of a number, which may be one around that which it is in.
    pub fn leave_construct(&self, number: u32) {
        let team = self.region.get().team;
        let share = team.share(number);
        if share.left.add(1) + 1 == team.threads.get() {
            share.take_down();
            share.turn.set(number.wrapping_add(AHEAD as u32));
        }
    }

    /// Comes to a loop.
    pub fn begin_loop(&self, what: Loop) {
        self.come(|share| share.set_up(what));
    }

    /// The next iterations that it is to do, in the program's values; none when there are no more.
    pub fn next_values(&self) -> Option<(i64, i64)> {
        let share = self.share();
        let what = share.what();
        self.next_of(share, &what).map(|range| what.values(&range))
    }

    /// The next iterations that it is to do of the loop that it is in.
    pub fn next_of(&self, share: &Share, what: &Loop) -> Option<Range<u64>> {
        let region = self.region.get();
        let progress = region.progress;
        if what.ordered {
            share.hand_on(&progress);
        }
        let threads = u64::from(region.team.threads.get());
        let range = match what.schedule.kind {
            Kind::Static | Kind::Auto => {
                static_share(what.total, what.schedule.chunk, threads, region.number.into(), progress.turn)
            }
            Kind::Dynamic | Kind::Guided => share.take(what, threads),
        };
        let (start, end) = range.as_ref().map_or((0, 0), |range| (range.start, range.end));
        self.update(|region| region.progress = Progress { start, end, turn: progress.turn + 1 });
        range
    }

    /// Waits until all iterations before those that it has are through their ordered part.
    pub fn wait_for_turn(&self) {
        let start = self.region.get().progress.start;
        charged(Cause::Lock, || self.share().ordered.wait_until(|next| next >= start));
    }
}

impl Share {
    /// Takes the next iterations that nobody has.
    fn take(&self, what: &Loop, threads: u64) -> Option<Range<u64>> {
        let next = |next: u64| next_share(what.schedule, what.total, threads, next);
        // Whoever asks after the end only looks.
        next(self.next.look())?;
        let before = self.next.change(|value| next(value).map(|range| range.end)).ok()?;
        next(before)
    }

    /// The iterations that a thread has had are through their ordered part: those after them may go on.
    fn hand_on(&self, had: &Progress) {
        if had.start < had.end {
            charged(Cause::Lock, || self.ordered.wait_until(|next| next >= had.start));
            self.ordered.set(had.end);
        }
    }
}

impl Team {
    /// Sets a loop up that all threads begin in, before they know of the region.
    pub fn begin_with(&self, what: Loop) {
        let share = self.share(self.base.get());
        share.set_up(what);
        share.state.set(READY);
    }
}

// The words that all threads change are on lines of their own.
const _: () = assert!(size_of::<Line<Counter>>() == LINE);
