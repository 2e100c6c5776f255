//! States of the model of a cluster, and its steps with their names in traces.

use std::fmt;
use std::ops::Range;

use protocol::cluster::{DirectoryState, Entry, Intervention, Line, Message, MessageKind};
use protocol::snoop::{Cache, Command, Rights};
use protocol::{Access, Agent, Version};

use super::{HOME, codec};
use crate::bus::{ExploredBus, age};
use crate::directory::verb;
pub use crate::directory::{JUST_STORED, LATEST, STALE};

/// Most processors of a model.
pub const MAX_CPUS: usize = 6;
/// Most nodes of a model.
pub const MAX_NODES: usize = MAX_CPUS;
/// Most messages in flight: far more than this number of nodes can have outstanding (checked on every insertion).
const MAX_MESSAGES: usize = 32;

/// The line in every cache and at every device, its directory entry, and the multiset of messages in flight.
#[derive(Clone, PartialEq)]
pub struct ClusterState {
    pub(super) caches: [Cache; MAX_CPUS],
    pub(super) lines: [Line; MAX_NODES],
    /// Contents of the block cache of each node, or of memory at the home.
    pub(super) contents: [Version; MAX_NODES],
    pub(super) entry: Entry,
    /// Messages in flight, packed and sorted.
    messages: [u16; MAX_MESSAGES],
    length: usize,
}

impl ClusterState {
    /// Initial state: nothing is cached or in flight, and the home has the latest contents.
    pub(super) fn initial() -> Self {
        let mut state = Self {
            caches: [Cache::default(); MAX_CPUS],
            lines: [Line::ABSENT; MAX_NODES],
            contents: [STALE; MAX_NODES],
            entry: Entry::uncached(HOME),
            messages: [0; MAX_MESSAGES],
            length: 0,
        };
        state.lines[HOME.index()] = Line::uncached_at_home();
        state.contents[HOME.index()] = LATEST;
        state
    }

    /// Messages in flight, packed and sorted.
    pub(super) fn messages(&self) -> &[u16] {
        &self.messages[..self.length]
    }

    /// Puts a message in flight.
    pub(super) fn send(&mut self, word: u16) {
        assert!(self.length < MAX_MESSAGES, "more than {MAX_MESSAGES} messages in flight");
        let at = self.messages().partition_point(|&other| other <= word);
        self.messages.copy_within(at..self.length, at + 1);
        self.messages[at] = word;
        self.length += 1;
    }

    /// Removes the message at `index` from the network.
    pub(super) fn take(&mut self, index: usize) {
        self.messages.copy_within(index + 1..self.length, index);
        self.length -= 1;
        self.messages[self.length] = 0;
    }

    /// Renumbers all contents after a store by `cpu`: all other contents are older.
    pub(super) fn renumber(&mut self, cpu: usize) {
        self.contents = [STALE; MAX_NODES];
        for (other, cache) in self.caches.iter_mut().enumerate() {
            cache.version = if other == cpu { LATEST } else { STALE };
        }
        for line in &mut self.lines {
            line.writeback = line.writeback.map(|_| STALE);
        }
        for word in &mut self.messages[..self.length] {
            *word = codec::aged(*word);
        }
        self.messages[..self.length].sort_unstable();
    }

    /// Nodes whose copies may be older than the last store, a bit each: a writer collects acknowledgements, and these
    /// have yet to perform their invalidations.
    pub(super) fn may_be_old(&self) -> u32 {
        let writes_early = |line: &Line| line.is_collecting() && line.rights == Rights::Write;
        if !self.lines.iter().any(writes_early) {
            return 0;
        }
        let in_flight = self.messages().iter().map(|&word| codec::unpack_message(word));
        let targets = in_flight.filter_map(|message| match (message.kind, message.to) {
            (MessageKind::Invalidate, Agent::Interface(node)) => Some(node.index()),
            _ => None,
        });
        let waits = |line: &Line| matches!(line.intervention, Some(Intervention::Invalidate { .. }));
        let waiting = (0..MAX_NODES).filter(|&node| waits(&self.lines[node]));
        targets.chain(waiting).fold(0, |nodes, node| nodes | 1 << node)
    }

    /// Description of a node: its caches, device and block cache.
    pub(super) fn describe_node(&self, node: usize, cpus: Range<usize>) -> String {
        let caches = self.caches[cpus].iter().map(|cache| {
            let age = if cache.state == protocol::snoop::Moesi::Invalid { "" } else { age(cache.version) };
            format!("{}{age}", protocol::snoop::Protocol::describe_cache(cache))
        });
        let line = &self.lines[node];
        let mut text = format!("n{node}: {}, may {:?}", caches.collect::<Vec<_>>().join(", "), line.rights);
        if line.rights != Rights::None {
            text += age(self.contents[node]);
        }
        if let Some(request) = line.request {
            text += " ";
            text += request.kind.mnemonic();
            text += if request.invalidated { " invalidated" } else { "" };
        }
        if line.is_collecting() {
            text += &format!(" collects {}", line.collection.balance);
        }
        if let Some(intervention) = line.intervention {
            text += &format!(", to {intervention:?}");
        }
        text += if line.writeback.is_some() { ", WB sent" } else { "" };
        text += if line.poisons { ", to poison" } else { "" };
        text + if line.unused { ", unused" } else { "" }
    }

    /// Description of the home and of the network.
    pub(super) fn describe_home(&self) -> String {
        let state = match self.entry.state {
            DirectoryState::Shared => format!("SHARED {:b}", self.entry.sharers),
            DirectoryState::Owned { owner } => format!("OWNED {owner:?}"),
            DirectoryState::Forwarded { owner, requester, .. } => format!("FORWARDED {owner:?}>{requester:?}"),
        };
        let state = if self.entry.poisoned { format!("{state} poisoned") } else { state };
        let messages = self.messages().iter().map(|&word| describe_message(&codec::unpack_message(word)));
        format!("{state} memory{} | {}", age(self.contents[HOME.index()]), messages.collect::<Vec<_>>().join("; "))
    }
}

fn describe_message(message: &Message) -> String {
    let text = format!("{} for {:?}", message.kind.mnemonic(), message.requester);
    match message.acknowledgements {
        0 => text,
        several => format!("{text}, {several} INVAL_ACK to come"),
    }
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum ClusterStep {
    /// A processor accesses the line.
    Access(usize, Access),
    /// A cache evicts the line.
    Evict(usize),
    /// The block cache of a node replaces the line.
    Replace(usize),
    /// The home's own node takes the line from all caches, because its page leaves the frame.
    Poison,
    /// The poison bit is cleared: the line may be requested again.
    Restore,
    /// A cache performs its bus request.
    Bus(usize, Command),
    /// The device of a node performs its bus request.
    DeviceBus(usize, Command),
    /// A message arrives.
    Deliver(Message),
}

impl fmt::Display for ClusterStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(cpu, access) => write!(f, "cpu{cpu}: {} the line", verb(*access)),
            Self::Evict(cpu) => write!(f, "cpu{cpu}: evicts the line"),
            Self::Replace(node) => write!(f, "n{node}: replaces the line in its block cache"),
            Self::Poison => write!(f, "n{}: poisons the line", HOME.0),
            Self::Restore => write!(f, "home: clears the poison bit"),
            Self::Bus(cpu, command) => write!(f, "bus: {} by cpu{cpu}", command.mnemonic()),
            Self::DeviceBus(node, command) => write!(f, "bus: {} by the device of n{node}", command.mnemonic()),
            Self::Deliver(message) => match message.to {
                Agent::Interface(node) => write!(f, "n{}: receives {}", node.0, describe_message(message)),
                _ => write!(f, "home: receives {}", describe_message(message)),
            },
        }
    }
}
