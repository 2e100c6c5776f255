//! State that the threads of one phase share: the barrier at which they meet, and the flag that ends them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::barrier::Barrier;

/// State that the threads share.
#[derive(Debug)]
struct Phase {
    barrier: Barrier,
    stop: Stop,
    first_finisher_stops_all: bool,
}

/// Ends all kernels once it is true. On lines of its own (processors fetch them in pairs): kernels look at it all the time,
/// and what those write who have ended is none of their business.
#[repr(align(128))]
#[derive(Debug)]
struct Stop(AtomicBool);

/// One thread's place in a phase. However it is given up, by the end of the kernel, by a panic or because there is no
/// thread, the others neither wait for it nor play on without it.
#[derive(Debug)]
pub(super) struct Place {
    phase: Arc<Phase>,
    arrived: bool,
    finished: bool,
}

impl Place {
    /// The places of a phase of `threads`.
    pub(super) fn of_phase(threads: usize, first_finisher_stops_all: bool) -> Vec<Self> {
        let (barrier, stop) = (Barrier::new(threads), Stop(AtomicBool::new(false)));
        let phase = Arc::new(Phase { barrier, stop, first_finisher_stops_all });
        (0..threads).map(|_| Self { phase: phase.clone(), arrived: false, finished: false }).collect()
    }

    /// Meets the others.
    pub(super) fn meet(&mut self) {
        self.arrive();
        self.phase.barrier.wait();
    }

    /// The flag that ends the kernel.
    pub(super) fn stop(&self) -> &AtomicBool {
        &self.phase.stop.0
    }

    /// The kernel has ended.
    pub(super) fn finish(&mut self) {
        self.finished = true;
        if self.phase.first_finisher_stops_all {
            self.stop().store(true, Ordering::Relaxed);
        }
    }

    fn arrive(&mut self) {
        if !self.arrived {
            self.arrived = true;
            self.phase.barrier.arrive();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.finished {
            self.stop().store(true, Ordering::Relaxed);
        }
        self.arrive();
    }
}
