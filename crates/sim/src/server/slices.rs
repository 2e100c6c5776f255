//! The caching agents of a core cluster in the simulator: lines at rest by address, lines with work under way by slice, and the tags
//! that limit both the third-level cache and the snoop filter.

use engine::Server;
use machine::description::{Description, Replacement, SliceKind};
use protocol::server::{CachingLine, ClusterState, External, L3Copy};
use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use units::{Bytes, LineAddr, NodeId, Time};

use super::parked::Parked;
use super::under_way::UnderWay;
use crate::SimError;
use crate::map::{LineMap, LineTable};
use crate::part::{Cache, CacheSpec, Others, Slot, is_of_others};
use crate::system::Served;

/// A line at rest, packed.
#[derive(Clone, Copy, Default)]
pub(super) struct Resting {
    cores: u64,
    contents: u32,
    /// State, copy of the third-level cache, whether one core may write, and whether the line is not at rest.
    flags: u8,
}

const STATES: [ClusterState; 5] =
    [ClusterState::Invalid, ClusterState::Shared, ClusterState::Forward, ClusterState::Owned, ClusterState::Exclusive];
const COPIES: [L3Copy; 3] = [L3Copy::None, L3Copy::Clean, L3Copy::Dirty];
const COPY_SHIFT: u32 = 3;
const SOLE: u8 = 1 << 5;
const ACTIVE: u8 = 1 << 6;

impl Resting {
    fn pack(line: &CachingLine) -> Self {
        let flags = line.state as u8 | (line.l3 as u8) << COPY_SHIFT | if line.sole { SOLE } else { 0 };
        Self { cores: line.cores, contents: line.contents.0, flags }
    }

    /// The line.
    pub(super) fn line(self) -> CachingLine {
        CachingLine {
            cores: self.cores,
            contents: Version(self.contents),
            state: STATES[usize::from(self.flags & 7)],
            l3: COPIES[usize::from(self.flags >> COPY_SHIFT & 3)],
            sole: self.flags & SOLE != 0,
            ..CachingLine::default()
        }
    }
}

/// A line with work under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub(super) line: LineAddr,
    pub(super) state: CachingLine,
    /// How the present request has been served, as far as it is known; `None` until another agent has had a part in it.
    pub(super) served: Option<Served>,
}

/// A slice with its caching agent.
pub(super) struct Slice {
    /// The lines of the third-level cache.
    pub(super) tags: Cache,
    /// Lines of others in it.
    others: Option<Others>,
    /// The lines that cores have, where there is a snoop filter of limited size.
    pub(super) filter: Option<Cache>,
    pub(super) pipeline: Server,
    pub(super) active: UnderWay<Active>,
    /// Messages that wait for their line, for a tracker or for room.
    pub(super) parked: Parked,
    /// The last arrival at each memory controller of what this slice has sent there.
    pub(super) arrivals: Vec<Time>,
    /// Lines in buffers: every place of their set was another's with work under way.
    buffered: Vec<(LineAddr, Room)>,
    reserved: Vec<Slot>,
}

/// The caching agents of a core cluster.
pub(super) struct Cluster {
    pub(super) slices: Vec<Slice>,
    /// The store in which every line that a core has needs a place, if it is of limited size.
    limited: Option<Room>,
    resting: LineTable<Resting>,
    random: Xoshiro256PlusPlus,
}

/// A store of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// The third-level cache.
    L3,
    /// The snoop filter.
    Filter,
}

/// A step of a line at its slice, as the tags see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// By [`Room`], whether the line may have had a place there before.
    had: [bool; 2],
    /// Whether it needs one from now on.
    needs: [bool; 2],
    /// Whether it is used, and so the last to be replaced.
    uses: bool,
}

impl Step {
    /// The step from one state to another, which uses the line or not.
    pub(super) fn new(before: &CachingLine, after: &CachingLine, uses: bool) -> Self {
        Self { had: rooms(before), needs: rooms(after), uses }
    }

    /// Steps of which only the last state is known.
    pub(super) fn to(after: &CachingLine) -> Self {
        Self { had: [true; 2], needs: rooms(after), uses: false }
    }
}

/// By [`Room`], whether a line in this state needs a place there. One that is being replaced has given up its place already.
fn rooms(line: &CachingLine) -> [bool; 2] {
    let &CachingLine { l3, cores, external, .. } = line;
    [
        l3 != L3Copy::None && external != Some(External::ReplaceL3),
        cores != 0 && external != Some(External::ReplaceFilter),
    ]
}

impl Cluster {
    /// Empty slices, `count` of them, of a machine with these nodes and memory controllers in all.
    ///
    /// # Errors
    /// It describes another kind of node.
    pub(super) fn new(
        description: &Description,
        lines: LineMap,
        (count, nodes, controllers): (u16, usize, usize),
        seed: u64,
    ) -> Result<Self, SimError> {
        let spec = SimError::table(description.l3_slice.as_ref(), description, "server")?;
        let sets = |ways: u32, size: u64| (size / u64::from(ways)) as usize;
        let page_shift = description.scattered_page_shift(description.coherent_cache().line);
        let cache = |sets: usize, ways: u32, replacement: Replacement| {
            Cache::of_tags(&CacheSpec { sets, ways: ways as usize, replacement, page_shift })
        };
        let line = description.coherent_cache().line.0;
        let slice_sets = sets(spec.ways, spec.size.0 / line);
        let slice = || Slice {
            tags: cache(slice_sets, spec.ways, spec.replacement),
            others: Others::new(spec.others_mb_per_s, Bytes(line), slice_sets * usize::from(count), slice_sets),
            filter: (spec.kind == SliceKind::Victim)
                .then(|| cache(spec.filter_sets as usize, spec.filter_ways, Replacement::LeastRecentlyUsed)),
            pipeline: Server::default(),
            active: UnderWay::default(),
            parked: Parked::default(),
            arrivals: vec![Time::ZERO; controllers],
            buffered: Vec::new(),
            reserved: Vec::new(),
        };
        let limited = match spec.kind {
            SliceKind::Inclusive => Some(Room::L3),
            SliceKind::Victim => Some(Room::Filter),
            SliceKind::ShadowTags => None,
        };
        Ok(Self {
            slices: (0..count).map(|_| slice()).collect(),
            limited,
            resting: LineTable::new(nodes, lines),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }

    /// The memory of a node now has `lines` lines.
    pub(super) fn extend(&mut self, node: NodeId, lines: u64) {
        self.resting.extend(node, lines);
    }

    /// A line, wherever it is.
    #[inline]
    pub(super) fn get(&mut self, slice: u16, line: LineAddr) -> Active {
        let resting = *self.resting.line(line);
        if resting.flags & ACTIVE != 0
            && let Some(active) = self.slices[usize::from(slice)].active.get(line)
        {
            return *active;
        }
        Active { line, state: resting.line(), served: None }
    }

    /// Whether a line has work under way.
    #[inline]
    pub(super) fn is_active(&mut self, line: LineAddr) -> bool {
        self.resting.line(line).flags & ACTIVE != 0
    }

    /// Sets a line.
    #[inline]
    pub(super) fn set(&mut self, slice: u16, new: Active) {
        let resting = self.resting.line(new.line);
        let was = resting.flags & ACTIVE != 0;
        let quiet = new.state.is_quiet() && !new.state.is_collecting();
        *resting = Resting::pack(&new.state);
        if !quiet {
            resting.flags |= ACTIVE;
        }
        let Slice { active, tags, .. } = &mut self.slices[usize::from(slice)];
        match (was, quiet) {
            (false, true) => {}
            (false, false) => active.begin(new.line, tags.frame(new.line.0), new),
            (true, false) => active.go_on(new.line, new),
            (true, true) => active.end(new.line),
        }
    }

    /// Whether a core's request must wait for room: the line has no place in the store in which cores' lines need one, and every
    /// place of its set is or will be another's with work under way. Nothing else waits for room, so that all that work ends
    /// (as explored, with room for one of two lines).
    #[inline]
    pub(super) fn lacks_room(&self, slice: u16, line: LineAddr) -> bool {
        let Slice { tags, filter, active, .. } = &self.slices[usize::from(slice)];
        let store = match (self.limited, filter) {
            (Some(Room::L3), _) => tags,
            (Some(Room::Filter), Some(filter)) => filter,
            _ => return false,
        };
        store.lacks_room(line.0, active.frames())
    }

    /// The lines of others take their places in the set of a line that is looked for at `now`. Returns a line that must be replaced;
    /// `left`, at first `None`, has how many are still to take one.
    #[inline]
    pub(super) fn let_others_in(
        &mut self,
        slice: u16,
        line: LineAddr,
        now: Time,
        left: &mut Option<usize>,
    ) -> Option<LineAddr> {
        let Slice { tags, others, active, reserved, .. } = &mut self.slices[usize::from(slice)];
        let others = others.as_mut()?;
        let left = left.get_or_insert_with(|| others.came(tags.set_and_ways(line.0), now, &mut self.random));
        if *left == 0 {
            return None;
        }
        reserved.clear();
        reserved.extend(tags.slots_beside(line.0, active.lines()));
        while *left > 0 {
            *left -= 1;
            let victim = Others::take_place(tags, line, |slot| reserved.contains(&slot), &mut self.random);
            if victim.is_some() {
                return victim;
            }
        }
        None
    }

    /// Brings the tags of a slice up to date with a line. Returns the line that must be replaced, and where.
    pub(super) fn settle(&mut self, slice: u16, line: LineAddr, step: &Step) -> Option<(LineAddr, Room)> {
        [Room::L3, Room::Filter]
            .into_iter()
            .find_map(|room| self.settle_in(slice, line, room, step).map(|victim| (victim, room)))
    }

    fn settle_in(&mut self, slice: u16, line: LineAddr, room: Room, step: &Step) -> Option<LineAddr> {
        let [had, needs] = [step.had, step.needs].map(|rooms| rooms[room as usize]);
        // The tags, large and for the most part not in the host's caches, are left alone.
        if !had && !needs {
            return None;
        }
        let Slice { tags, filter, active, reserved, buffered, .. } = &mut self.slices[usize::from(slice)];
        let store = match room {
            Room::L3 => tags,
            Room::Filter => filter.as_mut()?,
        };
        if had && needs && !step.uses && buffered.is_empty() {
            debug_assert!(store.probe(line.0).is_some(), "{line:?} has lost its place");
            return None;
        }
        buffered.retain(|&its| its != (line, room));
        let Some(found) = store.probe(line.0) else {
            if !needs {
                return None;
            }
            // A line with work under way is not replaced. If all are (others' snoops wait for no room), the new one is in a
            // buffer for now.
            reserved.clear();
            reserved.extend(store.slots_beside(line.0, active.lines()));
            let room_made = store.make_room(line.0, |slot| reserved.contains(&slot), &mut self.random);
            let Some((slot, victim)) = room_made else {
                buffered.push((line, room));
                return None;
            };
            store.place(slot, line.0, CopyState::SHARED, Version::default());
            return victim.map(|victim| LineAddr(victim.line)).filter(|&victim| !is_of_others(victim));
        };
        if step.uses {
            store.touch(found.slot);
        }
        if !needs {
            store.empty(found.slot);
        }
        None
    }

    /// The lines of a slice's third-level cache that have no work under way.
    pub(super) fn at_rest(&mut self, slice: u16) -> Vec<LineAddr> {
        let lines: Vec<_> = self.slices[usize::from(slice)].tags.lines().map(|found| LineAddr(found.line)).collect();
        lines.into_iter().filter(|&line| !is_of_others(line) && !self.is_active(line)).collect()
    }

    /// Whether any slice has work under way.
    pub(super) fn works(&self) -> bool {
        self.slices.iter().any(|slice| slice.active.len() > 0)
    }
}

#[cfg(test)]
mod tests {
    use protocol::server::{Request, Stage};
    use units::CpuId;

    use super::*;

    #[test]
    fn a_line_at_rest_is_what_it_was() {
        for (state, l3, sole) in STATES.iter().flat_map(|&state| COPIES.map(|l3| (state, l3, l3 == L3Copy::None))) {
            let line = CachingLine {
                cores: 0x8000_0000_0000_0001,
                contents: Version(7),
                state,
                l3,
                sole,
                ..Default::default()
            };
            assert_eq!(Resting::pack(&line).line(), line);
        }
    }

    #[test]
    fn work_under_way_is_kept_until_it_ends() {
        let description = machine::load("xeon-8180-2s").expect("a machine");
        let lines = LineMap::of(&description);
        let mut cluster = Cluster::new(&description, lines, (2, 2, 4), 1).expect("a server");
        cluster.extend(NodeId(0), 100);
        let request = Request { core: CpuId(3), kind: protocol::server::MessageKind::CoreRead, stage: Stage::Cores };
        let mut line = Active { line: LineAddr(9), state: CachingLine::default(), served: Some(Served::ByHome) };
        line.state.request = Some(request);
        cluster.set(1, line);
        assert!(cluster.is_active(LineAddr(9)));
        assert_eq!(cluster.get(1, LineAddr(9)).state, line.state);
        (line.state.request, line.state.cores) = (None, 4);
        cluster.set(1, line);
        assert!(!cluster.is_active(LineAddr(9)));
        assert_eq!((cluster.get(1, LineAddr(9)).state.cores, cluster.slices[1].active.len()), (4, 0));
    }

    #[test]
    fn a_line_in_a_buffer_takes_the_first_place_that_is_free_again() {
        let description = machine::load("xeon-8180-2s").expect("a machine");
        let spec = description.l3_slice.as_ref().expect("slices");
        let (ways, sets) = (u64::from(spec.filter_ways), u64::from(spec.filter_sets));
        let mut cluster = Cluster::new(&description, LineMap::of(&description), (2, 2, 4), 1).expect("a server");
        cluster.extend(NodeId(0), sets * (ways + 1));
        let line = |number: u64| LineAddr(number * sets);
        let request = Request { core: CpuId(0), kind: protocol::server::MessageKind::CoreRead, stage: Stage::Cores };
        let busy = CachingLine { cores: 1, request: Some(request), ..CachingLine::default() };
        let arrives = Step::new(&CachingLine::default(), &busy, true);
        for number in 0..=ways {
            cluster.set(0, Active { line: line(number), state: busy, served: None });
            assert_eq!(cluster.settle(0, line(number), &arrives), None);
        }
        assert_eq!(cluster.slices[0].buffered, [(line(ways), Room::Filter)]);
        let response = Step::new(&busy, &busy, false);
        assert_eq!(cluster.settle(0, line(ways), &response), None, "every other line has work under way");
        cluster.set(0, Active { line: line(3), state: CachingLine { request: None, ..busy }, served: None });
        assert_eq!(cluster.settle(0, line(ways), &response), Some((line(3), Room::Filter)));
        assert!(cluster.slices[0].buffered.is_empty());
    }
}
