//! A world of one line: its home, every processor, and a network from which a test picks the next message to arrive.

use protocol::origin::{
    CacheContext, CacheLine, CacheOutcome, DirectoryEntry, DirectoryState, Geometry, HomeContext, HomeWork, Mesi,
    Message, MessageKind, Outbox, Pending, RequestOutcome,
};
use protocol::{Access, Agent, Version};
use units::{CpuId, LineAddr, NodeId};

pub const LINE: LineAddr = LineAddr(0x40);
pub const HOME: NodeId = NodeId(0);

/// Outcome of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    Home(HomeWork),
    Processor(CacheOutcome),
    Interface,
}

impl Arrival {
    pub fn work(self) -> HomeWork {
        match self {
            Self::Home(work) => work,
            other => panic!("{other:?} was not handled at a home"),
        }
    }

    pub fn outcome(self) -> CacheOutcome {
        match self {
            Self::Processor(outcome) => outcome,
            other => panic!("{other:?} was not handled at a processor"),
        }
    }
}

/// One line of one machine.
pub struct World {
    pub geometry: Geometry,
    pub entry: DirectoryEntry,
    pub memory: Version,
    pub caches: Vec<CacheLine>,
    /// Messages in flight, oldest first.
    pub network: Vec<Message>,
    /// Whether the home must back off.
    pub nearly_full: bool,
    /// Version of the last store performed by any processor.
    pub last_store: Version,
}

impl World {
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            entry: DirectoryEntry::UNOWNED,
            memory: Version(0),
            caches: vec![CacheLine::default(); usize::from(geometry.processors())],
            network: Vec::new(),
            nearly_full: false,
            last_store: Version(0),
        }
    }

    /// Creates a machine of four nodes of two processors.
    pub fn small() -> Self {
        Self::new(Geometry::origin(4))
    }

    pub fn context(&self, cpu: u16) -> CacheContext {
        CacheContext { cpu: CpuId(cpu), line: LINE, home: HOME, geometry: self.geometry }
    }

    pub fn cache(&self, cpu: u16) -> CacheLine {
        self.caches[usize::from(cpu)]
    }

    pub fn mesi(&self, cpu: u16) -> Mesi {
        self.cache(cpu).state
    }

    /// Starts an access, or performs it on a hit.
    pub fn access(&mut self, cpu: u16, access: Access) -> RequestOutcome {
        let mut outbox = Outbox::new();
        let context = self.context(cpu);
        let outcome =
            protocol::origin::processor_request(&mut self.caches[usize::from(cpu)], &context, access, &mut outbox);
        self.send(&outbox);
        if matches!(outcome, RequestOutcome::Hit(_)) {
            self.performed(cpu, access);
        }
        outcome
    }

    pub fn evict(&mut self, cpu: u16) -> protocol::origin::Eviction {
        let mut outbox = Outbox::new();
        let context = self.context(cpu);
        let eviction = protocol::origin::evict(&mut self.caches[usize::from(cpu)], &context, &mut outbox);
        self.send(&outbox);
        eviction
    }

    pub fn retry(&mut self, cpu: u16) {
        let mut outbox = Outbox::new();
        let context = self.context(cpu);
        protocol::origin::retry(&mut self.caches[usize::from(cpu)], &context, &mut outbox)
            .expect("a request was NACKed");
        self.send(&outbox);
    }

    pub fn serve_deferred(&mut self, cpu: u16) -> Option<protocol::origin::Supplied> {
        let mut outbox = Outbox::new();
        let context = self.context(cpu);
        let supplied = protocol::origin::serve_deferred(&mut self.caches[usize::from(cpu)], &context, &mut outbox)
            .expect("the line is in a state that an intervention can reach");
        self.send(&outbox);
        supplied
    }

    /// Delivers the oldest message of this type.
    pub fn deliver(&mut self, kind: MessageKind) -> Arrival {
        self.deliver_where(|message| message.kind == kind)
    }

    /// Delivers the oldest message of this type to this processor.
    pub fn deliver_to(&mut self, cpu: u16, kind: MessageKind) -> Arrival {
        self.deliver_where(|message| message.kind == kind && message.to == Agent::Processor(CpuId(cpu)))
    }

    /// Delivers the oldest message of this type on behalf of this processor.
    pub fn deliver_of(&mut self, cpu: u16, kind: MessageKind) -> Arrival {
        self.deliver_where(|message| message.kind == kind && message.requester == CpuId(cpu))
    }

    fn deliver_where(&mut self, matches: impl Fn(&Message) -> bool) -> Arrival {
        let index =
            self.network.iter().position(matches).unwrap_or_else(|| panic!("not in flight: {:#?}", self.network));
        self.deliver_index(index)
    }

    /// Delivers the message at this index.
    pub fn deliver_index(&mut self, index: usize) -> Arrival {
        let message = self.network.remove(index);
        let mut outbox = Outbox::new();
        let arrival = match message.to {
            Agent::Home(node) => {
                let context = HomeContext { node, geometry: self.geometry, output_queue_nearly_full: self.nearly_full };
                let work = protocol::origin::home(&mut self.entry, &mut self.memory, &message, &context, &mut outbox);
                Arrival::Home(work.unwrap_or_else(|error| panic!("{error}")))
            }
            Agent::Processor(cpu) => Arrival::Processor(self.receive(cpu, &message, &mut outbox)),
            Agent::Interface(node) => {
                for cpu in self.geometry.processors_of(node).filter(|&cpu| cpu != message.requester) {
                    let context = self.context(cpu.0);
                    protocol::origin::invalidate(&mut self.caches[cpu.index()], &context)
                        .unwrap_or_else(|error| panic!("{error}"));
                }
                outbox.push(protocol::origin::invalidation_acknowledgement(&message));
                Arrival::Interface
            }
            Agent::Sharers => panic!("the network interface expands {message:?}"),
        };
        self.send(&outbox);
        arrival
    }

    fn receive(&mut self, cpu: CpuId, message: &Message, outbox: &mut Outbox) -> CacheOutcome {
        let context = self.context(cpu.0);
        let before = self.caches[cpu.index()].pending;
        let outcome = protocol::origin::receive(&mut self.caches[cpu.index()], &context, message, outbox)
            .unwrap_or_else(|error| panic!("{error}"));
        if let (CacheOutcome::Completed(_), Pending::Request(request)) = (outcome, before) {
            self.performed(cpu.0, request.access);
        }
        outcome
    }

    /// Checks a performed access: one that caches the line must return the last store, and a store becomes the last
    /// one.
    fn performed(&mut self, cpu: u16, access: Access) {
        let seen = self.cache(cpu).version;
        match access {
            Access::Store => {
                assert_eq!(seen, self.last_store.next(), "cpu{cpu} stored to old contents");
                self.last_store = seen;
            }
            Access::UncachedRead => assert!(seen <= self.last_store),
            _ => assert_eq!(seen, self.last_store, "cpu{cpu} {access:?} saw old contents"),
        }
    }

    fn send(&mut self, outbox: &Outbox) {
        for message in outbox.as_slice() {
            if message.to == Agent::Sharers {
                self.network.extend(message.expand(self.geometry));
            } else {
                self.network.push(*message);
            }
        }
    }

    /// Delivers everything, oldest message first, until nothing is outstanding. NACKed requests are retried last, so
    /// that they cannot keep the network busy while a processor defers the intervention that would let them succeed.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            if !self.network.is_empty() {
                self.deliver_index(0);
            } else if let Some(cpu) = self.caches.iter().position(defers_intervention) {
                self.serve_deferred(cpu as u16);
            } else if let Some(cpu) = self.caches.iter().position(is_nacked) {
                self.retry(cpu as u16);
            } else {
                self.check_quiet();
                return;
            }
        }
        panic!("it never ends: {:?} {:?}", self.entry, self.network);
    }

    /// Runs an access and everything that follows from it. Returns the types of the messages that it took, in order of
    /// arrival.
    pub fn run(&mut self, cpu: u16, access: Access) -> Vec<MessageKind> {
        self.access(cpu, access);
        let mut kinds = Vec::new();
        while !self.network.is_empty() {
            kinds.push(self.network[0].kind);
            self.deliver_index(0);
        }
        self.settle();
        kinds
    }

    /// Checks the copies: at most one writer and no reader beside it, and every copy is that of the last store.
    pub fn check_copies(&self) {
        let owners = self.caches.iter().filter(|cache| matches!(cache.state, Mesi::Exclusive | Mesi::Modified)).count();
        let sharers = self.caches.iter().filter(|cache| cache.state == Mesi::Shared).count();
        assert!(owners == 0 || (owners == 1 && sharers == 0), "{owners} owners beside {sharers} sharers");
        for cache in self.caches.iter().filter(|cache| cache.state != Mesi::Invalid) {
            assert_eq!(cache.version, self.last_store, "an old copy: {cache:?}");
        }
    }

    /// Checks a quiet state: the directory agrees with the caches.
    pub fn check_quiet(&self) {
        self.check_copies();
        assert!(self.caches.iter().all(|cache| cache.pending == Pending::None));
        for (cpu, cache) in (0..).map(CpuId).zip(&self.caches) {
            match (cache.state, self.entry.state) {
                (Mesi::Invalid, _) => {}
                (Mesi::Shared, DirectoryState::Shared) => {
                    assert!(self.entry.sharers.contains(self.geometry.node_of(cpu)), "{cpu:?} is no sharer");
                }
                (Mesi::Exclusive | Mesi::Modified, DirectoryState::Exclusive) => assert_eq!(self.entry.owner, cpu),
                (copy, state) => panic!("{cpu:?} has a copy in {copy:?}, and the directory is {state:?}"),
            }
        }
        let modified = self.caches.iter().any(|cache| cache.state == Mesi::Modified);
        if !modified && self.entry.state != DirectoryState::Poisoned {
            assert_eq!(self.memory, self.last_store, "the last store is lost");
        }
    }
}

fn is_nacked(cache: &CacheLine) -> bool {
    matches!(cache.pending, Pending::Request(request) if request.nacked)
}

fn defers_intervention(cache: &CacheLine) -> bool {
    matches!(cache.pending, Pending::Intervention(_))
}
