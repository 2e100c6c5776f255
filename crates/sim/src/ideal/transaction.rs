//! Functional transactions: the protocol's handlers run until no message of a transaction is left.

use protocol::ProtocolError;
use protocol::msi::{self, Access, Agent, CacheLine, Message, NodeContext, NodeOutcome};
use units::{LineAddr, NodeId};

use super::{Ideals, cpu_of, is_served};
use crate::flash;
use crate::part::CachedCopy;
use crate::system::System;

impl System<Ideals> {
    /// Performs a missing access of `node`'s processor. Returns whether the answer carried a line of data.
    ///
    /// # Errors
    /// A case that the protocol excludes.
    pub(super) fn perform(&mut self, node: NodeId, line: LineAddr, access: Access) -> Result<bool, ProtocolError> {
        self.with_line(node, line, |cache, context, mut send| msi::access(cache, line, context, access, &mut send));
        self.settle()
    }

    /// Writes back or drops a line that has left the caches of `node`'s processor.
    ///
    /// # Errors
    /// A case that the protocol excludes.
    pub(super) fn give_up(&mut self, node: NodeId, line: LineAddr) -> Result<(), ProtocolError> {
        self.with_line(node, line, |cache, context, mut send| msi::evict(cache, line, context, &mut send))?;
        self.controllers.nodes[node.index()].leaving.retain(|&(other, _)| other != line);
        self.settle().map(drop)
    }

    /// Handles messages in the order in which they were sent until none is left. Returns whether the message that
    /// completed an access, if any, carried data.
    ///
    /// The loop ends: an access receives a NACK only while another line is being cleared from the store, or its own is,
    /// and the messages that finish the clearing are ahead of the retry.
    fn settle(&mut self) -> Result<bool, ProtocolError> {
        let mut data = false;
        while let Some(message) = self.controllers.messages.pop_front() {
            match message.to {
                Agent::Home(home) => self.at_home(home, &message)?,
                Agent::Node(node) => data |= self.at_node(node, &message)? && message.kind.carries_data(),
            }
        }
        debug_assert!(self.controllers.pending.is_empty(), "{:?}", self.controllers.pending);
        Ok(data)
    }

    fn at_home(&mut self, home: NodeId, message: &Message) -> Result<(), ProtocolError> {
        let Ideals { directory, traces, messages, nodes, .. } = &mut self.controllers;
        let work = directory.handle(home, message, traces)?;
        let node = &mut nodes[home.index()];
        if is_served(work.transaction) {
            node.invalidations.count(work.invalidations.nodes);
        }
        for &(sent, _) in &traces.sent {
            node.count(home, &sent);
            messages.push_back(sent);
        }
        if let Some(served) = flash::served(work.transaction, traces) {
            self.note_service(cpu_of(message.requester), message.line, home, served);
        }
        Ok(())
    }

    /// Handles a message on the cache side of `node`. Returns whether it completed the access there.
    fn at_node(&mut self, node: NodeId, message: &Message) -> Result<bool, ProtocolError> {
        let line = message.line;
        let outcome =
            self.with_line(node, line, |cache, context, mut send| msi::receive(cache, context, message, &mut send))?;
        if outcome == NodeOutcome::Retry {
            self.count_nack(cpu_of(node), line);
            self.with_line(node, line, |cache, context, mut send| msi::retry(cache, line, context, &mut send))?;
        }
        Ok(matches!(outcome, NodeOutcome::Completed(_)))
    }

    /// Applies a protocol handler to a line at a node, wherever the node holds the line: in its processor's caches, on
    /// the way into them, or on the way from them to the pins.
    fn with_line<T>(
        &mut self,
        node: NodeId,
        line: LineAddr,
        handler: impl FnOnce(&mut CacheLine, &NodeContext, &mut dyn FnMut(Message)) -> T,
    ) -> T {
        let cpu = cpu_of(node);
        let copy = self.copy_of(cpu, line);
        let Ideals { nodes, pending, .. } = &mut self.controllers;
        let index = pending.iter().position(|&(place, _)| place == (node, line));
        let before = index.map_or(CacheLine::INVALID, |index| pending.swap_remove(index).1);
        let leaving = nodes[node.index()].leaving.iter().position(|&(other, _)| other == line);
        let leaving = leaving.filter(|_| !copy.state.is_valid() && before.request.is_none());
        let copy = leaving.map_or(copy, |index| nodes[node.index()].leaving[index].1);
        let mut cache = CacheLine { state: copy.state.into(), version: copy.version, ..before };
        let context = self.controllers.context(node, line);
        let Ideals { nodes, pending, messages, .. } = &mut self.controllers;
        let result = handler(&mut cache, &context, &mut |message| {
            nodes[node.index()].count(node, &message);
            messages.push_back(message);
        });
        if !cache.is_quiet() {
            pending.push(((node, line), cache));
        }
        let copy = CachedCopy { state: cache.state.into(), version: cache.version };
        match leaving {
            Some(index) => nodes[node.index()].leaving[index].1 = copy,
            None if !self.is_processor(cpu) => {}
            None => {
                let completed = before.request.is_some() && cache.request.is_none();
                let processor = self.processor_mut(cpu);
                // A miss whose answer is not due yet stays outstanding.
                let asked = processor.miss_on(line).and_then(|miss| processor.miss(miss));
                let requested = !completed && asked.is_some_and(|miss| !miss.is_granted());
                processor.set_copy(line, copy, requested);
                self.wake_spinner(cpu);
            }
        }
        result
    }
}
