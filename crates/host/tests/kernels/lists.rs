//! Lists are one cycle through all elements, in the order asked for.

use std::collections::HashSet;

use host::kernels::{MARK, list};
use proptest::prelude::*;
use units::Bytes;

use crate::guarded::{Against, Guarded};

/// Links a list; the elements in the order of the list.
fn linked(elements: u64, stride_words: usize, order: list::Order) -> Vec<u64> {
    let memory = Guarded::new(elements as usize * stride_words, Against::Back);
    let stride = Bytes(stride_words as u64 * 8);
    // SAFETY: the memory has that many elements, and nobody else uses it.
    unsafe { list::link(memory.start(), elements, stride, order) };
    let words = memory.words();
    let start = memory.start().addr().get() as u64;
    let mut at = 0;
    let visited = (0..elements)
        .map(|_| {
            assert_eq!(words[at as usize * stride_words + 1], MARK);
            let here = at;
            at = (words[at as usize * stride_words] - start) / stride.0;
            here
        })
        .collect();
    assert_eq!(at, 0, "{order:?} comes back to its beginning");
    visited
}

proptest! {
    #[test]
    fn every_order_is_one_cycle(elements in 1..3000_u64, stride_words in 2..40_usize, seed: u64, page in 6..16_u32) {
        for order in [
            list::Order::Ascending,
            list::Order::Random { seed },
            list::Order::PageLocal { page: Bytes(1 << page), seed },
        ] {
            let visited = linked(elements, stride_words, order);
            prop_assert_eq!(visited.iter().collect::<HashSet<_>>().len() as u64, elements);
            let sequence = list::sequence(order, elements, Bytes(stride_words as u64 * 8));
            prop_assert_eq!(sequence.iter().collect::<HashSet<_>>().len() as u64, elements);
        }
    }

    #[test]
    fn a_page_is_left_once(elements in 1..2000_u64, seed: u64) {
        const PAGE: u64 = 4096;
        let memory = Guarded::new(elements as usize * 8, Against::Front);
        // SAFETY: the memory has that many lines, and nobody else uses it.
        unsafe { list::link(memory.start(), elements, Bytes(64), list::Order::PageLocal { page: Bytes(PAGE), seed }) };
        let words = memory.words();
        let start = memory.start().addr().get() as u64;
        let mut crossings = 0;
        let mut at = start;
        for _ in 0..elements {
            let next = words[((at - start) / 8) as usize];
            crossings += u64::from(next / PAGE != at / PAGE);
            at = next;
        }
        let pages = (elements * 64).div_ceil(PAGE);
        prop_assert_eq!(crossings, if pages == 1 { 0 } else { pages });
        let sequence = list::sequence(list::Order::PageLocal { page: Bytes(PAGE), seed }, elements, Bytes(64));
        let left = sequence.windows(2).filter(|pair| pair[0] * 64 / PAGE != pair[1] * 64 / PAGE).count();
        prop_assert_eq!(left as u64, pages - 1);
    }
}

#[test]
fn ascending_lists_ascend() {
    assert_eq!(linked(100, 8, list::Order::Ascending), (0..100).collect::<Vec<_>>());
}

#[test]
fn random_lists_follow_their_seed_and_no_stride() {
    let one = linked(1000, 8, list::Order::Random { seed: 1 });
    assert_eq!(one, linked(1000, 8, list::Order::Random { seed: 1 }));
    assert_ne!(one, linked(1000, 8, list::Order::Random { seed: 2 }));
    let steps: HashSet<i64> = one.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64).collect();
    assert!(steps.len() > 500, "{} different strides in 1000 steps", steps.len());
}

#[test]
fn pages_and_their_lines_come_in_random_order() {
    let order = list::Order::PageLocal { page: Bytes(64 << 10), seed: 7 };
    let visited = linked(1024 * 8, 8, order);
    let ascending = visited.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    assert!(ascending < 100, "{ascending} of 8191 steps go to the next line");
    let pages: Vec<u64> = visited.iter().step_by(1024).map(|element| element / 1024).collect();
    assert!(pages.windows(2).any(|pair| pair[1] < pair[0]), "pages are in order of address: {pages:?}");
}
