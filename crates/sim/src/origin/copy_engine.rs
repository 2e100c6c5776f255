//! The block transfer engine of a Hub: it moves a page to another node and poisons its old frame, copies a page, or
//! poisons a copy, line by line (Prestor 2001, 3.2.1, Protocol Optimizations; 3.2.2, I/O Interface).
//!
//! The engine issues requests in the name of the first processor of its node. A poison read takes the newest contents
//! from their owner and invalidates all copies; an uncached read leaves copies in place. A writeback puts the contents
//! into the new frame: no processor maps that frame yet, so the engine sets its lines to exclusive without a request.

use std::collections::VecDeque;

use protocol::origin::{
    CacheLine, CacheOutcome, DirectoryEntry, DirectoryState, Mesi, Outbox, Pending, RequestOutcome,
};
use protocol::{Access, Version};
use units::{Bytes, CpuId, LineAddr, NodeId};

use super::{HubEvent, Hubs};
use crate::map::node_of;
use crate::observe::ContentsEvent;
use crate::os::Transfer;
use crate::part::CachedCopy;
use crate::processor::Post;
use crate::system::{Controller, System};

/// The line number that stands for the start of the next page.
const NEXT_PAGE: u32 = u32::MAX;

/// A page in transfer.
#[derive(Clone, Debug)]
struct Job {
    transfer: Transfer,
    /// The access for the lines of the source frame: a poison read or an uncached read.
    access: Access,
    /// The first line of the source frame, and of the destination frame if there is one.
    from: LineAddr,
    to: Option<LineAddr>,
    /// Number of lines in a page, of lines begun and of lines done.
    lines: u32,
    begun: u32,
    done: u32,
    /// Lines of either frame with an outstanding request or writeback.
    under_way: Vec<LineAddr>,
}

impl Job {
    fn new(transfer: Transfer, line: Bytes, lines: u32) -> Self {
        let (access, from, to) = match transfer {
            Transfer::Move(_, from, to) => (Access::PoisonRead, from, Some(to)),
            Transfer::Copy(_, from, to) => (Access::UncachedRead, from, Some(to)),
            Transfer::Purge(_, from) => (Access::PoisonRead, from, None),
        };
        let (from, to) = (from.line(line), to.map(|to| to.line(line)));
        Self { transfer, access, from, to, lines, begun: 0, done: 0, under_way: Vec::new() }
    }

    /// The number of a line of either frame within its page.
    fn number(&self, line: LineAddr) -> u32 {
        let first = if self.is_read(line) { Some(self.from) } else { self.to };
        (line.0 - first.map_or(0, |first| first.0)) as u32
    }

    fn is_read(&self, line: LineAddr) -> bool {
        (self.from.0..self.from.0 + u64::from(self.lines)).contains(&line.0)
    }

    /// The request or writeback for `line` is complete.
    fn settle(&mut self, line: LineAddr) {
        self.under_way.retain(|&other| other != line);
    }
}

/// The engine of a Hub, which transfers one page after the other.
#[derive(Clone, Debug, Default)]
pub struct CopyEngine {
    job: Option<Job>,
    queue: VecDeque<Transfer>,
    /// Requests and evictions of the processor in whose name it acts, for lines that the engine has outstanding.
    held: Vec<Post>,
}

impl CopyEngine {
    /// Whether a page is under way or waits.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.job.is_some() || !self.queue.is_empty()
    }

    /// Whether the engine has a request or writeback outstanding for `line`.
    #[inline]
    pub fn awaits(&self, line: LineAddr) -> bool {
        self.job.as_ref().is_some_and(|job| job.under_way.contains(&line))
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
    pub(super) fn begin_transfer(&mut self, transfer: Transfer) {
        let node = match transfer {
            Transfer::Move(_, from, _) | Transfer::Purge(_, from) => node_of(from),
            Transfer::Copy(_, _, to) => node_of(to),
        };
        // The processor in whose name the engine acts may lose copies at any time, but no sooner than by an
        // invalidation.
        let at = self.kernel.now + self.controllers.timing.soonest_invalidation();
        self.controllers.hubs[node.index()].engine.queue.push_back(transfer);
        self.schedule(node, at, HubEvent::Copy(node, NEXT_PAGE));
    }

    fn next_page(&mut self, node: NodeId) {
        let line = self.line();
        let lines = (self.paging.page().0 / line.0) as u32;
        let engine = &mut self.controllers.hubs[node.index()].engine;
        if engine.job.is_some() {
            return;
        }
        let Some(transfer) = engine.queue.pop_front() else { return };
        engine.job = Some(Job::new(transfer, line, lines));
        for _ in 0..self.paging.spec().copy_lines {
            self.next_line(node);
        }
    }

    fn next_line(&mut self, node: NodeId) {
        let Some(job) = &mut self.controllers.hubs[node.index()].engine.job else { return };
        if job.begun < job.lines {
            job.begun += 1;
            let number = job.begun - 1;
            self.read_line(node, number);
        }
    }

    /// The first request for line `number` of the page is due, or its retry after a NACK, or the next page.
    pub(super) fn on_copy(&mut self, node: NodeId, number: u32) {
        if number == NEXT_PAGE {
            return self.next_page(node);
        }
        let Some(job) = &self.controllers.hubs[node.index()].engine.job else { return };
        let line = LineAddr(job.from.0 + u64::from(number));
        if !job.under_way.contains(&line) {
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
        let Some(job) = &self.controllers.hubs[node.index()].engine.job else { return };
        let (line, access) = (LineAddr(job.from.0 + u64::from(number)), job.access);
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
        if let Some(job) = &mut self.controllers.hubs[node.index()].engine.job {
            job.under_way.push(line);
        }
    }

    fn copy_later(&mut self, node: NodeId, number: u32) {
        let at = self.kernel.now + self.controllers.timing.retry;
        self.schedule(node, at, HubEvent::Copy(node, number));
    }

    /// The engine of `node` receives an answer of the protocol, with its contents.
    pub(super) fn copy_answered(&mut self, node: NodeId, line: LineAddr, outcome: CacheOutcome, version: Version) {
        let Some(job) = &mut self.controllers.hubs[node.index()].engine.job else { return };
        let (number, read) = (job.number(line), job.is_read(line));
        match outcome {
            CacheOutcome::Completed(_) => {
                job.settle(line);
                match job.to {
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
        let Some(job) = &mut self.controllers.hubs[node.index()].engine.job else { return };
        job.done += 1;
        let whole = job.done == job.lines;
        if whole { self.end_page(node) } else { self.next_line(node) }
    }

    /// Writes a line of the destination frame.
    fn write_line(&mut self, node: NodeId, number: u32, version: Version) {
        let Some(job) = &self.controllers.hubs[node.index()].engine.job else { return };
        let (offset, Some(to)) = (u64::from(number), job.to) else { return };
        let (from, line) = (LineAddr(job.from.0 + offset), LineAddr(to.0 + offset));
        self.observation.probe.contents(match job.access {
            Access::PoisonRead => ContentsEvent::Move { from, to: line },
            _ => ContentsEvent::Copy { from, to: line },
        });
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

    /// The transfer is complete: processors with bus errors on the old frame, or waiting for the new one, go on.
    fn end_page(&mut self, node: NodeId) {
        let Some(Job { transfer, .. }) = self.controllers.hubs[node.index()].engine.job.take() else { return };
        let (page, waiting) = match transfer {
            Transfer::Move(page, ..) => {
                self.paging.end_move(page);
                (page, Vec::new())
            }
            Transfer::Copy(page, _, to) => (page, self.paging.end_copy(page, to)),
            Transfer::Purge(page, from) => (page, self.paging.end_purge(page, from)),
        };
        self.answer_bus_errors(page);
        self.end_page_wait(waiting);
        self.next_page(node);
    }
}

impl Hubs {
    /// The processor in whose name the engine of `node` acts.
    pub(super) fn agent(&self, node: NodeId) -> CpuId {
        CpuId(node.0 * self.geometry.processors_per_node)
    }
}
