//! What the nodes of a machine have done at equal steps of simulated time: when memory and links were busy.

use protocol::DirectoryState;
use units::{Duration, Time};

/// Requests by the directory state that they found, in the order of [`DirectoryState::ALL`].
pub type StateCounts = [u64; DirectoryState::ALL.len()];

/// What a node has done since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeActivity {
    /// Time for which memory was not idle. A Hub counts from a message's arrival at the memory/directory unit until the
    /// response has left, and refresh (Prestor 2001, section 6.1); MAGIC's memory, the time that it is held.
    pub memory: Duration,
    /// Time for which the link from the node into the network sent.
    pub outgoing: Duration,
    /// Time for which the link from the network to the node sent.
    pub incoming: Duration,
    /// Requests for lines at this home by the state that they found; none where the directory is no Hub's.
    pub found: StateCounts,
}

impl NodeActivity {
    /// What was done since `earlier`. What began before a sample and was not foreseen there counts after it.
    pub fn since(&self, earlier: &Self) -> Self {
        let passed = |now: Duration, then: Duration| Duration(now.0.saturating_sub(then.0));
        Self {
            memory: passed(self.memory, earlier.memory),
            outgoing: passed(self.outgoing, earlier.outgoing),
            incoming: passed(self.incoming, earlier.incoming),
            found: std::array::from_fn(|state| self.found[state] - earlier.found[state]),
        }
    }
}

/// All nodes at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The moment: what happens at it is not in.
    pub time: Time,
    /// What each node has done since the start.
    pub nodes: Vec<NodeActivity>,
}

/// Takes samples without being an event: before the first event at or after each step, which finds the machine as it was then.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// From one sample to the next; none are taken if there is none.
    interval: Option<Duration>,
    /// When the next is due.
    pub next: Time,
    /// All so far.
    pub taken: Vec<Sample>,
}

impl Sampler {
    /// For samples at every multiple of `interval`.
    pub fn new(interval: Option<Duration>) -> Self {
        let interval = interval.filter(|&interval| interval > Duration::ZERO);
        Self { interval, next: interval.map_or(Time::MAX, |interval| Time::ZERO + interval), taken: Vec::new() }
    }

    /// Whether any are to be taken.
    pub fn is_on(&self) -> bool {
        self.interval.is_some()
    }

    /// Keeps a sample.
    pub fn keep(&mut self, sample: Sample) {
        while let Some(interval) = self.interval.filter(|_| self.next <= sample.time) {
            self.next += interval;
        }
        // The end of one run may be where the next begins.
        if self.taken.last().is_some_and(|last| last.time == sample.time) {
            self.taken.pop();
        }
        self.taken.push(sample);
    }
}
