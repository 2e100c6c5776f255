//! Encoding of a server's states in bytes.

use protocol::server::{
    Bits, CachingLine, Cause, ClusterState, CoreLine, Early, EarlyResponse, External, Found, Grant, Holders, HomeLine,
    L3Copy, Message, MessageKind, Request, Stage, Transaction,
};
use protocol::{Access, Agent, CopyState, Version};
use units::{CpuId, LineAddr, NodeId};

use super::state::{LATEST, STALE};
use super::{HOME, ServerModel, ServerState};
use crate::directory::{Reader, Writer};

/// Bits of a message below its channel.
const CHANNEL_SHIFT: u32 = 15;
/// Bytes of a line at a core.
const CORE_BYTES: usize = 1;
/// Words of a line at a caching agent, and at its home.
const AGENT_WORDS: usize = 2;
const HOME_WORDS: usize = 3;

/// Channel of a packed message: its line, destination and sender.
pub fn channel(word: u32) -> u32 {
    word >> CHANNEL_SHIFT
}

/// Whether a message brings data to a read that keeps no copy.
pub fn is_current(message: &Message) -> bool {
    use MessageKind as K;
    match message.kind {
        K::CoreRspVData => true,
        K::GoData | K::Data | K::ForwardedData => message.grant == Grant::None,
        _ => false,
    }
}

/// Packs a message.
pub fn pack_message(message: &Message) -> u32 {
    let mut word = Writer::default();
    word.put(6, message.kind as u32)
        .put(2, message.requester.0.into())
        .put(3, message.grant as u32)
        .put(1, message.dirty.into())
        .put(1, message.sole.into())
        .put(2, message.version.0)
        .put(4, pack_agent(message.from))
        .put(4, pack_agent(message.to))
        .put(1, message.line.0 as u32);
    word.word()
}

/// Unpacks a message.
pub fn unpack_message(word: u32) -> Message {
    let mut word = Reader::new(word);
    let kind = MessageKind::ALL[word.take(6) as usize];
    let requester = NodeId(word.take(2) as u16);
    let grant = GRANTS[word.take(3) as usize];
    let (dirty, sole, version) = (word.flag(), word.flag(), Version(word.take(2)));
    let (from, to) = (unpack_agent(word.take(4)), unpack_agent(word.take(4)));
    let line = LineAddr(word.take(1).into());
    Message { line, version, to, from, requester, grant, dirty, sole, kind }
}

const GRANTS: [Grant; 5] = [Grant::None, Grant::Shared, Grant::Forward, Grant::Exclusive, Grant::Modified];

fn pack_agent(agent: Agent) -> u32 {
    match agent {
        Agent::Processor(core) => u32::from(core.0) << 2,
        Agent::Interface(cluster) => u32::from(cluster.0) << 2 | 1,
        Agent::Home(_) | Agent::Sharers => 2,
    }
}

fn unpack_agent(word: u32) -> Agent {
    match word & 3 {
        0 => Agent::Processor(CpuId((word >> 2) as u16)),
        1 => Agent::Interface(NodeId((word >> 2) as u16)),
        _ => Agent::Home(HOME),
    }
}

const COPIES: [CopyState; 4] = [CopyState::INVALID, CopyState::SHARED, CopyState::EXCLUSIVE, CopyState::MODIFIED];

fn pack_core(line: &CoreLine) -> u8 {
    let copy = COPIES.iter().position(|&copy| copy == line.copy).unwrap_or_default() as u32;
    let request =
        line.request.map_or(0, |access| 1 + Access::ALL.iter().position(|&a| a == access).unwrap_or(0) as u32);
    let latest = line.copy.is_valid() && line.contents == LATEST;
    let mut word = Writer::default();
    word.put(2, copy).put(3, request).put(1, latest.into());
    word.word() as u8
}

fn unpack_core(byte: u8) -> CoreLine {
    let mut word = Reader::new(byte.into());
    let copy = COPIES[word.take(2) as usize];
    let request = word.take(3).checked_sub(1).map(|access| Access::ALL[access as usize]);
    CoreLine { copy, request, contents: if word.flag() { LATEST } else { STALE } }
}

const STATES: [ClusterState; 5] =
    [ClusterState::Invalid, ClusterState::Shared, ClusterState::Forward, ClusterState::Owned, ClusterState::Exclusive];

fn kind(word: &mut Reader) -> MessageKind {
    MessageKind::ALL[word.take(6) as usize]
}

fn pack_agent_line(line: &CachingLine) -> [u32; AGENT_WORDS] {
    let mut copies = Writer::default();
    copies
        .put(3, line.state as u32)
        .put(2, line.l3 as u32)
        .put(2, if line.l3 == L3Copy::None { 0 } else { line.contents.0 })
        .put(2, line.found as u32)
        .put(2, if line.found == Found::None { 0 } else { line.transit.0 })
        .put(1, line.sole.into())
        .put(4, line.cores as u32)
        .put(4, line.awaited as u32);
    let mut work = Writer::default();
    match line.request {
        None => work.put(1, 0),
        Some(Request { core, kind, stage }) => {
            work.put(1, 1).put(2, core.0.into()).put(6, kind as u32);
            match stage {
                Stage::Cores => work.put(2, 0),
                Stage::Home(asked) => work.put(2, 1).put(6, asked as u32),
                Stage::Data(asked) => work.put(2, 2).put(6, asked as u32),
                Stage::Completion(asked) => work.put(2, 3).put(6, asked as u32),
            }
        }
    };
    match line.external {
        None => work.put(2, 0),
        Some(External::Snoop { kind, requester }) => work.put(2, 1).put(6, kind as u32).put(2, requester.0.into()),
        Some(External::ReplaceL3) => work.put(2, 2),
        Some(External::ReplaceFilter) => work.put(2, 3),
    };
    [copies.word(), work.word()]
}

fn unpack_agent_line([copies, work]: [u32; AGENT_WORDS]) -> CachingLine {
    let (mut copies, mut work) = (Reader::new(copies), Reader::new(work));
    let state = STATES[copies.take(3) as usize];
    let l3 = [L3Copy::None, L3Copy::Clean, L3Copy::Dirty][copies.take(2) as usize];
    let contents = Version(copies.take(2));
    let found = [Found::None, Found::Clean, Found::Dirty][copies.take(2) as usize];
    let transit = Version(copies.take(2));
    let (sole, cores, awaited) = (copies.flag(), copies.take(4).into(), copies.take(4).into());
    let request = work.flag().then(|| {
        let (core, kind) = (CpuId(work.take(2) as u16), kind(&mut work));
        let stage = match work.take(2) {
            0 => Stage::Cores,
            1 => Stage::Home(self::kind(&mut work)),
            2 => Stage::Data(self::kind(&mut work)),
            _ => Stage::Completion(self::kind(&mut work)),
        };
        Request { core, kind, stage }
    });
    let external = match work.take(2) {
        0 => None,
        1 => Some(External::Snoop { kind: kind(&mut work), requester: NodeId(work.take(2) as u16) }),
        2 => Some(External::ReplaceL3),
        _ => Some(External::ReplaceFilter),
    };
    CachingLine { cores, awaited, request, external, contents, transit, found, state, l3, sole }
}

fn put_cluster(word: &mut Writer, cluster: Option<NodeId>) {
    word.put(3, cluster.map_or(0, |cluster| 1 + u32::from(cluster.0)));
}

fn cluster(word: &mut Reader) -> Option<NodeId> {
    word.take(3).checked_sub(1).map(|cluster| NodeId(cluster as u16))
}

fn pack_home(line: &HomeLine) -> [u32; HOME_WORDS] {
    let mut entry = Writer::default();
    entry.put(2, line.bits as u32).put(2, line.memory.0);
    match line.entry {
        None => entry.put(1, 0),
        Some(Holders { sharers, owner }) => {
            put_cluster(entry.put(1, 1).put(4, sharers as u32), owner);
            &mut entry
        }
    };
    let mut busy = Writer::default();
    if let Some(transaction) = line.busy {
        busy.put(1, 1).put(4, transaction.awaited as u32).put(4, transaction.kept as u32);
        put_cluster(&mut busy, transaction.owner);
        put_cluster(&mut busy, transaction.forwarder);
        for flag in [
            transaction.complete,
            transaction.others,
            transaction.written,
            transaction.superseded,
            transaction.granted,
            transaction.acknowledged,
        ] {
            busy.put(1, flag.into());
        }
        match transaction.cause {
            Cause::Replacement => busy.put(1, 0),
            Cause::Request { kind, requester } => busy.put(1, 1).put(6, kind as u32).put(2, requester.0.into()),
        };
    }
    let mut early = Writer::default();
    for slot in &line.early {
        match slot.response {
            EarlyResponse::Outstanding => early.put(2, 0),
            EarlyResponse::Conflict => early.put(2, 1),
            EarlyResponse::Overtaken => early.put(2, 2),
            EarlyResponse::Answered { kind, sole } => early.put(2, 3).put(6, kind as u32).put(1, sole.into()),
        };
        // Only five requests: their distance from the first.
        early.put(3, slot.request.map_or(0, |kind| 1 + kind as u32 - MessageKind::ReadData as u32));
    }
    [entry.word(), busy.word(), early.word()]
}

fn unpack_home([entry, busy, early]: [u32; HOME_WORDS]) -> HomeLine {
    let (mut entry, mut busy, mut early) = (Reader::new(entry), Reader::new(busy), Reader::new(early));
    let bits = [Bits::Invalid, Bits::Shared, Bits::Any][entry.take(2) as usize];
    let memory = Version(entry.take(2));
    let holders = entry.flag().then(|| Holders { sharers: entry.take(4).into(), owner: cluster(&mut entry) });
    let transaction = busy.flag().then(|| {
        let (awaited, kept) = (busy.take(4).into(), busy.take(4).into());
        let (owner, forwarder) = (cluster(&mut busy), cluster(&mut busy));
        let [complete, others, written, superseded, granted, acknowledged] = std::array::from_fn(|_| busy.flag());
        let cause = if busy.flag() {
            Cause::Request { kind: kind(&mut busy), requester: NodeId(busy.take(2) as u16) }
        } else {
            Cause::Replacement
        };
        Transaction {
            awaited,
            kept,
            owner,
            forwarder,
            cause,
            complete,
            others,
            written,
            superseded,
            granted,
            acknowledged,
        }
    });
    let early = std::array::from_fn(|_| {
        let response = match early.take(2) {
            0 => EarlyResponse::Outstanding,
            1 => EarlyResponse::Conflict,
            2 => EarlyResponse::Overtaken,
            _ => EarlyResponse::Answered { kind: kind(&mut early), sole: early.flag() },
        };
        let first = MessageKind::ReadData as usize;
        let request = early.take(3).checked_sub(1).map(|kind| MessageKind::ALL[first + kind as usize]);
        Early { response, request }
    });
    HomeLine { entry: holders, busy: transaction, early, memory, bits }
}

impl ServerModel {
    /// Appends a state: for each line its cores, caching agents and home, then the messages.
    pub(super) fn pack(&self, state: &ServerState, bytes: &mut Vec<u8>) {
        for line in &state.lines[..self.lines] {
            bytes.extend(line.cores[..self.cores].iter().map(pack_core));
            for agent in &line.agents[..self.clusters] {
                pack_agent_line(agent).iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            }
            pack_home(&line.home).iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        state.messages().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }

    /// Reads a state.
    pub(super) fn unpack(&self, bytes: &[u8]) -> ServerState {
        let mut state = ServerState::initial();
        let mut rest = bytes;
        for line in &mut state.lines[..self.lines] {
            for core in &mut line.cores[..self.cores] {
                *core = unpack_core(rest[0]);
                rest = &rest[CORE_BYTES..];
            }
            for agent in &mut line.agents[..self.clusters] {
                *agent = unpack_agent_line(words(&mut rest));
            }
            line.home = unpack_home(words(&mut rest));
        }
        while !rest.is_empty() {
            let [word] = words(&mut rest);
            state.send(word, self.keeps_order(&unpack_message(word)));
        }
        state
    }
}

/// Takes words from the front of an encoding.
fn words<const N: usize>(rest: &mut &[u8]) -> [u32; N] {
    std::array::from_fn(|_| {
        let (word, after) = rest.split_first_chunk::<4>().map_or(([0; 4], &[][..]), |(word, after)| (*word, after));
        *rest = after;
        u32::from_le_bytes(word)
    })
}
