//! A step of a thread but for its address.

use super::number;
use crate::event::{Access, AccessKind, Event};

/// The low four bits of a tag: the kind of the step.
const LOAD: u8 = 0;
const STORE: u8 = 1;
const PREFETCH_SHARED: u8 = 2;
const PREFETCH_EXCLUSIVE: u8 = 3;
const AWAIT: u8 = 4;
const CHANGE: u8 = 5;
const INSTRUCTIONS: u8 = 6;
const WORK: u8 = 7;
const BARRIER: u8 = 8;
const MEASURE: u8 = 9;
const SITE: u8 = 10;
const KIND: u8 = 15;

/// The bit of a tag that says that an address depends on the latest load, or that measuring begins.
const FLAG: u8 = 1 << 7;
/// The three bits of a tag that hold the length of an access in bytes: the exponent of a power of two, or else [`ODD`].
const LENGTH: u32 = 4;
/// The length follows as a byte of its own.
const ODD: u8 = 7;

/// A step but for its address. An access is one step with the instructions before it and its site, as instrumented code announces
/// it; other events are a step each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// The tag, the length of an access in bytes from bit 8 on, and a number from bit 32 on: the instructions before an access, or
    /// what the event counts.
    what: u64,
    /// The place of the program.
    pub site: u64,
}

impl Shape {
    const fn new(tag: u8, length: u8, count: u32, site: u64) -> Self {
        Self { what: tag as u64 | (length as u64) << 8 | (count as u64) << 32, site }
    }

    /// An access after so many `instructions`, which are no event of their own.
    #[inline]
    pub const fn access(access: Access, instructions: u32, site: u64) -> Self {
        let kind = match access.kind {
            AccessKind::Load => LOAD,
            AccessKind::Store => STORE,
            AccessKind::PrefetchShared => PREFETCH_SHARED,
            AccessKind::PrefetchExclusive => PREFETCH_EXCLUSIVE,
        };
        let power = access.bytes.is_power_of_two() && access.bytes.trailing_zeros() < ODD as u32;
        let length = if power { access.bytes.trailing_zeros() as u8 } else { ODD };
        Self::new(kind | length << LENGTH | flag(access.dependent), access.bytes, instructions, site)
    }

    /// An event by itself, at `site`, with its address if it has one.
    pub const fn event(event: Event, site: u64) -> (Self, u64) {
        match event {
            Event::Access(access) => (Self::access(access, 0, site), access.address),
            Event::Instructions(count) => (Self::new(INSTRUCTIONS, 0, count, site), 0),
            Event::Work(count) => (Self::new(WORK, 0, count, site), 0),
            Event::Barrier => (Self::new(BARRIER, 0, 0, site), 0),
            Event::Await { address, changes } => (Self::new(AWAIT, 0, changes, site), address),
            Event::Change { address } => (Self::new(CHANGE, 0, 0, site), address),
            Event::Measure(on) => (Self::new(MEASURE | flag(on), 0, 0, site), 0),
            Event::Site(site) => (Self::new(SITE, 0, 0, site), 0),
        }
    }

    #[inline]
    const fn tag(self) -> u8 {
        self.what as u8
    }

    /// The instructions before an access, or what the event counts.
    #[inline]
    pub const fn count(self) -> u32 {
        (self.what >> 32) as u32
    }

    /// Whether it refers to memory.
    #[inline]
    pub const fn has_address(self) -> bool {
        self.tag() & KIND <= CHANGE
    }

    /// The kind of the access, if it is one.
    #[inline]
    pub const fn kind(self) -> Option<AccessKind> {
        match self.tag() & KIND {
            LOAD => Some(AccessKind::Load),
            STORE => Some(AccessKind::Store),
            PREFETCH_SHARED => Some(AccessKind::PrefetchShared),
            PREFETCH_EXCLUSIVE => Some(AccessKind::PrefetchExclusive),
            _ => None,
        }
    }

    /// Whether the address of the access depends on the latest load.
    #[inline]
    pub const fn is_dependent(self) -> bool {
        self.tag() & FLAG != 0
    }

    /// The bytes of the access.
    #[inline]
    pub const fn bytes(self) -> u8 {
        (self.what >> 8) as u8
    }

    /// The event, which is no access.
    pub const fn other(self, address: u64) -> Event {
        match self.tag() & KIND {
            AWAIT => Event::Await { address, changes: self.count() },
            CHANGE => Event::Change { address },
            INSTRUCTIONS => Event::Instructions(self.count()),
            WORK => Event::Work(self.count()),
            BARRIER => Event::Barrier,
            MEASURE => Event::Measure(self.tag() & FLAG != 0),
            _ => Event::Site(self.site),
        }
    }

    /// A number of `BITS` bits that differs between most shapes.
    #[inline]
    pub const fn hash<const BITS: u32>(self) -> u16 {
        // A thread awaits ever more changes of a word: their number tells no place of the program.
        let what = if self.tag() & KIND == AWAIT { AWAIT as u64 } else { self.what };
        let mixed = (what.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.site).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> (u64::BITS - BITS)) as u16
    }

    /// Appends it; the step before was at `site`.
    pub fn put(self, site: u64, bytes: &mut Vec<u8>) {
        bytes.push(self.tag());
        if self.tag() >> LENGTH & ODD == ODD {
            bytes.push(self.bytes());
        }
        number::put(self.count().into(), bytes);
        number::put(number::zigzag(self.site.wrapping_sub(site)), bytes);
    }

    /// Takes one from `bytes`, after a step at `site`; `None` if they hold none.
    pub fn take(site: u64, bytes: &mut &[u8]) -> Option<Self> {
        let tag = number::take_byte(bytes)?;
        let length = match tag >> LENGTH & ODD {
            ODD => number::take_byte(bytes)?,
            _ if tag & KIND > PREFETCH_EXCLUSIVE => 0,
            power => 1 << power,
        };
        let count = number::take(bytes)?.try_into().ok()?;
        let site = site.wrapping_add(number::unzigzag(number::take(bytes)?));
        (tag & KIND <= SITE).then_some(Self::new(tag, length, count, site))
    }
}

const fn flag(set: bool) -> u8 {
    if set { FLAG } else { 0 }
}
