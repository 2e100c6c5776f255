//! Transfers of pages between nodes: the counted misses that select them, and the steps of a device (Lai and Falsafi 2000, Section
//! 3.1).
//!
//! 1. The device of a home counts the misses on its memory by page and node, and interrupts a processor of its node when they
//!    select a page ([`crate::os::Selection`]).
//! 2. The kernel locks the mapper of the page, takes the translations of its own node away ([`crate::os::Discovery::Poison`]), and
//!    then the device transfers the page, some lines at a time (`os.copy_lines`).
//! 3. A line of a page that is gathered is poisoned: the device requests it of its own directory with the right to write
//!    (`POISON_READ`), so that all other nodes give it up, and takes it from the caches of its node by a bus transaction. From then
//!    on requests of other nodes for the line are refused, and end in bus errors (`crate::system`): a processor with an outdated
//!    translation has it taken away when it uses it. A line that is copied is read from memory, which is current because nobody may
//!    store to the page.
//! 4. The line goes to the new home as a writeback: no processor maps its frame yet, so the directory there names the source as
//!    the line's owner. With the last line the kernel maps the page there.

use machine::Description;
use protocol::cluster::{DirectoryState, Entry, Line, Message, MessageKind};
use protocol::snoop::{Command, Rights};
use protocol::{Agent, Version};
use units::{Duration, LineAddr, NodeId, PhysicalAddr, Time};

use super::Cluster;
use super::device::{Kept, Purpose};
use super::event::{ClusterEvent, NodeMessage};
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::os::{PageStep, PageTransfers, Selection, Transfer};
use crate::part::{MissCounters, MissCountersSpec};
use crate::snooping::Transaction;
use crate::system::{System, TransfersPages};

/// The miss counters of a machine of `nodes` nodes, if it has any.
pub(super) fn counters(description: &Description, nodes: usize) -> Option<MissCounters> {
    let (spec, os) = (description.miss_counters.as_ref()?, &description.os);
    Some(MissCounters::new(MissCountersSpec {
        nodes,
        page_shift: description.tlb.page.0.trailing_zeros(),
        reset: spec.reset,
        selection: Selection { migration: os.migration, replication: os.replication, threshold: spec.threshold },
    }))
}

impl<const OWNED: bool> TransfersPages for Cluster<OWNED> {
    fn transfers(&mut self, node: NodeId) -> &mut PageTransfers {
        &mut self.devices[node.index()].transfers
    }

    fn page_event(node: NodeId, step: PageStep) -> ClusterEvent {
        ClusterEvent::Page(node, step)
    }

    fn lines_at_once(&self, transfer: &Transfer, copied: u32) -> u32 {
        if transfer.recalls() { self.gather_lines } else { copied }
    }

    /// The device poisons a line of the page and takes it, or requests the bus to read it. Planted faults leave the line in caches, or
    /// without poison.
    fn take_line(system: &mut System<Self>, node: NodeId, number: u32) {
        let Some(job) = system.page_job(node) else { return };
        let (line, recalls) = (job.source_line(number), job.transfer.recalls());
        if !recalls || system.strikes(Fault::ForgottenFlush) {
            return system.use_bus(node, line, Purpose::Copy);
        }
        system.poison_line(node, line);
    }

    fn page_left(&mut self, node: NodeId, transfer: &Transfer, length: Duration) {
        self.devices[node.index()].pages.count_job(transfer.recalls(), length);
    }

    fn page_arrived(&mut self, node: NodeId, transfer: &Transfer) {
        self.devices[node.index()].pages.count_transfer(transfer.recalls());
    }
}

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// A message has been handled at its home: another node's request to fill its cache is a miss, which an upgrade is not (Lai and
    /// Falsafi 2000, Section 3.1), and the writeback of a line whose frame stands for a page elsewhere is a line of that page.
    pub(super) fn note_at_home(&mut self, home: NodeId, NodeMessage { message, .. }: &NodeMessage) {
        match message.kind {
            MessageKind::Read | MessageKind::ReadExclusive if message.requester != home => {
                self.count_page_miss(home, message.line, message.requester, message.kind != MessageKind::Read);
            }
            MessageKind::Writeback => self.note_page_line(home, message.line, self.kernel.now),
            _ => {}
        }
    }

    /// Counts a miss of node `from` on a line of `home`, which may interrupt a processor of the home.
    #[inline]
    pub(super) fn count_page_miss(&mut self, home: NodeId, line: LineAddr, from: NodeId, write: bool) {
        let Cluster { misses: Some(misses), buses, .. } = &mut self.controllers else { return };
        let offset = buses.lines.offset(line) * buses.lines.line().0;
        if let Some(start) = misses.count(home, offset, from, write) {
            self.raise_interrupt(start);
        }
    }

    /// The device of the home `node` requests the right to write a line of the page of its own directory, which poisons it. With the
    /// right, the device takes the line by a transaction of the bus.
    fn poison_line(&mut self, node: NodeId, line: LineAddr) {
        let id = self.own_transaction(node, line, Purpose::Gather);
        self.controllers.devices[node.index()].waiting.push((line, id));
        self.controllers.line(node, line).0.poisons = true;
        self.fetch(node, line);
    }

    /// The poison of a page's lines is cleared.
    pub(super) fn clear_poison(&mut self, frame: PhysicalAddr) {
        let (first, lines) = (frame.line(self.line()), self.paging.page().0 / self.line().0);
        for line in (first.0..first.0 + lines).map(LineAddr) {
            if let Some(entry) = &mut self.controllers.homes.line(line).entry {
                entry.poisoned = false;
            }
        }
    }

    /// The combined reply to the gathering of a line is there: all caches of the node give the line up.
    pub(super) fn gather_line(&mut self, id: EnvelopeId, transaction: Transaction, ready: Time) {
        let Transaction { node, line, .. } = transaction;
        let state = self.controllers.line(node, line).0;
        if state.rights == Rights::Write && state.is_collecting() {
            self.controllers.devices[node.index()].blocked.push((line, id));
            return self.end_bus(node, line);
        }
        match state.snoop(node, Command::ReadExclusive) {
            Ok(reply) => debug_assert!(!reply.retry, "nobody takes a poisoned line from its home"),
            Err(error) => return self.fail(error),
        }
        let taken = match self.snoop_for_device(node, line, Command::ReadExclusive) {
            Ok(taken) => taken,
            Err(error) => return self.fail(error),
        };
        if let Some(version) = taken.contents {
            *self.controllers.line(node, line).1 = version;
        }
        let now = self.kernel.now;
        self.schedule_data(node, id, taken.owner.unwrap_or(ready.max(now)));
    }

    /// A line of a page has crossed the bus of its source at `end`: it goes to its new home, if it has one.
    pub(super) fn send_page_line(&mut self, node: NodeId, line: LineAddr, end: Time) {
        self.attend(node, line);
        let Some(transfer) = self.page_job(node).map(|job| job.transfer) else { return };
        let start = self.controllers.devices[node.index()].engage(end, self.controllers.timing.occupancy);
        if let Some(to) = self.depart(&transfer, line) {
            let version = self.controllers.homes.line(line).contents;
            self.lend(node, to, version);
            let home = Agent::Home(self.controllers.buses.lines.home(to));
            let message = Message::new(MessageKind::Writeback, to, home, node).with_version(version);
            self.send(node, message, false, start);
        }
        self.schedule_page_step(node, start, PageStep::Left);
    }

    /// The source of a page in transfer is the owner of a line of the target frame, whose writeback is outstanding.
    fn lend(&mut self, node: NodeId, to: LineAddr, version: Version) {
        let place = self.controllers.homes.line(to);
        let entry = Entry { state: DirectoryState::Owned { owner: node }, ..Entry::uncached(node) };
        (place.entry, place.line) = (Some(entry), Some(Line::ABSENT));
        let line = Line { writeback: Some(version), ..Line::ABSENT };
        self.controllers.devices[node.index()].lines.insert(to, Kept { line, ..Kept::default() });
    }
}
