//! Events as bytes: a tag, then numbers of variable length, addresses as differences from the one before.
//!
//! Most references go a short way from the last one: two or three bytes hold them, before what compression finds.

use crate::event::{Access, AccessKind, Event};

/// The low four bits of a tag.
const LOAD: u8 = 0;
const STORE: u8 = 1;
const PREFETCH_SHARED: u8 = 2;
const PREFETCH_EXCLUSIVE: u8 = 3;
const INSTRUCTIONS: u8 = 4;
const WORK: u8 = 5;
const BARRIER: u8 = 6;
const AWAIT: u8 = 7;
const CHANGE: u8 = 8;
const MEASURE: u8 = 9;
const SITE: u8 = 10;

/// The bit of a tag that says that an address depends on the latest load, that measuring begins.
const FLAG: u8 = 1 << 7;
/// The three bits of a tag that say how many bytes an access has: a power of two, or else [`ODD`].
const SIZE: u32 = 4;
/// The number of bytes follows.
const ODD: u8 = 7;

/// What an encoded event depends on beside its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Context {
    address: u64,
    site: u64,
}

/// Appends events to bytes.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    context: Context,
}

impl Encoder {
    /// Appends an event.
    pub fn encode(&mut self, event: Event, bytes: &mut Vec<u8>) {
        match event {
            Event::Access(access) => self.access(access, bytes),
            Event::Instructions(count) => numbered(INSTRUCTIONS, u64::from(count), bytes),
            Event::Work(count) => numbered(WORK, u64::from(count), bytes),
            Event::Barrier => bytes.push(BARRIER),
            Event::Await { address, changes } => {
                bytes.push(AWAIT);
                self.address(address, bytes);
                varint(u64::from(changes), bytes);
            }
            Event::Change { address } => {
                bytes.push(CHANGE);
                self.address(address, bytes);
            }
            Event::Measure(on) => bytes.push(MEASURE | flag(on)),
            Event::Site(site) => {
                let step = zigzag(site.wrapping_sub(self.context.site));
                self.context.site = site;
                numbered(SITE, step, bytes);
            }
        }
    }

    #[inline]
    fn access(&mut self, access: Access, bytes: &mut Vec<u8>) {
        let kind = match access.kind {
            AccessKind::Load => LOAD,
            AccessKind::Store => STORE,
            AccessKind::PrefetchShared => PREFETCH_SHARED,
            AccessKind::PrefetchExclusive => PREFETCH_EXCLUSIVE,
        };
        let power = access.bytes.is_power_of_two() && access.bytes.trailing_zeros() < u32::from(ODD);
        let size = if power { access.bytes.trailing_zeros() as u8 } else { ODD };
        bytes.push(kind | size << SIZE | flag(access.dependent));
        if size == ODD {
            bytes.push(access.bytes);
        }
        self.address(access.address, bytes);
    }

    #[inline]
    fn address(&mut self, address: u64, bytes: &mut Vec<u8>) {
        varint(zigzag(address.wrapping_sub(self.context.address)), bytes);
        self.context.address = address;
    }
}

/// Takes events from bytes.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    context: Context,
}

impl Decoder {
    /// The next event of `bytes`, which are shortened by it; `None` at their end, or if they are no event.
    pub fn decode(&mut self, bytes: &mut &[u8]) -> Option<Event> {
        let (&tag, rest) = bytes.split_first()?;
        *bytes = rest;
        let set = tag & FLAG != 0;
        Some(match tag & 15 {
            LOAD => self.access(AccessKind::Load, tag, bytes)?,
            STORE => self.access(AccessKind::Store, tag, bytes)?,
            PREFETCH_SHARED => self.access(AccessKind::PrefetchShared, tag, bytes)?,
            PREFETCH_EXCLUSIVE => self.access(AccessKind::PrefetchExclusive, tag, bytes)?,
            INSTRUCTIONS => Event::Instructions(number(bytes)?.try_into().ok()?),
            WORK => Event::Work(number(bytes)?.try_into().ok()?),
            BARRIER => Event::Barrier,
            AWAIT => {
                let address = self.address(bytes)?;
                Event::Await { address, changes: number(bytes)?.try_into().ok()? }
            }
            CHANGE => Event::Change { address: self.address(bytes)? },
            MEASURE => Event::Measure(set),
            SITE => {
                self.context.site = self.context.site.wrapping_add(unzigzag(number(bytes)?));
                Event::Site(self.context.site)
            }
            _ => return None,
        })
    }

    #[inline]
    fn access(&mut self, kind: AccessKind, tag: u8, bytes: &mut &[u8]) -> Option<Event> {
        let size = tag >> SIZE & ODD;
        let length = if size == ODD {
            let (&length, rest) = bytes.split_first()?;
            *bytes = rest;
            length
        } else {
            1 << size
        };
        let address = self.address(bytes)?;
        Some(Event::Access(Access { kind, dependent: tag & FLAG != 0, bytes: length, address }))
    }

    #[inline]
    fn address(&mut self, bytes: &mut &[u8]) -> Option<u64> {
        self.context.address = self.context.address.wrapping_add(unzigzag(number(bytes)?));
        Some(self.context.address)
    }
}

const fn flag(set: bool) -> u8 {
    if set { FLAG } else { 0 }
}

fn numbered(tag: u8, number: u64, bytes: &mut Vec<u8>) {
    bytes.push(tag);
    varint(number, bytes);
}

/// A difference of either sign as a number that is small if the difference is.
const fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Seven bits a byte, least significant first; the highest bit says that more follow.
#[inline]
fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[inline]
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_event() -> impl Strategy<Value = Event> {
        let kind = prop_oneof![
            Just(AccessKind::Load),
            Just(AccessKind::Store),
            Just(AccessKind::PrefetchShared),
            Just(AccessKind::PrefetchExclusive)
        ];
        let access = (kind, any::<bool>(), any::<u8>(), any::<u64>());
        prop_oneof![
            access.prop_map(|(kind, dependent, bytes, address)| Event::Access(Access {
                kind,
                dependent,
                bytes,
                address
            })),
            any::<u32>().prop_map(Event::Instructions),
            any::<u32>().prop_map(Event::Work),
            Just(Event::Barrier),
            (any::<u64>(), any::<u32>()).prop_map(|(address, changes)| Event::Await { address, changes }),
            any::<u64>().prop_map(|address| Event::Change { address }),
            any::<bool>().prop_map(Event::Measure),
            any::<u64>().prop_map(Event::Site),
        ]
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(events in proptest::collection::vec(any_event(), 0..200)) {
            let (mut encoder, mut bytes) = (Encoder::default(), Vec::new());
            events.iter().for_each(|&event| encoder.encode(event, &mut bytes));
            let (mut decoder, mut left) = (Decoder::default(), &bytes[..]);
            let decoded: Vec<_> = std::iter::from_fn(|| decoder.decode(&mut left)).collect();
            prop_assert_eq!(decoded, events);
            prop_assert!(left.is_empty());
        }

        #[test]
        fn bytes_that_are_no_events_end_the_decoding(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (mut decoder, mut left) = (Decoder::default(), &bytes[..]);
            let decoded = std::iter::from_fn(|| decoder.decode(&mut left)).count();
            prop_assert!(decoded <= bytes.len());
        }
    }

    #[test]
    fn a_step_of_an_array_takes_two_bytes() {
        let (mut encoder, mut bytes) = (Encoder::default(), Vec::new());
        let load = |address| Event::Access(Access { kind: AccessKind::Load, dependent: false, bytes: 8, address });
        encoder.encode(load(0x7fff_0000), &mut bytes);
        let before = bytes.len();
        encoder.encode(load(0x7fff_0008), &mut bytes);
        assert_eq!(bytes.len() - before, 2);
    }
}
