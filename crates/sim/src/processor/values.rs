//! The values of recent loads, from which addresses of later loads are computed. Such a load issues in order like any other, and later
//! instructions go on, but its cache access begins when the value is there: lists are walked one element after another, and the
//! elements of an array of pointers at once. Processors that issue in order, those on a bus, wait for the value.
//!
//! A load that misses while its address waits for an outstanding miss has a place in the load queue and no miss register: its request
//! is posted when that miss has completed and a register is free.

use protocol::Access;
use units::{Duration, LineAddr, Time};

use super::accesses::{Address, Location};
use super::misses::Waiting;
use super::{MissId, PostKind, Processor, Wait};
use crate::account::Cause;
use crate::part::CachedCopy;

/// Loads whose values are kept.
const LOADS: usize = 64;

/// The time of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// This one.
    At(Time),
    /// This long after the value of an outstanding miss.
    After(MissId, Duration),
}

/// The values of the latest loads.
#[derive(Debug)]
pub(super) struct Values {
    due: [Due; LOADS],
    /// The number of loads so far.
    loads: usize,
    /// The entries that wait for misses, a bit each.
    open: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self { due: [Due::At(Time::ZERO); LOADS], loads: 0, open: 0 }
    }
}

impl Values {
    /// The value of the load `back` loads ago, the latest being one; zero, or more than are kept: it is there.
    #[inline]
    fn of(&self, back: u8) -> Due {
        match usize::from(back) {
            back @ 1..=LOADS => self.due[self.loads.wrapping_sub(back) % LOADS],
            _ => Due::At(Time::ZERO),
        }
    }

    #[inline]
    fn note(&mut self, due: Due) {
        let place = self.loads % LOADS;
        self.due[place] = due;
        self.open = self.open & !(1 << place) | u64::from(matches!(due, Due::After(..))) << place;
        self.loads += 1;
    }

    /// The value of `miss` is there at `at`.
    #[inline]
    pub(super) fn resolve(&mut self, miss: MissId, at: Time) {
        let mut left = self.open;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Due::After(of, delay) = self.due[place]
                && of == miss
            {
                self.due[place] = Due::At(at + delay);
                self.open &= !(1 << place);
            }
        }
    }
}

impl Processor {
    /// A load whose address is computed from the value of the load `back` such loads ago; with zero, its address is known.
    ///
    /// # Errors
    /// The event to wait for; the access is then to be attempted again.
    #[inline(always)]
    pub fn load_after(&mut self, at: impl Location, back: u8) -> Result<(), Wait> {
        match self.values.of(back) {
            Due::At(value) if value <= self.time => self.access(at, Access::Load, Address::Known)?,
            due if self.timing.out_of_order => self.follow(at, due)?,
            Due::After(miss, _) => return Err(Wait::value_of(miss)),
            Due::At(value) => {
                self.wait_until(value, Cause::Work);
                self.access(at, Access::Load, Address::Known)?;
            }
        }
        let due = match self.value_from {
            Some(miss) => Due::After(miss, self.work_after_value),
            None => Due::At(self.value_at),
        };
        self.values.note(due);
        Ok(())
    }

    /// A load whose address is not there before `due`.
    #[inline(never)]
    fn follow(&mut self, at: impl Location, due: Due) -> Result<(), Wait> {
        self.take_place()?;
        let named = at.raw();
        let at = at.translate(self, Access::Load)?;
        if self.time >= self.horizon {
            return Err(Wait::Until(self.time));
        }
        let block = at.0 >> self.timing.block_shift;
        let state = self.caches.use_primary(block);
        if state.after(Access::Load) == Some(state) && self.is_plain_hit(block, Access::Load) {
            self.settle_following(due, self.translated() + self.timing.primary_hit, Cause::PrimaryCache);
            if self.probe.is_active() {
                self.report_plain_hit(named, at, Access::Load);
            }
            return Ok(());
        }
        self.following = Some(due);
        let done = self.access_beyond(block, Access::Load, named);
        self.following = None;
        done?;
        if self.probe.is_active() {
            self.report_access(named, at, Access::Load);
        }
        Ok(())
    }

    /// Completes the issue of a load whose address is there from `due` on, and whose value would be there at `value_at` if the address
    /// were there already.
    pub(super) fn settle_following(&mut self, due: Due, value_at: Time, cause: Cause) {
        let length = value_at - self.time;
        match due {
            Due::At(address) => {
                let value_at = address.max(self.time) + length;
                self.window.enter(self.issued, value_at, cause);
                self.retire(Access::Load, value_at, cause);
            }
            Due::After(miss, delay) => {
                self.window.enter_after(self.issued, miss, delay + length, cause);
                self.retire(Access::Load, self.time, cause);
                (self.value_from, self.work_after_value) = (Some(miss), delay + length);
            }
        }
    }

    /// Whether the address of the load at present waits for an outstanding miss.
    #[inline]
    pub(super) fn follows_miss(&self) -> bool {
        matches!(self.following, Some(Due::After(..)))
    }

    /// The request of a miss would be at the pins at `at` if its address were there already. Posts it, or returns what it waits for.
    pub(super) fn request(&mut self, at: Time, access: Access, (line, copy): (LineAddr, CachedCopy)) -> Waiting {
        match self.following {
            Some(Due::After(miss, delay)) => return Waiting::For(miss, delay + (at - self.time)),
            Some(Due::At(address)) => self.post(at + address.since(self.time), PostKind::Request(access), line, copy),
            None => self.post(at, PostKind::Request(access), line, copy),
        }
        Waiting::No
    }

    /// Miss `id`, whose value was there at `value_at`, has completed at `now`, and its register is free from `free` on: misses whose
    /// addresses have waited for it are requested as far as registers are free, oldest first.
    pub(super) fn request_followers(&mut self, id: MissId, value_at: Time, now: Time, free: Time) {
        self.misses.end_waits_for(id, |delay| (value_at + delay).max(now));
        while let Some((next, ready)) = self.misses.next_ready() {
            let Some(miss) = self.miss_mut(next) else { return };
            miss.waiting = Waiting::No;
            let (line, copy, access) = (miss.line, miss.copy, miss.access);
            self.post(ready.max(free), PostKind::Request(access), line, copy);
        }
    }
}
