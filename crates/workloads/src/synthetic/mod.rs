//! Synthetic sharing: each program is one way of sharing lines, alone.

mod counters;
mod hot_spot;
mod migratory;
mod private;
mod producer_consumer;
mod uniform;
mod wide_read_sharing;

pub use counters::Counters;
pub use hot_spot::HotSpot;
pub use migratory::Migratory;
pub use private::Private;
pub use producer_consumer::ProducerConsumer;
pub use uniform::Uniform;
pub use wide_read_sharing::WideReadSharing;

use crate::thread::Thread;

/// The largest number of lines in a block, references of a thread, or rounds.
const MANY: u64 = 1 << 20;
/// The most instructions between two references.
const MOST_WORK: u64 = 1 << 20;
/// The most threads.
const ALL: u64 = 512;
/// The most threads beside the one in question.
const ALL_OTHERS: u64 = ALL - 1;

/// Loads a word, works for `work` cycles on its value, and if `store` says so stores the value that it is to have. Whether
/// the load gave one of the values that it may give.
#[inline]
fn reference<T: Thread>(
    thread: &mut T,
    region: &T::Region,
    word: usize,
    work: u64,
    may_be: impl FnOnce(u64) -> bool,
    store: Option<u64>,
) -> bool {
    let found = thread.load(region, word);
    thread.work(work as u32);
    if let Some(value) = store {
        thread.store(region, word, value);
    }
    may_be(found)
}
