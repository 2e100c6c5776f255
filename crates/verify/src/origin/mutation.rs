//! Planted faults, each in one rule of the protocol: the checker must find all of them.

use protocol::origin::{
    CacheLine, DirectoryEntry, DirectoryState, Message, MessageKind, Outbox, Pending, SharerVector,
};
use units::NodeId;

use crate::config::Config;
use crate::model::Property;
use crate::registry::Fault;

/// A fault in one rule of the protocol. A checker that does not find it proves nothing about that rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Mutation {
    /// A node invalidates its copies and does not acknowledge.
    DropInvalidateAcknowledgement,
    /// A node acknowledges an invalidation and keeps its copies.
    KeepInvalidatedCopy,
    /// A processor interface invalidates the copy of its first processor only (two processors per node).
    SkipPeerInvalidation,
    /// The home's reply announces one acknowledgement fewer than are in flight.
    ExpectTooFewAcknowledgements,
    /// The home omits the last of several sharers.
    ForgetSharer,
    /// The home changes to `UOWN` instead of `WAIT`.
    SkipWait,
    /// The acknowledgement of a writeback that crossed an intervention is that of a plain writeback.
    AcknowledgeRacingWritebackAsPlain,
    /// A deferred intervention is dropped when the request completes.
    IgnoreDeferredIntervention,
    /// A modified owner answers like a clean one: the requester uses the speculative data.
    UseSpeculativeData,
    /// A read ignores that an invalidation overtook its answer.
    ForgetOvertakingInvalidation,
    /// A modified owner that downgrades does not send the line to memory.
    DowngradeWithoutWriteback,
    /// A modified line is dropped as silently as a clean one.
    DropModifiedLine,
    /// A NACKed request is not retried.
    ForgetRetry,
    /// The home NACKs every upgrade, and a processor whose copy is still present retries it forever.
    NackUpgrades,
    /// The home does not record the priority of requests that it NACKs while busy.
    ForgetPriority,
}

impl Mutation {
    /// Every fault.
    const ALL: [Self; 15] = [
        Self::DropInvalidateAcknowledgement,
        Self::KeepInvalidatedCopy,
        Self::SkipPeerInvalidation,
        Self::ExpectTooFewAcknowledgements,
        Self::ForgetSharer,
        Self::SkipWait,
        Self::AcknowledgeRacingWritebackAsPlain,
        Self::IgnoreDeferredIntervention,
        Self::UseSpeculativeData,
        Self::ForgetOvertakingInvalidation,
        Self::DowngradeWithoutWriteback,
        Self::DropModifiedLine,
        Self::ForgetRetry,
        Self::NackUpgrades,
        Self::ForgetPriority,
    ];

    /// Short name.
    const fn name(self) -> &'static str {
        match self {
            Self::DropInvalidateAcknowledgement => "drop-invalidate-acknowledgement",
            Self::KeepInvalidatedCopy => "keep-invalidated-copy",
            Self::SkipPeerInvalidation => "skip-peer-invalidation",
            Self::ExpectTooFewAcknowledgements => "expect-too-few-acknowledgements",
            Self::ForgetSharer => "forget-sharer",
            Self::SkipWait => "skip-wait",
            Self::AcknowledgeRacingWritebackAsPlain => "acknowledge-racing-writeback-as-plain",
            Self::IgnoreDeferredIntervention => "ignore-deferred-intervention",
            Self::UseSpeculativeData => "use-speculative-data",
            Self::ForgetOvertakingInvalidation => "forget-overtaking-invalidation",
            Self::DowngradeWithoutWriteback => "downgrade-without-writeback",
            Self::DropModifiedLine => "drop-modified-line",
            Self::ForgetRetry => "forget-retry",
            Self::NackUpgrades => "nack-upgrades",
            Self::ForgetPriority => "forget-priority",
        }
    }

    /// Property that the fault violates in the fewest steps.
    const fn breaks(self) -> Property {
        match self {
            Self::DropInvalidateAcknowledgement | Self::IgnoreDeferredIntervention | Self::ForgetRetry => {
                Property::DeadlockFreedom
            }
            Self::KeepInvalidatedCopy
            | Self::SkipPeerInvalidation
            | Self::ExpectTooFewAcknowledgements
            | Self::UseSpeculativeData
            | Self::ForgetOvertakingInvalidation => Property::LatestValue,
            Self::ForgetSharer | Self::DowngradeWithoutWriteback | Self::DropModifiedLine => {
                Property::DirectoryAgreement
            }
            Self::SkipWait | Self::AcknowledgeRacingWritebackAsPlain => Property::ExpectedMessage,
            Self::NackUpgrades => Property::EventualCompletion,
            Self::ForgetPriority => Property::BoundedOvertaking,
        }
    }

    /// Registry entries of the faults.
    pub(super) fn faults() -> Vec<Fault> {
        Self::ALL
            .iter()
            .map(|&mutation| {
                // A second processor on the same node needs two processors per node.
                let processors_per_node = if mutation == Self::SkipPeerInvalidation { 2 } else { 1 };
                let config = Config { processors_per_node, ..Config::new(2, 1) };
                Fault { name: mutation.name(), breaks: mutation.breaks(), config }
            })
            .collect()
    }

    /// Fault of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutation| mutation.name() == name)
    }

    /// Whether a fault makes the home NACK a request that it would grant.
    pub(super) fn nacks(self, request: &Message) -> bool {
        self == Self::NackUpgrades && request.kind == MessageKind::Upgrade
    }

    /// Applies a fault at the home to the entry and the messages.
    pub(super) fn at_home(self, line: &mut DirectoryEntry, outbox: &mut Outbox, nodes: u16) {
        match self {
            Self::SkipWait if line.state == DirectoryState::Wait => *line = DirectoryEntry::UNOWNED,
            Self::ForgetPriority => line.priority = 0,
            Self::ForgetSharer => line.sharers = without_last(line.sharers, nodes),
            Self::ExpectTooFewAcknowledgements => {
                for message in outbox.as_mut_slice() {
                    message.acknowledgements = message.acknowledgements.saturating_sub(1);
                }
            }
            Self::AcknowledgeRacingWritebackAsPlain => {
                rename(outbox, MessageKind::WritebackBusyAcknowledge, MessageKind::WritebackExclusiveAcknowledge);
            }
            _ => {}
        }
    }

    /// Applies a fault at a processor to its line and the messages.
    pub(super) fn at_processor(self, line: &mut CacheLine, outbox: &mut Outbox) {
        match self {
            Self::UseSpeculativeData => {
                rename(outbox, MessageKind::SharedResponse, MessageKind::SharedAcknowledge);
                rename(outbox, MessageKind::ExclusiveResponse, MessageKind::ExclusiveAcknowledge);
            }
            Self::DowngradeWithoutWriteback => {
                rename(outbox, MessageKind::SharingWriteback, MessageKind::SharingTransfer);
            }
            Self::DropModifiedLine if matches!(line.pending, Pending::Writeback { .. }) => {
                outbox.clear();
                line.pending = Pending::None;
            }
            Self::IgnoreDeferredIntervention if matches!(line.pending, Pending::Intervention(_)) => {
                line.pending = Pending::None;
            }
            _ => {}
        }
    }

    /// Applies a fault in the processor interface to a line that has just been invalidated; `before` is the line
    /// before, and `first` whether it belongs to the node's first processor.
    pub(super) fn at_interface(self, line: &mut CacheLine, before: CacheLine, first: bool) {
        match self {
            Self::KeepInvalidatedCopy => *line = before,
            Self::SkipPeerInvalidation if !first => *line = before,
            Self::ForgetOvertakingInvalidation => {
                if let Pending::Request(request) = &mut line.pending {
                    request.invalidated = false;
                }
            }
            _ => {}
        }
    }
}

fn rename(outbox: &mut Outbox, from: MessageKind, to: MessageKind) {
    for message in outbox.as_mut_slice().iter_mut().filter(|message| message.kind == from) {
        *message = Message { kind: to, ..Message::new(to, message.line, message.to, message.requester) };
    }
}

fn without_last(sharers: SharerVector, nodes: u16) -> SharerVector {
    let named: Vec<u16> = (0..nodes).filter(|&node| sharers.contains(NodeId(node))).collect();
    match named.as_slice() {
        [kept @ .., _] if !kept.is_empty() => {
            kept.iter().fold(SharerVector::EMPTY, |sharers, &node| sharers.with(NodeId(node)))
        }
        _ => sharers,
    }
}
