//! The symbols under way to a node's multiplexor, as the changes between packets, stop idles and go idles.

use super::packet::{Packet, Subaction};
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
    /// The same where the stripper of the receiving node puts it in place of the packet's last symbols.
    Reply(u32),
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
    pub(super) symbols: u16,
    /// The slots that a packet stays in the bypass FIFO of the receiving node, once that has passed it on.
    pub(super) delay: u16,
    /// The node that takes the packet or the echo.
    pub(super) end: u16,
    /// The half of the transaction of the packet or the echo.
    pub(super) subaction: Subaction,
    /// The changes that the receiving node has sent for it, once that has passed it on: two if the packet leaves the bypass FIFO,
    /// none for an idle that ends there.
    pub(super) outputs: u8,
}

impl Mark {
    /// The first symbol of a packet.
    #[inline]
    pub(super) const fn send(slot: Slot, id: u32, packet: &Packet, symbols: u32) -> Self {
        let end = packet.to.0;
        Self { symbols: symbols as u16, end, subaction: packet.subaction, ..Self::idle(slot, Change::Send(id)) }
    }

    /// The first symbol of the echo of a packet, where the stripper of its target begins it.
    #[inline]
    pub(super) const fn reply(slot: Slot, id: u32, packet: &Packet, symbols: u32) -> Self {
        let end = packet.from.0;
        Self { symbols: symbols as u16, end, subaction: packet.subaction, ..Self::idle(slot, Change::Reply(id)) }
    }

    /// An idle.
    #[inline]
    pub(super) const fn idle(slot: Slot, change: Change) -> Self {
        Self { slot, change, symbols: 0, delay: 0, end: 0, subaction: Subaction::Request, outputs: 0 }
    }

    /// Whether an echo begins that its target has made.
    #[inline]
    pub(super) const fn is_echo(&self) -> bool {
        matches!(self.change, Change::Echo(_))
    }

    /// Whether the change is for `node`.
    #[inline]
    pub(super) fn is_for(&self, node: usize) -> bool {
        usize::from(self.end) == node && matches!(self.change, Change::Send(_) | Change::Echo(_))
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

    /// The change that so many others precede.
    #[inline]
    fn at(&self, place: usize) -> &Mark {
        &self.marks[(self.first + place) & self.mask]
    }

    #[inline]
    pub(super) fn push(&mut self, mark: Mark) {
        debug_assert!(self.count == 0 || self.at(self.count - 1).slot < mark.slot);
        if self.count > self.mask {
            self.grow();
        }
        let place = (self.first + self.count) & self.mask;
        self.marks[place] = mark;
        self.count += 1;
    }

    /// The receiving node passes on a change as it comes to the link, by one change or none.
    #[inline]
    pub(super) fn push_passed(&mut self, mark: Mark, goes_on: bool) {
        debug_assert!(self.is_passed());
        self.push(Mark { outputs: u8::from(goes_on), delay: 0, ..mark });
        self.passed += 1;
    }

    /// Puts a change in front of the others, none of which is passed on.
    #[inline]
    pub(super) fn push_front(&mut self, mark: Mark) {
        debug_assert!(self.passed == 0);
        if self.count > self.mask {
            self.grow();
        }
        self.first = (self.first + self.mask) & self.mask;
        self.marks[self.first] = mark;
        self.count += 1;
    }

    /// Doubles the room, which is full.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.marks.rotate_left(self.first);
        self.marks.resize(2 * self.marks.len(), EMPTY);
        (self.first, self.mask) = (0, self.marks.len() - 1);
    }

    /// Removes the first change.
    #[inline]
    fn shift(&mut self) {
        self.first = (self.first + 1) & self.mask;
        self.count -= 1;
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

    /// The first change that the receiving node has not passed on.
    #[inline]
    pub(super) fn first_held(&self) -> Option<Mark> {
        (self.passed < self.count).then(|| *self.at(self.passed))
    }

    /// The receiving node passes on the first change that it has not passed on, by so many changes and after so many slots.
    #[inline]
    pub(super) fn pass(&mut self, outputs: u8, delay: u16) {
        debug_assert!(self.passed < self.count);
        let mark = &mut self.marks[(self.first + self.passed) & self.mask];
        (mark.outputs, mark.delay) = (outputs, delay);
        self.passed += 1;
    }

    /// Takes the first change that is passed on already, if its slot is before `end`.
    #[inline]
    pub(super) fn take_passed(&mut self, end: Slot) -> Option<Mark> {
        if self.passed == 0 || self.at(0).slot >= end {
            return None;
        }
        let mark = *self.at(0);
        self.shift();
        self.passed -= 1;
        Some(mark)
    }

    /// Whether all changes that are passed on already are before `end`.
    #[inline]
    pub(super) fn are_passed_before(&self, end: Slot) -> bool {
        self.at(self.passed - 1).slot < end
    }

    /// Takes all changes that are passed on already.
    #[inline]
    pub(super) fn take_all_passed(&mut self) {
        self.first = (self.first + self.passed) & self.mask;
        self.count -= self.passed;
        self.passed = 0;
    }

    /// Takes the first change, which is not passed on.
    #[inline]
    pub(super) fn take(&mut self) {
        debug_assert!(self.passed == 0 && self.count > 0);
        self.shift();
    }

    /// The changes that are passed on already.
    pub(super) fn passed(&self) -> impl Iterator<Item = &Mark> + use<'_> {
        (0..self.passed).map(|place| self.at(place))
    }

    /// The receiving node takes back the last change that it has passed on.
    #[inline]
    pub(super) fn unpass(&mut self) -> Option<Mark> {
        self.passed = self.passed.checked_sub(1)?;
        Some(*self.at(self.passed))
    }

    /// Removes the last change. Returns whether it was passed on.
    #[inline]
    pub(super) fn unsend(&mut self) -> (Mark, bool) {
        self.count -= 1;
        let was_passed = self.passed > self.count;
        self.passed = self.passed.min(self.count);
        (*self.at(self.count), was_passed)
    }

    /// The changes under way, and whether they are passed on.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (&Mark, bool)> {
        (0..self.count).map(|place| (self.at(place), place < self.passed))
    }
}
