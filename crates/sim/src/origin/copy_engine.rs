//! The block transfer engine of a Hub: it moves a page to another node and poisons its old frame, copies a page, or
//! poisons a copy, line by line (Prestor 2001, 3.2.1, Protocol Optimizations; 3.2.2, I/O Interface).
//!
//! The engine issues requests in the name of the first processor of its node. A poison read takes the newest contents
//! from their owner and invalidates all copies; an uncached read leaves copies in place. A writeback puts the contents
//! into the new frame: no processor maps that frame yet, so the engine sets its lines to exclusive without a request.

use protocol::origin::{
    CacheLine, CacheOutcome, DirectoryEntry, DirectoryState, Mesi, Outbox, Pending, RequestOutcome,
};
use protocol::{Access, Version};
use units::{CpuId, LineAddr, NodeId, Time};

use super::{HubEvent, Hubs};
use crate::map::node_of;
use crate::os::{PageJob, PageJobs, Transfer};
use crate::part::CachedCopy;
use crate::processor::Post;
use crate::system::{Controller, System};

/// The line number that stands for the start of the next page.
const NEXT_PAGE: u32 = u32::MAX;

/// The engine of a Hub, which transfers one page after the other.
#[derive(Clone, Debug, Default)]
pub struct CopyEngine {
    pages: PageJobs,
    /// Requests and evictions of the processor in whose name it acts, for lines that the engine has outstanding.
    held: Vec<Post>,
}

/// The access for the lines of a source frame: a poison read if the frame is given up, an uncached read otherwise.
const fn access(transfer: &Transfer) -> Access {
    if transfer.recalls() { Access::PoisonRead } else { Access::UncachedRead }
}

impl CopyEngine {
    /// Whether a page is under way or waits.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.pages.is_busy()
    }

    /// Whether the engine has a request or writeback outstanding for `line`.
    #[inline]
    pub fn awaits(&self, line: LineAddr) -> bool {
        self.pages.awaits(line)
    }

    /// Whether `post` is for a line that the engine has outstanding; if so, it is kept for later.
    #[inline]
    pub fn holds(&mut self, post: &Post) -> bool {
        let holds = self.awaits(post.line);
        if holds {
            self.held.push(*post);
        }
        holds
    }
}

impl System<Hubs> {
    /// Queues the transfer of a page: at the engine of the source node if the source frame is poisoned, at that of the
    /// destination node for a copy.
    pub(super) fn begin_copying(&mut self, transfer: Transfer, at: Time) {
        let node = match transfer {
            Transfer::Move(_, from, _) | Transfer::Purge(_, from) | Transfer::Gather(_, from) => node_of(from),
            Transfer::Copy(_, _, to) => node_of(to),
        };
        // The processor in whose name the engine acts may lose copies at any time, but no sooner than by an
        // invalidation.
        let at = at.max(self.kernel.now + self.controllers.timing.soonest_invalidation());
        self.controllers.hubs[node.index()].engine.pages.enqueue(transfer);
        self.schedule(node, at, HubEvent::Copy(node, NEXT_PAGE));
    }

    fn next_page(&mut self, node: NodeId) {
        let (line, page, now) = (self.line(), self.paging.page(), self.kernel.now);
        if self.controllers.hubs[node.index()].engine.pages.start(line, page, now) {
            for _ in 0..self.paging.spec().copy_lines {
                self.next_line(node);
            }
        }
    }

    fn next_line(&mut self, node: NodeId) {
        let Some(job) = self.job(node) else { return };
        if let Some(number) = job.next() {
            self.read_line(node, number);
        }
    }

    /// The page that the engine of a node transfers.
    fn job(&mut self, node: NodeId) -> Option<&mut PageJob> {
        self.controllers.hubs[node.index()].engine.pages.job.as_mut()
    }

    /// The first request for line `number` of the page is due, or its retry after a NACK, or the next page.
    pub(super) fn on_copy(&mut self, node: NodeId, number: u32) {
        if number == NEXT_PAGE {
            return self.next_page(node);
        }
        let Some(job) = self.job(node) else { return };
        let line = job.source_line(number);
        if !job.awaits(line) {
            return self.read_line(node, number);
        }
        let mut outbox = Outbox::new();
        let agent = self.controllers.agent(node);
        let result = self.with_line(agent, line, |cache, context| protocol::origin::retry(cache, context, &mut outbox));
        match result {
            Ok(()) => {
                self.count_copying(node, &outbox);
                self.dispatch_all(node, self.kernel.now, &outbox);
            }
            Err(error) => self.fail(error),
        }
    }

    /// Reads a line of the source frame as soon as the processor in whose name the engine acts has no miss outstanding
    /// on it.
    fn read_line(&mut self, node: NodeId, number: u32) {
        let Some(job) = self.job(node) else { return };
        let (line, access) = (job.source_line(number), access(&job.transfer));
        let (agent, now) = (self.controllers.agent(node), self.kernel.now);
        let busy = self.controllers.outstanding[agent.index()].iter().any(|(other, _)| *other == line);
        if busy || self.agent_processor(agent).is_some_and(|processor| processor.miss_on(line).is_some()) {
            return self.copy_later(node, number);
        }
        let given_up = self.agent_processor(agent).map(|processor| processor.give_up(line, now));
        let (CachedCopy { state, version }, ready) = given_up.unwrap_or((CachedCopy::default(), now));
        // An uncached read is for pages that are never modified: the local copy is dropped.
        let state = if access == Access::PoisonRead { state.into() } else { Mesi::Invalid };
        let mut cache = CacheLine { state, version, pending: Pending::None };
        let mut outbox = Outbox::new();
        let context = self.controllers.context(agent, line);
        let outcome = protocol::origin::processor_request(&mut cache, &context, access, &mut outbox);
        debug_assert!(matches!(outcome, RequestOutcome::Requested | RequestOutcome::Blocked));
        self.controllers.outstanding[agent.index()].push((line, cache));
        self.begin(node, line);
        self.count_copying(node, &outbox);
        let out = ready + self.controllers.timing.interface_out;
        self.dispatch_all(node, out, &outbox);
    }

    /// Counts the messages that the engine of `node` sends to the crossbar.
    fn count_copying(&mut self, node: NodeId, outbox: &Outbox) {
        for message in outbox.as_slice() {
            self.controllers.hubs[node.index()].io.send(message.kind.carries_data());
        }
    }

    fn begin(&mut self, node: NodeId, line: LineAddr) {
        if let Some(job) = self.job(node) {
            job.begin(line);
        }
    }

    fn copy_later(&mut self, node: NodeId, number: u32) {
        let at = self.kernel.now + self.controllers.timing.retry;
        self.schedule(node, at, HubEvent::Copy(node, number));
    }

    /// The engine of `node` receives an answer of the protocol, with its contents.
    pub(super) fn copy_answered(&mut self, node: NodeId, line: LineAddr, outcome: CacheOutcome, version: Version) {
        let Some(job) = self.job(node) else { return };
        let (number, read) = (job.number(line), job.is_source(line));
        match outcome {
            CacheOutcome::Completed(_) => {
                job.settle(line);
                match job.transfer.target() {
                    Some(_) => self.write_line(node, number, version),
                    None => self.end_line(node),
                }
                self.let_go(node, line);
            }
            CacheOutcome::Retry => self.copy_later(node, number),
            // The processor's own writeback has completed: the line can be read from memory now.
            CacheOutcome::WritebackDone if read => {
                job.settle(line);
                self.read_line(node, number);
                self.wake_writeback(self.controllers.agent(node), line);
            }
            CacheOutcome::WritebackAnsweredIntervention => {
                job.settle(line);
                self.copy_later(node, number);
            }
            CacheOutcome::WritebackDone => {
                job.settle(line);
                self.end_line(node);
            }
            _ => {}
        }
    }

    /// A line of the page is complete.
    fn end_line(&mut self, node: NodeId) {
        let Some(job) = self.job(node) else { return };
        if job.end_line() { self.end_page(node) } else { self.next_line(node) }
    }

    /// Writes a line of the destination frame.
    fn write_line(&mut self, node: NodeId, number: u32, version: Version) {
        let Some(job) = self.job(node) else { return };
        let (transfer, from) = (job.transfer, job.source_line(number));
        let Some(line) = self.depart(&transfer, from) else { return };
        let agent = self.controllers.agent(node);
        self.controllers.directory.line(line).0 =
            DirectoryEntry { state: DirectoryState::Exclusive, owner: agent, ..DirectoryEntry::UNOWNED };
        let mut cache = CacheLine { state: Mesi::Modified, version, pending: Pending::None };
        let mut outbox = Outbox::new();
        protocol::origin::evict(&mut cache, &self.controllers.context(agent, line), &mut outbox);
        self.controllers.outstanding[agent.index()].push((line, cache));
        self.begin(node, line);
        self.count_copying(node, &outbox);
        let out = self.kernel.now + self.controllers.timing.interface_out;
        self.dispatch_all(node, out, &outbox);
    }

    /// Posts the requests and evictions of the processor that were kept for this line.
    fn let_go(&mut self, node: NodeId, line: LineAddr) {
        let agent = self.controllers.agent(node);
        let held = std::mem::take(&mut self.controllers.hubs[node.index()].engine.held);
        let (due, rest) = held.into_iter().partition::<Vec<_>, _>(|post| post.line == line);
        self.controllers.hubs[node.index()].engine.held = rest;
        for post in due {
            Hubs::posted(self, agent, &Post { at: post.at.max(self.kernel.now), ..post });
        }
    }

    /// The transfer is complete.
    fn end_page(&mut self, node: NodeId) {
        let Some(job) = self.controllers.hubs[node.index()].engine.pages.job.take() else { return };
        self.end_transfer(job.transfer);
        self.next_page(node);
    }
}

impl Hubs {
    /// The processor in whose name the engine of `node` acts.
    pub(super) fn agent(&self, node: NodeId) -> CpuId {
        CpuId(node.0 * self.geometry.processors_per_node)
    }
}
