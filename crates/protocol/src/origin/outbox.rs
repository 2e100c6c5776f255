//! Messages that a handler sends, in a fixed array: the simulator's hottest path uses no heap.

use units::{CpuId, LineAddr};

use super::{Message, MessageKind};
use crate::Agent;

/// Messages that a handler sends, in order. The caller clears the outbox between handlers.
#[derive(Clone, Debug)]
pub struct Outbox {
    messages: [Message; Outbox::CAPACITY],
    length: usize,
}

impl Outbox {
    /// Most messages that a handler sends: a home sends a reply and a forwarded request, a processor at most an
    /// intervention of its own (backoff) besides the response and the revision for another processor's.
    pub const CAPACITY: usize = 3;

    /// Creates an empty outbox.
    pub const fn new() -> Self {
        // The filler is never visible: `as_slice` ends at `length`.
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

    /// Messages sent so far.
    #[inline]
    pub fn as_slice(&self) -> &[Message] {
        &self.messages[..self.length]
    }

    /// Messages sent so far, to be edited in place.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Message] {
        &mut self.messages[..self.length]
    }

    /// Removes all messages.
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
