//! The stall time of a processor's misses, by the terms of the FLASH dissertation's Equation 5.1.

use units::Duration;

/// The stall time of a processor's misses, in terms that add up to the whole (FLASH dissertation, Equation 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StallTerms {
    /// Misses on local lines, answered without action at other nodes.
    pub local: u64,
    /// Misses on local lines that required action at other nodes.
    pub local_with_remote_action: u64,
    /// Misses on remote lines.
    pub remote: u64,
    /// T_m: the minimum time of every miss, that of an uncontended local read.
    pub minimum: Duration,
    /// T_w: time that requests waited while the local controller ran other handlers.
    pub waiting: Duration,
    /// T_p2p: uncontended time to the home and back.
    pub point_to_point: Duration,
    /// T_c: the remainder, which coherence and contention elsewhere add.
    pub coherence: Duration,
}

impl StallTerms {
    /// The number of misses.
    pub const fn misses(&self) -> u64 {
        self.local + self.local_with_remote_action + self.remote
    }

    /// The stall time of all misses if none overlapped another: Equation 5.1.
    pub fn total(&self) -> Duration {
        self.minimum + self.waiting + self.point_to_point + self.coherence
    }

    /// Counts a miss with its minimum time and its uncontended time to the home and back.
    pub fn count(&mut self, remote: bool, minimum: Duration, point_to_point: Duration) {
        *(if remote { &mut self.remote } else { &mut self.local }) += 1;
        self.minimum += minimum;
        self.point_to_point += point_to_point;
    }
}
