//! What handlers return for a case that the protocol rules out.

use thiserror::Error;

use crate::Agent;

/// A message reached an agent in a state in which it cannot be: the protocol, or whoever runs it, is broken.
///
/// The model checker shows that no faithful run returns it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("{message} at {at:?} while {state}: {reason}")]
pub struct ProtocolError {
    /// The agent that received the message.
    pub at: Agent,
    /// What it received: the mnemonic of a message or command of its protocol.
    pub message: &'static str,
    /// The state that it was in.
    pub state: &'static str,
    /// Why that cannot be.
    pub reason: &'static str,
}
