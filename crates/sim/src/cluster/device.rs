//! The state of a device: its protocol engine, its lines of other nodes, and what waits at it.

use std::collections::VecDeque;

use engine::{Grid, Server};
use machine::description::{ClusterSpec, Description};
use protocol::Version;
use protocol::cluster::{Line, Message, MessageKind};
use rustc_hash::FxHashMap;
use units::{CpuId, Duration, LineAddr, Time};

use super::frames::Frames;
use super::page_cache::PageCache;
use crate::kernel::EnvelopeId;
use crate::map::LineMap;
use crate::os::PageTransfers;
use crate::statistics::{CacheStatistics, Histogram, NodeStatistics, Tally};
use crate::system::Served;

/// The device of a node.
pub(super) struct Device {
    /// The protocol engine.
    pub(super) engine: Server,
    /// Lines of other nodes for which the node has a right, or something outstanding.
    pub(super) lines: FxHashMap<LineAddr, Kept>,
    /// The cache for lines of other nodes.
    pub(super) frames: Frames,
    /// Pages of other nodes in the node's own memory.
    pub(super) pages: PageCache,
    /// Transactions of processors that wait for a right.
    pub(super) waiting: Vec<(LineAddr, EnvelopeId)>,
    /// Transactions that wait until nothing is outstanding on a line: the one in the frame that they need, or their own.
    pub(super) blocked: Vec<(LineAddr, EnvelopeId)>,
    /// Processors whose writes were granted before the last acknowledgement of their invalidations.
    pub(super) collecting: Vec<(LineAddr, CpuId)>,
    /// Transactions of its own on the bus.
    pub(super) own: Vec<Own>,
    /// Transfers of pages from and to this node's memory.
    pub(super) transfers: PageTransfers,
    /// Messages to a home here whose line is busy.
    pub(super) queued: VecDeque<(LineAddr, EnvelopeId)>,
    /// Messages by type.
    sent: [u64; MessageKind::ALL.len()],
    /// Writes by the number of nodes that each invalidated.
    invalidations: Histogram,
    /// Look-ups of the cache for lines of other nodes, and those that missed.
    cache: CacheStatistics,
}

/// A line of another node.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept {
    pub(super) line: Line,
    pub(super) contents: Version,
    /// How its last right was granted.
    pub(super) served: Option<Served>,
    /// Whether the line of a reply is still at the device, from which it is written to the page cache.
    pub(super) fresh: bool,
}

/// A bus transaction of the device.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) id: EnvelopeId,
    pub(super) line: LineAddr,
    pub(super) purpose: Purpose,
    /// The time at which memory, or the cache in its place, has the line.
    pub(super) ready: Time,
}

/// The purpose of a device's bus transaction.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// To take the line, or copies of it, from the caches of the node.
    Intervene(Answers),
    /// To read memory for a reply of the home.
    Supply(Message),
    /// To write memory.
    Store,
    /// To take a line of a page in transfer from all caches.
    Gather,
    /// To read a line of a page of which a copy is made.
    Copy,
}

/// The messages that answer another node when the line has crossed the bus, and whether a cache supplied it.
#[derive(Clone, Copy, Default)]
pub(super) struct Answers {
    pub(super) messages: [Option<Message>; 3],
    pub(super) owned: bool,
    pub(super) memory_write: bool,
}

impl Answers {
    /// Adds a message.
    pub(super) fn push(&mut self, message: Message) {
        match self.messages.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(message),
            None => debug_assert!(false, "an intervention has at most two answers, and one request behind it"),
        }
    }
}

impl Device {
    pub(super) fn new(description: &Description, spec: &ClusterSpec, lines: LineMap, nodes: usize, seed: u64) -> Self {
        Self {
            engine: Server::default(),
            lines: FxHashMap::default(),
            frames: Frames::new(description, spec, lines, nodes, seed),
            pages: PageCache::new(description),
            waiting: Vec::new(),
            blocked: Vec::new(),
            collecting: Vec::new(),
            own: Vec::new(),
            transfers: PageTransfers::default(),
            queued: VecDeque::new(),
            sent: [0; MessageKind::ALL.len()],
            invalidations: Histogram::default(),
            cache: CacheStatistics::default(),
        }
    }

    /// Reserves the protocol engine. Returns the start.
    pub(super) fn engage(&mut self, now: Time, occupancy: Duration) -> Time {
        self.engine.reserve(now, Grid::ANY, occupancy)
    }

    /// Whether a line of another node has something outstanding.
    pub(super) fn is_busy(lines: &FxHashMap<LineAddr, Kept>, line: LineAddr) -> bool {
        lines.get(&line).is_some_and(|kept| !kept.line.is_quiet())
    }

    /// Whether the node's memory or block cache has a frame for the line.
    pub(super) fn holds(&self, line: LineAddr) -> bool {
        self.pages.holds(line) || self.frames.holds(line)
    }

    /// Forgets a line of another node of which it has nothing to know.
    pub(super) fn tidy(&mut self, line: LineAddr) {
        if self.lines.get(&line).is_some_and(|kept| kept.line == Line::ABSENT) {
            self.lines.remove(&line);
            self.frames.remove(line);
        }
    }

    pub(super) fn count(&mut self, kind: MessageKind) {
        self.sent[kind as usize] += 1;
    }

    pub(super) fn count_write(&mut self, invalidations: u16) {
        self.invalidations.count(invalidations);
    }

    pub(super) fn count_look_up(&mut self, hit: bool) {
        self.cache.accesses += 1;
        self.cache.misses += u64::from(!hit);
    }

    /// Statistics of the node, with those of its bus.
    pub(super) fn statistics(&self, mut bus: NodeStatistics) -> NodeStatistics {
        let counts = MessageKind::ALL.iter().zip(self.sent).filter(|&(_, count)| count > 0);
        bus.sent.extend(counts.map(|(kind, count)| Tally { name: kind.mnemonic(), count, busy: Duration::ZERO }));
        NodeStatistics {
            busy: self.engine.busy(),
            queued: self.engine.queued(),
            invalidations: self.invalidations.clone(),
            remote_access_cache: Some(self.cache),
            pages: Some(self.pages.statistics()),
            ..bus
        }
    }
}
