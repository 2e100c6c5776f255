//! Counts of the kernel for nodes and for the machine: CPU time, pages taken near and far, migrations.

use host::children::ticks_per_second;
use host::discovery::{Inventory, KernelFiles};
use host::statistics::{CpuTimes, Text, cpu_times, find_keys, read_keys};
use trace::{Blind, Counter, Object, ObjectKind, SourceDescription};

use super::{Clock, counted, no_file, title};
use crate::{CounterSource, Reading};

/// Reading these files takes longer than most samples are worth.
const SLOW_NS: u64 = 100_000_000;

/// The objects of nodes.
pub(super) fn objects(inventory: &Inventory) -> Vec<Object> {
    let object = |node: &host::discovery::Node| {
        let path = format!("/sys/devices/system/node/node{}", node.id);
        Object { node: Some(u64::from(node.id.0)), ..Object::node(u64::from(node.id.0), path) }
    };
    inventory.nodes.iter().map(object).collect()
}

/// A file of names and numbers, and which of them are counters.
struct Keyed {
    text: Text,
    /// Whether the kernel makes it in one piece, as all of sysfs.
    whole: bool,
    keys: Vec<String>,
}

impl Keyed {
    /// Opens a file; what is wrong if there is none.
    fn open(files: &KernelFiles, path: &str, wanted: impl Fn(&str) -> bool) -> Result<Self, Blind> {
        let failed = |error: std::io::Error| no_file(path.rsplit('/').next().unwrap_or(path), path, &error.to_string());
        let mut text = Text::open(&files.path(path)).map_err(failed)?;
        let keys = find_keys(text.read().map_err(failed)?, wanted);
        Ok(Self { text, whole: path.starts_with("sys/"), keys })
    }

    fn read(&mut self, readings: &mut [Reading]) {
        readings.fill(Reading::MISSING);
        let text = if self.whole { self.text.read_whole() } else { self.text.read() };
        let Ok(text) = text else { return };
        let keys = self.keys.iter().map(String::as_str);
        read_keys(text, keys, |i, value| readings[i] = value.map_or(Reading::MISSING, Reading::of));
    }
}

/// Where pages were taken from (`numastat`), and what CPUs did (`/proc/stat`).
pub(super) struct Nodes {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    description: SourceDescription,
    clock: Clock,
    stat: Option<Text>,
    /// For each CPU, its node's place among the objects.
    node_of: Vec<Option<usize>>,
    times: Vec<CpuTimes>,
    numastat: Vec<Option<Keyed>>,
    keys: usize,
}

/// Counters of CPU time, before those of `numastat`.
const TIMES: usize = 3;

impl Nodes {
    pub(super) fn new(files: &KernelFiles, inventory: &Inventory, clock: Clock) -> Self {
        let mut description = SourceDescription { name: "kernel, by node".to_owned(), ..Default::default() };
        let objects = objects(inventory);
        let mut numastat = Vec::new();
        for node in &inventory.nodes {
            let file = Keyed::open(files, &format!("sys/devices/system/node/node{}/numastat", node.id), |_| true);
            numastat.push(file.map_err(|blind| description.blind.push(blind)).ok());
        }
        // All nodes' files have the same lines; a node whose file has others is left out rather than mistaken.
        let keys = numastat.iter().flatten().next().map(|file| file.keys.clone()).unwrap_or_default();
        numastat
            .iter_mut()
            .filter(|file| file.as_ref().is_some_and(|file| file.keys != keys))
            .for_each(|file| *file = None);
        let stat = Text::open(&files.path("proc/stat"));
        let stat =
            stat.map_err(|error| description.blind.push(no_file("CPU time", "proc/stat", &error.to_string()))).ok();
        let mut counters = vec![
            Counter::count(ObjectKind::Node, "cpu_busy", "ticks", "busy CPU time"),
            Counter::count(ObjectKind::Node, "cpu_idle", "ticks", "idle CPU time"),
            Counter::count(
                ObjectKind::Node,
                "cpu_stolen",
                "ticks",
                "steal time (CPU time given to other guests by the hypervisor)",
            ),
        ];
        counters.extend(keys.iter().map(|key| counted(ObjectKind::Node, key)));
        if stat.is_some() {
            description.sees.push("CPU time of each node (/proc/stat)".to_owned());
        }
        if !keys.is_empty() {
            description.sees.push("local and remote page allocations by node (numastat)".to_owned());
        }
        if objects.len() == 1 {
            let why = "one NUMA node";
            description.blind.push(Blind::new("local/remote split", why, "use a machine with several nodes"));
        }
        let last = inventory.cpus.iter().map(|cpu| cpu.id.index()).max().unwrap_or(0);
        let mut node_of = vec![None; last + 1];
        for cpu in &inventory.cpus {
            node_of[cpu.id.index()] =
                cpu.node.and_then(|node| inventory.nodes.iter().position(|known| known.id == node));
        }
        let times = vec![CpuTimes::default(); objects.len()];
        Self { counters, objects, description, clock, stat, node_of, times, numastat, keys: keys.len() }
    }
}

impl CounterSource for Nodes {
    fn describe(&self) -> SourceDescription {
        self.description.clone()
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn constants(&self) -> Vec<(String, f64)> {
        vec![("ticks_per_second".to_owned(), ticks_per_second())]
    }

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn read(&mut self, readings: &mut [Reading]) {
        readings.fill(Reading::MISSING);
        self.times.fill(CpuTimes::default());
        let (times, node_of) = (&mut self.times, &self.node_of);
        let told = self.stat.as_mut().and_then(|stat| stat.read_whole().ok());
        if let Some(text) = told {
            cpu_times(text, |cpu, spent| {
                let Some(Some(node)) = node_of.get(usize::from(cpu)) else { return };
                let sum = &mut times[*node];
                *sum = CpuTimes {
                    busy: sum.busy + spent.busy,
                    idle: sum.idle + spent.idle,
                    stolen: sum.stolen + spent.stolen,
                };
            });
        }
        for (node, readings) in readings.chunks_exact_mut(TIMES + self.keys).enumerate() {
            let (times, pages) = readings.split_at_mut(TIMES);
            if told.is_some() {
                let CpuTimes { busy, idle, stolen } = self.times[node];
                times.copy_from_slice(&[Reading::of(busy), Reading::of(idle), Reading::of(stolen)]);
            }
            if let Some(file) = &mut self.numastat[node] {
                file.read(pages);
            }
        }
    }
}

/// Faults, moves and memory, by node and of the machine: read less often, as the kernel adds them up over all CPUs.
pub(super) struct Slow {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    description: SourceDescription,
    clock: Clock,
    machine: Option<Keyed>,
    nodes: Vec<(Option<Keyed>, Option<Keyed>)>,
    /// Counters of the machine, of a node in `vmstat`, and in `meminfo`.
    counts: [usize; 3],
}

/// Counts of `/proc/vmstat` that are about places, faults and moves.
fn of_machine(key: &str) -> bool {
    let starts = ["numa_", "pgmigrate_", "pgpromote_", "pgdemote_", "thp_migration_"];
    starts.iter().any(|start| key.starts_with(start)) || ["pgfault", "pgmajfault", "pswpin", "pswpout"].contains(&key)
}

/// Counts of a node's `vmstat` that are read; those that `numastat` tells, too, are left to it.
fn of_node(key: &str) -> bool {
    ["pgpromote_", "pgdemote_"].iter().any(|start| key.starts_with(start))
        || ["nr_free_pages", "nr_anon_pages", "nr_file_pages"].contains(&key)
}

impl Slow {
    pub(super) fn new(files: &KernelFiles, inventory: &Inventory, clock: Clock) -> Self {
        let mut description =
            SourceDescription { name: "kernel, faults and migrations".to_owned(), ..Default::default() };
        let mut open = |path: &str, wanted: fn(&str) -> bool| {
            Keyed::open(files, path, wanted).map_err(|blind| description.blind.push(blind)).ok()
        };
        let machine = open("proc/vmstat", of_machine);
        let nodes: Vec<_> = inventory
            .nodes
            .iter()
            .map(|node| {
                let folder = format!("sys/devices/system/node/node{}", node.id);
                let memory = |key: &str| key == "MemTotal" || key == "MemUsed";
                (open(&format!("{folder}/vmstat"), of_node), open(&format!("{folder}/meminfo"), memory))
            })
            .collect();
        let keys = |file: Option<&Keyed>| file.map(|file| file.keys.clone()).unwrap_or_default();
        let of_machine = keys(machine.as_ref());
        let vmstat = keys(nodes.iter().find_map(|(file, _)| file.as_ref()));
        let meminfo = keys(nodes.iter().find_map(|(_, file)| file.as_ref()));
        let same = |file: Option<Keyed>, keys: &[String]| file.filter(|file| file.keys == keys);
        let nodes = nodes.into_iter().map(|(first, second)| (same(first, &vmstat), same(second, &meminfo))).collect();
        let counts = [of_machine.len(), vmstat.len(), meminfo.len()];
        let mut counters: Vec<Counter> = of_machine.iter().map(|key| counted(ObjectKind::Machine, key)).collect();
        counters.extend(vmstat.iter().chain(&meminfo).map(|key| counted(ObjectKind::Node, key)));
        if counts[0] > 0 {
            description.sees.push("faults, migrations and NUMA balancing of the machine (/proc/vmstat)".to_owned());
        }
        if counts[1] + counts[2] > 0 {
            description.sees.push("memory of each node, free and in use (vmstat, meminfo)".to_owned());
        }
        if !of_machine.iter().any(|key| key == "numa_hint_faults") {
            let why = "kernel built without NUMA balancing";
            description.blind.push(Blind::new("NUMA hinting faults and migrations", why, ""));
        } else {
            let on = files.text("proc/sys/kernel/numa_balancing").ok().flatten();
            if on.is_none_or(|on| on.trim() == "0") {
                let (why, advice) = ("NUMA balancing is disabled", "sysctl kernel.numa_balancing=1");
                description.blind.push(Blind::new("NUMA hinting faults", why, advice));
            }
        }
        let mut objects = vec![Object::machine(title(files, inventory))];
        objects.extend(self::objects(inventory));
        Self { counters, objects, description, clock, machine, nodes, counts }
    }
}

impl CounterSource for Slow {
    fn describe(&self) -> SourceDescription {
        self.description.clone()
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn pace_ns(&self) -> u64 {
        SLOW_NS
    }

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn read(&mut self, readings: &mut [Reading]) {
        readings.fill(Reading::MISSING);
        let [of_machine, vmstat, meminfo] = self.counts;
        let (machine, mut rest) = readings.split_at_mut(of_machine);
        if let Some(file) = &mut self.machine {
            file.read(machine);
        }
        for (first, second) in &mut self.nodes {
            let (node, others) = rest.split_at_mut(vmstat + meminfo);
            let (pages, memory) = node.split_at_mut(vmstat);
            if let Some(file) = first {
                file.read(pages);
            }
            if let Some(file) = second {
                file.read(memory);
            }
            rest = others;
        }
    }
}
