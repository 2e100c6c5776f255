//! A recorded stream of references as a program: every thread does again what it did.
//!
//! What a trace has of synchronisation is kept: whoever waited for a change of a word waits for it again. A word that threads
//! synchronise by counts how often it was changed; all others hold nothing.

use std::sync::{Arc, Mutex, PoisonError};

use references::{Access, AccessKind, Area, BATCH, Event, GRAIN, Memory, ReferenceError, Source};
use rustc_hash::FxHashMap;
use thiserror::Error;
use units::NodeId;

use crate::program::{Part, RegionPlan, Shape};
use crate::thread::Thread;

/// Bytes in a word.
const WORD: u64 = 8;
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

/// A trace of which it is known what memory it refers to.
pub struct Replay {
    source: Box<dyn Source>,
    memory: Memory,
    /// The words that threads synchronise by, with how often each is changed.
    changed: FxHashMap<u64, u32>,
    /// Where its memory lies on the machine that was asked for last.
    layout: Mutex<Option<Arc<Layout>>>,
    /// Why a thread could not be replayed to its end.
    failed: Mutex<Option<ReferenceError>>,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("header", self.source.header()).field("grains", &self.memory.len()).finish()
    }
}

impl Replay {
    /// Learns of the memory that a trace refers to and of the words by which its threads synchronise: from its summary, or else by
    /// looking through all of it.
    ///
    /// # Errors
    /// It cannot be read, or refers to no memory.
    pub fn new(source: Box<dyn Source>) -> Result<Self, ReplayError> {
        let memory = match source.memory() {
            Some(memory) => memory.clone(),
            None => Memory::of(&*source)?,
        };
        if memory.is_empty() {
            return Err(ReplayError::Empty { program: source.header().program.clone() });
        }
        let mut changed: FxHashMap<u64, u32> = FxHashMap::default();
        for &(address, count) in &memory.changes {
            let changes = changed.entry(address / WORD).or_default();
            *changes = changes.saturating_add(count);
        }
        let (layout, failed) = Default::default();
        Ok(Self { source, memory, changed, layout, failed })
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

    /// Why a run of it ended before the trace did, if one has; it is told once.
    pub fn take_failure(&self) -> Option<ReferenceError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Where what it refers to lies on a machine: found out once for all threads.
    fn layout(&self, shape: &Shape) -> Arc<Layout> {
        let mut latest = self.layout.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(layout) if layout.is_of(shape) => layout.clone(),
            _ => latest.insert(Arc::new(Layout::new(&self.memory, shape))).clone(),
        }
    }

    /// The memory that it wants: one region.
    pub fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let layout = self.layout(shape);
        let mut homes: Vec<Option<NodeId>> = vec![None; layout.pages];
        for Area { address, bytes, near, .. } in &self.source.header().areas {
            let Some(&home) = near.and_then(|thread| shape.homes.get(thread)) else { continue };
            let end = address.saturating_add(*bytes).div_ceil(1 << layout.page_shift);
            for number in address >> layout.page_shift..end {
                if let Some(place) = layout.places.get(&number) {
                    homes[place.word / shape.page_words] = Some(home);
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

    /// What one thread does. Nothing it loads can be wrong: no values were recorded. A thread whose events cannot be read to their end
    /// ends there ([`Self::take_failure`]).
    pub fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let layout = self.layout(shape);
        let recent = [Place::NONE; RECENT];
        let mut player = Player { replay: self, layout: &layout, region: &regions[0], thread, recent };
        match player.play_all() {
            Ok(()) => 0,
            Err(error) => {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                1
            }
        }
    }
}

/// Where pages of the recorded program lie in the region that stands for its memory.
#[derive(Debug)]
struct Layout {
    /// The binary logarithms of the bytes in a page, and in a line.
    page_shift: u32,
    line_shift: u32,
    /// By number of the recorded page, its place.
    places: FxHashMap<u64, Place>,
    /// How many pages there are, with those in between.
    pages: usize,
}

/// Where a recorded page lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// Its number.
    page: u64,
    /// Its first word in the region.
    word: usize,
    /// Whether it has words that threads synchronise by.
    synchronises: bool,
}

impl Place {
    /// No page has the last number of all.
    const NONE: Self = Self { page: u64::MAX, word: 0, synchronises: false };
}

impl Layout {
    fn new(memory: &Memory, shape: &Shape) -> Self {
        let (page_shift, line_shift) = shifts(shape);
        let mut places: FxHashMap<u64, Place> = FxHashMap::default();
        let (mut next, mut before) = (0_u64, None);
        for grains in &memory.grains {
            let (first, last) = (grains.start * GRAIN, (grains.end - 1) * GRAIN + (GRAIN - 1));
            for page in first >> page_shift..=last >> page_shift {
                if before == Some(page) {
                    continue;
                }
                // What is together stays together; a gap is closed as far as caches do not see.
                if before.is_none_or(|before| before + 1 != page) {
                    next += page.wrapping_sub(next) % COLOURS;
                }
                let word = next as usize * shape.page_words;
                places.insert(page, Place { page, word, synchronises: false });
                (next, before) = (next + 1, Some(page));
            }
        }
        for (address, _) in &memory.changes {
            if let Some(place) = places.get_mut(&(address >> page_shift)) {
                place.synchronises = true;
            }
        }
        Self { page_shift, line_shift, places, pages: next as usize }
    }

    /// Whether it is that of a machine of this shape.
    fn is_of(&self, shape: &Shape) -> bool {
        (self.page_shift, self.line_shift) == shifts(shape)
    }
}

/// The binary logarithms of the bytes in a page and in a line, both of which are powers of two.
fn shifts(shape: &Shape) -> (u32, u32) {
    let shift = |words: usize| (words as u64 * WORD).ilog2();
    (shift(shape.page_words), shift(shape.line_words))
}

/// Pages that a thread has at hand: as many as a loop over several arrays touches by turns.
const RECENT: usize = 32;

/// A thread at work.
struct Player<'a, T: Thread> {
    replay: &'a Replay,
    layout: &'a Layout,
    region: &'a T::Region,
    thread: &'a mut T,
    /// Pages last referred to, each at the place of its number.
    recent: [Place; RECENT],
}

impl<T: Thread> Player<'_, T> {
    /// What the thread did, in batches.
    fn play_all(&mut self) -> Result<(), ReferenceError> {
        let mut events = self.replay.source.events(self.thread.number())?;
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            events.fill(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            for &event in &batch {
                self.play(event);
            }
        }
    }

    /// The place of the page of `address`.
    #[inline]
    fn place(&mut self, address: u64) -> Place {
        let page = address >> self.layout.page_shift;
        let recent = self.recent[page as usize % RECENT];
        if recent.page == page { recent } else { self.look_up(page) }
    }

    #[inline(never)]
    fn look_up(&mut self, page: u64) -> Place {
        // Every page is among those that the trace says it refers to.
        let place = self.layout.places.get(&page).copied().unwrap_or(Place { page, ..Place::NONE });
        self.recent[page as usize % RECENT] = place;
        place
    }

    /// The word of the region that stands for the one at `address`.
    #[inline]
    fn word(&mut self, address: u64) -> usize {
        let place = self.place(address);
        self.word_in(place, address)
    }

    #[inline]
    fn word_in(&self, place: Place, address: u64) -> usize {
        place.word + ((address & ((1 << self.layout.page_shift) - 1)) / WORD) as usize
    }

    #[inline]
    fn play(&mut self, event: Event) {
        match event {
            Event::Access(access) => {
                self.access(access.kind, access.dependent, access.address);
                let last = access.address.saturating_add(u64::from(access.bytes.max(1)) - 1);
                if access.address >> self.layout.line_shift != last >> self.layout.line_shift {
                    self.go_on(access, last);
                }
            }
            Event::Instructions(count) => self.thread.instructions(count),
            Event::Site(_) => {}
            _ => self.play_other(event),
        }
    }

    /// An access that reaches into further lines refers to them, too.
    #[cold]
    fn go_on(&mut self, access: Access, last: u64) {
        let shift = self.layout.line_shift;
        for line in (access.address >> shift) + 1..=last >> shift {
            self.access(access.kind, false, line << shift);
        }
    }

    fn play_other(&mut self, event: Event) {
        match event {
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
            Event::Access(_) | Event::Instructions(_) | Event::Site(_) => {}
        }
    }

    #[inline]
    fn access(&mut self, kind: AccessKind, dependent: bool, address: u64) {
        let place = self.place(address);
        let word = self.word_in(place, address);
        match kind {
            AccessKind::Load if dependent => _ = self.thread.load_dependent(self.region, word),
            AccessKind::Load => _ = self.thread.load(self.region, word),
            // It holds how often it was changed, and goes on to.
            AccessKind::Store if place.synchronises && self.is_changed(address) => {
                _ = self.thread.fetch_add(self.region, word, 0);
            }
            AccessKind::Store => self.thread.store(self.region, word, 0),
            AccessKind::PrefetchShared => self.thread.prefetch_shared(self.region, word),
            AccessKind::PrefetchExclusive => self.thread.prefetch_exclusive(self.region, word),
        }
    }

    /// Whether threads synchronise by the word at `address`.
    fn is_changed(&self, address: u64) -> bool {
        self.replay.changed.contains_key(&(address / WORD))
    }
}
