//! The times of a cluster's devices, from their description.

use machine::description::ClusterSpec;
use protocol::contract::Bus;
use units::Duration;

use crate::snooping::Buses;

/// Times of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterTiming {
    /// One cycle of the device.
    pub(super) cycle: Duration,
    /// Occupancy of the protocol engine.
    pub(super) occupancy: Duration,
    /// From the snoop reply that puts a transaction off to the request.
    pub(super) request: Duration,
    /// From a message at the network interface to its handling.
    pub(super) receive: Duration,
    /// The directory, in addition.
    pub(super) directory: Duration,
    /// From a handled message, or from data, to the network interface.
    pub(super) send: Duration,
    /// From the address phase to a line of the device's cache at the data wires.
    pub(super) cache: Duration,
}

impl ClusterTiming {
    pub(super) fn new(spec: &ClusterSpec) -> Self {
        let cycles = |count: u32| spec.clock.period() * u64::from(count);
        Self {
            cycle: cycles(1),
            occupancy: cycles(spec.occupancy_cycles),
            request: cycles(spec.request_cycles),
            receive: cycles(spec.receive_cycles),
            directory: cycles(spec.directory_cycles),
            send: cycles(spec.send_cycles),
            cache: cycles(spec.cache_cycles),
        }
    }

    /// The latency of a read of a line that its home owns, on another node: requested at the pins after `asked`, with the
    /// ways of the request and of the reply.
    pub(super) fn unloaded_remote<B: Bus>(
        &self,
        buses: &Buses<B>,
        asked: Duration,
        request: Duration,
        reply: Duration,
    ) -> Duration {
        let (wires, line) = (&buses.timing.wires, buses.timing.line);
        let edge = |time: Duration| time.align_up(wires.clock.period());
        let put_off = edge(asked + wires.arbitration) + wires.snoop;
        let at_home = put_off + self.request + request + self.receive + self.directory + self.receive;
        let on_bus = edge(at_home + wires.arbitration) + wires.snoop.max(wires.address + buses.memory_access());
        let granted = edge(on_bus) + line + self.send + reply + self.receive;
        edge(edge(granted + wires.arbitration) + wires.snoop.max(wires.address + self.cache))
    }
}
