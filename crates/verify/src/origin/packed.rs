//! States of the Origin model in 32-bit words: one per cache line, one per directory entry, one per message in flight.
//!
//! A step unpacks the words that it changes, runs the protocol's handler, and packs them again. Fields without meaning
//! in their state are packed as zeros, so that they distinguish no states.

use protocol::origin::{
    CacheLine, DirectoryEntry, DirectoryState, HomeAnswer, Intervention, Mesi, Message, MessageKind, OwnerAnswer,
    Pending, Purpose, Request, SharerVector, miss_request,
};
use protocol::{Access, Agent, Version};
use units::{CpuId, LineAddr, NodeId};

/// Most caches that a word can name.
pub const MAX_CACHES: usize = 4;
/// Most lines that a word can name.
pub const MAX_LINES: usize = 2;
/// Most messages in flight: far more than this number of caches can have outstanding (checked on every insertion).
const MAX_MESSAGES: usize = 48;

/// A contiguous field of a word.
#[derive(Clone, Copy)]
pub struct Field {
    shift: u32,
    width: u32,
}

impl Field {
    const fn new(shift: u32, width: u32) -> Self {
        Self { shift, width }
    }

    /// Mask of the field's bits.
    pub const fn mask(self) -> u32 {
        ((1 << self.width) - 1) << self.shift
    }

    /// Value of the field in a word.
    pub const fn get(self, word: u32) -> u32 {
        word >> self.shift & ((1 << self.width) - 1)
    }

    /// Word with another value of the field.
    pub const fn set(self, word: u32, value: u32) -> u32 {
        debug_assert!(value < 1 << self.width);
        word & !self.mask() | value << self.shift
    }
}

/// Fields of a cache line's word.
pub mod cache {
    use super::Field;

    pub const STATE: Field = Field::new(30, 2);
    pub const VERSION: Field = Field::new(28, 2);
    pub const PENDING: Field = Field::new(25, 3);
    pub const ACCESS: Field = Field::new(22, 3);
    pub const UPGRADE: Field = Field::new(21, 1);
    pub const PRIORITY: Field = Field::new(18, 3);
    pub const HOME: Field = Field::new(15, 3);
    pub const OWNER: Field = Field::new(13, 2);
    pub const ACKNOWLEDGEMENTS: Field = Field::new(9, 4);
    pub const INVALIDATED: Field = Field::new(8, 1);
    pub const NACKED: Field = Field::new(7, 1);
    pub const HAS_INTERVENTION: Field = Field::new(6, 1);
    pub const EXCLUSIVE: Field = Field::new(5, 1);
    pub const REQUESTER: Field = Field::new(3, 2);
}

/// Fields of a directory entry's word.
pub mod entry {
    use super::Field;

    pub const STATE: Field = Field::new(29, 3);
    pub const PURPOSE: Field = Field::new(27, 2);
    pub const OWNER: Field = Field::new(25, 2);
    pub const FORMER: Field = Field::new(23, 2);
    pub const SHARERS: Field = Field::new(19, 4);
    pub const PRIORITY: Field = Field::new(16, 3);
    pub const MEMORY: Field = Field::new(14, 2);
    /// Highest priority NACKed by a busy entry since the last grant. This field belongs to the checker, not to the
    /// protocol.
    pub const NACKED: Field = Field::new(11, 3);
}

/// Fields of a message's word.
pub mod message {
    use super::Field;

    pub const KIND: Field = Field::new(27, 5);
    pub const TO: Field = Field::new(25, 2);
    pub const TO_INDEX: Field = Field::new(23, 2);
    pub const REQUESTER: Field = Field::new(21, 2);
    pub const OWNER: Field = Field::new(19, 2);
    pub const ACKNOWLEDGEMENTS: Field = Field::new(16, 3);
    pub const PRIORITY: Field = Field::new(13, 3);
    pub const VERSION: Field = Field::new(11, 2);
    pub const SHARERS: Field = Field::new(7, 4);
    pub const LINE: Field = Field::new(6, 1);

    pub const TO_HOME: u32 = 0;
    pub const TO_PROCESSOR: u32 = 1;
    pub const TO_INTERFACE: u32 = 2;
}

/// A state: the words of every cache line and directory entry, and the multiset of messages in flight, sorted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Words of the cache lines; cache `c`'s word for line `l` is at `l * MAX_CACHES + c`.
    pub caches: [u32; MAX_CACHES * MAX_LINES],
    /// Words of the directory entries, by line.
    pub entries: [u32; MAX_LINES],
    messages: [u32; MAX_MESSAGES],
    length: usize,
}

impl State {
    /// Initial state: nothing cached, nothing in flight, memory latest.
    pub(super) fn initial() -> Self {
        let entry = pack_entry(&DirectoryEntry::UNOWNED, super::version::LATEST);
        Self {
            caches: [pack_cache(&CacheLine::default()); MAX_CACHES * MAX_LINES],
            entries: [entry; MAX_LINES],
            messages: [0; MAX_MESSAGES],
            length: 0,
        }
    }

    /// Messages in flight, sorted.
    pub fn messages(&self) -> &[u32] {
        &self.messages[..self.length]
    }

    /// Puts a message in flight.
    pub fn send(&mut self, word: u32) {
        assert!(self.length < MAX_MESSAGES, "more than {MAX_MESSAGES} messages in flight");
        let mut at = self.length;
        while at > 0 && self.messages[at - 1] > word {
            self.messages[at] = self.messages[at - 1];
            at -= 1;
        }
        self.messages[at] = word;
        self.length += 1;
    }

    /// Removes the message at `index` from the network.
    pub fn take(&mut self, index: usize) -> u32 {
        let word = self.messages[index];
        self.messages.copy_within(index + 1..self.length, index);
        self.length -= 1;
        word
    }

    /// Replaces every message in flight.
    pub fn map_messages(&mut self, map: impl Fn(u32) -> u32) {
        let words = &mut self.messages[..self.length];
        for word in words.iter_mut() {
            *word = map(*word);
        }
        words.sort_unstable();
    }

    /// Word of cache `cpu` for `line`.
    pub fn cache(&self, line: usize, cpu: usize) -> u32 {
        self.caches[line * MAX_CACHES + cpu]
    }

    /// Word of cache `cpu` for `line`, mutable.
    pub fn cache_mut(&mut self, line: usize, cpu: usize) -> &mut u32 {
        &mut self.caches[line * MAX_CACHES + cpu]
    }
}

const HOME_ANSWERS: [HomeAnswer; 8] = [
    HomeAnswer::Awaited,
    HomeAnswer::Shared,
    HomeAnswer::Exclusive,
    HomeAnswer::Upgraded,
    HomeAnswer::Uncached,
    HomeAnswer::Poisoned,
    HomeAnswer::SpeculativeShared,
    HomeAnswer::SpeculativeExclusive,
];
const OWNER_ANSWERS: [OwnerAnswer; 3] = [OwnerAnswer::None, OwnerAnswer::Clean, OwnerAnswer::Data];
const MESI: [Mesi; 4] = [Mesi::Invalid, Mesi::Shared, Mesi::Exclusive, Mesi::Modified];
const PURPOSES: [Purpose; 3] = [Purpose::Cached, Purpose::Uncached, Purpose::Poison];

/// Values of [`cache::PENDING`].
pub mod pending {
    pub const NONE: u32 = 0;
    pub const REQUEST: u32 = 1;
    pub const WRITEBACK: u32 = 2;
    pub const WRITEBACK_INTERVENED: u32 = 3;
    pub const STALE_INTERVENTION: u32 = 4;
    pub const INTERVENTION: u32 = 5;
}

/// Packs a line at a processor.
pub fn pack_cache(line: &CacheLine) -> u32 {
    let mut word = cache::STATE.set(0, line.state as u32);
    let mut collects = false;
    let (tag, intervention) = match line.pending {
        Pending::None => (pending::NONE, None),
        Pending::Request(request) => {
            collects = collects_data(&request);
            word |= pack_request(&request);
            (pending::REQUEST, request.deferred)
        }
        Pending::Writeback { intervention_ignored: false } => (pending::WRITEBACK, None),
        Pending::Writeback { intervention_ignored: true } => (pending::WRITEBACK_INTERVENED, None),
        Pending::StaleIntervention => (pending::STALE_INTERVENTION, None),
        Pending::Intervention(intervention) => (pending::INTERVENTION, Some(intervention)),
    };
    if let Some(intervention) = intervention {
        word = cache::HAS_INTERVENTION.set(word, 1);
        word = cache::EXCLUSIVE.set(word, u32::from(intervention.exclusive));
        word = cache::REQUESTER.set(word, u32::from(intervention.requester.0));
    }
    if line.state != Mesi::Invalid || collects {
        word = cache::VERSION.set(word, line.version.0);
    }
    cache::PENDING.set(word, tag)
}

/// Whether data have arrived for a request, final or speculative.
fn collects_data(request: &Request) -> bool {
    let from_home = !matches!(request.home, HomeAnswer::Awaited | HomeAnswer::Upgraded);
    !request.nacked && (from_home || request.owner == OwnerAnswer::Data)
}

fn pack_request(request: &Request) -> u32 {
    let mut word = cache::ACCESS.set(0, request.access as u32);
    word = cache::UPGRADE.set(word, u32::from(request.kind == MessageKind::Upgrade));
    word = cache::PRIORITY.set(word, u32::from(request.priority));
    if request.nacked {
        // Data and acknowledgements of the NACKed try are not used for the next.
        return cache::NACKED.set(word, 1);
    }
    word = cache::HOME.set(word, request.home as u32);
    word = cache::OWNER.set(word, request.owner as u32);
    word = cache::ACKNOWLEDGEMENTS.set(word, request.acknowledgements as u32 & 0xf);
    cache::INVALIDATED.set(word, u32::from(request.invalidated))
}

/// Unpacks a line at a processor.
pub fn unpack_cache(word: u32) -> CacheLine {
    let pending = match cache::PENDING.get(word) {
        pending::NONE => Pending::None,
        pending::REQUEST => Pending::Request(unpack_request(word)),
        pending::WRITEBACK => Pending::Writeback { intervention_ignored: false },
        pending::WRITEBACK_INTERVENED => Pending::Writeback { intervention_ignored: true },
        pending::STALE_INTERVENTION => Pending::StaleIntervention,
        _ => Pending::Intervention(unpack_intervention(word)),
    };
    CacheLine { state: state(word), version: Version(cache::VERSION.get(word)), pending }
}

fn unpack_intervention(word: u32) -> Intervention {
    Intervention { exclusive: cache::EXCLUSIVE.get(word) == 1, requester: CpuId(cache::REQUESTER.get(word) as u16) }
}

fn unpack_request(word: u32) -> Request {
    let access = Access::ALL[cache::ACCESS.get(word) as usize];
    let upgrade = cache::UPGRADE.get(word) == 1;
    // Four bits, in two's complement.
    let acknowledgements = ((cache::ACKNOWLEDGEMENTS.get(word) << 12) as u16 as i16) >> 12;
    Request {
        access,
        kind: if upgrade { MessageKind::Upgrade } else { miss_request(access) },
        priority: cache::PRIORITY.get(word) as u8,
        home: HOME_ANSWERS[cache::HOME.get(word) as usize],
        owner: OWNER_ANSWERS[cache::OWNER.get(word) as usize],
        acknowledgements,
        invalidated: cache::INVALIDATED.get(word) == 1,
        nacked: cache::NACKED.get(word) == 1,
        deferred: (cache::HAS_INTERVENTION.get(word) == 1).then(|| unpack_intervention(word)),
    }
}

/// MESI state in a cache line's word.
pub fn state(word: u32) -> Mesi {
    MESI[cache::STATE.get(word) as usize]
}

/// Whether the word has an uncached read outstanding.
pub fn reads_uncached(word: u32) -> bool {
    cache::PENDING.get(word) == pending::REQUEST && cache::ACCESS.get(word) == Access::UncachedRead as u32
}

/// Packs a directory entry and the version in memory.
pub fn pack_entry(line: &DirectoryEntry, memory: Version) -> u32 {
    let mut word = entry::STATE.set(0, line.state as u32);
    word = entry::PURPOSE.set(word, line.purpose as u32);
    word = entry::OWNER.set(word, u32::from(line.owner.0));
    word = entry::FORMER.set(word, u32::from(line.former.0));
    word = entry::SHARERS.set(word, line.sharers.bits() as u32);
    word = entry::PRIORITY.set(word, u32::from(line.priority));
    entry::MEMORY.set(word, memory.0)
}

/// Unpacks a directory entry and the version in memory.
pub fn unpack_entry(word: u32) -> (DirectoryEntry, Version) {
    let line = DirectoryEntry {
        state: directory_state(word),
        purpose: PURPOSES[entry::PURPOSE.get(word) as usize],
        owner: CpuId(entry::OWNER.get(word) as u16),
        former: CpuId(entry::FORMER.get(word) as u16),
        sharers: unpack_sharers(entry::SHARERS.get(word)),
        priority: entry::PRIORITY.get(word) as u8,
    };
    (line, Version(entry::MEMORY.get(word)))
}

/// Directory state in an entry's word.
pub fn directory_state(word: u32) -> DirectoryState {
    DirectoryState::ALL[entry::STATE.get(word) as usize]
}

fn unpack_sharers(bits: u32) -> SharerVector {
    let nodes = (0..MAX_CACHES as u16).filter(|node| bits >> node & 1 == 1);
    nodes.fold(SharerVector::EMPTY, |sharers, node| sharers.with(NodeId(node)))
}

/// Packs a message. An `INVAL` must have been expanded.
pub fn pack_message(sent: &Message) -> u32 {
    let (to, index) = match sent.to {
        Agent::Home(_) => (message::TO_HOME, 0),
        Agent::Processor(cpu) => (message::TO_PROCESSOR, cpu.0),
        Agent::Interface(node) => (message::TO_INTERFACE, node.0),
        Agent::Sharers => unreachable!("the network interface has expanded it"),
    };
    let mut word = message::KIND.set(0, sent.kind as u32);
    word = message::TO.set(word, to);
    word = message::TO_INDEX.set(word, u32::from(index));
    word = message::REQUESTER.set(word, u32::from(sent.requester.0));
    word = message::OWNER.set(word, u32::from(sent.owner.0));
    word = message::ACKNOWLEDGEMENTS.set(word, u32::from(sent.acknowledgements));
    word = message::PRIORITY.set(word, u32::from(sent.priority));
    word = message::VERSION.set(word, sent.version.0);
    word = message::SHARERS.set(word, sent.sharers.bits() as u32);
    message::LINE.set(word, sent.line.0 as u32)
}

/// Unpacks a message. The home of every line is node 0, since the protocol does not depend on the choice.
pub fn unpack_message(word: u32) -> Message {
    let index = message::TO_INDEX.get(word) as u16;
    let to = match message::TO.get(word) {
        message::TO_HOME => Agent::Home(NodeId(0)),
        message::TO_PROCESSOR => Agent::Processor(CpuId(index)),
        _ => Agent::Interface(NodeId(index)),
    };
    let kind = MessageKind::ALL[message::KIND.get(word) as usize];
    let line = LineAddr(u64::from(message::LINE.get(word)));
    Message::new(kind, line, to, CpuId(message::REQUESTER.get(word) as u16))
        .with_owner(CpuId(message::OWNER.get(word) as u16))
        .with_acknowledgements(message::ACKNOWLEDGEMENTS.get(word) as u16)
        .with_priority(message::PRIORITY.get(word) as u8)
        .with_version(Version(message::VERSION.get(word)))
        .with_sharers(unpack_sharers(message::SHARERS.get(word)))
}

/// Message type in a message's word.
pub fn kind(word: u32) -> MessageKind {
    MessageKind::ALL[message::KIND.get(word) as usize]
}
