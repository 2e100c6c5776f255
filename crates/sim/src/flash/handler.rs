//! MAGIC's handlers: the code for each message, and its time in cycles.

use machine::description::HandlerSpec;
use protocol::msi::{MessageKind, SetWork, Transaction};

/// Declares the handlers with their names and the fields of the machine description that give their times.
macro_rules! handlers {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $field:ident;)*) => {
        /// A piece of code that the protocol processor runs for one message.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Handler { $($(#[$doc])* $name,)* }

        impl Handler {
            /// Every handler, in the order in which they stand in memory.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in tables.
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
    /// A NACK: the request is to be retried.
    Refusal = "refusal", refusal_cycles;
    /// A shared copy from memory.
    Read = "read", read_cycles;
    /// Ownership from memory.
    Write = "write", write_cycles;
    /// Ownership from memory, after invalidations.
    WriteInvalidate = "write-invalidate", write_invalidate_cycles;
    /// A request goes on to the owner.
    Forward = "forward", forward_cycles;
    /// A request receives a NACK.
    Refuse = "refuse", refuse_cycles;
    /// A line is written back.
    Writeback = "writeback", writeback_cycles;
    /// A line is written back by an owner that keeps a shared copy.
    SharingWriteback = "sharing-writeback", sharing_writeback_cycles;
    /// A line has a new owner.
    OwnershipTransfer = "ownership-transfer", ownership_transfer_cycles;
    /// An owner had no copy to answer with.
    ForwardRefused = "forward-refused", forward_refused_cycles;
    /// An invalidation acknowledgement that is not the last.
    Acknowledge = "acknowledge", acknowledge_cycles;
    /// The last invalidation acknowledgement.
    LastAcknowledge = "last-acknowledge", last_acknowledge_cycles;
    /// A replacement hint.
    Hint = "hint", hint_cycles;
    /// A forwarded request, which becomes an intervention at the processor.
    Intervention = "intervention", intervention_cycles;
    /// The owner's line goes to the requester.
    Supply = "supply", supply_cycles;
    /// The processor had no copy to supply.
    SupplyRefused = "supply-refused", supply_refused_cycles;
    /// An invalidation.
    Invalidate = "invalidate", invalidate_cycles;
    /// An invalidation for all nodes of a cluster.
    Relay = "relay", relay_cycles;
    /// An acknowledgement that this node collects.
    Collect = "collect", collect_cycles;
}

/// The handler of a message at the home, by its transaction.
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

/// Cycles before the first message for each format check of a header with several formats, to find the owner or the
/// sharers in it. A copy from memory goes out without that check (FLASH dissertation, 5.3.1: the hybrid's reads are as
/// fast as those of other protocols), as does a grant without sharers: the hybrid's format `ONE_SHARER` shows that by
/// itself (5.2.2).
#[inline]
pub const fn lookup(spec: &HandlerSpec, handler: Handler) -> u32 {
    match handler {
        Handler::Forward | Handler::WriteInvalidate => spec.format_lookup_cycles,
        _ => 0,
    }
}

/// Protocol processor cycles for work on a sharing set, without data cache misses on words of the store.
#[inline]
pub fn of_set(spec: &HandlerSpec, work: &SetWork) -> u32 {
    u32::from(work.format_checks) * spec.format_check_cycles
        + u32::from(work.walked) * spec.set_element_cycles
        + u32::from(work.store_words) * spec.store_word_cycles
        + u32::from(work.allocated) * spec.allocate_cycles
        + u32::from(work.freed) * spec.free_cycles
        + u32::from(work.reformatted) * spec.reformat_cycles
}
