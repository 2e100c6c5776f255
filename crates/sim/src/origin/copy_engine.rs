//! The block transfer engine of a Hub copies a page to another node and poisons it where it was, line by line (Prestor 2001,
//! 3.2.1, Protocol Optimizations; 3.2.2, I/O Interface).
//!
//! It speaks the protocol in the name of the first processor of its node: a poison read takes the newest contents from whoever
//! has them and leaves nobody a copy; a writeback puts them into the new frame, of which nobody knows yet, and whose lines
//! it therefore takes for its own without asking.

use std::collections::VecDeque;

use protocol::{
    Access, CacheLine, CacheOutcome, DirectoryEntry, DirectoryState, Mesi, Outbox, Pending, RequestOutcome, Version,
};
use units::{CpuId, LineAddr, NodeId};

use super::{HubEvent, Hubs};
use crate::os::{Move, PageNumber};
use crate::processor::{CachedCopy, Post};
use crate::system::{Controller, System};

/// A page that the engine copies.
#[derive(Clone, Debug)]
struct Job {
    page: PageNumber,
    /// The first line of the frame that it leaves, and of that which it goes to.
    from: LineAddr,
    to: LineAddr,
    /// How many lines a page has, how many have been begun, and how many are done.
    lines: u32,
    begun: u32,
    done: u32,
    /// Lines, old and new, of which an answer is still to come.
    under_way: Vec<LineAddr>,
}

impl Job {
    /// The number of a line of either frame.
    fn number(&self, line: LineAddr) -> u32 {
        let first = if self.is_old(line) { self.from } else { self.to };
        (line.0 - first.0) as u32
    }

    fn is_old(&self, line: LineAddr) -> bool {
        (self.from.0..self.from.0 + u64::from(self.lines)).contains(&line.0)
    }

    /// The answer about `line` is in.
    fn settle(&mut self, line: LineAddr) {
        self.under_way.retain(|&other| other != line);
    }
}

/// The engine of a Hub: one page after the other.
#[derive(Clone, Debug, Default)]
pub struct CopyEngine {
    job: Option<Job>,
    queue: VecDeque<Move>,
    /// What the processor in whose name it speaks has to say about lines that it has under way.
    held: Vec<Post>,
}

impl CopyEngine {
    /// Whether it awaits an answer about `line`.
    #[inline]
    pub fn awaits(&self, line: LineAddr) -> bool {
        self.job.as_ref().is_some_and(|job| job.under_way.contains(&line))
    }

    /// Whether `post` is about a line that it has under way; it is then kept for later.
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
    /// The engine of `node` is to copy a page, after those that it was given before.
    pub(super) fn copy_page(&mut self, node: NodeId, page: Move) {
        // The processor in whose name it speaks loses copies at any time from now on.
        self.controllers.hubs[node.index()].threats += 1;
        self.controllers.hubs[node.index()].engine.queue.push_back(page);
        self.next_page(node);
    }

    fn next_page(&mut self, node: NodeId) {
        let line = self.line();
        let lines = (self.paging.page().0 / line.0) as u32;
        let engine = &mut self.controllers.hubs[node.index()].engine;
        if engine.job.is_some() {
            return;
        }
        let Some(Move { page, from, to }) = engine.queue.pop_front() else { return };
        let (from, to) = (from.line(line), to.line(line));
        engine.job = Some(Job { page, from, to, lines, begun: 0, done: 0, under_way: Vec::new() });
        for _ in 0..self.paging.spec().copy_lines {
            self.next_line(node);
        }
    }

    fn next_line(&mut self, node: NodeId) {
        let Some(job) = &mut self.controllers.hubs[node.index()].engine.job else { return };
        if job.begun < job.lines {
            job.begun += 1;
            let number = job.begun - 1;
            self.poison_line(node, number);
        }
    }

    /// Line `number` of the page is due: to be read for the first time, or again after it was refused.
    pub(super) fn on_copy(&mut self, node: NodeId, number: u32) {
        let Some(job) = &self.controllers.hubs[node.index()].engine.job else { return };
        let line = LineAddr(job.from.0 + u64::from(number));
        if !job.under_way.contains(&line) {
            return self.poison_line(node, number);
        }
        let mut outbox = Outbox::new();
        let agent = self.controllers.agent(node);
        let result = self.with_line(agent, line, |cache, context| protocol::retry(cache, context, &mut outbox));
        match result {
            Ok(()) => self.dispatch_all(node, self.now, &outbox),
            Err(error) => self.fail(error),
        }
    }

    /// Reads a line and poisons it, once the processor in whose name that happens has nothing outstanding on it.
    fn poison_line(&mut self, node: NodeId, number: u32) {
        let Some(job) = &self.controllers.hubs[node.index()].engine.job else { return };
        let line = LineAddr(job.from.0 + u64::from(number));
        let (agent, now) = (self.controllers.agent(node), self.now);
        let busy = self.controllers.outstanding[agent.index()].iter().any(|(other, _)| *other == line);
        if busy || self.processor(agent).miss_on(line).is_some() {
            return self.copy_later(node, number);
        }
        let (CachedCopy { state, version }, ready) = self.processor_mut(agent).give_up(line, now);
        let mut cache = CacheLine { state, version, pending: Pending::None };
        let mut outbox = Outbox::new();
        let context = self.controllers.context(agent, line);
        let outcome = protocol::processor_request(&mut cache, &context, Access::PoisonRead, &mut outbox);
        debug_assert!(matches!(outcome, RequestOutcome::Requested | RequestOutcome::Blocked));
        self.controllers.outstanding[agent.index()].push((line, cache));
        self.begin(node, line);
        let out = ready + self.controllers.timing.interface_out;
        self.dispatch_all(node, out, &outbox);
    }

    fn begin(&mut self, node: NodeId, line: LineAddr) {
        if let Some(job) = &mut self.controllers.hubs[node.index()].engine.job {
            job.under_way.push(line);
        }
    }

    fn copy_later(&mut self, node: NodeId, number: u32) {
        let at = self.now + self.controllers.timing.retry;
        self.schedule(node, at, HubEvent::Copy(node, number));
    }

    /// The protocol's answer to what the engine of `node` asked or wrote, with the contents that came with it.
    pub(super) fn copy_answered(&mut self, node: NodeId, line: LineAddr, outcome: CacheOutcome, version: Version) {
        let Some(job) = &mut self.controllers.hubs[node.index()].engine.job else { return };
        let (number, old) = (job.number(line), job.is_old(line));
        match outcome {
            CacheOutcome::Completed(_) => {
                job.settle(line);
                self.write_line(node, number, version);
                self.let_go(node, line);
            }
            CacheOutcome::Retry => self.copy_later(node, number),
            // What the processor had modified has gone home: now it can be read there.
            CacheOutcome::WritebackDone if old => {
                job.settle(line);
                self.poison_line(node, number);
                self.wake_writeback(self.controllers.agent(node), line);
            }
            CacheOutcome::WritebackAnsweredIntervention => {
                job.settle(line);
                self.copy_later(node, number);
            }
            CacheOutcome::WritebackDone => {
                job.settle(line);
                job.done += 1;
                let whole = job.done == job.lines;
                if whole { self.end_page(node) } else { self.next_line(node) }
            }
            _ => {}
        }
    }

    /// Writes a line into the frame that the page goes to.
    fn write_line(&mut self, node: NodeId, number: u32, version: Version) {
        let Some(job) = &self.controllers.hubs[node.index()].engine.job else { return };
        let offset = u64::from(number);
        let (from, line) = (LineAddr(job.from.0 + offset), LineAddr(job.to.0 + offset));
        if let Some(observer) = &self.observer {
            observer.borrow_mut().moved(from, line);
        }
        let agent = self.controllers.agent(node);
        self.controllers.directory.line(line).0 =
            DirectoryEntry { state: DirectoryState::Exclusive, owner: agent, ..DirectoryEntry::UNOWNED };
        let mut cache = CacheLine { state: Mesi::Modified, version, pending: Pending::None };
        let mut outbox = Outbox::new();
        protocol::evict(&mut cache, &self.controllers.context(agent, line), &mut outbox);
        self.controllers.outstanding[agent.index()].push((line, cache));
        self.begin(node, line);
        let out = self.now + self.controllers.timing.interface_out;
        self.dispatch_all(node, out, &outbox);
    }

    /// What the processor had to say about a line meanwhile is heard now.
    fn let_go(&mut self, node: NodeId, line: LineAddr) {
        let agent = self.controllers.agent(node);
        let held = std::mem::take(&mut self.controllers.hubs[node.index()].engine.held);
        let (due, rest) = held.into_iter().partition::<Vec<_>, _>(|post| post.line == line);
        self.controllers.hubs[node.index()].engine.held = rest;
        for post in due {
            Hubs::posted(self, agent, &Post { at: post.at.max(self.now), ..post });
        }
    }

    /// The page is where it was to go: whoever has met its old frame learns so.
    fn end_page(&mut self, node: NodeId) {
        let hub = &mut self.controllers.hubs[node.index()];
        hub.threats -= 1;
        let Some(job) = hub.engine.job.take() else { return };
        self.paging.end_move(job.page);
        self.answer_bus_errors(job.page);
        self.next_page(node);
    }
}

impl Hubs {
    /// The processor in whose name the engine of `node` speaks.
    pub(super) fn agent(&self, node: NodeId) -> CpuId {
        CpuId(node.0 * self.geometry.processors_per_node)
    }
}
