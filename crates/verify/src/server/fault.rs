//! Planted faults of the protocol of servers, each in one rule: the checker must find all of them.

use protocol::server::{
    CachingLine, Cause, ClusterState, CoreLine, EarlyResponse, External, Grant, HomeKind, HomeLine, L3, L3Copy,
    Message, MessageKind, Sharing,
};
use protocol::{Agent, CopyState};

use super::{Variant, loads_and_stores};
use crate::entry::Fault;
use crate::model::Property;

/// A fault that can be planted in one rule.
pub struct Planted {
    /// Registry entry.
    pub fault: Fault,
    /// The fault.
    pub plant: Plant,
}

/// A fault.
#[derive(Clone, Copy)]
pub enum Plant {
    /// A core does or sends something else, in any of its steps.
    Core(fn(&mut AtCore<'_>)),
    /// A caching agent does or sends something else, in any of its steps.
    Agent(fn(&mut AtAgent<'_>)),
    /// The home does or sends something else, in any of its steps.
    Home(fn(&mut AtHome<'_>)),
    /// The home serves requests of a busy line.
    ServeBusy,
    /// These messages do not keep the order that the protocol needs.
    NoOrder(fn(&Message) -> bool),
}

/// A step at a core.
pub struct AtCore<'a> {
    /// Message handled; `None` if the step is an access or an eviction.
    pub message: Option<&'a Message>,
    /// The line, before.
    pub before: &'a CoreLine,
    /// The line, after.
    pub line: &'a mut CoreLine,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

/// A step at a caching agent.
pub struct AtAgent<'a> {
    /// The line, before.
    pub before: &'a CachingLine,
    /// The line, after.
    pub line: &'a mut CachingLine,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

/// A step at the home.
pub struct AtHome<'a> {
    /// Message handled; `None` if the step is a replacement.
    pub message: Option<&'a Message>,
    /// The line, before.
    pub before: &'a HomeLine,
    /// The line, after.
    pub line: &'a mut HomeLine,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

impl AtCore<'_> {
    fn handles(&self, kind: MessageKind) -> bool {
        self.message.is_some_and(|message| message.kind == kind)
    }
}

impl AtAgent<'_> {
    fn sends(&self, kinds: &[MessageKind]) -> bool {
        self.sent.iter().any(|message| kinds.contains(&message.kind))
    }

    /// Whether a replacement of this kind begins, or ends when the last core has responded.
    fn replaces(&self, what: External) -> (bool, bool) {
        let (before, after) = (self.before.external == Some(what), self.line.external == Some(what));
        (!before && after, before && !after)
    }
}

impl AtHome<'_> {
    fn handles(&self, kinds: &[MessageKind]) -> bool {
        self.message.is_some_and(|message| kinds.contains(&message.kind))
    }
}

/// Faults that can be planted in a variant.
pub(super) fn faults(variant: &Variant) -> Vec<Planted> {
    let known = table().into_iter().filter(|row| (row.applies)(variant));
    known
        .map(|Row { name, breaks, cores: (cores, per_cluster), plant, .. }| {
            let fault = Fault { name, breaks: breaks(variant), config: loads_and_stores(cores, per_cluster, 1) };
            Planted { fault, plant }
        })
        .collect()
}

/// A row of the table of faults.
struct Row {
    name: &'static str,
    /// Property violated in the fewest steps.
    breaks: fn(&Variant) -> Property,
    /// Cores, and cores of a cluster.
    cores: (u16, u16),
    /// Variants that have the rule.
    applies: fn(&Variant) -> bool,
    plant: Plant,
}

fn every(_: &Variant) -> bool {
    true
}

fn inclusive(variant: &Variant) -> bool {
    variant.l3 == L3::Inclusive
}

fn victim(variant: &Variant) -> bool {
    variant.l3 == L3::Victim
}

fn mesif(variant: &Variant) -> bool {
    variant.sharing == Sharing::Mesif
}

fn moesi(variant: &Variant) -> bool {
    variant.sharing == Sharing::Moesi
}

fn early(variant: &Variant) -> bool {
    variant.home == HomeKind::EarlySnoop
}

fn directory(variant: &Variant) -> bool {
    matches!(variant.home, HomeKind::Directory { .. })
}

fn cached(variant: &Variant) -> bool {
    variant.home == HomeKind::Directory { cached: true }
}

fn filter(variant: &Variant) -> bool {
    variant.home == HomeKind::ProbeFilter
}

/// Every fault. Two clusters of a core each, or a cluster of two cores.
#[rustfmt::skip]
fn table() -> Vec<Row> {
    use MessageKind as K;
    use Plant::{Agent as AtAgents, Core, Home, NoOrder};
    use Property as P;
    const APART: (u16, u16) = (2, 1);
    const TOGETHER: (u16, u16) = (2, 2);
    let row = |name, breaks, cores, applies, plant| Row { name, breaks, cores, applies, plant };
    vec![
        // A core answers an invalidation and keeps its copy.
        row("keep-invalidated-copy", |_| P::DirectoryAgreement, TOGETHER, every, Core(|at| if at.handles(K::CoreSnoopInvalidate) { *at.line = *at.before; })),
        // A core answers a snoop for a read and goes on writing.
        row("keep-right-to-write", |_| P::DirectoryAgreement, TOGETHER, every, Core(|at| if at.handles(K::CoreSnoopData) { at.line.copy = at.before.copy; })),
        // A core drops a modified copy.
        row("drop-modified-copy", |_| P::DirectoryAgreement, TOGETHER, every, Core(|at| at.sent.retain(|message| message.kind != K::DirtyEvict))),
        // A core beside a victim L3 drops a clean copy silently.
        row("drop-clean-copy", |_| P::ExpectedMessage, TOGETHER, victim, Core(|at| at.sent.retain(|message| message.kind != K::CleanEvict))),
        // A response of a core is lost.
        row("lose-core-response", |_| P::DeadlockFreedom, TOGETHER, every, Core(|at| at.sent.retain(|message| !matches!(message.kind, K::CoreRspI | K::CoreRspS | K::CoreRspIData | K::CoreRspSData)))),
        // A caching agent does not note the core that it supplies.
        row("forget-core", |_| P::DirectoryAgreement, TOGETHER, every, AtAgents(|at| if at.sends(&[K::GoData]) { at.line.cores = at.before.cores; })),
        // A caching agent does not note that a core may write.
        row("forget-writer", |_| P::DirectoryAgreement, TOGETHER, every, AtAgents(|at| if at.sends(&[K::GoData, K::Go]) { at.line.sole = false; })),
        // A core gets the only copy beside others of its cluster.
        row("grant-beside-cores", |_| P::SingleWriter, TOGETHER, every, AtAgents(|at| at.sent.iter_mut().filter(|message| message.kind == K::GoData && message.grant == Grant::Shared).for_each(|message| message.grant = Grant::Exclusive))),
        // A caching agent responds to an invalidation and keeps the line.
        row("keep-cluster-copy", |variant| if early(variant) { P::ExpectedMessage } else if moesi(variant) { P::DirectoryAgreement } else { P::SingleWriter }, APART, every, AtAgents(|at| if at.sends(&[K::RspI, K::RspIFwd]) { at.line.state = at.before.state; })),
        // A forwarder remains one.
        row("stay-forwarder", |_| P::SingleWriter, APART, mesif, AtAgents(|at| if at.sends(&[K::RspSFwd, K::RspSFwdWb]) { at.line.state = at.before.state; })),
        // An owner of dirty data that shares them takes them for clean.
        row("forget-ownership", |_| P::DirectoryAgreement, APART, moesi, AtAgents(|at| if at.sends(&[K::RspFwd]) { at.line.state = ClusterState::Shared; at.line.l3 = L3Copy::Clean; })),
        // Dirty data are shared and not sent to memory.
        row("share-without-writeback", |_| P::DirectoryAgreement, APART, mesif, AtAgents(|at| at.sent.iter_mut().filter(|message| message.kind == K::RspSFwdWb).for_each(|message| { message.kind = K::RspSFwd; message.version = protocol::Version(0); }))),
        // A writeback is lost.
        row("lose-writeback", |_| P::DirectoryAgreement, APART, every, AtAgents(|at| at.sent.retain(|message| !matches!(message.kind, K::WritebackInvalid | K::WritebackKeep)))),
        // A response to a snoop is lost.
        row("lose-response", |_| P::DeadlockFreedom, APART, every, AtAgents(|at| at.sent.retain(|message| message.kind != K::RspI))),
        // The requester does not acknowledge.
        row("lose-acknowledgement", |_| P::DeadlockFreedom, APART, every, AtAgents(|at| at.sent.retain(|message| message.kind != K::CompletionAck))),
        // An entry of the snoop filter is replaced, and the cores keep their copies.
        row("replace-filter-silently", |_| P::DirectoryAgreement, TOGETHER, victim, AtAgents(|at| if at.replaces(External::ReplaceFilter).0 { at.sent.clear(); (at.line.external, at.line.cores, at.line.awaited) = (None, 0, 0); })),
        // Dirty data of a core whose filter entry is replaced are dropped.
        row("drop-filtered-data", |_| P::DirectoryAgreement, TOGETHER, victim, AtAgents(|at| if at.replaces(External::ReplaceFilter).1 { at.line.l3 = L3Copy::None; at.line.state = ClusterState::Invalid; })),
        // A line of an inclusive L3 is replaced, and the cores keep their copies.
        row("replace-l3-silently", |_| P::DirectoryAgreement, TOGETHER, inclusive, AtAgents(|at| if at.replaces(External::ReplaceL3).0 { at.sent.clear(); (at.line.external, at.line.cores, at.line.awaited) = (None, 0, 0); (at.line.l3, at.line.state) = (L3Copy::None, ClusterState::Invalid); })),
        // Early snoop: an agent with a request of its own answers another's snoop as if it had none.
        row("hide-conflict", |_| P::SingleWriter, APART, early, AtAgents(|at| at.sent.iter_mut().filter(|message| message.kind == K::RspConflict).for_each(|message| message.kind = K::RspI))),
        // Early snoop: the home serves a request that met a conflict before the one that was answered first.
        row("ignore-order", |_| P::SingleWriter, APART, early, Home(|at| at.line.early.iter_mut().filter(|slot| slot.response == EarlyResponse::Conflict).for_each(|slot| slot.response = EarlyResponse::Overtaken))),
        // The home serves a request while another one of the line is under way.
        row("serve-while-busy", |_| P::ExpectedMessage, APART, every, Plant::ServeBusy),
        // The home completes a request before the caching agents that it has snooped have responded.
        row("complete-early", |variant| if moesi(variant) { P::SingleWriter } else { P::ExpectedMessage }, APART, |variant| !early(variant), Home(complete_early)),
        // The home ignores the data of a writeback.
        row("ignore-writeback", |_| P::DirectoryAgreement, APART, every, Home(|at| if at.handles(&[K::WritebackInvalid, K::WritebackKeep]) { at.line.memory = at.before.memory; })),
        // The home ignores the data that come with a response.
        row("ignore-response-data", |_| P::DirectoryAgreement, APART, mesif, Home(|at| if at.handles(&[K::RspSFwdWb]) { at.line.memory = at.before.memory; })),
        // The home grants the only copy beside others.
        row("grant-beside-clusters", |_| P::SingleWriter, (3, 1), |variant| !early(variant), Home(|at| at.sent.iter_mut().filter(|message| message.kind == K::Data).for_each(|message| message.grant = Grant::Exclusive))),
        // The bits in memory are not written when a remote cluster gets the only copy, or a shared one.
        row("leave-bits", |_| P::DirectoryAgreement, APART, directory, Home(|at| if at.line.bits > at.before.bits { at.line.bits = at.before.bits; })),
        // The bits say "shared" for a remote cluster that has the only copy.
        row("understate-bits", |_| P::DirectoryAgreement, APART, directory, Home(|at| at.line.bits = at.line.bits.min(protocol::server::Bits::Shared))),
        // The directory cache drops an entry, and the bits do not say that there are copies.
        row("drop-entry-and-bits", |_| P::DirectoryAgreement, APART, cached, Home(|at| if at.message.is_none() { at.line.bits = protocol::server::Bits::Invalid; })),
        // The directory cache does not list the remote cluster that has the line now.
        row("forget-holder", |_| P::DirectoryAgreement, APART, cached, Home(|at| if let Some(entry) = &mut at.line.entry { (entry.sharers, entry.owner) = (0, None); })),
        // The probe filter does not list a sharer.
        row("forget-sharer", |_| P::DirectoryAgreement, APART, filter, Home(|at| if let Some(entry) = &mut at.line.entry { entry.sharers = 0; })),
        // The probe filter does not list the owner.
        row("forget-owner", |_| P::DirectoryAgreement, APART, filter, Home(|at| if let Some(entry) = &mut at.line.entry { entry.owner = None; })),
        // An entry of the probe filter is replaced, and the copies stay.
        row("replace-entry-silently", |_| P::DirectoryAgreement, APART, filter, Home(|at| if at.message.is_none() { at.sent.clear(); (at.line.busy, at.line.entry) = (None, None); })),
        // A response of a core overtakes its eviction.
        row("unordered-cores", |variant| if inclusive(variant) { P::LatestValue } else { P::ExpectedMessage }, APART, every, NoOrder(|message| matches!(message.from, Agent::Processor(_)))),
        // A snoop overtakes a completion on its way to a core.
        row("unordered-snoops", |_| P::DirectoryAgreement, APART, every, NoOrder(|message| matches!(message.to, Agent::Processor(_)))),
        // A response of a caching agent overtakes its writeback.
        row("unordered-responses", |variant| if early(variant) { P::DeadlockFreedom } else { P::LatestValue }, APART, every, NoOrder(|message| matches!(message.to, Agent::Home(_)))),
        // A store is performed on a copy that is only shared.
        row("write-shared-copy", |variant| if victim(variant) { P::DirectoryAgreement } else { P::SingleWriter }, APART, every, Core(|at| if at.handles(K::GoData) && at.line.copy == CopyState::SHARED { at.line.copy = CopyState::EXCLUSIVE; })),
    ]
}

/// Completes a request with memory's data while responses are outstanding.
fn complete_early(at: &mut AtHome<'_>) {
    let Some(busy) = &mut at.line.busy else { return };
    let Cause::Request { kind, requester } = busy.cause else { return };
    if at.before.busy.is_some() || busy.awaited == 0 || busy.granted {
        return;
    }
    let Some(snoop) = at.sent.first() else { return };
    let data = Message::new(MessageKind::Data, snoop.line, snoop.from, Agent::Interface(requester));
    let grant = if kind == MessageKind::ReadData { Grant::Shared } else { Grant::Exclusive };
    at.sent.push(data.for_cluster(requester).with_grant(grant).with_version(at.line.memory));
}
