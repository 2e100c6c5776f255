//! Safety properties of directory protocols.

use protocol::Rights;

use super::state::{LATEST, State, View};
use super::{DirectoryModel, Explored};
use crate::model::{Property, Violation};

impl<P: Explored> DirectoryModel<P> {
    /// One line of a state.
    pub(super) fn view<'a>(&self, state: &'a State<P>, line: usize) -> View<'a, P> {
        View { state, line, caches: self.caches }
    }

    /// Checks the properties of a line that hold in every state, with anything outstanding.
    ///
    /// A load could hit any valid copy at any time, so "every load returns the last store" is equivalent to "every
    /// valid copy holds the last store"; a load that misses returns the contents of its new copy.
    pub(super) fn check_line(&self, state: &State<P>, line: usize) -> Result<(), Violation> {
        let view = self.view(state, line);
        let may_be_old = P::may_be_old(&view);
        let (mut writers, mut readers) = (0, 0);
        for (cache, &at_cache) in view.caches().iter().enumerate() {
            let rights = P::copy(&at_cache).rights();
            if rights == Rights::None || may_be_old >> cache & 1 == 1 {
                continue;
            }
            *(if rights == Rights::Write { &mut writers } else { &mut readers }) += 1;
            if *P::contents(&mut { at_cache }) != LATEST {
                let detail = format!("{}{cache} has a stale copy of line {line}", P::AGENT);
                return Err(Violation { property: Property::LatestValue, detail });
            }
        }
        if writers > 1 || (writers == 1 && readers > 0) {
            let detail = format!("{writers} caches may write line {line}, and {readers} others may read it");
            return Err(Violation { property: Property::SingleWriter, detail });
        }
        match if view.is_quiet() { self.protocol.disagreement(&view) } else { None } {
            None => Ok(()),
            Some(problem) => {
                let home = self.protocol.describe_home(view.home(), view.store());
                let detail = format!("nothing is outstanding on line {line}, its home is {home}, and {problem}");
                Err(Violation { property: Property::DirectoryAgreement, detail })
            }
        }
    }

    /// Checks that the store entries that lines have are those in use.
    pub(super) fn check_store(&self, state: &State<P>) -> Result<(), Violation> {
        let homes = &state.homes[..self.lines];
        let held: u32 = homes.iter().map(|home| self.protocol.entries_held(home, &state.store)).sum();
        let in_use = self.protocol.entries_in_use(&state.store);
        if held == in_use {
            return Ok(());
        }
        let detail = format!("{in_use} entries of the store are in use, and the lines have {held}");
        Err(Violation { property: Property::StoreAccounting, detail })
    }
}
