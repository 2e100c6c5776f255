//! Transition tables of servers, derived from the handlers: the documented tables cannot differ from the running code.

use units::{CpuId, LineAddr, NodeId};

use super::{
    Bits, CachingLine, CachingOutcome, CachingSite, Cause, ClusterState, CoreLine, CoreOutcome, CoreSite, Design,
    Found, Grant, Holders, HomeKind, HomeLine, HomeOutcome, HomeSite, L3, L3Copy, Leaves, Message, MessageKind,
    Request, Sharing, Stage, Transaction, at_caching_agent, at_core, at_home,
};
use crate::{Access, Agent, CopyState, ProtocolError, Version};

/// The transition tables as Markdown, which the test `server` of this crate derives from the handlers and holds current.
pub const TRANSITIONS: &str = include_str!("../../TRANSITIONS-server.md");

const LINE: LineAddr = LineAddr(0);
const HOME: NodeId = NodeId(0);
/// Cluster of the home, cluster of the sender of a message, and another one.
const LOCAL: NodeId = NodeId(0);
const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);

/// Designs with tables: their names and parameters.
pub const DESIGNS: [(&str, Design); 5] = [
    ("home snoop", design(L3::Inclusive, Sharing::Mesif, HomeKind::HomeSnoop)),
    ("early snoop", Design { clusters: 2, ..design(L3::Inclusive, Sharing::Mesif, HomeKind::EarlySnoop) }),
    ("directory", design(L3::Victim, Sharing::Mesif, HomeKind::Directory { cached: false })),
    ("directory with cache", design(L3::Victim, Sharing::Mesif, HomeKind::Directory { cached: true })),
    ("probe filter", design(L3::Victim, Sharing::Moesi, HomeKind::ProbeFilter)),
];

const fn design(l3: L3, sharing: Sharing, home: HomeKind) -> Design {
    Design { clusters: 3, cores: 2, l3, sharing, home }
}

/// A cell of a home's table: a message from one cluster ("me") meets a line.
#[derive(Clone, Debug)]
pub struct HomeCase {
    /// Line before, from the sender's point of view.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Outcome, or the reason why the message cannot arrive.
    pub result: Result<HomeOutcome, ProtocolError>,
    /// Messages sent, and when they leave.
    pub sent: Vec<(MessageKind, Leaves)>,
    /// Line after.
    pub next: HomeLine,
}

/// Cells of a home's table. The home's own cluster is neither me nor the other one, except with early snoop, which has two.
pub fn home_cases(design: Design) -> impl Iterator<Item = HomeCase> {
    let (me, other) = if design.clusters == 2 { (NodeId(0), NodeId(1)) } else { (ME, OTHER) };
    let bits = |bits| HomeLine { bits, ..HomeLine::default() };
    let entry = |sharers, owner| HomeLine {
        entry: Some(Holders { sharers, owner }),
        bits: if design.home == HomeKind::ProbeFilter { Bits::Invalid } else { Bits::Any },
        ..HomeLine::default()
    };
    let request = Cause::Request { kind: MessageKind::ReadData, requester: me };
    let other_request = Cause::Request { kind: MessageKind::ReadData, requester: other };
    let busy = |cause, awaited: u64, granted| HomeLine {
        busy: Some(Transaction { awaited, granted, ..Transaction::new(cause) }),
        ..HomeLine::default()
    };
    let (is_me, is_other) = (1 << me.0, 1 << other.0);
    let mut situations = vec![
        ("idle", HomeLine::default()),
        ("RdData of another under way, I am snooped", busy(other_request, is_me, false)),
        ("my RdData under way, another is snooped", busy(request, is_other, false)),
        ("my RdData granted", busy(request, 0, true)),
    ];
    match design.home {
        HomeKind::HomeSnoop | HomeKind::EarlySnoop => {}
        HomeKind::Directory { cached } => {
            situations.extend([("bits S", bits(Bits::Shared)), ("bits A", bits(Bits::Any))]);
            if cached {
                situations.extend([
                    ("entry: another owns", entry(0, Some(other))),
                    ("entry: another shares", entry(is_other, None)),
                ]);
            }
        }
        HomeKind::ProbeFilter => situations.extend([
            ("entry: I own", entry(0, Some(me))),
            ("entry: another owns", entry(0, Some(other))),
            ("entry: another owns, I share", entry(is_me, Some(other))),
            ("entry: another and I share", entry(is_me | is_other, None)),
        ]),
    }
    let to_home = |kind: &&MessageKind| {
        (MessageKind::ReadData as u8..=MessageKind::CompletionAck as u8).contains(&(**kind as u8))
            || (MessageKind::RspI as u8..=MessageKind::RspConflict as u8).contains(&(**kind as u8))
    };
    situations.into_iter().flat_map(move |(situation, line)| {
        MessageKind::ALL
            .iter()
            .filter(to_home)
            .map(move |&kind| at_home_case(&design, situation, line, kind, (me, other)))
    })
}

fn at_home_case(
    design: &Design,
    situation: &'static str,
    mut line: HomeLine,
    kind: MessageKind,
    (me, other): (NodeId, NodeId),
) -> HomeCase {
    let site = HomeSite { home: HOME, line: LINE, local: (design.home != HomeKind::ProbeFilter).then_some(LOCAL) };
    let responds = kind as u8 >= MessageKind::RspI as u8;
    let requester = if responds { other } else { me };
    let message = Message::new(kind, LINE, Agent::Interface(me), Agent::Home(HOME)).for_cluster(requester);
    let mut sent = Vec::new();
    let mut send = |message: Message, leaves| sent.push((message.kind, leaves));
    let result = at_home(&mut line, design, &site, &message, false, &mut send);
    HomeCase { situation, kind, result, sent, next: line }
}

/// A cell of a caching agent's table.
#[derive(Clone, Debug)]
pub struct CachingCase {
    /// Line before.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Outcome, or the reason why the message cannot arrive.
    pub result: Result<CachingOutcome, ProtocolError>,
    /// Messages sent.
    pub sent: Vec<MessageKind>,
    /// Line after.
    pub next: CachingLine,
}

/// Cells of the table of cluster 0's caching agent. Messages of cores are from core 0; core 1 is the other core.
pub fn caching_cases(design: Design) -> impl Iterator<Item = CachingCase> {
    use ClusterState as C;
    let line = |state, l3, cores, sole| CachingLine { state, l3, cores, sole, ..CachingLine::default() };
    let asked = |kind, asked| CachingLine {
        request: Some(Request { core: CpuId(0), kind, stage: Stage::Home(asked) }),
        ..CachingLine::default()
    };
    let below = if design.l3 == L3::Inclusive { L3Copy::Clean } else { L3Copy::None };
    let snooped = |state, sole| CachingLine {
        request: Some(Request { core: CpuId(1), kind: MessageKind::CoreRead, stage: Stage::Cores }),
        awaited: 1,
        ..line(state, below, 1, sole)
    };
    let mut situations = vec![
        ("I", CachingLine::default()),
        ("S, L3 clean", line(C::Shared, L3Copy::Clean, 0, false)),
        ("S, cores 0 and 1", line(C::Shared, below, 3, false)),
        ("E, L3 dirty", line(C::Exclusive, L3Copy::Dirty, 0, false)),
        ("E, core 1 may write", line(C::Exclusive, below, 2, true)),
        ("E, core 0 may write", line(C::Exclusive, below, 1, true)),
        ("E, core 0 snooped for core 1", snooped(C::Exclusive, true)),
        ("RdData sent", asked(MessageKind::CoreRead, MessageKind::ReadData)),
        ("RdInvOwn sent", asked(MessageKind::CoreReadOwn, MessageKind::ReadOwn)),
        (
            "S, core 0, InvItoE sent",
            CachingLine {
                state: C::Shared,
                l3: below,
                cores: 1,
                ..asked(MessageKind::CoreUpgrade, MessageKind::Upgrade)
            },
        ),
        ("InvItoE sent, copies lost", asked(MessageKind::CoreReadOwn, MessageKind::Upgrade)),
    ];
    match design.sharing {
        Sharing::Mesif => situations.push(("F, L3 clean", line(C::Forward, L3Copy::Clean, 0, false))),
        Sharing::Moesi => situations.push(("O, L3 dirty, core 1", line(C::Owned, L3Copy::Dirty, 2, false))),
    }
    let to_agent = |kind: &&MessageKind| {
        let is_from_core = **kind as u8 <= MessageKind::CoreRspVData as u8;
        let is_snoop = (MessageKind::SnoopData as u8..=MessageKind::SnoopFlush as u8).contains(&(**kind as u8));
        is_from_core || is_snoop || **kind as u8 >= MessageKind::ForwardedData as u8
    };
    situations.into_iter().flat_map(move |(situation, line)| {
        MessageKind::ALL.iter().filter(to_agent).map(move |&kind| at_agent_case(&design, situation, line, kind))
    })
}

fn at_agent_case(design: &Design, situation: &'static str, mut line: CachingLine, kind: MessageKind) -> CachingCase {
    let site = CachingSite { cluster: NodeId(0), line: LINE, home: HOME };
    let from = if kind as u8 <= MessageKind::CoreRspVData as u8 {
        Agent::Processor(CpuId(0))
    } else if kind == MessageKind::ForwardedData {
        Agent::Interface(NodeId(1))
    } else {
        Agent::Home(HOME)
    };
    let grant = match kind {
        MessageKind::Data if line.asked() == Some(MessageKind::ReadData) => Grant::Exclusive,
        MessageKind::ForwardedData => Grant::Forward,
        _ => Grant::Exclusive,
    };
    let message = Message::new(kind, LINE, from, Agent::Interface(NodeId(0)))
        .for_cluster(NodeId(1))
        .with_grant(grant)
        .with_dirty(kind == MessageKind::CoreRspSData);
    let mut sent = Vec::new();
    let result = at_caching_agent(&mut line, design, &site, &message, &mut |message| sent.push(message.kind));
    CachingCase { situation, kind, result, sent, next: line }
}

/// A cell of a core's table.
#[derive(Clone, Debug)]
pub struct CoreCase {
    /// Line before.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Outcome, or the reason why the message cannot arrive.
    pub result: Result<CoreOutcome, ProtocolError>,
    /// Messages sent.
    pub sent: Vec<MessageKind>,
    /// Line after.
    pub next: CoreLine,
}

/// Cells of a core's table. Completions grant the right to write.
pub fn core_cases() -> impl Iterator<Item = CoreCase> {
    let (_, design) = DESIGNS[0];
    let line = |copy, request| CoreLine { copy, request, contents: Version(0) };
    let situations = [
        ("I", line(CopyState::INVALID, None)),
        ("S", line(CopyState::SHARED, None)),
        ("E", line(CopyState::EXCLUSIVE, None)),
        ("M", line(CopyState::MODIFIED, None)),
        ("I, RFO sent", line(CopyState::INVALID, Some(Access::Store))),
        ("S, SpecItoM sent", line(CopyState::SHARED, Some(Access::Store))),
    ];
    let to_core = |kind: &&MessageKind| {
        (MessageKind::GoData as u8..=MessageKind::CoreSnoopCurrent as u8).contains(&(**kind as u8))
    };
    situations.into_iter().flat_map(move |(situation, line)| {
        MessageKind::ALL.iter().filter(to_core).map(move |&kind| {
            let (mut line, mut sent) = (line, Vec::new());
            let site = CoreSite { core: CpuId(0), line: LINE };
            let message = Message::new(kind, LINE, Agent::Interface(LOCAL), Agent::Processor(CpuId(0)))
                .with_grant(Grant::Modified);
            let result = at_core(&mut line, &design, &site, &message, &mut |message| sent.push(message.kind));
            CoreCase { situation, kind, result, sent, next: line }
        })
    })
}

/// Text of a line at a caching agent.
pub fn describe_caching(line: &CachingLine) -> String {
    let state = match line.state {
        ClusterState::Invalid => "I",
        ClusterState::Shared => "S",
        ClusterState::Forward => "F",
        ClusterState::Owned => "O",
        ClusterState::Exclusive => "E",
    };
    let l3 = match line.l3 {
        L3Copy::None => "",
        L3Copy::Clean => ", L3 clean",
        L3Copy::Dirty => ", L3 dirty",
    };
    let cores = match (line.cores, line.sole) {
        (0, _) => String::new(),
        (cores, true) => format!(", core {} may write", cores.trailing_zeros()),
        (cores, false) => format!(", cores {cores:#b}"),
    };
    let stage = match line.request {
        None => String::new(),
        Some(Request { stage: Stage::Home(kind), .. }) => format!(", {} sent", kind.mnemonic()),
        Some(Request { stage: Stage::Data(_), .. }) => ", data awaited".into(),
        Some(Request { stage: Stage::Completion(_), .. }) => ", Cmp awaited".into(),
        Some(Request { stage: Stage::Cores, .. }) => ", cores snooped for a core".into(),
    };
    let external = if line.external.is_some() { ", cores snooped for another agent" } else { "" };
    let found = if line.found == Found::None { "" } else { ", data held" };
    format!("{state}{l3}{cores}{stage}{external}{found}")
}

/// Text of a line at a home.
pub fn describe_home(line: &HomeLine) -> String {
    let bits = match line.bits {
        Bits::Invalid => "I",
        Bits::Shared => "S",
        Bits::Any => "A",
    };
    let entry = line.entry.map_or(String::new(), |holders| {
        let owner = holders.owner.map_or("none".into(), |owner| owner.0.to_string());
        format!(", entry: owner {owner}, sharers {:#b}", holders.sharers)
    });
    let busy = match line.busy {
        None => String::new(),
        Some(busy) if busy.granted => ", granted".into(),
        Some(busy) => format!(", awaits {:#b}", busy.awaited),
    };
    format!("{bits}{entry}{busy}")
}
