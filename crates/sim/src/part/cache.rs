//! The tag store of a set-associative cache: any number of sets, ways and lines, any replacement.

use machine::description::Replacement;
use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::recency::Recency;

/// The shape of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheSpec {
    /// Sets: a power of two.
    pub sets: usize,
    /// Lines in a set: 1 to [`CacheSpec::MOST_WAYS`].
    pub ways: usize,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Lines of a page, a shift, whose frames are scattered; 0 if consecutive pages have consecutive frames.
    pub page_shift: u32,
}

impl CacheSpec {
    /// Maximum number of ways.
    pub const MOST_WAYS: usize = machine::description::MOST_WAYS as usize;
}

/// One tag: the line's address in the upper bits, the byte of its [`CopyState`] in the lowest eight. Zero is an empty
/// way.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Tag(u64);

impl Tag {
    const STATE_BITS: u32 = u8::BITS;

    /// The tag of a line; an empty one for an invalid `state`.
    #[inline]
    fn new(line: u64, state: CopyState) -> Self {
        if state.is_valid() { Self(line << Self::STATE_BITS | u64::from(state.bits())) } else { Self(0) }
    }

    #[inline]
    fn line(self) -> u64 {
        self.0 >> Self::STATE_BITS
    }

    #[inline]
    fn state(self) -> CopyState {
        CopyState::from_bits(self.0 as u8)
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is the tag of `line`, in one comparison: what differs from the line's address is a state, which is not zero.
    #[inline]
    fn matches(self, line: u64) -> bool {
        (self.0 ^ line << Self::STATE_BITS).wrapping_sub(1) < u64::from(u8::MAX)
    }
}

/// A position in a cache: set and way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    set: u32,
    way: u8,
}

/// A line found in a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its position.
    pub slot: Slot,
    /// Its state, never [`CopyState::INVALID`].
    pub state: CopyState,
}

/// The result of one look at a set.
enum Seen {
    /// The line, in this way.
    Present(usize),
    /// An empty way that may be filled.
    Empty(usize),
    /// Neither.
    Full,
}

/// A line that is present, or was before its eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Victim {
    /// Its address, divided by the line size.
    pub line: u64,
    /// Its state.
    pub state: CopyState,
    /// The version of its data, if the cache holds versions.
    pub version: Version,
}

/// The line in a frame that is drawn for its page, by the page's number: the mixing function of SplitMix64.
#[inline]
fn scattered(line: u64, page_shift: u32) -> u64 {
    let mut frame = line >> page_shift;
    frame = (frame ^ frame >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    frame = (frame ^ frame >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (frame ^ frame >> 31) << page_shift | line & ((1 << page_shift) - 1)
}

/// The state of a cache: tags, and the versions of the data in the cache that holds them for its processor.
///
/// Lines are addresses divided by the cache's line size. Untouched sets occupy no memory of the host.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The bits of [`Tag`]s and the numbers of [`Version`]s, as plain integers that the host allocates zeroed.
    tags: Vec<u64>,
    versions: Vec<u32>,
    recency: Recency,
    ways: usize,
    set_mask: u64,
    page_shift: u32,
}

impl Cache {
    /// An empty cache that holds data.
    pub fn new(spec: &CacheSpec) -> Self {
        Self { versions: vec![0; spec.sets * spec.ways], ..Self::of_tags(spec) }
    }

    /// An empty cache of tags alone, whose data another cache holds, too: a primary cache within an inclusive secondary
    /// one.
    pub fn of_tags(spec: &CacheSpec) -> Self {
        debug_assert!(spec.sets.is_power_of_two() && (1..=CacheSpec::MOST_WAYS).contains(&spec.ways));
        Self {
            tags: vec![0; spec.sets * spec.ways],
            versions: Vec::new(),
            recency: Recency::new(spec.replacement, spec.sets, spec.ways),
            ways: spec.ways,
            set_mask: spec.sets as u64 - 1,
            page_shift: spec.page_shift,
        }
    }

    /// The line in the frame of its page, which selects its set: the same for all caches whose pages are scattered alike.
    #[inline]
    pub fn frame(&self, line: u64) -> u64 {
        if self.page_shift == 0 { line } else { scattered(line, self.page_shift) }
    }

    #[inline]
    fn set_of(&self, line: u64) -> usize {
        (self.frame(line) & self.set_mask) as usize
    }

    #[inline]
    fn index(&self, slot: Slot) -> usize {
        slot.set as usize * self.ways + usize::from(slot.way)
    }

    /// Probes for `line` without updating the recency.
    #[inline(always)]
    pub fn probe(&self, line: u64) -> Option<Found> {
        let set = self.set_of(line);
        let (way, tag) = self.tag_of(set, line)?;
        Some(Found { slot: Slot { set: set as u32, way: way as u8 }, state: tag.state() })
    }

    /// Whether a slot is the most recently used one of its set, where way prediction finds its line at the first access.
    #[inline]
    pub fn is_predicted(&self, slot: Slot) -> bool {
        self.recency.last(slot.set as usize) == usize::from(slot.way)
    }

    /// Looks up `line` on behalf of the processor: a hit makes its way the most recently used. Returns whether it was predicted,
    /// too.
    #[inline(always)]
    pub fn look_up(&mut self, line: u64) -> Option<(Found, bool)> {
        let found = self.probe(line)?;
        let predicted = self.is_predicted(found.slot);
        self.recency.touch(found.slot.set as usize, usize::from(found.slot.way));
        Some((found, predicted))
    }

    /// As [`Self::look_up`], but returns the state alone, [`CopyState::INVALID`] on a miss.
    #[inline(always)]
    pub fn use_line(&mut self, line: u64) -> CopyState {
        let set = self.set_of(line);
        if self.ways <= 2 {
            return self.use_one_of_two(set, line);
        }
        let last = self.recency.last(set);
        let tag = Tag(self.tags[set * self.ways + last]);
        if !tag.matches(line) {
            return self.use_other_way(set, line);
        }
        tag.state()
    }

    /// The same for at most two ways. Both tags are read at once: a host that reads the most recently used way first waits for
    /// two of its own caches' misses in a row.
    #[inline(always)]
    fn use_one_of_two(&mut self, set: usize, line: u64) -> CopyState {
        let second = self.ways - 1;
        let base = set << second;
        let tags = [Tag(self.tags[base]), Tag(self.tags[base | second])];
        let (way, tag) = if tags[1].matches(line) { (second, tags[1]) } else { (0, tags[0]) };
        if !tag.matches(line) {
            return CopyState::INVALID;
        }
        self.recency.touch_one_of_two(set, way);
        tag.state()
    }

    /// The same where the most recently used way of `set` holds another line.
    fn use_other_way(&mut self, set: usize, line: u64) -> CopyState {
        let Some((way, tag)) = self.tag_of(set, line) else { return CopyState::INVALID };
        self.recency.touch(set, way);
        tag.state()
    }

    /// The way of `set` that holds `line`, with its tag.
    #[inline]
    fn tag_of(&self, set: usize, line: u64) -> Option<(usize, Tag)> {
        let tags = &self.tags[set * self.ways..][..self.ways];
        let (way, &tag) = tags.iter().enumerate().find(|&(_, &tag)| Tag(tag).matches(line))?;
        Some((way, Tag(tag)))
    }

    /// Whether `line` is absent, and so many lines of its set have work under way (`busy` are the frames of all that do) that they need
    /// every slot.
    #[inline]
    pub fn lacks_room(&self, line: u64, busy: impl ExactSizeIterator<Item = u64>) -> bool {
        if busy.len() < self.ways {
            return false;
        }
        let set = self.set_of(line) as u64;
        busy.filter(|frame| frame & self.set_mask == set).count() >= self.ways && self.probe(line).is_none()
    }

    /// The slots of those `others`, lines with their frames, that are in the set of `line`.
    #[inline]
    pub fn slots_beside(&self, line: u64, others: impl Iterator<Item = (u64, u64)>) -> impl Iterator<Item = Slot> {
        let set = self.set_of(line);
        let of_set = others.filter(move |(_, frame)| frame & self.set_mask == set as u64);
        of_set.filter_map(move |(other, _)| {
            self.tag_of(set, other).map(|(way, _)| Slot { set: set as u32, way: way as u8 })
        })
    }

    /// Frees a slot for `line`: an empty one, otherwise the one that the replacement policy selects; never a `reserved`
    /// one. Returns the slot with the evicted line; `None` if every slot is reserved.
    pub fn make_room(
        &mut self,
        line: u64,
        reserved: impl Fn(Slot) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<(Slot, Option<Victim>)> {
        let set = self.set_of(line);
        let slot = |way: usize| Slot { set: set as u32, way: way as u8 };
        let empty = (0..self.ways).find(|&way| self.tags[set * self.ways + way] == 0 && !reserved(slot(way)));
        let (way, victim) = match empty {
            Some(way) => (way, None),
            None => self.displace(set, &reserved, random)?,
        };
        Some((slot(way), victim))
    }

    /// Fills `line` into its present slot or into one that is freed for it, never a `reserved` one. Returns the evicted line, if
    /// there is one; `None` if every slot is reserved.
    #[inline]
    pub fn fill(
        &mut self,
        line: u64,
        (state, version): (CopyState, Version),
        reserved: impl Fn(Slot) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<Option<Victim>> {
        let set = self.set_of(line);
        let (way, victim) = match self.seek(set, line, &reserved) {
            Seen::Present(way) => (way, None),
            Seen::Empty(way) => (way, None),
            Seen::Full => self.displace(set, &reserved, random)?,
        };
        self.place(Slot { set: set as u32, way: way as u8 }, line, state, version);
        Some(victim)
    }

    /// Frees the slot that [`Self::fill`] will select for `line`. Returns the evicted line.
    #[inline]
    pub fn make_room_for_fill(&mut self, line: u64, random: &mut Xoshiro256PlusPlus) -> Option<Victim> {
        let (set, reserved) = (self.set_of(line), |_| false);
        match self.seek(set, line, &reserved) {
            Seen::Present(_) | Seen::Empty(_) => None,
            Seen::Full => self.displace(set, &reserved, random).and_then(|(_, victim)| victim),
        }
    }

    /// One look at the ways of `set`, for `line` or an empty way that is not `reserved`.
    #[inline]
    fn seek(&self, set: usize, line: u64, reserved: &impl Fn(Slot) -> bool) -> Seen {
        let mut seen = Seen::Full;
        for (way, &tag) in self.tags[set * self.ways..][..self.ways].iter().enumerate() {
            if Tag(tag).matches(line) {
                return Seen::Present(way);
            }
            let slot = Slot { set: set as u32, way: way as u8 };
            if tag == 0 && matches!(seen, Seen::Full) && !reserved(slot) {
                seen = Seen::Empty(way);
            }
        }
        seen
    }

    /// Empties the way of `set` that the replacement policy selects, never a `reserved` one. Returns it with its line.
    fn displace(
        &mut self,
        set: usize,
        reserved: &impl Fn(Slot) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<(usize, Option<Victim>)> {
        let slot = |way: usize| Slot { set: set as u32, way: way as u8 };
        let way = self.recency.candidates(set, random).find(|&way| !reserved(slot(way)))?;
        Some((way, self.take(set * self.ways + way)))
    }

    /// The set of a line, and the lines that it has.
    pub fn set_and_ways(&self, line: u64) -> (usize, usize) {
        (self.set_of(line), self.ways)
    }

    /// Whether two lines map to the same set.
    pub fn shares_set(&self, one: u64, other: u64) -> bool {
        self.set_of(one) == self.set_of(other)
    }

    /// The slots that `line` can occupy.
    pub fn places(&self, line: u64) -> impl Iterator<Item = Slot> + use<> {
        let set = self.set_of(line) as u32;
        (0..self.ways as u8).map(move |way| Slot { set, way })
    }

    /// The line in `slot`, if it is not empty.
    pub fn occupant(&self, slot: Slot) -> Option<u64> {
        self.line_at(self.index(slot)).map(|found| found.line)
    }

    /// Empties `slot`.
    pub fn empty(&mut self, slot: Slot) {
        let index = self.index(slot);
        self.tags[index] = 0;
    }

    /// Places `line` in `slot`, as the most recently used one.
    pub fn place(&mut self, slot: Slot, line: u64, state: CopyState, version: Version) {
        self.update(slot, line, state, version);
        self.recency.touch(slot.set as usize, usize::from(slot.way));
    }

    /// Makes the line in `slot` the most recently used of its set.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        self.recency.touch(slot.set as usize, usize::from(slot.way));
    }

    /// The version of the data in `slot`.
    #[inline]
    pub fn version(&self, slot: Slot) -> Version {
        Version(self.versions.get(self.index(slot)).copied().unwrap_or_default())
    }

    /// Updates state and version of the line in `slot`.
    #[inline]
    pub fn update(&mut self, slot: Slot, line: u64, state: CopyState, version: Version) {
        let index = self.index(slot);
        self.tags[index] = Tag::new(line, state).0;
        if let Some(place) = self.versions.get_mut(index) {
            *place = version.0;
        }
    }

    /// Updates the state of `line` if it is present; its version stays.
    pub fn set_state(&mut self, line: u64, state: CopyState) {
        let set = self.set_of(line);
        if let Some((way, _)) = self.tag_of(set, line) {
            self.tags[set * self.ways + way] = Tag::new(line, state).0;
        }
    }

    /// Empties the cache.
    pub fn clear(&mut self) {
        self.tags.fill(0);
    }

    /// All lines present, in the order of the sets.
    pub fn lines(&self) -> impl Iterator<Item = Victim> + '_ {
        (0..self.tags.len()).filter_map(|index| self.line_at(index))
    }

    /// Evicts the first line found from set `cursor` on. Returns it with its set.
    pub fn take_from(&mut self, cursor: usize) -> Option<(Victim, usize)> {
        let from = cursor * self.ways;
        let index = from + self.tags.get(from..)?.iter().position(|&tag| tag != 0)?;
        self.take(index).map(|victim| (victim, index / self.ways))
    }

    fn line_at(&self, index: usize) -> Option<Victim> {
        let tag = Tag(self.tags[index]);
        let version = Version(self.versions.get(index).copied().unwrap_or_default());
        (!tag.is_empty()).then(|| Victim { line: tag.line(), state: tag.state(), version })
    }

    fn take(&mut self, index: usize) -> Option<Victim> {
        let victim = self.line_at(index);
        self.tags[index] = 0;
        victim
    }
}

#[cfg(test)]
mod tests;
