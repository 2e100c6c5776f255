//! Property tests of cache levels in every relation.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_xoshiro::rand_core::SeedableRng;

use machine::description::Replacement;

use super::super::{CacheSpec, LevelSpec, Levels};
use super::*;

const RELATIONS: [Inclusion; 3] = [Inclusion::Inclusive, Inclusion::Exclusive, Inclusion::Neither];

fn level(sets: usize, ways: usize, shift: u32, inclusion: Inclusion) -> LevelSpec {
    let cache = CacheSpec { sets, ways, replacement: Replacement::LeastRecentlyUsed, page_shift: 0 };
    LevelSpec { cache, shift, inclusion, through: false, allocates: true, keeps: true }
}

/// Levels of one to three, each in any relation to the next. Lines grow by a factor of two towards a level that includes those
/// inside.
fn levels() -> impl Strategy<Value = Vec<LevelSpec>> {
    let relation = || prop::sample::select(RELATIONS.to_vec());
    (1usize..=3, relation(), relation()).prop_map(|(count, first, second)| {
        let longer = |inclusion| u32::from(inclusion == Inclusion::Inclusive);
        let all = [
            level(2, 2, 0, if count > 1 { first } else { Inclusion::Inclusive }),
            level(4, 2, longer(first), if count > 2 { second } else { Inclusion::Inclusive }),
            level(8, 2, longer(first) + longer(second), Inclusion::Inclusive),
        ];
        all[..count].to_vec()
    })
}

/// A reference as a processor makes it, without time: a hit, or a miss that is filled at once. Returns the version that it saw.
fn reference(
    caches: &mut Hierarchy,
    block: u64,
    next: Option<Version>,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Version> {
    let (access, shift) =
        (if next.is_some() { Access::Store } else { Access::Load }, caches.levels.specs[caches.levels.outermost].shift);
    let line = block >> shift;
    let reserved = |_| false;
    let found = caches.find(line);
    let seen = found.map(|held| held.version);
    let state =
        if next.is_some() { CopyState::MODIFIED } else { found.map_or(CopyState::EXCLUSIVE, |held| held.state) };
    let version = next.or(seen).unwrap_or_default();
    let level = match caches.hit(block, access, 0) {
        Ok(level) => {
            caches.look_up(level, block);
            level
        }
        Err(held) => {
            assert_eq!(held, found, "the copy that a miss has so far");
            let place = match found {
                Some(held) => held.place,
                None => caches.make_room(caches.entry(), line, &reserved, random).expect("nothing is reserved"),
            };
            caches.place(place, line, state, version);
            usize::from(place.level)
        }
    };
    caches.set_held(line, state, version);
    caches.set_filters(line, state);
    caches.bring_in((block, level), (state, version), next.is_some(), &reserved, random);
    seen
}

/// Whether `level` has the part of a coherent line, or the line, to which `block` belongs.
fn has(caches: &Hierarchy, level: usize, block: u64) -> bool {
    caches.probe(level, block).is_some()
}

proptest! {
    /// Lines are where their relation wants them, have the version that was stored last, and are told when they leave.
    #[test]
    fn lines_are_where_their_relation_wants_them(
        levels in levels(),
        steps in prop::collection::vec((0u64..96, any::<bool>()), 1..400),
    ) {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
        let mut caches = Hierarchy::new(Levels::new(&levels).into());
        let (outermost, shift) = (caches.levels.outermost, levels[levels.len() - 1].shift);
        let mut held = BTreeMap::<u64, Version>::new();
        for (number, (block, stores)) in (1..).zip(steps) {
            let line = block >> shift;
            let version = Version(number);
            let seen = reference(&mut caches, block, stores.then_some(version), random);
            prop_assert_eq!(seen, held.get(&line).copied(), "the line, if it has not left");
            held.insert(line, if stores { version } else { seen.unwrap_or_default() });
            while let Some(victim) = caches.take_leaving() {
                prop_assert_eq!(held.remove(&victim.line), Some(victim.version));
            }
            prop_assert!(has(&caches, 0, block), "the primary level has what was referenced last");
            let lines: BTreeMap<_, _> = caches.lines().map(|victim| (victim.line, victim.version)).collect();
            prop_assert_eq!(&lines, &held);
            for (level, spec) in levels.iter().enumerate().take(outermost) {
                for block in 0..96 {
                    let (inside, outside) = (has(&caches, level, block), has(&caches, level + 1, block));
                    match spec.inclusion {
                        Inclusion::Inclusive => prop_assert!(!inside || outside, "level {} has {}", level, block),
                        Inclusion::Exclusive => prop_assert!(!(inside && outside), "both {} have {}", level, block),
                        Inclusion::Neither => {}
                    }
                    prop_assert!(!inside || held.contains_key(&(block >> shift)), "level {} kept {}", level, block);
                }
            }
        }
    }

    /// A line that another processor takes is nowhere.
    #[test]
    fn an_invalidated_line_is_in_no_level(levels in levels(), blocks in prop::collection::vec(0u64..96, 1..100)) {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
        let mut caches = Hierarchy::new(Levels::new(&levels).into());
        for &block in &blocks {
            reference(&mut caches, block, None, random);
        }
        let line = blocks[0] >> caches.levels.specs[caches.levels.outermost].shift;
        caches.set_held(line, CopyState::INVALID, Version::default());
        caches.set_filters(line, CopyState::INVALID);
        prop_assert_eq!(caches.find(line), None);
        let shift = caches.levels.specs[caches.levels.outermost].shift;
        for level in 0..=caches.levels.outermost {
            prop_assert!((line << shift..(line + 1) << shift).all(|block| !has(&caches, level, block)));
        }
    }
}

#[test]
fn reserved_places_keep_their_lines() {
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
    let mut caches = Hierarchy::new(
        Levels::new(&[level(1, 1, 0, Inclusion::Exclusive), level(1, 1, 0, Inclusion::Inclusive)]).into(),
    );
    reference(&mut caches, 1, Some(Version(1)), random);
    let kept = caches.find(1).expect("it was just stored to").place;
    assert_eq!((kept.level, caches.entry()), (0, 0));
    assert_eq!(caches.make_room(0, 2, &|place| place == kept, random), None);
    assert!(!caches.has_room(0, 2, &|place| place == kept) && caches.has_room(1, 2, &|place| place == kept));
    // With the outer slot reserved as well, the displaced line leaves.
    let outer = caches.make_room(1, 3, &|_| false, random).expect("an empty slot");
    let room = caches.make_room(0, 2, &|place| place == outer, random);
    assert_eq!(room, Some(kept));
    assert_eq!(caches.take_leaving().map(|victim| (victim.line, victim.version)), Some((1, Version(1))));
}
