//! Conservation of packets and echoes: what enters every part of a ring leaves it or is in it.

use thiserror::Error;
use units::NodeId;

use super::Ring;
use super::link::{Change, Mark};
use super::spec::NEVER;

/// A packet or an echo is missing, or there is one too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Imbalance {
    /// A node or the link to it loses packets or makes some.
    #[error("node {node} should have sent {expected} symbols of {what}, and has sent {sent}")]
    Interface {
        /// The node.
        node: NodeId,
        /// Sends or echoes.
        what: &'static str,
        /// Symbols sent to it and inserted by it, less those that its stripper has taken and those that it has not passed on.
        expected: u64,
        /// Symbols sent.
        sent: u64,
    },
    /// A stripper does not make an echo of every packet that it takes.
    #[error("node {node} has taken {taken} packets, and made {echoes} echoes")]
    Stripper {
        /// The node.
        node: NodeId,
        /// Packets taken.
        taken: u64,
        /// Echoes made, the one begun included.
        echoes: u64,
    },
    /// Active buffers hold packets that are nowhere on the ring.
    #[error("{outstanding} packets are outstanding, and {found} of them or their echoes on the ring")]
    Outstanding {
        /// Packets that wait for their echoes.
        outstanding: u64,
        /// Packets and echoes on the ring.
        found: u64,
    },
}

impl Ring {
    /// Checks that no packet and no echo has been lost or invented up to now.
    ///
    /// # Errors
    /// The first part of the ring whose account does not balance.
    pub fn audit(&self) -> Result<(), Imbalance> {
        let (mut outstanding, mut found) = (0, 0);
        for (index, interface) in self.nodes.iter().enumerate() {
            self.audit_symbols(index)?;
            let held = |change| self.held(index).filter(|mark| mark.change() == change).count() as u64;
            let due = held(Change::Reply);
            let incomplete = u64::from(interface.echo_ends.0 != NEVER);
            let statistics = &self.statistics[index];
            let taken = statistics.accepted + statistics.busied;
            let echoes = interface.flow.inserted[1] / u64::from(self.spec.sizes.echo) + due;
            if taken != echoes {
                return Err(Imbalance::Stripper { node: NodeId(index as u16), taken, echoes });
            }
            found += due + incomplete + held(Change::Send) + held(Change::Echo);
            outstanding += interface.outputs.iter().map(|output| u64::from(output.outstanding)).sum::<u64>();
        }
        if outstanding == found { Ok(()) } else { Err(Imbalance::Outstanding { outstanding, found }) }
    }

    /// Checks a node and the link that leads to it.
    fn audit_symbols(&self, index: usize) -> Result<(), Imbalance> {
        let (flow, next) = (&self.nodes[index].flow, &self.nodes[self.next(index)].flow);
        for (kind, change, what) in [(0, Change::Send, "sends"), (1, Change::Echo, "echoes")] {
            let [received, sent] = [flow, next].map(|flow| flow.on_link[2 * kind..][..2].iter().sum::<u64>());
            let marks = self.held(index).filter(|mark| mark.change() == change);
            let held = marks.map(|mark| u64::from(mark.symbols())).sum::<u64>();
            let expected = (received + flow.inserted[kind]).wrapping_sub(flow.stripped[kind] + held);
            if expected != sent {
                return Err(Imbalance::Interface { node: NodeId(index as u16), what, expected, sent });
            }
        }
        Ok(())
    }

    /// The changes under way to a node that it has not passed on.
    fn held(&self, index: usize) -> impl Iterator<Item = &Mark> {
        self.nodes[index].link.under_way().filter(|(_, is_passed)| !is_passed).map(|(mark, _)| mark)
    }
}
