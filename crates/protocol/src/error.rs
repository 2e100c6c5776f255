//! Errors of handlers: cases that a protocol rules out.

use thiserror::Error;

use crate::Agent;

/// A message that reached an agent in a state in which it cannot arrive: the protocol, or the code that runs it, is
/// broken.
///
/// The model checker proves that no correct run returns this error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("{message} at {at:?} while {state}: {reason}")]
pub struct ProtocolError {
    /// Agent that received the message.
    pub at: Agent,
    /// Mnemonic of the message or command.
    pub message: &'static str,
    /// State of the agent.
    pub state: &'static str,
    /// Reason why the message cannot arrive in this state.
    pub reason: &'static str,
}
