//! The memory/directory interface: a message in, its price in time, messages out.

use protocol::{Agent, HomeContext, Outbox};
use units::NodeId;

use crate::event::EnvelopeId;
use crate::simulator::Simulator;

impl Simulator {
    /// A message is at the memory/directory interface of its node.
    #[inline]
    pub(crate) fn on_home(&mut self, id: EnvelopeId) {
        let (message, node) = (self.envelopes.get(id).message, self.envelopes.get(id).to);
        let context =
            HomeContext { node, geometry: self.geometry, output_queue_nearly_full: self.is_output_nearly_full(node) };
        let mut outbox = Outbox::new();
        let (entry, version) = self.memory.line(message.line);
        let work = match protocol::home(entry, version, &message, &context, &mut outbox) {
            Ok(work) => work,
            Err(error) => return self.fail(error),
        };
        let hub = &mut self.hubs[node.index()];
        let start = hub.reserve_memory(&self.hub_timing, self.now, message.kind, &work);
        hub.received[message.kind as usize] += 1;
        self.release_buffer(id, start);
        self.envelopes.remove(id);
        for &answer in outbox.as_slice() {
            let copies = if answer.to == Agent::Sharers { u64::from(work.invalidations) } else { 1 };
            self.hubs[node.index()].sent[answer.kind as usize] += copies;
            let delay =
                if answer.kind.carries_data() { self.hub_timing.memory_data } else { self.hub_timing.directory };
            self.dispatch(node, start + delay, answer);
        }
    }

    /// Whether so much waits to leave `node` on the request channel that forwarding could block (Prestor 2001, 4.1.3).
    #[inline]
    fn is_output_nearly_full(&self, node: NodeId) -> bool {
        let channel = self.network.channel(self.network.injection(node));
        channel.backlog_packets(0, self.now) >= self.hub_timing.backoff_packets
    }
}
