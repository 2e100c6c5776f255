//! Threads of this computer that do what a program asks and note it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use units::NodeId;
use workloads::{RegionPlan, Shape, Thread, Workload, Wrong};

/// Words in a line and in a page: small, so that programs cross pages.
pub const LINE_WORDS: usize = 4;
const PAGE_WORDS: usize = 64;

/// What a reference does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Load,
    Store,
    FetchAdd,
    /// Of a lock, or whatever else orders threads: what was found and done depends on who came first.
    Synchronisation,
}

/// A reference of a thread, with the barriers and forks that it had passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    pub phase: usize,
    pub kind: Kind,
    pub region: usize,
    pub word: usize,
    /// A lock that the thread held, the latest that it took: its region and word.
    pub lock: Option<(usize, usize)>,
}

impl Reference {
    /// The line that it is to.
    pub fn line(&self) -> (usize, usize) {
        (self.region, self.word / LINE_WORDS)
    }
}

/// Memory that threads share.
pub struct Region {
    number: usize,
    words: Vec<AtomicU64>,
}

impl Region {
    /// The value of a word.
    pub fn word(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Relaxed)
    }
}

/// A thread of this computer.
pub struct Noting<'a> {
    number: usize,
    phase: usize,
    barrier: &'a Barrier,
    references: Vec<Reference>,
    locks: Vec<(usize, usize)>,
    /// Where what is measured begins or ends: so many references were before.
    pub measured: Vec<(bool, usize)>,
}

impl Noting<'_> {
    fn note(&mut self, kind: Kind, region: &Region, word: usize) {
        let lock = self.locks.last().copied();
        self.references.push(Reference { phase: self.phase, kind, region: region.number, word, lock });
    }
}

impl Thread for Noting<'_> {
    type Region = Region;

    fn number(&self) -> usize {
        self.number
    }

    fn load(&mut self, region: &Region, word: usize) -> u64 {
        self.note(Kind::Load, region, word);
        region.words[word].load(Ordering::Relaxed)
    }

    fn load_dependent(&mut self, region: &Region, word: usize) -> u64 {
        self.load(region, word)
    }

    fn store(&mut self, region: &Region, word: usize, value: u64) {
        self.note(Kind::Store, region, word);
        region.words[word].store(value, Ordering::Relaxed);
    }

    fn fetch_add(&mut self, region: &Region, word: usize, addend: u64) -> u64 {
        self.note(Kind::FetchAdd, region, word);
        region.words[word].fetch_add(addend, Ordering::Relaxed)
    }

    /// Whoever makes a word other than zero holds a lock, until it is zero again.
    fn compare_and_swap(&mut self, region: &Region, word: usize, expected: u64, new: u64) -> u64 {
        self.note(Kind::Synchronisation, region, word);
        let done = region.words[word].compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire);
        if done.is_ok() && new != 0 {
            self.locks.push((region.number, word));
        }
        done.unwrap_or_else(|found| found)
    }

    fn load_acquire(&mut self, region: &Region, word: usize) -> u64 {
        // Others may have to run before it changes.
        std::thread::yield_now();
        region.words[word].load(Ordering::Acquire)
    }

    fn store_release(&mut self, region: &Region, word: usize, value: u64) {
        self.note(Kind::Synchronisation, region, word);
        self.locks.retain(|&lock| lock != (region.number, word));
        region.words[word].store(value, Ordering::Release);
    }

    fn prefetch_shared(&mut self, _: &Region, _: usize) {}

    fn prefetch_exclusive(&mut self, _: &Region, _: usize) {}

    fn instructions(&mut self, _: u32) {}

    fn work(&mut self, _: u32) {}

    fn barrier(&mut self) {
        self.phase += 1;
        self.barrier.wait();
    }

    /// All threads say so when a barrier or the fork of a team has ordered them: what the master did alone was before.
    fn measure(&mut self, on: bool) {
        self.phase += usize::from(on);
        self.measured.push((on, self.references.len()));
    }
}

/// `threads` threads, two to a node.
pub fn shape(threads: usize, seed: u64) -> Shape {
    let homes = (0..threads).map(|thread| NodeId(thread as u16 / 2)).collect();
    Shape { homes, nodes: threads.div_ceil(2), line_words: LINE_WORDS, page_words: PAGE_WORDS, seed }
}

/// What a program did.
pub struct Run {
    /// The references of each thread.
    pub references: Vec<Vec<Reference>>,
    /// The words of each region at the end.
    pub contents: Vec<Vec<u64>>,
    /// How many loads gave what they must not give.
    pub wrong_loads: u64,
    /// What the program's check said.
    pub check: Result<(), Wrong>,
    /// What it says of a memory of which one word of those that were stored to is spoilt.
    pub check_of_spoilt: Option<Result<(), Wrong>>,
}

impl Run {
    /// The lines that a thread touched in a phase by references of a kind.
    pub fn lines(&self, thread: usize, phase: usize, kind: Kind) -> BTreeSet<(usize, usize)> {
        let chosen = self.references[thread].iter().filter(|each| (each.phase, each.kind) == (phase, kind));
        chosen.map(Reference::line).collect()
    }
}

/// Runs `body` on threads, on regions as planned. Returns the regions, and of each thread its references and what it returned.
pub fn run_threads(
    shape: &Shape,
    plans: &[RegionPlan],
    body: impl Fn(&[Region], &mut Noting<'_>) -> u64 + Sync,
) -> (Vec<Region>, Vec<(Vec<Reference>, u64)>) {
    let region = |(number, plan): (usize, &RegionPlan)| Region {
        number,
        words: (0..plan.words()).map(|_| AtomicU64::new(0)).collect(),
    };
    let regions: Vec<Region> = plans.iter().enumerate().map(region).collect();
    let barrier = Barrier::new(shape.threads());
    let run = |number| {
        let (references, locks, measured) = (Vec::new(), Vec::new(), Vec::new());
        let mut thread = Noting { number, phase: 0, barrier: &barrier, references, locks, measured };
        let returned = body(&regions, &mut thread);
        (thread.references, returned)
    };
    let ended = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..shape.threads()).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    (regions, ended)
}

/// Runs a program.
pub fn run(workload: &Workload, shape: &Shape) -> Run {
    let (regions, ended) =
        run_threads(shape, &workload.regions(shape), |regions, thread| workload.run(shape, regions, thread));
    let check = |spoilt: Option<(usize, usize)>| {
        workload.check(shape, &|region, word| {
            let value = regions[region].words[word].load(Ordering::Relaxed);
            value ^ if spoilt == Some((region, word)) { 1 << 40 } else { 0 }
        })
    };
    let references: Vec<_> = ended.iter().map(|(references, _)| references.clone()).collect();
    let changes = |each: &&Reference| matches!(each.kind, Kind::Store | Kind::FetchAdd);
    let stored = references.iter().flatten().find(changes);
    let words = |region: &Region| region.words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    Run {
        contents: regions.iter().map(words).collect(),
        wrong_loads: ended.iter().map(|(_, wrong)| wrong).sum(),
        check: check(None),
        check_of_spoilt: stored.map(|each| check(Some((each.region, each.word)))),
        references,
    }
}

/// A phase, region and word of which what one thread does is not ordered with what another does.
pub fn race(references: &[Vec<Reference>]) -> Option<(usize, usize, usize)> {
    let mut touched: BTreeMap<(usize, usize, usize), Vec<(usize, Reference)>> = BTreeMap::new();
    for (thread, references) in references.iter().enumerate() {
        for each in references.iter().filter(|each| each.kind != Kind::Synchronisation) {
            touched.entry((each.phase, each.region, each.word)).or_default().push((thread, *each));
        }
    }
    let races = |touches: &[(usize, Reference)]| {
        let (first, one) = touches[0];
        let shared = touches.iter().any(|&(thread, _)| thread != first);
        let all = |kind| touches.iter().all(|(_, each)| each.kind == kind);
        let locked = one.lock.is_some() && touches.iter().all(|(_, each)| each.lock == one.lock);
        shared && !all(Kind::Load) && !all(Kind::FetchAdd) && !locked
    };
    touched.into_iter().find(|(_, touches)| races(touches)).map(|(place, _)| place)
}
