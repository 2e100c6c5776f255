//! What a thread of a process asks of the operating system: threads, sleep, memory, the end.

use units::{CpuId, NodeId, Time, VirtualAddr};

use crate::SimError;
use crate::processor::Wait;
use crate::thread::{Call, Program, Thread, ThreadId};

/// These work only where the threads of a process come and go ([`crate::Simulator::run_process`]); elsewhere a thread is not
/// answered, and never wakes.
impl Thread<'_> {
    /// Has `hook` called with `argument` whenever the thread goes on after others have run: what the host has for one thread at a
    /// time is to be made this thread's again.
    pub fn on_resume(&mut self, hook: fn(usize), argument: usize) {
        self.on_resume = Some((hook, argument));
    }

    /// Hands calls to the operating system when all before is done, and at the thread's own time.
    fn call(&mut self, call: Call) {
        self.drain();
        self.order();
        self.team.calls.borrow_mut().push(call);
        self.suspend(Wait::Call);
    }

    /// A new thread of the process that begins now: on the first of `wanted` that is free and the process's, else on the first free
    /// processor.
    ///
    /// # Errors
    /// No processor is free; the host has no memory for a stack.
    pub fn spawn(&mut self, program: Program, wanted: Vec<CpuId>) -> Result<ThreadId, SimError> {
        self.call(Call::Spawn(program, wanted));
        self.team.spawned.take().unwrap_or(Err(SimError::NoProcessorFree { processors: 0 }))
    }

    /// Goes on the first of `wanted` that is free and the process's; stays where it is if none is.
    pub fn migrate(&mut self, wanted: Vec<CpuId>) {
        self.call(Call::Migrate(wanted));
    }

    /// Has nothing to do until [`Thread::unpark`], or until the time `until`. All before is done by then; the time is charged to what
    /// the thread is on behalf of, else to idleness. A thread that is woken before it parks does not notice: whoever parks looks
    /// first, at the thread's own time ([`Thread::order`]), whether it has to.
    pub fn park(&mut self, until: Option<Time>) {
        self.drain();
        self.order();
        self.suspend(Wait::Parked(until.unwrap_or(Time::MAX)));
    }

    /// Lets a thread go on that is parked.
    pub fn unpark(&mut self, thread: ThreadId) {
        self.call(Call::Wake(thread));
    }

    /// Consecutive virtual pages behind all there are, each with the node that the program asks for, if it does.
    ///
    /// # Errors
    /// A node that is asked for does not exist, or has no room left.
    pub fn map(&mut self, planned: Vec<Option<NodeId>>) -> Result<VirtualAddr, SimError> {
        self.call(Call::Map(planned));
        self.team.mapped.take().unwrap_or(Ok(VirtualAddr(0)))
    }

    /// The program asks for pages, each told by an address in it, on nodes: if nobody has touched one and the machine heeds what
    /// programs ask, it is placed there when somebody does. Nodes that do not exist are not asked for.
    pub fn plan(&mut self, pages: Vec<(VirtualAddr, NodeId)>) {
        self.call(Call::Plan(pages));
    }

    /// The page of `at` begins to move to `node`, if the machine has engines that copy pages, pages may move
    /// ([`crate::Simulator::let_pages_move`]), it is placed elsewhere, and there is room. It is there when [`Thread::home_of`] says so.
    pub fn move_page(&mut self, at: VirtualAddr, node: NodeId) {
        self.call(Call::Move(at, node));
    }

    /// The node that a virtual address is on now, if its page has been placed.
    pub fn home_of(&mut self, at: VirtualAddr) -> Option<NodeId> {
        self.call(Call::Whereabouts(at));
        self.team.found.take().map(crate::memory::node_of)
    }

    /// The thread's own time, whatever of what it began is not done: for messages.
    pub fn clock(&self) -> Time {
        self.processor.as_ref().map_or(Time::ZERO, |processor| processor.time())
    }

    /// Ends the whole process, wherever its other threads are. Does not return: the thread is never resumed.
    pub fn end_process(&mut self) {
        self.call(Call::End);
    }
}
