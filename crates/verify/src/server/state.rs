//! States of the model of a server: lines at cores, caching agents and homes, and the messages in flight.

use protocol::server::{CachingLine, CoreLine, External, HomeLine, Message, MessageKind};
use protocol::{Access, Agent, Version};

use super::codec;
use crate::directory::OVERTAKEN;
pub use crate::directory::{JUST_STORED, LATEST, STALE};

/// Most cores of a model, and most clusters.
pub const MAX_CORES: usize = 4;
/// Most lines of a model.
pub const MAX_LINES: usize = 2;
/// Most messages in flight: far more than this number of cores can have outstanding (checked on every insertion).
const MAX_MESSAGES: usize = 64;

/// One line at every agent.
#[derive(Clone, Copy, PartialEq)]
pub struct LineState {
    pub(super) cores: [CoreLine; MAX_CORES],
    pub(super) agents: [CachingLine; MAX_CORES],
    pub(super) home: HomeLine,
}

/// Every line at every agent, and the messages in flight.
#[derive(Clone, PartialEq)]
pub struct ServerState {
    pub(super) lines: [LineState; MAX_LINES],
    /// Messages in flight, packed, channel by channel. Channels that keep order have them in the order in which they were
    /// sent; the others are sorted.
    messages: [u32; MAX_MESSAGES],
    length: usize,
}

impl ServerState {
    /// Initial state: nothing is cached or in flight, and memory has the latest contents.
    pub(super) fn initial() -> Self {
        let line = LineState {
            cores: [CoreLine::default(); MAX_CORES],
            agents: [CachingLine::default(); MAX_CORES],
            home: HomeLine { memory: LATEST, ..HomeLine::default() },
        };
        Self { lines: [line; MAX_LINES], messages: [0; MAX_MESSAGES], length: 0 }
    }

    /// Messages in flight.
    pub(super) fn messages(&self) -> &[u32] {
        &self.messages[..self.length]
    }

    /// Puts a message in flight, at the end of its channel if that keeps order.
    pub(super) fn send(&mut self, word: u32, in_order: bool) {
        assert!(self.length < MAX_MESSAGES, "more than {MAX_MESSAGES} messages in flight");
        let at = self.messages().partition_point(|&other| {
            if in_order { codec::channel(other) <= codec::channel(word) } else { other <= word }
        });
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

    /// Renumbers the contents of a line after a store by `core`: all other contents are older. Data on their way to a read
    /// that keeps no copy may still be returned: they were the latest when they were sent.
    pub(super) fn renumber(&mut self, line: usize, core: usize, in_order: impl Fn(&Message) -> bool) {
        let at = &mut self.lines[line];
        for (other, copy) in at.cores.iter_mut().enumerate() {
            copy.contents = if other == core { LATEST } else { STALE };
        }
        for agent in &mut at.agents {
            let reads_current = agent.request.is_some_and(|request| request.kind == MessageKind::CoreReadCurrent)
                && agent.external.is_none()
                || matches!(agent.external, Some(External::Snoop { kind: MessageKind::SnoopCurrent, .. }));
            agent.contents = STALE;
            agent.transit = aged(agent.transit, reads_current);
        }
        at.home.memory = STALE;
        let (words, length) = (self.messages, self.length);
        self.length = 0;
        for &word in &words[..length] {
            let message = codec::unpack_message(word);
            if message.line.index() == line {
                let aged = message.with_version(aged(message.version, codec::is_current(&message)));
                self.send(codec::pack_message(&aged), in_order(&aged));
            } else {
                self.send(word, in_order(&message));
            }
        }
    }
}

/// Contents after a store.
fn aged(version: Version, reads_current: bool) -> Version {
    if reads_current && version != STALE { OVERTAKEN } else { STALE }
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum ServerStep {
    /// A core accesses the line.
    Access(u8, u8, Access),
    /// A core evicts the line.
    Evict(u8, u8),
    /// A caching agent replaces the line in its L3.
    EvictL3(u8, u8),
    /// A caching agent replaces the line's entry in its snoop filter.
    EvictFilter(u8, u8),
    /// The home replaces the line's entry in its directory cache or probe filter.
    EvictEntry(u8),
    /// A message arrives; an opportunistic home snoops at once.
    Deliver(Message, bool),
}

impl std::fmt::Display for ServerStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Access(core, line, access) => {
                write!(f, "core{core}: {} line {line}", crate::directory::verb(*access))
            }
            Self::Evict(core, line) => write!(f, "core{core}: evicts line {line}"),
            Self::EvictL3(cluster, line) => write!(f, "L3 of cluster {cluster}: replaces line {line}"),
            Self::EvictFilter(cluster, line) => write!(f, "filter of cluster {cluster}: replaces line {line}"),
            Self::EvictEntry(line) => write!(f, "home: replaces the entry of line {line}"),
            Self::Deliver(message, opportunistic) => {
                let to = match message.to {
                    Agent::Processor(core) => format!("core{}", core.0),
                    Agent::Interface(cluster) => format!("agent{}", cluster.0),
                    _ => "home".into(),
                };
                write!(f, "{to}: receives {}", describe_message(message))?;
                f.write_str(if *opportunistic { ", snoops at once" } else { "" })
            }
        }
    }
}

/// Text of a message without its destination.
pub fn describe_message(message: &Message) -> String {
    let from = match message.from {
        Agent::Processor(core) => format!("core{}", core.0),
        Agent::Interface(cluster) => format!("agent{}", cluster.0),
        _ => "home".into(),
    };
    format!("{} of line {} from {from} for cluster {}", message.kind.mnemonic(), message.line.0, message.requester.0)
}

impl ServerState {
    /// Description of the whole state in one line.
    pub(super) fn describe(&self, cores: usize, clusters: usize, lines: usize) -> String {
        let each = self.lines[..lines].iter().enumerate().map(|(number, line)| {
            let at_cores = line.cores[..cores].iter().map(|core| match core.request {
                Some(access) => format!("{:?}+{access:?}", core.copy),
                None => format!("{:?}", core.copy),
            });
            let at_agents = line.agents[..clusters].iter().map(describe_agent);
            let home = &line.home;
            let busy = home.busy.map(|busy| format!(" {busy:?}")).unwrap_or_default();
            let entry = home.entry.map(|entry| format!(" {entry:?}")).unwrap_or_default();
            let memory = if home.memory == LATEST { "latest" } else { "stale" };
            format!(
                "line {number}: {} | {} | home {:?}{entry} {memory}{busy}",
                at_cores.collect::<Vec<_>>().join(", "),
                at_agents.collect::<Vec<_>>().join(", "),
                home.bits
            )
        });
        let messages = self.messages().iter().map(|&word| describe_message(&codec::unpack_message(word)));
        format!("{} | {}", each.collect::<Vec<_>>().join(" | "), messages.collect::<Vec<_>>().join("; "))
    }
}

fn describe_agent(agent: &CachingLine) -> String {
    let mut text = format!("{:?} L3 {:?} cores {:b}", agent.state, agent.l3, agent.cores);
    if let Some(request) = agent.request {
        text += &format!(" {} {:?}", request.kind.mnemonic(), request.stage);
    }
    if let Some(external) = agent.external {
        text += &format!(" {external:?}");
    }
    text
}
