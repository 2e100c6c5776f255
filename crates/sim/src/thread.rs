//! A simulated thread: what a program running on a simulated processor can do.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine::Yielder;
use protocol::Access;
use units::{CpuId, NodeId, PhysicalAddr, Time, VirtualAddr};

use crate::SimError;
use crate::processor::{Address, Cause, Location, Measuring, Processor, Wait};

/// A program for one simulated processor: straight-line code that calls the methods of [`Thread`].
pub type Program = Box<dyn FnOnce(&mut Thread<'_>)>;

/// What the threads of a program share beside the machine.
#[derive(Default)]
pub(crate) struct Team {
    /// Whether one of them has asked all to stop.
    stop: Cell<bool>,
    /// Counts what may be news to threads that look at a word again and again.
    news: Cell<u64>,
    /// Whether threads may change processors: what they leave and enter, they do at their own time.
    scheduled: Cell<bool>,
    /// What a thread asks of the operating system, and the answers.
    pub(crate) calls: RefCell<Vec<Call>>,
    pub(crate) spawned: Cell<Option<Result<ThreadId, SimError>>>,
    pub(crate) mapped: Cell<Option<Result<VirtualAddr, SimError>>>,
    pub(crate) found: Cell<Option<PhysicalAddr>>,
}

/// The number of a thread of a process, in the order in which they began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(pub usize);

/// What a thread asks of the operating system.
pub(crate) enum Call {
    /// A new thread, on one of these processors if any of them is free.
    Spawn(Program, Vec<CpuId>),
    /// The thread goes to the first of these processors that is free.
    Migrate(Vec<CpuId>),
    /// A parked thread is to go on.
    Wake(ThreadId),
    /// More virtual pages, each with the node that it is planned on.
    Map(Vec<Option<NodeId>>),
    /// Pages, each by an address in it, are planned on nodes.
    Plan(Vec<(VirtualAddr, NodeId)>),
    /// The page of an address is to move to a node.
    Move(VirtualAddr, NodeId),
    /// Where an address is.
    Whereabouts(VirtualAddr),
    /// The whole process is over.
    End,
}

impl Team {
    pub(crate) fn take_calls(&self) -> Vec<Call> {
        self.calls.take()
    }

    pub(crate) fn answer_spawn(&self, answer: Result<ThreadId, SimError>) {
        self.spawned.set(Some(answer));
    }

    pub(crate) fn answer_map(&self, answer: Result<VirtualAddr, SimError>) {
        self.mapped.set(Some(answer));
    }

    pub(crate) fn answer_place(&self, answer: Option<PhysicalAddr>) {
        self.found.set(answer);
    }

    /// From here on threads may change processors.
    pub(crate) fn share(&self) {
        self.scheduled.set(true);
    }

    pub(crate) fn new(scheduled: bool) -> Self {
        Self { scheduled: Cell::new(scheduled), ..Self::default() }
    }

    pub(crate) fn news(&self) -> u64 {
        self.news.get()
    }
}

/// The handle through which a [`Program`] uses its simulated processor.
///
/// Methods return as soon as the simulated instruction has issued, not when it is done: independent accesses overlap as
/// far as the processor allows. Simulated time passes for the program whenever it must wait. Memory is named by physical or by
/// virtual addresses; the latter lead to where the operating system puts their pages.
pub struct Thread<'a> {
    yielder: &'a Yielder<Box<Processor>, (Box<Processor>, Wait)>,
    /// `None` only while the thread is suspended.
    pub(crate) processor: Option<Box<Processor>>,
    pub(crate) team: Rc<Team>,
    /// Called whenever the thread goes on after it was suspended.
    pub(crate) on_resume: Option<(fn(usize), usize)>,
}

impl<'a> Thread<'a> {
    pub(crate) fn new(
        yielder: &'a Yielder<Box<Processor>, (Box<Processor>, Wait)>,
        processor: Box<Processor>,
        team: Rc<Team>,
    ) -> Self {
        Self { yielder, processor: Some(processor), team, on_resume: None }
    }

    pub(crate) fn into_processor(self) -> Box<Processor> {
        match self.processor {
            Some(processor) => processor,
            None => unreachable!("a thread runs only while it holds its processor"),
        }
    }

    #[inline]
    fn processor(&mut self) -> &mut Processor {
        match &mut self.processor {
            Some(processor) => processor,
            None => unreachable!("a thread runs only while it holds its processor"),
        }
    }

    /// Repeats `attempt`, suspending for what it has to wait for in between.
    #[inline]
    fn until_done<T>(&mut self, mut attempt: impl FnMut(&mut Processor) -> Result<T, Wait>) -> T {
        loop {
            match attempt(self.processor()) {
                Ok(value) => return value,
                Err(wait) => self.suspend(wait),
            }
        }
    }

    #[inline(never)]
    pub(crate) fn suspend(&mut self, wait: Wait) {
        if let Some(mut processor) = self.processor.take() {
            processor.suspend(wait);
            self.processor = Some(self.yielder.suspend((processor, wait)));
            if let Some((hook, argument)) = self.on_resume {
                hook(argument);
            }
        }
    }

    #[inline]
    fn access(&mut self, at: impl Location, access: Access, address: Address) {
        self.until_done(|processor| processor.access(at, access, address));
    }

    /// What follows is done by the program at `site`, such as an address of its code: what is lost there is told of it
    /// ([`crate::Simulator::losses`]).
    #[inline]
    pub fn at_site(&mut self, site: u64) {
        self.processor().at_site(site);
    }

    /// The processor it runs on.
    pub fn cpu(&mut self) -> CpuId {
        self.processor().cpu()
    }

    /// A load whose address is known.
    #[inline]
    pub fn load(&mut self, at: impl Location) {
        self.access(at, Access::Load, Address::Known);
    }

    /// A load whose address is the value of the latest load, or was computed from it: a step of a pointer chase.
    #[inline]
    pub fn load_dependent(&mut self, at: impl Location) {
        self.access(at, Access::Load, Address::FromLatestLoad);
    }

    /// A store whose address is known.
    #[inline]
    pub fn store(&mut self, at: impl Location) {
        self.access(at, Access::Store, Address::Known);
    }

    /// A store whose address depends on the value of the latest load.
    #[inline]
    pub fn store_dependent(&mut self, at: impl Location) {
        self.access(at, Access::Store, Address::FromLatestLoad);
    }

    /// A read prefetch: asks for a shared copy and waits for nothing.
    #[inline]
    pub fn prefetch_shared(&mut self, at: impl Location) {
        self.access(at, Access::ReadPrefetch, Address::Known);
    }

    /// A write prefetch: asks for an exclusive copy and waits for nothing.
    #[inline]
    pub fn prefetch_exclusive(&mut self, at: impl Location) {
        self.access(at, Access::WritePrefetch, Address::Known);
    }

    /// A load that leaves the line where it is: answered from memory or by the owner, and not cached.
    #[inline]
    pub fn load_uncached(&mut self, at: impl Location) {
        self.access(at, Access::UncachedRead, Address::Known);
    }

    /// `cycles` one-cycle instructions, each depending on the one before, the first on the value of the latest load.
    #[inline]
    pub fn work(&mut self, cycles: u32) {
        let mut left = cycles;
        self.until_done(|processor| processor.work(&mut left));
    }

    /// `count` instructions that depend on no access.
    #[inline]
    pub fn instructions(&mut self, count: u32) {
        let mut left = count;
        self.until_done(|processor| processor.instructions(&mut left));
    }

    /// Nothing issues for as long as `slots` instructions take to issue: whoever knows the program's code has found that the operands
    /// of what comes next are not there sooner.
    #[inline]
    pub fn stall(&mut self, slots: u32) {
        self.processor().stall(slots);
    }

    /// Waits until everything issued so far is done.
    pub fn drain(&mut self) {
        self.until_done(Processor::finish);
    }

    /// The time at which everything issued so far is done.
    pub fn now(&mut self) -> Time {
        self.drain();
        self.processor().time()
    }

    /// From here on (`true`), or up to here (`false`), when everything issued so far is done, is what is measured of the program;
    /// intervals add up. A program that never says so is measured whole.
    pub fn measure(&mut self, on: bool) {
        self.drain();
        // What the controllers did until then is looked at, too.
        self.order();
        self.processor().measure(if on { Measuring::Yes } else { Measuring::No });
    }

    /// Up to here is what is measured of the program, unless [`Thread::measure`] begins something more: then what is done until that
    /// counts, too.
    pub fn measure_up_to_here(&mut self) {
        self.drain();
        self.order();
        self.processor().measure(Measuring::IfMoreFollows);
    }

    /// From here on, all that the processor spends time on is on behalf of `cause`: of a barrier or a lock made of loads and
    /// stores; with `None`, of the program again. Returns what it was before.
    pub(crate) fn charge(&mut self, cause: Option<Cause>) -> Option<Cause> {
        self.processor().on_behalf(cause)
    }

    /// Empties the caches and the translation buffer: clean lines are dropped silently, modified ones written back.
    pub fn drop_caches(&mut self) {
        let mut cursor = Some(0);
        while let Some(set) = cursor {
            cursor = self.until_done(|processor| processor.drop_lines(set));
        }
        self.until_done(|processor| match processor.oldest_writeback() {
            Some(line) => Err(Wait::Writeback(line)),
            None => Ok(()),
        });
    }

    /// Waits until every thread of the program has come here.
    pub fn barrier(&mut self) {
        self.leave();
        self.suspend(Wait::Barrier);
    }

    /// Everything is done, and the operating system may give the processor to others.
    pub(crate) fn leave(&mut self) {
        self.drain();
        if self.team.scheduled.get() {
            self.order();
        }
    }

    /// The value of the word at `at`, which was stored to, has changed: threads that look at it again and again see so because
    /// their copies of the line have been taken away. If the line is not here any more, some may have fetched it too soon: they
    /// are made to look again.
    pub fn publish(&mut self, at: impl Location) {
        self.tell_news();
        let processor = self.processor();
        if !at.known(processor).is_some_and(|at| processor.owns(at)) {
            self.suspend(Wait::Published);
        }
    }

    /// After a load of `at` told nothing new: loads it again and again with `instructions` in between, until it may tell
    /// something else, which the caller has to look at. The looks between that hit cost simulated time and none of the host's.
    pub fn spin(&mut self, at: impl Location, instructions: u32) {
        let processor = self.processor();
        let named = at.raw();
        let Some(at) = at.known(processor) else { return };
        if let Err(wait) = processor.spin(named, at, instructions) {
            self.suspend(wait);
        }
    }

    /// The program's own loop is about to look at `at`, in the very state in which it did one round before, when this was last called,
    /// if it is the `same`. If the processor is so, too, as many as `limit` rounds pass at once that are all alike, or as many as there are before the copy goes. Counts,
    /// times and what is charged with them are those of the looks themselves. Words that are stored to by plain stores are seen to
    /// change when the copy goes.
    pub fn look_on(&mut self, at: impl Location, same: bool, limit: u64) {
        let processor = self.processor();
        let named = at.raw();
        let Some(at) = at.known(processor) else { return };
        if let Err(wait) = processor.look_on(named, at, same, limit) {
            self.suspend(wait);
        }
    }

    /// Whether looks of its program's own loops can be spared: nobody is to be told of each.
    pub fn may_rest(&mut self) -> bool {
        self.processor().may_rest()
    }

    /// The program looks again at the word that it looked at before, in a loop of its own.
    #[inline]
    pub fn note_again(&mut self) {
        self.processor().note_again();
    }

    /// The memory has changed the word at `at` for the program: in what is told of lines, that is a store to it.
    pub fn note_change(&mut self, at: impl Location) {
        self.processor().note_change(at.raw());
    }

    /// A word has changed that other threads may be looking at.
    pub fn tell_news(&mut self) {
        self.team.news.set(self.team.news.get() + 1);
    }

    /// Asks all threads of the program to stop when they next look.
    pub fn request_stop(&mut self) {
        self.order();
        self.team.stop.set(true);
    }

    /// Whether any thread of the program has asked all to stop, as of the time of this thread's latest instruction.
    pub fn stop_requested(&mut self) -> bool {
        self.order();
        self.team.stop.get()
    }

    /// Comes here at its own time and not ahead of it: what the program does next outside of the simulated machine is seen
    /// by others, or sees what others did, as of the time of this thread's latest instruction.
    pub fn order(&mut self) {
        self.until_done(Processor::in_order);
    }
}
