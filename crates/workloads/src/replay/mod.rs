//! A recorded stream of references as a program: every thread does again what it did.
//!
//! Synchronisation of a trace is kept: a thread that waited for a change of a word waits for it again. A word that threads
//! synchronise by counts how often it was changed; all others hold nothing.

mod layout;

use std::sync::{Arc, Mutex, PoisonError};

use references::{AccessKind, Area, Event, Memory, ReferenceError, Source, Step, Warning};
use rustc_hash::FxHashMap;
use thiserror::Error;
use units::NodeId;

use crate::program::{Part, RegionPlan, Shape};
use crate::thread::Thread;
use layout::Layout;

/// Bytes in a word.
const WORD: u64 = 8;

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] ReferenceError),
    /// It has no references.
    #[error("{program}: no thread refers to memory in this trace{}", reasons(.warnings))]
    Empty {
        /// The program.
        program: String,
        /// Possible reasons, such as where the file was cut off.
        warnings: Vec<Warning>,
    },
}

/// The warnings of a trace at the end of a sentence.
fn reasons(warnings: &[Warning]) -> String {
    warnings.iter().map(|warning| format!("; {warning}")).collect()
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
            let (program, warnings) = (source.header().program.clone(), source.warnings().to_vec());
            return Err(ReplayError::Empty { program, warnings });
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
        let mut homes: Vec<Option<NodeId>> = vec![None; layout.pages()];
        for Area { address, bytes, near, .. } in &self.source.header().areas {
            let Some(&home) = near.and_then(|thread| shape.homes.get(thread)) else { continue };
            layout.pages_of(*address, *bytes).for_each(|page| homes[page] = Some(home));
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

    /// Body of one thread. Nothing it loads can be wrong: no values were recorded. A thread whose events cannot be read to their
    /// end ends there ([`Self::take_failure`]).
    pub fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let layout = self.layout(shape);
        let mut player = Player { replay: self, layout: &layout, region: &regions[0], thread };
        match player.play_all() {
            Ok(()) => 0,
            Err(error) => {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                1
            }
        }
    }
}

/// A thread at work.
struct Player<'a, T: Thread> {
    replay: &'a Replay,
    layout: &'a Layout,
    region: &'a T::Region,
    thread: &'a mut T,
}

impl<T: Thread> Player<'_, T> {
    /// Plays all that the thread did.
    fn play_all(&mut self) -> Result<(), ReferenceError> {
        let mut events = self.replay.source.events(self.thread.number())?;
        events.for_each(|step| self.play(step))
    }

    #[inline]
    fn play(&mut self, step: Step) {
        match step.parts() {
            (instructions, Event::Access(access)) => {
                if instructions > 0 {
                    self.thread.instructions(instructions);
                }
                self.access(access.kind, access.dependent, access.address);
                if let Some(lines) = self.layout.further_lines(access.address, access.bytes) {
                    self.go_on(access.kind, lines);
                }
            }
            (_, Event::Instructions(count)) => self.thread.instructions(count),
            (_, Event::Work(cycles)) => self.thread.work(cycles),
            (_, event) => self.play_other(event),
        }
    }

    /// An access that reaches into further lines refers to them, too.
    #[cold]
    #[inline(never)]
    fn go_on(&mut self, kind: AccessKind, lines: impl Iterator<Item = u64>) {
        lines.for_each(|line| self.access(kind, false, line));
    }

    #[inline(never)]
    fn play_other(&mut self, event: Event) {
        match event {
            Event::Barrier => self.thread.barrier(),
            Event::Await { address, changes } => {
                // Changes that were lost with the end of a trace are not waited for.
                let coming = self.replay.changed.get(&(address / WORD)).copied().unwrap_or_default();
                let word = self.layout.word(address);
                let mut seen = self.thread.load_acquire(self.region, word);
                while seen < u64::from(changes.min(coming)) {
                    seen = self.thread.await_change(self.region, word, seen);
                }
            }
            Event::Change { address } => {
                let word = self.layout.word(address);
                self.thread.fetch_add(self.region, word, 1);
            }
            Event::Measure(on) => self.thread.measure(on),
            Event::Access(_) | Event::Instructions(_) | Event::Work(_) | Event::Site(_) => {}
        }
    }

    // Called from the loop over all steps, and once more where calls are rare: a call each time would take longer than what it does.
    #[inline(always)]
    fn access(&mut self, kind: AccessKind, dependent: bool, address: u64) {
        let word = self.layout.word(address);
        match kind {
            AccessKind::Load if dependent => self.thread.load_dependent_unused(self.region, word),
            AccessKind::Load => self.thread.load_unused(self.region, word),
            // It holds how often it was changed, and goes on to.
            AccessKind::Store if self.layout.synchronises(word) && self.is_changed(address) => {
                self.thread.fetch_add(self.region, word, 0);
            }
            AccessKind::Store => self.thread.store_unused(self.region, word),
            AccessKind::PrefetchShared => self.thread.prefetch_shared(self.region, word),
            AccessKind::PrefetchExclusive => self.thread.prefetch_exclusive(self.region, word),
        }
    }

    /// Whether threads synchronise by the word at `address`.
    fn is_changed(&self, address: u64) -> bool {
        self.replay.changed.contains_key(&(address / WORD))
    }
}
