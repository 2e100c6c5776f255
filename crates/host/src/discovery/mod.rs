//! Inventory of this computer, as the kernel reports it: nodes, CPUs, caches, pages, limits.
//!
//! Everything comes from files under `/sys` and `/proc`, without privileges, so that any computer can be examined from a copy
//! of them ([`KernelFiles::at`]). What is missing becomes a [`Note`], never a guess that looks like a fact.

mod cache;
mod cpu;
mod files;
mod inclusion;
pub(crate) mod limits;
mod list;
mod microarchitecture;
pub(crate) mod node;
mod note;
mod pages;
mod processor;

use units::{Bytes, CpuId, NodeId};

pub use cache::{Cache, CacheKind};
pub use cpu::{Cpu, Relation};
pub use files::KernelFiles;
pub use inclusion::announced_inclusion;
pub use limits::{Cgroup, Limits};
pub use list::parse_list;
pub use node::{MemoryAccess, Node, NodeKind, SideCache};
pub use note::Note;
pub use pages::{HugePagePool, NodePool, TransparentHugePages};
pub use processor::Processor;

use crate::HostError;

/// Parts of a computer and limits on their use, as the kernel reported them at one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Inventory {
    /// The online nodes, ascending; never empty.
    pub nodes: Vec<Node>,
    /// The CPUs that are present, ascending; at least one is online.
    pub cpus: Vec<Cpu>,
    /// The caches, each once; empty if nothing is told about them.
    pub caches: Vec<Cache>,
    /// The size of a base page.
    pub page_size: Bytes,
    /// The pools of huge pages, smallest page first.
    pub huge_pages: Vec<HugePagePool>,
    /// When the kernel puts transparent huge pages.
    pub transparent: TransparentHugePages,
    /// Its processors.
    pub processor: Processor,
    /// Limits of this process.
    pub limits: Limits,
    /// Parts that could not be seen, and restrictions on the use of the rest.
    pub notes: Vec<Note>,
    /// The files that it was read from.
    pub files: KernelFiles,
}

impl Inventory {
    /// Reads everything. Do this before threads are pinned: the affinity of the process is read too.
    ///
    /// # Errors
    /// When not even one CPU can be found, as without `/proc`.
    pub fn discover(files: &KernelFiles) -> Result<Self, HostError> {
        let mut reader = files::Reader::new(files);
        let mut cpus = cpu::discover(&mut reader);
        if !cpus.iter().any(|cpu| cpu.online) {
            let problem = "no CPU is listed there, nor in /proc/cpuinfo; mount sysfs and proc".to_owned();
            return Err(HostError::KernelFile { path: files.path("sys/devices/system/cpu/online"), problem });
        }
        let nodes = node::discover(&mut reader, &mut cpus);
        let ids: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
        let caches = cache::discover(&mut reader, &cpus);
        let page_size = pages::base(&mut reader);
        let huge_pages = pages::pools(&mut reader, &ids);
        let transparent = pages::transparent(&mut reader);
        let processor = processor::discover(&mut reader);
        let limits = limits::discover(&mut reader, &cpus, &nodes);
        let (notes, files) = (reader.notes, files.clone());
        Ok(Self { nodes, cpus, caches, page_size, huge_pages, transparent, processor, limits, notes, files })
    }

    /// The CPUs that this process may run on, ascending.
    pub fn usable_cpus(&self) -> Vec<CpuId> {
        self.limits.cpus.clone()
    }

    /// The nodes that this process may have memory on, ascending.
    pub fn usable_nodes(&self) -> Vec<NodeId> {
        self.limits.nodes.clone()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// A CPU.
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// The node of a CPU; none if there is no such CPU or it is offline.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.cpu(cpu)?.node
    }

    /// The distance from `a` to `b` by firmware's table (SLIT), in which 10 is a node's distance to itself; where there is
    /// no such entry, the kernel's own 10 and 20.
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        let told = self.node(a).and_then(|node| node.distances.get(&b).copied());
        told.unwrap_or(if a == b { node::LOCAL_DISTANCE } else { node::REMOTE_DISTANCE })
    }

    /// How near two CPUs are to each other. Where the kernel tells nothing of sockets, a node's CPUs count as one.
    pub fn relation(&self, a: CpuId, b: CpuId) -> Relation {
        let (Some(first), Some(_)) = (self.cpu(a), self.cpu(b)) else { return Relation::OtherSocket };
        if a == b {
            return Relation::Same;
        }
        if first.core_cpus.contains(&b) {
            return Relation::SmtSibling;
        }
        let socket = match first.socket_cpus.is_empty() {
            false => first.socket_cpus.clone(),
            true => self.cpus.iter().filter(|cpu| cpu.node == first.node).map(|cpu| cpu.id).collect(),
        };
        if !socket.contains(&b) {
            return Relation::OtherSocket;
        }
        let die = if first.die_cpus.is_empty() { &socket } else { &first.die_cpus };
        let caches = self.caches.iter().filter(|cache| cache.shared_by.contains(&a)).map(|cache| &cache.shared_by);
        let mut shared = caches.chain(Some(&first.cluster_cpus)).filter(|set| set.contains(&b));
        if shared.any(|set| set.len() < die.len()) {
            return Relation::SameCluster;
        }
        if die.contains(&b) && die.len() < socket.len() { Relation::SameDie } else { Relation::SameSocket }
    }

    /// The cache of a CPU at a level: one of that kind, or a unified one.
    pub fn cache_of(&self, cpu: CpuId, level: u8, kind: CacheKind) -> Option<&Cache> {
        let fits = |cache: &&Cache| cache.kind == kind || cache.kind == CacheKind::Unified;
        self.caches.iter().filter(|cache| cache.level == level && cache.shared_by.contains(&cpu)).find(fits)
    }

    /// The pools of huge pages as they are now, which need not be as they were at discovery.
    pub fn pools_now(&self) -> Vec<HugePagePool> {
        let ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
        pages::pools(&mut files::Reader::new(&self.files), &ids)
    }

    /// The pool of huge pages of a size, as it was at discovery.
    pub fn pool(&self, size: Bytes) -> Option<&HugePagePool> {
        self.huge_pages.iter().find(|pool| pool.size == size)
    }
}
