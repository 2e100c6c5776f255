//! Encoding of the MSI protocol in 32-bit words: one per cache line, two per directory entry, one per message.

use protocol::Version;
use protocol::contract::HomeLine;
use protocol::msi::{
    Access, Agent, CacheLine, Collection, DirectoryState, Entry, Message, MessageKind, Msi as Copy, Place, Protocol,
    Relay, Request, SharingSet, Site, WrittenBack,
};
use units::{LineAddr, NodeId};

use crate::directory::{Codec, HOME, Names, Reader, Writer};

/// Most nodes that a sharing set can list in its word.
const MAX_LISTED: usize = 12;

fn pack_agent(agent: Agent, names: &Names) -> u32 {
    match agent {
        Agent::Home(_) => 0,
        Agent::Node(node) => 4 | names.node(node),
    }
}

fn agent(bits: u32) -> Agent {
    if bits & 4 == 0 { Agent::Home(HOME) } else { Agent::Node(NodeId(bits as u16 & 3)) }
}

const COPIES: [Copy; 3] = [Copy::Invalid, Copy::Shared, Copy::Dirty];
const PLACES: [Place; 2] = [Place::Cache, Place::RemoteAccessCache];
const ACCESSES: [Access; 2] = [Access::Load, Access::Store];
const REQUESTS: [MessageKind; 4] =
    [MessageKind::Get, MessageKind::GetExclusive, MessageKind::Upgrade, MessageKind::Refill];
const WRITTEN_BACK: [WrittenBack; 3] = [WrittenBack::No, WrittenBack::ByOwner, WrittenBack::ByRequester];

impl<S: SharingSet> Codec for Protocol<S> {
    const HOME_WORDS: usize = 2;
    type Notes = ();

    /// Contents without a copy are packed as 0, because they distinguish no states.
    fn pack_cache(line: &CacheLine, names: &Names) -> u32 {
        let version = if line.state == Copy::Invalid { Version(0) } else { line.version };
        let mut word = Writer::default();
        word.put(2, line.state as u32).put(1, line.place as u32).put(2, version.0);
        match line.request {
            None => word.put(6, 0),
            Some(request) => word
                .put(1, 1)
                .put(1, request.access as u32)
                // Position of the request among those to a home.
                .put(2, request.kind as u32 - MessageKind::Get as u32)
                .put(1, request.invalidated.into())
                .put(1, request.nacked.into()),
        };
        word.put(4, line.collection.balance as u32 & 0xf).put(1, line.collection.announced.into());
        match line.relay {
            None => word.put(9, 0),
            Some(relay) => word
                .put(1, 1)
                .put(3, relay.acknowledgements.into())
                .put(3, pack_agent(relay.collector, names))
                .put(2, names.node(relay.requester)),
        };
        word.word()
    }

    fn unpack_cache(word: u32) -> CacheLine {
        let mut word = Reader::new(word);
        let state = COPIES[word.take(2) as usize];
        let place = PLACES[word.take(1) as usize];
        let version = Version(word.take(2));
        let (requests, access, kind) = (word.flag(), word.take(1), word.take(2));
        let (invalidated, nacked) = (word.flag(), word.flag());
        let request = Request { access: ACCESSES[access as usize], kind: REQUESTS[kind as usize], invalidated, nacked };
        // Four bits, in two's complement.
        let balance = ((word.take(4) << 12) as u16 as i16) >> 12;
        let announced = word.flag();
        let (relays, acknowledgements) = (word.flag(), word.take(3) as u16);
        let (collector, requester) = (agent(word.take(3)), NodeId(word.take(2) as u16));
        CacheLine {
            state,
            place,
            version,
            request: requests.then_some(request),
            collection: Collection { balance, announced },
            relay: relays.then_some(Relay { acknowledgements, collector, requester }),
        }
    }

    fn pack_home(&self, line: &Self::HomeLine, store: &S::Store, (): (), names: &Names) -> [u32; 2] {
        let set = pack_set(&self.set, &self.context.site, &line.entry.sharers, store, names);
        [pack_state(line.entry.state, line.memory, names), set]
    }

    fn unpack_home(&self, words: [u32; 2], address: LineAddr, store: &mut S::Store) -> (Self::HomeLine, ()) {
        let (state, memory) = unpack_state(words[0]);
        let sharers = unpack_set(&self.set, &self.context.site, address, words[1], store);
        (HomeLine { entry: Entry { state, sharers }, memory }, ())
    }

    fn pack_message(message: &Message, names: &Names) -> u32 {
        let mut word = Writer::default();
        word.put(1, names.line(message.line))
            .put(5, message.kind as u32)
            .put(3, pack_agent(message.to, names))
            .put(3, pack_agent(message.collector, names))
            .put(2, names.node(message.requester))
            .put(3, message.acknowledgements.into())
            .put(2, message.version.0)
            .put(4, names.node_set(message.targets));
        word.word()
    }

    fn unpack_message(word: u32) -> Message {
        let mut word = Reader::new(word);
        let line = LineAddr(word.take(1).into());
        let kind = MessageKind::ALL[word.take(5) as usize];
        let (to, collector) = (agent(word.take(3)), agent(word.take(3)));
        let requester = NodeId(word.take(2) as u16);
        let acknowledgements = word.take(3) as u16;
        let version = Version(word.take(2));
        Message { line, targets: word.take(4).into(), version, to, collector, requester, acknowledgements, kind }
    }
}

/// Packs a directory entry's state and the contents of memory.
fn pack_state(state: DirectoryState, memory: Version, names: &Names) -> u32 {
    use DirectoryState as D;
    let mut word = Writer::default();
    word.put(2, memory.0);
    match state {
        D::Clean => word.put(3, 0),
        D::Dirty { owner } => word.put(3, 1).put(2, names.node(owner)),
        D::Forwarded { owner, requester, exclusive, written_back } => word
            .put(3, 2)
            .put(2, names.node(owner))
            .put(2, names.node(requester))
            .put(1, exclusive.into())
            .put(2, written_back as u32),
        D::Invalidating { requester, acknowledgements, upgrade } => {
            word.put(3, 3).put(2, names.node(requester)).put(5, acknowledgements.into()).put(1, upgrade.into())
        }
        D::Collecting { owner, written_back } => word.put(3, 4).put(2, names.node(owner)).put(1, written_back.into()),
        D::Evicting { acknowledgements } => word.put(3, 5).put(5, acknowledgements.into()),
    };
    word.word()
}

/// Unpacks a directory entry's state and the contents of memory.
fn unpack_state(word: u32) -> (DirectoryState, Version) {
    use DirectoryState as D;
    let mut word = Reader::new(word);
    let memory = Version(word.take(2));
    let tag = word.take(3);
    let mut node = || NodeId(word.take(2) as u16);
    let state = match tag {
        0 => D::Clean,
        1 => D::Dirty { owner: node() },
        2 => {
            let (owner, requester) = (node(), node());
            let (exclusive, written_back) = (word.flag(), WRITTEN_BACK[word.take(2) as usize]);
            D::Forwarded { owner, requester, exclusive, written_back }
        }
        3 => {
            let requester = node();
            D::Invalidating { requester, acknowledgements: word.take(5) as u16, upgrade: word.flag() }
        }
        4 => {
            let owner = node();
            D::Collecting { owner, written_back: word.flag() }
        }
        _ => D::Evicting { acknowledgements: word.take(5) as u16 },
    };
    (state, memory)
}

/// Packs a sharing set. Nodes are listed in ascending order of their new names, unless their order is significant.
fn pack_set<S: SharingSet>(set: &S, at: &Site, header: &S::Header, store: &S::Store, names: &Names) -> u32 {
    let (mut nodes, mut length) = ([0; MAX_LISTED], 0);
    let form = set.snapshot(at, header, store, |node| {
        assert!(length < MAX_LISTED, "more than {MAX_LISTED} entries in a sharing set");
        nodes[length] = names.node(node);
        length += 1;
    });
    if !set.is_ordered() {
        nodes[..length].sort_unstable();
    }
    let mut word = Writer::default();
    word.put(3, form.into()).put(4, length as u32);
    nodes[..length].iter().for_each(|&node| {
        word.put(2, node);
    });
    word.word()
}

/// Unpacks a sharing set, and allocates its store entries.
fn unpack_set<S: SharingSet>(set: &S, at: &Site, line: LineAddr, word: u32, store: &mut S::Store) -> S::Header {
    let mut word = Reader::new(word);
    let (form, length) = (word.take(3) as u8, word.take(4) as usize);
    let nodes: [NodeId; MAX_LISTED] = std::array::from_fn(|_| NodeId(word.take(2) as u16));
    set.restore(at, line, store, form, &nodes[..length])
}
