//! The processor: caches, translation, and an out-of-order window of limited size.
//!
//! It knows what every coherent processor knows: that a copy is invalid, shared, exclusive or modified, and whom to ask when
//! it misses: its node's controller ([`Ask`]). Which protocol answers is the controller's business.
//!
//! Two models fit one frame (MIPS R10000 and R12000; Prestor 2001, 4.2.2-4.2.3): instructions issue in order and complete
//! out of order within a window; independent misses overlap up to the number of outstanding misses; an access whose
//! address depends on an earlier load waits for it; stores become visible in order. A *blocking* processor is one with a
//! window of one instruction.

mod accesses;
mod bus;
mod coherence;
mod counted;
mod ledger;
mod meter;
mod misses;
mod observed;
mod relocation;
mod spinning;
mod timing;
mod tlb;
mod window;

use protocol::{Access, CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use units::{CpuId, Duration, LineAddr, Time, VirtualAddr};

use crate::attribution::{Attribution, Charge};
use crate::causes::{MissCause, SharedCauses};
use crate::observer::SharedObserver;
use crate::os::Translations;
use crate::part::Cache;

pub use accesses::{Address, Location};
pub use counted::{ExternalCounts, ThreadCounts};
pub use ledger::{Cause, Distance, MissCounts, Service, TimeSplit, Transaction};
pub use meter::{Measuring, Meter};
pub use misses::{Miss, MissId};
pub use timing::ProcessorTiming;

use bus::SecondaryBus;
use ledger::Ledger;
use misses::Misses;
use spinning::Spin;
use tlb::Tlb;
use window::Window;

/// Why a processor cannot go on by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Its own clock is ahead: other events come first.
    Until(Time),
    /// It needs the value that a miss will bring.
    Value(MissId),
    /// It needs a miss to be over.
    Miss(MissId),
    /// It needs any miss to be over.
    AnyMiss,
    /// It needs the acknowledgement of a writeback of this line.
    Writeback(LineAddr),
    /// It needs all its misses to be over.
    AllMisses,
    /// It needs the operating system to say where a page is that it loads from, or stores to if the flag is set.
    Page(VirtualAddr, bool),
    /// It waits for the other threads of its program.
    Barrier,
    /// It looks at this line again and again, and its copy tells it nothing new.
    Departure(LineAddr),
    /// Those that look at words again and again are to look now.
    Published,
    /// The operating system takes it off its processor as soon as its misses are over.
    Leave,
    /// It asks something of the operating system, at the processor's own time.
    Call,
    /// It has nothing to do until another thread wakes it, or until this time.
    Parked(Time),
}

/// What a processor did, counted since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessorCounters {
    /// Instructions issued.
    pub instructions: u64,
    /// Loads, stores and prefetches issued.
    pub references: u64,
    /// References that missed in the primary cache.
    pub primary_misses: u64,
    /// References that sent a request to the home.
    pub secondary_misses: u64,
    /// Those of them that were stores to a shared copy.
    pub upgrades: u64,
    /// Translation misses.
    pub translation_misses: u64,
    /// Page faults: pages that it was the first to touch.
    pub page_faults: u64,
    /// Modified lines written back to memory.
    pub writebacks: u64,
    /// What came from outside.
    pub external: ExternalCounts,
    /// Negative acknowledgements received.
    pub refusals: u64,
    /// Misses that are over, by how they were served.
    pub misses: MissCounts,
    /// Misses by their causes, in the order of [`MissCause::ALL`], if they are told apart; without upgrades.
    pub causes: [u64; MissCause::ALL.len()],
    /// Where the time went.
    pub time: TimeSplit,
}

/// What a processor asks of, or tells, its node's controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// A miss: a copy of the line that serves the access.
    Request(Access),
    /// The line has left its caches.
    Evict,
}

/// Something that leaves the processor at a given time.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// When it is ready at the pins.
    pub at: Time,
    /// What it is.
    pub ask: Ask,
    /// The line it is about.
    pub line: LineAddr,
    /// The copy that the processor has, or had.
    pub copy: CachedCopy,
    /// Whether the program has what it does here measured.
    pub measured: bool,
}

/// A processor's copy of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CachedCopy {
    /// Its state; with [`CopyState::INVALID`] there is none.
    pub state: CopyState,
    /// The version of its data.
    pub version: Version,
}

/// One processor: everything that its program's accesses touch without an event.
///
/// It travels into the program's coroutine while the program runs and back when the program waits, so that both sides use
/// it without sharing.
pub struct Processor {
    cpu: CpuId,
    timing: ProcessorTiming,
    /// When the next instruction issues.
    time: Time,
    /// Nothing from outside can touch this processor before this time.
    horizon: Time,
    /// When it was last resumed: at its own time then, it is in step with everything else.
    synchronised_at: Time,
    /// When the value of the latest load is there and all work on it is done, if `value_from` is `None`; else the work to be
    /// done after it.
    value_at: Time,
    value_from: Option<MissId>,
    work_after_value: Duration,
    /// When the value itself was there, before any work on it, and what it came from.
    loaded_at: Time,
    loaded_from: Charge,
    /// Whether the latest access missed a translation that has not been refilled yet.
    refilling: bool,
    /// What the access refers to that has trapped on a page and waits for all before it.
    trapped: Option<VirtualAddr>,
    /// Instructions issued so far.
    issued: u64,
    /// Those of them that are not known to be done.
    window: Window,
    /// Its states mirror those of the secondary cache, which includes it and holds the data.
    primary: Cache,
    secondary: Cache,
    tlb: Tlb,
    /// What it knows of where virtual pages are.
    translations: Translations,
    bus: SecondaryBus,
    misses: Misses,
    /// Lines that have left the caches and whose controller has not let go of them.
    writebacks: Vec<LineAddr>,
    /// Whether the controller wants to be told of clean lines that leave the caches, too.
    announces_clean: bool,
    random: Xoshiro256PlusPlus,
    posts: Vec<Post>,
    /// What its program looks at again and again, while it does.
    spin: Option<Spin>,
    counters: ProcessorCounters,
    ledger: Ledger,
    meter: Meter,
    /// Who is told of every access, if anybody is.
    observer: Option<SharedObserver>,
    /// Who tells misses apart by their causes, if anybody does.
    causes: Option<SharedCauses>,
    /// Who tells where it loses what, if anybody does.
    attribution: Option<Box<Attribution>>,
    /// Where its program is, as far as that says so.
    site: u64,
}

impl Processor {
    /// A processor with empty caches. With `announces_clean` it tells its controller of clean lines that leave them, too.
    pub fn new(cpu: CpuId, timing: ProcessorTiming, announces_clean: bool, seed: u64) -> Self {
        Self {
            cpu,
            time: Time::ZERO,
            horizon: Time::ZERO,
            synchronised_at: Time::ZERO,
            value_at: Time::ZERO,
            value_from: None,
            work_after_value: Duration::ZERO,
            loaded_at: Time::ZERO,
            loaded_from: Cause::PrimaryCache.into(),
            refilling: false,
            trapped: None,
            issued: 0,
            window: Window::new(timing.window),
            primary: Cache::of_tags(&timing.primary),
            secondary: Cache::new(&timing.secondary),
            tlb: Tlb::new(timing.translation_entries),
            translations: Translations::default(),
            bus: SecondaryBus::default(),
            misses: Misses::new(timing.misses),
            writebacks: Vec::new(),
            announces_clean,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(cpu.0) << 32),
            posts: Vec::new(),
            spin: None,
            counters: ProcessorCounters::default(),
            ledger: Ledger::default(),
            meter: Meter::default(),
            observer: None,
            causes: None,
            attribution: None,
            site: 0,
            timing,
        }
    }

    /// Which processor it is.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Its own clock.
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// Lets it run freely before `horizon`, now that the rest of the machine has come to `now`.
    #[inline]
    pub fn release(&mut self, now: Time, horizon: Time) {
        self.resume(now);
        self.synchronised_at = now;
        self.horizon = horizon;
    }

    /// It faults on a page.
    pub fn count_page_fault(&mut self) {
        self.counters.page_faults += 1;
    }

    /// What it is to know of where virtual pages are.
    pub fn set_translations(&mut self, translations: Translations) {
        self.translations = translations;
    }

    /// What it has to say, oldest first, in exchange for an empty list.
    pub fn swap_posts(&mut self, posts: &mut Vec<Post>) {
        std::mem::swap(&mut self.posts, posts);
    }

    /// Whether any miss is outstanding.
    #[inline]
    pub fn is_missing(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Whether nothing that it asked for or sent is outstanding.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.misses.is_empty() && self.writebacks.is_empty()
    }

    /// Whether no answer to what it asked for has come as far as its bus, and no software waits for one.
    #[inline]
    pub fn is_waiting_far(&self) -> bool {
        self.misses.is_empty() || self.misses.iter().all(|(_, miss)| miss.value_at.is_none() && !miss.trapped)
    }

    /// The line whose writeback has been outstanding longest.
    pub fn oldest_writeback(&self) -> Option<LineAddr> {
        self.writebacks.first().copied()
    }
}
