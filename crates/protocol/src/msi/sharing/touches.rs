//! Log of the store words that operations access, in order, for machines that keep the store behind a cache.

use super::SetWork;

/// Access log of a store. It is off, and empty, until a machine with such a cache turns it on.
#[derive(Clone, Debug, Default)]
pub(super) struct Touches(Option<Vec<u32>>);

impl Touches {
    /// Turns the log on or off.
    pub fn record(&mut self, on: bool) {
        self.0 = on.then(|| self.0.take().unwrap_or_default());
    }

    /// Records an access to a word: a read, a write, or a read followed by a write.
    #[inline]
    pub fn touch(&mut self, index: u32, work: &mut SetWork) {
        work.store_words += 1;
        if let Some(log) = &mut self.0 {
            log.push(index);
        }
    }

    /// Calls `visit` with every logged word and empties the log, which keeps its capacity.
    #[inline]
    pub fn hand_out(&mut self, visit: impl FnMut(u32)) {
        if let Some(log) = &mut self.0 {
            log.drain(..).for_each(visit);
        }
    }
}
