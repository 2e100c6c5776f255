//! Counts of external requests to a processor's caches.

use super::Processor;

impl Processor {
    /// Counts an external intervention for `line`, before its tag check.
    pub fn count_intervention(&mut self, line: units::LineAddr) {
        let hit = self.has_copy(line);
        let external = &mut self.counters.external;
        external.interventions += 1;
        external.intervention_hits += u64::from(hit);
    }

    /// Counts an external invalidation of `line`, before its tag check.
    pub fn count_invalidation(&mut self, line: units::LineAddr) {
        let hit = self.has_copy(line);
        let external = &mut self.counters.external;
        external.invalidations += 1;
        external.invalidation_hits += u64::from(hit);
    }

    fn has_copy(&self, line: units::LineAddr) -> bool {
        self.caches.find(line.0).is_some()
    }
}
