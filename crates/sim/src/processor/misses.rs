//! Outstanding misses: the processor's miss registers (the R10000's coherent request buffer).

use machine::description::MOST_MISSES;
use protocol::{Access, Rights};
use units::{Duration, LineAddr, Time};

use super::{PostKind, Processor, Wait};
use crate::account::{Cause, Charge, MissTag, Service};
use crate::part::{CachedCopy, Place};

/// Number of an outstanding miss of a processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MissId(pub u8);

// A number has a byte.
const _: () = assert!(MOST_MISSES as usize + QUEUED <= 1 << u8::BITS);

/// An outstanding miss that its processor waits for: its number in a word, as wide as the other operands of waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Awaited(u64);

impl Awaited {
    /// Its number.
    #[inline]
    pub fn id(self) -> MissId {
        MissId(self.0 as u8)
    }
}

impl From<MissId> for Awaited {
    #[inline]
    fn from(id: MissId) -> Self {
        Self(id.0.into())
    }
}

impl Wait {
    /// For the value of a miss.
    #[inline]
    pub fn value_of(id: MissId) -> Self {
        Self::Value(id.into())
    }

    /// For the completion of a miss.
    #[inline]
    pub fn completion_of(id: MissId) -> Self {
        Self::Miss(id.into())
    }
}

/// An outstanding miss.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// The line.
    pub line: LineAddr,
    /// The processor's copy, which is authoritative until the line is placed in the cache.
    pub copy: CachedCopy,
    /// The wait of its request before it is posted.
    pub(super) waiting: Waiting,
    /// Whether the answer to the request is outstanding.
    pub(super) requested: bool,
    /// Whether the controller has granted the request, which may be before it can answer.
    pub(super) granted: bool,
    /// Whether the miss has ended in a bus error, and waits for the operating system.
    pub(super) trapped: bool,
    /// Whether its access is one to private data.
    pub(super) private: bool,
    /// The hardware thread of the core whose access opened it, and the set of those whose accesses wait for it, a bit each: no other takes
    /// its value.
    pub(super) opener: u8,
    pub(super) awaited_by: u8,
    /// Whether its store goes around the caches, to memory.
    pub(super) around: bool,
    /// The requested primary block.
    pub(super) block: u64,
    /// The place reserved for the line in the caches; `None` of a store that goes around them, and after the miss has released it
    /// ([`Processor::release_slot`]).
    pub(super) place: Option<Place>,
    /// Whether the hardware prefetcher requested the line, and whether the program has referenced it since.
    pub(super) prefetched: bool,
    pub(super) demanded: bool,
    /// Its service, as far as the home has determined it.
    pub(super) service: Service,
    /// Whether it is an upgrade: the processor still has a shared copy.
    pub(super) upgrade: bool,
    /// The access that missed.
    pub(super) access: Access,
    /// Stores that wait for the miss: its own, and those that joined it, which are counted while an observer follows the
    /// contents of lines.
    pub(super) stores: u32,
    /// NACKs of its request.
    pub(super) refusals: u32,
    /// Whether the access is a store or a write prefetch.
    pub(super) writes: bool,
    /// Whether a store waits for the line that a load requested.
    pub(super) then_store: bool,
    /// The time at which the value is available, once that is determined.
    pub(super) value_at: Option<Time>,
    /// Its tag in charges of waits for it.
    pub(super) tag: MissTag,
    /// Whether the line is in the processor's incoming buffer, waiting for the rest of the answer.
    pub(super) buffered: bool,
    /// The time at which the end of the line is in the cache, once that is determined.
    pub fill_end: Time,
}

/// The wait of the request of a miss, for another miss or for a miss register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiting {
    /// None: the request is posted.
    No,
    /// For the completion of this miss, and so much after its value it is at the pins.
    For(MissId, Duration),
    /// For a miss register, from this time on.
    Since(Time),
}

/// Misses in the load queue whose addresses are not there yet (a fraction of the 72 to 192 entries of servers' load queues: the rest
/// holds loads that hit).
const QUEUED: usize = 32;

/// A miss register that is still occupied after its miss has completed.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    until: Time,
    upgrade: bool,
    writes: bool,
    demanded: bool,
}

/// Classes of lines by the lowest bits of their addresses.
const ALIKE: usize = 64;

/// The class of a line.
#[inline]
const fn class_of(line: LineAddr) -> usize {
    line.0 as usize % ALIKE
}

/// The address of an unused miss register; no line has it.
const NO_LINE: LineAddr = LineAddr(u64::MAX);

/// The miss registers of a processor. The fields that every event searches are stored apart from the rest.
#[derive(Debug)]
pub(super) struct Misses {
    /// Lines of the outstanding misses ([`NO_LINE`] for none), and their number.
    lines: Vec<LineAddr>,
    outstanding: u8,
    /// Numbers of them by the lowest bits of their lines' addresses: most lines that are looked for have no miss, and need no search.
    alike: [u8; ALIKE],
    /// Those of them that wait for something before their requests are posted; there are entries for so many beside `registers`,
    /// from the first one on.
    waiting: usize,
    registers: usize,
    /// Number of the registers for which references may wait.
    buffers: usize,
    taken: Vec<Taken>,
    entries: Vec<Option<Miss>>,
}

impl Miss {
    /// Whether the controller has granted the request.
    pub const fn is_granted(&self) -> bool {
        self.granted
    }

    /// Whether its store goes around the caches, to memory.
    pub const fn goes_around(&self) -> bool {
        self.around
    }

    /// The charge of a wait for this miss.
    pub(super) const fn charge(&self) -> Charge {
        let cause = if self.private { Cause::private(self.writes) } else { Cause::miss(self.writes, self.service) };
        Charge { cause, tag: self.tag }
    }

    /// Whether the line is for the coherent level alone.
    pub(super) const fn stays_outside(&self) -> bool {
        self.prefetched && !self.demanded
    }
}

impl Misses {
    /// `registers` free miss registers, `buffers` of which serve references.
    pub(super) fn new(registers: usize, buffers: usize) -> Self {
        Self {
            lines: vec![NO_LINE; registers],
            outstanding: 0,
            alike: [0; ALIKE],
            waiting: 0,
            registers,
            buffers,
            taken: vec![Taken::default(); registers],
            entries: vec![None; registers],
        }
    }

    /// An entry for a miss that waits for its address, at `now`.
    ///
    /// # Errors
    /// The event to wait for, if there is none.
    #[cold]
    pub(super) fn free_entry(&mut self, now: Time) -> Result<MissId, Wait> {
        let entries = self.registers + QUEUED;
        self.lines.resize(entries, NO_LINE);
        self.taken.resize(entries, Taken::default());
        self.entries.resize(entries, None);
        let is_free = |&number: &usize| self.entries[number].is_none() && self.taken[number].until <= now;
        let free = if self.waiting < QUEUED { (0..entries).rev().find(is_free) } else { None };
        free.map(|number| MissId(number as u8)).ok_or(Wait::AnyMiss)
    }

    /// Miss `id` has completed: those that have waited for it are ready after what each needs still.
    #[inline]
    pub(super) fn end_waits_for(&mut self, id: MissId, ready: impl Fn(Duration) -> Time) {
        if self.waiting == 0 {
            return;
        }
        for miss in self.entries.iter_mut().flatten() {
            if let Waiting::For(of, delay) = miss.waiting
                && of == id
            {
                miss.waiting = Waiting::Since(ready(delay));
            }
        }
    }

    /// The oldest miss that only a miss register is missing for, if one is free, and since when it is ready; it has it then.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<(MissId, Time)> {
        if self.waiting == 0 || usize::from(self.outstanding) - self.waiting >= self.registers || !self.has_buffer() {
            return None;
        }
        let ready = |(id, miss): (MissId, &Miss)| match miss.waiting {
            Waiting::Since(time) => Some((miss.tag, id, time)),
            Waiting::No | Waiting::For(..) => None,
        };
        let (_, id, time) = self.iter().filter_map(ready).min_by_key(|&(tag, ..)| tag.0)?;
        self.waiting -= 1;
        Some((id, time))
    }

    /// Whether a fill buffer is free, for a reference that waits for a miss.
    #[inline]
    pub(super) fn has_buffer(&self) -> bool {
        let holds = |&(_, miss): &(MissId, &Miss)| miss.demanded && miss.waiting == Waiting::No;
        self.buffers >= self.registers || self.iter().filter(holds).count() < self.buffers
    }

    /// The outstanding misses. Their lines tell them apart from free registers: entries are large.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (MissId, &Miss)> {
        let outstanding = self.lines.iter().zip(&self.entries).zip(0u8..).filter(|((line, _), _)| **line != NO_LINE);
        outstanding.filter_map(|((_, miss), number)| Some((MissId(number), miss.as_ref()?)))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.outstanding == 0
    }

    /// Whether accesses of a hardware thread wait for an outstanding miss.
    pub(super) fn are_awaited_by(&self, thread: u8) -> bool {
        self.iter().any(|(_, miss)| miss.awaited_by & thread != 0)
    }

    /// Whether an outstanding miss reserves `place`.
    pub(super) fn reserves(&self, place: Place) -> bool {
        self.iter().any(|(_, miss)| miss.place == Some(place))
    }

    pub(super) fn open(&mut self, id: MissId, miss: Miss) {
        self.waiting += usize::from(miss.waiting != Waiting::No);
        self.lines[usize::from(id.0)] = miss.line;
        self.alike[class_of(miss.line)] += 1;
        self.entries[usize::from(id.0)] = Some(miss);
        self.outstanding += 1;
    }

    /// Changes the line of miss `id`.
    pub(super) fn rename(&mut self, id: MissId, line: LineAddr) {
        let before = std::mem::replace(&mut self.lines[usize::from(id.0)], line);
        self.alike[class_of(before)] -= 1;
        self.alike[class_of(line)] += 1;
    }

    /// The miss on a line.
    #[inline]
    fn on(&self, line: LineAddr) -> Option<MissId> {
        if self.alike[class_of(line)] == 0 {
            return None;
        }
        let number = self.lines.iter().position(|&other| other == line)?;
        Some(MissId(number as u8))
    }

    fn close(&mut self, id: MissId, until: Time) -> Option<Miss> {
        let miss = self.entries[usize::from(id.0)].take()?;
        let line = std::mem::replace(&mut self.lines[usize::from(id.0)], NO_LINE);
        self.alike[class_of(line)] -= 1;
        self.outstanding -= 1;
        self.taken[usize::from(id.0)] =
            Taken { until, upgrade: miss.upgrade, writes: miss.writes, demanded: miss.demanded };
        Some(miss)
    }
}

impl Processor {
    /// The outstanding miss on `line`.
    #[inline]
    pub fn miss_on(&self, line: LineAddr) -> Option<MissId> {
        self.misses.on(line)
    }

    /// The outstanding miss `id`.
    #[inline]
    pub fn miss(&self, id: MissId) -> Option<&Miss> {
        self.misses.entries[usize::from(id.0)].as_ref()
    }

    #[inline]
    pub(super) fn miss_mut(&mut self, id: MissId) -> Option<&mut Miss> {
        self.misses.entries[usize::from(id.0)].as_mut()
    }

    /// A free miss register for the access, a store or write prefetch if `writes`, an upgrade if `upgrade`; or the
    /// event to wait for. References need a fill buffer, too; the prefetcher's requests do not.
    #[inline]
    pub(super) fn free_miss(&self, demanded: bool, writes: bool, upgrade: bool) -> Result<MissId, Wait> {
        let misses = &self.misses;
        let (mut free, mut busy, mut demands, mut stores, mut upgrades) = (None, 0, 0, 0, 0);
        let mut soonest: Option<Time> = None;
        for (number, (taken, &line)) in misses.taken.iter().zip(&misses.lines).enumerate() {
            let miss = if line == NO_LINE { None } else { misses.entries[number].as_ref() };
            let (is_demanded, is_store, is_upgrade) = match miss {
                Some(miss) if miss.waiting != Waiting::No => continue,
                Some(miss) => (miss.demanded, miss.writes, miss.upgrade),
                None if taken.until > self.time => {
                    soonest = Some(soonest.map_or(taken.until, |soonest| soonest.min(taken.until)));
                    (taken.demanded, taken.writes, taken.upgrade)
                }
                None => {
                    free = free.or(Some(MissId(number as u8)));
                    continue;
                }
            };
            busy += 1;
            demands += usize::from(is_demanded);
            stores += usize::from(is_store);
            upgrades += usize::from(is_upgrade);
        }
        let full = busy >= misses.registers
            || demanded && demands >= misses.buffers
            || writes && stores >= self.timing.stores
            || upgrade && upgrades >= self.timing.upgrades;
        match free {
            Some(id) if !full => Ok(id),
            _ => Err(soonest.map_or(Wait::AnyMiss, Wait::Until)),
        }
    }

    /// The value of miss `id` is available at `at`: a primary cache slot is freed for its block, and the writeback of
    /// a modified block from there reserves the secondary cache bus.
    pub fn set_value(&mut self, id: MissId, at: Time) {
        let Some(miss) = self.miss_mut(id) else { return };
        miss.value_at = Some(at);
        let stored = !miss.then_store || miss.copy.state.after(Access::Store).is_some();
        let (block, fill_end, service, charge) = (miss.block, miss.fill_end, miss.service, miss.charge());
        let (outside, writes, awaited_by) = (miss.stays_outside() || miss.around, miss.writes, miss.awaited_by);
        if self.threads.are_several() {
            self.for_threads(awaited_by, |processor| processor.take_value(id, at, stored, (service, charge)));
        } else {
            self.take_value(id, at, stored, (service, charge));
        }
        if !outside {
            self.make_way_inside(block, writes, at, fill_end);
        }
    }

    /// The active thread takes the value of miss `id`, available at `at`; `stored` says whether stores that wait for its line can
    /// complete with it.
    #[inline]
    fn take_value(&mut self, id: MissId, at: Time, stored: bool, (service, charge): (Service, Charge)) {
        if self.value_from == Some(id) {
            self.value_from = None;
            self.value_at = at + self.work_after_value;
            (self.loaded_at, self.loaded_from) = (at, charge);
        }
        self.values.resolve(id, at);
        self.window.resolve(id, at, stored, service);
        if stored {
            self.stores.resolve(id.0, at);
        }
    }

    /// An access of the active thread waits for miss `id`.
    #[inline]
    pub(super) fn await_miss(&mut self, id: MissId) {
        let thread = self.threads.active_bit();
        if let Some(miss) = self.miss_mut(id) {
            miss.awaited_by |= thread;
        }
    }

    /// Performs the store, if any, that waits for the line of miss `id`, complete at `now`. Returns whether the line
    /// must be requested again, because the load was granted a copy without write permission.
    pub fn perform_waiting_store(&mut self, id: MissId, now: Time) -> bool {
        let at = now + self.timing.miss_to_request;
        let Some(miss) = self.miss_mut(id) else { return false };
        if !miss.then_store {
            return false;
        }
        miss.then_store = false;
        if let Some(state) = miss.copy.state.after(Access::Store) {
            miss.copy = CachedCopy { state, version: miss.copy.version.next() };
            self.report_waiting_store(id, now);
            return false;
        }
        (miss.upgrade, miss.access, miss.granted) = (miss.copy.state.rights() == Rights::Read, Access::Store, false);
        (miss.writes, miss.requested, miss.buffered, miss.value_at, miss.fill_end) =
            (true, true, false, None, Time::ZERO);
        let (line, copy) = (miss.line, miss.copy);
        self.post(at, PostKind::Request(Access::Store), line, copy);
        true
    }

    /// Completes miss `id` at `now`: places the line in the caches, in the state in which the protocol left it. Lines that
    /// it displaces from all of them are posted. Returns the time at which its miss register is free.
    pub fn close_miss(&mut self, id: MissId, now: Time) -> Time {
        let free = now + self.timing.release;
        let Some(miss) = self.misses.close(id, free) else { return now };
        self.request_followers(id, miss.value_at.unwrap_or(now), now, free);
        self.count_miss(id, &miss);
        self.place_line(&miss, now);
        free
    }

    #[inline]
    pub(super) fn line_of_block(&self, block: u64) -> LineAddr {
        LineAddr(block >> (self.timing.line_shift - self.timing.block_shift))
    }
}
