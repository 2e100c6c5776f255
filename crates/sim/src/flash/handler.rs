//! MAGIC's handlers: which code runs for what, and what it takes.

use machine::description::HandlerSpec;
use protocol::msi::{MessageKind, SetWork, Transaction};

/// Declares the handlers with the name and the field of the machine description that says how long each takes.
macro_rules! handlers {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $field:ident;)*) => {
        /// A piece of code that the protocol processor runs for one message.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Handler { $($(#[$doc])* $name,)* }

        impl Handler {
            /// Every handler, in the order in which they stand in memory.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What it is called in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Cycles from its start to its first message.
            pub const fn lead(self, spec: &HandlerSpec) -> u32 {
                match self { $(Self::$name => spec.$field,)* }
            }
        }
    };
}

handlers! {
    /// A processor's request, writeback or hint goes on to the home's node.
    Request = "request", request_cycles;
    /// An answer goes on to the processor.
    Reply = "reply", reply_cycles;
    /// A refusal: the request is to be tried again.
    Refusal = "refusal", refusal_cycles;
    /// A shared copy from memory.
    Read = "read", read_cycles;
    /// Ownership from memory.
    Write = "write", write_cycles;
    /// Ownership, and invalidations first.
    WriteInvalidate = "write-invalidate", write_invalidate_cycles;
    /// A request goes on to the owner.
    Forward = "forward", forward_cycles;
    /// A request is refused.
    Refuse = "refuse", refuse_cycles;
    /// A line comes back.
    Writeback = "writeback", writeback_cycles;
    /// A line comes back, and is shared.
    SharingWriteback = "sharing-writeback", sharing_writeback_cycles;
    /// A line has a new owner.
    OwnershipTransfer = "ownership-transfer", ownership_transfer_cycles;
    /// An owner had nothing to answer with.
    ForwardRefused = "forward-refused", forward_refused_cycles;
    /// An acknowledgement, and more are to come.
    Acknowledge = "acknowledge", acknowledge_cycles;
    /// The last acknowledgement.
    LastAcknowledge = "last-acknowledge", last_acknowledge_cycles;
    /// A replacement hint.
    Hint = "hint", hint_cycles;
    /// A forwarded request: the processor is asked for the line.
    Intervention = "intervention", intervention_cycles;
    /// The processor's line goes to who asked.
    Supply = "supply", supply_cycles;
    /// The processor had no line to give.
    SupplyRefused = "supply-refused", supply_refused_cycles;
    /// An invalidation.
    Invalidate = "invalidate", invalidate_cycles;
    /// An invalidation for a cluster.
    Relay = "relay", relay_cycles;
    /// An acknowledgement that this node collects.
    Collect = "collect", collect_cycles;
}

/// The handler of a message at the home, by what it turned out to be.
pub const fn of_home(transaction: Transaction) -> Handler {
    match transaction {
        Transaction::Read | Transaction::ReadDisplacing => Handler::Read,
        Transaction::Write => Handler::Write,
        Transaction::WriteInvalidating => Handler::WriteInvalidate,
        Transaction::Forward => Handler::Forward,
        Transaction::Nack => Handler::Refuse,
        Transaction::Writeback | Transaction::WritebackRace => Handler::Writeback,
        Transaction::SharingWriteback => Handler::SharingWriteback,
        Transaction::OwnershipTransfer => Handler::OwnershipTransfer,
        Transaction::ForwardNack => Handler::ForwardRefused,
        Transaction::Acknowledgement => Handler::Acknowledge,
        Transaction::LastAcknowledgement => Handler::LastAcknowledge,
        Transaction::ReplacementHint => Handler::Hint,
    }
}

/// The handler of a message at the cache side of a node.
pub const fn of_node(kind: MessageKind) -> Handler {
    match kind {
        MessageKind::Nack => Handler::Refusal,
        MessageKind::ForwardGet | MessageKind::ForwardGetExclusive => Handler::Intervention,
        MessageKind::Invalidate => Handler::Invalidate,
        MessageKind::ClusterInvalidate => Handler::Relay,
        MessageKind::InvalidateAcknowledge | MessageKind::ClusterInvalidateAcknowledge => Handler::Collect,
        _ => Handler::Reply,
    }
}

/// Cycles before the first message that each look at a header of several formats costs a handler: who is to be told must be
/// found in it. A copy from memory goes out without that (FLASH dissertation, 5.3.1: the hybrid's reads are as fast as others').
/// That there is nobody to tell shows in the format itself: that is what the hybrid has `ONE_SHARER` for (5.2.2).
#[inline]
pub const fn lookup(spec: &HandlerSpec, handler: Handler) -> u32 {
    match handler {
        Handler::Forward | Handler::WriteInvalidate => spec.format_lookup_cycles,
        _ => 0,
    }
}

/// Cycles of the protocol processor that work on a sharing set takes, but for missing words of the store.
#[inline]
pub fn of_set(spec: &HandlerSpec, work: &SetWork) -> u32 {
    u32::from(work.format_checks) * spec.format_check_cycles
        + u32::from(work.walked) * spec.set_element_cycles
        + u32::from(work.store_words) * spec.store_word_cycles
        + u32::from(work.allocated) * spec.allocate_cycles
        + u32::from(work.freed) * spec.free_cycles
        + u32::from(work.reformatted) * spec.reformat_cycles
}
