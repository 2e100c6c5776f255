//! Safety properties of the SCI model.

use protocol::sci::{CacheLine, CacheState, MemoryState};
use units::CpuId;

use super::Sci;
use super::state::{LATEST, State};
use crate::model::{Property, Violation};

impl Sci {
    /// Checks the properties that hold in every state, with anything outstanding.
    ///
    /// A load could hit any readable copy at any time, so "every load returns the last store" is equivalent to "every
    /// readable copy holds the last store"; a load that misses returns the contents of its new copy.
    pub(super) fn check(&self, state: &State) -> Result<(), Violation> {
        let (mut writers, mut readers) = (0, 0);
        for cpu in self.cpus() {
            let line = &state.caches[cpu.index()];
            if !line.state.is_readable() {
                continue;
            }
            *(if line.state == CacheState::OnlyDirty { &mut writers } else { &mut readers }) += 1;
            if line.version != LATEST {
                let detail = format!("{cpu:?} has a copy that is older than the last store");
                return Err(Violation { property: Property::LatestValue, detail });
            }
        }
        if writers > 1 || (writers == 1 && readers > 0) {
            let detail = format!("{writers} caches may write, and {readers} others may read");
            return Err(Violation { property: Property::SingleWriter, detail });
        }
        let quiet = self.cpus().all(|cpu| state.caches[cpu.index()].state.is_stable());
        match if quiet { self.list_problem(state) } else { None } {
            None => Ok(()),
            Some(problem) => {
                let detail =
                    format!("nothing is outstanding, memory is {}, and {problem}", state.memory.state.mnemonic());
                Err(Violation { property: Property::DirectoryAgreement, detail })
            }
        }
    }

    /// Problem of the sharing list when nothing is outstanding. From the head that memory names, forward and backward
    /// pointers must agree, the state of every element must match its position, and no cache outside the list may have
    /// a copy.
    fn list_problem(&self, state: &State) -> Option<String> {
        let memory = &state.memory;
        if memory.state != MemoryState::Gone && memory.version != LATEST {
            return Some("its copy is older than the last store".to_owned());
        }
        if (memory.state == MemoryState::Home) != memory.head.is_none() {
            return Some("it names a head without a list, or none with one".to_owned());
        }
        let (mut reached, mut before, mut next) = (0, None, memory.head);
        while let Some(cpu) = next {
            let line = &state.caches[cpu.index()];
            reached += 1;
            if reached > self.caches {
                return Some("the list is a circle".to_owned());
            }
            let expected = place(memory.state, before.is_none(), line.forward.is_none());
            if line.state != expected {
                let (found, expected) = (line.state.mnemonic(), expected.mnemonic());
                return Some(format!("{cpu:?} is {found} where the list has {expected}"));
            }
            if line.backward != before {
                return Some(format!("{cpu:?} names {:?} before it, and the list has {before:?}", line.backward));
            }
            (before, next) = (Some(cpu), line.forward);
        }
        let copies = self.cpus().filter(|cpu| state.caches[cpu.index()] != CacheLine::default()).count();
        (copies != reached).then(|| format!("{copies} caches have copies, and {reached} are in the list"))
    }
}

/// State of an element at this position of the list.
fn place(memory: MemoryState, first: bool, last: bool) -> CacheState {
    match (first, last, memory) {
        (true, true, MemoryState::Gone) => CacheState::OnlyDirty,
        (true, true, _) => CacheState::OnlyFresh,
        (true, false, MemoryState::Gone) => CacheState::HeadDirty,
        (true, false, _) => CacheState::HeadFresh,
        (false, false, _) => CacheState::MidValid,
        (false, true, _) => CacheState::TailValid,
    }
}

/// Violation by a store that did not change the last contents.
pub(super) fn stored_on_old(cpu: CpuId) -> Violation {
    let detail = format!("{cpu:?} stores to contents that are older than the last store");
    Violation { property: Property::LatestValue, detail }
}
