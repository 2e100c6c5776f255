//! A simulated thread: the operations of a program on a simulated processor.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine::Yielder;
use protocol::Access;
use units::{CpuId, NodeId, PhysicalAddr, Time, VirtualAddr};

use crate::SimError;
use crate::account::{Cause, Measuring};
use crate::processor::{Address, Location, Processor, Wait};

/// A program for one simulated processor: straight-line code that calls the methods of [`Thread`].
pub type Program = Box<dyn FnOnce(&mut Thread<'_>)>;

/// The state that the threads of a program share, apart from the machine.
#[derive(Default)]
pub(crate) struct Team {
    /// Whether one of them has requested a stop.
    stop: Cell<bool>,
    /// A count of changes that may end spin loops.
    changes: Cell<u64>,
    /// Whether threads may change processors, which they do at their own time.
    scheduled: Cell<bool>,
    /// Calls of the operating system, and their answers.
    pub(crate) calls: RefCell<Vec<Call>>,
    pub(crate) spawned: Cell<Option<Result<ThreadId, SimError>>>,
    pub(crate) mapped: Cell<Option<Result<VirtualAddr, SimError>>>,
    pub(crate) found: Cell<Option<PhysicalAddr>>,
}

/// The number of a thread of a process, in the order in which they began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(pub usize);

/// A call of the operating system.
pub(crate) enum Call {
    /// Creates a thread, on one of these processors if any of them is free.
    Spawn(Program, Vec<CpuId>),
    /// Moves the thread to the first of these processors that is free.
    Migrate(Vec<CpuId>),
    /// Wakes a parked thread.
    Wake(ThreadId),
    /// Maps virtual pages, each with the node that it is planned on.
    Map(Vec<Option<NodeId>>),
    /// Plans pages, each given by an address, on nodes.
    Plan(Vec<(VirtualAddr, NodeId)>),
    /// Migrates the page of an address to a node.
    Move(VirtualAddr, NodeId),
    /// Lets every page move to the node that touches it next.
    TouchAgain,
    /// Looks up the physical address of an address.
    Whereabouts(VirtualAddr),
    /// Ends the whole process.
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

    /// Allows threads to change processors from here on.
    pub(crate) fn share(&self) {
        self.scheduled.set(true);
    }

    pub(crate) fn new(scheduled: bool) -> Self {
        Self { scheduled: Cell::new(scheduled), ..Self::default() }
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.get()
    }
}

/// The handle through which a [`Program`] uses its simulated processor.
///
/// Methods return when the simulated instruction has issued, not when it is done: independent accesses overlap as far
/// as the processor allows. Simulated time passes for the program whenever it must wait. Memory is addressed by
/// physical or by virtual addresses; the operating system places the pages of the latter.
pub struct Thread<'a> {
    yielder: &'a Yielder<Box<Processor>, Box<Processor>>,
    /// `None` only while the thread is suspended.
    pub(crate) processor: Option<Box<Processor>>,
    pub(crate) team: Rc<Team>,
    /// A callback for when the thread continues after a suspension.
    pub(crate) on_resume: Option<(fn(usize), usize)>,
}

impl<'a> Thread<'a> {
    pub(crate) fn new(
        yielder: &'a Yielder<Box<Processor>, Box<Processor>>,
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

    /// Repeats `attempt`, suspending for each event that it has to wait for.
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
            self.processor = Some(self.yielder.suspend(processor));
            if let Some((hook, argument)) = self.on_resume {
                hook(argument);
            }
        }
    }

    /// One access. Each public method is compiled for its one kind of access; the frequent ones are inlined into the program.
    #[inline(always)]
    fn access(&mut self, at: impl Location, access: Access, address: Address) {
        while let Err(wait) = self.processor().access(at, access, address) {
            self.suspend(wait);
        }
    }

    /// Sets the site of the operations that follow, such as an address of the program's code; lost time is attributed
    /// to it ([`crate::Simulator::losses`]).
    #[inline]
    pub fn at_site(&mut self, site: u64) {
        self.processor().at_site(site);
    }

    /// The processor it runs on.
    pub fn cpu(&mut self) -> CpuId {
        self.processor().thread()
    }

    /// A load whose address is known.
    #[inline]
    pub fn load(&mut self, at: impl Location) {
        self.access(at, Access::Load, Address::Known);
    }

    /// A load whose address is the value of the latest load, or was computed from it: a step of a pointer chase.
    #[inline(never)]
    pub fn load_dependent(&mut self, at: impl Location) {
        self.access(at, Access::Load, Address::FromLatestLoad);
    }

    /// A load whose address is computed from the value of the load `back` loads ago, of those made by this function; the latest is one.
    /// With zero, or more than are kept, its address is known. Later instructions do not wait for it.
    #[inline]
    pub fn load_after(&mut self, at: impl Location, back: u8) {
        while let Err(wait) = self.processor().load_after(at, back) {
            self.suspend(wait);
        }
    }

    /// A store whose address is known.
    #[inline]
    pub fn store(&mut self, at: impl Location) {
        self.access(at, Access::Store, Address::Known);
    }

    /// A load of private data, whose address is known. What it waits for beyond the primary cache is charged to
    /// [`Cause::PrivateRead`].
    #[inline(never)]
    pub fn load_private(&mut self, at: impl Location) {
        self.access_privately(at, Access::Load);
    }

    /// A store to private data, whose address is known. What it waits for beyond the primary cache is charged to
    /// [`Cause::PrivateWrite`].
    #[inline(never)]
    pub fn store_private(&mut self, at: impl Location) {
        self.access_privately(at, Access::Store);
    }

    #[inline(always)]
    fn access_privately(&mut self, at: impl Location, access: Access) {
        while let Err(wait) = self.processor().access_private(at, access) {
            self.suspend(wait);
        }
    }

    /// A store whose address depends on the value of the latest load.
    #[inline(never)]
    pub fn store_dependent(&mut self, at: impl Location) {
        self.access(at, Access::Store, Address::FromLatestLoad);
    }

    /// A read prefetch: requests a shared copy without waiting.
    #[inline(never)]
    pub fn prefetch_shared(&mut self, at: impl Location) {
        self.access(at, Access::ReadPrefetch, Address::Known);
    }

    /// A write prefetch: requests an exclusive copy without waiting.
    #[inline(never)]
    pub fn prefetch_exclusive(&mut self, at: impl Location) {
        self.access(at, Access::WritePrefetch, Address::Known);
    }

    /// An uncached load: answered by memory or by the owner, and not cached.
    #[inline(never)]
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

    /// Nothing issues for as long as `slots` instructions take to issue: a compiler has found that the operands
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

    /// Starts (`true`) or ends (`false`) an interval of the measured part of the program, once everything issued so far
    /// is done. Intervals add up. A program without such a declaration is measured as a whole.
    pub fn measure(&mut self, on: bool) {
        self.drain();
        // The statistics of controllers are taken here as well.
        self.order();
        self.processor().measure(if on { Measuring::Yes } else { Measuring::No });
    }

    /// Ends the measured part of the program here, unless [`Thread::measure`] starts another interval: then the time
    /// between counts as well.
    pub fn measure_up_to_here(&mut self) {
        self.drain();
        self.order();
        self.processor().measure(Measuring::IfMoreFollows);
    }

    /// Charges all time from here on to `cause`, a barrier or a lock that consists of loads and stores; `None` charges
    /// the program itself again. Returns the previous cause.
    pub(crate) fn charge(&mut self, cause: Option<Cause>) -> Option<Cause> {
        self.processor().charged_to(cause)
    }

    /// Turns the hardware prefetcher of the processor off or on, if it has one, once everything issued so far is done.
    pub fn use_prefetcher(&mut self, on: bool) {
        self.drain();
        self.processor().use_prefetcher(on);
    }

    /// Empties the caches and the TLB: clean lines are dropped silently, modified ones written back.
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

    /// Empties the cache that the processor shares with others, the third level of a server: clean lines are dropped silently, modified
    /// ones written back. Where it includes the caches of its processors, these lose the lines, too. Machines without such a cache have
    /// nothing to do.
    pub fn drop_shared_cache(&mut self) {
        self.drain();
        self.order();
        self.suspend(Wait::SharedCache);
    }

    /// Waits until every thread of the program has reached the barrier.
    pub fn barrier(&mut self) {
        self.leave();
        self.suspend(Wait::Barrier);
    }

    /// Drains, after which the operating system may give the processor to others.
    pub(crate) fn leave(&mut self) {
        self.drain();
        if self.team.scheduled.get() {
            self.order();
        }
    }

    /// Publishes the change of the word at `at`, which was stored to: threads that spin on it load it again because
    /// their copies of the line were invalidated. If this processor no longer owns the line, a copy may have been
    /// fetched before the change: all spin loops are then made to load again.
    pub fn publish(&mut self, at: impl Location) {
        self.announce_change();
        let processor = self.processor();
        let sees_departure = at.known(processor).is_some_and(|at| processor.owns(at));
        // Another hardware thread of the core keeps its copy.
        if !sees_departure || processor.has_spinning_sibling() {
            self.suspend(Wait::Published);
        }
    }

    /// Spins on the word at `at`, after a load found no change: loads it again and again with `instructions` in
    /// between, until it may have changed, which the caller has to check. Spinning loads that hit take simulated time
    /// but no host time.
    pub fn spin(&mut self, at: impl Location, instructions: u32) {
        let processor = self.processor();
        let named = at.raw();
        let Some(at) = at.known(processor) else { return };
        if let Err(wait) = processor.spin(named, at, instructions) {
            self.suspend(wait);
        }
    }

    /// The program's own loop is about to load `at` again; `same` says that the program's state is the same as in the
    /// previous round, at the previous call. If the processor's state is the same as well, up to `limit` identical
    /// rounds are skipped, or those before the copy departs. Counts, times and charges are those of executing them. A
    /// plain store to the word shows when the copy departs.
    pub fn look_on(&mut self, at: impl Location, same: bool, limit: u64) {
        let processor = self.processor();
        let named = at.raw();
        let Some(at) = at.known(processor) else { return };
        if let Err(wait) = processor.look_on(named, at, same, limit) {
            self.suspend(wait);
        }
    }

    /// Whether rounds of its program's own spin loops can be skipped: no observer needs each.
    pub fn may_skip_rounds(&mut self) -> bool {
        self.processor().may_skip_rounds()
    }

    /// Counts a repeated load of the same word, in the program's own loop.
    #[inline]
    pub fn note_again(&mut self) {
        self.processor().note_again();
    }

    /// Records a change of the word at `at` by the memory, which counts as a store to its line.
    pub fn note_change(&mut self, at: impl Location) {
        self.processor().report_memory_change(at.raw());
    }

    /// Counts a change of a word that other threads may spin on.
    pub fn announce_change(&mut self) {
        self.team.changes.set(self.team.changes.get() + 1);
    }

    /// Requests a stop of all threads of the program, at their next check.
    pub fn request_stop(&mut self) {
        self.order();
        self.team.stop.set(true);
    }

    /// Whether any thread of the program has requested a stop, as of the time of this thread's latest instruction.
    pub fn stop_requested(&mut self) -> bool {
        self.order();
        self.team.stop.get()
    }

    /// Waits until all events before this thread's own time have been handled. The program's next effects outside of
    /// the simulated machine are then ordered by simulated time among those of other threads.
    pub fn order(&mut self) {
        self.until_done(Processor::in_order);
    }
}
