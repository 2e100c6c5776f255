//! Replacement policies: the choice of a victim way, and the history of each set that it needs.

use machine::description::Replacement;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The recency of the ways of every set, as far as the replacement policy needs it.
///
/// Plain integers with initial value zero, so that the host allocates them without touching them.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    ways: usize,
    /// The most recently used way of each set.
    last: Vec<u8>,
    history: History,
}

/// The history of a set besides its most recently used way.
#[derive(Clone, Debug)]
enum History {
    /// None: the victim is random, or the other one of two ways.
    None { random: bool },
    /// The ways from most to least recently used, `ways` bytes for each set. Each is stored exclusive-or its initial
    /// position, so that zero bytes are the initial order.
    Order(Vec<u8>),
    /// The bits of a tree with the ways as leaves, in heap order.
    Tree(Vec<u32>),
    /// A bit for each way that has been used recently, the first way's inverted: it counts as used in a new set.
    Used(Vec<u32>),
}

impl Recency {
    pub(super) fn new(replacement: Replacement, sets: usize, ways: usize) -> Self {
        let history = match replacement {
            Replacement::Random => History::None { random: true },
            // With at most two ways, the least recently used way is the one that is not the most recently used.
            _ if ways <= 2 => History::None { random: false },
            Replacement::LeastRecentlyUsed => History::Order(vec![0; sets * ways]),
            Replacement::PseudoLeastRecentlyUsed => History::Tree(vec![0; sets]),
            Replacement::NotRecentlyUsed => History::Used(vec![0; sets]),
        };
        Self { ways, last: vec![0; sets], history }
    }

    /// The most recently used way of `set`.
    #[inline]
    pub(super) fn last(&self, set: usize) -> usize {
        usize::from(self.last[set])
    }

    /// Makes `way` of `set` the most recently used.
    #[inline]
    pub(super) fn touch(&mut self, set: usize, way: usize) {
        // Else nothing changes: a tree points away from its most recently used way already.
        if self.last(set) != way {
            self.last[set] = way as u8;
            self.reorder(set, way);
        }
    }

    /// As [`Self::touch`], of at most two ways, which have no other history.
    #[inline]
    pub(super) fn touch_one_of_two(&mut self, set: usize, way: usize) {
        self.last[set] = way as u8;
    }

    fn reorder(&mut self, set: usize, way: usize) {
        match &mut self.history {
            History::None { .. } => {}
            History::Order(order) => {
                let order = &mut order[set * self.ways..][..self.ways];
                let way = way as u8;
                let mut displaced = way;
                for (place, kept) in order.iter_mut().enumerate() {
                    let here = *kept ^ place as u8;
                    *kept = displaced ^ place as u8;
                    displaced = here;
                    if here == way {
                        break;
                    }
                }
            }
            History::Tree(bits) => point_away(&mut bits[set], way, self.ways),
            History::Used(bits) => mark_used(&mut bits[set], way, self.ways),
        }
    }

    /// The ways of `set` in order of replacement. A random choice continues with the ways after it in the set.
    #[inline]
    pub(super) fn candidates(
        &self,
        set: usize,
        random: &mut Xoshiro256PlusPlus,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let ways = self.ways;
        let first = match &self.history {
            History::None { random: true } => random.next_u32() as usize % ways,
            History::None { random: false } => within(self.last(set) + 1, ways),
            History::Order(_) => 0,
            History::Tree(bits) => pointed_at(bits[set], ways),
            History::Used(bits) => first_unused(bits[set]),
        };
        (0..ways).map(move |number| match &self.history {
            History::Order(order) => {
                let place = ways - 1 - number;
                usize::from(order[set * ways + place] ^ place as u8)
            }
            History::None { .. } | History::Tree(_) | History::Used(_) => within(first + number, ways),
        })
    }
}

/// The remainder of a number below twice `ways`, without a division.
#[inline]
fn within(number: usize, ways: usize) -> usize {
    if number < ways { number } else { number - ways }
}

/// Leaves of a set's tree: the ways, rounded up to a power of two.
fn leaves(ways: usize) -> usize {
    ways.next_power_of_two()
}

/// Points the bits on the path to `way` to the other side: 0 is right, 1 is left. So a new tree, of zeros, points away from the first
/// way, which counts as the most recently used.
fn point_away(bits: &mut u32, way: usize, ways: usize) {
    let mut node = leaves(ways) + way;
    while node > 1 {
        let right = node & 1;
        node /= 2;
        let bit = 1 << node;
        *bits = if right == 1 { *bits | bit } else { *bits & !bit };
    }
}

/// The way that the bits lead to; a subtree without ways is replaced by its left sibling.
fn pointed_at(bits: u32, ways: usize) -> usize {
    let leaves = leaves(ways);
    let (mut node, mut first, mut span) = (1, 0, leaves);
    while node < leaves {
        span /= 2;
        let right = bits >> node & 1 == 0 && first + span < ways;
        node = 2 * node + usize::from(right);
        first += if right { span } else { 0 };
    }
    first
}

/// The bit of the first way, which is stored inverted.
const FIRST_WAY: u32 = 1;

/// Sets the bit of `way`, and clears the others when all are set, so that a set of more than one way has a clear bit.
fn mark_used(bits: &mut u32, way: usize, ways: usize) {
    let (this, all) = (1 << way, u32::MAX >> (u32::BITS as usize - ways));
    let used = (*bits ^ FIRST_WAY) | this;
    *bits = if used == all { this } else { used } ^ FIRST_WAY;
}

/// The first way whose bit is clear.
fn first_unused(bits: u32) -> usize {
    (bits ^ FIRST_WAY).trailing_ones() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    fn first(recency: &Recency, set: usize) -> Option<usize> {
        recency.candidates(set, &mut Xoshiro256PlusPlus::seed_from_u64(1)).next()
    }

    proptest! {
        #[test]
        fn least_recently_used_is_the_way_not_touched_for_longest(
            ways in 1usize..=32,
            touches in prop::collection::vec(0usize..32, 1..200),
        ) {
            let mut recency = Recency::new(Replacement::LeastRecentlyUsed, 3, ways);
            // Initially the first way counts as the most recently used.
            let mut order: Vec<usize> = (0..ways).collect();
            for way in touches {
                let way = way % ways;
                recency.touch(1, way);
                order.retain(|&other| other != way);
                order.insert(0, way);
                prop_assert_eq!(recency.last(1), way);
                let candidates: Vec<_> = recency.candidates(1, &mut Xoshiro256PlusPlus::seed_from_u64(1)).collect();
                prop_assert_eq!(candidates, order.iter().rev().copied().collect::<Vec<_>>());
                prop_assert_eq!(first(&recency, 0), Some(ways - 1), "other sets keep their order");
            }
        }

        #[test]
        fn a_tree_points_to_no_way_just_used_and_to_all_in_turn(ways in 2usize..=32, start in 0usize..32) {
            let mut recency = Recency::new(Replacement::PseudoLeastRecentlyUsed, 1, ways);
            recency.touch(0, start % ways);
            let mut seen = vec![false; ways];
            for _ in 0..2 * leaves(ways) {
                let Some(way) = first(&recency, 0) else { unreachable!("there are ways") };
                prop_assert!(way < ways && way != recency.last(0));
                recency.touch(0, way);
                seen[way] = true;
            }
            prop_assert!(seen.iter().all(|&seen| seen), "a way that is never chosen would keep its line for ever");
        }
    }

    /// Bits of a set, as a plain vector of them.
    fn use_bit(used: &mut [bool], way: usize) {
        used[way] = true;
        if used.iter().all(|&used| used) {
            used.fill(false);
            used[way] = true;
        }
    }

    proptest! {
        #[test]
        fn not_recently_used_is_the_first_way_without_a_use_since_all_had_one(
            ways in 3usize..=32,
            touches in prop::collection::vec(0usize..32, 1..200),
        ) {
            let mut recency = Recency::new(Replacement::NotRecentlyUsed, 3, ways);
            let mut used = vec![false; ways];
            used[0] = true;
            for way in touches {
                recency.touch(1, way % ways);
                use_bit(&mut used, way % ways);
                prop_assert_eq!(first(&recency, 1), used.iter().position(|&used| !used));
                prop_assert_eq!(first(&recency, 0), Some(1), "other sets keep their bits");
            }
        }
    }

    /// Hits of a cycle of `lines` in one set of eight ways, as a share, once it repeats.
    fn hits_of_a_cycle(replacement: Replacement, lines: usize) -> f64 {
        let mut recency = Recency::new(replacement, 1, 8);
        let mut held = [usize::MAX; 8];
        let (mut hits, rounds) = (0, 100);
        for step in 0..2 * rounds * lines {
            let line = step % lines;
            let way = match held.iter().position(|&held| held == line) {
                Some(way) => {
                    hits += usize::from(step >= rounds * lines);
                    way
                }
                None => first(&recency, 0).expect("there are ways"),
            };
            held[way] = line;
            recency.touch(0, way);
        }
        hits as f64 / (rounds * lines) as f64
    }

    #[test]
    fn cycles_that_exceed_a_set_hit_where_bits_are_kept_and_nowhere_in_order_of_use() {
        for lines in [9, 12, 16] {
            assert_eq!(hits_of_a_cycle(Replacement::LeastRecentlyUsed, lines), 0.0);
        }
        // Of nine lines in eight ways three of seven loads hit, by a simulation of the bits apart from this one.
        let kept = [9, 10, 12, 16].map(|lines| hits_of_a_cycle(Replacement::NotRecentlyUsed, lines));
        assert!(
            (kept[0] - 3.0 / 7.0).abs() < 0.01 && kept[1] < kept[0] && kept[2] < kept[1] && kept[3] == 0.0,
            "{kept:?}"
        );
    }

    #[test]
    fn random_choices_are_spread_over_all_ways() {
        let recency = Recency::new(Replacement::Random, 1, 12);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut counts = [0u32; 12];
        for _ in 0..12_000 {
            counts[recency.candidates(0, &mut random).next().expect("there are ways")] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
