//! The set of visited states: encodings end to end in one buffer, found by an open hash table of 32-bit numbers.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Number of a state, in the order in which states were found.
pub type StateId = u32;

/// A slot of the hash table: the state, and 32 further bits of its hash, which save most comparisons of encodings.
#[derive(Clone, Copy)]
struct Slot {
    id: StateId,
    tag: u32,
}

const EMPTY: Slot = Slot { id: StateId::MAX, tag: 0 };

impl Slot {
    fn is_empty(self) -> bool {
        self.id == StateId::MAX
    }
}

/// Encoded states, numbered from 0 in order of insertion, without duplicates.
///
/// Whole encodings are kept, so two different states are never merged.
pub struct StateStore {
    bytes: Vec<u8>,
    /// End of each state's encoding in `bytes`.
    ends: Vec<u64>,
    /// Parent of each state, from which it was first reached; the first state is its own parent.
    parents: Vec<StateId>,
    /// Hash table with open addressing; a power of two, at most three quarters full.
    table: Vec<Slot>,
}

impl StateStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), parents: Vec::new(), table: vec![EMPTY; 1 << 12] }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The encoding of a state.
    pub fn get(&self, id: StateId) -> &[u8] {
        let index = id as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }

    /// Parent of a state: the state from which it was first reached.
    pub fn parent(&self, id: StateId) -> StateId {
        self.parents[id as usize]
    }

    /// Hash of an encoding, for its lookup.
    pub fn hash(encoding: &[u8]) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(encoding);
        // The table is indexed by low bits, and the high bits of a multiplicative hash are the best.
        hasher.finish().swap_bytes()
    }

    /// Finds the number of an encoding, if it is stored.
    pub fn find(&self, hash: u64, encoding: &[u8]) -> Option<StateId> {
        let slot = self.table[self.slot(hash, encoding)];
        (!slot.is_empty()).then_some(slot.id)
    }

    /// Inserts an encoding; returns its number, and whether it is new.
    pub fn insert(&mut self, hash: u64, encoding: &[u8], parent: Option<StateId>) -> (StateId, bool) {
        let slot = self.slot(hash, encoding);
        if !self.table[slot].is_empty() {
            return (self.table[slot].id, false);
        }
        let id = self.ends.len() as StateId;
        self.table[slot] = Slot { id, tag: tag(hash) };
        self.bytes.extend_from_slice(encoding);
        self.ends.push(self.bytes.len() as u64);
        self.parents.push(parent.unwrap_or(id));
        if self.ends.len() * 4 > self.table.len() * 3 {
            self.grow();
        }
        (id, true)
    }

    /// Memory held, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + (self.ends.capacity() + self.table.capacity()) * 8 + self.parents.capacity() * 4
    }

    /// Slot that holds the encoding, or the empty slot where it belongs.
    fn slot(&self, hash: u64, encoding: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let seen = self.table[slot];
            if seen.is_empty() || (seen.tag == tag(hash) && self.get(seen.id) == encoding) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = self.table.len() * 2 - 1;
        let mut table = vec![EMPTY; self.table.len() * 2];
        for id in 0..self.ends.len() as StateId {
            let hash = Self::hash(self.get(id));
            let mut slot = hash as usize & mask;
            while !table[slot].is_empty() {
                slot = (slot + 1) & mask;
            }
            table[slot] = Slot { id, tag: tag(hash) };
        }
        self.table = table;
    }
}

/// Bits of a hash that do not select the slot (tables stay below 2^32 slots).
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_distinct_encodings_once(keys in prop::collection::vec(prop::collection::vec(0u8..4, 0..6), 1..3000)) {
            let mut store = StateStore::new();
            let mut reference = std::collections::HashMap::new();
            for key in &keys {
                let (id, new) = store.insert(StateStore::hash(key), key, None);
                prop_assert_eq!(new, !reference.contains_key(key));
                prop_assert_eq!(*reference.entry(key.clone()).or_insert(id), id);
            }
            prop_assert_eq!(store.len(), reference.len());
            for (key, id) in &reference {
                prop_assert_eq!(store.get(*id), key.as_slice());
                prop_assert_eq!(store.find(StateStore::hash(key), key), Some(*id));
            }
        }
    }

    #[test]
    fn grows_past_the_first_table() {
        let mut store = StateStore::new();
        for n in 0u32..20_000 {
            let key = n.to_le_bytes();
            assert_eq!(store.insert(StateStore::hash(&key), &key, None), (n, true));
        }
        for n in 0u32..20_000 {
            let key = n.to_le_bytes();
            assert_eq!(store.find(StateStore::hash(&key), &key), Some(n));
        }
    }
}
