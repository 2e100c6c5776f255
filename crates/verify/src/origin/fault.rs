//! Planted faults of the Origin protocol, each in one rule: the checker must find all of them.

use protocol::Agent;
use protocol::origin::{DirectoryEntry, DirectoryState, Message, MessageKind, Pending, Protocol, SharerVector};
use units::NodeId;

use crate::config::Config;
use crate::directory::{AtCaches, AtHome, Plant, Planted};
use crate::model::Property;

type Step<'a> = AtCaches<'a, Protocol>;
type HomeStep<'a> = AtHome<'a, Protocol>;

/// Every fault.
pub fn faults() -> Vec<Planted<Protocol>> {
    let planted = |(name, breaks, plant)| {
        // A second processor on the same node needs two processors per node.
        let processors_per_node = if name == "skip-peer-invalidation" { 2 } else { 1 };
        Planted { name, breaks, config: Config { processors_per_node, ..Config::new(2, 1) }, plant }
    };
    table().into_iter().map(planted).collect()
}

/// Every fault: its name, the property that it violates in the fewest steps, and the fault.
#[rustfmt::skip]
fn table() -> Vec<(&'static str, Property, Plant<Protocol>)> {
    use MessageKind as K;
    use Plant::{Caches, Home, NoRetry, Refuse};
    use Property as P;
    vec![
        // A node invalidates its copies and does not acknowledge.
        ("drop-invalidate-acknowledgement", P::DeadlockFreedom, Caches(|step| step.sent.retain(|message| message.kind != K::InvalidateAcknowledge))),
        // A node acknowledges an invalidation and keeps its copies.
        ("keep-invalidated-copy", P::LatestValue, Caches(|step| keep_copies(step, 0))),
        // A processor interface invalidates the copy of its first processor only (two processors per node).
        ("skip-peer-invalidation", P::LatestValue, Caches(|step| keep_copies(step, 1))),
        // The home's reply announces one acknowledgement fewer than are in flight.
        ("expect-too-few-acknowledgements", P::LatestValue, Home(|_, step| expect_too_few(step))),
        // The home omits the last of several sharers.
        ("forget-sharer", P::DirectoryAgreement, Home(forget_sharer)),
        // The home changes to `UOWN` instead of `WAIT`.
        ("skip-wait", P::ExpectedMessage, Home(|_, step| skip_wait(step))),
        // The acknowledgement of a writeback that crossed an intervention is that of a plain writeback.
        ("acknowledge-racing-writeback-as-plain", P::ExpectedMessage, Home(|_, step| rename(step.sent, K::WritebackBusyAcknowledge, K::WritebackExclusiveAcknowledge))),
        // A deferred intervention is dropped when the request completes.
        ("ignore-deferred-intervention", P::DeadlockFreedom, Caches(ignore_deferred)),
        // A modified owner answers like a clean one: the requester uses the speculative data.
        ("use-speculative-data", P::LatestValue, Caches(use_speculative_data)),
        // A read ignores that an invalidation overtook its answer.
        ("forget-overtaking-invalidation", P::LatestValue, Caches(forget_overtaking)),
        // A modified owner that downgrades does not send the line to memory.
        ("downgrade-without-writeback", P::DirectoryAgreement, Caches(|step| rename(step.sent, K::SharingWriteback, K::SharingTransfer))),
        // A modified line is dropped as silently as a clean one.
        ("drop-modified-line", P::DirectoryAgreement, Caches(drop_modified)),
        // A NACKed request is not retried.
        ("forget-retry", P::DeadlockFreedom, NoRetry),
        // The home NACKs every upgrade, and a processor whose copy is still present retries it forever.
        ("nack-upgrades", P::EventualCompletion, Refuse(nack_upgrade)),
        // The home does not record the priority of requests that it NACKs while busy.
        ("forget-priority", P::BoundedOvertaking, Home(|_, step| step.line.entry.priority = 0)),
    ]
}

/// Keeps the copies that an invalidation should remove, of all processors of the node from number `from` on.
fn keep_copies(step: &mut Step<'_>, from: usize) {
    if step.handles(|message| message.kind == MessageKind::Invalidate) {
        step.lines[from..].copy_from_slice(&step.before[from..]);
    }
}

fn expect_too_few(step: &mut HomeStep<'_>) {
    for message in step.sent.iter_mut() {
        message.acknowledgements = message.acknowledgements.saturating_sub(1);
    }
}

fn forget_sharer(protocol: &Protocol, step: &mut HomeStep<'_>) {
    let sharers = &mut step.line.entry.sharers;
    let named: Vec<_> = (0..protocol.geometry.nodes).map(NodeId).filter(|&node| sharers.contains(node)).collect();
    if let [kept @ .., _] = named.as_slice()
        && !kept.is_empty()
    {
        *sharers = kept.iter().fold(SharerVector::EMPTY, |sharers, &node| sharers.with(node));
    }
}

fn skip_wait(step: &mut HomeStep<'_>) {
    if step.line.entry.state == DirectoryState::Wait {
        step.line.entry = DirectoryEntry::UNOWNED;
    }
}

fn ignore_deferred(step: &mut Step<'_>) {
    if let Pending::Intervention(_) = step.lines[0].pending {
        step.lines[0].pending = Pending::None;
    }
}

fn use_speculative_data(step: &mut Step<'_>) {
    rename(step.sent, MessageKind::SharedResponse, MessageKind::SharedAcknowledge);
    rename(step.sent, MessageKind::ExclusiveResponse, MessageKind::ExclusiveAcknowledge);
}

fn forget_overtaking(step: &mut Step<'_>) {
    if step.handles(|message| message.kind == MessageKind::Invalidate) {
        for line in step.lines.iter_mut() {
            if let Pending::Request(request) = &mut line.pending {
                request.invalidated = false;
            }
        }
    }
}

fn drop_modified(step: &mut Step<'_>) {
    if let Pending::Writeback { .. } = step.lines[0].pending {
        step.sent.clear();
        step.lines[0].pending = Pending::None;
    }
}

fn nack_upgrade(request: &Message) -> Option<Message> {
    let Message { kind, line, requester, .. } = *request;
    (kind == MessageKind::Upgrade)
        .then(|| Message::new(MessageKind::Nack, line, Agent::Processor(requester), requester))
}

fn rename(sent: &mut [Message], from: MessageKind, to: MessageKind) {
    for message in sent.iter_mut().filter(|message| message.kind == from) {
        *message = Message::new(to, message.line, message.to, message.requester);
    }
}
