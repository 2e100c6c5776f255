//! The contract between the processors' side of a bus and the rest of a machine.

use protocol::contract::Bus;
use protocol::{ProtocolError, Version};
use units::{LineAddr, NodeId, Time};

use super::{BusEvent, Buses, Transaction};
use crate::kernel::EnvelopeId;
use crate::system::{Controller, Served, System};

/// A machine whose processors share a snooping bus on each node. The defaults are those of a bus without a device.
pub trait OnBus: Controller {
    /// The protocol of the buses.
    type Bus: Bus;

    /// The buses.
    fn buses(&mut self) -> &mut Buses<Self::Bus>;

    /// A bus transaction among the messages under way.
    fn message(transaction: Transaction) -> Self::Message;

    /// The bus transaction of a message under way.
    fn transaction(message: &Self::Message) -> Transaction;

    /// A step of a bus transaction among the events of a node.
    fn event(event: BusEvent) -> Self::Event;

    /// The contents of memory as a bus sees them, or of the part that stands for memory.
    fn contents(&mut self, node: NodeId, line: LineAddr) -> &mut Version;

    /// A read by the bus of `node` starts at `at`. Returns when the line is ready for the data wires.
    fn read(&mut self, _node: NodeId, line: LineAddr, at: Time) -> Time {
        let (memory, number) = self.buses().memory(line);
        memory.read(number, at)
    }

    /// The data on the bus of `node` are written to memory, where they are at `at`.
    fn write(&mut self, _node: NodeId, line: LineAddr, at: Time) {
        let (memory, number) = self.buses().memory(line);
        memory.write(number, at);
    }

    /// The device's snoop reply to a processor's transaction. If it puts the transaction off, it lets it request the bus again
    /// later (`System::request_again`).
    ///
    /// # Errors
    /// The transaction cannot occur in this state in a correct run.
    fn outside(
        _system: &mut System<Self>,
        _id: EnvelopeId,
        _transaction: Transaction,
        _command: <Self::Bus as Bus>::Command,
    ) -> Result<<Self::Bus as Bus>::Reply, ProtocolError> {
        Ok(Default::default())
    }

    /// A processor's transaction has been performed.
    fn performed(_system: &mut System<Self>, _transaction: Transaction, _command: <Self::Bus as Bus>::Command) {}

    /// The home of a line, and how a miss on it was served that a cache of the node supplied (`owned`), or that invalidated
    /// copies of its caches.
    fn served(&mut self, node: NodeId, _line: LineAddr, owned: bool, invalidates: bool) -> (NodeId, Served) {
        let served = match (owned, invalidates) {
            (true, _) => Served::ByOwner(node),
            (false, true) => Served::Invalidating,
            (false, false) => Served::ByHome,
        };
        (node, served)
    }

    /// The address phase of a device's transaction ends at `at`.
    fn device_granted(_system: &mut System<Self>, _id: EnvelopeId, _transaction: Transaction, _at: Time) {}

    /// The combined reply to a device's transaction is due.
    fn device_reply(_system: &mut System<Self>, _id: EnvelopeId, _transaction: Transaction) {}

    /// The data of a device's transaction have crossed the bus at `end`.
    fn device_data(_system: &mut System<Self>, _id: EnvelopeId, _transaction: Transaction, _end: Time) {}
}
