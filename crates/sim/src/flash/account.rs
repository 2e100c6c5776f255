//! Where the misses of a processor spend their time, by the terms of the FLASH dissertation's Equation 5.1.
//!
//! The controller notes for each miss when its request first came through the inbox, how long it waited for the protocol
//! processor, and when the answer goes on to the processor. What every miss takes is T_m; the way to the home and back, when
//! nothing is in its way, T_p2p; both follow from the machine. What is left is T_c: invalidations, interventions, retries, queues
//! and handlers at other nodes; of a local miss without action elsewhere, what MAGIC's own caches and memory took beyond the
//! usual. (FLASH itself measures from the message that leaves to the reply, Section 5.5.2; the latter, and what refused local
//! requests wait, it does not see.)
//!
//! T_m is the mean of reads of line after line, as it is measured (Table 5.2): one in so many fetches a line of directory headers.
//! A miss that does not is faster by so much, and what is left of it is negative; so is it of an answer without data that comes
//! sooner than memory would have. Sums hold all the same.
//!
//! Terms are sums over misses, also over those that overlap: no latency hiding is assumed, as there (Section 5.5.1). What misses
//! wait for the bus to their own processor is in no term: MAGIC cannot see it.

use units::{Duration, Time};

use crate::processor::MissId;

/// The stall time of a processor's misses, in parts that add up to the whole (FLASH dissertation, Equation 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StallTerms {
    /// Misses on lines of the own node, answered without action elsewhere.
    pub local: u64,
    /// Misses on lines of the own node that took action elsewhere.
    pub local_with_remote_action: u64,
    /// Misses on other nodes' lines.
    pub remote: u64,
    /// T_m: what every miss takes at least, the time of a local read when nothing else happens.
    pub minimum: Duration,
    /// T_w: time that requests waited while their own node's controller ran other handlers.
    pub waiting: Duration,
    /// T_p2p: time to the home and back, when nothing else happens.
    pub point_to_point: Duration,
    /// T_c: all the rest, what coherence and contention elsewhere added.
    pub coherence: Duration,
}

impl StallTerms {
    /// All misses.
    pub const fn misses(&self) -> u64 {
        self.local + self.local_with_remote_action + self.remote
    }

    /// The stall time of all misses, had none overlapped another: Equation 5.1.
    pub fn total(&self) -> Duration {
        self.minimum + self.waiting + self.point_to_point + self.coherence
    }

    /// A miss that nothing hindered.
    pub fn count_unhindered(&mut self, remote: bool, unhindered: &Unhindered) {
        *(if remote { &mut self.remote } else { &mut self.local }) += 1;
        self.minimum += unhindered.minimum;
        self.point_to_point += unhindered.point_to_point;
    }
}

/// An outstanding miss.
#[derive(Clone, Copy, Debug, Default)]
struct Outstanding {
    /// When its request first came through the inbox.
    asked: Option<Time>,
    /// For how long it, or one of its retries, waited for the protocol processor.
    waited: Duration,
    /// When a message first left the node.
    left: Option<Time>,
}

/// What MAGIC can tell of its misses: the cycle counts that it notes in message buffers beside requests (FLASH dissertation,
/// 5.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageBuffer {
    /// Misses that took action at other nodes.
    pub noted: u64,
    /// Their time, from the message that left to the reply.
    pub latency: Duration,
    /// Misses that took none.
    pub local: u64,
}

/// Terms of misses that are over.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// All but for T_c.
    terms: StallTerms,
    /// T_c in picoseconds: before much has been added, it may be less than nothing.
    coherence: i64,
}

/// Sums over all misses of a processor, and over those alone that began in what its program says is to be measured.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    all: Sum,
    measured: Sum,
    /// The outstanding misses that are to be measured, a bit each.
    is_measured: u64,
}

impl Sums {
    /// A miss begins.
    pub fn begin(&mut self, miss: MissId, measured: bool) {
        self.is_measured = self.is_measured & !(1 << miss.0) | u64::from(measured) << miss.0;
    }

    /// A miss that nothing hindered is over.
    pub fn count_unhindered(&mut self, miss: MissId, remote: bool, unhindered: &Unhindered) {
        self.add(miss, |sum| sum.terms.count_unhindered(remote, unhindered));
    }

    fn add(&mut self, miss: MissId, term: impl Fn(&mut Sum)) {
        term(&mut self.all);
        if self.is_measured >> miss.0 & 1 == 1 {
            term(&mut self.measured);
        }
    }

    /// Of all misses that were to be measured; of all if none was, as of a program that says nothing of it.
    pub fn terms(&self) -> StallTerms {
        let Sum { terms, coherence } = if self.measured.terms.misses() > 0 { self.measured } else { self.all };
        StallTerms { coherence: Duration(coherence.max(0) as u64), ..terms }
    }
}

/// The misses of one processor.
#[derive(Clone, Debug, Default)]
pub struct Account {
    outstanding: Vec<Outstanding>,
    sums: Sums,
    buffer: MessageBuffer,
}

/// Times of misses of one node on another's lines, or on its own, when nothing else happens.
#[derive(Clone, Copy, Debug)]
pub struct Unhindered {
    /// A local read, from one value to the next where each waits for the one before.
    pub minimum: Duration,
    /// Of that, from the inbox to the answer that goes on to the processor.
    pub service: Duration,
    /// From the bus being granted to the request until the answer is at the bus.
    pub between_buses: Duration,
    /// What a remote read takes beyond a local one.
    pub point_to_point: Duration,
}

impl Account {
    /// A miss begins; `measured` says whether its program has it measured.
    pub fn begin(&mut self, miss: MissId, measured: bool) {
        self.sums.begin(miss, measured);
        let number = usize::from(miss.0);
        if number >= self.outstanding.len() {
            self.outstanding.resize(number + 1, Outstanding::default());
        }
        self.outstanding[number] = Outstanding::default();
    }

    /// The request of a miss came through the inbox at `time`, and waits for the protocol processor for `wait`.
    pub fn asked(&mut self, miss: MissId, time: Time, wait: Duration) {
        let outstanding = &mut self.outstanding[usize::from(miss.0)];
        outstanding.asked.get_or_insert(time);
        outstanding.waited += wait;
    }

    /// A message about the miss leaves the node at `time`.
    pub fn leaves(&mut self, miss: MissId, time: Time) {
        self.outstanding[usize::from(miss.0)].left.get_or_insert(time);
    }

    /// What MAGIC can tell of misses that are over.
    pub fn buffer(&self) -> MessageBuffer {
        self.buffer
    }

    /// The answer goes on to the processor at `time`; `remote` says whether the line is another node's.
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

    /// Of the misses that are over, as [`Sums::terms`].
    pub fn terms(&self) -> StallTerms {
        self.sums.terms()
    }
}
