//! References to private data of which the coherent cache takes no lines (Hexsel and Topham, Section 4, The Simulated
//! Multiprocessor: for private data it allocates no blocks). What the primary cache does not serve, the memory of the node does, a
//! line at a time.
//!
//! Private lines are those of one processor alone, so that no protocol has anything to do with them, and nothing but the caches of
//! their processor decides what they cost. Memory always serves them in the same time: that they wait for the lines of others
//! there, or these for them, is left out.

use protocol::{Access, CopyState};
use units::Duration;

use super::{Address, Location, Processor, Wait};
use crate::account::{Cause, Service};
use crate::part::Completion;

impl Processor {
    /// As [`Self::access`], to private data at a known address.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn access_private(&mut self, at: impl Location, access: Access) -> Result<(), Wait> {
        self.private = true;
        let done = match self.timing.private_memory {
            Some(memory) => self.access_past(at, access, memory),
            None => self.access(at, access, Address::Known),
        };
        self.private = false;
        self.counters.private_references[usize::from(access.writes())] += u64::from(done.is_ok());
        done
    }

    /// A reference to private data that takes no line into the coherent cache. Memory serves what goes past the caches in `memory`.
    #[inline(always)]
    fn access_past(&mut self, at: impl Location, access: Access, memory: Duration) -> Result<(), Wait> {
        self.ready(Address::Known)?;
        let named = at.raw();
        let physical = at.translate(self, access)?;
        if self.time >= self.horizon {
            return Err(Wait::Until(self.time));
        }
        let block = physical.0 >> self.timing.block_shift;
        let served = !access.writes() && self.caches.use_primary(block).is_valid();
        if served && !self.timing.special_hits {
            self.retire(access, self.time + self.timing.primary_hit, Cause::PrimaryCache);
        } else if self.caches.find(self.line_of_block(block).0).is_some() {
            return self.access_beyond(block, access, named);
        } else if served {
            self.enter_private(access, self.timing.primary_hit, Cause::PrimaryCache);
        } else {
            self.go_past(block, access, memory)?;
        }
        if self.probe.is_active() {
            self.report_private(named, physical, access);
        }
        Ok(())
    }

    /// A private reference that memory serves, after the tag checks of all levels. A load leaves its block in the primary cache; a
    /// store changes the block there, if there is one.
    #[inline(never)]
    fn go_past(&mut self, block: u64, access: Access, memory: Duration) -> Result<(), Wait> {
        if self.stores.is_present() && self.is_forwarded(block, access)? {
            return Ok(());
        }
        let checked = self.check_tags(block, self.timing.outermost + 1);
        let (stores, took) = (access.writes(), checked + memory - self.time);
        self.counters.primary_misses += u64::from(!stores || self.caches.probe(0, block).is_none());
        self.counters.secondary_misses += 1;
        self.counters.private_misses[usize::from(stores)] += 1;
        self.count_private_miss(stores, Service::default());
        if stores && self.stores.is_present() {
            self.stores.enter(block, Completion::At(self.time + took));
            self.retire(access, self.time + took, Cause::private(stores));
        } else {
            self.enter_private(access, took, Cause::private(stores));
        }
        if !stores {
            self.caches.fill_primary_alone(block, CopyState::SHARED, &mut self.random);
        }
        Ok(())
    }

    /// Issues a private reference that is done after `took`.
    fn enter_private(&mut self, access: Access, took: Duration, cause: Cause) {
        let done = self.time + took;
        self.window.enter(self.issued, done, cause);
        self.retire(access, done, cause);
    }
}
