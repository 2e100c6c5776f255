//! Memory bandwidth as resctrl tells it: bytes that each last-level cache read from its own node and from all
//! (Documentation/filesystems/resctrl.rst).

use host::discovery::{Inventory, KernelFiles};
use host::statistics::Text;
use trace::{Blind, Counter, Object, ObjectKind, SourceDescription};

use super::{Clock, nodes};
use crate::{CounterSource, Reading};

const FOLDER: &str = "sys/fs/resctrl";
/// The counters of a domain, by the names of their files.
const FILES: [(&str, &str); 2] = [
    ("mbm_total_bytes", "bytes between its last-level caches and memory of any node"),
    ("mbm_local_bytes", "of these, those of its own memory"),
];

/// What all of resctrl's control groups have moved, by node.
pub(super) struct Bandwidth {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    description: SourceDescription,
    clock: Clock,
    /// For each node and counter, the files that add up to it.
    files: Vec<Vec<Text>>,
}

impl Bandwidth {
    pub(super) fn new(files: &KernelFiles, inventory: &Inventory, clock: Clock) -> Self {
        let mut source = Self {
            counters: Vec::new(),
            objects: Vec::new(),
            description: SourceDescription { name: "resctrl".to_owned(), ..Default::default() },
            clock,
            files: Vec::new(),
        };
        if let Err(blind) = source.open(files, inventory) {
            source.description.blind.push(blind);
        }
        source
    }

    fn open(&mut self, files: &KernelFiles, inventory: &Inventory) -> Result<(), Blind> {
        let what = "memory bandwidth, local and all";
        let list = |path: &str| {
            let entries = std::fs::read_dir(files.path(path)).into_iter().flatten();
            let mut names: Vec<String> =
                entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
            names.sort();
            names
        };
        let domains: Vec<String> = list(&format!("{FOLDER}/mon_data"));
        if domains.is_empty() {
            let known = files.text("proc/filesystems").ok().flatten().is_some_and(|text| text.contains("resctrl"));
            return Err(match known {
                true => Blind::new(what, "resctrl is not mounted", "mount -t resctrl resctrl /sys/fs/resctrl, as root"),
                false => Blind::new(what, "neither the processor nor the kernel has it (resctrl)", ""),
            });
        }
        let objects = nodes::objects(inventory);
        let mut sums: Vec<Vec<Text>> = (0..objects.len() * FILES.len()).map(|_| Vec::new()).collect();
        // A control group's counts include those of its monitoring groups; the root is a control group itself.
        let own = ["info", "mon_data", "mon_groups"];
        let groups = list(FOLDER).into_iter().filter(|name| !own.contains(&name.as_str()));
        let groups: Vec<String> = groups.map(|name| name + "/").collect();
        let mut seen = false;
        for domain in domains {
            let Some(node) =
                node_of(&domain, files, inventory).map_err(|blind| self.description.blind.push(blind)).ok().flatten()
            else {
                continue;
            };
            for group in std::iter::once(String::new()).chain(groups.iter().cloned()) {
                for (i, (file, _)) in FILES.iter().enumerate() {
                    let path = files.path(format!("{FOLDER}/{group}mon_data/{domain}/{file}"));
                    if let Ok(text) = Text::open(&path) {
                        sums[node * FILES.len() + i].push(text);
                        seen = true;
                    }
                }
            }
        }
        if !seen {
            return Err(Blind::new(what, "resctrl has no monitoring of memory bandwidth here", ""));
        }
        self.counters =
            FILES.iter().map(|(name, what)| Counter::count(ObjectKind::Node, name, "bytes", what)).collect();
        (self.objects, self.files) = (objects, sums);
        self.description.sees.push("bytes to own and to any node's memory, by node of the last-level cache".to_owned());
        Ok(())
    }
}

/// The place of the node that a domain (`mon_L3_01`) belongs to. One that spans several nodes, as with sub-NUMA clustering, is
/// credited to none of them.
fn node_of(domain: &str, files: &KernelFiles, inventory: &Inventory) -> Result<Option<usize>, Blind> {
    let Some(id) = domain.strip_prefix("mon_L3_").and_then(|id| id.parse::<u32>().ok()) else { return Ok(None) };
    let what = || format!("memory bandwidth of resctrl's {domain}");
    // The domain's number is that of the last-level cache, which the kernel tells of each CPU.
    let served = |cpu: &&host::discovery::Cpu| {
        let path = format!("sys/devices/system/cpu/cpu{}/cache/index3/id", cpu.id);
        let told = files.text(&path).ok().flatten();
        cpu.online && told.and_then(|told| told.trim().parse().ok()) == Some(id)
    };
    let mut nodes: Vec<_> = inventory.cpus.iter().filter(served).filter_map(|cpu| cpu.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    match nodes[..] {
        [node] => Ok(inventory.nodes.iter().position(|known| known.id == node)),
        [] => Err(Blind::new(what(), "the kernel does not tell which CPUs it serves", "")),
        _ => Err(Blind::new(what(), format!("it spans {} nodes (sub-NUMA clustering)", nodes.len()), "")),
    }
}

impl CounterSource for Bandwidth {
    fn describe(&self) -> SourceDescription {
        self.description.clone()
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Each file is answered by an interrupt to a CPU of its domain.
    fn pace_ns(&self) -> u64 {
        10_000_000
    }

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn read(&mut self, readings: &mut [Reading]) {
        for (reading, files) in readings.iter_mut().zip(&mut self.files) {
            let mut sum = Some(0_u64);
            for file in files.iter_mut() {
                // `Unavailable` or `Error` instead of a number: the sum would be wrong without it.
                let count = file.read_whole().ok().and_then(|text| text.trim().parse::<u64>().ok());
                sum = sum.zip(count).map(|(sum, count)| sum.wrapping_add(count));
            }
            *reading = sum.filter(|_| !files.is_empty()).map_or(Reading::MISSING, Reading::of);
        }
    }
}
