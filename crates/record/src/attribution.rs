//! Where a run lost time: by processor, line of memory and place of the program, with what is needed to judge it.
//!
//! A simulator tells all of it; a real computer tells what its counters and samples can, and leaves the rest empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{CpuId, NodeId};

use crate::{Evidence, RegionStatistics};

/// A figure for each thing that time is lost to.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Losses<T> {
    /// Misses on lines that the processor never had.
    pub cold: T,
    /// Misses on lines that had to leave its cache.
    pub capacity: T,
    /// Misses on lines that a cache of equal size without conflicts would have kept.
    pub conflict: T,
    /// Misses on lines that others stored to, for what they stored.
    pub true_sharing: T,
    /// Misses on lines that others stored to, for something else.
    pub false_sharing: T,
    /// The right to store to lines of which the processor had a copy.
    pub upgrade: T,
    /// Misses of which no cause is known.
    pub unsettled: T,
    /// Refills of the translation buffer.
    pub translation: T,
    /// Locks, and other words that somebody else is to change.
    pub lock: T,
    /// Barriers.
    pub barrier: T,
}

impl<T: Copy> Losses<T> {
    /// The figure that `of` gives for each name.
    pub fn from_names(mut of: impl FnMut(&'static str) -> T) -> Self {
        Self {
            cold: of("cold"),
            capacity: of("capacity"),
            conflict: of("conflict"),
            true_sharing: of("true-sharing"),
            false_sharing: of("false-sharing"),
            upgrade: of("upgrade"),
            unsettled: of("unsettled"),
            translation: of("translation"),
            lock: of("lock"),
            barrier: of("barrier"),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self
    where
        T: std::ops::Add<Output = T>,
    {
        Self {
            cold: self.cold + other.cold,
            capacity: self.capacity + other.capacity,
            conflict: self.conflict + other.conflict,
            true_sharing: self.true_sharing + other.true_sharing,
            false_sharing: self.false_sharing + other.false_sharing,
            upgrade: self.upgrade + other.upgrade,
            unsettled: self.unsettled + other.unsettled,
            translation: self.translation + other.translation,
            lock: self.lock + other.lock,
            barrier: self.barrier + other.barrier,
        }
    }

    /// The figures of secondary misses, upgrades among them.
    pub const fn of_misses(&self) -> [T; 7] {
        let Self { cold, capacity, conflict, true_sharing, false_sharing, upgrade, unsettled, .. } = *self;
        [cold, capacity, conflict, true_sharing, false_sharing, upgrade, unsettled]
    }
}

impl Losses<f64> {
    /// All misses together.
    pub fn misses(&self) -> f64 {
        self.of_misses().iter().sum()
    }

    /// Those that somebody else's store caused: what sharing costs.
    pub fn sharing(&self) -> f64 {
        self.true_sharing + self.false_sharing + self.upgrade
    }
}

impl Losses<u64> {
    /// Misses without upgrades by their causes.
    pub const fn causes(&self) -> [(&'static str, u64); 5] {
        [
            ("cold", self.cold),
            ("capacity", self.capacity),
            ("conflict", self.conflict),
            ("true-sharing", self.true_sharing),
            ("false-sharing", self.false_sharing),
        ]
    }

    /// All misses together.
    pub fn misses(&self) -> u64 {
        self.of_misses().iter().sum()
    }
}

/// Losses of a processor at a line, from a place of the program.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LineLoss {
    /// The processor.
    pub cpu: CpuId,
    /// Address of the instruction; zero if that is not known.
    pub site: u64,
    /// Address of the line's first byte, as the program has it; `None` for waits that are for no line.
    pub line: Option<u64>,
    /// How often.
    pub count: Losses<u64>,
    /// For how long, in nanoseconds.
    pub stalled_ns: Losses<f64>,
    /// Misses for which an owner was asked.
    pub interventions: u64,
    /// Misses for which copies of others were invalidated.
    pub invalidations: u64,
    /// Words of eight bytes that the processor loaded from the line, a bit each.
    pub read: u32,
    /// Words that it stored to.
    pub written: u32,
}

/// The address of the first word of a line that is stored to, or else loaded: a line may begin in one object and be about the next.
pub fn first_used(line: u64, written: u32, read: u32) -> u64 {
    let words = if written != 0 { written } else { read };
    if words == 0 { line } else { line + u64::from(words.trailing_zeros()) * 8 }
}

/// A stretch of memory with a name: an array, a global variable, what was allocated at some place, a stack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataObject {
    /// Its name in the program.
    pub name: String,
    /// Address of its first byte.
    pub start: u64,
    /// How long it is.
    pub bytes: u64,
    /// Where the program asked for it, if it did and that is known: the address of the instruction.
    #[serde(default)]
    pub site: Option<u64>,
}

/// A page at which something was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PageHome {
    /// Address of its first byte.
    pub start: u64,
    /// The node whose memory it is in, if that is known.
    pub home: Option<NodeId>,
    /// The processor that touched it first, if a touch placed it.
    pub toucher: Option<CpuId>,
}

/// A place of the program in its source.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceLine {
    /// The function, if it has a name.
    pub function: Option<String>,
    /// The file, if there is information for debuggers.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The functions that the compiler has made it part of, innermost first, each with the place where it calls the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<SourceLine>,
}

impl SourceLine {
    /// File and line, else function; none of it may be known.
    fn place(&self) -> Option<String> {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => Some(format!("{file}:{line}")),
            (Some(file), None) => Some(file.clone()),
            _ => self.function.clone(),
        }
    }
}

/// How a thread spent its time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThreadTime {
    /// The processor that it ran on, of several the last.
    pub cpu: CpuId,
    /// Its node.
    pub node: NodeId,
    /// How long it took, in nanoseconds.
    pub time_ns: f64,
    /// Where that went, as in [`crate::SimulationRow::spent_ns`].
    pub spent_ns: BTreeMap<String, f64>,
    /// How often it changed processors.
    pub migrations: u64,
    /// Those of the changes that led to another node, as far as that was seen.
    #[serde(default)]
    pub node_moves: u64,
    /// Its name, where processors are not what counts: on a real computer each thread has a number of its own as if it had a
    /// processor.
    #[serde(default)]
    pub title: Option<String>,
}

/// Where a run lost time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Attribution {
    /// The program.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// How long the run took, in nanoseconds: what is measured of it, as all that follows.
    pub time_ns: f64,
    /// Bytes in a line.
    pub line_bytes: u64,
    /// Bytes in a page.
    pub page_bytes: u64,
    /// Its threads.
    pub threads: Vec<ThreadTime>,
    /// Its data, by address; they do not overlap.
    pub objects: Vec<DataObject>,
    /// The pages at which something was lost, by address.
    pub pages: Vec<PageHome>,
    /// Losses, by processor and line.
    pub losses: Vec<LineLoss>,
    /// Places of the program, by their addresses.
    pub sites: BTreeMap<u64, SourceLine>,
    /// By node, for how much of the whole run its controller was held, in percent.
    pub utilisation_pct: Vec<f64>,
    /// Processors that its threads could run on, where an operating system decides that; zero if each thread has its own.
    #[serde(default)]
    pub usable_processors: u32,
    /// By node, how much memory the program had there when it had most, in KiB; empty if that is not known.
    #[serde(default)]
    pub memory_kib: Vec<u64>,
    /// Mechanisms by which the machine's nodes could keep, move or copy pages, and do not: words that add them to its name.
    #[serde(default)]
    pub page_mechanisms: Vec<String>,
    /// Missing evidence for a diagnosis, and why it is missing.
    #[serde(default)]
    pub unseen: BTreeMap<Evidence, String>,
}

impl Attribution {
    /// Time of all processors together, in nanoseconds: what a share of run time is a share of.
    pub fn processor_ns(&self) -> f64 {
        self.time_ns * self.threads.len() as f64
    }

    /// The name of a processor, or of the thread that stands for one.
    pub fn who(&self, cpu: CpuId) -> String {
        let title = self.threads.iter().find(|thread| thread.cpu == cpu).and_then(|thread| thread.title.clone());
        match title {
            Some(title) => format!("thread {title}"),
            None if self.threads.iter().any(|thread| thread.title.is_some()) => {
                "a thread that does little else".to_owned()
            }
            None => format!("processor {}", cpu.0),
        }
    }

    /// The name of a place of the program: file and line, else function, else its address; and the function, if it is known.
    /// Functions that the compiler has inlined follow their callers: `fft.cc:120 > complex.h:33`.
    pub fn describe(&self, site: u64) -> (String, String) {
        let Some(known) = self.sites.get(&site) else { return (format!("{site:#x}"), String::new()) };
        let chain = || known.callers.iter().rev().chain([known]);
        let together = |parts: Vec<String>| parts.join(" > ");
        let place = match known.place() {
            Some(_) => together(chain().filter_map(SourceLine::place).collect()),
            None => format!("{site:#x}"),
        };
        let function = together(chain().filter_map(|part| part.function.clone()).collect());
        (place, function)
    }

    /// The object that an address belongs to.
    pub fn object_at(&self, at: u64) -> Option<usize> {
        let after = self.objects.partition_point(|object| object.start <= at);
        let last = after.checked_sub(1)?;
        (at < self.objects[last].start + self.objects[last].bytes).then_some(last)
    }

    /// The page of an address, if it is known.
    pub fn page_at(&self, at: u64) -> Option<&PageHome> {
        let start = at - at % self.page_bytes;
        self.pages.binary_search_by_key(&start, |page| page.start).ok().map(|found| &self.pages[found])
    }

    /// The node of a processor that took part.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.threads.iter().find(|thread| thread.cpu == cpu).map(|thread| thread.node)
    }

    /// Losses at each of its objects, those of one name together: the largest come first.
    pub fn by_object(&self) -> Vec<RegionStatistics> {
        let mut found: BTreeMap<&str, RegionStatistics> = BTreeMap::new();
        for object in &self.objects {
            let of = found.entry(&object.name).or_default();
            of.name.clone_from(&object.name);
            of.bytes += object.bytes;
        }
        for loss in &self.losses {
            let at = |line| first_used(line, loss.written, loss.read);
            let Some(object) = loss.line.and_then(|line| self.object_at(at(line))) else { continue };
            let Some(of) = found.get_mut(self.objects[object].name.as_str()) else { continue };
            let home = loss.line.and_then(|line| self.page_at(line)).and_then(|page| page.home);
            of.misses += loss.count.misses();
            if home.is_some() && home != self.node_of(loss.cpu) {
                of.remote_misses += loss.count.misses();
            }
            for (name, count) in loss.count.causes() {
                *of.causes.entry(name.to_owned()).or_default() += count;
            }
            of.stalled_ns += loss.stalled_ns.misses();
            of.translation_misses += loss.count.translation;
            of.translation_ns += loss.stalled_ns.translation;
            of.lock_ns += loss.stalled_ns.lock;
        }
        let mut sums: Vec<RegionStatistics> = found.into_values().collect();
        let lost = |of: &RegionStatistics| of.stalled_ns + of.translation_ns + of.lock_ns;
        sums.sort_by(|a, b| lost(b).total_cmp(&lost(a)).then_with(|| a.name.cmp(&b.name)));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_part_of_others_is_told_with_them() {
        let line = |function: &str, file: &str, line| SourceLine {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            line: Some(line),
            callers: Vec::new(),
        };
        let inlined = SourceLine {
            callers: vec![line("step", "step.h", 7), line("main", "fft.cc", 120)],
            ..line("operator+", "complex.h", 33)
        };
        let told =
            Attribution { sites: [(1, line("main", "fft.cc", 9)), (2, inlined)].into(), ..Attribution::default() };
        assert_eq!(told.describe(1), ("fft.cc:9".to_owned(), "main".to_owned()));
        let (place, function) = told.describe(2);
        assert_eq!(
            (place.as_str(), function.as_str()),
            ("fft.cc:120 > step.h:7 > complex.h:33", "main > step > operator+")
        );
        assert_eq!(told.describe(0x30), ("0x30".to_owned(), String::new()));
    }
}
