//! Encoding of the Origin protocol in 32-bit words: one per cache line, one per directory entry, one per message.

use protocol::contract::HomeLine;
use protocol::origin::{
    CacheLine, DirectoryEntry, DirectoryState, HomeAnswer, Intervention, Mesi, Message, MessageKind, OwnerAnswer,
    Pending, Protocol, Purpose, Request, SharerVector, miss_request,
};
use protocol::{Access, Agent, Version};
use units::{CpuId, LineAddr, NodeId};

use crate::directory::{Codec, HOME, MAX_CACHES, Names, Reader, Writer};

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

impl Codec for Protocol {
    /// Highest priority that a busy entry has NACKed since the last grant.
    type Notes = u8;

    fn pack_cache(line: &CacheLine, names: &Names) -> u32 {
        let mut word = Writer::default();
        let mut collects = false;
        let intervention = match line.pending {
            Pending::None => {
                word.put(3, 0);
                None
            }
            Pending::Request(request) => {
                collects = collects_data(&request);
                word.put(3, 1);
                request.deferred
            }
            Pending::Writeback { intervention_ignored } => {
                word.put(3, 2 + u32::from(intervention_ignored));
                None
            }
            Pending::StaleIntervention => {
                word.put(3, 4);
                None
            }
            Pending::Intervention(intervention) => {
                word.put(3, 5);
                Some(intervention)
            }
        };
        let has_contents = line.state != Mesi::Invalid || collects;
        word.put(2, line.state as u32).put(2, if has_contents { line.version.0 } else { 0 });
        match intervention {
            None => word.put(4, 0),
            Some(Intervention { exclusive, requester }) => {
                word.put(1, 1).put(1, exclusive.into()).put(2, names.cache(requester))
            }
        };
        if let Pending::Request(request) = &line.pending {
            pack_request(request, &mut word);
        }
        word.word()
    }

    fn unpack_cache(word: u32) -> CacheLine {
        let mut word = Reader::new(word);
        let pending = word.take(3);
        let (state, version) = (MESI[word.take(2) as usize], Version(word.take(2)));
        let (intervened, exclusive, requester) = (word.flag(), word.flag(), CpuId(word.take(2) as u16));
        let intervention = Intervention { exclusive, requester };
        let pending = match pending {
            0 => Pending::None,
            1 => Pending::Request(unpack_request(&mut word, intervened.then_some(intervention))),
            2 => Pending::Writeback { intervention_ignored: false },
            3 => Pending::Writeback { intervention_ignored: true },
            4 => Pending::StaleIntervention,
            _ => Pending::Intervention(intervention),
        };
        CacheLine { state, version, pending }
    }

    fn pack_home(&self, line: &Self::HomeLine, (): &(), nacked: u8, names: &Names) -> [u32; 2] {
        let entry = &line.entry;
        let (owner, former) = match entry.state {
            DirectoryState::Unowned | DirectoryState::Poisoned | DirectoryState::Shared => (0, 0),
            DirectoryState::Exclusive | DirectoryState::Wait => (names.cache(entry.owner), 0),
            DirectoryState::BusyShared | DirectoryState::BusyExclusive => {
                (names.cache(entry.owner), names.cache(entry.former))
            }
        };
        let mut word = Writer::default();
        word.put(3, entry.state as u32)
            .put(2, entry.purpose as u32)
            .put(2, owner)
            .put(2, former)
            .put(4, names.node_set(entry.sharers.bits()))
            .put(3, entry.priority.into())
            .put(2, line.memory.0)
            .put(3, nacked.into());
        [word.word(), 0]
    }

    fn unpack_home(&self, words: [u32; 2], _: LineAddr, (): &mut ()) -> (Self::HomeLine, u8) {
        let mut word = Reader::new(words[0]);
        let entry = DirectoryEntry {
            state: DirectoryState::ALL[word.take(3) as usize],
            purpose: PURPOSES[word.take(2) as usize],
            owner: CpuId(word.take(2) as u16),
            former: CpuId(word.take(2) as u16),
            sharers: sharers(word.take(4)),
            priority: word.take(3) as u8,
        };
        (HomeLine { entry, memory: Version(word.take(2)) }, word.take(3) as u8)
    }

    fn pack_message(message: &Message, names: &Names) -> u32 {
        let to = match message.to {
            Agent::Home(_) => 0,
            Agent::Processor(cpu) => 4 | names.cache(cpu),
            Agent::Interface(node) => 8 | names.node(node),
            Agent::Sharers => unreachable!("the network interface has expanded it"),
        };
        let intervenes = matches!(message.kind, MessageKind::BackoffReadShared | MessageKind::BackoffReadExclusive);
        let mut word = Writer::default();
        word.put(1, names.line(message.line))
            .put(5, message.kind as u32)
            .put(4, to)
            .put(2, names.cache(message.requester))
            .put(2, if intervenes { names.cache(message.owner) } else { 0 })
            .put(3, message.acknowledgements.into())
            .put(3, message.priority.into())
            .put(2, message.version.0)
            .put(4, names.node_set(message.sharers.bits()));
        word.word()
    }

    fn unpack_message(word: u32) -> Message {
        let mut word = Reader::new(word);
        let line = LineAddr(word.take(1).into());
        let kind = MessageKind::ALL[word.take(5) as usize];
        let (index, to) = (word.take(2) as u16, word.take(2));
        let to = match to {
            0 => Agent::Home(HOME),
            1 => Agent::Processor(CpuId(index)),
            _ => Agent::Interface(NodeId(index)),
        };
        Message::new(kind, line, to, CpuId(word.take(2) as u16))
            .with_owner(CpuId(word.take(2) as u16))
            .with_acknowledgements(word.take(3) as u16)
            .with_priority(word.take(3) as u8)
            .with_version(Version(word.take(2)))
            .with_sharers(sharers(word.take(4)))
    }
}

/// Whether data have arrived for a request, final or speculative.
fn collects_data(request: &Request) -> bool {
    let from_home = !matches!(request.home, HomeAnswer::Awaited | HomeAnswer::Upgraded);
    !request.nacked && (from_home || request.owner == OwnerAnswer::Data)
}

/// Packs a request. Data and acknowledgements of a NACKed try are not used for the next.
fn pack_request(request: &Request, word: &mut Writer) {
    word.put(3, request.access as u32)
        .put(1, (request.kind == MessageKind::Upgrade).into())
        .put(3, request.priority.into())
        .put(1, request.nacked.into());
    if !request.nacked {
        word.put(3, request.home as u32)
            .put(2, request.owner as u32)
            .put(4, request.acknowledgements as u32 & 0xf)
            .put(1, request.invalidated.into());
    }
}

fn unpack_request(word: &mut Reader, deferred: Option<Intervention>) -> Request {
    let access = Access::ALL[word.take(3) as usize];
    let (upgrade, priority, nacked) = (word.flag(), word.take(3) as u8, word.flag());
    let (home, owner) = (HOME_ANSWERS[word.take(3) as usize], OWNER_ANSWERS[word.take(2) as usize]);
    // Four bits, in two's complement.
    let acknowledgements = ((word.take(4) << 12) as u16 as i16) >> 12;
    let kind = if upgrade { MessageKind::Upgrade } else { miss_request(access) };
    Request { access, kind, priority, home, owner, acknowledgements, invalidated: word.flag(), nacked, deferred }
}

fn sharers(bits: u32) -> SharerVector {
    if bits == 0 {
        return SharerVector::EMPTY;
    }
    let nodes = (0..MAX_CACHES as u16).filter(|node| bits >> node & 1 == 1);
    nodes.fold(SharerVector::EMPTY, |sharers, node| sharers.with(NodeId(node)))
}
