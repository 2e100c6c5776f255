//! Gaps in an inventory and restrictions on its use, as data and as a sentence with advice.

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
        /// The problem with it.
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
        /// The clock source in use.
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
                write!(f, "{}: {problem}; ignored", path.display())
            }
            Self::NoNodes => write!(f, "the kernel reports no NUMA nodes; all CPUs and memory are shown as node 0"),
            Self::NoCpuFolder => {
                write!(
                    f,
                    "/sys/devices/system/cpu is missing; CPUs were counted in /proc/cpuinfo; mount sysfs for more"
                )
            }
            Self::PageSizeAssumed => write!(f, "page size unknown (/proc/self/auxv); 4 KiB assumed"),
            Self::NoDistances { node } => {
                write!(f, "node {node} has no usable distance table; 10 (local) and 20 (remote) assumed")
            }
            Self::NoMemoryFigures { nodes } => write!(
                f,
                "no firmware latency or bandwidth (HMAT, CDAT) for memory-only {}; measure it with ccnuma bench",
                node_list(nodes)
            ),
            Self::NoCaches { cpus } => {
                write!(f, "caches of {} unknown to the kernel; measure them with ccnuma bench", cpu_list(cpus))
            }
            Self::NoTopology { cpus } => write!(
                f,
                "cores and sockets of {} unknown to the kernel; each node is shown as a socket",
                cpu_list(cpus)
            ),
            Self::Offline { cpus } => write!(f, "offline: {}", cpu_list(cpus)),
            Self::MemoryLess { nodes } => write!(f, "without memory: {}", node_list(nodes)),
            Self::ForbiddenCpus { cpus } => write!(
                f,
                "not in the affinity mask or cpuset: {}; change it with taskset or --cpuset-cpus",
                cpu_list(cpus)
            ),
            Self::ForbiddenNodes { nodes } => {
                write!(f, "not in the cpuset: memory of {}; change it with --cpuset-mems", node_list(nodes))
            }
            Self::CpuQuota { millicpus } => write!(
                f,
                "cgroup CPU quota {}.{:03} CPUs: busy threads are throttled when it is used up",
                millicpus / 1000,
                millicpus % 1000
            ),
            Self::Virtual { hypervisor } => write!(
                f,
                "virtual machine ({hypervisor}): announced caches, nodes and sockets may differ from the hardware"
            ),
            Self::Hybrid { kinds } => {
                let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
                write!(f, "cores of several kinds: {}", kinds.join(", "))
            }
            Self::ClockSource { current } => {
                write!(f, "the kernel's clock source is {current}, not the cycle counter")
            }
            Self::NoTransparentHugePages => write!(f, "no transparent huge pages"),
            Self::NoCgroup => write!(f, "no cgroup visible; memory limit unknown"),
            Self::MemoryDiffers { nodes, computer } => {
                write!(f, "sum of node memory {nodes}, /proc/meminfo {computer}")
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
