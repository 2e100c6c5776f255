//! Operations of a program on a processor, be it simulated or real.

/// One thread of a parallel program, on a processor of its own.
///
/// Memory that threads share is a [`Thread::Region`], an array of 64-bit words that hold real values. What one thread stores
/// before a barrier, all others load after it. Words that one thread stores to and another touches without a barrier in
/// between may read as either value, unless all of them use indivisible steps or acquire and release.
///
/// Accesses may overlap as far as the processor allows: methods return the value at once, whereas the time of the access
/// passes for those instructions that depend on it.
pub trait Thread {
    /// Memory that the threads of a program share.
    type Region;

    /// Its number among the threads of the program, from 0 without gaps.
    fn number(&self) -> usize;

    /// A load whose address is known.
    fn load(&mut self, region: &Self::Region, word: usize) -> u64;

    /// A load whose address was computed from the value of the latest load.
    fn load_dependent(&mut self, region: &Self::Region, word: usize) -> u64;

    /// A store whose address is known.
    fn store(&mut self, region: &Self::Region, word: usize, value: u64);

    /// A store to the bits of a word that `mask` has, whose others keep what they hold. Here an indivisible step, as on a machine
    /// that stores whole words alone.
    fn store_part(&mut self, region: &Self::Region, word: usize, value: u64, mask: u64) {
        let mut held = self.load(region, word);
        loop {
            let found = self.compare_and_swap(region, word, held, held & !mask | value & mask);
            if found == held {
                return;
            }
            held = found;
        }
    }

    /// As [`Thread::load`], of a value that is not used.
    #[inline]
    fn load_unused(&mut self, region: &Self::Region, word: usize) {
        self.load(region, word);
    }

    /// As [`Thread::load_dependent`], of a value that is used for nothing but the next address.
    #[inline]
    fn load_dependent_unused(&mut self, region: &Self::Region, word: usize) {
        self.load_dependent(region, word);
    }

    /// As [`Thread::store`], of a value that no thread uses: the word may keep what it held.
    #[inline]
    fn store_unused(&mut self, region: &Self::Region, word: usize) {
        self.store(region, word, 0);
    }

    /// A load of data that no other thread uses, of a value that is not used. Where time is accounted for, it is told from
    /// that of shared data.
    #[inline]
    fn load_private(&mut self, region: &Self::Region, word: usize) {
        self.load_unused(region, word);
    }

    /// A store to data that no other thread uses, as [`Thread::load_private`].
    #[inline]
    fn store_private(&mut self, region: &Self::Region, word: usize) {
        self.store_unused(region, word);
    }

    /// As [`Thread::load_private`], of a value that is used.
    #[inline]
    fn load_own(&mut self, region: &Self::Region, word: usize) -> u64 {
        self.load(region, word)
    }

    /// As [`Thread::store_private`], of a value that its thread uses.
    #[inline]
    fn store_own(&mut self, region: &Self::Region, word: usize, value: u64) {
        self.store(region, word, value);
    }

    /// Adds to a word in one indivisible step and returns what was there before. Waits until that is done.
    fn fetch_add(&mut self, region: &Self::Region, word: usize, addend: u64) -> u64;

    /// Stores `new` if a word holds `expected`, in one indivisible step, and returns what was there before. Waits until that is
    /// done, and has the effect of [`Thread::load_acquire`].
    fn compare_and_swap(&mut self, region: &Self::Region, word: usize, expected: u64, new: u64) -> u64;

    /// Stores to a word in one indivisible step and returns what was there before. Waits until that is done.
    fn exchange(&mut self, region: &Self::Region, word: usize, new: u64) -> u64 {
        let mut expected = self.load_acquire(region, word);
        loop {
            let found = self.compare_and_swap(region, word, expected, new);
            if found == expected {
                return found;
            }
            expected = found;
        }
    }

    /// A load that waits for its value: whoever sees what a [`Thread::store_release`] stored sees all that was stored before.
    fn load_acquire(&mut self, region: &Self::Region, word: usize) -> u64;

    /// A store that waits until all that its thread stored before is done, and until it is done itself.
    fn store_release(&mut self, region: &Self::Region, word: usize, value: u64);

    /// Asks for a copy to read, and waits for nothing.
    fn prefetch_shared(&mut self, region: &Self::Region, word: usize);

    /// Asks for a copy to write, and waits for nothing.
    fn prefetch_exclusive(&mut self, region: &Self::Region, word: usize);

    /// `count` instructions that depend on no access.
    fn instructions(&mut self, count: u32);

    /// `cycles` one-cycle instructions, each depending on the one before, the first on the value of the latest load.
    fn work(&mut self, cycles: u32);

    /// Waits until every thread of the program has come here, all its stores done.
    fn barrier(&mut self);

    /// Spins until a word holds something else than `held`, and returns that, with the effect of [`Thread::load_acquire`].
    fn await_change(&mut self, region: &Self::Region, word: usize, held: u64) -> u64 {
        loop {
            let found = self.load_acquire(region, word);
            if found != held {
                return found;
            }
            self.instructions(SPIN);
        }
    }

    /// As [`Thread::fetch_add`], done by the memory that the word lies in instead of the processor: nothing is cached. A word
    /// that is ever used so must be loaded by [`Thread::load_at_memory`] only while threads may use it so.
    fn fetch_add_at_memory(&mut self, region: &Self::Region, word: usize, addend: u64) -> u64 {
        self.fetch_add(region, word, addend)
    }

    /// As [`Thread::load_acquire`], past the caches: what the memory holds that the word lies in.
    fn load_at_memory(&mut self, region: &Self::Region, word: usize) -> u64 {
        self.load_acquire(region, word)
    }

    /// From here on (`true`), or up to here (`false`), is what is to be measured of the program. All threads say so, after the
    /// same barrier or fork; they may do so several times. A program that never does is measured from start to end.
    fn measure(&mut self, on: bool) {
        let _ = on;
    }
}

/// Instructions between two looks at a word that somebody else is to change.
pub const SPIN: u32 = 4;
