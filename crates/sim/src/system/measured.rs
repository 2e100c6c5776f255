//! Controller statistics of the intervals in which any thread is measured.

use units::{Duration, NodeId, Time};

use super::{Controller, System};
use crate::NodeStatistics;
use crate::account::Measuring;

/// The total length of intervals, and every controller's statistics in them.
type Sums = (Duration, Vec<NodeStatistics>);

/// Intervals in which at least one thread is measured.
#[derive(Default)]
pub(super) struct Measured {
    /// Threads measured at present, and those whose measured part may be over.
    threads: usize,
    paused: usize,
    /// The start of the open interval, and every controller's statistics before it.
    open: Option<(Time, Vec<NodeStatistics>)>,
    /// The closed intervals, if there are any.
    closed: Option<Sums>,
    /// The intervals since then, measured only if a measured interval follows.
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

/// The sum of two sets of intervals.
fn together(one: Option<Sums>, other: Option<Sums>) -> Option<Sums> {
    match (one, other) {
        (Some((one, sums)), Some((other, more))) => {
            Some((one + other, sums.iter().zip(&more).map(|(a, b)| a.plus(b)).collect()))
        }
        (one, other) => one.or(other),
    }
}

impl<C: Controller> System<C> {
    /// A thread was resumed: its measuring state `was`, and now `is`.
    #[inline]
    pub(super) fn note_measuring(&mut self, was: Measuring, is: Measuring) {
        if was != is {
            self.count_measuring(was, is);
        }
    }

    #[cold]
    fn count_measuring(&mut self, was: Measuring, is: Measuring) {
        let before = self.observation.measured.measuring();
        self.observation.measured.count(was, |threads| threads - 1);
        self.observation.measured.count(is, |threads| threads + 1);
        let after = self.observation.measured.measuring();
        if after == before {
            return;
        }
        if after == Measuring::Yes && self.paging.begins_measured_part() {
            self.touch_again(NodeId(0));
        }
        let all = self.all_statistics();
        let measured = &mut self.observation.measured;
        let over = measured.open.take().map(|(since, earlier)| {
            let done = all.iter().zip(&earlier).map(|(now, then)| now.since(then)).collect();
            (self.kernel.now - since, done)
        });
        match before {
            Measuring::Yes => measured.closed = together(measured.closed.take(), over),
            _ => measured.since = together(measured.since.take(), over),
        }
        if after == Measuring::Yes {
            measured.closed = together(measured.closed.take(), measured.since.take());
        }
        measured.open = (after != Measuring::No).then_some((self.kernel.now, all));
    }

    fn all_statistics(&self) -> Vec<NodeStatistics> {
        (0..self.network.topology().nodes().len() as u16).map(|node| self.present_statistics(NodeId(node))).collect()
    }

    /// Statistics of a node's controller in the measured intervals; since the start if there were none.
    pub fn statistics(&self, node: NodeId) -> NodeStatistics {
        let measured = self.observation.measured.closed.as_ref().and_then(|(_, all)| all.get(node.index()));
        measured.cloned().unwrap_or_else(|| self.present_statistics(node))
    }

    /// Statistics of a node's controller and link interface since the start.
    fn present_statistics(&self, node: NodeId) -> NodeStatistics {
        let (link, switch) = (self.network.link_statistics(node), self.network.switch_statistics(node));
        NodeStatistics { link, switch, ..C::statistics(self, node) }
    }

    /// Total time in which any thread was measured, if any was.
    pub fn measured_time(&self) -> Option<Duration> {
        self.observation.measured.closed.as_ref().map(|&(length, _)| length)
    }
}
