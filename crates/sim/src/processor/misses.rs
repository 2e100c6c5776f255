//! Outstanding misses: the processor's side of the coherency request buffer.

use machine::description::MOST_MISSES;
use protocol::{Access, Rights};
use units::{LineAddr, Time};

use super::{Ask, CachedCopy, Cause, Processor, Service, Wait};
use crate::attribution::{Charge, Debt};
use crate::part::Slot;

/// Number of an outstanding miss of a processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MissId(pub u8);

impl MissId {
    /// Misses that a processor can have outstanding at most.
    pub const CAPACITY: usize = MOST_MISSES as usize;
}

/// An outstanding miss.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// The line.
    pub line: LineAddr,
    /// The processor's copy, which counts until the line is placed in the cache.
    pub copy: CachedCopy,
    /// Whether the answer to the request is still to come.
    pub(super) requested: bool,
    /// Whether the controller has granted it: it may know so before it can answer.
    pub(super) granted: bool,
    /// Whether it has ended in a bus error, and waits for the operating system.
    pub(super) trapped: bool,
    /// The primary block that is wanted.
    pub(super) block: u64,
    /// The place kept for it in the secondary cache; none after it has left it to others ([`Processor::leave_place`]).
    pub(super) slot: Option<Slot>,
    /// How it is being served, as far as its home knows.
    pub(super) service: Service,
    /// Whether it is an upgrade: the processor still has a shared copy.
    pub(super) upgrade: bool,
    /// What the request was for.
    pub(super) access: Access,
    /// Stores that wait for it, as an observer counts them: its own, and those that joined it.
    pub(super) stores: u32,
    /// How often its request has been refused.
    pub(super) refusals: u32,
    /// Whether it is for a store or a write prefetch.
    pub(super) writes: bool,
    /// Whether a store waits for the line that was asked for by a load.
    pub(super) then_store: bool,
    /// When the wanted value is there, once that is known.
    pub(super) value_at: Option<Time>,
    /// Whom what is waited for it is to be charged to.
    pub(super) debt: Debt,
    /// Whether its line has come and waits in the processor's incoming buffer for the rest of the answer.
    pub(super) buffered: bool,
    /// When the end of the line will be in the cache, once that is known.
    pub fill_end: Time,
}

/// A request buffer that is still taken after its miss is over.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    until: Time,
    upgrade: bool,
    writes: bool,
}

/// No line has this address.
const NO_LINE: LineAddr = LineAddr(u64::MAX);

/// The misses of a processor. What every event looks for stands together, apart from what few need.
#[derive(Debug)]
pub(super) struct Misses {
    /// Lines of the outstanding misses ([`NO_LINE`] for none), and how many those are.
    lines: Box<[LineAddr]>,
    outstanding: u8,
    taken: Box<[Taken]>,
    entries: Box<[Option<Miss>]>,
}

impl Miss {
    /// Whether the controller has granted the request.
    pub const fn is_granted(&self) -> bool {
        self.granted
    }

    /// What whoever waits for it is charged with.
    pub(super) const fn charge(&self) -> Charge {
        Charge { cause: Cause::miss(self.writes, self.service), debt: self.debt }
    }
}

impl Misses {
    /// As many free miss registers.
    pub(super) fn new(registers: usize) -> Self {
        Self {
            lines: vec![NO_LINE; registers].into(),
            outstanding: 0,
            taken: vec![Taken::default(); registers].into(),
            entries: vec![None; registers].into(),
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (MissId, &Miss)> {
        (0u8..).map(MissId).zip(&self.entries).filter_map(|(id, miss)| Some((id, miss.as_ref()?)))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.outstanding == 0
    }

    /// Whether an outstanding miss keeps `slot`.
    pub(super) fn reserves(&self, slot: Slot) -> bool {
        self.iter().any(|(_, miss)| miss.slot == Some(slot))
    }

    pub(super) fn open(&mut self, id: MissId, miss: Miss) {
        self.lines[usize::from(id.0)] = miss.line;
        self.entries[usize::from(id.0)] = Some(miss);
        self.outstanding += 1;
    }

    /// Miss `id` is for `line` from now on.
    pub(super) fn rename(&mut self, id: MissId, line: LineAddr) {
        self.lines[usize::from(id.0)] = line;
    }

    fn close(&mut self, id: MissId, until: Time) -> Option<Miss> {
        let miss = self.entries[usize::from(id.0)].take()?;
        self.lines[usize::from(id.0)] = NO_LINE;
        self.outstanding -= 1;
        self.taken[usize::from(id.0)] = Taken { until, upgrade: miss.upgrade, writes: miss.writes };
        Some(miss)
    }
}

impl Processor {
    /// The outstanding miss on `line`.
    #[inline]
    pub fn miss_on(&self, line: LineAddr) -> Option<MissId> {
        if self.misses.is_empty() {
            return None;
        }
        let number = self.misses.lines.iter().position(|&other| other == line)?;
        Some(MissId(number as u8))
    }

    /// An outstanding miss.
    #[inline]
    pub fn miss(&self, id: MissId) -> Option<&Miss> {
        self.misses.entries[usize::from(id.0)].as_ref()
    }

    #[inline]
    pub(super) fn miss_mut(&mut self, id: MissId) -> Option<&mut Miss> {
        self.misses.entries[usize::from(id.0)].as_mut()
    }

    /// A free request buffer: one for a store if `writes`, an upgrade if `upgrade`; or what to wait for.
    #[inline]
    pub(super) fn free_miss(&self, writes: bool, upgrade: bool) -> Result<MissId, Wait> {
        let misses = &self.misses;
        let (mut free, mut stores, mut upgrades) = (None, 0, 0);
        let mut soonest: Option<Time> = None;
        for number in 0..self.timing.misses {
            let taken = misses.taken[number];
            let (is_store, is_upgrade) = match &misses.entries[number] {
                Some(miss) => (miss.writes, miss.upgrade),
                None if taken.until > self.time => {
                    soonest = Some(soonest.map_or(taken.until, |soonest| soonest.min(taken.until)));
                    (taken.writes, taken.upgrade)
                }
                None => {
                    free = free.or(Some(MissId(number as u8)));
                    continue;
                }
            };
            stores += usize::from(is_store);
            upgrades += usize::from(is_upgrade);
        }
        let full = writes && stores >= self.timing.stores || upgrade && upgrades >= self.timing.upgrades;
        match free {
            Some(id) if !full => Ok(id),
            _ => Err(soonest.map_or(Wait::AnyMiss, Wait::Until)),
        }
    }

    /// The value that miss `id` brings will be there at `at`: room is made for its block in the primary cache, and a
    /// modified block that leaves is booked on the secondary cache bus.
    pub fn set_value(&mut self, id: MissId, at: Time) {
        let Some(miss) = self.miss_mut(id) else { return };
        miss.value_at = Some(at);
        let stored = !miss.then_store || miss.copy.state.after(Access::Store).is_some();
        let (block, fill_end, service, charge) = (miss.block, miss.fill_end, miss.service, miss.charge());
        if self.value_from == Some(id) {
            self.value_from = None;
            self.value_at = at + self.work_after_value;
            (self.loaded_at, self.loaded_from) = (at, charge);
        }
        self.window.resolve(id, at, stored, service);
        if self.primary.make_room_for_fill(block, &mut self.random).is_some_and(|victim| victim.state.is_dirty()) {
            self.bus.book_primary_writeback(at, fill_end, &self.timing);
        }
    }

    /// The store, if any, that waited for the line of miss `id`, which is complete at `now`. Returns whether the line has
    /// to be asked for again: the load was given a copy that cannot be stored to.
    pub fn perform_waiting_store(&mut self, id: MissId, now: Time) -> bool {
        let at = now + self.timing.miss_to_request;
        let Some(miss) = self.miss_mut(id) else { return false };
        if !miss.then_store {
            return false;
        }
        miss.then_store = false;
        if let Some(state) = miss.copy.state.after(Access::Store) {
            miss.copy = CachedCopy { state, version: miss.copy.version.next() };
            self.observe_waiting_store(id, now);
            return false;
        }
        (miss.upgrade, miss.access, miss.granted) = (miss.copy.state.rights() == Rights::Read, Access::Store, false);
        (miss.writes, miss.requested, miss.buffered, miss.value_at, miss.fill_end) =
            (true, true, false, None, Time::ZERO);
        let (line, copy) = (miss.line, miss.copy);
        self.post(at, Ask::Request(Access::Store), line, copy);
        true
    }

    /// Miss `id` is over at `now`: the line takes its place in the caches, in the state in which the protocol left it. Its
    /// request buffer stays taken for a while: until the time returned.
    pub fn close_miss(&mut self, id: MissId, now: Time) -> Time {
        let free = now + self.timing.release;
        let Some(miss) = self.misses.close(id, free) else { return now };
        self.count_miss(id, &miss);
        if let Some(slot) = miss.slot {
            self.secondary.place(slot, miss.line.0, miss.copy.state, miss.copy.version);
        }
        if miss.upgrade {
            self.clear_primary(miss.line, miss.copy.state);
        }
        if miss.copy.state.is_valid() {
            self.primary.fill(miss.block, miss.copy.state, &mut self.random);
        }
        free
    }

    #[inline]
    pub(super) fn line_of_block(&self, block: u64) -> LineAddr {
        LineAddr(block >> (self.timing.line_shift - self.timing.block_shift))
    }
}
