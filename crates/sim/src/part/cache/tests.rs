//! Tests of the tag store: replacement, reserved places, scattered pages, and a reference model.

use proptest::prelude::*;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;

/// Fills a line without data; no slot is reserved.
fn fill(cache: &mut Cache, line: u64, state: CopyState, random: &mut Xoshiro256PlusPlus) -> Option<Victim> {
    cache.fill(line, (state, Version::default()), |_| false, random).expect("no slot is reserved")
}

const LRU: Replacement = Replacement::LeastRecentlyUsed;
const POLICIES: &[Replacement] =
    &[Replacement::Random, LRU, Replacement::PseudoLeastRecentlyUsed, Replacement::NotRecentlyUsed];

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

#[test]
fn scattered_pages_meet_in_sets_as_chance_has_it() {
    // 12 pages for each of 16 colours on average.
    let spec = CacheSpec { sets: 1024, ways: 16, replacement: LRU, page_shift: 6 };
    let cache = Cache::of_tags(&spec);
    let mut colours = [0; 16];
    for page in 0..192u64 {
        let set = cache.set_of(page << 6 | 5);
        assert_eq!(set % 64, 5, "within a page lines stay where they are");
        colours[set / 64] += 1;
    }
    let (least, most) = (colours.iter().min(), colours.iter().max());
    assert!(least.is_some_and(|&least| (2..12).contains(&least)), "{colours:?}");
    assert!(most.is_some_and(|&most| (13..25).contains(&most)), "{colours:?}");
}

#[test]
fn the_line_used_longest_ago_leaves() {
    let random = &mut random();
    let mut cache = Cache::of_tags(&CacheSpec { sets: 4, ways: 2, replacement: LRU, page_shift: 0 });
    assert_eq!(fill(&mut cache, 0, CopyState::MODIFIED, random), None);
    assert_eq!(fill(&mut cache, 4, CopyState::SHARED, random), None);
    assert_eq!(cache.use_line(0), CopyState::MODIFIED);
    assert_eq!(fill(&mut cache, 8, CopyState::SHARED, random).map(|victim| victim.line), Some(4));
    assert_eq!(cache.use_line(4), CopyState::INVALID);
    assert_eq!(cache.use_line(8), CopyState::SHARED);
    let dirty = fill(&mut cache, 12, CopyState::SHARED, random);
    assert_eq!(dirty.map(|victim| (victim.line, victim.state)), Some((0, CopyState::MODIFIED)));
}

#[test]
fn reserved_places_are_not_chosen() {
    let random = &mut random();
    let mut cache = Cache::new(&CacheSpec { sets: 1, ways: 3, replacement: Replacement::Random, page_shift: 0 });
    for line in 0..3 {
        let (slot, victim) = cache.make_room(line, |_| false, random).expect("a place");
        assert_eq!(victim, None);
        cache.place(slot, line, CopyState::MODIFIED, Version(line as u32));
    }
    let kept = cache.probe(1).expect("there").slot;
    for _ in 0..100 {
        let (slot, victim) = cache.make_room(9, |slot| slot == kept, random).expect("a place");
        let victim = victim.expect("all places are full");
        assert_ne!(victim.line, 1);
        assert_eq!(victim.version, Version(victim.line as u32));
        cache.place(slot, victim.line, victim.state, victim.version);
    }
    assert!(cache.make_room(9, |_| true, random).is_none());
}

/// The reference model: a list of sets, each a list of lines from the most to the least recently used.
#[derive(Default)]
struct Reference {
    sets: Vec<Vec<u64>>,
    ways: usize,
}

impl Reference {
    fn touch(&mut self, line: u64) -> bool {
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[(line % sets) as usize];
        let found = set.iter().position(|&other| other == line);
        if let Some(place) = found {
            set.remove(place);
            set.insert(0, line);
        }
        found.is_some()
    }

    fn fill(&mut self, line: u64) -> Option<u64> {
        let (sets, ways) = (self.sets.len() as u64, self.ways);
        if self.touch(line) {
            return None;
        }
        let set = &mut self.sets[(line % sets) as usize];
        set.insert(0, line);
        (set.len() > ways).then(|| set.pop()).flatten()
    }
}

proptest! {
    #[test]
    fn any_number_of_ways_behaves_as_lists_of_lines(
        ways in 1usize..=32,
        shift in 0u32..4,
        steps in prop::collection::vec((any::<bool>(), 0u64..160), 1..400),
    ) {
        let sets = 1 << shift;
        let random = &mut random();
        let mut cache = Cache::of_tags(&CacheSpec { sets, ways, replacement: LRU, page_shift: 0 });
        let mut reference = Reference { sets: vec![Vec::new(); sets], ways };
        for (fills, line) in steps {
            if fills {
                let left = fill(&mut cache, line, CopyState::SHARED, random).map(|victim| victim.line);
                prop_assert_eq!(left, reference.fill(line));
            } else {
                prop_assert_eq!(cache.use_line(line).is_valid(), reference.touch(line));
            }
        }
        let mut present: Vec<_> = cache.lines().map(|victim| victim.line).collect();
        let mut expected: Vec<_> = reference.sets.concat();
        present.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(present, expected);
    }

    #[test]
    fn whatever_the_replacement_a_line_is_where_it_was_put_until_it_is_returned(
        ways in 1usize..=32,
        replacement in prop::sample::select(POLICIES),
        lines in prop::collection::vec(0u64..200, 1..300),
    ) {
        let random = &mut random();
        let mut cache = Cache::new(&CacheSpec { sets: 4, ways, replacement, page_shift: 0 });
        let mut present = std::collections::BTreeMap::new();
        for (number, line) in lines.into_iter().enumerate() {
            let version = Version(number as u32);
            let slot = match cache.look_up(line) {
                Some((found, _)) => found.slot,
                None => {
                    let (slot, victim) = cache.make_room(line, |_| false, random).expect("a place");
                    if let Some(victim) = victim {
                        prop_assert_eq!(present.remove(&victim.line), Some(victim.version));
                    }
                    slot
                }
            };
            cache.place(slot, line, CopyState::MODIFIED, version);
            present.insert(line, version);
        }
        let found: std::collections::BTreeMap<_, _> = cache.lines().map(|victim| (victim.line, victim.version)).collect();
        prop_assert_eq!(&found, &present);
        let mut cursor = 0;
        while let Some((victim, set)) = cache.take_from(cursor) {
            prop_assert_eq!(present.remove(&victim.line), Some(victim.version));
            cursor = set;
        }
        prop_assert!(present.is_empty());
    }
}
