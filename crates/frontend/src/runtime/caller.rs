//! The running thread as built-in programs see one: their locks and barriers, made of words of the program's memory.

use sim::Thread;
use units::VirtualAddr;
use workloads::SPIN;

use super::address::locate;
use super::state::note_change;
use super::words::{acquire, at_memory, change_at_memory, indivisible, release};

/// Words of four bytes of the program's memory, from an address on.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    start: usize,
}

/// Bytes of a word.
pub const WORD: usize = size_of::<u32>();

impl Words {
    /// Those from `start` on.
    pub const fn at(start: usize) -> Self {
        Self { start }
    }

    fn address(self, word: usize) -> usize {
        self.start + word * WORD
    }

    /// Value of a word, without a simulated reference.
    pub fn peek(self, word: usize) -> u32 {
        // SAFETY: whoever names words has memory there.
        unsafe { (self.address(word) as *const u32).read_volatile() }
    }

    fn put(self, word: usize, value: u64) {
        // SAFETY: as above.
        unsafe { (self.address(word) as *mut u32).write_volatile(value as u32) };
    }

    /// Changes a word. Returns what was there.
    fn change(self, word: usize, change: impl FnOnce(u64) -> u64) -> u64 {
        let before = u64::from(self.peek(word));
        self.put(word, change(before));
        before
    }
}

/// The running thread, which has a number where it waits with others.
pub struct Caller<'t> {
    thread: &'t mut Thread<'static>,
    number: usize,
}

impl<'t> Caller<'t> {
    /// The thread that runs now.
    pub fn new(thread: &'t mut Thread<'static>, number: usize) -> Self {
        Self { thread, number }
    }

    /// Indivisibly adds `most` to a word, but no more than makes it `limit`. Both count on when they are full.
    pub fn serve(&mut self, region: &Words, word: usize, limit: u32, most: u32) {
        let served = |before: u64| {
            let waiting = limit.wrapping_sub(before as u32);
            let waiting = if waiting.cast_signed() < 0 { 0 } else { waiting };
            before + u64::from(waiting.min(most))
        };
        indivisible(self.thread, region.address(word), || region.change(word, served));
    }

    fn plain(&mut self, region: &Words, word: usize, refer: impl FnOnce(&mut Thread<'static>, VirtualAddr)) {
        super::callbacks::settle(self.thread);
        match locate(region.address(word)) {
            Some(at) => refer(self.thread, at),
            None => self.thread.instructions(1),
        }
    }
}

impl workloads::Thread for Caller<'_> {
    type Region = Words;

    fn number(&self) -> usize {
        self.number
    }

    fn load(&mut self, region: &Words, word: usize) -> u64 {
        self.plain(region, word, |thread, at| thread.load(at));
        region.peek(word).into()
    }

    fn load_dependent(&mut self, region: &Words, word: usize) -> u64 {
        self.plain(region, word, |thread, at| thread.load_dependent(at));
        region.peek(word).into()
    }

    fn store(&mut self, region: &Words, word: usize, value: u64) {
        note_change();
        self.plain(region, word, |thread, at| thread.store(at));
        region.put(word, value);
    }

    fn fetch_add(&mut self, region: &Words, word: usize, addend: u64) -> u64 {
        indivisible(self.thread, region.address(word), || region.change(word, |before| before.wrapping_add(addend)))
    }

    fn compare_and_swap(&mut self, region: &Words, word: usize, expected: u64, new: u64) -> u64 {
        let swapped = |before| if before == expected { new } else { before };
        indivisible(self.thread, region.address(word), || region.change(word, swapped))
    }

    fn exchange(&mut self, region: &Words, word: usize, new: u64) -> u64 {
        indivisible(self.thread, region.address(word), || region.change(word, |_| new))
    }

    fn load_acquire(&mut self, region: &Words, word: usize) -> u64 {
        acquire(self.thread, region.address(word), || region.peek(word).into())
    }

    fn store_release(&mut self, region: &Words, word: usize, value: u64) {
        release(self.thread, region.address(word), || region.put(word, value));
    }

    fn prefetch_shared(&mut self, region: &Words, word: usize) {
        self.plain(region, word, |thread, at| thread.prefetch_shared(at));
    }

    fn prefetch_exclusive(&mut self, region: &Words, word: usize) {
        self.plain(region, word, |thread, at| thread.prefetch_exclusive(at));
    }

    fn instructions(&mut self, count: u32) {
        self.thread.instructions(count);
    }

    fn work(&mut self, cycles: u32) {
        self.thread.work(cycles);
    }

    /// There is no barrier but those that are made of the words themselves.
    fn barrier(&mut self) {}

    fn await_change(&mut self, region: &Words, word: usize, held: u64) -> u64 {
        loop {
            let found = self.load_acquire(region, word);
            if found != held {
                return found;
            }
            look_again(self.thread, region.address(word));
        }
    }

    fn fetch_add_at_memory(&mut self, region: &Words, word: usize, addend: u64) -> u64 {
        change_at_memory(self.thread, region.address(word), || {
            region.change(word, |before| before.wrapping_add(addend))
        })
    }

    fn load_at_memory(&mut self, region: &Words, word: usize) -> u64 {
        at_memory(self.thread, region.address(word), || region.peek(word).into())
    }
}

/// Between two looks at a word that told nothing new: the thread looks again and again at its own copy, until that goes.
pub fn look_again(thread: &mut Thread<'static>, address: usize) {
    match locate(address) {
        Some(at) => thread.spin(at, SPIN),
        None => thread.instructions(SPIN),
    }
}
