//! The symbols under way to a node's multiplexor, as the changes between packets, stop idles and go idles.

use super::spec::Slot;

/// A change between the symbols of a link: the first of a packet, or an idle with another go bit.
///
/// An idle follows every packet. It and those behind it carry the go bit unless a change follows, so that a lightly
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

/// A change on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The slot in which its symbol reaches the multiplexer of the receiving node, unless the stripper there takes it.
    pub(super) slot: Slot,
    pub(super) change: Change,
    /// Symbols of the packet that begins; zero for idles.
    pub(super) symbols: u32,
    /// Whether the receiving node has sent it on ahead of time, if it has passed it on: a go bit that extends over a stop idle
    /// ends it.
    pub(super) goes_on: bool,
}

impl Mark {
    /// The first symbol of a packet or an echo.
    #[inline]
    pub(super) const fn packet(slot: Slot, change: Change, symbols: u32) -> Self {
        Self { slot, change, symbols, goes_on: true }
    }

    /// An idle.
    #[inline]
    pub(super) const fn idle(slot: Slot, change: Change) -> Self {
        Self { slot, change, symbols: 0, goes_on: true }
    }
}

/// The room of a link at first, a power of two.
const ROOM: usize = 32;

/// No change.
const EMPTY: Mark = Mark::idle(0, Change::Go);

/// The changes under way on a link, in the order of time.
///
/// The receiving node may have passed on the first ones ahead of time, because nothing was to keep it from doing so. They stay
/// here until the node is looked at after their slots, or sends something of its own and recalls them. There is room for as many
/// as have ever been under way at once, which are few: all links of a ring fit into the host's first-level cache.
#[derive(Clone, Debug)]
pub(super) struct Link {
    marks: Vec<Mark>,
    mask: usize,
    first: usize,
    count: usize,
    /// Marks from the first on that are passed on already.
    passed: usize,
}

impl Link {
    /// An idle link.
    pub(super) fn new() -> Self {
        Self { marks: vec![EMPTY; ROOM], mask: ROOM - 1, first: 0, count: 0, passed: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, mark: Mark) {
        debug_assert!(self.count == 0 || self.marks[(self.first + self.count - 1) & self.mask].slot < mark.slot);
        if self.count > self.mask {
            self.grow();
        }
        let place = (self.first + self.count) & self.mask;
        self.marks[place] = mark;
        self.count += 1;
    }

    /// Doubles the room, which is full.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.first & self.mask;
        self.marks.rotate_left(first);
        self.marks.resize(2 * self.marks.len(), EMPTY);
        (self.first, self.mask) = (0, self.marks.len() - 1);
    }

    /// Whether all changes under way are passed on already.
    #[inline]
    pub(super) fn is_passed(&self) -> bool {
        self.passed == self.count
    }

    /// Whether at least so many changes are kept.
    #[inline]
    pub(super) fn holds(&self, count: usize) -> bool {
        self.count >= count
    }

    /// Whether any change under way is passed on already.
    #[inline]
    pub(super) fn has_passed(&self) -> bool {
        self.passed > 0
    }

    /// The receiving node passes on the last change ahead of time, and those before it already.
    #[inline]
    pub(super) fn pass_last(&mut self) {
        self.passed += 1;
        debug_assert!(self.is_passed());
    }

    /// The first change that is passed on already.
    #[inline]
    pub(super) fn first_passed(&self) -> Option<&Mark> {
        (self.passed > 0).then(|| &self.marks[self.first & self.mask])
    }

    /// Takes the first change that is passed on already, if its slot is before `end`.
    #[inline]
    pub(super) fn take_passed(&mut self, end: Slot) -> Option<Mark> {
        let mark = *self.first_passed().filter(|mark| mark.slot < end)?;
        self.first += 1;
        self.count -= 1;
        self.passed -= 1;
        Some(mark)
    }

    /// Takes the first change, if it is not passed on yet and its slot is before `end`: an idle that the busy node has left.
    #[inline]
    pub(super) fn take_idle(&mut self, end: Slot) -> Option<Mark> {
        let mark = self.marks[self.first & self.mask];
        if self.count == 0 || mark.slot >= end || self.passed > 0 {
            return None;
        }
        debug_assert!(mark.symbols == 0, "a packet was not taken in its slot");
        self.first += 1;
        self.count -= 1;
        Some(mark)
    }

    /// Takes the change in `slot`, which is not passed on yet.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot) -> Option<Mark> {
        let mark = self.marks[self.first & self.mask];
        if self.count == 0 || mark.slot != slot {
            debug_assert!(self.count == 0 || mark.slot > slot, "a change was not taken in its slot");
            return None;
        }
        debug_assert!(self.passed == 0);
        self.first += 1;
        self.count -= 1;
        Some(mark)
    }

    /// The changes that are passed on already.
    pub(super) fn passed(&self) -> impl Iterator<Item = Mark> + use<'_> {
        (0..self.passed).map(|place| self.marks[(self.first + place) & self.mask])
    }

    /// The receiving node takes back what it has passed on ahead of time.
    #[inline]
    pub(super) fn recall(&mut self) {
        self.passed = 0;
    }

    /// Removes the last change. Returns whether it was passed on.
    #[inline]
    pub(super) fn unsend(&mut self) -> (Mark, bool) {
        self.count -= 1;
        let was_passed = self.passed > self.count;
        self.passed = self.passed.min(self.count);
        (self.marks[(self.first + self.count) & self.mask], was_passed)
    }

    /// The changes under way, and whether they are passed on.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (Mark, bool)> {
        (0..self.count).map(|place| (self.marks[(self.first + place) & self.mask], place < self.passed))
    }
}
