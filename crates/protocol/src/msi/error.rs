//! What the handlers of the MSI protocol return for a case that it rules out.

use thiserror::Error;

use super::{Agent, MessageKind};

/// A message reached an agent in a state in which it cannot be: the protocol, or whoever runs it, is broken.
///
/// The model checker shows that no faithful run returns it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("{} at {at:?} while {state}: {reason}", kind.mnemonic())]
pub struct UnexpectedMessage {
    /// The agent that received the message.
    pub at: Agent,
    /// What it received.
    pub kind: MessageKind,
    /// The state that it was in.
    pub state: &'static str,
    /// Why that cannot be.
    pub reason: &'static str,
}
