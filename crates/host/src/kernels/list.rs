//! Circular lists through memory: the pointers that the dependent kernels chase.

use std::ptr::NonNull;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::Bytes;

use super::MARK;

/// In which order a list visits its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// By address. Hardware prefetchers follow it.
    Ascending,
    /// One random cycle through all elements, so that neither prefetchers nor the TLB profit.
    Random {
        /// Start of the random sequence.
        seed: u64,
    },
    /// All elements of a page in random order, then those of the next page, the pages in random order as well: prefetchers
    /// gain nothing, but the TLB misses only once a page.
    PageLocal {
        /// The page, or any block within which the order is random; a power of two.
        page: Bytes,
        /// Start of the random sequence.
        seed: u64,
    },
}

/// Links `elements` elements that are `stride` apart from `start` into one circular list in that order, and stores [`MARK`]
/// to word 1 of each. For lists over few lines of many pages, a stride of a page plus a line spares the caches' sets.
///
/// # Panics
/// If the stride is below 16 bytes or no multiple of 8, `start` is not aligned to 8 bytes, there are no elements, or a
/// page is no power of two.
///
/// # Safety
/// `elements * stride` bytes from `start`, of the last element at least 16, are mapped and writable, and nobody else uses
/// them meanwhile.
pub unsafe fn link(start: NonNull<u8>, elements: u64, stride: Bytes, order: Order) {
    assert!(stride.0 >= 16 && stride.0.is_multiple_of(8), "an element of {stride} cannot hold two words");
    assert!(start.addr().get().is_multiple_of(8), "elements at {start:?} are not aligned to words");
    assert!(elements > 0, "a list has at least one element");
    let span = Span { start, elements, stride };
    match order {
        Order::Ascending => {
            for i in 0..elements {
                span.set(i, 0, span.address((i + 1) % elements));
            }
        }
        Order::Random { seed } => span.link_random(seed),
        Order::PageLocal { page, seed } => {
            assert!(page.0.is_power_of_two(), "a page of {page} is no power of two");
            span.link_page_local(page, seed);
        }
    }
    for i in 0..elements {
        span.set(i, 1, MARK);
    }
}

/// The elements of a list.
struct Span {
    start: NonNull<u8>,
    elements: u64,
    stride: Bytes,
}

impl Span {
    fn address(&self, element: u64) -> u64 {
        self.start.addr().get() as u64 + element * self.stride.0
    }

    fn word(&self, element: u64, word: u64) -> *mut u64 {
        debug_assert!(element < self.elements && word < 2);
        self.start.as_ptr().wrapping_add((element * self.stride.0 + word * 8) as usize).cast()
    }

    fn set(&self, element: u64, word: u64, value: u64) {
        // SAFETY: the caller of `link` vouches for the first two words of every element.
        unsafe { self.word(element, word).write(value) }
    }

    fn get(&self, element: u64, word: u64) -> u64 {
        // SAFETY: as in `set`; the word has been set before.
        unsafe { self.word(element, word).read() }
    }

    /// Sattolo's shuffle of the identity in the elements themselves makes a permutation of one cycle without any memory
    /// beside.
    fn link_random(&self, seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for i in 0..self.elements {
            self.set(i, 0, i);
        }
        for i in (1..self.elements).rev() {
            let j = below(&mut random, i);
            let (a, b) = (self.get(i, 0), self.get(j, 0));
            self.set(i, 0, b);
            self.set(j, 0, a);
        }
        for i in 0..self.elements {
            self.set(i, 0, self.address(self.get(i, 0)));
        }
    }

    fn link_page_local(&self, page: Bytes, seed: u64) {
        let visited = page_local(self.address(0), self.elements, self.stride, page, seed);
        for (number, &element) in visited.iter().enumerate() {
            self.set(element, 0, self.address(visited[(number + 1) % visited.len()]));
        }
    }
}

/// The elements of a list of that order, `stride` apart from the beginning of a page, as it visits them.
pub fn sequence(order: Order, elements: u64, stride: Bytes) -> Vec<u64> {
    match order {
        Order::Ascending => (0..elements).collect(),
        Order::Random { seed } => {
            let mut visited: Vec<u64> = (0..elements).collect();
            shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed), &mut visited);
            visited
        }
        Order::PageLocal { page, seed } => page_local(0, elements, stride, page, seed),
    }
}

/// Elements from address `start` on, those of a page after each other.
fn page_local(start: u64, elements: u64, stride: Bytes, page: Bytes, seed: u64) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pages: Vec<(u64, u64)> = Vec::new();
    let mut first = 0;
    while first < elements {
        let end_of_page = ((start + first * stride.0) / page.0 + 1) * page.0;
        let next = (end_of_page - start).div_ceil(stride.0).min(elements);
        pages.push((first, next));
        first = next;
    }
    shuffle(&mut random, &mut pages);
    let mut visited = Vec::with_capacity(elements as usize);
    for (from, to) in pages {
        let before = visited.len();
        visited.extend(from..to);
        shuffle(&mut random, &mut visited[before..]);
    }
    visited
}

/// A random number below `bound`, by multiplication: off from even by less than `bound / 2^64`.
fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

fn shuffle<T>(random: &mut Xoshiro256PlusPlus, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(random, i as u64 + 1) as usize);
    }
}
