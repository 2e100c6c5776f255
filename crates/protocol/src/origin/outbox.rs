//! Messages that a handler sends, in a fixed array: no heap on the simulator's hottest path.

use units::{CpuId, LineAddr};

use super::{Message, MessageKind};
use crate::Agent;

/// The messages a handler sends, in order. The caller clears it between handlers.
#[derive(Clone, Debug)]
pub struct Outbox {
    messages: [Message; Outbox::CAPACITY],
    length: usize,
}

impl Outbox {
    /// No handler sends more: a home sends a reply and a forwarded request, a processor at most an intervention of its
    /// own (backoff) beside the response and the revision for another's.
    pub const CAPACITY: usize = 3;

    /// An empty outbox.
    pub const fn new() -> Self {
        // The filler is never seen: `as_slice` ends at `length`.
        let filler = Message::new(MessageKind::Read, LineAddr(0), Agent::Sharers, CpuId(0));
        Self { messages: [filler; Self::CAPACITY], length: 0 }
    }

    /// Adds a message.
    #[inline]
    pub fn push(&mut self, message: Message) {
        debug_assert!(self.length < Self::CAPACITY, "a handler sent more than {} messages", Self::CAPACITY);
        self.messages[self.length] = message;
        self.length += 1;
    }

    /// The messages sent so far.
    #[inline]
    pub fn as_slice(&self) -> &[Message] {
        &self.messages[..self.length]
    }

    /// The messages sent so far, to be edited in place.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Message] {
        &mut self.messages[..self.length]
    }

    /// Forgets them.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}
