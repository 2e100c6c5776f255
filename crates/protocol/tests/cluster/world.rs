//! A world of one line: nodes with caches on a bus and a device, a home, and a network that delivers in any order.

use protocol::Version;
use protocol::cluster::{
    Entry, HomeOutcome, Intervention, Line, Message, MessageKind, NodeOutcome, Protocol, Site, home,
};
use protocol::contract::{Bus, Started};
use protocol::snoop::{Cache, Command, Moesi, Reply, Rights, Snooping, memory};
use protocol::{Access, Agent};
use units::{CpuId, LineAddr, NodeId};

pub const HOME: NodeId = NodeId(0);
pub const LINE: LineAddr = LineAddr(0);

/// A machine; the bus of every node is MOESI if `OWNED`, and MESI otherwise.
pub struct World<const OWNED: bool> {
    pub protocol: Protocol,
    pub caches: Vec<Cache>,
    pub lines: Vec<Line>,
    /// Block cache of each node, or memory at the home.
    pub contents: Vec<Version>,
    pub entry: Entry,
    pub network: Vec<Message>,
    /// Types of all messages sent, in order.
    pub sent: Vec<MessageKind>,
    /// Stores performed so far: the version that every load must return.
    pub stores: u32,
    per_node: usize,
}

impl<const OWNED: bool> World<OWNED> {
    pub fn new(nodes: usize, per_node: usize, early_grant: bool) -> Self {
        let mut lines = vec![Line::ABSENT; nodes];
        lines[HOME.index()] = Line::uncached_at_home();
        Self {
            protocol: Protocol { early_grant },
            caches: vec![Cache::default(); nodes * per_node],
            lines,
            contents: vec![Version(0); nodes],
            entry: Entry::uncached(HOME),
            network: Vec::new(),
            sent: Vec::new(),
            stores: 0,
            per_node,
        }
    }

    pub fn node(&self, cpu: usize) -> usize {
        cpu / self.per_node
    }

    fn cpus_of(&self, node: usize) -> impl Iterator<Item = usize> + use<OWNED> {
        node * self.per_node..(node + 1) * self.per_node
    }

    fn site(node: usize) -> Site {
        Site { node: NodeId(node as u16), line: LINE, home: HOME }
    }

    /// Starts an access or, with `None`, an eviction; false if the line is busy in the cache.
    pub fn begin(&mut self, cpu: usize, access: Option<Access>) -> bool {
        let cache = &mut self.caches[cpu];
        let started = match access {
            Some(access) => Snooping::<OWNED>::access(cache, access),
            None => Snooping::<OWNED>::evict(cache),
        };
        if started == Started::Done
            && let Some(access) = access
        {
            self.performed(cpu, access);
        }
        self.check();
        started != Started::Blocked
    }

    /// Starts to replace the line in a node's block cache.
    pub fn replace(&mut self, node: usize) -> Started {
        self.lines[node].evict(&Self::site(node))
    }

    /// The home's own node requests the line with its poison bit.
    pub fn poison(&mut self) {
        let mut sent = Vec::new();
        self.lines[HOME.index()].poison(&Self::site(HOME.index()), &mut |message| sent.push(message));
        self.send(sent);
    }

    /// The home's own node, which has been granted the line with its poison bit, takes it from the caches on its bus.
    pub fn gather(&mut self) {
        let (node, command) = (HOME.index(), Command::ReadExclusive);
        assert!(self.entry.poisoned && !self.lines[node].poisons, "{:?}", self.lines[node]);
        let mut reply = self.lines[node].snoop(HOME, command).expect("possible");
        assert!(!reply.retry, "nobody takes a poisoned line from its home");
        for cpu in self.cpus_of(node) {
            reply = reply.and(self.caches[cpu].snoop(CpuId(cpu as u16), command).expect("possible"));
        }
        for cpu in self.cpus_of(node) {
            self.caches[cpu].observe(CpuId(cpu as u16), command).expect("possible");
        }
        if let Some((version, _)) = memory(&mut self.contents[node], command, reply, None).data {
            self.contents[node] = version;
        }
        self.check();
    }

    /// The requests of a node's caches end in bus errors.
    fn bus_errors(&mut self, node: usize) {
        for cpu in self.cpus_of(node) {
            self.caches[cpu].request = self.caches[cpu].request.filter(|&command| command == Command::Writeback);
        }
    }

    /// Grants the bus to a cache that requests it; false if it requests nothing or is retried.
    pub fn bus(&mut self, cpu: usize) -> bool {
        let Some(command) = self.caches[cpu].request else { return false };
        self.transaction(self.node(cpu), Some(cpu), command)
    }

    /// Grants the bus to the device of a node if it requests it.
    pub fn device_bus(&mut self, node: usize) -> bool {
        let Some(command) = self.lines[node].bus_request() else { return false };
        self.transaction(node, None, command)
    }

    fn transaction(&mut self, node: usize, requester: Option<usize>, command: Command) -> bool {
        let others: Vec<usize> = self.cpus_of(node).filter(|&cpu| Some(cpu) != requester).collect();
        let name = |cpu: usize| CpuId(cpu as u16);
        let site = Self::site(node);
        let mut sent = Vec::new();
        let mut reply = match requester {
            Some(_) => self.lines[node].snoop(site.node, command).expect("possible"),
            None => Reply::default(),
        };
        for &cpu in &others {
            reply = reply.and(self.caches[cpu].snoop(name(cpu), command).expect("possible"));
        }
        if reply.retry {
            self.lines[node].fetch(&site, &mut |message| sent.push(message));
            self.send(sent);
            return false;
        }
        for &cpu in &others {
            self.caches[cpu].observe(name(cpu), command).expect("possible");
        }
        let written = requester.map(|cpu| self.caches[cpu].version);
        let phase = memory(&mut self.contents[node], command, reply, written);
        match requester {
            Some(cpu) => {
                if let Some(access) = Snooping::<OWNED>::complete(&mut self.caches[cpu], reply, phase) {
                    self.performed(cpu, access);
                }
            }
            None => {
                let on_bus = phase.data.map(|(version, _)| version);
                self.lines[node].complete(&site, on_bus, &mut |message| sent.push(message));
            }
        }
        self.send(sent);
        self.check();
        true
    }

    fn send(&mut self, messages: Vec<Message>) {
        self.sent.extend(messages.iter().map(|message| message.kind));
        self.network.extend(messages);
    }

    /// Delivers the message at `index`; false if it waits because its line is busy.
    pub fn deliver(&mut self, index: usize) -> bool {
        let message = self.network[index];
        let mut sent = Vec::new();
        let mut push = |message| sent.push(message);
        let outcome = match message.to {
            Agent::Interface(node) => {
                let (line, contents) = (&mut self.lines[node.index()], &mut self.contents[node.index()]);
                let site = Self::site(node.index());
                let outcome = line.receive(&self.protocol, &site, contents, &message, &mut push);
                if outcome == Ok(NodeOutcome::Poisoned) {
                    self.bus_errors(node.index());
                }
                outcome.map(|_| true)
            }
            _ => home(&mut self.entry, HOME, &mut self.contents[HOME.index()], &message, &mut push)
                .map(|outcome| outcome != HomeOutcome::Busy),
        };
        let handled = outcome.unwrap_or_else(|error| panic!("{error}"));
        if handled {
            self.network.swap_remove(index);
            self.send(sent);
            self.check();
        }
        handled
    }

    /// Delivers the first message of this type.
    pub fn deliver_kind(&mut self, kind: MessageKind) -> bool {
        let index = self.network.iter().position(|message| message.kind == kind);
        self.deliver(index.unwrap_or_else(|| panic!("no {} in {:?}", kind.mnemonic(), self.network)))
    }

    /// Does whatever can be done, until nothing is outstanding.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut progress = false;
            for index in (0..self.network.len()).rev() {
                progress |= self.deliver(index);
            }
            for cpu in 0..self.caches.len() {
                progress |= self.bus(cpu);
            }
            for node in 0..self.lines.len() {
                progress |= self.device_bus(node);
            }
            if self.is_quiet() {
                return;
            }
            assert!(progress || !self.network.is_empty(), "deadlock: {:?}", self.lines);
        }
        panic!("no end: {:?} {:?}", self.lines, self.network);
    }

    pub fn is_quiet(&self) -> bool {
        let cached = self.caches.iter().all(|cache| cache.request.is_none());
        self.network.is_empty() && cached && self.lines.iter().all(Line::is_quiet)
    }

    /// Performs an access from beginning to end, with nothing else going on, and returns the messages sent.
    pub fn access(&mut self, cpu: usize, access: Access) -> Vec<MessageKind> {
        self.sent.clear();
        assert!(self.begin(cpu, Some(access)));
        self.settle();
        std::mem::take(&mut self.sent)
    }

    pub fn load(&mut self, cpu: usize) -> Vec<MessageKind> {
        self.access(cpu, Access::Load)
    }

    pub fn store(&mut self, cpu: usize) -> Vec<MessageKind> {
        self.access(cpu, Access::Store)
    }

    pub fn states(&self) -> Vec<Moesi> {
        self.caches.iter().map(|cache| cache.state).collect()
    }

    pub fn rights(&self) -> Vec<Rights> {
        self.lines.iter().map(|line| line.rights).collect()
    }

    /// Accounts for an access: every load returns the last store, unless another node writes ahead of acknowledgements
    /// and this one has yet to perform the invalidation; every store changes the last contents.
    fn performed(&mut self, cpu: usize, access: Access) {
        let version = self.caches[cpu].version;
        if access == Access::Store {
            self.stores += 1;
        } else if self.may_be_old(self.node(cpu)) {
            assert!(version <= Version(self.stores), "{:?}", self.caches);
            return;
        }
        assert_eq!(version, Version(self.stores), "cpu{cpu}: {:?} {:?}", self.caches, self.lines);
    }

    /// Whether the copies of a node may be older than the last store.
    fn may_be_old(&self, node: usize) -> bool {
        let early = |line: &Line| line.is_collecting() && line.rights == Rights::Write;
        let invalidates = |message: &Message| {
            (message.kind, message.to) == (MessageKind::Invalidate, Agent::Interface(NodeId(node as u16)))
        };
        let waits = matches!(self.lines[node].intervention, Some(Intervention::Invalidate { .. }));
        self.protocol.early_grant && self.lines.iter().any(early) && (waits || self.network.iter().any(invalidates))
    }

    /// Checks that a writer is alone and that caches respect the rights of their nodes, inclusion among them.
    fn check(&self) {
        let old: Vec<bool> = (0..self.lines.len()).map(|node| self.may_be_old(node)).collect();
        let copies: Vec<_> = (0..self.caches.len()).filter(|&cpu| self.caches[cpu].state != Moesi::Invalid).collect();
        for &cpu in &copies {
            let (state, rights) = (self.caches[cpu].state, self.lines[self.node(cpu)].rights);
            assert!(rights == Rights::Write || (rights == Rights::Read && state == Moesi::Shared), "{cpu} {rights:?}");
            assert!(OWNED || state != Moesi::Owned, "no such state on a MESI bus");
            assert!(old[self.node(cpu)] || self.caches[cpu].version == Version(self.stores), "{:?}", self.caches);
        }
        let current =
            || copies.iter().map(|&cpu| (cpu, self.caches[cpu].state)).filter(|&(cpu, _)| !old[self.node(cpu)]);
        let sole = current().filter(|(_, state)| matches!(state, Moesi::Exclusive | Moesi::Modified)).count();
        assert!(sole == 0 || current().count() == 1, "{:?}", self.caches);
        let writers = self.lines.iter().filter(|line| line.rights == Rights::Write).count();
        let readers =
            (0..self.lines.len()).filter(|&node| self.lines[node].rights == Rights::Read && !old[node]).count();
        assert!(writers <= 1 && (writers == 0 || readers == 0), "{:?}", self.lines);
    }
}
