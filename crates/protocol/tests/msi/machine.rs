//! A machine around the handlers, in a few dozen lines: a home and its lines, the nodes, and a network. It checks that
//! every load returns the last store's data, and that every store changes them.

use std::collections::VecDeque;

use protocol::Version;
use protocol::msi::{
    self, Access, AccessOutcome, Agent, CacheLine, Collection, DirectoryState, Entry, HomeContext, HomeOutcome,
    HomeWork, Message, MessageKind, Msi, NodeContext, NodeOutcome, Place, SetWork, SharingSet, Site, Variant,
};
use units::{LineAddr, NodeId};

/// A line, at its home and at every node.
pub struct Line<H> {
    pub entry: Entry<H>,
    pub memory: Version,
    pub nodes: Vec<CacheLine>,
    /// Stores performed: the version that a load must return.
    pub stores: u32,
}

/// A machine whose lines all have the same home.
pub struct Machine<S: SharingSet> {
    pub set: S,
    pub context: HomeContext,
    pub store: S::Store,
    pub lines: Vec<Line<S::Header>>,
    pub remote_access_cache: bool,
    /// Messages in flight.
    pub network: VecDeque<Message>,
    /// Mnemonics of all messages sent, in order, since the last access or eviction began.
    pub sent: Vec<&'static str>,
    /// Work done at the home since the last access or eviction began.
    pub works: Vec<HomeWork>,
    /// Number of lines reclaimed from the store since the start.
    pub reclaimed: u32,
}

impl<S: SharingSet> Machine<S> {
    /// Creates a machine with one line, whose home is node 0.
    pub fn new(set: S, nodes: u16, variant: Variant) -> Self {
        Self::with_lines(set, Site { home: NodeId(0), nodes }, variant, 1)
    }

    pub fn with_lines(set: S, site: Site, variant: Variant, lines: usize) -> Self {
        let line = |_| Line {
            entry: Entry::default(),
            memory: Version(0),
            nodes: vec![CacheLine::INVALID; usize::from(site.nodes)],
            stores: 0,
        };
        Self {
            context: HomeContext { site, variant },
            store: set.store(),
            lines: (0..lines).map(line).collect(),
            remote_access_cache: false,
            network: VecDeque::new(),
            sent: Vec::new(),
            works: Vec::new(),
            reclaimed: 0,
            set,
        }
    }

    pub fn context_of(&self, node: u16) -> NodeContext {
        NodeContext {
            node: NodeId(node),
            home: self.context.site.home,
            replacement_hints: self.set.replacement_hints(),
            remote_access_cache: self.remote_access_cache,
        }
    }

    /// Puts messages in flight.
    fn send(&mut self, messages: Vec<Message>) {
        self.sent.extend(messages.iter().map(|message| message.kind.mnemonic()));
        self.network.extend(messages);
    }

    /// Performs an access to the first line, and delivers all messages that follow from it.
    pub fn access(&mut self, node: u16, access: Access) -> AccessOutcome {
        let outcome = self.begin(0, node, access);
        self.settle();
        outcome
    }

    /// Starts an access, whose request, if any, stays in flight.
    pub fn begin(&mut self, line: usize, node: u16, access: Access) -> AccessOutcome {
        (self.sent, self.works) = (Vec::new(), Vec::new());
        let (context, mut messages) = (self.context_of(node), Vec::new());
        let cache = &mut self.lines[line].nodes[usize::from(node)];
        let expected = cache.request_message(access).filter(|_| cache.request.is_none());
        let outcome =
            msi::access(cache, LineAddr(line as u64), &context, access, &mut |message| messages.push(message));
        assert_eq!(expected, messages.first().map(|message| message.kind), "the request is the predicted one");
        self.send(messages);
        if matches!(outcome, AccessOutcome::Hit | AccessOutcome::RemoteAccessCacheHit) {
            self.performed(line, node, access);
        }
        outcome
    }

    /// Performs an eviction of the first line, and delivers all messages that follow from it.
    pub fn evict(&mut self, node: u16) {
        self.begin_eviction(0, node);
        self.settle();
    }

    /// Starts an eviction from the cache that holds the copy; its message stays in flight. Nothing happens while a
    /// request is outstanding.
    pub fn begin_eviction(&mut self, line: usize, node: u16) {
        (self.sent, self.works) = (Vec::new(), Vec::new());
        let (context, mut messages) = (self.context_of(node), Vec::new());
        let cache = &mut self.lines[line].nodes[usize::from(node)];
        if cache.request.is_some() {
            return;
        }
        let evict = match cache.place {
            Place::Cache => msi::evict,
            Place::RemoteAccessCache => msi::evict_from_node,
        };
        let evicted = evict(cache, LineAddr(line as u64), &context, &mut |message| messages.push(message));
        evicted.expect("nothing is outstanding");
        self.send(messages);
    }

    /// Delivers messages until none is in flight. NACKed requests are retried.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            let Some(message) = self.network.pop_front() else { return };
            self.deliver(&message);
        }
        panic!("no end of messages: {:?}", &self.sent[..100]);
    }

    /// Delivers the message at `index`, unless it must wait for a hint from the same node to the same home.
    pub fn deliver_index(&mut self, index: usize) {
        let message = self.network[index];
        let is_hint = |other: &&Message| {
            other.kind == MessageKind::ReplacementHint
                && (other.requester, other.line) == (message.requester, message.line)
        };
        let is_request = matches!(
            message.kind,
            MessageKind::Get | MessageKind::GetExclusive | MessageKind::Upgrade | MessageKind::Refill
        );
        if !is_request || !self.network.iter().any(|other| is_hint(&other)) {
            self.network.remove(index);
            self.deliver(&message);
        }
    }

    /// Delivers one message.
    pub fn deliver(&mut self, message: &Message) {
        match message.to {
            Agent::Home(_) => self.deliver_to_home(message),
            Agent::Node(node) => self.deliver_to_node(message, node),
        }
    }

    fn deliver_to_home(&mut self, message: &Message) {
        loop {
            let mut messages = Vec::new();
            let line = &mut self.lines[message.line.index()];
            let handled = msi::home(
                &self.set,
                &mut line.entry,
                &mut self.store,
                &mut line.memory,
                message,
                &self.context,
                &mut |message, _| messages.push(message),
            );
            self.send(messages);
            match handled.expect("the run is correct") {
                HomeOutcome::Done(work) => return self.works.push(work),
                HomeOutcome::StoreExhausted => self.reclaim(),
            }
        }
    }

    /// Reclaims store entries of a line.
    fn reclaim(&mut self) {
        let (mut messages, mut work) = (Vec::new(), SetWork::default());
        let random = self.reclaimed.wrapping_mul(7919);
        let victim = self.set.victim(&mut self.store, random, &mut work).expect("something fills the store");
        let entry = &mut self.lines[victim.index()].entry;
        let reclaimed = msi::reclaim(&self.set, entry, &mut self.store, victim, &self.context, &mut |message, _| {
            messages.push(message);
        });
        reclaimed.expect("only a clean line has sharers");
        self.reclaimed += 1;
        self.send(messages);
    }

    fn deliver_to_node(&mut self, message: &Message, node: NodeId) {
        let (line, mut messages) = (message.line.index(), Vec::new());
        let context = self.context_of(node.0);
        let cache = &mut self.lines[line].nodes[node.index()];
        let (request, had_row) = (cache.request, cache.has_collection_row());
        let outcome = msi::receive(cache, &context, message, &mut |message| messages.push(message));
        assert!(had_row || cache.collection == Collection::IDLE, "a row that was not kept free");
        match (outcome.expect("the run is correct"), request) {
            (NodeOutcome::Completed(_), Some(request)) => self.performed(line, node.0, request.access),
            (NodeOutcome::Retry, _) => {
                let again = cache.retry_message();
                let retried = msi::retry(cache, message.line, &context, &mut |message| messages.push(message));
                retried.expect("the request was NACKed");
                assert_eq!(again, messages.last().map(|message| message.kind), "the request is the predicted one");
            }
            _ => {}
        }
        self.send(messages);
    }

    /// Checks a performed access. While a requester collects acknowledgements (`/IR`), and only then, a load may return
    /// old data.
    fn performed(&mut self, line: usize, node: u16, access: Access) {
        let line = &mut self.lines[line];
        let version = line.nodes[usize::from(node)].version;
        if access == Access::Store {
            line.stores += 1;
        }
        let collecting = matches!(line.entry.state, DirectoryState::Collecting { .. });
        if access == Access::Store || !collecting {
            assert_eq!(version, Version(line.stores), "node {node}, {access:?}");
        }
    }

    /// Checks a quiet machine: each line has one writer or readers, all with the last store's data, and the directory
    /// includes them.
    pub fn check(&self) {
        assert!(self.network.is_empty());
        for line in &self.lines {
            assert!(line.nodes.iter().all(CacheLine::is_quiet));
            let latest = Version(line.stores);
            let with = |state| line.nodes.iter().enumerate().filter(move |(_, cache)| cache.state == state);
            assert!(with(Msi::Shared).chain(with(Msi::Dirty)).all(|(_, cache)| cache.version == latest));
            match line.entry.state {
                DirectoryState::Clean => {
                    assert_eq!((line.memory, with(Msi::Dirty).count()), (latest, 0));
                    let (mut named, mut work) = (0u64, SetWork::default());
                    let (mut header, mut store) = (line.entry.sharers, self.store.clone());
                    self.set.drain(&self.context.site, &mut header, &mut store, &mut work, |node, _| {
                        named |= 1 << node.0;
                    });
                    assert!(with(Msi::Shared).all(|(node, _)| named >> node & 1 == 1), "the set lacks a sharer");
                }
                DirectoryState::Dirty { owner } => {
                    assert!(with(Msi::Dirty).map(|(node, _)| node).eq([owner.index()]));
                    assert_eq!(with(Msi::Shared).count(), 0);
                }
                pending => panic!("{pending:?} is pending"),
            }
        }
    }
}
