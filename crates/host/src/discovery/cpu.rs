//! CPUs: which there are, on which core and socket, and how near two of them are to each other.

use std::collections::BTreeMap;
use std::fmt;

use units::{CpuId, NodeId};

use super::files::Reader;
use super::note::Note;

const FOLDER: &str = "sys/devices/system/cpu";

/// A CPU as the scheduler counts them: one thread of a core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// Its number.
    pub id: CpuId,
    /// Whether threads can run on it.
    pub online: bool,
    /// The node that it belongs to; none if offline.
    pub node: Option<NodeId>,
    /// The number of its socket (`physical_package_id`).
    pub socket: Option<u16>,
    /// The number of its die in the socket.
    pub die: Option<u16>,
    /// The number of its cluster (cores that share something between core and die, such as a second-level cache).
    pub cluster: Option<u16>,
    /// The number of its core in the socket or die; meaningful only beside the others.
    pub core: Option<u16>,
    /// The CPUs of its core, itself among them.
    pub core_cpus: Vec<CpuId>,
    /// The CPUs of its cluster, itself among them.
    pub cluster_cpus: Vec<CpuId>,
    /// The CPUs of its die, itself among them.
    pub die_cpus: Vec<CpuId>,
    /// The CPUs of its socket, itself among them.
    pub socket_cpus: Vec<CpuId>,
    /// Kind of its core where there are several: `performance` or `efficiency` on x86-64, else by capacity.
    pub kind: Option<String>,
    /// Its computing power relative to the fastest's 1024 (`cpu_capacity`).
    pub capacity: Option<u32>,
}

/// How near two CPUs are to each other, from nearest to farthest. A level counts only where it is smaller than the next:
/// two cores of a socket with a single die are in the same socket, not on the same die.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// The same CPU.
    Same,
    /// Threads of one core.
    SmtSibling,
    /// Cores that share a cache, or a cluster by the kernel's account, smaller than the die.
    SameCluster,
    /// Cores of one die of several in the socket.
    SameDie,
    /// Cores of one socket.
    SameSocket,
    /// Cores of different sockets.
    OtherSocket,
}

impl Relation {
    /// All of them, from nearest to farthest.
    pub const ALL: [Self; 6] =
        [Self::Same, Self::SmtSibling, Self::SameCluster, Self::SameDie, Self::SameSocket, Self::OtherSocket];

    /// The name for tables and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same CPU",
            Self::SmtSibling => "SMT sibling",
            Self::SameCluster => "same cluster",
            Self::SameDie => "same die",
            Self::SameSocket => "same socket",
            Self::OtherSocket => "other socket",
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All CPUs that are present, online or not.
pub(super) fn discover(reader: &mut Reader<'_>) -> Vec<Cpu> {
    let online = match reader.cpus(&format!("{FOLDER}/online")) {
        Some(cpus) => cpus,
        None => {
            reader.notes.push(Note::NoCpuFolder);
            counted(reader)
        }
    };
    let mut present = reader.cpus(&format!("{FOLDER}/present")).unwrap_or_default();
    present.extend(&online);
    present.sort_unstable();
    present.dedup();
    let mut cpus: Vec<Cpu> =
        present.iter().map(|&id| if online.contains(&id) { examine(reader, id) } else { offline(id) }).collect();
    name_kinds(reader, &mut cpus);
    note_gaps(reader, &cpus);
    cpus
}

/// The CPUs that `/proc/cpuinfo` names.
fn counted(reader: &mut Reader<'_>) -> Vec<CpuId> {
    let text = reader.text("proc/cpuinfo").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let numbers = lines.filter(|(key, _)| key.trim() == "processor").filter_map(|(_, value)| value.trim().parse().ok());
    numbers.map(CpuId).collect()
}

fn offline(id: CpuId) -> Cpu {
    Cpu {
        id,
        online: false,
        node: None,
        socket: None,
        die: None,
        cluster: None,
        core: None,
        core_cpus: Vec::new(),
        cluster_cpus: Vec::new(),
        die_cpus: Vec::new(),
        socket_cpus: Vec::new(),
        kind: None,
        capacity: None,
    }
}

fn examine(reader: &mut Reader<'_>, id: CpuId) -> Cpu {
    let folder = format!("{FOLDER}/cpu{id}");
    let topology = format!("{folder}/topology");
    // The kernel writes -1 or 65535 for what firmware does not tell.
    let mut number = |name: &str| {
        let number: Option<i64> = reader.number(&format!("{topology}/{name}"));
        number.and_then(|number| u16::try_from(number).ok()).filter(|&number| number != u16::MAX)
    };
    let (socket, die) = (number("physical_package_id"), number("die_id"));
    let (cluster, core) = (number("cluster_id"), number("core_id"));
    // Newer names first, then those of kernels before 5.3.
    let mut set = |names: &[&str]| {
        let found = names.iter().find_map(|name| reader.cpus(&format!("{topology}/{name}")));
        found.map_or_else(Vec::new, |mut cpus| {
            if let Err(place) = cpus.binary_search(&id) {
                cpus.insert(place, id);
            }
            cpus
        })
    };
    Cpu {
        socket,
        die,
        cluster,
        core,
        core_cpus: set(&["core_cpus_list", "thread_siblings_list"]),
        cluster_cpus: set(&["cluster_cpus_list"]),
        die_cpus: set(&["die_cpus_list"]),
        socket_cpus: set(&["package_cpus_list", "core_siblings_list"]),
        capacity: reader.number(&format!("{folder}/cpu_capacity")),
        online: true,
        ..offline(id)
    }
}

/// Names the kinds of cores where there is more than one: by the performance counters' folders on x86-64 hybrids, by
/// capacity elsewhere.
fn name_kinds(reader: &mut Reader<'_>, cpus: &mut [Cpu]) {
    for (folder, kind) in [("cpu_core", "performance"), ("cpu_atom", "efficiency"), ("cpu_lowpower", "low-power")] {
        let members = reader.cpus(&format!("sys/devices/{folder}/cpus")).unwrap_or_default();
        for cpu in cpus.iter_mut().filter(|cpu| members.contains(&cpu.id)) {
            cpu.kind = Some(kind.to_owned());
        }
    }
    let mut capacities: Vec<u32> = cpus.iter().filter_map(|cpu| cpu.capacity).collect();
    capacities.sort_unstable();
    capacities.dedup();
    if cpus.iter().all(|cpu| cpu.kind.is_none()) && capacities.len() > 1 {
        for cpu in cpus.iter_mut() {
            cpu.kind = cpu.capacity.map(|capacity| format!("capacity-{capacity}"));
        }
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for kind in cpus.iter().filter_map(|cpu| cpu.kind.clone()) {
        *kinds.entry(kind).or_default() += 1;
    }
    if kinds.len() > 1 {
        reader.notes.push(Note::Hybrid { kinds: kinds.into_iter().collect() });
    } else {
        cpus.iter_mut().for_each(|cpu| cpu.kind = None);
    }
}

fn note_gaps(reader: &mut Reader<'_>, cpus: &[Cpu]) {
    let such = |test: fn(&Cpu) -> bool| cpus.iter().filter(|cpu| test(cpu)).map(|cpu| cpu.id).collect::<Vec<_>>();
    let offline = such(|cpu| !cpu.online);
    if !offline.is_empty() {
        reader.notes.push(Note::Offline { cpus: offline });
    }
    let unknown = such(|cpu| cpu.online && cpu.socket_cpus.is_empty());
    if !unknown.is_empty() {
        reader.notes.push(Note::NoTopology { cpus: unknown });
    }
}
