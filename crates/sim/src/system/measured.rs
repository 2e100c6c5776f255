//! What the controllers did while any thread was in what its program says is to be measured.

use units::{Duration, NodeId, Time};

use super::{Controller, System};
use crate::NodeStatistics;

/// Intervals in which at least one thread had what it did measured.
#[derive(Default)]
pub(super) struct Measured {
    /// How many threads do so now.
    threads: usize,
    /// When the open interval began, and what every controller had done before.
    open: Option<(Time, Vec<NodeStatistics>)>,
    /// How long all others were, and what was done in them, if there were any.
    closed: Option<(Duration, Vec<NodeStatistics>)>,
}

impl<C: Controller> System<C> {
    /// A thread that was in (`was`) or outside of what is measured has been resumed, and now is (`is`) or is not.
    #[inline]
    pub(super) fn note_measuring(&mut self, was: bool, is: bool) {
        if was != is {
            self.count_measuring(is);
        }
    }

    #[cold]
    fn count_measuring(&mut self, is: bool) {
        let threads = self.measured.threads + usize::from(is) - usize::from(!is);
        let before = std::mem::replace(&mut self.measured.threads, threads);
        if before == 0 {
            self.measured.open = Some((self.now, self.all_statistics()));
        } else if threads == 0
            && let Some((since, earlier)) = self.measured.open.take()
        {
            let done = self.all_statistics().iter().zip(&earlier).map(|(now, then)| now.since(then)).collect();
            let (length, sums) = self.measured.closed.take().unwrap_or_default();
            let sums = if sums.is_empty() { done } else { sums.iter().zip(&done).map(|(a, b)| a.plus(b)).collect() };
            self.measured.closed = Some((length + (self.now - since), sums));
        }
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
