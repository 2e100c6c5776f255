//! The calendar of a ring: bits for each slot of the near future and each node that acts in it, or may do so.

use super::spec::{NEVER, Slot};

const BITS: usize = u64::BITS as usize;

/// Slots in which nodes act, up to a horizon. Setting and finding one takes constant time; a node acts once in a slot,
/// however often that was set.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// Slots, a power of two, less one.
    mask: Slot,
    /// Words of nodes in each slot.
    words: usize,
    /// By slot, then by word of 64 nodes: those that act, and those that may act.
    nodes: Vec<[u64; 2]>,
    /// The slots with any node.
    slots: Vec<u64>,
    /// The first of them that is still to come, or [`NEVER`].
    due: Slot,
}

impl Wheel {
    /// An empty calendar of at least `horizon` slots.
    pub(super) fn new(nodes: usize, horizon: Slot) -> Self {
        let size = horizon.next_power_of_two().max(BITS as Slot);
        let words = nodes.div_ceil(BITS);
        Self {
            mask: size - 1,
            words,
            nodes: vec![[0; 2]; size as usize * words],
            slots: vec![0; size as usize / BITS],
            due: NEVER,
        }
    }

    /// Node `node` acts in `slot`, which is less than the horizon away from the slots searched and set.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, node: usize) {
        self.put::<0>(slot, node);
    }

    /// Node `node` acts in `slot`, or not, as things will be then.
    #[inline]
    pub(super) fn set_tentative(&mut self, slot: Slot, node: usize) {
        self.put::<1>(slot, node);
    }

    #[inline]
    fn put<const KIND: usize>(&mut self, slot: Slot, node: usize) {
        let place = (slot & self.mask) as usize;
        self.nodes[place * self.words + node / BITS][KIND] |= 1 << (node % BITS);
        self.slots[place / BITS] |= 1 << (place % BITS);
        self.due = self.due.min(slot);
    }

    /// The first slot to come in which a node acts or may act, or [`NEVER`].
    #[inline]
    pub(super) fn due(&self) -> Slot {
        self.due
    }

    /// All slots before `from` are over. A caller that only asks whether one is due need not search for it.
    #[inline]
    pub(super) fn pass(&mut self, from: Slot) {
        self.due = self.next(from).unwrap_or(NEVER);
    }

    /// The first slot from `from` on in which a node acts or may act.
    #[inline]
    fn next(&self, from: Slot) -> Option<Slot> {
        let place = (from & self.mask) as usize;
        let count = self.slots.len();
        let later = !0 << (place % BITS);
        for step in 0..=count {
            let word = (place / BITS + step) & (count - 1);
            let in_reach = match step {
                0 => later,
                step if step == count => !later,
                _ => !0,
            };
            let set = self.slots[word] & in_reach;
            if set != 0 {
                let found = word * BITS + set.trailing_zeros() as usize;
                return Some(from + ((found as Slot).wrapping_sub(place as Slot) & self.mask));
            }
        }
        None
    }

    /// Takes the nodes of a word that act in `slot`, and those that may, as bits.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot, word: usize) -> [u64; 2] {
        let place = (slot & self.mask) as usize;
        self.slots[place / BITS] &= !(1 << (place % BITS));
        std::mem::take(&mut self.nodes[place * self.words + word])
    }

    /// Words of nodes.
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_in_order_around_the_wheel() {
        let mut wheel = Wheel::new(70, 100);
        for (slot, node) in [(130, 69), (67, 3), (67, 69), (194, 0), (129, 1)] {
            wheel.set(slot, node);
        }
        wheel.set_tentative(129, 2);
        let mut found = Vec::new();
        while wheel.due() != NEVER {
            let slot = wheel.due();
            found.push((slot, wheel.take(slot, 0), wheel.take(slot, 1)));
            wheel.pass(slot + 1);
        }
        let expected = [
            (67, [1 << 3, 0], [1 << 5, 0]),
            (129, [1 << 1, 1 << 2], [0, 0]),
            (130, [0, 0], [1 << 5, 0]),
            (194, [1, 0], [0, 0]),
        ];
        assert_eq!(found, expected);
    }
}
