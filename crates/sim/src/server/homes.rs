//! The homes of a node in the simulator: lines at rest by address, transactions under way by memory controller, directory caches
//! and probe filters of limited size, and the memory behind each controller.

use engine::Server;
use machine::description::{Description, Replacement};
use protocol::server::{Bits, Holders, HomeLine, Message};
use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use units::{LineAddr, NodeId, Time};

use super::parked::Parked;
use super::timing::ServerTiming;
use super::under_way::UnderWay;
use crate::SimError;
use crate::map::{LineMap, LineTable};
use crate::part::{Cache, CacheSpec, Dram, Slot};

/// A line at rest, packed.
#[derive(Clone, Copy)]
struct Resting {
    sharers: u64,
    memory: u32,
    owner: u16,
    /// Directory bits, whether there is an entry, and whether the line is not at rest.
    flags: u8,
}

const BITS: [Bits; 3] = [Bits::Invalid, Bits::Shared, Bits::Any];
const ENTRY: u8 = 1 << 2;
const ACTIVE: u8 = 1 << 3;
const NO_OWNER: u16 = u16::MAX;

impl Default for Resting {
    fn default() -> Self {
        Self { sharers: 0, memory: 0, owner: NO_OWNER, flags: 0 }
    }
}

impl Resting {
    fn pack(line: &HomeLine) -> Self {
        let Holders { sharers, owner } = line.entry.unwrap_or_default();
        let flags = line.bits as u8 | if line.entry.is_some() { ENTRY } else { 0 };
        Self { sharers, memory: line.memory.0, owner: owner.map_or(NO_OWNER, |owner| owner.0), flags }
    }

    fn line(self) -> HomeLine {
        let owner = (self.owner != NO_OWNER).then_some(NodeId(self.owner));
        HomeLine {
            entry: (self.flags & ENTRY != 0).then_some(Holders { sharers: self.sharers, owner }),
            memory: Version(self.memory),
            bits: BITS[usize::from(self.flags & 3)],
            ..HomeLine::default()
        }
    }
}

/// A line with a transaction under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub(super) line: LineAddr,
    pub(super) state: HomeLine,
    pub(super) read: Read,
}

/// A read of memory for a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Read {
    /// None.
    None,
    /// In the queue of the controller, by its number there.
    Waits(u32),
    /// Served: the time at which the data are at the controller.
    At(Time),
}

/// A message that waits for a read of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The number of the read.
    pub(super) read: u32,
    pub(super) message: Message,
    /// The time before which it cannot leave.
    pub(super) out: Time,
}

/// A memory controller with its part of the home.
pub(super) struct MemoryController {
    pub(super) memory: Dram,
    /// The number of the next read.
    pub(super) next_read: u32,
    /// Messages that wait for reads, in the order in which they were sent.
    pub(super) held: Vec<Waiting>,
    pub(super) server: Server,
    /// The lines with an entry in the directory cache or the probe filter.
    entries: Option<Cache>,
    pub(super) active: UnderWay<Active>,
    /// Messages that wait for their line, for a tracker or for room.
    pub(super) parked: Parked,
    reserved: Vec<Slot>,
}

impl MemoryController {
    /// Whether a request must wait for room in the probe filter, as [`super::slices::Cluster::lacks_room`].
    #[inline]
    pub(super) fn lacks_room(&self, line: LineAddr) -> bool {
        self.entries.as_ref().is_some_and(|entries| entries.lacks_room(line.0, self.active.frames()))
    }
}

/// The homes of all nodes.
pub(super) struct Homes {
    resting: LineTable<Resting>,
    /// By node, its memory controllers.
    pub(super) nodes: Vec<Vec<MemoryController>>,
    random: Xoshiro256PlusPlus,
}

impl Homes {
    /// Idle homes of so many nodes.
    ///
    /// # Errors
    /// It describes another kind of node.
    pub(super) fn new(
        description: &Description,
        lines: LineMap,
        nodes: usize,
        timing: &ServerTiming,
        seed: u64,
    ) -> Result<Self, SimError> {
        let home = SimError::table(description.home.as_ref(), description, "server")?;
        let cache = || {
            let (sets, ways) = ((home.entries / home.ways) as usize, home.ways as usize);
            Cache::of_tags(&CacheSpec { sets, ways, replacement: Replacement::LeastRecentlyUsed, page_shift: 0 })
        };
        let controllers = description.memory.controllers as usize;
        let controller = |number| MemoryController {
            memory: Dram::new(timing.memory, (number, controllers)),
            next_read: 0,
            held: Vec::new(),
            server: Server::default(),
            entries: (home.entries > 0).then(cache),
            active: UnderWay::default(),
            parked: Parked::default(),
            reserved: Vec::new(),
        };
        let node = || (0..controllers).map(controller).collect();
        Ok(Self {
            resting: LineTable::new(nodes, lines),
            nodes: (0..nodes).map(|_| node()).collect(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }

    /// The memory of a node now has `lines` lines.
    pub(super) fn extend(&mut self, node: NodeId, lines: u64) {
        self.resting.extend(node, lines);
    }

    /// A memory controller.
    #[inline]
    pub(super) fn controller(&mut self, home: NodeId, controller: usize) -> &mut MemoryController {
        &mut self.nodes[home.index()][controller]
    }

    /// A line, wherever it is.
    #[inline]
    pub(super) fn get(&mut self, home: NodeId, controller: usize, line: LineAddr) -> Active {
        let resting = *self.resting.line(line);
        if resting.flags & ACTIVE != 0
            && let Some(active) = self.nodes[home.index()][controller].active.get(line)
        {
            return *active;
        }
        Active { line, state: resting.line(), read: Read::None }
    }

    /// Whether a line has a transaction under way.
    #[inline]
    pub(super) fn is_active(&mut self, line: LineAddr) -> bool {
        self.resting.line(line).flags & ACTIVE != 0
    }

    /// Sets a line.
    #[inline]
    pub(super) fn set(&mut self, home: NodeId, controller: usize, new: Active) {
        let resting = self.resting.line(new.line);
        let was = resting.flags & ACTIVE != 0;
        let quiet = new.state.is_quiet();
        *resting = Resting::pack(&new.state);
        if !quiet {
            resting.flags |= ACTIVE;
        }
        let active = &mut self.nodes[home.index()][controller].active;
        match (was, quiet) {
            (false, true) => {}
            // Stores of a home have no scattered pages.
            (false, false) => active.begin(new.line, new.line.0, new),
            (true, false) => active.go_on(new.line, new),
            (true, true) => active.end(new.line),
        }
    }

    /// Brings the directory cache or the probe filter up to date with a line, which had an entry there or not, and is `wanted` there from
    /// now on or not. Returns the line whose entry must be replaced.
    pub(super) fn settle(
        &mut self,
        home: NodeId,
        controller: usize,
        line: LineAddr,
        (had, wanted): (bool, bool),
    ) -> Option<LineAddr> {
        if !had && !wanted {
            return None;
        }
        let MemoryController { entries, active, reserved, .. } = &mut self.nodes[home.index()][controller];
        let store = entries.as_mut()?;
        match (store.probe(line.0), wanted) {
            (Some(found), false) => store.empty(found.slot),
            (Some(_), true) => {
                store.use_line(line.0);
            }
            (None, true) => {
                reserved.clear();
                reserved.extend(store.slots_beside(line.0, active.lines()));
                let (slot, victim) = store.make_room(line.0, |slot| reserved.contains(&slot), &mut self.random)?;
                store.place(slot, line.0, CopyState::SHARED, Version::default());
                return victim.map(|victim| LineAddr(victim.line));
            }
            (None, false) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_at_rest_is_what_it_was() {
        for (bits, owner) in
            BITS.iter().flat_map(|&bits| [None, Some(NodeId(0)), Some(NodeId(63))].map(|owner| (bits, owner)))
        {
            for entry in [None, Some(Holders { sharers: 1 << 63 | 1, owner })] {
                let line = HomeLine { entry, memory: Version(9), bits, ..HomeLine::default() };
                assert_eq!(Resting::pack(&line).line(), line);
            }
        }
    }
}
