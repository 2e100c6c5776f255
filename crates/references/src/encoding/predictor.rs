//! A predictor of a thread's next step, the same where steps are written and where they are read.
//!
//! A loop does the same steps again, each at an address that is one stride further. A table therefore remembers by place which step
//! followed there, and by place where the access there went: the predictors of successors, strides and offsets by which address
//! traces are compressed (Burtscher et al., "The VPC Trace-Compression Algorithms", IEEE Transactions on Computers 54(11), 2005).
//! A place is the site of the latest step, or, where a program is recorded without sites, a hash of the latest few steps. The table
//! has a fixed number of slots: places that share a slot spoil each other's prediction, and nothing else.

use super::shape::Shape;
use super::step::Step;

/// Bits of the number of a slot.
const BITS: u32 = 10;
const SLOTS: usize = 1 << BITS;

/// Bits by which each step without a site moves those before it out of a place: a place is the latest four of them.
const AGE: u32 = 3;

/// Bytes of a grain: the unit in which the memory in use is told ([`crate::Memory`]). No page of a machine is smaller.
pub const GRAIN: u64 = 1024;

/// What is remembered of a place. A line of the host's cache.
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
    slots: Box<Slots>,
    here: Here,
}

type Slots = [Slot; SLOTS];

impl Default for Predictor {
    fn default() -> Self {
        let slots = vec![Slot::default(); SLOTS].into_boxed_slice();
        let Ok(slots) = slots.try_into() else { unreachable!("as many as there are") };
        Self { slots, here: Here::default() }
    }
}

impl Predictor {
    /// The site of the latest step.
    #[inline]
    pub fn site(&self) -> u64 {
        self.here.site
    }

    /// The address of the latest access.
    #[inline]
    pub fn address(&self) -> u64 {
        self.here.address
    }

    #[inline]
    fn slot(&self) -> &Slot {
        &self.slots[self.here.place % SLOTS]
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

    /// Replaces all of `steps` by the next ones, each as expected.
    #[inline]
    pub fn follow_expected(&mut self, steps: &mut [Step]) {
        // A copy of its own, which no store to a slot can change, stays in registers of the host.
        let (slots, mut here) = (&mut *self.slots, self.here);
        for step in steps {
            let shape = here.follow_likely(slots);
            let mut address = 0;
            if shape.has_address() {
                address = here.slot(slots).expected(here.address);
                here.access(slots, address);
            }
            *step = Step::new(shape, address);
        }
        self.here = here;
    }

    /// `shape` follows. Returns how it was foretold.
    #[inline]
    pub fn follow(&mut self, shape: Shape) -> Guess {
        let slot = self.slot();
        if slot.likely == shape && slot.followed {
            self.here.follow_likely(&mut self.slots);
            Guess::Likely
        } else {
            self.follow_other(shape)
        }
    }

    #[inline(never)]
    fn follow_other(&mut self, shape: Shape) -> Guess {
        let slot = self.here.slot(&mut self.slots);
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
        self.here.go(shape.site, hash);
        guess
    }

    /// The address of an access here, by the stride or the offset, whichever was right the last time.
    #[inline]
    pub fn expected(&self) -> u64 {
        self.slot().expected(self.here.address)
    }

    /// The address by the other of the two.
    pub fn second(&self) -> u64 {
        let slot = self.slot();
        let (by_stride, by_offset) = slot.foretold(self.here.address);
        if slot.by_offset { by_stride } else { by_offset }
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
        self.here.access(&mut self.slots, address);
    }
}

impl Slot {
    /// The address of an access here by the stride, and by the offset from `latest`, that of the thread's latest access.
    #[inline]
    fn foretold(&self, latest: u64) -> (u64, u64) {
        (self.last.wrapping_add(self.stride), latest.wrapping_add(self.offset))
    }

    /// The one of the two that was right the last time.
    #[inline]
    fn expected(&self, latest: u64) -> u64 {
        let (by_stride, by_offset) = self.foretold(latest);
        if self.by_offset { by_offset } else { by_stride }
    }
}

/// The point that a thread has come to.
#[derive(Clone, Copy, Debug, Default)]
struct Here {
    place: usize,
    /// The address of the latest access.
    address: u64,
    /// The site of the latest step.
    site: u64,
}

impl Here {
    #[inline]
    fn slot(self, slots: &mut Slots) -> &mut Slot {
        &mut slots[self.place % SLOTS]
    }

    /// The likely step follows.
    #[inline]
    fn follow_likely(&mut self, slots: &mut Slots) -> Shape {
        let slot = self.slot(slots);
        slot.missed = false;
        let (shape, hash) = (slot.likely, slot.likely_hash);
        self.go(shape.site, hash);
        shape
    }

    #[inline]
    fn go(&mut self, site: u64, hash: u16) {
        let before = if site == 0 { self.place << AGE } else { 0 };
        self.place = before & (SLOTS - 1) ^ usize::from(hash);
        self.site = site;
    }

    /// The access here goes to `address`. Without branches, as none of them could be predicted.
    #[inline]
    fn access(&mut self, slots: &mut Slots, address: u64) {
        let slot = self.slot(slots);
        let (stride, offset) = (address.wrapping_sub(slot.last), address.wrapping_sub(self.address));
        let (strided, kept) = (stride == slot.stride, offset == slot.offset);
        // The one that was right is believed; if both or neither were, the one that was believed before.
        slot.by_offset = slot.by_offset & (kept | !strided) | kept & !strided;
        // A loop that begins anew keeps its stride: two others in a row change it.
        let changes = !strided & !slot.strided & slot.accessed;
        slot.stride = if changes { stride } else { slot.stride };
        (slot.strided, slot.accessed) = (strided & slot.accessed, true);
        (slot.last, slot.offset) = (address, offset);
        self.address = address;
    }
}
