//! Which words of a store operations touch, in order: for a machine that keeps the store behind a cache.

use super::SetWork;

/// The log of a store. Nobody but such a machine reads it, so it is off, and nothing, until it is turned on.
#[derive(Clone, Debug, Default)]
pub(super) struct Touches(Option<Vec<u32>>);

impl Touches {
    /// Turns the log on or off.
    pub fn record(&mut self, on: bool) {
        self.0 = on.then(|| self.0.take().unwrap_or_default());
    }

    /// A word is read or written, or read and then written.
    #[inline]
    pub fn touch(&mut self, index: u32, work: &mut SetWork) {
        work.store_words += 1;
        if let Some(log) = &mut self.0 {
            log.push(index);
        }
    }

    /// Hands out what was touched, and forgets it. The log keeps its room.
    #[inline]
    pub fn hand_out(&mut self, visit: impl FnMut(u32)) {
        if let Some(log) = &mut self.0 {
            log.drain(..).for_each(visit);
        }
    }
}
