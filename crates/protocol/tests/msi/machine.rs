//! Two dozen lines around the handlers: a home, the nodes, and messages delivered in the order in which they were sent.

use std::collections::VecDeque;

use protocol::Version;
use protocol::msi::{
    self, Access, AccessOutcome, Agent, CacheLine, Entry, Handled, HomeContext, HomeWork, Message, MessageKind,
    NodeContext, SharingSet, Site, Variant,
};
use units::{LineAddr, NodeId};

/// The line that everything is about.
pub const LINE: LineAddr = LineAddr(0);

/// One line of a machine.
pub struct Machine<S: SharingSet> {
    pub set: S,
    pub context: HomeContext,
    pub entry: Entry<S::Header>,
    pub store: S::Store,
    pub memory: Version,
    pub nodes: Vec<CacheLine>,
    pub remote_access_cache: bool,
    /// In flight.
    pub network: VecDeque<Message>,
    /// Mnemonics of everything sent, in order, since [`Machine::access`] last began.
    pub sent: Vec<&'static str>,
    /// What the home did, likewise.
    pub works: Vec<HomeWork>,
}

impl<S: SharingSet> Machine<S> {
    pub fn new(set: S, nodes: u16, variant: Variant) -> Self {
        Self {
            context: HomeContext { site: Site { home: NodeId(0), nodes }, variant },
            entry: Entry::default(),
            store: set.store(),
            memory: Version(0),
            nodes: vec![CacheLine::INVALID; usize::from(nodes)],
            remote_access_cache: false,
            network: VecDeque::new(),
            sent: Vec::new(),
            works: Vec::new(),
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

    /// Puts a message in flight.
    fn send(&mut self, messages: Vec<Message>) {
        self.sent.extend(messages.iter().map(|message| message.kind.mnemonic()));
        self.network.extend(messages);
    }

    /// An access, and everything that it leads to.
    pub fn access(&mut self, node: u16, access: Access) -> AccessOutcome {
        let outcome = self.begin(node, access);
        self.settle();
        outcome
    }

    /// An access whose request, if it takes one, stays in flight.
    pub fn begin(&mut self, node: u16, access: Access) -> AccessOutcome {
        (self.sent, self.works) = (Vec::new(), Vec::new());
        let (context, mut messages) = (self.context_of(node), Vec::new());
        let line = &mut self.nodes[usize::from(node)];
        let outcome = msi::access(line, LINE, &context, access, &mut |message| messages.push(message));
        self.send(messages);
        outcome
    }

    /// An eviction, and everything that it leads to.
    pub fn evict(&mut self, node: u16) {
        (self.sent, self.works) = (Vec::new(), Vec::new());
        let (context, mut messages) = (self.context_of(node), Vec::new());
        let line = &mut self.nodes[usize::from(node)];
        msi::evict(line, LINE, &context, &mut |message| messages.push(message)).expect("nothing is outstanding");
        self.send(messages);
        self.settle();
    }

    /// Delivers until nothing is in flight; refused requests are tried again.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let Some(message) = self.network.pop_front() else { return };
            self.deliver(&message);
        }
        panic!("no end of messages: {:?}", self.sent);
    }

    /// One message arrives.
    pub fn deliver(&mut self, message: &Message) {
        let mut messages = Vec::new();
        match message.to {
            Agent::Home(_) => {
                let handled = msi::home(
                    &self.set,
                    &mut self.entry,
                    &mut self.store,
                    &mut self.memory,
                    message,
                    &self.context,
                    &mut |message, _| messages.push(message),
                );
                match handled.expect("the run is faithful") {
                    Handled::Done(work) => self.works.push(work),
                    Handled::StoreExhausted => panic!("the store is large enough"),
                }
            }
            Agent::Node(node) => {
                let context = self.context_of(node.0);
                let line = &mut self.nodes[node.index()];
                let received = msi::receive(line, &context, message, &mut |message| messages.push(message));
                received.expect("the run is faithful");
                if message.kind == MessageKind::NegativeAcknowledge {
                    msi::retry(line, LINE, &context, &mut |message| messages.push(message)).expect("refused");
                }
            }
        }
        self.send(messages);
    }
}
