//! The symbols under way to a node's multiplexor, as the changes between packets, stop idles and go idles.

use super::packet::{Packet, Subaction};
use super::spec::Slot;

/// A change between the symbols of a link: the first of a packet, or an idle with another go bit.
///
/// An idle follows every packet. It and those behind it carry the go bit unless a change follows, so that a lightly
/// loaded link has no changes but its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Change {
    /// The first symbol of a send packet.
    Send,
    /// The first symbol of the echo of a packet.
    Echo,
    /// The same where the stripper of the receiving node puts it in place of the packet's last symbols.
    Reply,
    /// The first idle behind a packet, without the go bit.
    Stop,
    /// The first idle with the go bit behind idles without it.
    Go,
}

impl Change {
    const ALL: [Self; 5] = [Self::Send, Self::Echo, Self::Reply, Self::Stop, Self::Go];
}

/// The end of a change that no stripper takes.
const NOBODY: u16 = u16::MAX;

/// A change on its way, in three words: it is copied from link to link more often than anything else here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The slot in which its symbol reaches the multiplexer of the receiving node, unless the stripper there takes it.
    pub(super) slot: Slot,
    /// From the lowest bit on: the number of the packet's record (32), the node whose stripper takes it or its echo (16),
    /// and the symbols of what begins (16), which are zero for idles.
    packet: u64,
    /// From the lowest bit on: the change (8), the half of the transaction (1), whether an echo begins (7), the changes that the
    /// receiving node has sent for it (16), and the slots that it stays in the bypass FIFO there (16), the last two once it is
    /// passed on.
    passage: u64,
}

impl Mark {
    const fn new(slot: Slot, change: Change, packet: u64, subaction: Subaction) -> Self {
        let is_echo = matches!(change, Change::Echo);
        Self { slot, packet, passage: change as u64 | (subaction as u64) << 8 | (is_echo as u64) << 9 }
    }

    /// The first symbol of a packet.
    #[inline]
    pub(super) const fn send(slot: Slot, id: u32, packet: &Packet, symbols: u32) -> Self {
        let contents = id as u64 | (packet.to.0 as u64) << 32 | (symbols as u64) << 48;
        Self::new(slot, Change::Send, contents, packet.subaction)
    }

    /// The first symbol of the echo of a packet, where the stripper of its target begins it.
    #[inline]
    pub(super) const fn reply(slot: Slot, id: u32, packet: &Packet, symbols: u32) -> Self {
        let contents = id as u64 | (NOBODY as u64) << 32 | (symbols as u64) << 48;
        Self::new(slot, Change::Reply, contents, packet.subaction)
    }

    /// The echo of `packet` that this reply becomes behind the multiplexor.
    #[inline]
    pub(super) const fn echo(&self, packet: &Packet) -> Self {
        let contents = self.packet & !((NOBODY as u64) << 32) | (packet.from.0 as u64) << 32;
        Self::new(self.slot, Change::Echo, contents, packet.subaction)
    }

    /// An idle.
    #[inline]
    pub(super) const fn idle(slot: Slot, change: Change) -> Self {
        Self::new(slot, change, (NOBODY as u64) << 32, Subaction::Request)
    }

    /// Whether it is this change.
    #[inline]
    pub(super) const fn is(&self, change: Change) -> bool {
        self.passage as u8 == change as u8
    }

    #[inline]
    pub(super) const fn change(&self) -> Change {
        Change::ALL[(self.passage & 0xff) as usize]
    }

    /// The kind of traffic of a packet or an echo: sends of requests and of responses, echoes of requests and of responses.
    #[inline]
    pub(super) const fn traffic(&self) -> usize {
        (self.passage >> 8 & 3) as usize
    }

    /// The number of the packet's record.
    #[inline]
    pub(super) const fn id(&self) -> u32 {
        self.packet as u32
    }

    /// Symbols of the packet or echo that begins; zero for idles.
    #[inline]
    pub(super) const fn symbols(&self) -> u16 {
        (self.packet >> 48) as u16
    }

    /// The changes that the receiving node has sent for it, once that has passed it on: two if the packet leaves the bypass FIFO,
    /// none for an idle that ends there.
    #[inline]
    pub(super) const fn outputs(&self) -> u32 {
        (self.passage >> 16) as u16 as u32
    }

    /// The slots that a packet stays in the bypass FIFO of the receiving node, once that has passed it on.
    #[inline]
    pub(super) const fn delay(&self) -> u16 {
        (self.passage >> 32) as u16
    }

    /// The change, passed on by so many others after so many slots.
    #[inline]
    const fn passed(self, outputs: u16, delay: u16) -> Self {
        Self { passage: self.passage & 0xffff | (outputs as u64) << 16 | (delay as u64) << 32, ..self }
    }

    /// Whether an echo begins that its target has made.
    #[inline]
    pub(super) const fn is_echo(&self) -> bool {
        self.is(Change::Echo)
    }

    /// Whether a packet or an echo begins.
    #[inline]
    pub(super) const fn is_packet(&self) -> bool {
        self.symbols() > 0
    }

    /// Whether the stripper of `node` takes what begins.
    #[inline]
    pub(super) const fn is_for(&self, node: usize) -> bool {
        (self.packet >> 32) as u16 as usize == node
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
        self.push(mark.passed(u16::from(goes_on), 0));
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

    /// Whether any change before `end` is passed on already.
    #[inline]
    pub(super) fn has_passed_before(&self, end: Slot) -> bool {
        self.passed > 0 && self.at(0).slot < end
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
    pub(super) fn pass(&mut self, outputs: u16, delay: u16) {
        debug_assert!(self.passed < self.count);
        let mark = &mut self.marks[(self.first + self.passed) & self.mask];
        *mark = mark.passed(outputs, delay);
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

    /// Removes the first changes, so many, which are passed on already.
    #[inline]
    pub(super) fn drop_passed(&mut self, count: usize) {
        debug_assert!(count <= self.passed);
        self.first = (self.first + count) & self.mask;
        self.count -= count;
        self.passed -= count;
    }

    /// Whether the first change that is not passed on is before `end` and for the receiving node, which is `node`.
    #[inline]
    pub(super) fn has_own(&self, node: usize, end: Slot) -> bool {
        self.passed < self.count && {
            let mark = self.at(self.passed);
            (mark.slot < end) & mark.is_for(node)
        }
    }

    /// Takes that change, if there is one.
    #[inline]
    pub(super) fn take_own(&mut self, node: usize, end: Slot) -> Option<Mark> {
        if !self.has_own(node, end) {
            return None;
        }
        let mark = *self.at(self.passed);
        self.take();
        Some(mark)
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
