//! Encoding of a cluster's states in bytes, under new names of nodes.

use protocol::cluster::{Collection, DirectoryState, Entry, Intervention, Line, Message, MessageKind, Request};
use protocol::snoop::{Protocol, Rights};
use protocol::{Agent, Version};
use units::NodeId;

use super::state::{ClusterState, LATEST, MAX_NODES, STALE};
use super::{ClusterModel, HOME, LINE};
use crate::bus::ExploredBus;
use crate::directory::{Reader, Writer};

/// Bytes of a node besides its caches.
const NODE_BYTES: usize = 3;
/// Bytes of the directory entry.
const ENTRY_BYTES: usize = 3;

/// Names of nodes: new ones by old ones.
pub type Names = [u8; MAX_NODES];
pub const SAME: Names = [0, 1, 2, 3, 4, 5];

const REQUESTS: [MessageKind; 4] =
    [MessageKind::Read, MessageKind::ReadExclusive, MessageKind::Upgrade, MessageKind::PoisonRead];

impl<const OWNED: bool> ClusterModel<OWNED> {
    /// Appends a state under new names: the entry, then for each node the line and the caches, then the messages.
    pub(super) fn pack(&self, state: &ClusterState, names: &Names, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&pack_entry(state, names));
        let old = |new: usize| (0..self.nodes).find(|&old| usize::from(names[old]) == new).unwrap_or(new);
        for node in (0..self.nodes).map(old) {
            let word = pack_line(&state.lines[node], node, state.contents[node], names);
            bytes.extend_from_slice(&word.to_le_bytes()[..NODE_BYTES]);
            let start = bytes.len();
            bytes.extend(state.caches[self.cpus_of(node)].iter().map(Protocol::pack_cache));
            if self.symmetry {
                bytes[start..].sort_unstable();
            }
        }
        let start = bytes.len();
        for &word in state.messages() {
            let renamed = if *names == SAME { word } else { pack_message(&unpack_message(word), names) };
            bytes.extend_from_slice(&renamed.to_be_bytes());
        }
        if *names != SAME {
            bytes[start..].as_chunks_mut::<2>().0.sort_unstable();
        }
    }

    /// Reads a state.
    pub(super) fn unpack(&self, bytes: &[u8]) -> ClusterState {
        let mut state = ClusterState::initial();
        state.entry = unpack_entry([bytes[0], bytes[1], bytes[2]]);
        let mut rest = &bytes[ENTRY_BYTES..];
        for node in 0..self.nodes {
            let word = u32::from_le_bytes([rest[0], rest[1], rest[2], 0]);
            (state.lines[node], state.contents[node]) = unpack_line(word);
            rest = &rest[NODE_BYTES..];
            for cpu in self.cpus_of(node) {
                state.caches[cpu] = Protocol::unpack_cache(rest[0]);
                rest = &rest[1..];
            }
        }
        rest.as_chunks::<2>().0.iter().for_each(|&word| state.send(u16::from_be_bytes(word)));
        state
    }
}

fn pack_entry(state: &ClusterState, names: &Names) -> [u8; ENTRY_BYTES] {
    let node = |node: NodeId| u32::from(names[node.index()]);
    let mut word = Writer::default();
    match state.entry.state {
        DirectoryState::Shared => word.put(2, 0).put(7, 0),
        DirectoryState::Owned { owner } => word.put(2, 1).put(3, node(owner)).put(4, 0),
        DirectoryState::Forwarded { owner, requester, exclusive } => {
            word.put(2, 2).put(3, node(owner)).put(3, node(requester)).put(1, exclusive.into())
        }
    };
    // The widest state takes nine bits.
    word.put(6, 0).put(1, state.entry.poisoned.into());
    let sharers = (0..MAX_NODES).filter(|node| state.entry.sharers >> node & 1 == 1);
    let renamed = sharers.fold(0, |renamed: u8, node| renamed | 1 << names[node]);
    let [low, high, ..] = word.word().to_le_bytes();
    [low, high, renamed]
}

fn unpack_entry([low, high, sharers]: [u8; ENTRY_BYTES]) -> Entry {
    let bits = u16::from_le_bytes([low, high]);
    let mut word = Reader::new(bits.into());
    let tag = word.take(2);
    let mut node = || NodeId(word.take(3) as u16);
    let state = match tag {
        0 => DirectoryState::Shared,
        1 => DirectoryState::Owned { owner: node() },
        _ => DirectoryState::Forwarded { owner: node(), requester: node(), exclusive: word.flag() },
    };
    Entry { state, sharers: sharers.into(), poisoned: bits >> 15 == 1 }
}

/// Packs a line and its contents. Contents of a block cache without the line are packed as stale, because they
/// distinguish no states.
fn pack_line(line: &Line, node: usize, contents: Version, names: &Names) -> u32 {
    let held = node == HOME.index() || line.rights != Rights::None || line.collection.announced;
    let mut word = Writer::default();
    word.put(2, line.rights as u32)
        .put(2, line.wanted.map_or(0, |rights| rights as u32))
        .put(3, line.request.map_or(0, |request| 1 + request.kind as u32 - MessageKind::Read as u32))
        .put(1, line.request.is_some_and(|request| request.invalidated).into())
        .put(4, line.collection.balance as u32 & 0xf)
        .put(1, line.collection.announced.into());
    let (tag, requester) = match line.intervention {
        None => (0, HOME),
        Some(Intervention::Share { requester }) => (1, requester),
        Some(Intervention::Take { requester }) => (2, requester),
        Some(Intervention::Invalidate { requester }) => (3, requester),
        Some(Intervention::Replace) => (4, HOME),
    };
    word.put(3, tag).put(3, names[requester.index()].into());
    word.put(2, line.writeback.map_or(0, |version| 1 + version.0)).put(1, line.unused.into());
    word.put(1, line.poisons.into());
    word.put(1, u32::from(held && contents == LATEST));
    word.word()
}

fn unpack_line(word: u32) -> (Line, Version) {
    let mut word = Reader::new(word);
    let rights = Rights::ALL[word.take(2) as usize];
    let wanted = Some(Rights::ALL[word.take(2) as usize]).filter(|&wanted| wanted != Rights::None);
    let (kind, invalidated) = (word.take(3), word.flag());
    let request = (kind as usize).checked_sub(1).map(|kind| Request { kind: REQUESTS[kind], invalidated });
    // Four bits, in two's complement.
    let balance = ((word.take(4) << 12) as u16 as i16) >> 12;
    let collection = Collection { balance, announced: word.flag() };
    let (tag, requester) = (word.take(3), NodeId(word.take(3) as u16));
    let intervention = match tag {
        0 => None,
        1 => Some(Intervention::Share { requester }),
        2 => Some(Intervention::Take { requester }),
        3 => Some(Intervention::Invalidate { requester }),
        _ => Some(Intervention::Replace),
    };
    let writeback = word.take(2).checked_sub(1).map(Version);
    let (unused, poisons) = (word.flag(), word.flag());
    let contents = if word.flag() { LATEST } else { STALE };
    (Line { rights, wanted, request, collection, intervention, writeback, poisons, unused }, contents)
}

/// Packs a message under new names.
pub fn pack_message(message: &Message, names: &Names) -> u16 {
    let node = |node: NodeId| u32::from(names[node.index()]);
    let (to_home, to) = match message.to {
        Agent::Interface(to) => (false, node(to)),
        _ => (true, 0),
    };
    let mut word = Writer::default();
    word.put(4, message.kind as u32)
        .put(1, to_home.into())
        .put(3, to)
        .put(3, node(message.requester))
        .put(1, message.version.0)
        .put(3, message.acknowledgements.into());
    word.word() as u16
}

/// Packs a message.
pub fn packed(message: &Message) -> u16 {
    pack_message(message, &SAME)
}

/// Unpacks a message.
pub fn unpack_message(word: u16) -> Message {
    let mut word = Reader::new(word.into());
    let kind = MessageKind::ALL[word.take(4) as usize];
    let (to_home, to) = (word.flag(), NodeId(word.take(3) as u16));
    let requester = NodeId(word.take(3) as u16);
    let to = if to_home { Agent::Home(HOME) } else { Agent::Interface(to) };
    let version = Version(word.take(1));
    Message::new(kind, LINE, to, requester).with_version(version).with_acknowledgements(word.take(3) as u16)
}

/// A packed message with its data, if any, older than the last store.
pub fn aged(word: u16) -> u16 {
    packed(&unpack_message(word).with_version(STALE))
}
