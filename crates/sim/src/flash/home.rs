//! The home's side of a node: messages and directory entries.

use protocol::msi::{Agent, HomeWork, Message, MessageKind, SetWork, Transaction};
use units::{Duration, LineAddr, NodeId, Time};

use super::directory::Traces;
use super::handler::{Handler, lookup, of_home, of_set};
use super::transport::is_request;
use super::{Magics, cpu_of, miss_on};
use crate::system::{Served, System};

impl System<Magics> {
    /// A message has passed the inbox of its home: its handler runs and sends its messages.
    #[inline]
    pub(super) fn handle_at_home(&mut self, home: NodeId, message: &Message, from_network: bool) -> Time {
        let Some((work, traces)) = self.change_directory(home, message) else { return self.kernel.now };
        let (now, delay) = (self.kernel.now, self.random_delay());
        let (memory, accepted) = self.access_memory(home, message.kind, &work);
        let offset = self.controllers.lines.offset(message.line);
        let counting = self.count_reference(home, message, work.transaction);
        let Magics { design, nodes, .. } = &mut self.controllers;
        let node = &mut nodes[home.index()];
        let handler = of_home(work.transaction);
        let first_work = traces.sent.first().map_or(SetWork::NONE, |(_, work)| *work);
        let looks = if design.many_formats { u32::from(first_work.format_checks) } else { 0 };
        let lookup = looks * lookup(&design.handlers, handler);
        let before = lookup
            + node.header_stall(design, offset)
            + node.set_cycles(design, &first_work, &SetWork::NONE, &traces.touched);
        let after = counting + node.set_cycles(design, &traces.set, &first_work, &traces.touched);
        let sends = design.handlers.send_cycles * (traces.sent.len() as u32).saturating_sub(1);
        let mut run = node.run(design, accepted, handler, before, after + sends, delay);
        run.waited += accepted - now;
        let start = run.first;
        if !from_network && !self.is_recall(home, message) {
            self.leaves_inbox(home, now + run.waited);
            if is_request(message.kind) {
                self.note_request(home, message.line, run.waited);
            }
        }
        self.send_all(home, handler, start, memory, &traces);
        self.controllers.traces.push(traces);
        start
    }

    /// A handler of the same node has a message for the home: it is handled in the same run, from `at` on.
    pub(super) fn handle_at_own_home(&mut self, home: NodeId, at: Time, message: &Message, handler: Handler) {
        let Some((work, traces)) = self.change_directory(home, message) else { return };
        let (memory, _) = self.access_memory(home, message.kind, &work);
        let Magics { design, nodes, .. } = &mut self.controllers;
        let node = &mut nodes[home.index()];
        let sends = design.handlers.send_cycles * traces.sent.len() as u32;
        let set = node.set_cycles(design, &traces.set, &SetWork::NONE, &traces.touched);
        node.go_on(design, handler, set + sends);
        let start = at + design.timing.cycle * u64::from(design.handlers.send_cycles);
        self.send_all(home, handler, start, memory, &traces);
        self.controllers.traces.push(traces);
    }

    /// Runs the protocol's handler.
    #[inline]
    fn change_directory(&mut self, home: NodeId, message: &Message) -> Option<(HomeWork, Traces)> {
        let spoiled = if self.observation.planted.is_some() { self.spoil_at_home(message)? } else { *message };
        let message = &spoiled;
        let controllers = &mut self.controllers;
        let mut traces = controllers.traces.pop().unwrap_or_default();
        let work = match controllers.directory.handle(home, message, &mut traces) {
            Ok(work) => work,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        controllers.nodes[home.index()].reclamations += u64::from(traces.reclaimed);
        let writes = matches!(message.kind, MessageKind::GetExclusive | MessageKind::Upgrade);
        if writes && !matches!(work.transaction, Transaction::Nack | Transaction::Forward) {
            controllers.nodes[home.index()].invalidations.count(work.invalidations.nodes);
        }
        if let Some(served) = served(work.transaction, &traces) {
            self.note_service(cpu_of(message.requester), message.line, home, served);
        }
        if self.observation.planted.is_some() {
            self.spoil_directory(message, work.transaction);
        }
        Some((work, traces))
    }

    /// Reserves the memory for a handler. Returns when the line is ready, if one is read, and when the handler may
    /// start. The inbox starts a read for every request that may need data, before the directory lookup; memory accepts
    /// one access while another is in progress. Without that limit NACKed requests would queue at memory without bound
    /// and starve the others.
    #[inline]
    fn access_memory(&mut self, home: NodeId, kind: MessageKind, work: &HomeWork) -> (Time, Time) {
        let now = self.kernel.now;
        let Magics { design, nodes, .. } = &mut self.controllers;
        let (timing, node) = (&design.timing, &mut nodes[home.index()]);
        let speculative = matches!(kind, MessageKind::Get | MessageKind::GetExclusive | MessageKind::Refill);
        if work.memory_write {
            node.memory.reserve(now, timing.clock, timing.memory_write);
        }
        if work.memory_read || speculative {
            let start = node.memory.reserve(now, timing.clock, timing.memory_read);
            let accepted = Time(start.0.saturating_sub(timing.memory_read.0)).max(now);
            return (start + timing.memory_data, accepted);
        }
        (now, now)
    }

    /// Sends the messages of a handler: the first at `first`, each further one after its send cycles and the
    /// sharing-set work before it; none with data before `memory`.
    #[inline]
    fn send_all(&mut self, home: NodeId, handler: Handler, first: Time, memory: Time, traces: &Traces) {
        let Some(&(_, first_work)) = traces.sent.first() else { return };
        for (index, &(message, work)) in traces.sent.iter().enumerate() {
            let design = &self.controllers.design;
            let set = of_set(&design.handlers, &work) - of_set(&design.handlers, &first_work);
            let cycles = design.handlers.send_cycles * index as u32 + set;
            let at = first + design.timing.cycle * u64::from(cycles);
            let at = if message.kind.carries_data() { at.max(memory) } else { at };
            self.send_message(home, at, message, handler);
        }
    }

    /// A request of the local processor has passed the inbox and waits for the protocol processor.
    fn note_request(&mut self, node: NodeId, line: LineAddr, waited: Duration) {
        let now = self.kernel.now;
        if let Some(miss) = miss_on(self, node, line) {
            self.controllers.nodes[node.index()].account.asked(miss, now, waited);
        }
    }
}

/// How the home served a request; `None` after a NACK, or if the message was no request.
pub fn served(transaction: Transaction, traces: &Traces) -> Option<Served> {
    let asked = |&(message, _): &(Message, SetWork)| match (message.kind, message.to) {
        (MessageKind::ForwardGet | MessageKind::ForwardGetExclusive, Agent::Node(owner)) => Some(owner),
        _ => None,
    };
    match transaction {
        Transaction::Read | Transaction::Write => Some(Served::ByHome),
        Transaction::ReadDisplacing | Transaction::WriteInvalidating => Some(Served::Invalidating),
        Transaction::Forward => traces.sent.iter().find_map(asked).map(Served::ByOwner),
        _ => None,
    }
}
