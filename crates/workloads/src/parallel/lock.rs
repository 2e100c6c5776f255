//! Locks in shared memory, as a threads library has them where the machine has none.

use crate::Blocks;
use crate::program::{LockKind, RegionPlan, Shape};
use crate::thread::Thread;

const FREE: u64 = 0;
const HELD: u64 = 1;

/// Locks, in a region of their own or in what they guard.
#[derive(Debug)]
pub struct Locks<'r, R> {
    /// The words that say whether locks are free, or whose turn it is.
    words: Words<'r, R>,
    /// The counters that tickets are drawn from, if they are.
    tickets: Option<Words<'r, R>>,
}

/// A lock that is held.
#[derive(Debug)]
#[must_use = "a lock that is not released keeps all others out"]
pub struct Held {
    lock: usize,
    /// Value that its word gets when it is given back.
    after: u64,
}

/// A word of each lock.
#[derive(Debug)]
struct Words<'r, R> {
    region: &'r R,
    places: Places,
}

/// Where a word of each lock is.
#[derive(Clone, Copy, Debug)]
enum Places {
    /// Each in a line of its own, dealt round the nodes of the threads: the first in line `first` of the block there.
    Apart { blocks: Blocks, threads: usize, first: usize },
    /// At equal distances from a word on.
    Strided { first: usize, stride: usize },
}

impl Places {
    fn word(self, lock: usize) -> usize {
        match self {
            Self::Apart { blocks, threads, first } => blocks.word(lock % threads, first + lock / threads),
            Self::Strided { first, stride } => first + lock * stride,
        }
    }
}

impl<R> Clone for Words<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Words<'_, R> {}

impl<R> Clone for Locks<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Locks<'_, R> {}

/// Lines of `count` words apart that fall to each thread.
fn lines(shape: &Shape, count: usize) -> usize {
    count.div_ceil(shape.threads())
}

/// Where `kinds` words of each of `count` locks lie apart.
fn apart(shape: &Shape, count: usize, kinds: usize) -> impl Fn(usize) -> Places {
    let (each, threads) = (lines(shape, count), shape.threads());
    let blocks = Blocks::new(shape, kinds * each);
    move |kind| Places::Apart { blocks, threads, first: kind * each }
}

/// How many words a lock of the shape's kind has.
fn kinds(shape: &Shape) -> usize {
    match shape.locks {
        LockKind::LlSc => 1,
        LockKind::AtMemory => 2,
    }
}

impl<'r, R> Locks<'r, R> {
    /// The region that `count` locks want, each word in a line of its own.
    pub fn plan(shape: &Shape, count: usize) -> RegionPlan {
        Blocks::new(shape, kinds(shape) * lines(shape, count)).plan(shape.homes.iter().copied())
    }

    /// The `count` locks of a region that was planned for as many. All are free as long as nobody took them.
    pub fn new(shape: &Shape, region: &'r R, count: usize) -> Self {
        let places = apart(shape, count, kinds(shape));
        let words = |kind| Words { region, places: places(kind) };
        Self { words: words(0), tickets: (kinds(shape) > 1).then(|| words(1)) }
    }

    /// The locks that a region holds one after the other, a word each, as an array of a language's locks: they share lines.
    /// Tickets are drawn as [`Self::within`] says.
    pub fn packed(shape: &Shape, region: &'r R, count: usize, tickets: Option<&'r R>) -> Self {
        Self::within(shape, region, [0, 1], count, tickets)
    }

    /// `count` locks that are words of what they guard: the first is word `first`, and each further one `stride` words after.
    /// Whoever takes one has the line of what it guards. No line may be cached that the memory changes: if tickets are
    /// drawn, it is from another region, that of [`Self::ticket_plan`].
    pub fn within(
        shape: &Shape,
        region: &'r R,
        [first, stride]: [usize; 2],
        count: usize,
        tickets: Option<&'r R>,
    ) -> Self {
        let tickets = tickets.map(|region| Words { region, places: apart(shape, count, 1)(0) });
        Self { words: Words { region, places: Places::Strided { first, stride } }, tickets }
    }

    /// One lock: a word of a region, and if tickets are drawn the word of another that counts them.
    pub fn one(region: &'r R, word: usize, tickets: Option<(&'r R, usize)>) -> Self {
        let at = |region, first| Words { region, places: Places::Strided { first, stride: 1 } };
        Self { words: at(region, word), tickets: tickets.map(|(region, word)| at(region, word)) }
    }

    /// A lock that is held, whose word holds `now`.
    pub const fn held(&self, lock: usize, now: u64) -> Held {
        Held { lock, after: if self.tickets.is_some() { now.wrapping_add(1) } else { FREE } }
    }

    /// The region that `count` locks within another one draw their tickets from, if they do: each counter in a line of its own.
    pub fn ticket_plan(shape: &Shape, count: usize) -> Option<RegionPlan> {
        let plan = || Blocks::new(shape, lines(shape, count)).plan(shape.homes.iter().copied());
        (shape.locks == LockKind::AtMemory).then(plan)
    }

    /// Value of the word of `lock`, one of `count` within another region, when no thread holds it or waits for it: `drawn`
    /// reads a word of the region of [`Self::ticket_plan`].
    pub fn free_word(shape: &Shape, count: usize, lock: usize, drawn: impl FnOnce(usize) -> u64) -> u64 {
        match shape.locks {
            LockKind::LlSc => FREE,
            LockKind::AtMemory => drawn(apart(shape, count, 1)(0).word(lock)),
        }
    }

    /// Waits until a lock is free, or it is its turn, and takes it: what its last holder stored is seen.
    pub fn acquire<T: Thread<Region = R>>(&self, thread: &mut T, lock: usize) -> Held {
        let (region, word) = (self.words.region, self.words.places.word(lock));
        let Some(tickets) = self.tickets else {
            while thread.load_acquire(region, word) != FREE || thread.compare_and_swap(region, word, FREE, HELD) != FREE
            {
                thread.await_change(region, word, HELD);
            }
            return Held { lock, after: FREE };
        };
        let ticket = thread.fetch_add_at_memory(tickets.region, tickets.places.word(lock), 1);
        let mut turn = thread.load_acquire(region, word);
        while turn != ticket {
            turn = thread.await_change(region, word, turn);
        }
        Held { lock, after: ticket + 1 }
    }

    /// Takes a lock if it is free. A ticket that was drawn cannot be given back: locks with tickets cannot be tried.
    pub fn try_acquire<T: Thread<Region = R>>(&self, thread: &mut T, lock: usize) -> Option<Held> {
        let word = self.words.places.word(lock);
        let taken = self.tickets.is_none() && thread.compare_and_swap(self.words.region, word, FREE, HELD) == FREE;
        taken.then_some(Held { lock, after: FREE })
    }

    /// Gives a lock back, all that was stored before done.
    pub fn release<T: Thread<Region = R>>(&self, thread: &mut T, held: Held) {
        thread.store_release(self.words.region, self.words.places.word(held.lock), held.after);
    }

    /// A critical section: `body` while holding a lock.
    pub fn critical<T: Thread<Region = R>, V>(&self, thread: &mut T, lock: usize, body: impl FnOnce(&mut T) -> V) -> V {
        let held = self.acquire(thread, lock);
        let value = body(thread);
        self.release(thread, held);
        value
    }
}
