//! Where the misses of a processor spend their time, by the terms of the FLASH dissertation's Equation 5.1.
//!
//! As on FLASH, the controller notes for each miss how long it waited for the protocol processor, and how long action
//! elsewhere took: from the message that leaves the requester's node until the answer goes on to its processor (Section 5.5.2).

use units::{Duration, Time};

use crate::processor::MissId;

/// The stall time of a processor's misses, in parts that add up to the whole (FLASH dissertation, Equation 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StallTerms {
    /// Misses answered by the home's memory, on the processor's own node and without action elsewhere.
    pub local: u64,
    /// Misses on lines of the own node that took action elsewhere.
    pub local_with_remote_action: u64,
    /// Misses on other nodes' lines.
    pub remote: u64,
    /// T_m: what every miss takes at least, the time of a local read when nothing else happens.
    pub minimum: Duration,
    /// T_w: time that requests waited while the controller ran other handlers.
    pub waiting: Duration,
    /// T_p2p: time to the home and back, when nothing else happens.
    pub point_to_point: Duration,
    /// T_c: what coherence and contention elsewhere added.
    pub coherence: Duration,
}

impl StallTerms {
    /// All misses.
    pub const fn misses(&self) -> u64 {
        self.local + self.local_with_remote_action + self.remote
    }
}

/// An outstanding miss.
#[derive(Clone, Copy, Debug, Default)]
struct Outstanding {
    waited: Duration,
    /// When the first message left the node, if one did.
    left: Option<Time>,
}

/// The misses of one processor.
#[derive(Clone, Debug, Default)]
pub struct Account {
    outstanding: [Outstanding; MissId::CAPACITY],
    /// All that are over.
    pub terms: StallTerms,
}

/// Times of misses when nothing else happens.
#[derive(Clone, Copy, Debug)]
pub struct Unhindered {
    /// A local read.
    pub minimum: Duration,
    /// What a remote read takes beyond that.
    pub point_to_point: Duration,
    /// Of a remote read, from the message that leaves until the answer goes on to the processor, what is not part of
    /// `point_to_point`: the home's access to memory, less the time until the request leaves.
    pub elsewhere: Duration,
}

impl Account {
    /// A miss begins.
    pub fn begin(&mut self, miss: MissId) {
        self.outstanding[usize::from(miss.0)] = Outstanding::default();
    }

    /// The request of a miss waited for the protocol processor.
    pub fn waited(&mut self, miss: MissId, time: Duration) {
        self.outstanding[usize::from(miss.0)].waited += time;
    }

    /// A message about the miss leaves the node at `time`. Only the first counts.
    pub fn leaves(&mut self, miss: MissId, time: Time) {
        self.outstanding[usize::from(miss.0)].left.get_or_insert(time);
    }

    /// The answer goes on to the processor at `time`; `remote` says whether the line is another node's.
    pub fn end(&mut self, miss: MissId, time: Time, remote: bool, unhindered: &Unhindered) {
        let Outstanding { waited, left } = self.outstanding[usize::from(miss.0)];
        let elsewhere = left.map_or(Duration::ZERO, |left| time.since(left));
        let terms = &mut self.terms;
        terms.minimum += unhindered.minimum;
        terms.waiting += waited;
        match (remote, left) {
            (true, _) => {
                terms.remote += 1;
                terms.point_to_point += unhindered.point_to_point;
                let least = unhindered.point_to_point + unhindered.elsewhere;
                terms.coherence += Duration(elsewhere.0.saturating_sub(least.0));
            }
            (false, Some(_)) => {
                terms.local_with_remote_action += 1;
                terms.coherence += elsewhere;
            }
            (false, None) => terms.local += 1,
        }
    }
}
