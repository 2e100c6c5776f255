//! The memory that a trace refers to, and the words by which its threads synchronise: what has to be known before a replay begins.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::encoding::{GRAIN, put_number, take_number};
use crate::event::Event;
use crate::source::{ReferenceError, Source};

/// Grains that one set of bits holds: 4 MiB of memory.
const CHUNK: u64 = 4096;
const WORDS: usize = CHUNK as usize / u64::BITS as usize;

/// Memory to which a trace refers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Numbers of grains, of [`GRAIN`] bytes each: ranges in ascending order.
    pub grains: Vec<Range<u64>>,
    /// By address, how often words are changed ([`Event::Change`]), in ascending order.
    pub changes: Vec<(u64, u32)>,
}

impl Memory {
    /// The memory to which `source` refers, all of whose events are read for that.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(source: &dyn Source) -> Result<Self, ReferenceError> {
        let mut footprint = Footprint::default();
        for thread in 0..source.header().threads {
            source.events(thread)?.for_each(|step| footprint.note(step.parts().1))?;
        }
        Ok(footprint.into_memory())
    }

    /// How many grains it has.
    pub fn len(&self) -> u64 {
        self.grains.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether it is none at all.
    pub fn is_empty(&self) -> bool {
        self.grains.is_empty()
    }

    /// Itself as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(self.grains.len() as u64, &mut bytes);
        let mut end = 0;
        for range in &self.grains {
            put_number(range.start - end, &mut bytes);
            put_number(range.end - range.start, &mut bytes);
            end = range.end;
        }
        put_number(self.changes.len() as u64, &mut bytes);
        let mut before = 0;
        for &(address, count) in &self.changes {
            put_number(address - before, &mut bytes);
            put_number(count.into(), &mut bytes);
            before = address;
        }
        bytes
    }

    /// The memory that [`Self::encode`] wrote; `None` if the bytes are something else.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        // Each entry takes two bytes at least: no number of them is believed that the bytes cannot hold.
        let count = |bytes: &mut &[u8]| take_number(bytes).filter(|&count| count <= bytes.len() as u64 / 2);
        let (mut memory, mut end) = (Self::default(), 0_u64);
        for _ in 0..count(bytes)? {
            let start = end.checked_add(take_number(bytes)?)?;
            end = start.checked_add(take_number(bytes)?).filter(|&end| end <= u64::MAX / GRAIN + 1)?;
            memory.grains.push(start..end);
        }
        let mut address = 0_u64;
        for _ in 0..count(bytes)? {
            address = address.checked_add(take_number(bytes)?)?;
            memory.changes.push((address, take_number(bytes)?.try_into().ok()?));
        }
        bytes.is_empty().then_some(memory)
    }
}

/// Memory referred to so far: its size follows that of the program's own, however long it runs.
#[derive(Debug, Default)]
pub struct Footprint {
    /// Sets of grains by the number of their chunk.
    chunks: FxHashMap<u64, Box<[u64; WORDS]>>,
    /// The grain noted last.
    latest: Option<u64>,
    changes: FxHashMap<u64, u32>,
}

impl Footprint {
    /// Notes what an event refers to.
    pub fn note(&mut self, event: Event) {
        match event {
            Event::Access(access) => self.refer(access.address, access.bytes),
            Event::Await { address, .. } => self.refer(address, 1),
            Event::Change { address } => {
                self.change(address);
                self.refer(address, 1);
            }
            _ => {}
        }
    }

    /// Notes a reference.
    #[inline]
    pub fn refer(&mut self, address: u64, bytes: u8) {
        let last = address.saturating_add(u64::from(bytes.saturating_sub(1)));
        for grain in address / GRAIN..=last / GRAIN {
            if self.latest != Some(grain) {
                self.insert(grain);
            }
        }
    }

    fn insert(&mut self, grain: u64) {
        self.latest = Some(grain);
        let chunk = self.chunks.entry(grain / CHUNK).or_insert_with(|| Box::new([0; WORDS]));
        let bit = grain % CHUNK;
        chunk[bit as usize / u64::BITS as usize] |= 1 << (bit % u64::from(u64::BITS));
    }

    /// Notes a change of the word at `address`.
    pub fn change(&mut self, address: u64) {
        *self.changes.entry(address).or_default() += 1;
    }

    /// How often the word at `address` was changed.
    pub fn changes(&self, address: u64) -> u32 {
        self.changes.get(&address).copied().unwrap_or_default()
    }

    /// All of it, in order.
    pub fn into_memory(self) -> Memory {
        let mut chunks: Vec<_> = self.chunks.into_iter().collect();
        chunks.sort_unstable_by_key(|&(chunk, _)| chunk);
        let mut grains: Vec<Range<u64>> = Vec::new();
        for (chunk, words) in chunks {
            let is_set = |bit: u64| words[bit as usize / u64::BITS as usize] >> (bit % u64::from(u64::BITS)) & 1 != 0;
            for grain in (0..CHUNK).filter(|&bit| is_set(bit)).map(|bit| chunk * CHUNK + bit) {
                match grains.last_mut() {
                    Some(range) if range.end == grain => range.end += 1,
                    _ => grains.push(grain..grain + 1),
                }
            }
        }
        let mut changes: Vec<_> = self.changes.into_iter().collect();
        changes.sort_unstable();
        Memory { grains, changes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbouring_grains_are_one_range() {
        let mut footprint = Footprint::default();
        // The last of the first chunk, the first of the second, and an access that reaches into the next grain.
        for grain in [CHUNK, CHUNK - 1, 7] {
            footprint.refer(grain * GRAIN, 8);
        }
        footprint.refer(20 * GRAIN - 4, 8);
        assert_eq!(footprint.into_memory().grains, [7..8, 19..21, CHUNK - 1..CHUNK + 1]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            references in proptest::collection::vec((any::<u64>(), any::<u8>()), 0..50),
            changes in proptest::collection::vec(any::<u64>(), 0..50),
        ) {
            let mut footprint = Footprint::default();
            references.iter().for_each(|&(address, bytes)| footprint.refer(address, bytes));
            changes.iter().for_each(|&address| footprint.change(address));
            let memory = footprint.into_memory();
            prop_assert_eq!(Memory::decode(&memory.encode()), Some(memory));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Some(memory) = Memory::decode(&bytes) {
                prop_assert!(memory.grains.len() + memory.changes.len() <= bytes.len());
            }
        }
    }
}
