//! The fixed properties of a hierarchy of caches, which all processors of a machine share.

use machine::description::{Inclusion, MOST_CACHE_LEVELS, Replacement};

use super::CacheSpec;

/// A level of a hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelSpec {
    /// Its tags.
    pub cache: CacheSpec,
    /// Primary blocks in a line, a binary logarithm.
    pub shift: u32,
    /// The relation of its contents to those of the level outside.
    pub inclusion: Inclusion,
    /// Whether stores that hit go on to the level outside.
    pub through: bool,
    /// Whether a store that misses brings its line into this level.
    pub allocates: bool,
    /// Whether a store that hits leaves its line in this level.
    pub keeps: bool,
}

/// The levels of a hierarchy. One copy serves all processors, so that it stays in the host's first-level cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Levels {
    /// The levels, innermost first; those beyond the outermost one are empty.
    pub specs: [LevelSpec; MOST_CACHE_LEVELS],
    /// The number of the outermost level.
    pub outermost: usize,
    /// The innermost holder.
    pub holder: usize,
    /// The outermost level that receives a line from memory.
    pub entry: usize,
}

impl Levels {
    /// The hierarchy of these levels, innermost first: one to [`MOST_CACHE_LEVELS`].
    pub fn new(levels: &[LevelSpec]) -> Self {
        debug_assert!((1..=MOST_CACHE_LEVELS).contains(&levels.len()));
        let absent = LevelSpec {
            cache: CacheSpec { sets: 1, ways: 1, replacement: Replacement::Random, page_shift: 0 },
            shift: 0,
            inclusion: Inclusion::Inclusive,
            through: false,
            allocates: true,
            keeps: true,
        };
        let specs: [LevelSpec; MOST_CACHE_LEVELS] =
            std::array::from_fn(|level| levels.get(level).copied().unwrap_or(absent));
        let outermost = levels.len() - 1;
        let inside = |holds: &dyn Fn(Inclusion) -> bool| {
            (0..outermost).rev().take_while(|&level| holds(specs[level].inclusion)).last().unwrap_or(outermost)
        };
        let holder = inside(&|inclusion| inclusion != Inclusion::Inclusive);
        let entry = inside(&|inclusion| inclusion == Inclusion::Exclusive);
        Self { specs, outermost, holder, entry }
    }
}
