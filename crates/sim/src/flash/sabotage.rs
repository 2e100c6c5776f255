//! Where a planted fault strikes on FLASH.

use protocol::msi::{Message, MessageKind, Transaction};
use units::{Duration, NodeId};

use super::Magics;
use crate::fault::Fault;
use crate::system::System;

/// How a planted fault changes what a message does at a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spoiled {
    /// The copy stays.
    pub keeps: bool,
    /// That an invalidation has come is forgotten.
    pub trusts: bool,
    /// The message is lost.
    pub lost: bool,
}

impl System<Magics> {
    /// What becomes of a message at the cache side of a node.
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

    /// What becomes of a message at its home; nothing if it is lost.
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

    /// What becomes of the directory after a message.
    #[cold]
    pub(super) fn spoil_directory(&mut self, message: &Message, transaction: Transaction) {
        if transaction == Transaction::Read && self.strikes(Fault::ForgottenSharer) {
            self.controllers.directory.forget(message.line);
        }
    }

    /// How much later than it should a message leaves its node.
    #[cold]
    pub(super) fn spoil_departure(&mut self, message: &Message) -> Duration {
        let late = message.kind == MessageKind::ReplacementHint && self.strikes(Fault::OvertakenHint);
        Duration::from_ns(if late { 20_000.0 } else { 0.0 })
    }
}
