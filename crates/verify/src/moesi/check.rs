//! Safety properties of the bus model.

use protocol::snoop::{Moesi, Rights};

use super::Bus;
use super::state::{LATEST, State};
use crate::model::{Property, Violation};

impl Bus {
    /// Checks the properties that hold in every state. Transactions are atomic, so agreement with memory must hold at
    /// all times, too.
    ///
    /// A load could hit any copy at any time, so "every load returns the last store" is equivalent to "every copy holds
    /// the last store"; a load that misses returns the contents of its new copy.
    pub(super) fn check(&self, state: &State) -> Result<(), Violation> {
        let (mut copies, mut owners, mut sole) = (0, 0, 0);
        for cpu in self.cpus() {
            let cache = &state.caches[cpu.index()];
            if cache.state == Moesi::Invalid {
                continue;
            }
            copies += 1;
            owners += usize::from(cache.state.is_owner());
            sole += usize::from(matches!(cache.state, Moesi::Exclusive | Moesi::Modified));
            if cache.version != LATEST {
                let detail = format!("{cpu:?} has a copy that is older than the last store");
                return Err(Violation { property: Property::LatestValue, detail });
            }
        }
        let rights = state.device.rights;
        let too_many = match rights {
            Rights::None => copies > 0,
            Rights::Read => sole > 0,
            Rights::Write => owners > 1 || (sole > 0 && copies > 1),
        };
        if too_many {
            let detail = format!("{copies} copies, {owners} owned, {sole} sole, in a node that may {rights:?}");
            return Err(Violation { property: Property::SingleWriter, detail });
        }
        let problem = if rights != Rights::None && owners == 0 && state.memory != LATEST {
            Some("no cache owns the line, and memory is older than the last store")
        } else if rights != Rights::Write && state.outside != LATEST {
            Some("other nodes may read contents older than the last store")
        } else {
            None
        };
        problem.map_or(Ok(()), |problem| {
            Err(Violation { property: Property::DirectoryAgreement, detail: problem.to_owned() })
        })
    }
}

/// Violation by a store that did not change the last contents.
pub(super) fn stored_on_old(who: &str) -> Violation {
    let detail = format!("{who} stores to contents that are older than the last store");
    Violation { property: Property::LatestValue, detail }
}
