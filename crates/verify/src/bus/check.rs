//! Safety properties of bus protocols.

use protocol::snoop::Rights;
use protocol::{CopyState, Rights as CopyRights};

use super::state::{BusState, JUST_STORED, LATEST};
use super::{Beyond, BusModel, ExploredBus};
use crate::model::{Property, Violation};

impl<B: ExploredBus, O: Beyond<B>> BusModel<B, O> {
    /// Checks the properties that hold in every state. Transactions are atomic, so agreement with memory must hold at
    /// all times, too.
    ///
    /// A load could hit any copy at any time, so "every load returns the last store" is equivalent to "every copy holds
    /// the last store"; a load that misses returns the contents of its new copy.
    pub(super) fn check(&self, state: &BusState<B, O>) -> Result<(), Violation> {
        let (mut copies, mut owners, mut sole) = (0, 0, 0);
        for cpu in self.cpus() {
            let line = &state.caches[cpu.index()];
            let copy = B::copy(line);
            if !copy.is_valid() {
                continue;
            }
            copies += 1;
            owners += usize::from(copy.is_dirty());
            sole += usize::from(copy.rights() == CopyRights::Write);
            if *B::contents(&mut { *line }) != LATEST {
                let detail = format!("{cpu:?} has a stale copy");
                return Err(Violation { property: Property::LatestValue, detail });
            }
        }
        let rights = state.beyond.rights();
        let too_many = match rights {
            Rights::None => copies > 0,
            Rights::Read => sole > 0,
            Rights::Write => owners > 1 || (sole > 0 && copies > 1),
        };
        if too_many {
            let detail = format!("{copies} copies, {owners} owned, {sole} sole, in a node that may {rights:?}");
            return Err(Violation { property: Property::SingleWriter, detail });
        }
        let old_beyond = { state.beyond }.contents().is_some_and(|contents| *contents != LATEST);
        let problem = if rights != Rights::None && owners == 0 && state.memory != LATEST {
            "no cache owns the line, and memory is older than the last store"
        } else if rights != Rights::Write && old_beyond {
            "other nodes may read contents older than the last store"
        } else {
            return Ok(());
        };
        Err(Violation { property: Property::DirectoryAgreement, detail: problem.to_owned() })
    }

    /// Whether a line is that of a cache that has just stored to the last contents.
    pub(super) fn has_stored(line: &B::CacheLine) -> bool {
        let copy = B::copy(line);
        (copy.rights(), copy.is_dirty()) == (CopyState::MODIFIED.rights(), true)
            && *B::contents(&mut { *line }) == JUST_STORED
    }
}

/// Violation by a store that did not change the last contents.
pub(super) fn stored_on_old(storer: &str) -> Violation {
    let detail = format!("{storer} stores to contents that are older than the last store");
    Violation { property: Property::LatestValue, detail }
}
