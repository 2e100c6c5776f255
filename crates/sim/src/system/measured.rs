//! What the controllers did while any thread was in what its program says is to be measured.

use units::{Duration, NodeId, Time};

use super::{Controller, System};
use crate::NodeStatistics;
use crate::processor::Measuring;

/// How long intervals were, and what every controller did in them.
type Sums = (Duration, Vec<NodeStatistics>);

/// Intervals in which at least one thread had what it did measured.
#[derive(Default)]
pub(super) struct Measured {
    /// How many threads do so now, and how many would if something that is measured followed.
    threads: usize,
    paused: usize,
    /// When the open interval began, and what every controller had done before.
    open: Option<(Time, Vec<NodeStatistics>)>,
    /// All others, if there were any.
    closed: Option<Sums>,
    /// Those since, which are measured if something that is measured follows.
    since: Option<Sums>,
}

impl Measured {
    fn measuring(&self) -> Measuring {
        match (self.threads, self.paused) {
            (0, 0) => Measuring::No,
            (0, _) => Measuring::IfMoreFollows,
            _ => Measuring::Yes,
        }
    }

    fn count(&mut self, measuring: Measuring, change: impl Fn(usize) -> usize) {
        match measuring {
            Measuring::No => {}
            Measuring::IfMoreFollows => self.paused = change(self.paused),
            Measuring::Yes => self.threads = change(self.threads),
        }
    }
}

/// Two lots of intervals together.
fn together(one: Option<Sums>, other: Option<Sums>) -> Option<Sums> {
    match (one, other) {
        (Some((one, sums)), Some((other, more))) => {
            Some((one + other, sums.iter().zip(&more).map(|(a, b)| a.plus(b)).collect()))
        }
        (one, other) => one.or(other),
    }
}

impl<C: Controller> System<C> {
    /// A thread of which this `was` measured has been resumed, and now this `is`.
    #[inline]
    pub(super) fn note_measuring(&mut self, was: Measuring, is: Measuring) {
        if was != is {
            self.count_measuring(was, is);
        }
    }

    #[cold]
    fn count_measuring(&mut self, was: Measuring, is: Measuring) {
        let before = self.measured.measuring();
        self.measured.count(was, |threads| threads - 1);
        self.measured.count(is, |threads| threads + 1);
        let after = self.measured.measuring();
        if after == before {
            return;
        }
        let all = self.all_statistics();
        let measured = &mut self.measured;
        let over = measured.open.take().map(|(since, earlier)| {
            let done = all.iter().zip(&earlier).map(|(now, then)| now.since(then)).collect();
            (self.now - since, done)
        });
        match before {
            Measuring::Yes => measured.closed = together(measured.closed.take(), over),
            _ => measured.since = together(measured.since.take(), over),
        }
        if after == Measuring::Yes {
            measured.closed = together(measured.closed.take(), measured.since.take());
        }
        measured.open = (after != Measuring::No).then_some((self.now, all));
    }

    fn all_statistics(&self) -> Vec<NodeStatistics> {
        (0..self.network.topology().nodes().len() as u16).map(|node| C::statistics(self, NodeId(node))).collect()
    }

    /// What the controller of a node did in what was measured; since the start if nothing was.
    pub fn statistics(&self, node: NodeId) -> NodeStatistics {
        let measured = self.measured.closed.as_ref().and_then(|(_, all)| all.get(node.index()));
        measured.cloned().unwrap_or_else(|| C::statistics(self, node))
    }

    /// How long any thread was in what is to be measured, if any ever was.
    pub fn measured_time(&self) -> Option<Duration> {
        self.measured.closed.as_ref().map(|&(length, _)| length)
    }
}
