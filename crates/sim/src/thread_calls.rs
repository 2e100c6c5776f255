//! Operating system calls of a thread: threads, parking, memory, the end of the process.

use units::{CpuId, NodeId, Time, VirtualAddr};

use crate::SimError;
use crate::processor::Wait;
use crate::thread::{Call, Program, Thread, ThreadId};

/// These calls work only in a process with dynamic threads ([`crate::Simulator::run_process`]); elsewhere a call is
/// never answered, and the thread does not continue.
impl Thread<'_> {
    /// Calls `hook` with `argument` whenever the thread continues after others have run, to restore host state that
    /// exists only once, for the running thread.
    pub fn on_resume(&mut self, hook: fn(usize), argument: usize) {
        self.on_resume = Some((hook, argument));
    }

    /// Passes a call to the operating system once everything before is done, at the thread's own time.
    fn call(&mut self, call: Call) {
        self.drain();
        self.order();
        self.team.calls.borrow_mut().push(call);
        self.suspend(Wait::Call);
    }

    /// Creates a thread of the process, which begins now: on the first of `wanted` that is free and belongs to the
    /// process, otherwise on the first free processor.
    ///
    /// # Errors
    /// No processor is free; the host has no memory for a stack.
    pub fn spawn(&mut self, program: Program, wanted: Vec<CpuId>) -> Result<ThreadId, SimError> {
        self.call(Call::Spawn(program, wanted));
        self.team.spawned.take().unwrap_or(Err(SimError::NoProcessorFree { processors: 0 }))
    }

    /// Moves to the first of `wanted` that is free and belongs to the process, if any is.
    pub fn migrate(&mut self, wanted: Vec<CpuId>) {
        self.call(Call::Migrate(wanted));
    }

    /// Waits for [`Thread::unpark`], or until the time `until`, after everything issued so far is done. The time is
    /// charged to the thread's present cause, or else as idle. A wake-up before the thread parks has no effect, so the
    /// caller first checks, at its own time ([`Thread::order`]), whether to park.
    pub fn park(&mut self, until: Option<Time>) {
        self.drain();
        self.order();
        self.suspend(Wait::Parked(until.unwrap_or(Time::MAX)));
    }

    /// Wakes a parked thread.
    pub fn unpark(&mut self, thread: ThreadId) {
        self.call(Call::Wake(thread));
    }

    /// Maps consecutive virtual pages after all others, each with the node that the program requests, if any.
    ///
    /// # Errors
    /// A requested node does not exist, or has no room left.
    pub fn map(&mut self, planned: Vec<Option<NodeId>>) -> Result<VirtualAddr, SimError> {
        self.call(Call::Map(planned));
        self.team.mapped.take().unwrap_or(Ok(VirtualAddr(0)))
    }

    /// Requests nodes for pages, each given by an address. Under planned placement, a page that has not been touched is
    /// placed there at its first touch. Nodes that do not exist are ignored.
    pub fn plan(&mut self, pages: Vec<(VirtualAddr, NodeId)>) {
        self.call(Call::Plan(pages));
    }

    /// Starts to migrate the page of `at` to `node`, if the machine's nodes move pages, pages may move
    /// ([`crate::Simulator::let_pages_move`]), the page is placed elsewhere, and there is room. [`Thread::home_of`]
    /// returns the new node once the migration is complete.
    pub fn move_page(&mut self, at: VirtualAddr, node: NodeId) {
        self.call(Call::Move(at, node));
    }

    /// Lets every page that has been placed move to the node that touches it next, if the machine's nodes move pages and pages may
    /// move ([`crate::Simulator::let_pages_move`]): the directive by which programs have their data placed that one thread has
    /// initialised (Lai and Falsafi 2000, Section 2).
    pub fn touch_again(&mut self) {
        self.call(Call::TouchAgain);
    }

    /// The present node of a virtual address, if its page has been placed.
    pub fn home_of(&mut self, at: VirtualAddr) -> Option<NodeId> {
        self.call(Call::Whereabouts(at));
        self.team.found.take().map(crate::map::node_of)
    }

    /// The thread's own clock, without waiting for operations in progress: for messages.
    pub fn clock(&self) -> Time {
        self.processor.as_ref().map_or(Time::ZERO, |processor| processor.time())
    }

    /// Ends the whole process, in whatever state its other threads are. Does not return: the thread is never resumed.
    pub fn end_process(&mut self) {
        self.call(Call::End);
    }
}
