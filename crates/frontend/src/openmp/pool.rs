//! Parallel regions of several threads, and the pool that threads wait in between them. As in the compilers' own runtimes the threads
//! of a region stay when it is over and look at a word until the next begins.

use std::cell::Cell;
use std::ffi::c_void;

use sim::Cause;

use super::meeting;
use super::places::place_of;
use super::platform::{Line, Word, charged, instructions, keep, loads, processor, processors, spawn, stores};
use super::settings::Bind;
use super::team::{Body, Member, Team, adopt, globals};

/// Threads that the word that begins regions has room for.
const MOST_THREADS: u32 = (1 << THREAD_BITS) - 1;
const THREAD_BITS: u32 = 12;
/// Threads of a region that there will not be: those who wait for one may go.
const NOBODY: u32 = 0;

/// Threads that wait for the regions of one.
pub struct Pool {
    /// The team that they are of while a region lasts.
    team: &'static Team,
    /// How many there are, their master included.
    size: Cell<u32>,
    /// The number of the region, and how many threads it has: changes when one begins.
    launch: Line<Word>,
}

/// Arguments of a new thread.
struct Birth {
    pool: &'static Pool,
    number: u32,
    place: Option<usize>,
    seen: u32,
}

/// A thread ends: so do those who wait for its regions.
pub extern "C-unwind" fn dismiss(member: *mut c_void) {
    // SAFETY: members are kept for ever.
    let member = unsafe { &*member.cast::<Member>() };
    if let Some(pool) = member.pool.get().filter(|pool| pool.size.get() > 1) {
        pool.launch.set(pool.next_region() | NOBODY);
        pool.size.set(1);
    }
}

impl Pool {
    /// The number of the next region, in its place in the word that begins it.
    fn next_region(&self) -> u32 {
        (self.launch.look() >> THREAD_BITS).wrapping_add(1) << THREAD_BITS
    }
}

impl Member {
    /// Threads that the next region gets, if it asks for `wanted` (none for as many as were set).
    fn granted(&self, wanted: u32) -> u32 {
        let controls = self.controls.get();
        let pushed = self.pushed.take();
        if self.region.get().team.levels.get().1 > 0 || controls.levels == 0 {
            return 1;
        }
        let wanted = if wanted > 0 { wanted } else { pushed.unwrap_or(controls.threads) };
        let limit = controls.limit.min(MOST_THREADS);
        let limit = if controls.dynamic { limit.min(processors()) } else { limit };
        wanted.clamp(1, limit)
    }

    /// Does `body(data)` with a team of `wanted` threads. `begin` is told of the team before others know of it; whether it has set
    /// up a loop that all begin in.
    pub fn parallel(
        &'static self,
        body: Body,
        data: *mut c_void,
        wanted: u32,
        asked: Option<Bind>,
        begin: impl FnOnce(&'static Team) -> bool,
    ) {
        let threads = self.granted(wanted);
        if threads == 1 {
            return self.alone(body, data, begin);
        }
        self.region.get().team.section_begins(0);
        let pool =
            *self.pool.get_or_init(|| keep(Pool { team: Team::new(), size: Cell::new(1), launch: Line::default() }));
        let bind = self.pushed_bind.take().or(asked).unwrap_or(globals().settings.bind);
        let threads = self.grow(pool, threads, bind);
        let outer = self.region.get();
        let team = pool.team;
        team.forget_cancellation();
        team.detaches.set(false);
        let (levels, active) = outer.team.levels.get();
        team.threads.set(threads);
        team.levels.set((levels + 1, active + 1));
        team.around.set(Some((outer.team, outer.number)));
        team.body.set(body);
        team.data.set(data);
        team.controls.set(self.controls.get());
        stores(&team.body);
        stores(&team.data);
        stores(&team.threads);
        team.group.set(None);
        team.tree.forget(threads);
        let begun = begin(team);
        team.begun.set(begun);
        pool.launch.set(pool.next_region() | threads);
        self.work(team, 0);
        team.base.set(self.region.get().begun);
        self.region.set(outer);
        self.controls.set(team.controls.get());
    }

    /// Has the pool grow to so many threads; how many there are, if not all can be made. A thread stays for good at the place that
    /// the first region which it is in has for it.
    fn grow(&self, pool: &'static Pool, threads: u32, bind: Bind) -> u32 {
        let settings = &globals().settings;
        let first = *self.place.get_or_init(|| settings.places.iter().position(|place| place.contains(&processor())));
        while pool.size.get() < threads {
            let number = pool.size.get();
            let place = place_of(bind, number as usize, threads as usize, first.unwrap_or(0), settings.places.len());
            let cpus = place.map(|place| settings.places[place].as_slice());
            let birth = Box::into_raw(Box::new(Birth { pool, number, place, seen: pool.launch.look() }));
            if !spawn(be_born, birth.cast(), settings.stack, cpus) {
                // SAFETY: nobody was given it.
                drop(unsafe { Box::from_raw(birth) });
                break;
            }
            pool.size.set(pool.size.get() + 1);
        }
        threads.min(pool.size.get())
    }
}

/// The life of a thread of a pool.
extern "C-unwind" fn be_born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: made by [`Member::grow`] for this thread alone.
    let Birth { pool, number, place, mut seen } = *unsafe { Box::from_raw(birth.cast::<Birth>()) };
    let member = adopt(pool.team, number, false);
    let _first = member.place.set(place);
    loop {
        seen = charged(Cause::Idle, || pool.launch.wait(seen, meeting::waiting()));
        if seen & MOST_THREADS == NOBODY {
            return std::ptr::null_mut();
        }
        if number < seen & MOST_THREADS {
            loads(&pool.team.threads);
            instructions(DISPATCH);
            member.controls.set(pool.team.controls.get());
            member.work(pool.team, number);
        }
    }
}

/// Instructions of a thread that finds out what it is to do, a round figure.
const DISPATCH: u32 = 20;
