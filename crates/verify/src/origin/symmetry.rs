//! Symmetry of the Origin model: interchangeable caches and lines, and the canonical form of a state.

use protocol::origin::{DirectoryState, Geometry, MessageKind};
use units::CpuId;

use super::packed::{MAX_CACHES, MAX_LINES, State, cache, directory_state, entry, kind, message, pending};
use crate::permutations::permutations;

/// A renaming of processors, of their nodes, and of lines.
#[derive(Clone, Copy, Debug)]
pub struct Renaming {
    cpus: [u8; MAX_CACHES],
    nodes: [u8; MAX_CACHES],
    lines: [u8; MAX_LINES],
}

impl Renaming {
    /// Every renaming that keeps the processors of a node together, the identity first.
    pub fn all(caches: usize, lines: usize, geometry: Geometry) -> Vec<Self> {
        let mut renamings = Vec::new();
        for line_names in permutations(lines) {
            for cpu_names in permutations(caches) {
                let nodes = node_names(&cpu_names, geometry);
                let mut renaming = Self { cpus: [0, 1, 2, 3], nodes: [0, 1, 2, 3], lines: [0, 1] };
                let Some(nodes) = nodes else { continue };
                renaming.cpus[..caches].copy_from_slice(&cpu_names);
                renaming.lines[..lines].copy_from_slice(&line_names);
                renaming.nodes[..nodes.len()].copy_from_slice(&nodes);
                renamings.push(renaming);
            }
        }
        renamings
    }

    /// The identity alone.
    pub fn identity() -> Vec<Self> {
        vec![Self { cpus: [0, 1, 2, 3], nodes: [0, 1, 2, 3], lines: [0, 1] }]
    }

    fn cpu(&self, field: super::packed::Field, word: u32) -> u32 {
        field.set(word, u32::from(self.cpus[field.get(word) as usize]))
    }

    fn sharers(&self, field: super::packed::Field, word: u32) -> u32 {
        let bits = field.get(word);
        if bits == 0 {
            return word;
        }
        let set = (0..MAX_CACHES).filter(|node| bits >> node & 1 == 1);
        field.set(word, set.fold(0, |renamed, node| renamed | 1 << self.nodes[node]))
    }

    fn cache(&self, word: u32) -> u32 {
        if cache::HAS_INTERVENTION.get(word) == 1 { self.cpu(cache::REQUESTER, word) } else { word }
    }

    fn entry(&self, word: u32) -> u32 {
        match directory_state(word) {
            DirectoryState::Unowned | DirectoryState::Poisoned => word,
            DirectoryState::Shared => self.sharers(entry::SHARERS, word),
            DirectoryState::Exclusive | DirectoryState::Wait => self.cpu(entry::OWNER, word),
            DirectoryState::BusyShared | DirectoryState::BusyExclusive => {
                self.cpu(entry::FORMER, self.cpu(entry::OWNER, word))
            }
        }
    }

    fn message(&self, word: u32) -> u32 {
        let mut renamed = self.cpu(message::REQUESTER, word);
        renamed = match message::TO.get(word) {
            message::TO_HOME => renamed,
            message::TO_PROCESSOR => self.cpu(message::TO_INDEX, renamed),
            _ => message::TO_INDEX.set(renamed, u32::from(self.nodes[message::TO_INDEX.get(word) as usize])),
        };
        if matches!(kind(word), MessageKind::BackoffReadShared | MessageKind::BackoffReadExclusive) {
            renamed = self.cpu(message::OWNER, renamed);
        }
        renamed = self.sharers(message::SHARERS, renamed);
        message::LINE.set(renamed, u32::from(self.lines[message::LINE.get(word) as usize]))
    }

    /// State under the new names.
    fn apply(&self, state: &State, caches: usize, lines: usize) -> State {
        let mut renamed = state.clone();
        for line in 0..lines {
            let new_line = usize::from(self.lines[line]);
            for cpu in 0..caches {
                *renamed.cache_mut(new_line, usize::from(self.cpus[cpu])) = self.cache(state.cache(line, cpu));
            }
            renamed.entries[new_line] = self.entry(state.entries[line]);
        }
        renamed.map_messages(|word| self.message(word));
        renamed
    }
}

/// Computation of canonical forms.
#[derive(Clone, Debug)]
pub struct Symmetry {
    renamings: Vec<Renaming>,
    caches: usize,
    lines: usize,
}

impl Symmetry {
    /// Creates the symmetry of a system with these renamings.
    pub fn new(renamings: Vec<Renaming>, caches: usize, lines: usize) -> Self {
        Self { renamings, caches, lines }
    }

    /// Representative of all states that differ from this one in names only.
    ///
    /// Only renamings that bring the caches' fingerprints into the least order are tried: usually one.
    pub fn canonical(&self, state: &State) -> State {
        if self.renamings.len() == 1 { state.clone() } else { self.least(state) }
    }

    fn least(&self, state: &State) -> State {
        let fingerprints = self.fingerprints(state);
        let ordered = |renaming: &Renaming| {
            let mut order = [0; MAX_CACHES * MAX_LINES];
            for line in 0..self.lines {
                for cpu in 0..self.caches {
                    let at = usize::from(renaming.lines[line]) * MAX_CACHES + usize::from(renaming.cpus[cpu]);
                    order[at] = fingerprints[line * MAX_CACHES + cpu];
                }
            }
            order
        };
        let mut best = ordered(&self.renamings[0]);
        let mut candidates = 1u64;
        for (index, renaming) in self.renamings.iter().enumerate().skip(1) {
            let order = ordered(renaming);
            if order < best {
                best = order;
                candidates = 1 << index;
            } else if order == best {
                candidates |= 1 << index;
            }
        }
        let apply = |index: usize| self.renamings[index].apply(state, self.caches, self.lines);
        let mut least = apply(candidates.trailing_zeros() as usize);
        candidates &= candidates - 1;
        while candidates != 0 {
            let other = apply(candidates.trailing_zeros() as usize);
            candidates &= candidates - 1;
            let key = |state: &State| (state.caches, state.entries);
            if (key(&other), other.messages()) < (key(&least), least.messages()) {
                least = other;
            }
        }
        least
    }

    /// Fingerprint of each line at each cache, a number that does not depend on names, and that distinguishes most
    /// caches in different roles.
    fn fingerprints(&self, state: &State) -> [u64; MAX_CACHES * MAX_LINES] {
        let mut fingerprints = [0; MAX_CACHES * MAX_LINES];
        for line in 0..self.lines {
            let entry = state.entries[line];
            for cpu in 0..self.caches {
                // An intervention names a processor; the fingerprint omits the name.
                let own = state.cache(line, cpu) & !cache::REQUESTER.mask();
                fingerprints[line * MAX_CACHES + cpu] = u64::from(own) << 32 | u64::from(role(entry, cpu));
            }
            for cpu in 0..self.caches {
                let word = state.cache(line, cpu);
                let named = cache::HAS_INTERVENTION.get(word) == 1 && cache::PENDING.get(word) != pending::NONE;
                if named {
                    fingerprints[line * MAX_CACHES + cache::REQUESTER.get(word) as usize] += 1 << 3;
                }
            }
        }
        let anonymous = !(message::TO_INDEX.mask()
            | message::REQUESTER.mask()
            | message::OWNER.mask()
            | message::SHARERS.mask()
            | message::LINE.mask());
        for &word in state.messages() {
            let base = message::LINE.get(word) as usize * MAX_CACHES;
            let content = u64::from(word & anonymous).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let requester = base + message::REQUESTER.get(word) as usize;
            fingerprints[requester] = fingerprints[requester].wrapping_add(content << 5);
            if message::TO.get(word) == message::TO_PROCESSOR {
                let to = base + message::TO_INDEX.get(word) as usize;
                fingerprints[to] = fingerprints[to].wrapping_add(content << 6 | 1 << 4);
            }
        }
        fingerprints
    }
}

/// Role of a processor in a directory entry, in three bits.
fn role(word: u32, cpu: usize) -> u32 {
    let named = |field: super::packed::Field| u32::from(field.get(word) as usize == cpu);
    match directory_state(word) {
        DirectoryState::Unowned | DirectoryState::Poisoned | DirectoryState::Shared => 0,
        DirectoryState::Exclusive | DirectoryState::Wait => named(entry::OWNER),
        DirectoryState::BusyShared | DirectoryState::BusyExclusive => named(entry::OWNER) | named(entry::FORMER) << 1,
    }
}

/// Names of nodes under a renaming of processors; `None` if it would split a node or join parts of two.
fn node_names(cpu_names: &[u8], geometry: Geometry) -> Option<Vec<u8>> {
    let node_of = |cpu: usize| geometry.node_of(CpuId(cpu as u16)).index();
    let caches = cpu_names.len();
    let nodes = node_of(caches - 1) + 1;
    let mut names = vec![0; nodes];
    for (cpu, &new) in cpu_names.iter().enumerate() {
        for (other, &other_new) in cpu_names.iter().enumerate() {
            let together = node_of(cpu) == node_of(other);
            if together != (node_of(usize::from(new)) == node_of(usize::from(other_new))) {
                return None;
            }
        }
        names[node_of(cpu)] = node_of(usize::from(new)) as u8;
    }
    Some(names)
}
