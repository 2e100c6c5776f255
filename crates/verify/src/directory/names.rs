//! Symmetry of a directory protocol's model: interchangeable caches and lines, and the canonical encoding.

use super::state::{MAX_MESSAGES, State};
use super::{DirectoryModel, Explored, MAX_CACHES, MAX_LINES};
use crate::permutations::permutations;

/// New names of caches, of their nodes, and of lines, by old names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names {
    /// New names of caches.
    pub caches: [u8; MAX_CACHES],
    /// New names of nodes.
    pub nodes: [u8; MAX_CACHES],
    /// New names of lines.
    pub lines: [u8; MAX_LINES],
}

impl Names {
    /// Every name unchanged.
    pub const SAME: Self = Self { caches: [0, 1, 2, 3], nodes: [0, 1, 2, 3], lines: [0, 1] };
    /// Every name the same: what is packed under these names does not depend on names.
    const NONE: Self = Self { caches: [0; MAX_CACHES], nodes: [0; MAX_CACHES], lines: [0; MAX_LINES] };

    /// New name of a cache.
    pub fn cache(&self, cache: units::CpuId) -> u32 {
        u32::from(self.caches[cache.index()])
    }

    /// New name of a node.
    pub fn node(&self, node: units::NodeId) -> u32 {
        u32::from(self.nodes[node.index()])
    }

    /// New name of a line.
    pub fn line(&self, line: units::LineAddr) -> u32 {
        u32::from(self.lines[line.index()])
    }

    /// Set of nodes under new names, a bit each.
    pub fn node_set(&self, nodes: u64) -> u32 {
        if nodes == 0 {
            return 0;
        }
        let named = (0..MAX_CACHES).filter(|node| nodes >> node & 1 == 1);
        named.fold(0, |renamed, node| renamed | 1 << self.nodes[node])
    }
}

/// Every renaming of interchangeable caches and lines, the identity first. Caches of a node stay together.
pub fn renamings<P: Explored>(protocol: &P, caches: usize, lines: usize) -> Vec<Names> {
    let mut renamings = Vec::new();
    for line_names in permutations(lines) {
        for cache_names in permutations(caches) {
            let renamed = || (0u8..).zip(cache_names.iter().copied());
            let together = |(old, new): (u8, u8)| {
                let joined = |of: u8, other| protocol.node(of) == protocol.node(other);
                renamed().all(|(other, other_new)| joined(old, other) == joined(new, other_new))
            };
            if !renamed().all(|(old, new)| protocol.alike(old, new) && together((old, new))) {
                continue;
            }
            let mut names = Names::SAME;
            names.caches[..caches].copy_from_slice(&cache_names);
            names.lines[..lines].copy_from_slice(&line_names);
            for (old, new) in renamed() {
                names.nodes[usize::from(protocol.node(old))] = protocol.node(new);
            }
            renamings.push(names);
        }
    }
    renamings
}

/// Words of the largest state.
const MAX_WORDS: usize = MAX_LINES * (MAX_CACHES + 2) + MAX_MESSAGES;

/// An encoding under construction.
#[derive(Clone, Copy)]
pub struct Words {
    words: [u32; MAX_WORDS],
    length: usize,
}

impl Words {
    /// No words.
    pub const EMPTY: Self = Self { words: [0; MAX_WORDS], length: 0 };

    /// The words.
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.length]
    }
}

impl<P: Explored> DirectoryModel<P> {
    /// Words of a state under new names: caches, homes, messages.
    pub(super) fn words(&self, state: &State<P>, names: &Names, words: &mut Words) {
        let (caches, lines) = (self.caches, self.lines);
        let (homes, messages) = (lines * caches, lines * (caches + P::HOME_WORDS));
        for line in 0..lines {
            let new = usize::from(names.lines[line]);
            for (cache, at_cache) in state.caches[line][..caches].iter().enumerate() {
                words.words[new * caches + usize::from(names.caches[cache])] = P::pack_cache(at_cache, names);
            }
            let home = self.protocol.pack_home(&state.homes[line], &state.store, state.notes[line], names);
            let at = homes + new * P::HOME_WORDS;
            words.words[at..at + P::HOME_WORDS].copy_from_slice(&home[..P::HOME_WORDS]);
        }
        words.length = messages + state.messages().len();
        let renamed = &mut words.words[messages..words.length];
        if *names == Names::SAME {
            renamed.copy_from_slice(state.messages());
            return;
        }
        for (renamed, &word) in renamed.iter_mut().zip(state.messages()) {
            *renamed = P::pack_message(&P::unpack_message(word), names);
        }
        renamed.sort_unstable();
    }

    /// Renamings that bring the fingerprints of caches into the least order, a bit each.
    pub(super) fn candidates(&self, state: &State<P>) -> u64 {
        if self.renamings.len() == 1 {
            return 1;
        }
        let fingerprints = self.fingerprints(state);
        let (mut least, mut candidates) = ([u64::MAX; MAX_CACHES * MAX_LINES], 0);
        for (index, names) in self.renamings.iter().enumerate() {
            let mut order = [0; MAX_CACHES * MAX_LINES];
            for line in 0..self.lines {
                for cache in 0..self.caches {
                    let new = usize::from(names.lines[line]) * MAX_CACHES + usize::from(names.caches[cache]);
                    order[new] = fingerprints[line * MAX_CACHES + cache];
                }
            }
            if order < least {
                (least, candidates) = (order, 1 << index);
            } else if order == least {
                candidates |= 1 << index;
            }
        }
        candidates
    }

    /// Fingerprint of each line at each cache: a number that does not depend on names, and that distinguishes most
    /// caches in different roles. It is made of the line at the cache without names, and of the home in which this cache
    /// alone has a name.
    fn fingerprints(&self, state: &State<P>) -> [u64; MAX_CACHES * MAX_LINES] {
        let mut fingerprints = [0; MAX_CACHES * MAX_LINES];
        for line in 0..self.lines {
            for cache in 0..self.caches {
                let mut alone = Names::NONE;
                alone.caches[cache] = 1;
                alone.nodes[usize::from(self.protocol.node(cache as u8))] = 1;
                let home = self.protocol.pack_home(&state.homes[line], &state.store, state.notes[line], &alone);
                let role = home[0] ^ home[1].wrapping_mul(0x9e37_79b9);
                let own = P::pack_cache(&state.caches[line][cache], &Names::NONE);
                fingerprints[line * MAX_CACHES + cache] = u64::from(own) << 32 | u64::from(role);
            }
        }
        fingerprints
    }
}
