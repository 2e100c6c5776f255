//! A predictor of a thread's next step, the same where steps are written and where they are read.
//!
//! A loop does the same steps again, each at an address that is one stride further. A table therefore remembers by place which step
//! followed there, and by place where the access there went: the predictors of successors, strides and offsets by which address
//! traces are compressed (Burtscher et al., "The VPC Trace-Compression Algorithms", IEEE Transactions on Computers 54(11), 2005).
//! A place is the site of the latest step. Where a program is recorded without sites, it is a hash of the latest few steps that
//! differ from the one before each, and the number of equal steps since: so the loads of a loop over many arrays, all alike, have
//! a place each. The table has a fixed number of slots: places that share a slot spoil each other's prediction, and nothing else.

use super::shape::Shape;

/// Bits of the number of a slot.
const BITS: u32 = 10;
const SLOTS: usize = 1 << BITS;

/// Bits by which each step that differs from the one before it moves earlier ones out of a place: a place has the latest four.
const AGE: u32 = 3;
/// The distance between the slots of equal steps in a row, which is odd, so that each has its own.
const EQUAL_STRIDE: usize = 0x2d5;
/// The distance of the last of them that has a slot of its own; those after it share its slot.
const FARTHEST: usize = 255 * EQUAL_STRIDE;

/// Bytes of a grain: the unit in which the memory in use is told ([`crate::Memory`]). No page of a machine is smaller.
pub const GRAIN: u64 = 1024;

/// Prediction at a place. A line of the host's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Slot {
    /// The step that follows, and one that followed instead.
    likely: Shape,
    other: Shape,
    /// The address of the latest access here.
    last: u64,
    /// The difference between its addresses.
    stride: u64,
    /// The difference of its latest address from that of the thread's access before.
    offset: u64,
    /// The places that `likely` and `other` lead to, before what [`AGE`] adds.
    likely_hash: u16,
    /// Whether anything has followed yet.
    followed: bool,
    /// Whether another step than the likely one followed the last time.
    missed: bool,
    /// Whether anything was accessed here yet.
    accessed: bool,
    /// Whether the latest access was a stride away.
    strided: bool,
    /// Whether the offset foretells addresses here, and not the stride.
    by_offset: bool,
}

/// How a step was foretold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guess {
    /// As the likely one.
    Likely,
    /// As the other one.
    Other,
    /// Not at all.
    None,
}

/// The state of a thread's prediction.
#[derive(Clone, Debug)]
pub struct Predictor {
    slots: Box<[Slot; SLOTS]>,
    place: usize,
    /// State for steps without a site: the hash of the latest step, of the path up to it, and the distance of its slot from the
    /// first one's of those that are equal.
    latest_hash: u16,
    path: usize,
    distance: usize,
    /// The address of the latest access.
    address: u64,
    /// The site of the latest step.
    site: u64,
}

impl Default for Predictor {
    fn default() -> Self {
        let slots = vec![Slot::default(); SLOTS].into_boxed_slice();
        let Ok(slots) = slots.try_into() else { unreachable!("as many as there are") };
        Self { slots, place: 0, latest_hash: 0, path: 0, distance: 0, address: 0, site: 0 }
    }
}

impl Predictor {
    /// The site of the latest step.
    #[inline]
    pub fn site(&self) -> u64 {
        self.site
    }

    /// The address of the latest access.
    #[inline]
    pub fn address(&self) -> u64 {
        self.address
    }

    #[inline]
    fn slot(&self) -> &Slot {
        &self.slots[self.place % SLOTS]
    }

    /// The step that is likely to follow.
    #[inline]
    pub fn likely(&self) -> Shape {
        self.slot().likely
    }

    /// The step that may follow instead.
    pub fn other(&self) -> Shape {
        self.slot().other
    }

    /// The likely step follows.
    #[inline]
    pub fn follow_likely(&mut self) -> Shape {
        let slot = &mut self.slots[self.place % SLOTS];
        slot.missed = false;
        let (shape, hash) = (slot.likely, slot.likely_hash);
        self.go(shape.site, hash);
        shape
    }

    /// `shape` follows. Returns how it was foretold.
    #[inline]
    pub fn follow(&mut self, shape: Shape) -> Guess {
        let slot = self.slot();
        if slot.likely == shape && slot.followed {
            self.follow_likely();
            Guess::Likely
        } else {
            self.follow_other(shape)
        }
    }

    #[inline(never)]
    fn follow_other(&mut self, shape: Shape) -> Guess {
        let slot = &mut self.slots[self.place % SLOTS];
        let hash = shape.hash::<BITS>();
        let mut guess = Guess::None;
        if !slot.followed {
            (slot.likely, slot.likely_hash, slot.followed) = (shape, hash, true);
        } else {
            if slot.other == shape {
                guess = Guess::Other;
            }
            if guess == Guess::Other && slot.missed {
                (slot.other, slot.likely, slot.likely_hash, slot.missed) = (slot.likely, shape, hash, false);
            } else {
                (slot.other, slot.missed) = (shape, true);
            }
        }
        self.go(shape.site, hash);
        guess
    }

    #[inline]
    fn go(&mut self, site: u64, hash: u16) {
        self.site = site;
        if site != 0 {
            self.place = usize::from(hash);
            return;
        }
        if hash == self.latest_hash {
            self.distance = (self.distance + EQUAL_STRIDE).min(FARTHEST);
        } else {
            self.path = self.path << AGE & (SLOTS - 1) ^ usize::from(hash);
            (self.latest_hash, self.distance) = (hash, 0);
        }
        self.place = self.path ^ self.distance;
    }

    /// The address of an access here, by the stride or the offset, whichever was right the last time.
    #[inline]
    pub fn expected(&self) -> u64 {
        let slot = self.slot();
        if slot.by_offset { self.address.wrapping_add(slot.offset) } else { slot.last.wrapping_add(slot.stride) }
    }

    /// The address by the other of the two.
    pub fn second(&self) -> u64 {
        let slot = self.slot();
        if slot.by_offset { slot.last.wrapping_add(slot.stride) } else { self.address.wrapping_add(slot.offset) }
    }

    /// The address of the latest access here.
    pub fn last(&self) -> u64 {
        self.slot().last
    }

    /// Whether an access here to `address` is to another grain ([`GRAIN`]) than the one before it here was.
    #[inline]
    pub fn leaves_grain(&self, address: u64) -> bool {
        let slot = self.slot();
        !slot.accessed || (address ^ slot.last) >= GRAIN
    }

    /// The access here goes to `address`.
    #[inline]
    pub fn access(&mut self, address: u64) {
        let slot = &mut self.slots[self.place % SLOTS];
        let (stride, offset) = (address.wrapping_sub(slot.last), address.wrapping_sub(self.address));
        let strided = stride == slot.stride;
        if slot.by_offset {
            slot.by_offset = offset == slot.offset || !strided;
        } else {
            slot.by_offset = !strided && offset == slot.offset;
        }
        // A loop that begins anew keeps its stride: two others in a row change it.
        if !strided && !slot.strided && slot.accessed {
            slot.stride = stride;
        }
        (slot.strided, slot.accessed) = (strided && slot.accessed, true);
        (slot.last, slot.offset) = (address, offset);
        self.address = address;
    }
}
