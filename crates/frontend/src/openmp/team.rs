//! Teams of threads, and their barriers: changes of words in memory that all look at, which cost what those cost. Regions within
//! regions have a team of one thread.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustc_hash::FxHashMap;
use sim::Cause;

use super::display;
use super::doacross::Dimension;
use super::groups::Group;
use super::meeting::{Phase, Tally};
use super::platform::{AtEnd, Counter, LINE, Line, Lock, Word, charged, keep, loads, processors, remember, remembered};
use super::pool::{Pool, dismiss};
use super::schedule::{Kind, Schedule};
use super::settings::{Bind, Settings};
use super::sharing::{Progress, Share};
use super::stealing::Queues;
use super::stock::Stock;
use super::tasks::Task;
use super::tree::Tree;
use crate::runtime::measured;

/// The body of a region: the outlined function of the compiler, or a function that calls it.
pub type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// Loops, sections and single regions that the fastest thread of a team may be ahead of the slowest.
pub const AHEAD: usize = 64;

/// State that all threads use.
pub struct Globals {
    /// Settings of the environment.
    pub settings: Settings,
    /// The most teams of a league, and the most threads of each; zero where nobody says.
    pub leagues: (AtomicI32, AtomicI32),
    /// The lock of critical regions without a name.
    pub critical: Line<Lock>,
    /// The lock of atomic operations that processors have no instruction for.
    pub atomic: Line<Lock>,
    /// The lock of reductions.
    pub reduction: Line<Lock>,
}

/// The state that all threads use.
pub fn globals() -> &'static Globals {
    static GLOBALS: OnceLock<&'static Globals> = OnceLock::new();
    GLOBALS.get_or_init(|| {
        let processors = crate::runtime::processors::of_program(processors() as usize);
        let settings = Settings::read(|name| std::env::var(name).ok(), processors);
        display::at_the_beginning(&settings, processors.number as u32);
        let leagues = (settings.leagues.0.into(), settings.leagues.1.into());
        let (critical, atomic, reduction) = <(Line<Lock>, Line<Lock>, Line<Lock>)>::default();
        keep(Globals { settings, leagues, critical, atomic, reduction })
    })
}

// SAFETY: settings do not change, and locks are for sharing.
unsafe impl Sync for Globals {}

/// The threads of a region, and what they share.
#[repr(C)]
pub struct Team {
    /// The function that they call.
    pub body: Cell<Body>,
    /// Its argument.
    pub data: Cell<*mut c_void>,
    /// How many they are.
    pub threads: Cell<u32>,
    /// How many regions they are in, those of one thread included, and how many of those have more.
    pub levels: Cell<(u32, u32)>,
    /// The region around, and the number there of the thread that began this one.
    pub around: Cell<Option<(&'static Team, u32)>>,
    /// Whether all begin inside of the first loop, which is set up already.
    pub(super) begun: Cell<bool>,
    /// Loops, sections and single regions of earlier regions: where threads begin to count.
    pub base: Cell<u32>,
    /// Settings with which each thread begins.
    pub(super) controls: Cell<Controls>,
    /// Where threads meet whom clang's code began.
    pub tree: Tree,
    /// Threads that have come to the barrier.
    pub(super) meeting: Meeting,
    /// Threads that have come to one at which they wait no longer when the region is cancelled.
    pub(super) early: Meeting,
    /// The number of barriers that are over, above the bits that tell of tasks and of cancellation.
    pub phase: Line<Phase>,
    /// Whether anything was cancelled since the region began.
    pub cancelled: Cell<bool>,
    /// Explicit tasks that are queued.
    pub(super) queues: Queues,
    /// Whether some of its tasks are over only when an event is fulfilled: they cannot all be done at once.
    pub detaches: Cell<bool>,
    /// The group that the tasks of all threads belong to, if the region has reductions of tasks.
    pub group: Cell<Option<&'static Group>>,
    /// The data that a single region has copied out.
    pub copied: Cell<*mut c_void>,
    /// Loops, sections and single regions under way.
    shares: [Share; AHEAD],
}

/// Threads that have come to a barrier.
#[derive(Default)]
pub struct Meeting {
    /// How many there are.
    arrived: Line<Tally>,
    /// Those of them that have found no task, less the tasks that may be over, or queued, where no thread of the team runs.
    pub(super) idle: Line<Word>,
}

/// Settings of `omp_set_*`, for the thread that calls it and the regions that it begins.
#[derive(Clone, Copy, Debug)]
pub struct Controls {
    /// Threads of the next region.
    pub threads: u32,
    /// Whether it may have fewer.
    pub dynamic: bool,
    /// The meaning of `schedule(runtime)`.
    pub schedule: Schedule,
    /// How many levels of regions may have several threads: told to who asks.
    pub levels: i32,
    /// The most threads that a region may have.
    pub limit: u32,
}

/// Where a thread is in a region.
#[derive(Clone, Copy)]
pub struct Region {
    /// The team.
    pub team: &'static Team,
    /// Its number in it.
    pub number: u32,
    /// Loops, sections and single regions that it has begun.
    pub begun: u32,
    /// How far it is in the one it is in.
    pub progress: Progress,
    /// The task that it does now.
    pub task: Option<&'static Task>,
}

/// A thread as the runtime knows it.
pub struct Member {
    /// Where it is.
    pub region: Cell<Region>,
    /// Its settings.
    pub controls: Cell<Controls>,
    /// Threads of the next region alone, if it has said so (clang's interface).
    pub pushed: Cell<Option<u32>>,
    /// How those are to be bound.
    pub pushed_bind: Cell<Option<Bind>>,
    /// The most threads of the next league's team, if that has been said (clang's interface).
    pub league_limit: Cell<u32>,
    /// The place that it is bound to.
    pub place: OnceCell<Option<usize>>,
    /// Those who work for it.
    pub(super) pool: OnceCell<&'static Pool>,
    /// Teams of one that are not in use.
    spare: RefCell<Vec<&'static Team>>,
    /// Whether it is the first thread of all: what others have copies of is its own.
    pub is_first: bool,
    /// Whether it is in a loop whose iterations it asks for (clang's interface).
    pub asks: Cell<bool>,
    /// Regions around the ones that it is alone in.
    left_behind: RefCell<Vec<(Region, Controls)>>,
    /// Loops that wait for one another's iterations, which it is in: the number of the construct, and its dimensions (clang's
    /// interface).
    pub crossing: RefCell<Vec<(u32, Vec<Dimension>)>>,
    /// Copies of variables that are its own, in clang's interface without thread-local storage.
    pub own: RefCell<FxHashMap<usize, *mut c_void>>,
    /// The line that it has displayed last of where it is.
    pub told: RefCell<Option<String>>,
    /// The memory of its tasks.
    stock: OnceCell<&'static Stock>,
}

impl Team {
    /// A team of one that does nothing yet.
    pub(super) fn new() -> &'static Self {
        unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}
        keep(Self {
            body: Cell::new(nothing),
            data: Cell::new(std::ptr::null_mut()),
            threads: Cell::new(1),
            levels: Cell::new((0, 0)),
            around: Cell::new(None),
            begun: Cell::new(false),
            base: Cell::new(0),
            controls: Cell::new(Controls::of_the_environment()),
            tree: Tree::default(),
            meeting: Meeting::default(),
            early: Meeting::default(),
            phase: Line::default(),
            cancelled: Cell::new(false),
            queues: Queues::default(),
            detaches: Cell::new(false),
            group: Cell::new(None),
            copied: Cell::new(std::ptr::null_mut()),
            shares: std::array::from_fn(Share::new),
        })
    }

    /// The running thread comes to a region that is within no other, or is about to begin one within so many (`levels`, of this team):
    /// a parallel section.
    pub fn section_begins(&self, levels: u32) {
        if self.levels.get().0 == levels {
            measured::section_begins();
        }
    }

    /// Its part of a region that is within no other is over.
    fn section_ends(&self) {
        if self.levels.get().0 == 1 {
            measured::section_ends();
        }
    }

    /// All constructs are as if no thread had come to any.
    pub fn renew(&self) {
        for (number, share) in self.shares.iter().enumerate() {
            share.renew(number);
        }
        self.early.arrived.set(0);
        self.base.set(0);
    }

    /// The construct number `number` of the region: all threads come to it in turn.
    pub fn share(&self, number: u32) -> &Share {
        &self.shares[number as usize % AHEAD]
    }

    /// Whether the thread is alone.
    pub fn is_one(&self) -> bool {
        self.threads.get() == 1
    }

    /// Waits until all have come here and all tasks are done, and does tasks meanwhile.
    pub fn barrier(&'static self) {
        if !self.meet_in_tree() {
            self.meet(&self.meeting, 0);
        }
    }

    /// Waits until all have come here, who are counted in `meeting`, and all tasks are done, or until one of the bits `end` of the
    /// phase is set; whether one is. Does tasks meanwhile.
    pub(super) fn meet(&'static self, meeting: &Meeting, end: u32) -> bool {
        charged(Cause::Barrier, || {
            // A thread that is alone has done its tasks as they came, but for those that another ends.
            if self.is_one() && !self.detaches.get() {
                if self.cancelled.get() {
                    let _before = self.phase.change(|phase| Some(phase & !CONSTRUCT_CANCELLED));
                }
                return end != 0 && self.phase.look() & end != 0;
            }
            let mut seen = self.phase.look() & !TASKED;
            if seen & end != 0 {
                return true;
            }
            // Once it has been counted, this may be the team of the next region.
            let threads = self.threads.get();
            let last = meeting.arrived.count() + 1 == threads;
            if last && self.phase.peek() & TASKED == 0 {
                self.pass();
                return false;
            }
            loop {
                let now = self.phase.wait_while(seen);
                if (now ^ seen) >= PASSED {
                    return false;
                }
                if now & end != 0 {
                    return true;
                }
                if now & TASKED != 0 {
                    return self.work_at(meeting, threads, seen, end);
                }
                seen = now;
            }
        })
    }

    /// Whether the barrier is over at which the phase was this one.
    pub fn is_past(&self, seen: u32) -> bool {
        (self.phase.peek() ^ seen) >= PASSED
    }

    /// All are here, and nothing is left to do: they may go on.
    pub fn pass(&self) {
        for meeting in [&self.meeting, &self.early] {
            if meeting.arrived.peek() > 0 {
                meeting.arrived.set(0);
            }
            if meeting.idle.peek() > 0 {
                meeting.idle.set(0);
            }
        }
        // All have come to the end of what they shared.
        let advanced = |phase: u32| (phase & !(TASKED | CONSTRUCT_CANCELLED)).wrapping_add(PASSED);
        let before = self.phase.look();
        // No other thread can change it: tasks come from threads, and all of them are here.
        self.phase.set(advanced(before));
        if before & TASKED != 0 {
            self.call();
        }
    }
}

/// The bit of [`Team::phase`] that tells that tasks have been made since the last barrier.
pub const TASKED: u32 = 1;
/// The bit that tells that the region is cancelled.
pub const REGION_CANCELLED: u32 = 2;
/// The bit that tells that the loop or sections are cancelled which threads of the team are in.
pub const CONSTRUCT_CANCELLED: u32 = 4;
/// The increment of the phase at a barrier.
pub const PASSED: u32 = 8;

impl Region {
    /// Where a thread is that begins a region.
    fn beginning(team: &'static Team, number: u32) -> Self {
        Self { team, number, begun: team.base.get(), progress: Progress::default(), task: None }
    }
}

impl Controls {
    fn of_the_environment() -> Self {
        let settings = &globals().settings;
        Self {
            threads: settings.threads.unwrap_or_else(processors),
            dynamic: settings.dynamic,
            schedule: settings.schedule,
            levels: settings.levels,
            limit: settings.limit,
        }
    }
}

/// The running thread.
pub fn member() -> &'static Member {
    let known: *const Member = remembered().cast();
    // SAFETY: what is remembered is null, or what [`adopt`] kept for ever.
    unsafe { known.as_ref() }.unwrap_or_else(|| {
        static IS_KNOWN: AtomicBool = AtomicBool::new(false);
        adopt(Team::new(), 0, !IS_KNOWN.swap(true, Ordering::Relaxed))
    })
}

/// The runtime gets to know the running thread.
#[cold]
pub(super) fn adopt(team: &'static Team, number: u32, is_first: bool) -> &'static Member {
    let member = keep(Member {
        region: Cell::new(Region::beginning(team, number)),
        controls: Cell::new(team.controls.get()),
        pushed: Cell::new(None),
        pushed_bind: Cell::new(None),
        league_limit: Cell::new(0),
        place: OnceCell::new(),
        pool: OnceCell::new(),
        spare: RefCell::default(),
        is_first,
        asks: Cell::new(false),
        left_behind: RefCell::default(),
        own: RefCell::default(),
        told: RefCell::default(),
        crossing: RefCell::default(),
        stock: OnceCell::new(),
    });
    remember(std::ptr::from_ref(member).cast_mut().cast());
    static END: AtEnd = AtEnd::new(dismiss);
    END.ask(std::ptr::from_ref(member).cast());
    member
}

impl Member {
    /// The memory of its tasks.
    pub fn stock(&self) -> &'static Stock {
        self.stock.get_or_init(Stock::new)
    }

    /// Changes where it is.
    pub fn update(&self, change: impl FnOnce(&mut Region)) {
        let mut region = self.region.get();
        change(&mut region);
        self.region.set(region);
    }

    /// Changes what it has set.
    pub fn control(&self, change: impl FnOnce(&mut Controls)) {
        let mut controls = self.controls.get();
        change(&mut controls);
        self.controls.set(controls);
    }

    /// A region of one thread, within another or because no more are wanted.
    pub fn alone(&'static self, body: Body, data: *mut c_void, begin: impl FnOnce(&'static Team) -> bool) {
        let team = self.go_in(body, data);
        team.begun.set(begin(team));
        self.work(team, 0);
        self.come_out();
    }

    /// Begins a region of its own, in which it is alone.
    pub fn go_in(&self, body: Body, data: *mut c_void) -> &'static Team {
        let outer = self.region.get();
        let spare = self.spare.borrow_mut().pop();
        let team = spare.unwrap_or_else(Team::new);
        team.forget_cancellation();
        team.detaches.set(false);
        let (levels, active) = outer.team.levels.get();
        team.levels.set((levels + 1, active));
        team.around.set(Some((outer.team, outer.number)));
        team.body.set(body);
        team.data.set(data);
        team.begun.set(false);
        team.group.set(None);
        self.left_behind.borrow_mut().push((outer, self.controls.get()));
        self.region.set(Region::beginning(team, 0));
        team.section_begins(1);
        team
    }

    /// Ends it.
    pub fn come_out(&self) {
        let region = self.region.get();
        region.team.forget(region.task);
        region.team.section_ends();
        region.team.base.set(region.begun);
        self.spare.borrow_mut().push(region.team);
        let before = self.left_behind.borrow_mut().pop();
        if let Some((outer, controls)) = before {
            self.region.set(outer);
            self.controls.set(controls);
        }
    }

    /// A thread's part of a region, from the beginning to the barrier at its end.
    pub(super) fn work(&'static self, team: &'static Team, number: u32) {
        self.region.set(Region::beginning(team, number));
        team.section_begins(1);
        if team.begun.get() {
            self.enter();
        }
        display::in_region();
        loads(&team.body);
        loads(&team.data);
        let (body, data) = (team.body.get(), team.data.get());
        // SAFETY: the program's own outlined function, with the data that it was begun with.
        unsafe { body(data) };
        team.barrier();
        team.forget(self.region.get().task);
        self.update(|region| region.task = None);
        team.section_ends();
    }
}

/// Threads of the team that the running thread is of.
pub fn team() -> &'static Team {
    member().region.get().team
}

/// The meaning of `schedule(runtime)` for the running thread; `auto` is as static.
pub fn runtime_schedule() -> Schedule {
    let schedule = member().controls.get().schedule;
    if schedule.kind == Kind::Auto { Schedule { kind: Kind::Static, chunk: 0 } } else { schedule }
}

// Assumptions of a share of a loop: words of it are on lines of their own.
const _: () = assert!(align_of::<Share>() == LINE);
const _: () = assert!(size_of::<Counter>() == 8);
