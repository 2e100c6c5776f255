//! Steps of the MSI model, with their names in traces.

use std::fmt;

use protocol::msi::{Access, Agent, Message};
use units::{LineAddr, NodeId};

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MsiStep {
    /// A processor accesses a line.
    Access {
        /// The node.
        node: NodeId,
        /// The line.
        line: usize,
        /// Access.
        access: Access,
    },
    /// A processor's cache evicts a line.
    Evict {
        /// The node.
        node: NodeId,
        /// The line.
        line: usize,
    },
    /// A remote access cache evicts a line.
    EvictFromNode {
        /// The node.
        node: NodeId,
        /// The line.
        line: usize,
    },
    /// A NACKed request is retried.
    Retry {
        /// The node.
        node: NodeId,
        /// The line.
        line: usize,
    },
    /// A message arrives.
    Deliver {
        /// The message.
        message: Message,
        /// Line whose store entries the home reclaims for the message.
        reclaimed: Option<LineAddr>,
    },
}

impl fmt::Display for MsiStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access { node, line, access: Access::Load } => write!(f, "{node:?}: loads line {line}"),
            Self::Access { node, line, access: Access::Store } => write!(f, "{node:?}: stores to line {line}"),
            Self::Evict { node, line } => write!(f, "{node:?}: evicts line {line}"),
            Self::EvictFromNode { node, line } => {
                write!(f, "{node:?}: evicts line {line} from the remote access cache")
            }
            Self::Retry { node, line } => write!(f, "{node:?}: retries line {line}"),
            Self::Deliver { message, reclaimed } => {
                match message.to {
                    Agent::Home(_) => write!(f, "home")?,
                    Agent::Node(node) => write!(f, "{node:?}")?,
                }
                let (kind, requester, line) = (message.kind.mnemonic(), message.requester, message.line.0);
                write!(f, ": receives {kind} for {requester:?} on line {line}")?;
                if message.acknowledgements > 0 {
                    write!(f, ", {} INVAL_ACK to come", message.acknowledgements)?;
                }
                if let Some(victim) = reclaimed {
                    write!(f, ", reclaims line {}", victim.0)?;
                }
                Ok(())
            }
        }
    }
}
