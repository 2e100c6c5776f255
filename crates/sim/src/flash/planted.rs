//! Planted faults on FLASH.

use protocol::msi::{Message, MessageKind, Transaction};
use units::{Duration, NodeId};

use super::Magics;
use crate::fault::Fault;
use crate::system::System;

/// The effect of a planted fault on a message at a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spoiled {
    /// The copy stays.
    pub keeps: bool,
    /// The request is treated as if no invalidation had overtaken it.
    pub trusts: bool,
    /// The message is lost.
    pub lost: bool,
}

impl System<Magics> {
    /// Applies planted faults to a message at the cache side of a node.
    #[cold]
    pub(super) fn spoil_at_node(&mut self, node: NodeId, message: &Message) -> Spoiled {
        let mut spoiled = Spoiled::default();
        match message.kind {
            MessageKind::Invalidate => spoiled.keeps = self.strikes(Fault::KeptCopy),
            MessageKind::InvalidateAcknowledge => spoiled.lost = self.strikes(Fault::LostAcknowledgement),
            MessageKind::Put => {
                let overtaken = self.view(node, message.line).request.is_some_and(|request| request.invalidated);
                spoiled.trusts = overtaken && self.strikes(Fault::OvertakenCopy);
            }
            _ => {}
        }
        spoiled
    }

    /// Applies planted faults to a message at its home; `None` if the message is lost.
    #[cold]
    pub(super) fn spoil_at_home(&mut self, message: &Message) -> Option<Message> {
        let mut spoiled = *message;
        match message.kind {
            MessageKind::Writeback | MessageKind::SharingWriteback if message.version.0 > 0 => {
                spoiled.version.0 -= u32::from(self.strikes(Fault::StaleData));
            }
            MessageKind::InvalidateAcknowledge if self.strikes(Fault::LostAcknowledgement) => return None,
            _ => {}
        }
        Some(spoiled)
    }

    /// Applies planted faults to the directory after a message.
    #[cold]
    pub(super) fn spoil_directory(&mut self, message: &Message, transaction: Transaction) {
        if transaction == Transaction::Read && self.strikes(Fault::ForgottenSharer) {
            self.controllers.directory.forget(message.line);
        }
    }

    /// The planted delay of a message's departure.
    #[cold]
    pub(super) fn spoil_departure(&mut self, message: &Message) -> Duration {
        let late = message.kind == MessageKind::ReplacementHint && self.strikes(Fault::OvertakenHint);
        Duration::from_ns(if late { 20_000.0 } else { 0.0 })
    }
}
