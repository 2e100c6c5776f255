//! A trace as a program: how its events are read, and where its memory lies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use references::{
    Access, AccessKind, BATCH, Event, Events, GRAIN, Header, Memory, Portion, ReferenceError, Source, Step,
    ThreadEvents, Warning,
};
use workloads::{Replay, Thread};

use crate::mock::shape;

/// How often a trace was asked for what.
#[derive(Default)]
struct Asked {
    threads: AtomicUsize,
    batches: AtomicUsize,
}

/// Loads of one thread, with or without a summary of their memory.
struct Loads {
    header: Header,
    addresses: Vec<u64>,
    memory: Option<Memory>,
    asked: Arc<Asked>,
    /// Whether it cannot be read beyond its first batch.
    breaks: bool,
}

impl Loads {
    fn new(addresses: Vec<u64>, asked: &Arc<Asked>) -> Self {
        let header = Header { program: "loads".to_owned(), threads: 1, ..Header::default() };
        Self { header, addresses, memory: None, asked: asked.clone(), breaks: false }
    }
}

impl Source for Loads {
    fn header(&self) -> &Header {
        &self.header
    }

    fn warnings(&self) -> &[Warning] {
        &[]
    }

    fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    fn events(&self, _: usize) -> Result<ThreadEvents, ReferenceError> {
        self.asked.threads.fetch_add(1, Ordering::Relaxed);
        let (addresses, asked) = (self.addresses.clone().into_iter(), self.asked.clone());
        Ok(Box::new(Batches { addresses, batch: Vec::new(), asked, breaks: self.breaks }))
    }
}

struct Batches {
    addresses: std::vec::IntoIter<u64>,
    batch: Vec<Step>,
    asked: Arc<Asked>,
    breaks: bool,
}

impl Events for Batches {
    fn next(&mut self) -> Result<Option<Portion<'_>>, ReferenceError> {
        let before = self.asked.batches.fetch_add(1, Ordering::Relaxed);
        if self.breaks && before > 0 {
            return Err(ReferenceError::Damaged { path: "loads".into(), at: 7, what: "it is torn".to_owned() });
        }
        let load = |address| Access { kind: AccessKind::Load, dependent: false, bytes: 8, address };
        let step = |address| Step::of(Event::Access(load(address)), 0);
        self.batch = self.addresses.by_ref().take(BATCH).map(step).collect();
        Ok(Some(Portion::Steps(&self.batch)).filter(|_| !self.batch.is_empty()))
    }
}

/// A thread that notes which words it loads, of which nobody may want the values.
struct Loading(Vec<usize>);

impl Thread for Loading {
    type Region = ();

    fn number(&self) -> usize {
        0
    }

    fn load_unused(&mut self, (): &(), word: usize) {
        self.0.push(word);
    }

    fn load(&mut self, (): &(), _: usize) -> u64 {
        unreachable!("a replay has no use for values: memory for them is not to be touched")
    }

    fn load_dependent(&mut self, region: &(), word: usize) -> u64 {
        self.load(region, word)
    }

    fn store(&mut self, (): &(), _: usize, _: u64) {}

    fn fetch_add(&mut self, (): &(), _: usize, _: u64) -> u64 {
        0
    }

    fn compare_and_swap(&mut self, (): &(), _: usize, _: u64, _: u64) -> u64 {
        0
    }

    fn load_acquire(&mut self, (): &(), _: usize) -> u64 {
        0
    }

    fn store_release(&mut self, (): &(), _: usize, _: u64) {}

    fn prefetch_shared(&mut self, (): &(), _: usize) {}

    fn prefetch_exclusive(&mut self, (): &(), _: usize) {}

    fn instructions(&mut self, _: u32) {}

    fn work(&mut self, _: u32) {}

    fn barrier(&mut self) {}
}

fn replayed(replay: &Replay) -> (u64, Vec<usize>) {
    let mut thread = Loading(Vec::new());
    (replay.run(&shape(1, 0), &[()], &mut thread), thread.0)
}

/// Events are read once, a batch at a time, where a trace tells which memory it refers to; twice where it does not.
#[test]
fn events_are_read_in_batches_and_once_if_their_memory_is_told() {
    let addresses: Vec<u64> = (0..10_000).map(|step| 0x7000_0000 + step * 8).collect();
    let last = addresses[addresses.len() - 1];
    let grains = std::iter::once(addresses[0] / GRAIN..last / GRAIN + 1).collect();
    let memory = Memory { grains, changes: Vec::new() };
    let mut found = Vec::new();
    for (memory, reads) in [(Some(memory), 1), (None, 2)] {
        let asked = Arc::default();
        let replay = Replay::new(Box::new(Loads { memory, ..Loads::new(addresses.clone(), &asked) })).expect("loads");
        found.push(replayed(&replay));
        assert_eq!(asked.threads.load(Ordering::Relaxed), reads);
        let batches = addresses.len().div_ceil(BATCH) + 1;
        assert_eq!(asked.batches.load(Ordering::Relaxed), reads * batches);
    }
    let words: Vec<usize> = (0..10_000).collect();
    assert!(
        found
            .iter()
            .all(|(wrong, loaded)| *wrong == 0 && loaded.iter().map(|word| word - found[0].1[0]).eq(words.clone()))
    );
}

/// Pages that a thread touches by turns, more of them than it has at hand, are each where they are.
#[test]
fn every_page_has_its_place() {
    let page = 64 * 8;
    // By eighty pages that begin at a grain each, twice.
    let addresses: Vec<u64> =
        (0..2).flat_map(|round| (0..80).map(move |number| number * 2 * page + round * 8)).collect();
    let replay = Replay::new(Box::new(Loads::new(addresses.clone(), &Arc::default()))).expect("loads");
    let (wrong, words) = replayed(&replay);
    let expected: Vec<usize> = addresses.iter().map(|address| *address as usize / 8).collect();
    assert_eq!((wrong, words), (0, expected));
}

#[test]
fn a_trace_that_cannot_be_read_to_its_end_says_so() {
    let asked = Arc::default();
    let memory = Some(Memory { grains: std::iter::once(0..80).collect(), changes: Vec::new() });
    let source = Loads { memory, breaks: true, ..Loads::new((0..2000).map(|step| step * 8).collect(), &asked) };
    let replay = Replay::new(Box::new(source)).expect("loads");
    let (wrong, words) = replayed(&replay);
    assert_eq!((wrong, words.len()), (1, BATCH));
    let failure = replay.take_failure().map(|error| error.to_string());
    assert_eq!(failure.as_deref(), Some("loads: at byte 7: it is torn"));
    assert!(replay.take_failure().is_none(), "it is told once");
}
