//! The stall time of a processor's misses, by the terms of the FLASH dissertation's Equation 5.1.
//!
//! The controller notes for each miss when its request first passed the inbox, how long it waited for the protocol
//! processor, and when the answer goes to the processor. T_m is the minimum time of every miss, and T_p2p the
//! uncontended way to the home and back; both follow from the machine. The remainder is T_c: invalidations,
//! interventions, retries, queues and handlers at other nodes; and, for a local miss without remote action, the time of
//! MAGIC's own caches and memory beyond the usual. (FLASH itself measures from the outgoing message to the reply,
//! Section 5.5.2; it does not measure that local remainder, nor the waits of local requests that receive a NACK.)
//!
//! T_m is measured as the mean of reads of consecutive lines (Table 5.2), where one read in several fetches a line of
//! directory headers. A miss without that fetch is faster than the mean and has a negative remainder, as has an answer
//! without data that comes sooner than memory would have. The sums hold all the same.
//!
//! The terms are sums over all misses, overlapping ones included: no latency hiding is assumed, as in Section 5.5.1.
//! Waits of misses for the bus to their own processor are in no term, because MAGIC cannot measure them.

use units::{Duration, Time};

use super::Unhindered;
use crate::account::StallTerms;
use crate::processor::MissId;

/// An outstanding miss.
#[derive(Clone, Copy, Debug, Default)]
struct Outstanding {
    /// The time at which its request first passed the inbox.
    asked: Option<Time>,
    /// Time for which it and its retries waited for the protocol processor.
    waited: Duration,
    /// The time at which a message first left the node.
    left: Option<Time>,
}

/// The cycle counts that MAGIC keeps with requests in message buffers (FLASH dissertation, 5.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageBuffer {
    /// Misses that took action at other nodes.
    pub noted: u64,
    /// Their latency, from the outgoing message to the reply.
    pub latency: Duration,
    /// Misses that took no action at other nodes.
    pub local: u64,
}

/// The terms of completed misses.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// All terms but T_c.
    terms: StallTerms,
    /// T_c in picoseconds; it may be negative at first.
    coherence: i64,
}

/// Sums over all misses of a processor, and over those alone that began within the measured part of its program.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    all: Sum,
    measured: Sum,
    /// The outstanding misses that are measured, one bit each.
    is_measured: u64,
}

impl Sums {
    /// A miss begins.
    pub fn begin(&mut self, miss: MissId, measured: bool) {
        self.is_measured = self.is_measured & !(1 << miss.0) | u64::from(measured) << miss.0;
    }

    /// Counts a completed miss that was uncontended.
    pub fn count_unhindered(&mut self, miss: MissId, remote: bool, unhindered: &Unhindered) {
        self.add(miss, |sum| sum.terms.count(remote, unhindered.minimum, unhindered.point_to_point));
    }

    fn add(&mut self, miss: MissId, term: impl Fn(&mut Sum)) {
        term(&mut self.all);
        if self.is_measured >> miss.0 & 1 == 1 {
            term(&mut self.measured);
        }
    }

    /// The terms of the measured misses; of all misses if none was measured, as in a program that declares no measured
    /// part.
    pub fn terms(&self) -> StallTerms {
        let Sum { terms, coherence } = if self.measured.terms.misses() > 0 { self.measured } else { self.all };
        StallTerms { coherence: Duration(coherence.max(0) as u64), ..terms }
    }
}

/// The account of one processor's misses.
#[derive(Clone, Debug, Default)]
pub struct Account {
    outstanding: Vec<Outstanding>,
    sums: Sums,
    buffer: MessageBuffer,
}

impl Account {
    /// A miss begins; `measured` says whether it lies in the measured part of the program.
    pub fn begin(&mut self, miss: MissId, measured: bool) {
        self.sums.begin(miss, measured);
        let number = usize::from(miss.0);
        if number >= self.outstanding.len() {
            self.outstanding.resize(number + 1, Outstanding::default());
        }
        self.outstanding[number] = Outstanding::default();
    }

    /// The request of a miss passed the inbox at `time`, and waits for the protocol processor for `wait`.
    pub fn asked(&mut self, miss: MissId, time: Time, wait: Duration) {
        let outstanding = &mut self.outstanding[usize::from(miss.0)];
        outstanding.asked.get_or_insert(time);
        outstanding.waited += wait;
    }

    /// A message about the line of a miss leaves the node at `time`: of its request, if that has been posted.
    pub fn leaves(&mut self, miss: MissId, time: Time) {
        if let Some(outstanding) = self.outstanding.get_mut(usize::from(miss.0)) {
            outstanding.left.get_or_insert(time);
        }
    }

    /// The counts of completed misses in message buffers.
    pub fn buffer(&self) -> MessageBuffer {
        self.buffer
    }

    /// The answer goes to the processor at `time`; `remote` says whether the line's home is another node.
    pub fn end(&mut self, miss: MissId, time: Time, remote: bool, unhindered: &Unhindered) {
        let Outstanding { asked, waited, left } = self.outstanding[usize::from(miss.0)];
        let elapsed = asked.map_or(Duration::ZERO, |asked| time.since(asked));
        let accounted = waited + unhindered.service + unhindered.point_to_point;
        let rest = elapsed.0 as i64 - accounted.0 as i64;
        self.sums.count_unhindered(miss, remote, unhindered);
        match left {
            Some(left) => {
                self.buffer.noted += 1;
                self.buffer.latency += time.since(left);
            }
            None => self.buffer.local += 1,
        }
        self.sums.add(miss, |sum| {
            if !remote && left.is_some() {
                sum.terms.local -= 1;
                sum.terms.local_with_remote_action += 1;
            }
            sum.terms.waiting += waited;
            sum.coherence += rest;
        });
    }

    /// The terms of completed misses, as [`Sums::terms`].
    pub fn terms(&self) -> StallTerms {
        self.sums.terms()
    }
}
