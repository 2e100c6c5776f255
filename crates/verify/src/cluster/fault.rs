//! Planted faults of the protocol between nodes, each in one rule: the checker must find all of them.

use protocol::cluster::{DirectoryState, Entry, Intervention, Line, Message, MessageKind};
use protocol::snoop::{Command, Reply, Rights};
use protocol::{Access, Version};

use super::loads_and_stores;
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
    /// A device does or sends something else, in any of its steps.
    Device(fn(&mut AtDevice<'_>)),
    /// The home does or sends something else, when it handles a message.
    Home(fn(&mut AtHome<'_>)),
    /// The home serves requests and writebacks of a busy line as if the owner were known.
    ServeBusy,
    /// The home serves a request for a poisoned line.
    ServePoisoned,
    /// A device replies to a command of its node's caches.
    Reply(fn(&Line, Command, Reply) -> Reply),
    /// A device requests the bus.
    Request(fn(&Line, Option<Command>) -> Option<Command>),
}

/// A step at a device.
pub struct AtDevice<'a> {
    /// Message handled; `None` if the step is a transaction of the bus or a replacement.
    pub message: Option<&'a Message>,
    /// The line, before.
    pub before: &'a Line,
    /// Contents of the block cache or of memory, before.
    pub before_contents: Version,
    /// The line, after.
    pub line: &'a mut Line,
    /// Contents of the block cache or of memory, after.
    pub contents: &'a mut Version,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

impl AtDevice<'_> {
    /// Whether the step handles a message of this type.
    fn handles(&self, kind: MessageKind) -> bool {
        self.message.is_some_and(|message| message.kind == kind)
    }

    /// Whether the step completes a bus transaction of the device for such an intervention.
    fn completes(&self, such: fn(Intervention) -> bool) -> bool {
        self.message.is_none() && self.line.intervention.is_none() && self.before.intervention.is_some_and(such)
    }
}

/// A step at the home.
pub struct AtHome<'a> {
    /// Message handled.
    pub message: &'a Message,
    /// The entry, before.
    pub before: &'a Entry,
    /// Contents of memory, before.
    pub before_memory: Version,
    /// The entry, after.
    pub entry: &'a mut Entry,
    /// Contents of memory, after.
    pub memory: &'a mut Version,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

/// Writes, or lines, to which a fault applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// All.
    Nothing,
    /// Those that wait for acknowledgements.
    Waiting,
    /// Those that do not.
    Early,
    /// Lines that the home's own node poisons.
    Poison,
}

/// Faults that can be planted, for writes that wait for acknowledgements or do not.
pub fn faults(early_grant: bool) -> Vec<Planted> {
    let has = |needs| matches!(needs, Needs::Nothing | Needs::Poison) || (needs == Needs::Early) == early_grant;
    let known = table().into_iter().filter(|&(.., needs, _)| has(needs));
    known
        .map(|(name, breaks, cpus, needs, plant)| {
            let mut config = loads_and_stores(cpus, if cpus == 4 { 2 } else { 1 });
            config.accesses.extend((needs == Needs::Poison).then_some(Access::PoisonRead));
            Planted { fault: Fault { name, breaks, config }, plant }
        })
        .collect()
}

/// Name, property violated, processors (four are two on each of two nodes), writes, fault.
type Row = (&'static str, Property, u16, Needs, Plant);

#[rustfmt::skip]
fn table() -> Vec<Row> {
    use MessageKind as K;
    use Needs::{Early, Nothing, Poison, Waiting};
    use Plant::{Device, Home, Reply as Replies, Request};
    use Property as P;
    vec![
        // The home grants the right to write and invalidates no sharer.
        ("forget-invalidations", P::SingleWriter, 3, Nothing, Home(|at| { at.sent.retain(|message| message.kind != K::Invalidate); at.sent.iter_mut().for_each(|message| message.acknowledgements = 0); })),
        // An invalidation is lost.
        ("lose-invalidation", P::DeadlockFreedom, 2, Waiting, Home(|at| at.sent.retain(|message| message.kind != K::Invalidate))),
        // The home does not list a reader.
        ("forget-sharer", P::DirectoryAgreement, 2, Nothing, Home(|at| if at.message.kind == K::Read && at.entry.state == DirectoryState::Shared { at.entry.sharers = at.before.sharers; })),
        // The home does not list the former owner, which goes on reading.
        ("forget-former-owner", P::DirectoryAgreement, 2, Nothing, Home(|at| if let (K::SharingWriteback, DirectoryState::Forwarded { owner, .. }) = (at.message.kind, at.before.state) { at.entry.sharers &= !(1 << owner.0); })),
        // Memory ignores the data of a writeback.
        ("drop-writeback", P::DirectoryAgreement, 2, Nothing, Home(|at| if at.message.kind == K::Writeback { *at.memory = at.before_memory; })),
        // A late writeback is taken for the owner's.
        ("accept-late-writeback", P::LatestValue, 2, Nothing, Home(|at| if at.message.kind == K::Writeback { *at.memory = at.message.version; })),
        // Memory ignores the data of a sharing writeback.
        ("ignore-sharing-writeback", P::DirectoryAgreement, 3, Nothing, Home(|at| if at.message.kind == K::SharingWriteback { *at.memory = at.before_memory; })),
        // The home does not wait for the report of an owner.
        ("serve-while-busy", P::ExpectedMessage, 2, Nothing, Plant::ServeBusy),
        // An upgrade is granted although the requester's copy has been invalidated.
        ("upgrade-nothing", P::ExpectedMessage, 2, Nothing, Home(|at| if at.message.kind == K::Upgrade { at.sent.iter_mut().filter(|message| message.kind == K::DataExclusive).for_each(|message| { message.kind = K::UpgradeAcknowledge; message.version = Version(0); }); })),
        // The owner does not report that it has answered a request to read.
        ("drop-sharing-writeback", P::DeadlockFreedom, 2, Nothing, Device(|at| at.sent.retain(|message| message.kind != K::SharingWriteback))),
        // The owner does not report that it has given the line away.
        ("drop-transfer", P::DeadlockFreedom, 2, Nothing, Device(|at| at.sent.retain(|message| message.kind != K::OwnershipTransfer))),
        // The block cache keeps old contents when the line arrives.
        ("keep-old-contents", P::LatestValue, 2, Nothing, Device(|at| if at.handles(K::Data) { *at.contents = at.before_contents; })),
        // The block cache is not updated when another node reads.
        ("forget-update", P::LatestValue, 2, Nothing, Device(|at| if at.completes(|what| matches!(what, Intervention::Share { .. })) { *at.contents = at.before_contents; })),
        // Data that an invalidation has overtaken are used.
        ("use-overtaken-data", P::SingleWriter, 3, Nothing, Device(|at| if let Some(request) = &mut at.line.request { request.invalidated = false; })),
        // The right to write is used before the acknowledgements have arrived.
        ("wait-for-no-acknowledgement", P::SingleWriter, 2, Waiting, Device(|at| if at.line.collection.announced { at.line.rights = Rights::Write; })),
        // Another node is answered before the acknowledgements have arrived.
        ("answer-early", P::LatestValue, 3, Early, Request(|line, _| Line { collection: Default::default(), ..*line }.bus_request())),
        // An invalidation is acknowledged before the bus has performed it.
        ("acknowledge-early", P::SingleWriter, 2, Waiting, Device(acknowledge_early)),
        // The line leaves the block cache without a transaction on the bus.
        ("replace-silently", P::SingleWriter, 2, Nothing, Device(|at| if at.line.intervention == Some(Intervention::Replace) { (at.line.intervention, at.line.rights) = (None, Rights::None); })),
        // The line is forgotten before the home has acknowledged its writeback.
        ("forget-writeback", P::ExpectedMessage, 2, Nothing, Device(|at| at.line.writeback = None)),
        // The device lets every transaction pass.
        ("stay-silent", P::SingleWriter, 2, Nothing, Replies(|_, _, _| Reply::default())),
        // The device does not reply "shared" for a line that other nodes may read.
        ("hide-other-nodes", P::SingleWriter, 2, Nothing, Replies(|_, _, reply| Reply { shared: false, ..reply })),
        // The device lets a cache write a line that its node may only read.
        ("write-without-right", P::SingleWriter, 4, Nothing, Replies(|_, command, reply| if command == Command::Upgrade { Reply::default() } else { reply })),
        // Copies are downgraded that should be invalidated.
        ("take-half", P::SingleWriter, 2, Nothing, Request(|_, command| command.map(|_| Command::ReadForeign))),
        // A request for a poisoned line is served.
        ("serve-poisoned", P::ExpectedMessage, 2, Poison, Plant::ServePoisoned),
        // The refusal of a request for a poisoned line is lost.
        ("lose-refusal", P::DeadlockFreedom, 2, Poison, Home(|at| at.sent.retain(|message| message.kind != K::Poison))),
        // A right is requested for a retried transaction, and the request is lost.
        ("forget-request", P::DeadlockFreedom, 2, Nothing, Device(|at| if at.message.is_none() { at.sent.retain(|message| message.kind != K::Read); })),
    ]
}

fn acknowledge_early(at: &mut AtDevice<'_>) {
    let performs = |what| matches!(what, Intervention::Invalidate { .. });
    if at.completes(performs) {
        at.sent.retain(|message| message.kind != MessageKind::InvalidateAcknowledge);
    }
    if let (Some(message), true) = (at.message, at.line.intervention.is_some_and(performs))
        && message.kind == MessageKind::Invalidate
    {
        let acknowledgement = MessageKind::InvalidateAcknowledge;
        let to = protocol::Agent::Interface(message.requester);
        at.sent.push(Message::new(acknowledgement, message.line, to, message.requester));
    }
}
