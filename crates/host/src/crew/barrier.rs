//! A barrier that threads spin at, so that all leave it within nanoseconds of each other.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Spins before a thread gives its processor away: one that it waits for may not run for as long as it spins, where
/// processors are emulated one at a time or shared with others.
const SPINS: u32 = 1 << 16;

/// A meeting of a known number of threads, once.
#[derive(Debug)]
pub(super) struct Barrier {
    missing: AtomicUsize,
}

impl Barrier {
    /// A meeting of `threads`.
    pub(super) fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads) }
    }

    /// Waits until everyone has come.
    pub(super) fn wait(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut spins = 0_u32;
        while self.missing.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins.is_multiple_of(SPINS) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}
