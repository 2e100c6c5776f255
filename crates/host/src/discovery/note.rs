//! What an inventory could not see or what restricts its use, as data and as a sentence with advice.

use std::fmt;
use std::path::PathBuf;

use units::{Bytes, CpuId, NodeId, ranges};

/// Something about an inventory that its reader should know.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// A file is there, but cannot be read or says something unexpected; what it would have told is absent.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The kernel lists no NUMA nodes: one was made up that holds everything.
    NoNodes,
    /// The kernel lists no CPUs under `sys`; they were counted in `/proc/cpuinfo`.
    NoCpuFolder,
    /// The page size is not told; 4 KiB were assumed.
    PageSizeAssumed,
    /// The table of distances of a node is missing or does not fit the nodes: 10 to itself and 20 to others are assumed.
    NoDistances {
        /// The node.
        node: NodeId,
    },
    /// No latencies or bandwidths from firmware (ACPI HMAT or a CXL device's CDAT) for memory without CPUs.
    NoMemoryFigures {
        /// The nodes of memory without CPUs.
        nodes: Vec<NodeId>,
    },
    /// Nothing is told about the caches of these CPUs.
    NoCaches {
        /// The CPUs.
        cpus: Vec<CpuId>,
    },
    /// Nothing is told about the cores and sockets of these CPUs.
    NoTopology {
        /// The CPUs.
        cpus: Vec<CpuId>,
    },
    /// These CPUs are there, but offline.
    Offline {
        /// The CPUs.
        cpus: Vec<CpuId>,
    },
    /// These nodes have CPUs and no memory.
    MemoryLess {
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// These online CPUs may not be used: affinity or cpuset keeps the process from them.
    ForbiddenCpus {
        /// The CPUs.
        cpus: Vec<CpuId>,
    },
    /// Memory of these nodes may not be used: the cpuset keeps the process from it.
    ForbiddenNodes {
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// The cgroup gives the process less CPU time than the CPUs that it may use have.
    CpuQuota {
        /// How many CPUs' worth of time, in thousandths.
        millicpus: u64,
    },
    /// A hypervisor announces what stands here: caches, nodes and clock may be others than announced.
    Virtual {
        /// Its name, as far as it tells.
        hypervisor: String,
    },
    /// There are cores of several kinds.
    Hybrid {
        /// Their names, each with how many CPUs.
        kinds: Vec<(String, usize)>,
    },
    /// The kernel does not keep time with the processor's own counter.
    ClockSource {
        /// What it keeps time with.
        current: String,
    },
    /// The kernel has no transparent huge pages.
    NoTransparentHugePages,
    /// The cgroup's files are not visible, so that its memory limit is unknown.
    NoCgroup,
    /// The nodes' memory and that of the whole computer differ; each is as the kernel tells it.
    MemoryDiffers {
        /// The sum over the nodes.
        nodes: Bytes,
        /// That of the computer.
        computer: Bytes,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, problem } => {
                write!(f, "{}: {problem}; what it tells is left out", path.display())
            }
            Self::NoNodes => write!(f, "the kernel lists no NUMA nodes; all CPUs and memory are shown as node 0"),
            Self::NoCpuFolder => {
                write!(
                    f,
                    "/sys/devices/system/cpu is missing; CPUs were counted in /proc/cpuinfo; mount sysfs for more"
                )
            }
            Self::PageSizeAssumed => write!(f, "the page size is not told (/proc/self/auxv); 4 KiB are assumed"),
            Self::NoDistances { node } => {
                write!(f, "node {node} has no usable distance table; 10 to itself and 20 to others are assumed")
            }
            Self::NoMemoryFigures { nodes } => write!(
                f,
                "firmware tells no latency or bandwidth (HMAT, CDAT) for memory without CPUs: {}; measure it",
                node_list(nodes)
            ),
            Self::NoCaches { cpus } => {
                write!(f, "the kernel tells nothing about the caches of {}; measure them", cpu_list(cpus))
            }
            Self::NoTopology { cpus } => write!(
                f,
                "the kernel tells nothing about cores and sockets of {}; those of a node are taken for a socket",
                cpu_list(cpus)
            ),
            Self::Offline { cpus } => write!(f, "offline: {}", cpu_list(cpus)),
            Self::MemoryLess { nodes } => write!(f, "without memory: {}", node_list(nodes)),
            Self::ForbiddenCpus { cpus } => write!(
                f,
                "affinity or cpuset forbids {}; taskset or the container's CPU set (--cpuset-cpus) gives them",
                cpu_list(cpus)
            ),
            Self::ForbiddenNodes { nodes } => write!(
                f,
                "the cpuset forbids memory of {}; the container's memory set (--cpuset-mems) gives it",
                node_list(nodes)
            ),
            Self::CpuQuota { millicpus } => write!(
                f,
                "the cgroup's quota is {}.{:03} CPUs of time: busy threads are stopped when it is used up",
                millicpus / 1000,
                millicpus % 1000
            ),
            Self::Virtual { hypervisor } => write!(
                f,
                "a virtual machine ({hypervisor}): caches, nodes and sockets are those that it announces, which need not \
                 be those beneath"
            ),
            Self::Hybrid { kinds } => {
                let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
                write!(f, "cores of several kinds: {}", kinds.join(", "))
            }
            Self::ClockSource { current } => {
                write!(f, "the kernel keeps time with {current} instead of the processor's counter")
            }
            Self::NoTransparentHugePages => write!(f, "the kernel has no transparent huge pages"),
            Self::NoCgroup => write!(f, "no cgroup is visible; a memory limit, if there is one, is unknown"),
            Self::MemoryDiffers { nodes, computer } => {
                write!(f, "the nodes' memory adds up to {nodes}, /proc/meminfo has {computer}")
            }
        }
    }
}

fn cpu_list(cpus: &[CpuId]) -> String {
    let many = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{many} {}", ranges(cpus.iter().map(|cpu| cpu.0)))
}

fn node_list(nodes: &[NodeId]) -> String {
    let many = if nodes.len() == 1 { "node" } else { "nodes" };
    format!("{many} {}", ranges(nodes.iter().map(|node| node.0)))
}
