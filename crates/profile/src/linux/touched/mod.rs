//! References of a program's threads, as the kernel's samples tell, for a diagnosis: who came to a page first, who later, and
//! what loads cost whom, where the processor tells.

mod attributed;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use host::discovery::{Inventory, KernelFiles};
use host::memory::homes_of;
use host::perf::{Heard, Mapping, Sampled, Served, Touch, Touches, monitoring_units, paranoia};
use record::Evidence;
use rustc_hash::FxHashMap;
use trace::{Blind, SourceDescription};
use units::NodeId;

use super::events::why;
pub use attributed::Lives;

/// Pages that the kernel is asked about at a time.
const AT_ONCE: usize = 4096;
/// Bytes of a line of this computer's caches.
const LINE: u64 = 64;

/// A page of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Page {
    /// The thread that touched it first, and where in the program.
    toucher: u32,
    site: u64,
    home: Option<NodeId>,
}

/// Place of a reference: process, thread, instruction, first byte of the line.
type Place = (u32, u32, u64, u64);

/// Faults and loads of a thread at a line.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Done {
    /// Faults that were the first on their page, and later ones.
    first: u64,
    later: u64,
    /// Loads that others answered, and of these those that came from a cache that had changed the line; and what they cost in
    /// cycles. Each stands for as many as the period of samples says.
    misses: u64,
    modified: u64,
    cycles: u64,
    /// Words that were touched, a bit each.
    words: u32,
}

/// Listens to what the kernel tells of a program's references. To be made by the thread that starts the program, before that.
pub struct Touched {
    faults: Option<Touches>,
    loads: Option<(Touches, u64)>,
    /// Nanoseconds of a cycle, if that is known.
    cycle_ns: Option<f64>,
    page_bytes: u64,
    pages: BTreeMap<(u32, u64), Page>,
    /// Pages of which nobody knows yet where they are.
    open: Vec<(u32, u64)>,
    done: FxHashMap<Place, Done>,
    mappings: Vec<Mapping>,
    lost: u64,
    description: SourceDescription,
    /// Evidence that could not be sampled, and why.
    deaf: BTreeMap<Evidence, String>,
    /// Processors that the program may run on.
    usable: u32,
}

impl Touched {
    /// Begins to listen.
    pub fn new(files: &KernelFiles, inventory: &Inventory) -> Self {
        let mut description = SourceDescription { name: "references".to_owned(), ..SourceDescription::default() };
        let cpus: Vec<_> = inventory.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let paranoia = paranoia(files);
        let mut deaf = BTreeMap::new();
        let mut listen =
            |sampled: Sampled, what: &str, blind: &str, evidence| match Touches::of_children(sampled, &cpus) {
                Ok(touches) => {
                    description.sees.push(what.to_owned());
                    Some(touches)
                }
                Err(error) => {
                    let reason = why(&error, paranoia);
                    let (why, advice) = reason.split_once("; ").unwrap_or((&reason, ""));
                    description.blind.push(Blind::new(blind, why, advice));
                    deaf.insert(evidence, why.to_owned());
                    None
                }
            };
        let faults = listen(
            Sampled::Faults,
            "first touch of pages, and NUMA hinting faults (page-fault samples)",
            "first touch of pages (page-fault samples)",
            Evidence::Touches,
        );
        let costs = "load latency by data address (memory samples)";
        let loads = Sampled::loads(&monitoring_units(files));
        let loads = match loads {
            Some((sampled, period)) => listen(sampled, costs, costs, Evidence::Misses).map(|touches| (touches, period)),
            None => {
                let why = "no precise memory event, or hidden by the hypervisor";
                let advice = "use bare metal with mem-loads (Intel) or ibs_op (AMD)";
                description.blind.push(Blind::new(costs, why, advice));
                deaf.insert(Evidence::Misses, why.to_owned());
                None
            }
        };
        Self {
            faults,
            loads,
            cycle_ns: cycle_ns(files),
            page_bytes: inventory.page_size.0,
            pages: BTreeMap::new(),
            open: Vec::new(),
            done: FxHashMap::default(),
            mappings: Vec::new(),
            lost: 0,
            description,
            deaf,
            usable: inventory.usable_cpus().len() as u32,
        }
    }

    /// References that can be sampled here, and those that cannot and why.
    pub fn describe(&self) -> SourceDescription {
        let mut description = self.description.clone();
        if self.lost > 0 {
            let why = "samples lost (buffer overrun)";
            let advice = "raise the locked-memory limit (ulimit -l, or sysctl kernel.perf_event_mlock_kb)";
            description.blind.push(Blind::new(format!("{} references", self.lost), why, advice));
        }
        description
    }

    /// Takes in what was told since the last time, and asks where new pages are, while their process is there.
    pub fn listen(&mut self) {
        let mut heard = Vec::new();
        if let Some(faults) = &mut self.faults {
            faults.each(|each| heard.push(each));
        }
        if let Some((loads, _)) = &mut self.loads {
            loads.each(|each| heard.push(each));
        }
        heard.into_iter().for_each(|each| self.take(each));
        self.find_homes();
    }

    fn take(&mut self, heard: Heard) {
        match heard {
            Heard::Lost(count) => self.lost += count,
            // Both rings tell of it.
            Heard::Mapping(mapping) if self.mappings.contains(&mapping) => {}
            Heard::Mapping(mapping) => self.mappings.push(mapping),
            Heard::Touch(touch) => self.note(touch),
        }
    }

    fn note(&mut self, touch: Touch) {
        let Touch { process, thread, site, address, .. } = touch;
        let start = address - address % self.page_bytes;
        let line = address - address % LINE;
        let place = (process, thread, site, line);
        self.done.entry(place).or_default().words |= 1 << (address % LINE / 8);
        match touch.served {
            None => {
                let new = self.meet((process, start), Page { toucher: thread, site, home: None });
                let done = self.done.entry(place).or_default();
                (done.first, done.later) = (done.first + u64::from(new), done.later + u64::from(!new));
            }
            Some(Served::Near) => {}
            Some(served) => {
                self.meet((process, start), Page::default());
                let done = self.done.entry(place).or_default();
                done.misses += 1;
                done.modified += u64::from(served == Served::Modified);
                done.cycles += touch.cycles.unwrap_or(0);
            }
        }
    }

    /// Notes a page; whether nobody knew of it.
    fn meet(&mut self, at: (u32, u64), page: Page) -> bool {
        let Entry::Vacant(new) = self.pages.entry(at) else { return false };
        new.insert(page);
        self.open.push(at);
        true
    }

    fn find_homes(&mut self) {
        let mut by_process: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let keep = self.open.len().saturating_sub(AT_ONCE);
        for (process, page) in self.open.split_off(keep) {
            by_process.entry(process).or_default().push(page);
        }
        for (process, pages) in by_process {
            // A process that is gone, or is not ours to look at, keeps it for itself.
            let Ok(homes) = homes_of(process, &pages) else { continue };
            for (page, home) in pages.into_iter().zip(homes) {
                if let Some(known) = self.pages.get_mut(&(process, page)) {
                    known.home = home;
                }
            }
        }
    }
}

/// How long a cycle takes by the processor's nominal frequency, if the kernel tells that.
fn cycle_ns(files: &KernelFiles) -> Option<f64> {
    let limit = files.text("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok().flatten();
    let kilohertz = limit.and_then(|text| text.trim().parse::<f64>().ok());
    let megahertz = kilohertz.map(|kilohertz| kilohertz / 1e3).or_else(|| {
        let text = files.text("proc/cpuinfo").ok()??;
        let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
        line.rsplit(':').next()?.trim().parse().ok()
    });
    megahertz.filter(|&megahertz| megahertz > 0.0).map(|megahertz| 1e3 / megahertz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_take_as_long_as_the_kernel_says() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::at(root.path());
        assert_eq!(cycle_ns(&files), None);
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/cpuinfo"), "processor\t: 0\ncpu MHz\t\t: 2500.000\n").unwrap();
        assert_eq!(cycle_ns(&files), Some(0.4));
    }
}
