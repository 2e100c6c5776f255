//! The symbols under way to a node's multiplexer, as the changes between packets, stop idles and go idles.

use super::spec::Slot;

/// What begins with a symbol of a link.
///
/// An idle follows every packet. It and those behind it carry the go bit unless the link tells otherwise, so that a lightly
/// loaded link has no changes but its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// The first symbol of a send packet: the number of its record.
    Send(u32),
    /// The first symbol of the echo of a packet.
    Echo(u32),
    /// The first idle behind a packet, without the go bit.
    Stop,
    /// The first idle with the go bit behind idles without it.
    Go,
}

/// The changes under way on a link, in the order of time, each with the slot in which its symbol reaches the multiplexer of the
/// receiving node unless the stripper there takes it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    changes: Vec<(Slot, Change)>,
    mask: usize,
    first: usize,
    count: usize,
}

impl Link {
    /// An idle link on which changes are announced at most `horizon` slots ahead.
    pub(super) fn new(horizon: Slot) -> Self {
        // No two changes are in one slot.
        let size = (horizon as usize + 1).next_power_of_two();
        Self { changes: vec![(0, Change::Go); size], mask: size - 1, first: 0, count: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, slot: Slot, change: Change) {
        debug_assert!(self.count <= self.mask, "no two changes are in one slot, and none is beyond the horizon");
        debug_assert!(self.last().is_none_or(|last| last < slot), "changes are announced in the order of time");
        self.changes[(self.first + self.count) & self.mask] = (slot, change);
        self.count += 1;
    }

    /// The change in `slot`.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot) -> Option<Change> {
        let (when, change) = self.changes[self.first & self.mask];
        if self.count == 0 || when != slot {
            debug_assert!(self.count == 0 || when > slot, "a change was not taken in its slot");
            return None;
        }
        self.first = (self.first + 1) & self.mask;
        self.count -= 1;
        Some(change)
    }

    fn last(&self) -> Option<Slot> {
        (self.count > 0).then(|| self.changes[(self.first + self.count - 1) & self.mask].0)
    }

    /// The changes under way.
    pub(super) fn under_way(&self) -> impl Iterator<Item = Change> {
        (0..self.count).map(|place| self.changes[(self.first + place) & self.mask].1)
    }
}
