//! Transfers of pages by MAGIC. The dissertation does not describe them; MAGIC is programmable, and its handlers do here what
//! the Origin's reference counters and copy engine do in hardware, by the steps of a system without poisoned lines (Lai and
//! Falsafi 2000, Sections 3.1 and 4.2).
//!
//! 1. A home's handler counts the requests that it grants by page and node, and interrupts its processor at the threshold.
//! 2. The kernel takes the outdated translations away ([`crate::os::Discovery::Shootdown`]), and then the node at the source
//!    transfers the page, some lines at a time (`os.copy_lines`).
//! 3. A line of a frame that is given up is recalled from all caches: the node requests ownership of it as any node does, and
//!    writes it back. A line that is copied is read from memory, which is current because nobody may store to the page.
//! 4. The line goes to the new home as a writeback: no processor maps its frame yet, so the directory there names the source as
//!    the line's owner. With the last line the new home interrupts its processor, and the kernel maps the page there.

use machine::Description;
use protocol::Version;
use protocol::msi::{self, AccessOutcome, CacheLine, Message, MessageKind, Msi, NodeOutcome, Transaction};
use units::{LineAddr, NodeId, Time};

use super::event::{InterfaceStep, MagicEvent};
use super::handler::Handler;
use super::transport::is_request;
use super::{Magics, cpu_of, miss_on};
use crate::map::address_in;
use crate::os::{PageStep, PageTransfers, Transfer};
use crate::part::{ReferenceCounters, ReferenceCountersSpec};
use crate::system::{System, TransfersPages};

/// The reference counters of a machine of `nodes` nodes: one for each page and node.
pub fn counters(description: &Description, nodes: usize) -> ReferenceCounters {
    ReferenceCounters::new(ReferenceCountersSpec {
        nodes,
        shared_by: 1,
        block_shift: description.tlb.page.0.trailing_zeros(),
        threshold: description.os.migration_threshold,
    })
}

impl TransfersPages for Magics {
    fn transfers(&mut self, node: NodeId) -> &mut PageTransfers {
        &mut self.nodes[node.index()].pages
    }

    fn page_event(node: NodeId, step: PageStep) -> MagicEvent {
        MagicEvent::Interface(cpu_of(node), InterfaceStep::Page(step))
    }

    /// Takes a line of the page, or repeats the request for it after a NACK.
    fn take_line(system: &mut System<Self>, node: NodeId, number: u32) {
        let Some(job) = system.page_job(node) else { return };
        let (line, transfer, again) = (job.source_line(number), job.transfer, job.awaits(job.source_line(number)));
        if again {
            system.repeat_recall(node, line);
        } else if transfer.recalls() {
            system.recall(node, number, line);
        } else {
            system.read_for_copy(node, line);
        }
    }
}

impl System<Magics> {
    /// Counts a request that the home has granted, unless it is a recall. Returns the cycles that its handler takes for it.
    #[inline]
    pub(super) fn count_reference(&mut self, home: NodeId, message: &Message, transaction: Transaction) -> u32 {
        if self.controllers.references.is_none() || !is_request(message.kind) || transaction == Transaction::Nack {
            return 0;
        }
        if self.is_recall(home, message) { 0 } else { self.count_request(home, message) }
    }

    fn count_request(&mut self, home: NodeId, message: &Message) -> u32 {
        let Magics { references, design, nodes, lines, .. } = &mut self.controllers;
        let (magic, from) = (&mut nodes[home.index()], message.requester);
        let Some(references) = references else { return 0 };
        let offset = lines.offset(message.line) * lines.line().0;
        let cycles = magic.count_cycles(design, references.block(offset).into(), from);
        if let Some(block) = references.count(home, offset, from) {
            let start = address_in(home, references.offset(block));
            self.raise_interrupt(start);
        }
        cycles
    }

    /// Recalls a line from all caches. The copy of the node's own processor is taken first.
    fn recall(&mut self, node: NodeId, number: u32, line: LineAddr) {
        let busy = self.controllers.nodes[node.index()].outstanding.iter().any(|(other, _)| *other == line);
        if busy || miss_on(self, node, line).is_some() {
            let timing = &self.controllers.design.timing;
            let at = self.kernel.now + timing.retry.max(timing.cycle);
            return self.schedule_page_step(node, at, PageStep::Line(number));
        }
        self.take_own_copy(node, line);
        let mut sent = None;
        let outcome = self.with_line(node, line, |cache, context| {
            msi::recall(cache, line, context, &mut |message| sent = Some(message))
        });
        debug_assert_eq!(outcome, AccessOutcome::Requested, "{line:?} has left the node");
        if let Some(job) = self.page_job(node) {
            job.begin(line);
        }
        self.send_recall(node, sent);
    }

    /// The request of a recall is NACKed, and repeated.
    fn repeat_recall(&mut self, node: NodeId, line: LineAddr) {
        let mut sent = None;
        let result = self.with_line(node, line, |cache, context| {
            msi::retry(cache, line, context, &mut |message| sent = Some(message))
        });
        match result {
            Ok(()) => self.send_recall(node, sent),
            Err(error) => self.fail(error),
        }
    }

    /// The request of a recall goes to the node's own home. It takes no inbox entry of the processor, whose writeback of the line it
    /// may wait for.
    fn send_recall(&mut self, node: NodeId, sent: Option<Message>) {
        if let Some(message) = sent {
            let id = self.envelop(message, node);
            self.schedule(node, self.kernel.now, MagicEvent::Handle(id));
        }
    }

    /// Whether a message at its home is the request of a recall. The processor has no request for such a line.
    #[inline]
    pub(super) fn is_recall(&self, home: NodeId, message: &Message) -> bool {
        let is_own = message.requester == home && is_request(message.kind);
        is_own && self.controllers.nodes[home.index()].pages.awaits(message.line)
    }

    /// An intervention takes the copy of the node's own processor: it is evicted, with a writeback or a hint.
    fn take_own_copy(&mut self, node: NodeId, line: LineAddr) {
        let (cpu, now) = (cpu_of(node), self.kernel.now);
        if !self.copy_of(cpu, line).state.is_valid() {
            return;
        }
        let timing = &self.controllers.design.timing;
        let (grid, held, seen) = (timing.bus.grid, timing.bus.intervention, timing.bus.intervention_seen);
        let start = self.controllers.nodes[node.index()].bus.reserve(now, grid, held);
        let processor = self.processor_mut(cpu);
        processor.count_intervention(line);
        let checked = processor.snoop(line, start + seen);
        let (copy, ready) = processor.give_up(line, checked);
        self.wake_spinner(cpu);
        let mut cache = self.controllers.evicted(node, line, copy);
        let context = self.controllers.context(node, line);
        let mut sent = None;
        if let Err(error) = msi::evict(&mut cache, line, &context, &mut |message| sent = Some(message)) {
            return self.fail(error);
        }
        if let Some(message) = sent {
            self.put_on_pins(cpu, ready, message);
        }
    }

    /// The node receives an answer to a recall; its handler has come to its first message at `at`. A line that it owns now
    /// is written back, and goes to its new home.
    pub(super) fn recall_answered(&mut self, node: NodeId, at: Time, message: &Message, outcome: NodeOutcome) {
        let line = message.line;
        let Some(job) = self.page_job(node) else { return };
        let (number, transfer) = (job.number(line), job.transfer);
        match outcome {
            NodeOutcome::Completed(_) => job.settle(line),
            NodeOutcome::Retry => {
                let again = at + self.controllers.design.timing.retry;
                return self.schedule_page_step(node, again, PageStep::Line(number));
            }
            // Invalidations and acknowledgements of an earlier request.
            _ => return,
        }
        let mut cache = CacheLine { state: Msi::Dirty, version: message.version, ..CacheLine::INVALID };
        let context = self.controllers.context(node, line);
        let mut sent = None;
        match msi::evict_from_node(&mut cache, line, &context, &mut |message| sent = Some(message)) {
            Ok(_) => {}
            Err(error) => return self.fail(error),
        }
        if let Some(writeback) = sent {
            self.send_message(node, at, writeback, Handler::Supply);
        }
        let mut left = at;
        if transfer.target().is_some() {
            // The handler of the answer sends the line, too.
            let Magics { design, nodes, .. } = &mut self.controllers;
            let cycles = design.handlers.send_cycles;
            nodes[node.index()].go_on(design, Handler::Supply, cycles);
            left += design.timing.cycle * u64::from(cycles);
            self.send_line(node, left, transfer, line, message.version);
        }
        self.schedule_page_step(node, left, PageStep::Left);
    }

    /// Reads a line from memory for a copy of its page.
    fn read_for_copy(&mut self, node: NodeId, line: LineAddr) {
        let Some(transfer) = self.page_job(node).map(|job| job.transfer) else { return };
        let (now, delay) = (self.kernel.now, self.random_delay());
        let Magics { design, nodes, directory, .. } = &mut self.controllers;
        let (timing, magic) = (&design.timing, &mut nodes[node.index()]);
        let run = magic.run(design, now, Handler::Read, 0, 0, delay);
        let ready = magic.memory.reserve(now, timing.clock, timing.memory_read) + timing.memory_data;
        let (_, version) = directory.line(line);
        let left = run.first.max(ready);
        self.send_line(node, left, transfer, line, version);
        self.schedule_page_step(node, left, PageStep::Left);
    }

    /// A line of the page goes to its new home at `at`.
    fn send_line(&mut self, node: NodeId, at: Time, transfer: Transfer, from: LineAddr, version: Version) {
        let Some(to) = self.depart(&transfer, from) else { return };
        self.controllers.directory.lend(to, node);
        let home = msi::Agent::Home(self.controllers.lines.home(to));
        let message = Message::new(MessageKind::Writeback, to, home, node).with_version(version);
        self.send_message(node, at, message, Handler::Supply);
    }
}
