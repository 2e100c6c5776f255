//! Threads of this computer that do what a program asks and note it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

use units::NodeId;
use workloads::{LockKind, RegionPlan, Shape, Thread, Workload, Wrong};

use crate::order::{Clock, Meeting, Touch, Touches, lock};

/// Words in a line and in a page: small, so that programs cross pages.
pub const LINE_WORDS: usize = 4;
const PAGE_WORDS: usize = 64;

/// Kinds of references.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Load,
    Store,
    FetchAdd,
    /// A reference to a lock, or to any other word that orders threads: its effect depends on which thread came first.
    Synchronisation,
}

/// A reference of a thread, with the barriers that it had passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    pub phase: usize,
    /// How often what is measured had begun: a fork orders threads without a barrier.
    pub section: usize,
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
    touches: Vec<Mutex<Touches>>,
}

impl Region {
    fn new(number: usize, words: usize) -> Self {
        let (words, touches) = (0..words).map(|_| Default::default()).unzip();
        Self { number, words, touches }
    }

    /// The value of a word.
    pub fn word(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Relaxed)
    }
}

/// A thread of this computer.
pub struct Noting<'a> {
    number: usize,
    phase: usize,
    section: usize,
    barrier: &'a Barrier,
    meeting: &'a Meeting,
    clock: Clock,
    unordered: Option<(usize, usize)>,
    references: Vec<Reference>,
    locks: Vec<(usize, usize)>,
    /// The ticket that it drew last.
    pub ticket: Option<u64>,
    /// Whether its turn has not come yet.
    waits: bool,
    /// Where what is measured begins or ends: so many references were before.
    pub measured: Vec<(bool, usize)>,
}

impl Noting<'_> {
    fn note(&mut self, kind: Kind, region: &Region, word: usize) {
        let lock = self.locks.last().copied();
        self.references.push(Reference {
            phase: self.phase,
            section: self.section,
            kind,
            region: region.number,
            word,
            lock,
        });
    }

    /// Touches a word by `access`, and notes if others may be touching it.
    fn touch<V>(&mut self, touch: Touch, region: &Region, word: usize, access: impl FnOnce(&AtomicU64) -> V) -> V {
        let mut touches = lock(&region.touches[word]);
        if !touches.touch(touch, self.number, &mut self.clock) {
            self.unordered.get_or_insert((region.number, word));
        }
        access(&region.words[word])
    }
}

impl Thread for Noting<'_> {
    type Region = Region;

    fn number(&self) -> usize {
        self.number
    }

    fn load(&mut self, region: &Region, word: usize) -> u64 {
        self.note(Kind::Load, region, word);
        self.touch(Touch::Load, region, word, |at| at.load(Ordering::Relaxed))
    }

    fn load_dependent(&mut self, region: &Region, word: usize) -> u64 {
        self.load(region, word)
    }

    fn store(&mut self, region: &Region, word: usize, value: u64) {
        self.note(Kind::Store, region, word);
        self.touch(Touch::Store, region, word, |at| at.store(value, Ordering::Relaxed));
    }

    fn store_part(&mut self, region: &Region, word: usize, value: u64, mask: u64) {
        self.note(Kind::Store, region, word);
        let change = |held: u64| Some(held & !mask | value & mask);
        self.touch(Touch::Store, region, word, |at| at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change)).ok();
    }

    fn fetch_add(&mut self, region: &Region, word: usize, addend: u64) -> u64 {
        self.note(Kind::FetchAdd, region, word);
        self.touch(Touch::Add, region, word, |at| at.fetch_add(addend, Ordering::Relaxed))
    }

    /// Whoever makes a word other than zero holds a lock, until it is zero again.
    fn compare_and_swap(&mut self, region: &Region, word: usize, expected: u64, new: u64) -> u64 {
        self.note(Kind::Synchronisation, region, word);
        let swap = |at: &AtomicU64| at.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire);
        let done = self.touch(Touch::Acquire, region, word, swap);
        if done.is_ok() && new != 0 {
            self.locks.push((region.number, word));
        }
        done.unwrap_or_else(|found| found)
    }

    fn load_acquire(&mut self, region: &Region, word: usize) -> u64 {
        // Others may have to run before it changes.
        std::thread::yield_now();
        let found = self.touch(Touch::Acquire, region, word, |at| at.load(Ordering::Acquire));
        if self.waits && self.ticket == Some(found) {
            self.waits = false;
            self.locks.push((region.number, word));
        }
        found
    }

    /// Whoever draws a ticket holds the lock of the word that says next that it is its turn. Who draws which depends on who
    /// came first.
    fn fetch_add_at_memory(&mut self, region: &Region, word: usize, addend: u64) -> u64 {
        self.note(Kind::Synchronisation, region, word);
        let ticket = self.touch(Touch::Add, region, word, |at| at.fetch_add(addend, Ordering::Relaxed));
        (self.ticket, self.waits) = (Some(ticket), true);
        ticket
    }

    fn store_release(&mut self, region: &Region, word: usize, value: u64) {
        self.note(Kind::Synchronisation, region, word);
        self.locks.retain(|&lock| lock != (region.number, word));
        self.touch(Touch::Release, region, word, |at| at.store(value, Ordering::Release));
    }

    fn prefetch_shared(&mut self, _: &Region, _: usize) {}

    fn prefetch_exclusive(&mut self, _: &Region, _: usize) {}

    fn instructions(&mut self, _: u32) {}

    fn work(&mut self, _: u32) {}

    fn barrier(&mut self) {
        self.phase += 1;
        self.meeting.come(self.phase, &self.clock);
        self.barrier.wait();
        self.meeting.leave(self.phase, self.number, &mut self.clock);
    }

    /// All threads say so, `on` or not, when a barrier or the fork of a team has ordered them: what the master did alone was before.
    fn measure(&mut self, on: bool) {
        self.section += 1;
        self.measured.push((on, self.references.len()));
    }
}

/// `threads` threads, two to a node, that take locks by load-linked and store-conditional.
pub fn shape(threads: usize, seed: u64) -> Shape {
    let homes = (0..threads).map(|thread| NodeId(thread as u16 / 2)).collect();
    Shape {
        homes,
        nodes: threads.div_ceil(2),
        line_words: LINE_WORDS,
        page_words: PAGE_WORDS,
        seed,
        locks: LockKind::LlSc,
    }
}

/// Outcome of a program's run.
pub struct Run {
    /// The references of each thread.
    pub references: Vec<Vec<Reference>>,
    /// The words of each region at the end.
    pub contents: Vec<Vec<u64>>,
    /// How many loads gave what they must not give.
    pub wrong_loads: u64,
    /// A region and word that a thread touched which another may have been touching: nothing the threads did ordered them.
    pub unordered: Option<(usize, usize)>,
    /// Result of the program's check.
    pub check: Result<(), Wrong>,
    /// Result of the check for a memory of which one word of those that were stored to is spoilt.
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
    let (regions, ended) = run_noting(shape, plans, body);
    (regions, ended.into_iter().map(|(noting, returned)| (noting.references, returned)).collect())
}

/// Notes of a thread that has ended.
struct Noted {
    references: Vec<Reference>,
    unordered: Option<(usize, usize)>,
}

fn run_noting(
    shape: &Shape,
    plans: &[RegionPlan],
    body: impl Fn(&[Region], &mut Noting<'_>) -> u64 + Sync,
) -> (Vec<Region>, Vec<(Noted, u64)>) {
    let region = |(number, plan): (usize, &RegionPlan)| Region::new(number, plan.words());
    let regions: Vec<Region> = plans.iter().enumerate().map(region).collect();
    let (barrier, meeting) = (Barrier::new(shape.threads()), Meeting::default());
    let run = |number| {
        let mut thread = Noting {
            number,
            phase: 0,
            section: 0,
            barrier: &barrier,
            meeting: &meeting,
            clock: Clock::beginning(shape.threads(), number),
            unordered: None,
            references: Vec::new(),
            locks: Vec::new(),
            ticket: None,
            waits: false,
            measured: Vec::new(),
        };
        let returned = body(&regions, &mut thread);
        (Noted { references: thread.references, unordered: thread.unordered }, returned)
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
        run_noting(shape, &workload.regions(shape), |regions, thread| workload.run(shape, regions, thread));
    let check = |spoilt: Option<(usize, usize)>| {
        workload.check(shape, &|region, word| {
            let value = regions[region].words[word].load(Ordering::Relaxed);
            value ^ if spoilt == Some((region, word)) { 1 << 40 } else { 0 }
        })
    };
    let unordered = ended.iter().find_map(|(noted, _)| noted.unordered);
    let wrong_loads = ended.iter().map(|(_, wrong)| wrong).sum();
    let references: Vec<_> = ended.into_iter().map(|(noted, _)| noted.references).collect();
    let changes = |each: &&Reference| matches!(each.kind, Kind::Store | Kind::FetchAdd);
    let stored = references.iter().flatten().find(changes);
    let words = |region: &Region| region.words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    Run {
        contents: regions.iter().map(words).collect(),
        wrong_loads,
        unordered,
        check: check(None),
        check_of_spoilt: stored.map(|each| check(Some((each.region, each.word)))),
        references,
    }
}

/// A phase, region and word of which what one thread does is not ordered with what another does.
pub fn race(references: &[Vec<Reference>]) -> Option<(usize, usize, usize)> {
    let mut touched: BTreeMap<[usize; 4], Vec<(usize, Reference)>> = BTreeMap::new();
    for (thread, references) in references.iter().enumerate() {
        for each in references.iter().filter(|each| each.kind != Kind::Synchronisation) {
            let place = [each.phase, each.section, each.region, each.word];
            touched.entry(place).or_default().push((thread, *each));
        }
    }
    let races = |touches: &[(usize, Reference)]| {
        let (first, one) = touches[0];
        let shared = touches.iter().any(|&(thread, _)| thread != first);
        let all = |kind| touches.iter().all(|(_, each)| each.kind == kind);
        let locked = one.lock.is_some() && touches.iter().all(|(_, each)| each.lock == one.lock);
        shared && !all(Kind::Load) && !all(Kind::FetchAdd) && !locked
    };
    touched.into_iter().find(|(_, touches)| races(touches)).map(|([phase, _, region, word], _)| (phase, region, word))
}
