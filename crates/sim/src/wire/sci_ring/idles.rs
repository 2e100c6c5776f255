//! The idles that a node passes on, and the slot from which it may transmit behind one of them.

use super::spec::{NEVER, Slot};

/// The go bits of a node's input, and what they permit while its multiplexor passes symbols on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idles {
    /// The slot from which the idles that the stripper passes on carry the go bit.
    pub(super) go_from: Slot,
    /// The first slot in which the node may transmit: after a go idle.
    pub(super) may_start: Slot,
}

impl Idles {
    /// Those of an idle ring.
    pub(super) const START: Self = Self { go_from: 0, may_start: 0 };

    /// A packet passes. The idles behind it carry the go bit unless a stop idle comes.
    #[inline]
    pub(super) fn pass_packet(&mut self, slot: Slot, symbols: u32) {
        self.go_from = slot + Slot::from(symbols);
        self.may_start = self.go_from + 1;
    }

    /// A stop idle comes behind a packet or behind go idles. Returns whether it goes on.
    #[inline]
    pub(super) fn pass_stop(&mut self, slot: Slot) -> bool {
        self.go_from = NEVER;
        let goes_on = self.may_start <= slot + 1;
        if goes_on {
            self.may_start = NEVER;
        }
        goes_on
    }

    /// The idles of the input carry the go bit from `slot` on. Returns whether the first of them goes on.
    #[inline]
    pub(super) fn pass_go(&mut self, slot: Slot) -> bool {
        let goes_on = self.may_start > slot + 1;
        if goes_on {
            self.may_start = slot + 1;
        }
        goes_on
    }

    /// A stop idle comes: go bits extend over it unless it is behind a packet or behind go idles. Returns whether it goes on.
    #[inline]
    pub(super) fn stop(&mut self, slot: Slot) -> bool {
        self.go_from == slot && self.pass_stop(slot)
    }

    /// The first go idle behind stop idles comes. Returns whether it goes on.
    #[inline]
    pub(super) fn go(&mut self, slot: Slot) -> bool {
        if self.go_from <= slot {
            return false;
        }
        self.go_from = slot;
        self.pass_go(slot)
    }
}
