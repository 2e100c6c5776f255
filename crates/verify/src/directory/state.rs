//! States of a directory protocol's model, and contents relative to the last store.
//!
//! Stores never end, and the state space is finite all the same: no protocol reads contents, and the properties depend
//! only on whether they are those of the last store. One number therefore stands for the last contents, and one for all
//! older ones. A third stands for data on their way to an uncached read: they were the last contents when they were
//! sent, and the read may return them although a store has been performed since. The last store being [`LATEST`], a
//! store performed on it creates [`JUST_STORED`], which exists only within a step: then everything is renumbered.

use protocol::{Access, Version};

use super::{Explored, MAX_CACHES, MAX_LINES, Names};

/// Contents older than the last store.
pub const STALE: Version = Version(0);
/// Contents of the last store.
pub const LATEST: Version = Version(1);
/// Contents that a store on the last contents creates.
pub const JUST_STORED: Version = Version(2);
/// Last contents at the time when they were sent to an uncached read that is still outstanding.
pub const OVERTAKEN: Version = Version(3);

/// Most messages in flight: far more than this number of caches can have outstanding (checked on every insertion).
pub const MAX_MESSAGES: usize = 48;

/// A state: caches, homes with their store, and the multiset of messages in flight.
#[derive(Clone, Debug)]
pub struct State<P: Explored> {
    /// Lines at caches, by line and cache.
    pub(super) caches: [[P::CacheLine; MAX_CACHES]; MAX_LINES],
    /// Lines at their homes.
    pub(super) homes: [P::HomeLine; MAX_LINES],
    /// The checker's notes about each line.
    pub(super) notes: [P::Notes; MAX_LINES],
    /// Store that the homes of all lines share.
    pub(super) store: P::Store,
    /// Messages in flight, packed and sorted.
    messages: [u32; MAX_MESSAGES],
    length: usize,
}

impl<P: Explored> State<P> {
    /// Initial state: nothing cached, nothing in flight, memory latest.
    pub(super) fn initial(protocol: &P) -> Self {
        let mut home = P::HomeLine::default();
        *P::memory(&mut home) = LATEST;
        Self {
            caches: [[P::CacheLine::default(); MAX_CACHES]; MAX_LINES],
            homes: [home; MAX_LINES],
            notes: [P::Notes::default(); MAX_LINES],
            store: protocol.store(),
            messages: [0; MAX_MESSAGES],
            length: 0,
        }
    }

    /// Messages in flight, packed and sorted.
    pub(super) fn messages(&self) -> &[u32] {
        &self.messages[..self.length]
    }

    /// Puts a message in flight.
    pub(super) fn send(&mut self, word: u32) {
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
    }

    /// Renumbers the contents of `line` after a store by `cache`: all other contents are older.
    pub(super) fn renumber(&mut self, protocol: &P, line: usize, cache: usize) {
        let uncached = self.caches[line].map(|line| P::waiting(&line) == Some(Access::UncachedRead));
        for (other, line) in self.caches[line].iter_mut().enumerate() {
            let version = P::contents(line);
            *version = if other == cache { LATEST } else { aged(*version, uncached[other]) };
        }
        let memory = P::memory(&mut self.homes[line]);
        *memory = aged(*memory, false);
        for word in &mut self.messages[..self.length] {
            let mut message = P::unpack_message(*word);
            if P::line(&message).index() != line {
                continue;
            }
            let to_uncached = match protocol.destination(&message) {
                protocol::contract::Destination::Caches(caches) => uncached[usize::from(caches.start)],
                protocol::contract::Destination::Home => false,
            };
            if let Some(version) = P::carried(&mut message) {
                *version = aged(*version, to_uncached);
                *word = P::pack_message(&message, &Names::SAME);
            }
        }
        self.messages[..self.length].sort_unstable();
    }

    /// Description of the state in one line, for traces: caches, homes with memory, messages in flight.
    pub(super) fn describe(&self, protocol: &P, caches: usize, lines: usize) -> String {
        let mut parts = Vec::new();
        for line in 0..lines {
            let of_line = if lines > 1 { format!("line {line}: ") } else { String::new() };
            for (cache, at_cache) in self.caches[line][..caches].iter().enumerate() {
                let copy = if P::copy(at_cache).is_valid() { age(*P::contents(&mut { *at_cache })) } else { "" };
                let prefix = if cache == 0 { of_line.as_str() } else { "" };
                parts.push(format!("{prefix}{}{copy}", P::describe_cache(at_cache)));
            }
            let memory = age(*P::memory(&mut { self.homes[line] }));
            parts.push(format!("{} memory{memory}", protocol.describe_home(&self.homes[line], &self.store)));
        }
        let messages = self.messages().iter().map(|&word| P::unpack_message(word).to_string());
        format!("{} | {}", parts.join(" | "), messages.collect::<Vec<_>>().join("; "))
    }
}

fn aged(version: Version, uncached: bool) -> Version {
    match version {
        LATEST if uncached => OVERTAKEN,
        LATEST => STALE,
        other => other,
    }
}

fn age(version: Version) -> &'static str {
    match version {
        LATEST => "",
        OVERTAKEN => " overtaken",
        _ => " stale",
    }
}

/// One line of a state.
#[derive(Clone, Copy)]
pub struct View<'a, P: Explored> {
    pub(super) state: &'a State<P>,
    pub(super) line: usize,
    pub(super) caches: usize,
}

impl<'a, P: Explored> View<'a, P> {
    /// The line at each cache.
    pub fn caches(&self) -> &'a [P::CacheLine] {
        &self.state.caches[self.line][..self.caches]
    }

    /// The line at its home.
    pub fn home(&self) -> &'a P::HomeLine {
        &self.state.homes[self.line]
    }

    /// The store that all lines share.
    pub fn store(&self) -> &'a P::Store {
        &self.state.store
    }

    /// Whether memory has the contents of the last store.
    pub fn memory_is_latest(&self) -> bool {
        *P::memory(&mut { *self.home() }) == LATEST
    }

    /// Messages in flight about the line.
    pub fn messages(&self) -> impl Iterator<Item = P::Message> {
        let line = self.line;
        let messages = self.state.messages().iter().map(|&word| P::unpack_message(word));
        messages.filter(move |message| P::line(message).index() == line)
    }

    /// Whether nothing is outstanding.
    pub(super) fn is_quiet(&self) -> bool {
        self.caches().iter().all(P::is_quiet) && self.messages().next().is_none()
    }
}
