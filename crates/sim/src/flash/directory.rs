//! The directories of all nodes, for any representation of sharers: the home's side of the protocol.

use protocol::msi::{
    DirectoryState, Entry, HomeContext, HomeOutcome, HomeWork, Message, SetWork, SharingSet, Site, Variant,
};
use protocol::{ProtocolError, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{LineAddr, NodeId};

use crate::incoherence::Unfinished;
use crate::map::{LineMap, LineTable};

/// The effects of a run of a home's handler besides the new directory state. Reused from run to run.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// The messages, in order, each with the work on the sharing set before it.
    pub sent: Vec<(Message, SetWork)>,
    /// Words of the pointer store that it touched, in order.
    pub touched: Vec<u32>,
    /// All work on the sharing set.
    pub set: SetWork,
    /// Lines whose sharers were invalidated to make room in the store.
    pub reclaimed: u16,
}

impl Traces {
    fn clear(&mut self) {
        self.sent.clear();
        self.touched.clear();
        (self.set, self.reclaimed) = (SetWork::NONE, 0);
    }
}

/// The directories of a machine, independent of the representation of sharers, which is chosen when the machine is
/// made.
pub trait Directory {
    /// Extends the memory of the node to `lines` lines.
    fn extend(&mut self, node: NodeId, lines: u64);

    /// Handles a message at the home of its line.
    ///
    /// # Errors
    /// A case that the protocol excludes.
    fn handle(&mut self, home: NodeId, message: &Message, traces: &mut Traces) -> Result<HomeWork, ProtocolError>;

    /// The state of a line and its contents in memory.
    fn line(&mut self, line: LineAddr) -> (DirectoryState, Version);

    /// Whether the sharing set of a line names the node.
    fn names(&mut self, line: LineAddr, node: NodeId) -> bool;

    /// Makes a node the owner of a line that no cache has: a page is about to be written to the line's frame, which no
    /// processor maps yet.
    fn lend(&mut self, line: LineAddr, owner: NodeId);

    /// Clears the sharers of a line: a planted fault.
    fn forget(&mut self, line: LineAddr);

    /// Checks, at the end of a run, that no entry is pending and that lines hold all store entries in use.
    ///
    /// # Errors
    /// The excess.
    fn check(&self) -> Result<(), Unfinished>;
}

/// The directories of a machine with sharing sets of type `S`.
pub struct Directories<S: SharingSet> {
    set: S,
    variant: Variant,
    lines: LineMap,
    entries: LineTable<(Entry<S::Header>, Version)>,
    stores: Vec<S::Store>,
    random: Xoshiro256PlusPlus,
    /// A store for unfolding sets to list the nodes they name; made on first use.
    scratch: Option<S::Store>,
}

impl<S: SharingSet> Directories<S> {
    /// Empty directories of `nodes` nodes.
    pub fn new(set: S, variant: Variant, nodes: usize, lines: LineMap, seed: u64) -> Self {
        let mut stores: Vec<_> = (0..nodes).map(|_| set.store()).collect();
        stores.iter_mut().for_each(|store| set.record_touches(store, true));
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { set, variant, lines, entries: LineTable::new(nodes, lines), stores, random, scratch: None }
    }

    fn context(&self, home: NodeId) -> HomeContext {
        HomeContext { site: Site { home, nodes: self.stores.len() as u16 }, variant: self.variant }
    }

    /// Makes room in the store of `home`: invalidates the sharers of a line chosen at random (FLASH dissertation,
    /// 5.2.2).
    fn reclaim(&mut self, home: NodeId, traces: &mut Traces) -> Result<(), &'static str> {
        let context = self.context(home);
        let store = &mut self.stores[home.index()];
        let victim = self.set.victim(store, self.random.next_u32(), &mut traces.set);
        let victim = victim.ok_or("the store is exhausted, but no line holds any of it")?;
        let (entry, _) = self.entries.line(victim);
        let before = traces.set;
        let send = &mut |message, work: &SetWork| traces.sent.push((message, sum(before, *work)));
        let (_, work) = protocol::msi::reclaim(&self.set, entry, store, victim, &context, send)?;
        traces.set += work;
        traces.reclaimed += 1;
        Ok(())
    }
}

fn sum(mut first: SetWork, second: SetWork) -> SetWork {
    first += second;
    first
}

impl<S: SharingSet> Directory for Directories<S> {
    fn extend(&mut self, node: NodeId, lines: u64) {
        self.entries.extend(node, lines);
    }

    fn handle(&mut self, home: NodeId, message: &Message, traces: &mut Traces) -> Result<HomeWork, ProtocolError> {
        traces.clear();
        let context = self.context(home);
        loop {
            let (entry, memory) = self.entries.line(message.line);
            let store = &mut self.stores[home.index()];
            let before = traces.set;
            let send = &mut |message, work: &SetWork| traces.sent.push((message, sum(before, *work)));
            match protocol::msi::home(&self.set, entry, store, memory, message, &context, send)? {
                HomeOutcome::Done(work) => {
                    traces.set += work.set;
                    self.set.touched(store, |word| traces.touched.push(word));
                    return Ok(work);
                }
                HomeOutcome::StoreExhausted => self.reclaim(home, traces).map_err(|reason| ProtocolError {
                    at: protocol::Agent::Home(home),
                    message: message.kind.mnemonic(),
                    state: self.entries.line(message.line).0.state.mnemonic(),
                    reason,
                })?,
            }
        }
    }

    fn line(&mut self, line: LineAddr) -> (DirectoryState, Version) {
        let (entry, version) = self.entries.line(line);
        (entry.state, *version)
    }

    fn names(&mut self, line: LineAddr, node: NodeId) -> bool {
        let home = self.lines.home(line);
        let site = self.context(home).site;
        let (entry, _) = self.entries.line(line);
        let mut nodes = Vec::new();
        let form = self.set.snapshot(&site, &entry.sharers, &self.stores[home.index()], |other| nodes.push(other));
        // A snapshot lists the entry as stored; draining it lists every node that would be invalidated.
        let scratch = self.scratch.get_or_insert_with(|| self.set.store());
        let mut copy = self.set.restore(&site, line, scratch, form, &nodes);
        let mut named = false;
        self.set.drain(&site, &mut copy, scratch, &mut SetWork::default(), |other, _| named |= other == node);
        named
    }

    fn lend(&mut self, line: LineAddr, owner: NodeId) {
        let (entry, _) = self.entries.line(line);
        debug_assert_eq!(entry.state, DirectoryState::Clean, "{line:?} is in use");
        entry.state = DirectoryState::Dirty { owner };
    }

    fn forget(&mut self, line: LineAddr) {
        let home = self.lines.home(line);
        let site = self.context(home).site;
        let (entry, _) = self.entries.line(line);
        self.set.drain(&site, &mut entry.sharers, &mut self.stores[home.index()], &mut SetWork::default(), |_, _| {});
        self.set.touched(&mut self.stores[home.index()], |_| {});
    }

    fn check(&self) -> Result<(), Unfinished> {
        for (home, store) in (0..).map(NodeId).zip(&self.stores) {
            let entries = || self.entries.lines(home).map(|(entry, _)| entry);
            let pending = entries().filter(|entry| entry.state.is_pending()).count();
            let held: u32 = entries().map(|entry| self.set.entries_held(&entry.sharers, store)).sum();
            let lost = self.set.entries_in_use(store).abs_diff(held);
            Unfinished::none(home, pending, "pending directory entries")?;
            Unfinished::none(home, lost as usize, "entries of its store that no line holds, or two do")?;
        }
        Ok(())
    }
}
