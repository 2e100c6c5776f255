//! The processor: caches, TLB, and an out-of-order window of limited size.
//!
//! A copy of a line is invalid, shared, exclusive or modified; a miss is sent to the node's controller ([`PostKind`]). The
//! processor is independent of the protocol that the controller implements.
//!
//! One model covers both processors (MIPS R10000 and R12000; Prestor 2001, 4.2.2-4.2.3): instructions issue in order
//! and complete out of order within a window; independent misses overlap up to the number of miss registers; an access
//! whose address depends on an earlier load waits for it; stores become visible in order. A *blocking* processor has
//! a window of one instruction, into which every reference enters, so that references are sequentially consistent. With a
//! write buffer, loads pass stores; stores of one processor become visible in its order only if one may miss at a time
//! (`processor.outstanding_stores = 1`): total store order. With more, stores to different lines become visible as their
//! lines arrive: partial store order.

mod accesses;
mod around;
mod bus;
mod coherence;
mod counted;
mod displacement;
mod hardware_threads;
mod hits;
mod ledger;
mod misses;
mod observed;
mod prefetching;
mod relocation;
mod spinning;
mod timing;
mod tlb;
mod values;
mod walks;
mod window;

use std::rc::Rc;

use machine::description::MOST_CACHE_LEVELS;
use protocol::Access;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use units::{CpuId, Duration, LineAddr, Time, VirtualAddr};

use crate::account::{Cause, Charge, MeasuredPart, ProcessorCounters};
use crate::observe::Probe;
use crate::os::Translations;
use crate::part::{CachedCopy, Hierarchy, Others, WriteBuffer};

pub use accesses::{Address, Location};
pub use misses::{Awaited, Miss, MissId};
pub use timing::ProcessorTiming;

use bus::CacheBus;
use hardware_threads::HardwareThreads;
use ledger::Ledger;
use misses::Misses;
use prefetching::Prefetching;
use spinning::{RoundState, Spin};
use tlb::Tlb;
use values::{Due, Values};
use walks::Walks;
use window::Window;

/// The event that a suspended processor waits for. Each operand is a word, so that the host passes a wait in two registers, and
/// stores and loads it by words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Its own clock is ahead: earlier events come first.
    Until(Time),
    /// The value of a miss.
    Value(Awaited),
    /// The completion of a miss.
    Miss(Awaited),
    /// The completion of any miss.
    AnyMiss,
    /// The acknowledgement of a writeback of this line.
    Writeback(LineAddr),
    /// The completion of all its misses.
    AllMisses,
    /// The operating system's handling of a page fault of a load.
    PageToLoad(VirtualAddr),
    /// The same of a store.
    PageToStore(VirtualAddr),
    /// The other threads of its program at a barrier.
    Barrier,
    /// The departure of its copy of this line, on which it spins.
    Departure(LineAddr),
    /// The departure of its copy of the line on which its program's own loop spins in identical rounds, or this time.
    Skipping(Time),
    /// The repetition of all spinning loads, after a word has changed.
    Published,
    /// The completion of its misses, after which the operating system takes it off its processor.
    Leave,
    /// A call of the operating system, at the processor's own time.
    Call,
    /// A wake-up by another thread, or this time.
    Parked(Time),
    /// The cache that it shares with other processors is empty.
    SharedCache,
}

const _: () = assert!(size_of::<Option<Wait>>() == 16);

/// A request or notice of a processor to its node's controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostKind {
    /// A miss: requests a copy of the line that permits the access.
    Request(Access),
    /// An eviction of the line from its caches.
    Evict,
}

/// A message from the processor to its controller.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// The time at which it is at the pins.
    pub at: Time,
    /// The request or notice.
    pub kind: PostKind,
    /// Its line.
    pub line: LineAddr,
    /// The processor's copy before it.
    pub copy: CachedCopy,
    /// Whether it lies in the measured part of the program.
    pub measured: bool,
}

/// One processor: the state that its program's accesses use without an event. Of a core with several hardware threads, it has the
/// state of the active one and what they share.
///
/// It moves into the program's coroutine while the program runs and back when the program waits, so that both sides use
/// it without sharing.
pub struct Processor {
    cpu: CpuId,
    threads: HardwareThreads,
    /// One copy serves all processors, so that it stays in the host's first-level cache.
    timing: Rc<ProcessorTiming>,
    /// The issue time of the next instruction.
    time: Time,
    /// The look-ahead horizon: no outside event affects this processor before this time.
    horizon: Time,
    /// The time of the latest resumption; if equal to `time`, the processor has not run ahead.
    synchronised_at: Time,
    /// The time at which the value of the latest load and all work on it are done, if `value_from` is `None`; otherwise
    /// the work still to be done after the value.
    value_at: Time,
    value_from: Option<MissId>,
    work_after_value: Duration,
    /// The time at which the value itself was available, and the charge of a wait for it.
    loaded_at: Time,
    loaded_from: Charge,
    /// The values of the latest loads that addresses of others may be computed from, and that which the address of the load at present
    /// waits for.
    values: Values,
    following: Option<Due>,
    /// Whether the latest access missed in the TLB, which has not been refilled yet.
    refilling: bool,
    /// The address of the access that has trapped on a page and waits for all instructions before it.
    trapped: Option<VirtualAddr>,
    /// Whether the access at present is one to private data.
    private: bool,
    /// Instructions issued so far.
    issued: u64,
    /// Instructions among them that may not be done.
    window: Window,
    /// The private caches. The outermost is the coherent one.
    caches: Hierarchy,
    /// Lines of others in that one.
    others: Option<Box<Others>>,
    tlb: Tlb,
    walks: Walks,
    /// Its translations of virtual pages.
    translations: Translations,
    /// The buses of the levels.
    buses: [CacheBus; MOST_CACHE_LEVELS],
    misses: Misses,
    /// Writes that were granted early, whose acknowledgements are outstanding.
    unacknowledged: u32,
    /// Stores that have left the window.
    stores: WriteBuffer,
    prefetching: Option<Box<Prefetching>>,
    /// Evicted lines that the controller has not released.
    writebacks: Vec<LineAddr>,
    /// Whether the controller requires notices of evicted clean lines.
    announces_clean: bool,
    random: Xoshiro256PlusPlus,
    posts: Vec<Post>,
    /// The spin loop, while its program is in one.
    spin: Option<Spin>,
    /// The state of the processor in the last round of its program's own spin loop, and whether such rounds may be
    /// skipped.
    round_state: Option<Box<RoundState>>,
    may_skip_rounds: bool,
    counters: ProcessorCounters,
    ledger: Ledger,
    /// The measured part of its thread.
    measured: MeasuredPart,
    /// The connection to the observers.
    probe: Probe,
    /// The program's present site, if it gives one.
    site: u64,
}

impl Processor {
    /// Processor `cpu` of `cores`, with empty caches, observed through `probe`. With `announces_clean` it notifies its controller
    /// of evicted clean lines, too.
    pub fn new(
        cpu: CpuId,
        cores: u16,
        timing: Rc<ProcessorTiming>,
        announces_clean: bool,
        seed: u64,
        probe: Probe,
    ) -> Self {
        Self {
            cpu,
            threads: HardwareThreads::new(timing.threads, cores, timing.window, timing.write_buffer),
            time: Time::ZERO,
            horizon: Time::ZERO,
            synchronised_at: Time::ZERO,
            value_at: Time::ZERO,
            value_from: None,
            work_after_value: Duration::ZERO,
            loaded_at: Time::ZERO,
            loaded_from: Cause::PrimaryCache.into(),
            values: Values::default(),
            following: None,
            refilling: false,
            trapped: None,
            private: false,
            issued: 0,
            window: Window::new(timing.window),
            caches: Hierarchy::new(timing.hierarchy.clone()),
            others: displacement::others(&timing).map(Box::new),
            tlb: Tlb::new(timing.translation_entries[0], timing.translation_entries[1]),
            walks: Walks::new(timing.walkers),
            translations: Translations::default(),
            buses: Default::default(),
            misses: Misses::new(timing.misses, timing.fill_buffers),
            unacknowledged: 0,
            stores: WriteBuffer::new(timing.write_buffer),
            prefetching: timing.prefetcher.map(|spec| Box::new(Prefetching::new(spec))),
            writebacks: Vec::new(),
            announces_clean,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(cpu.0) << 32),
            posts: Vec::new(),
            spin: None,
            round_state: None,
            // The other threads of a core may store to what one looks at, without a departure of the line.
            may_skip_rounds: timing.threads == 1,
            counters: ProcessorCounters::default(),
            ledger: Ledger::default(),
            measured: MeasuredPart::default(),
            probe,
            site: 0,
            timing,
        }
    }

    /// The processor's number, that of its first hardware thread.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Its own clock.
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// Resumes the processor at `now`, and lets it run ahead up to `horizon`.
    #[inline]
    pub fn release(&mut self, now: Time, horizon: Time) {
        self.resume(now);
        self.synchronised_at = now;
        self.horizon = horizon;
    }

    /// Counts a page fault.
    pub fn count_page_fault(&mut self) {
        self.counters.page_faults += 1;
    }

    /// Sets its translations of virtual pages.
    pub fn set_translations(&mut self, translations: Translations) {
        self.translations = translations;
    }

    /// Takes its messages, oldest first, in exchange for an empty list.
    pub fn swap_posts(&mut self, posts: &mut Vec<Post>) {
        std::mem::swap(&mut self.posts, posts);
    }

    /// Whether the active thread waits for any outstanding miss, or for any acknowledgement of a write that has been granted
    /// early.
    #[inline]
    pub fn is_missing(&self) -> bool {
        let own = || !self.threads.are_several() || self.misses.are_awaited_by(self.threads.active_bit());
        !self.misses.is_empty() && own() || self.unacknowledged > 0
    }

    /// A write has been granted before the sharers have acknowledged their invalidations, for which a release waits.
    pub fn await_acknowledgements(&mut self) {
        self.unacknowledged += 1;
    }

    /// The sharers have acknowledged their invalidations for a write.
    pub fn end_acknowledgements(&mut self) {
        self.unacknowledged -= 1;
    }

    /// Whether it has no outstanding misses and no unreleased evicted lines.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.misses.is_empty() && self.writebacks.is_empty()
    }

    /// Whether no answer to its misses has reached its bus, and no miss has trapped.
    #[inline]
    pub fn is_waiting_far(&self) -> bool {
        self.misses.is_empty() || self.misses.iter().all(|(_, miss)| miss.value_at.is_none() && !miss.trapped)
    }

    /// The line with the oldest unreleased writeback.
    pub fn oldest_writeback(&self) -> Option<LineAddr> {
        self.writebacks.first().copied()
    }
}
