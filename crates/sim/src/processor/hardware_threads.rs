//! Hardware threads of a core: simultaneous multithreading.
//!
//! The threads of a core share its caches, its translations, its miss registers, its page walkers, its prefetcher and its issue
//! slots. Each has an instruction window and a write buffer of its own, the core's divided by the number of threads that run, as
//! Intel's cores divide theirs (64 and IA-32 Architectures Optimization Reference Manual, "Hyper-Threading Technology":
//! partitioned, shared and replicated resources).
//!
//! Issue slots go to whichever thread has instructions. Where several have some, they take turns: the slots that others have already
//! been given ahead of a thread's clock delay it by as many slots as it takes itself, at most, for each of them.

use machine::description::MOST_HARDWARE_THREADS;
use units::{CpuId, Duration, Time, VirtualAddr};

use super::ledger::Ledger;
use super::spinning::Spin;
use super::values::Values;
use super::window::Window;
use super::{MissId, Processor, Wait};
use crate::account::{Cause, Charge, MeasuredPart, ProcessorCounters};
use crate::part::WriteBuffer;

// A set of the threads of a core has a byte.
const _: () = assert!(MOST_HARDWARE_THREADS <= u8::BITS);

/// The state of a hardware thread that is not the active one of its core.
#[derive(Debug)]
struct Parked {
    time: Time,
    horizon: Time,
    synchronised_at: Time,
    value_at: Time,
    value_from: Option<MissId>,
    work_after_value: Duration,
    values: Values,
    loaded_at: Time,
    loaded_from: Charge,
    refilling: bool,
    trapped: Option<VirtualAddr>,
    issued: u64,
    window: Window,
    stores: WriteBuffer,
    /// The small page of its latest reference, and the time from which that has its translation.
    latest_page: u64,
    translated: Time,
    spin: Option<Spin>,
    counters: ProcessorCounters,
    ledger: Ledger,
    measured: MeasuredPart,
    site: u64,
}

/// The hardware threads of a core. Their state is the processor's own while they are active.
#[derive(Debug)]
pub(super) struct HardwareThreads {
    /// The number of the active thread on its core, and the distance between the numbers of threads of one core.
    active: usize,
    cores: u16,
    /// The state of each thread while it is not active; empty of a core with one thread.
    parked: Vec<Parked>,
    /// Threads that run programs.
    running: u64,
    /// The time up to which issue slots are taken.
    slots_taken: Time,
}

impl HardwareThreads {
    /// So many hardware threads of each of `cores` cores, with windows of `window` instructions and buffers of `buffer` stores.
    pub(super) fn new(threads: usize, cores: u16, window: u64, buffer: usize) -> Self {
        let parked = |_| Parked {
            time: Time::ZERO,
            horizon: Time::ZERO,
            synchronised_at: Time::ZERO,
            value_at: Time::ZERO,
            value_from: None,
            work_after_value: Duration::ZERO,
            values: Values::default(),
            loaded_at: Time::ZERO,
            loaded_from: Cause::PrimaryCache.into(),
            refilling: false,
            trapped: None,
            issued: 0,
            window: Window::new(window),
            stores: WriteBuffer::new(buffer),
            latest_page: super::tlb::NONE,
            translated: Time::ZERO,
            spin: None,
            counters: ProcessorCounters::default(),
            ledger: Ledger::default(),
            measured: MeasuredPart::default(),
            site: 0,
        };
        let parked = if threads > 1 { (0..threads).map(parked).collect() } else { Vec::new() };
        Self { active: 0, cores, parked, running: 1, slots_taken: Time::ZERO }
    }

    /// Whether the core has more than one hardware thread.
    #[inline]
    pub(super) fn are_several(&self) -> bool {
        !self.parked.is_empty()
    }

    /// The active thread as a set of one, in which misses keep the threads that wait for them.
    #[inline]
    pub(super) fn active_bit(&self) -> u8 {
        1 << self.active
    }

    /// The number of the active thread on its core.
    #[inline]
    pub(super) fn active(&self) -> u8 {
        self.active as u8
    }

    /// The spin loops of the threads that are not active.
    pub(super) fn spins(&mut self) -> impl Iterator<Item = &mut Spin> {
        self.parked.iter_mut().filter_map(|parked| parked.spin.as_mut())
    }
}

impl Processor {
    /// The number of the active hardware thread.
    #[inline]
    pub fn thread(&self) -> CpuId {
        self.numbered(self.threads.active())
    }

    /// The number of a hardware thread of this core among all of the machine.
    #[inline]
    pub(super) fn numbered(&self, thread: u8) -> CpuId {
        CpuId(self.cpu.0 + u16::from(thread) * self.threads.cores)
    }

    /// Makes a hardware thread of this core the active one.
    #[inline(always)]
    pub fn activate(&mut self, thread: CpuId) {
        if self.threads.are_several() {
            self.switch_to(thread);
        }
    }

    #[inline(never)]
    fn switch_to(&mut self, thread: CpuId) {
        self.make_active(usize::from((thread.0 - self.cpu.0) / self.threads.cores));
    }

    /// Makes the hardware thread active that has opened miss `id`.
    pub fn activate_opener(&mut self, id: MissId) {
        if let Some(opener) = self.miss(id).map(|miss| miss.opener) {
            self.activate(self.numbered(opener));
        }
    }

    /// Acts on each hardware thread of a set, which has a bit for each of the core, as the active one.
    #[inline]
    pub(super) fn for_threads(&mut self, set: u8, mut act: impl FnMut(&mut Self)) {
        let active = self.threads.active;
        for thread in (0..self.threads.parked.len().max(1)).filter(|thread| set >> thread & 1 != 0) {
            self.make_active(thread);
            act(self);
        }
        self.make_active(active);
    }

    fn make_active(&mut self, thread: usize) {
        if thread != self.threads.active {
            self.exchange(self.threads.active);
            self.exchange(thread);
            self.threads.active = thread;
        }
    }

    /// Exchanges the state of the processor with that which `thread` has parked.
    fn exchange(&mut self, thread: usize) {
        use std::mem::swap;
        let parked = &mut self.threads.parked[thread];
        swap(&mut self.time, &mut parked.time);
        swap(&mut self.horizon, &mut parked.horizon);
        swap(&mut self.synchronised_at, &mut parked.synchronised_at);
        swap(&mut self.value_at, &mut parked.value_at);
        swap(&mut self.value_from, &mut parked.value_from);
        swap(&mut self.work_after_value, &mut parked.work_after_value);
        swap(&mut self.values, &mut parked.values);
        swap(&mut self.loaded_at, &mut parked.loaded_at);
        swap(&mut self.loaded_from, &mut parked.loaded_from);
        swap(&mut self.refilling, &mut parked.refilling);
        swap(&mut self.trapped, &mut parked.trapped);
        swap(&mut self.issued, &mut parked.issued);
        swap(&mut self.window, &mut parked.window);
        swap(&mut self.stores, &mut parked.stores);
        self.tlb.exchange_latest(&mut parked.latest_page);
        self.walks.exchange_translated(&mut parked.translated);
        swap(&mut self.spin, &mut parked.spin);
        swap(&mut self.counters, &mut parked.counters);
        swap(&mut self.ledger, &mut parked.ledger);
        swap(&mut self.measured, &mut parked.measured);
        swap(&mut self.site, &mut parked.site);
    }

    /// Divides the window and the write buffer among `running` threads, those of the core that run programs.
    pub fn divide_among(&mut self, running: u64) {
        let running = running.max(1);
        if self.threads.running != running {
            self.threads.running = running;
            let (window, buffer) = ((self.timing.window / running).max(1), self.timing.write_buffer / running as usize);
            let buffer = buffer.max(self.timing.write_buffer.min(1));
            self.for_threads(u8::MAX, |processor| {
                processor.window.resize(window);
                processor.stores.resize(buffer);
            });
        }
    }

    /// The threads of a core search its TLB and take issue slots in the order of time.
    ///
    /// # Errors
    /// The time to wait for.
    #[inline(always)]
    pub(super) fn keep_pace(&self) -> Result<(), Wait> {
        if self.threads.are_several() && self.time >= self.horizon { Err(Wait::Until(self.time)) } else { Ok(()) }
    }

    /// The issue slots of `count` instructions that the active thread has just issued. Slots that other threads have taken ahead of
    /// its clock delay it: by as many as it takes itself, at most, for each of them.
    #[cold]
    pub(super) fn take_slots(&mut self, count: u64) {
        let length = self.timing.issue * count;
        let start = Time(self.time.0 - length.0);
        let ahead = Duration(self.threads.slots_taken.0.saturating_sub(start.0));
        self.threads.slots_taken = self.threads.slots_taken.max(start) + length;
        self.wait_until(self.time + ahead.min(length * (self.threads.running - 1)), Cause::Work);
    }

    /// Whether another hardware thread of the core spins on a word.
    pub fn has_spinning_sibling(&self) -> bool {
        self.threads.parked.iter().any(|parked| parked.spin.is_some())
    }
}
