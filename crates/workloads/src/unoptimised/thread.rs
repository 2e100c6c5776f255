//! A thread whose instructions and private references are those of unoptimised code.

use crate::thread::Thread;

use super::{Code, WORD};

/// The parameters of [`Code`] count in thousandths.
const WHOLE: i64 = 1000;

/// Repeated loads of shared data that are kept back for stores, in thousandths: more than a store takes in any program here.
const RESERVE: i64 = 64 * WHOLE;

/// Unoptimised code and the private data of a thread that runs it.
pub struct Frame<'r, R> {
    /// The code.
    pub code: Code,
    /// The frames of all threads.
    pub frames: &'r R,
    /// The first word of the thread's own.
    pub first: usize,
}

/// A thread that issues, around the program's references on the thread within, the instructions and private references of a
/// [`Code`]. Waiting threads issue none. Without a frame, code is optimised, and nothing is added.
pub struct Unoptimised<'t, T: Thread> {
    thread: &'t mut T,
    code: Code,
    frames: Option<&'t T::Region>,
    /// The first word of its frame, the words in it, and that of the next private reference.
    first: usize,
    words: usize,
    next: usize,
    /// Private loads, private stores and other instructions that are due, in thousandths; shared references count against the
    /// latter.
    loads: i64,
    stores: i64,
    others: i64,
    /// Repeated loads of shared data, and repeated stores, that are due, in thousandths.
    reloads: i64,
    restores: i64,
}

impl<'t, T: Thread> Unoptimised<'t, T> {
    /// `thread` with the code and the private data of `frame`.
    pub fn new(thread: &'t mut T, frame: Option<Frame<'t, T::Region>>) -> Self {
        let (code, frames, first) = frame
            .map_or_else(|| (Code::default(), None, 0), |Frame { code, frames, first }| (code, Some(frames), first));
        let words = (code.frame as usize / WORD).max(1);
        let [loads, stores, others, reloads, restores] = [0; 5];
        Self { thread, code, frames, first, words, next: 0, loads, stores, others, reloads, restores }
    }

    /// The next word of the frame.
    #[inline]
    fn local(&mut self) -> usize {
        let word = self.first + self.next;
        self.next = if self.next + 1 == self.words { 0 } else { self.next + 1 };
        word
    }

    /// Issues the code of `count` of the program's own instructions, but for `references` of them, which follow as shared
    /// references.
    #[inline]
    fn issue(&mut self, count: u32, references: u32) {
        let (count, code) = (i64::from(count), self.code);
        let (loads, stores) = (code.private_loads as i64, code.private_stores as i64);
        self.loads += count * loads;
        self.stores += count * stores;
        self.others += count * (code.instructions as i64 - loads - stores) - i64::from(references) * WHOLE;
        if let Some(frames) = self.frames {
            while self.loads >= WHOLE {
                self.loads -= WHOLE;
                let word = self.local();
                self.thread.load_private(frames, word);
            }
        }
        if self.others >= WHOLE {
            self.thread.instructions((self.others / WHOLE) as u32);
            self.others %= WHOLE;
        }
        if let Some(frames) = self.frames {
            while self.stores >= WHOLE {
                self.stores -= WHOLE;
                let word = self.local();
                self.thread.store_private(frames, word);
            }
        }
    }

    #[inline]
    fn reference(&mut self) {
        self.issue(1, 1);
    }

    /// Before a plain load: the loads of the same word that code without registers repeats, each by `load`, but for those kept back
    /// for stores.
    #[inline]
    fn reload(&mut self, load: impl Fn(&mut T)) {
        self.reference();
        self.reloads += self.code.shared_loads as i64 - WHOLE;
        while self.reloads >= RESERVE + WHOLE {
            self.reloads -= WHOLE;
            self.others -= WHOLE;
            load(self.thread);
        }
    }

    /// The same before a plain store, which `store` does: code without registers accumulates in memory, so that a load of the word
    /// comes before each further store, as far as loads are due.
    #[inline]
    fn restore(&mut self, load: impl Fn(&mut T), mut store: impl FnMut(&mut T)) {
        self.reference();
        self.restores += self.code.shared_stores as i64 - WHOLE;
        while self.restores >= WHOLE {
            self.restores -= WHOLE;
            self.others -= WHOLE;
            store(self.thread);
            if self.reloads >= WHOLE {
                self.reloads -= WHOLE;
                self.others -= WHOLE;
                load(self.thread);
            }
        }
        store(self.thread);
    }
}

impl<T: Thread> Thread for Unoptimised<'_, T> {
    type Region = T::Region;

    fn number(&self) -> usize {
        self.thread.number()
    }

    #[inline]
    fn load(&mut self, region: &T::Region, word: usize) -> u64 {
        self.reload(|thread| thread.load_unused(region, word));
        self.thread.load(region, word)
    }

    #[inline]
    fn load_dependent(&mut self, region: &T::Region, word: usize) -> u64 {
        self.reload(|thread| thread.load_unused(region, word));
        self.thread.load_dependent(region, word)
    }

    #[inline]
    fn store(&mut self, region: &T::Region, word: usize, value: u64) {
        self.restore(|thread| thread.load_unused(region, word), |thread| thread.store(region, word, value));
    }

    #[inline]
    fn store_part(&mut self, region: &T::Region, word: usize, value: u64, mask: u64) {
        let load = |thread: &mut T| thread.load_unused(region, word);
        self.restore(load, |thread| thread.store_part(region, word, value, mask));
    }

    #[inline]
    fn load_own(&mut self, region: &T::Region, word: usize) -> u64 {
        self.reload(|thread| thread.load_private(region, word));
        self.thread.load_own(region, word)
    }

    #[inline]
    fn store_own(&mut self, region: &T::Region, word: usize, value: u64) {
        self.restore(|thread| thread.load_private(region, word), |thread| thread.store_own(region, word, value));
    }

    fn fetch_add(&mut self, region: &T::Region, word: usize, addend: u64) -> u64 {
        self.reference();
        self.thread.fetch_add(region, word, addend)
    }

    fn compare_and_swap(&mut self, region: &T::Region, word: usize, expected: u64, new: u64) -> u64 {
        self.reference();
        self.thread.compare_and_swap(region, word, expected, new)
    }

    fn load_acquire(&mut self, region: &T::Region, word: usize) -> u64 {
        self.reference();
        self.thread.load_acquire(region, word)
    }

    fn store_release(&mut self, region: &T::Region, word: usize, value: u64) {
        self.reference();
        self.thread.store_release(region, word, value);
    }

    fn prefetch_shared(&mut self, region: &T::Region, word: usize) {
        self.reference();
        self.thread.prefetch_shared(region, word);
    }

    fn prefetch_exclusive(&mut self, region: &T::Region, word: usize) {
        self.reference();
        self.thread.prefetch_exclusive(region, word);
    }

    #[inline]
    fn instructions(&mut self, count: u32) {
        self.issue(count, 0);
    }

    /// Dependent instructions become independent ones among the private references that their operands come from.
    #[inline]
    fn work(&mut self, cycles: u32) {
        if self.frames.is_some() {
            self.issue(cycles, 0);
        } else {
            self.thread.work(cycles);
        }
    }

    fn barrier(&mut self) {
        self.thread.barrier();
    }

    fn await_change(&mut self, region: &T::Region, word: usize, held: u64) -> u64 {
        self.thread.await_change(region, word, held)
    }

    fn fetch_add_at_memory(&mut self, region: &T::Region, word: usize, addend: u64) -> u64 {
        self.reference();
        self.thread.fetch_add_at_memory(region, word, addend)
    }

    fn load_at_memory(&mut self, region: &T::Region, word: usize) -> u64 {
        self.reference();
        self.thread.load_at_memory(region, word)
    }

    fn measure(&mut self, on: bool) {
        self.thread.measure(on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that counts what reaches it, and notes the words of private references.
    #[derive(Default)]
    struct Counting {
        shared: u64,
        instructions: u64,
        loads: Vec<usize>,
        stores: Vec<usize>,
    }

    impl Thread for Counting {
        type Region = ();

        fn number(&self) -> usize {
            0
        }

        fn load(&mut self, (): &(), _: usize) -> u64 {
            self.shared += 1;
            7
        }

        fn load_dependent(&mut self, region: &(), word: usize) -> u64 {
            self.load(region, word)
        }

        fn store(&mut self, (): &(), _: usize, _: u64) {
            self.shared += 1;
        }

        fn load_private(&mut self, (): &(), word: usize) {
            self.loads.push(word);
        }

        fn store_private(&mut self, (): &(), word: usize) {
            self.stores.push(word);
        }

        fn load_own(&mut self, (): &(), word: usize) -> u64 {
            self.loads.push(word);
            7
        }

        fn store_own(&mut self, (): &(), word: usize, _: u64) {
            self.stores.push(word);
        }

        fn fetch_add(&mut self, region: &(), word: usize, _: u64) -> u64 {
            self.load(region, word)
        }

        fn compare_and_swap(&mut self, region: &(), word: usize, _: u64, _: u64) -> u64 {
            self.load(region, word)
        }

        fn load_acquire(&mut self, region: &(), word: usize) -> u64 {
            self.load(region, word)
        }

        fn store_release(&mut self, region: &(), word: usize, value: u64) {
            self.store(region, word, value);
        }

        fn prefetch_shared(&mut self, (): &(), _: usize) {}

        fn prefetch_exclusive(&mut self, (): &(), _: usize) {}

        fn instructions(&mut self, count: u32) {
            self.instructions += u64::from(count);
        }

        fn work(&mut self, cycles: u32) {
            self.instructions(cycles);
        }

        fn barrier(&mut self) {}
    }

    /// An inner loop of mmult as Table 1 has it: 33 instructions, 2 shared and 14 private references, of which 2 are stores.
    const CODE: Code = Code {
        instructions: 6600,
        private_loads: 2400,
        private_stores: 400,
        shared_loads: 1000,
        shared_stores: 1000,
        frame: 64,
    };

    fn iterate(thread: &mut Unoptimised<'_, Counting>, times: u32) {
        for _ in 0..times {
            assert_eq!(thread.load(&(), 0), 7);
            thread.load(&(), 1);
            thread.instructions(3);
        }
        thread.store(&(), 0, 1);
        thread.work(4);
    }

    #[test]
    fn references_and_instructions_are_exactly_in_proportion() {
        let mut inner = Counting::default();
        let mut thread = Unoptimised::new(&mut inner, Some(Frame { code: CODE, frames: &(), first: 16 }));
        iterate(&mut thread, 999);
        // 1000 times five of the program's own instructions, of which 999 times two and one are shared references.
        assert_eq!((inner.shared, inner.loads.len(), inner.stores.len()), (1999, 12_000, 2000));
        assert_eq!(inner.shared + 12_000 + 2000 + inner.instructions, 33_000);
        // They walk round the eight words of the frame.
        assert!(inner.loads.iter().chain(&inner.stores).all(|word| (16..24).contains(word)));
        assert!((16..24).all(|word| inner.loads.contains(&word)));
    }

    #[test]
    fn what_a_thread_repeats_of_its_own_data_is_private() {
        let mut inner = Counting::default();
        let code = Code { shared_loads: 2500, shared_stores: 4000, private_loads: 0, private_stores: 0, ..CODE };
        let mut thread = Unoptimised::new(&mut inner, Some(Frame { code, frames: &(), first: 0 }));
        for _ in 0..1998 {
            assert_eq!(thread.load_own(&(), 3), 7);
        }
        thread.store_own(&(), 5, 1);
        // Loads kept back: 64, of which three stand between the four stores.
        assert_eq!((inner.shared, inner.loads.len(), inner.stores.len()), (0, 1998 * 5 / 2 - (64 - 3), 4));
    }

    #[test]
    fn repeated_references_are_instructions_like_others() {
        let mut inner = Counting::default();
        let code = Code { shared_loads: 2500, shared_stores: 4000, ..CODE };
        let mut thread = Unoptimised::new(&mut inner, Some(Frame { code, frames: &(), first: 0 }));
        iterate(&mut thread, 999);
        // Loads kept back: 64, of which three stand between the four stores.
        assert_eq!(inner.shared, 1998 * 5 / 2 + 4 - (64 - 3));
        assert_eq!(inner.shared + 12_000 + 2000 + inner.instructions, 33_000);
    }
}
