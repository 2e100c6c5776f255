//! Safety properties of the Origin model, checked on the packed state.

use protocol::Version;
use protocol::origin::{DirectoryState, Mesi};

use super::Origin;
use super::packed::{State, cache, directory_state, entry, message, pending, state};
use super::version::LATEST;
use crate::model::{Property, Violation};

impl Origin {
    /// Checks the properties of a line that hold in every state, with anything outstanding.
    ///
    /// A load could hit any valid copy at any time, so "every load that hits returns the last store" is equivalent to
    /// "every valid copy holds the last store"; a load that misses returns the contents of its new copy.
    pub(super) fn check_line(&self, reached: &State, line: usize) -> Result<(), Violation> {
        let (mut owners, mut sharers) = (0, 0);
        for cpu in 0..self.caches() {
            let word = reached.cache(line, cpu);
            match state(word) {
                Mesi::Invalid => continue,
                Mesi::Shared => sharers += 1,
                Mesi::Exclusive | Mesi::Modified => owners += 1,
            }
            if Version(cache::VERSION.get(word)) != LATEST {
                let detail = format!("cpu{cpu} has a copy of line {line} that is older than the last store");
                return Err(Violation { property: Property::LatestValue, detail });
            }
        }
        if owners > 1 || (owners == 1 && sharers > 0) {
            let detail = format!("line {line} has {owners} exclusive and {sharers} shared copies");
            return Err(Violation { property: Property::SingleWriter, detail });
        }
        if self.line_is_quiet(reached, line) { self.check_directory(reached, line) } else { Ok(()) }
    }

    /// Whether nothing is outstanding on a line.
    pub(super) fn line_is_quiet(&self, reached: &State, line: usize) -> bool {
        (0..self.caches()).all(|cpu| cache::PENDING.get(reached.cache(line, cpu)) == pending::NONE)
            && reached.messages().iter().all(|&word| message::LINE.get(word) as usize != line)
    }

    /// Checks that the directory entry of a quiet line agrees with the caches and memory.
    fn check_directory(&self, reached: &State, line: usize) -> Result<(), Violation> {
        let word = reached.entries[line];
        let copies = || (0..self.caches()).map(|cpu| (cpu, state(reached.cache(line, cpu))));
        let uncached = copies().all(|(_, state)| state == Mesi::Invalid);
        let memory_latest = Version(entry::MEMORY.get(word)) == LATEST;
        let problem = match directory_state(word) {
            DirectoryState::Unowned if !uncached => Some("a cache has a copy"),
            DirectoryState::Unowned if !memory_latest => Some("the last store is lost"),
            DirectoryState::Poisoned if !uncached => Some("a cache has a copy"),
            DirectoryState::Unowned | DirectoryState::Poisoned => None,
            DirectoryState::Shared => {
                let named = |cpu| entry::SHARERS.get(word) >> self.node_of(cpu) & 1 == 1;
                if copies().any(|(cpu, state)| state != Mesi::Invalid && (state != Mesi::Shared || !named(cpu))) {
                    Some("a cache has a copy that it does not include")
                } else if !memory_latest {
                    Some("memory is older than the last store")
                } else {
                    None
                }
            }
            DirectoryState::Exclusive => {
                let owner = entry::OWNER.get(word) as usize;
                let owned = state(reached.cache(line, owner));
                if copies().any(|(cpu, state)| state != Mesi::Invalid && cpu != owner) {
                    Some("a cache other than the owner's has a copy")
                } else if owned == Mesi::Shared {
                    Some("the owner's copy is a shared one")
                } else if owned != Mesi::Modified && !memory_latest {
                    Some("memory is older than the last store, and the owner has not modified the line")
                } else {
                    None
                }
            }
            DirectoryState::BusyShared | DirectoryState::BusyExclusive | DirectoryState::Wait => Some("it is busy"),
        };
        problem.map_or(Ok(()), |problem| {
            let state = directory_state(word).mnemonic();
            let detail =
                format!("nothing is outstanding on line {line}, its directory entry is {state}, and {problem}");
            Err(Violation { property: Property::DirectoryAgreement, detail })
        })
    }
}
