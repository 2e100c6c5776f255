//! Memory bandwidth as resctrl tells it: bytes that each last-level cache moved from and to its own node and all, by whoever runs,
//! and by the program that is watched (Documentation/filesystems/resctrl.rst). The names are those of Intel's and of AMD's processors.

use std::io;
use std::path::{Path, PathBuf};

use host::discovery::{Inventory, KernelFiles};
use host::monitoring_group::{FOLDER, MonitoringGroup};
use host::statistics::Text;
use trace::{Blind, Counter, Object, ObjectKind, SourceDescription};
use units::NodeId;

use super::{Clock, nodes};
use crate::{CounterSource, Reading};

/// The counters of a domain, by the names of their files.
const FILES: [(&str, &str); 3] = [
    ("mbm_total_bytes", "memory traffic of its last-level caches, all nodes"),
    ("mbm_local_bytes", "memory traffic of its last-level caches, local node"),
    ("llc_occupancy", "last-level cache occupancy"),
];

/// Memory traffic and cache occupancy of groups of resctrl's, by node.
pub(super) struct Bandwidth {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    description: SourceDescription,
    clock: Clock,
    /// For each node and counter, the files that add up to it.
    files: Vec<Vec<Text>>,
    /// The group of the program that is watched, if these are its counts.
    program: Option<MonitoringGroup>,
}

impl Bandwidth {
    fn named(name: &str, clock: Clock) -> Self {
        Self {
            counters: Vec::new(),
            objects: Vec::new(),
            description: SourceDescription { name: name.to_owned(), ..Default::default() },
            clock,
            files: Vec::new(),
            program: None,
        }
    }

    /// Counts of all that runs.
    pub(super) fn new(files: &KernelFiles, inventory: &Inventory, clock: Clock) -> Self {
        let mut source = Self::named("resctrl", clock);
        let root = files.path(FOLDER);
        // A control group's counts include those of its monitoring groups; the root is a control group itself.
        let own = ["info", "mon_data", "mon_groups"];
        let others = names(&root).into_iter().filter(|name| !own.contains(&name.as_str()));
        let groups: Vec<PathBuf> = std::iter::once(root.clone()).chain(others.map(|name| root.join(name))).collect();
        let sees = "local and total memory traffic and last-level cache occupancy by node (resctrl)";
        if let Err(blind) = source.open(files, inventory, &groups, "", sees) {
            source.description.blind.push(blind);
        }
        source
    }

    /// Counts of the program that is going to be started, in a group made for it. None where [`new`](Self::new) has said that
    /// there is no resctrl.
    pub(super) fn of_program(files: &KernelFiles, inventory: &Inventory, clock: Clock) -> Option<Self> {
        if !has_domains(files) {
            return None;
        }
        let mut source = Self::named("resctrl, of the program", clock);
        match MonitoringGroup::create(files) {
            Ok(group) => source.watch(files, inventory, group),
            Err(error) => source.description.blind.push(no_group(files, &error)),
        }
        Some(source)
    }

    fn watch(&mut self, files: &KernelFiles, inventory: &Inventory, group: MonitoringGroup) {
        let sees = "the program's local and total memory traffic and last-level cache occupancy by node (resctrl)";
        let groups = [group.folder().to_owned()];
        match self.open(files, inventory, &groups, PROGRAM, sees) {
            Ok(()) => self.program = Some(group),
            Err(blind) => self.description.blind.push(blind),
        }
    }

    fn open(
        &mut self,
        files: &KernelFiles,
        inventory: &Inventory,
        groups: &[PathBuf],
        prefix: &str,
        sees: &str,
    ) -> Result<(), Blind> {
        let what = "local and total memory bandwidth";
        if !has_domains(files) {
            let known = files.text("proc/filesystems").ok().flatten().is_some_and(|text| text.contains("resctrl"));
            return Err(match known {
                true => Blind::new(what, "resctrl is not mounted", "as root: mount -t resctrl resctrl /sys/fs/resctrl"),
                false => Blind::new(what, "no resctrl support in processor or kernel", ""),
            });
        }
        let objects = nodes::objects(inventory);
        let mut sums: Vec<Vec<Text>> = (0..objects.len() * FILES.len()).map(|_| Vec::new()).collect();
        let (domains, unplaced) = domains(files, inventory);
        let mut seen = [false; FILES.len()];
        for (domain, node) in &domains {
            for group in groups {
                for (i, (file, _)) in FILES.iter().enumerate() {
                    if let Ok(text) = Text::open(&group.join("mon_data").join(domain).join(file)) {
                        sums[node * FILES.len() + i].push(text);
                        seen[i] = true;
                    }
                }
            }
        }
        // Domains of no node are reported once, with the counts of all that runs.
        if prefix.is_empty() {
            self.description.blind.extend(unplaced);
        }
        if !seen[0] && !seen[1] {
            return Err(Blind::new(what, "resctrl has no memory bandwidth monitoring here", ""));
        }
        let whose = if prefix.is_empty() { "" } else { ", of the program and its children" };
        let counter = |(name, what): &(&str, &str)| {
            let (name, what) = (format!("{prefix}{name}"), format!("{what}{whose}"));
            let is_level = name.ends_with("occupancy");
            let make = if is_level { Counter::level } else { Counter::count };
            make(ObjectKind::Node, &name, "bytes", &what)
        };
        self.counters = FILES.iter().map(counter).collect();
        (self.objects, self.files) = (objects, sums);
        self.description.sees.push(sees.to_owned());
        Ok(())
    }
}

/// Prefix of the names of the program's counters.
const PROGRAM: &str = "program_";

/// Whether there is anything to read at all.
fn has_domains(files: &KernelFiles) -> bool {
    !names(&files.path(FOLDER).join("mon_data")).is_empty()
}

/// The names in a folder, in order; none if it cannot be listed.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Why there is no group for the program.
fn no_group(files: &KernelFiles, error: &io::Error) -> Blind {
    /// `EPERM`, `EBUSY`, `EACCES`, `ENOSPC`, the same numbers on every Linux.
    const KNOWN: [i32; 4] = [1, 16, 13, 28];
    let [not_permitted, busy, denied, full] = KNOWN.map(Some);
    let code = error.raw_os_error();
    let (why, advice) = if code == full {
        let numbers = files.text("sys/fs/resctrl/info/L3_MON/num_rmids").ok().flatten();
        let numbers = numbers.map_or_else(String::new, |text| format!(" {}", text.trim()));
        (
            format!("all{numbers} monitoring IDs (RMIDs) are in use"),
            "remove an unused group: rmdir /sys/fs/resctrl/mon_groups/NAME",
        )
    } else if code == busy {
        ("monitoring IDs (RMIDs) of removed groups are still in use by cached lines".to_owned(), "try again later")
    } else if code == not_permitted || code == denied {
        ("creating groups under /sys/fs/resctrl/mon_groups requires root".to_owned(), "sudo")
    } else {
        (format!("cannot create a group under /sys/fs/resctrl/mon_groups: {error}"), "")
    };
    Blind::new("per-program memory bandwidth", why, advice)
}

/// Domains by their folders in `mon_data`, with the places of the nodes that they belong to, and those that belong to none.
/// Where one spans several nodes, as with sub-NUMA clustering, the kernel tells of each in a folder in its own, from 6.11 on.
fn domains(files: &KernelFiles, inventory: &Inventory) -> (Vec<(String, usize)>, Vec<Blind>) {
    let (mut placed, mut unplaced) = (Vec::new(), Vec::new());
    let place = |node: NodeId| inventory.nodes.iter().position(|known| known.id == node);
    let all = files.path(FOLDER).join("mon_data");
    for domain in names(&all) {
        let Some(id) = domain.strip_prefix("mon_L3_").and_then(|id| id.parse::<u32>().ok()) else { continue };
        let inner = names(&all.join(&domain)).into_iter().filter_map(|name| {
            let node = name.strip_prefix("mon_sub_L3_")?.parse().ok()?;
            Some((format!("{domain}/{name}"), place(NodeId(node))?))
        });
        let inner: Vec<_> = inner.collect();
        if !inner.is_empty() {
            placed.extend(inner);
            continue;
        }
        match node_of(&domain, id, files, inventory) {
            Ok(node) => placed.extend(place(node).map(|node| (domain, node))),
            Err(blind) => unplaced.push(blind),
        }
    }
    (placed, unplaced)
}

/// The node that a domain (`mon_L3_01`) belongs to.
fn node_of(domain: &str, id: u32, files: &KernelFiles, inventory: &Inventory) -> Result<NodeId, Blind> {
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
        [node] => Ok(node),
        [] => Err(Blind::new(what(), "its CPUs are unknown", "")),
        _ => Err(Blind::new(
            what(),
            format!("it spans {} nodes (sub-NUMA clustering)", nodes.len()),
            "requires Linux 6.11 or later",
        )),
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

    fn starting(&mut self, begins: bool) {
        let Some(group) = &self.program else { return };
        // Both were tried when it was made. Whoever took the group away since has its counts end.
        let _tried = if begins { group.enter() } else { group.leave() };
    }

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn read(&mut self, readings: &mut [Reading]) {
        for (reading, files) in readings.iter_mut().zip(&mut self.files) {
            let mut sum = Some(0_u64);
            for file in files.iter_mut() {
                // `Unavailable`, `Unassigned` or `Error` instead of a number: the sum would be wrong without it.
                let count = file.read_whole().ok().and_then(|text| text.trim().parse::<u64>().ok());
                sum = sum.zip(count).map(|(sum, count)| sum.wrapping_add(count));
            }
            *reading = sum.filter(|_| !files.is_empty()).map_or(Reading::MISSING, Reading::of);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;
    use crate::Readings;

    /// Two nodes under one last-level cache, which the kernel tells apart; resctrl with room for groups.
    fn computer() -> (tempfile::TempDir, KernelFiles, Inventory) {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/online", "0-1\n");
        write("sys/devices/system/cpu/present", "0-1\n");
        write("sys/devices/system/node/online", "0-1\n");
        write("sys/fs/resctrl/mon_groups/other/tasks", "");
        for node in 0..2 {
            write(&format!("sys/devices/system/node/node{node}/cpulist"), &format!("{node}\n"));
            write(&format!("sys/devices/system/node/node{node}/distance"), if node == 0 { "10 12" } else { "12 10" });
            write(&format!("sys/devices/system/cpu/cpu{node}/cache/index3/id"), "0\n");
            domain(&root.path().join(FOLDER), node, 1000);
        }
        let files = KernelFiles::at(root.path());
        let inventory = Inventory::discover(&files).unwrap();
        (root, files, inventory)
    }

    fn domain(group: &Path, node: u64, total: u64) {
        let folder = group.join(format!("mon_data/mon_L3_00/mon_sub_L3_0{node}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mbm_total_bytes"), format!("{}\n", total + node)).unwrap();
        fs::write(folder.join("mbm_local_bytes"), if node == 0 { "70\n" } else { "Unassigned\n" }).unwrap();
        fs::write(folder.join("llc_occupancy"), "4096\n").unwrap();
    }

    fn read(source: &mut Bandwidth) -> Vec<Option<u64>> {
        let mut readings = vec![Reading::MISSING; Readings::new(source.counters()).of(source.objects())];
        source.read(&mut readings);
        readings.iter().map(|reading| reading.present.then_some(reading.raw)).collect()
    }

    #[test]
    fn nodes_under_one_cache_are_told_apart_and_the_program_from_all() {
        let (root, files, inventory) = computer();
        let mut all = Bandwidth::new(&files, &inventory, Clock(Instant::now()));
        assert_eq!(read(&mut all), [Some(1000), Some(70), Some(4096), Some(1001), None, Some(4096)]);
        assert_eq!(all.describe().blind, []);

        let group = MonitoringGroup::create(&files).unwrap();
        let folder = group.folder().to_owned();
        // The kernel puts these there as the group is made.
        (0..2).for_each(|node| domain(&folder, node, 20));
        let mut program = Bandwidth::named("of the program", Clock(Instant::now()));
        program.watch(&files, &inventory, group);
        assert_eq!(read(&mut program), [Some(20), Some(70), Some(4096), Some(21), None, Some(4096)]);
        let names: Vec<&str> = program.counters().iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!(names, ["program_mbm_total_bytes", "program_mbm_local_bytes", "program_llc_occupancy"]);

        // Whoever starts the program is in the group meanwhile, and nowhere else.
        let (inside, outside) = (folder.join("tasks"), root.path().join(FOLDER).join("tasks"));
        let entered = |path: &Path| fs::read_to_string(path).is_ok_and(|text| !text.is_empty());
        for (begins, path) in [(true, &inside), (false, &outside)] {
            [&inside, &outside].into_iter().for_each(|path| fs::write(path, "").unwrap());
            program.starting(begins);
            assert_eq!((entered(&inside), entered(&outside)), (begins, !begins), "{path:?}");
        }
    }

    #[test]
    fn whoever_may_make_no_group_is_told_why() {
        let (root, files, _) = computer();
        let why = |code| no_group(&files, &io::Error::from_raw_os_error(code));
        assert!(why(13).why.contains("requires root") && why(1).why.contains("requires root"));
        assert!(why(28).why.starts_with("all monitoring IDs (RMIDs)"), "{:?}", why(28));
        fs::create_dir_all(root.path().join("sys/fs/resctrl/info/L3_MON")).unwrap();
        fs::write(root.path().join("sys/fs/resctrl/info/L3_MON/num_rmids"), "224\n").unwrap();
        assert!(why(28).why.starts_with("all 224 monitoring IDs") && why(28).advice.contains("rmdir"));
        assert!(why(16).advice.contains("later") && why(5).why.contains("Input/output error"));
    }

    #[test]
    fn without_resctrl_the_program_has_no_source_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/devices/system/cpu")).unwrap();
        fs::write(root.path().join("sys/devices/system/cpu/online"), "0\n").unwrap();
        fs::write(root.path().join("sys/devices/system/cpu/present"), "0\n").unwrap();
        let files = KernelFiles::at(root.path());
        let inventory = Inventory::discover(&files).unwrap();
        assert!(Bandwidth::of_program(&files, &inventory, Clock(Instant::now())).is_none());
    }
}
