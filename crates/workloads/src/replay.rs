//! A recorded stream of references as a program: every thread does again what it did.
//!
//! What a trace has of synchronisation is kept: whoever waited for a change of a word waits for it again. A word that threads
//! synchronise by counts how often it was changed; all others hold nothing.

use std::sync::Arc;

use references::{AccessKind, Area, Event, ReferenceError, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;
use units::NodeId;

use crate::program::{Part, RegionPlan, Shape};
use crate::thread::Thread;

/// Bytes in a word.
const WORD: u64 = 8;
/// What pages are counted in until a machine says how long its own are.
const GRAIN: u64 = 1024;
/// Pages whose numbers differ by a multiple of this share their places in any cache here: what is laid out anew keeps that.
const COLOURS: u64 = 256;

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] ReferenceError),
    /// It has no references.
    #[error("{program}: no thread refers to memory in this trace")]
    Empty {
        /// The program.
        program: String,
    },
}

/// A trace, looked through once.
pub struct Replay {
    source: Box<dyn Source>,
    /// The grains that are referred to, in order.
    grains: Vec<u64>,
    /// The words that threads synchronise by, with how often each is changed.
    changed: FxHashMap<u64, u32>,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("header", self.source.header()).field("grains", &self.grains.len()).finish()
    }
}

impl Replay {
    /// Looks through a trace, for the memory that it refers to and the words by which its threads synchronise.
    ///
    /// # Errors
    /// It cannot be read, or refers to no memory.
    pub fn new(source: Box<dyn Source>) -> Result<Self, ReplayError> {
        let mut grains = FxHashSet::default();
        let mut changed: FxHashMap<u64, u32> = FxHashMap::default();
        let mut last = u64::MAX;
        for thread in 0..source.header().threads {
            for event in source.events(thread)? {
                let (address, bytes) = match event {
                    Event::Access(access) => (access.address, u64::from(access.bytes)),
                    Event::Await { address, .. } => (address, 1),
                    Event::Change { address } => {
                        *changed.entry(address / WORD).or_default() += 1;
                        (address, 1)
                    }
                    _ => continue,
                };
                let (first, end) = (address / GRAIN, address.saturating_add(bytes.saturating_sub(1)) / GRAIN);
                if first != last || end != first {
                    grains.extend(first..=end);
                    last = end;
                }
            }
        }
        let mut grains: Vec<u64> = grains.into_iter().collect();
        grains.sort_unstable();
        if grains.is_empty() {
            return Err(ReplayError::Empty { program: source.header().program.clone() });
        }
        Ok(Self { source, grains, changed })
    }

    /// The program that was recorded.
    pub fn name(&self) -> &str {
        &self.source.header().program
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.source.header().threads
    }

    /// The trace.
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// Where what it refers to lies on a machine.
    fn layout(&self, shape: &Shape) -> Layout {
        let page = shape.page_words as u64 * WORD;
        let mut pages: Vec<u64> = self.grains.iter().map(|grain| grain * GRAIN / page).collect();
        pages.dedup();
        let mut places = FxHashMap::default();
        let mut next = 0_u64;
        let mut before = None;
        for &number in &pages {
            // What is together stays together; a gap is closed as far as caches do not see.
            if before.is_none_or(|before| before + 1 != number) {
                next += number.wrapping_sub(next) % COLOURS;
            }
            places.insert(number, next as usize);
            (next, before) = (next + 1, Some(number));
        }
        let synchronising: FxHashSet<u64> = self.changed.keys().map(|word| word * WORD / page).collect();
        Layout { page, line: shape.line_words as u64 * WORD, places, pages: next as usize, synchronising }
    }

    /// The memory that it wants: one region.
    pub fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let layout = self.layout(shape);
        let mut homes: Vec<Option<NodeId>> = vec![None; layout.pages];
        for Area { address, bytes, near, .. } in &self.source.header().areas {
            let Some(&home) = near.and_then(|thread| shape.homes.get(thread)) else { continue };
            for number in address / layout.page..address.saturating_add(*bytes).div_ceil(layout.page) {
                if let Some(&place) = layout.places.get(&number) {
                    homes[place] = Some(home);
                }
            }
        }
        let mut parts: Vec<Part> = Vec::new();
        for home in homes {
            match parts.last_mut() {
                Some(last) if last.home == home => last.words += shape.page_words,
                _ => parts.push(Part { home, words: shape.page_words }),
            }
        }
        vec![RegionPlan { parts }]
    }

    /// What one thread does. Nothing it loads can be wrong: no values were recorded.
    pub fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let layout = Arc::new(self.layout(shape));
        // It was read from end to end before: that it is gone now ends the thread.
        let Ok(events) = self.source.events(thread.number()) else { return 1 };
        let mut player = Player { replay: self, layout: &layout, region: &regions[0], thread, recent: (u64::MAX, 0) };
        events.for_each(|event| player.play(event));
        0
    }
}

/// Where pages of the recorded program lie in the region that stands for its memory.
struct Layout {
    /// Bytes in a page.
    page: u64,
    /// Bytes in a line.
    line: u64,
    /// By number of the recorded page, its number in the region.
    places: FxHashMap<u64, usize>,
    /// How many there are, with those in between.
    pages: usize,
    /// Recorded pages with words that threads synchronise by.
    synchronising: FxHashSet<u64>,
}

/// A thread at work.
struct Player<'a, T: Thread> {
    replay: &'a Replay,
    layout: &'a Layout,
    region: &'a T::Region,
    thread: &'a mut T,
    /// The recorded page last referred to, and the first word of its place.
    recent: (u64, usize),
}

impl<T: Thread> Player<'_, T> {
    /// The word of the region that stands for the one at `address`.
    #[inline]
    fn word(&mut self, address: u64) -> usize {
        let page = address / self.layout.page;
        if page != self.recent.0 {
            let words = (self.layout.page / WORD) as usize;
            // Every page was seen when the trace was looked through.
            self.recent = (page, self.layout.places.get(&page).copied().unwrap_or_default() * words);
        }
        self.recent.1 + (address % self.layout.page / WORD) as usize
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Access(access) => {
                self.access(access.kind, access.dependent, access.address);
                // What reaches into further lines refers to them, too.
                let end = access.address.saturating_add(u64::from(access.bytes.max(1)) - 1);
                let mut line = (access.address / self.layout.line + 1).saturating_mul(self.layout.line);
                while line <= end {
                    self.access(access.kind, false, line);
                    line = line.saturating_add(self.layout.line);
                }
            }
            Event::Instructions(count) => self.thread.instructions(count),
            Event::Work(cycles) => self.thread.work(cycles),
            Event::Barrier => self.thread.barrier(),
            Event::Await { address, changes } => {
                // Of a trace that was cut off, nobody waits for what was lost.
                let coming = self.replay.changed.get(&(address / WORD)).copied().unwrap_or_default();
                let word = self.word(address);
                let mut seen = self.thread.load_acquire(self.region, word);
                while seen < u64::from(changes.min(coming)) {
                    seen = self.thread.await_change(self.region, word, seen);
                }
            }
            Event::Change { address } => {
                let word = self.word(address);
                self.thread.fetch_add(self.region, word, 1);
            }
            Event::Measure(on) => self.thread.measure(on),
            Event::Site(_) => {}
        }
    }

    #[inline]
    fn access(&mut self, kind: AccessKind, dependent: bool, address: u64) {
        let word = self.word(address);
        match (kind, dependent) {
            (AccessKind::Load, false) => drop(self.thread.load(self.region, word)),
            (AccessKind::Load, true) => drop(self.thread.load_dependent(self.region, word)),
            (AccessKind::Store, _) => self.store(address, word),
            (AccessKind::PrefetchShared, _) => self.thread.prefetch_shared(self.region, word),
            (AccessKind::PrefetchExclusive, _) => self.thread.prefetch_exclusive(self.region, word),
        }
    }

    #[inline]
    fn store(&mut self, address: u64, word: usize) {
        let counts =
            self.layout.synchronising.contains(&self.recent.0) && self.replay.changed.contains_key(&(address / WORD));
        if counts {
            // It holds how often it was changed, and goes on to.
            self.thread.fetch_add(self.region, word, 0);
        } else {
            self.thread.store(self.region, word, 0);
        }
    }
}
