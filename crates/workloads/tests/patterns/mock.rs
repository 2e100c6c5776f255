//! Threads of this computer that do what a program asks and note it.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use units::NodeId;
use workloads::{Shape, Thread, Workload, Wrong};

/// Words in a line and in a page: small, so that programs cross pages.
pub const LINE_WORDS: usize = 4;
const PAGE_WORDS: usize = 64;

/// What a reference does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Load,
    Store,
    FetchAdd,
}

/// A reference of a thread, with the barriers that it had passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    pub phase: usize,
    pub kind: Kind,
    pub region: usize,
    pub word: usize,
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

struct Noting<'a> {
    number: usize,
    phase: usize,
    barrier: &'a Barrier,
    references: Vec<Reference>,
}

impl Noting<'_> {
    fn note(&mut self, kind: Kind, region: &Region, word: usize) {
        self.references.push(Reference { phase: self.phase, kind, region: region.number, word });
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

    fn prefetch_shared(&mut self, _: &Region, _: usize) {}

    fn prefetch_exclusive(&mut self, _: &Region, _: usize) {}

    fn instructions(&mut self, _: u32) {}

    fn work(&mut self, _: u32) {}

    fn barrier(&mut self) {
        self.phase += 1;
        self.barrier.wait();
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

/// Runs a program.
pub fn run(workload: &Workload, shape: &Shape) -> Run {
    let region = |(number, plan): (usize, &workloads::RegionPlan)| Region {
        number,
        words: (0..plan.words()).map(|_| AtomicU64::new(0)).collect(),
    };
    let regions: Vec<Region> = workload.regions(shape).iter().enumerate().map(region).collect();
    let barrier = Barrier::new(shape.threads());
    let body = |number| {
        let mut thread = Noting { number, phase: 0, barrier: &barrier, references: Vec::new() };
        let wrong = workload.run(shape, &regions, &mut thread);
        (thread.references, wrong)
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = (0..shape.threads()).map(|number| scope.spawn(move || body(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let check = |spoilt: Option<(usize, usize)>| {
        workload.check(shape, &|region, word| {
            let value = regions[region].words[word].load(Ordering::Relaxed);
            value ^ if spoilt == Some((region, word)) { 1 << 40 } else { 0 }
        })
    };
    let references: Vec<_> = ended.iter().map(|(references, _)| references.clone()).collect();
    let stored = references.iter().flatten().find(|each| each.kind != Kind::Load);
    Run {
        wrong_loads: ended.iter().map(|(_, wrong)| wrong).sum(),
        check: check(None),
        check_of_spoilt: stored.map(|each| check(Some((each.region, each.word)))),
        references,
    }
}
