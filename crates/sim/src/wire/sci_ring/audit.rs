//! Conservation of packets and echoes: what enters every part of a ring leaves it or is in it.

use thiserror::Error;
use units::NodeId;

use super::Ring;
use super::link::{Change, Mark};
use super::spec::NEVER;

/// A packet or an echo is missing, or there is one too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Imbalance {
    /// A node does not send on what it has received and inserted.
    #[error("node {node} should have sent {expected} {what}, and has sent {sent}")]
    Interface {
        /// The node.
        node: NodeId,
        /// Sends or echoes.
        what: &'static str,
        /// The sum of those arrived and inserted, less those stripped.
        expected: u64,
        /// The number sent.
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
    /// A link loses packets or makes some.
    #[error(
        "the link from node {node} has got {sent} {what}, {arrived} of which have arrived while {under_way} are under way"
    )]
    Link {
        /// The node at which the link begins.
        node: NodeId,
        /// Sends or echoes.
        what: &'static str,
        /// The number sent.
        sent: u64,
        /// The number arrived.
        arrived: u64,
        /// The number between.
        under_way: u64,
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
            let node = NodeId(index as u16);
            let flow = &interface.flow;
            for (kind, what) in [(0, "sends"), (1, "echoes")] {
                let arrived = flow.arrived[kind];
                let expected = (arrived + flow.inserted[kind]).wrapping_sub(flow.stripped[kind]);
                if flow.sent[kind] != expected {
                    return Err(Imbalance::Interface { node, what, expected, sent: flow.sent[kind] });
                }
            }
            let replies = |(mark, is_passed): &(&Mark, bool)| matches!(mark.change, Change::Reply(_)) && !is_passed;
            let due = self.nodes[index].link.under_way().filter(replies).count() as u64;
            let incomplete = u64::from(interface.echo_ends.0 != NEVER);
            let (taken, echoes) = (flow.stripped[0], flow.inserted[1] + due);
            if taken != echoes {
                return Err(Imbalance::Stripper { node, taken, echoes });
            }
            found += due + incomplete + self.audit_link(index)?;
            outstanding += interface.outputs.iter().map(|output| u64::from(output.outstanding)).sum::<u64>();
        }
        if outstanding == found { Ok(()) } else { Err(Imbalance::Outstanding { outstanding, found }) }
    }

    /// Checks the link that leaves a node. Returns the packets and echoes that are under way on it, and not passed
    /// on already.
    fn audit_link(&self, from: usize) -> Result<u64, Imbalance> {
        let next = self.next(from);
        let (sent, arrived) = (self.nodes[from].flow.sent, self.nodes[next].flow.arrived);
        let held = self.nodes[next].link.under_way().filter(|(_, is_passed)| !is_passed);
        let under_way = count(held.map(|(mark, _)| mark));
        for (kind, what) in [(0, "sends"), (1, "echoes")] {
            let (sent, arrived, under_way) = (sent[kind], arrived[kind], under_way[kind]);
            if sent != arrived + under_way {
                return Err(Imbalance::Link { node: NodeId(from as u16), what, sent, arrived, under_way });
            }
        }
        Ok(under_way.iter().sum::<u64>())
    }
}

/// Sends and echoes among changes on a link.
fn count<'a>(marks: impl Iterator<Item = &'a Mark>) -> [u64; 2] {
    marks.fold([0; 2], |[sends, echoes], mark| match mark.change {
        Change::Send(_) => [sends + 1, echoes],
        Change::Echo(_) => [sends, echoes + 1],
        Change::Reply(_) | Change::Stop | Change::Go => [sends, echoes],
    })
}
