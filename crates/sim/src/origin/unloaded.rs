//! The latency of a read on an Origin on which nothing else happens.

use machine::VirtualNetwork;
use units::{Duration, NodeId};

use super::hub::HubTiming;
use crate::processor::ProcessorTiming;
use crate::wire::Network;

impl HubTiming {
    /// From a line on the bus of `from` to the next line of a chain of dependent reads, of the memory of `to`.
    pub fn unloaded_read(&self, network: &Network, processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        let asked =
            processor.turnaround(self.bus.critical, self.bus.line).max(self.bus.data).align_up(self.bus.grid.period());
        let out = asked + self.bus.request_seen + self.interface_out;
        let answered = if from == to {
            out + self.crossbar + self.memory_data + self.inwards()
        } else {
            let request = network.mean_way(VirtualNetwork::Request, from, to, self.cycle);
            let reply = network.mean_way(VirtualNetwork::Reply, to, from, self.cycle) + self.lag(network.line_spread());
            let interfaces = self.crossbar + self.network_out + self.network_in;
            out + interfaces + request + self.crossbar + self.memory_data + interfaces + reply + self.inwards()
        };
        answered.align_up(self.bus.grid.period())
    }

    /// The delay of a line at its arrival, whose packets have arrived within `spread`: its end must not come later than
    /// the bus takes it.
    pub fn lag(&self, spread: Duration) -> Duration {
        Duration(spread.0.saturating_sub(self.bus.line.0))
    }
}
