//! A copy of a computer's kernel files, written from a few facts in the kernel's own layout.

use std::fs;
use std::path::Path;

use host::HostError;
use host::discovery::{Inventory, KernelFiles, parse_list};
use units::ranges;

/// A tree of files that grows fact by fact.
pub struct Computer {
    folder: tempfile::TempDir,
}

/// Where a core is and who shares what with it; lists as the kernel prints them.
#[derive(Clone, Copy, Default)]
pub struct Place<'a> {
    pub socket: i32,
    pub die: i32,
    pub cluster: i32,
    pub core: i32,
    pub core_cpus: &'a str,
    pub cluster_cpus: &'a str,
    pub die_cpus: &'a str,
    pub socket_cpus: &'a str,
}

impl Computer {
    /// A computer with these CPUs present and online, and 4 KiB pages.
    pub fn new(present: &str, online: &str) -> Self {
        let computer = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        computer.file("sys/devices/system/cpu/present", present);
        computer.file("sys/devices/system/cpu/online", online);
        computer.page_size(4096);
        computer
    }

    /// A computer of which only `/proc/cpuinfo` is seen.
    pub fn bare(cpuinfo: &str) -> Self {
        let computer = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        computer.file("proc/cpuinfo", cpuinfo);
        computer
    }

    /// Writes a file, with the line feed at its end that the kernel writes.
    pub fn file(&self, path: &str, text: &str) {
        self.bytes(path, format!("{text}\n").as_bytes());
    }

    /// Writes a file.
    pub fn bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    /// Creates a folder, as which the kernel shows the link to a node.
    pub fn folder(&self, path: &str) {
        fs::create_dir_all(self.folder.path().join(path)).expect("a folder");
    }

    /// The auxiliary vector with this page size.
    pub fn page_size(&self, size: u64) {
        let words: [u64; 6] = [16, 0xbfeb_fbff, 6, size, 0, 0];
        self.bytes("proc/self/auxv", &words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
    }

    /// A node with these CPUs, memory in KiB, and a line of the distance table.
    pub fn node(&self, id: u16, cpus: &str, kib: u64, distances: &str) {
        let folder = format!("sys/devices/system/node/node{id}");
        self.file(&format!("{folder}/cpulist"), cpus);
        let meminfo = format!("Node {id} MemTotal:       {kib} kB\nNode {id} MemFree:        {} kB", kib / 2);
        self.file(&format!("{folder}/meminfo"), &meminfo);
        self.file(&format!("{folder}/distance"), distances);
    }

    /// The place of one CPU.
    pub fn cpu(&self, id: u16, place: Place<'_>) {
        let folder = format!("sys/devices/system/cpu/cpu{id}/topology");
        let numbers = [
            ("physical_package_id", place.socket),
            ("die_id", place.die),
            ("cluster_id", place.cluster),
            ("core_id", place.core),
        ];
        for (name, number) in numbers {
            self.file(&format!("{folder}/{name}"), &number.to_string());
        }
        let lists = [
            ("core_cpus_list", place.core_cpus),
            ("cluster_cpus_list", place.cluster_cpus),
            ("die_cpus_list", place.die_cpus),
            ("package_cpus_list", place.socket_cpus),
        ];
        for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            self.file(&format!("{folder}/{name}"), list);
        }
    }

    /// A cache of CPU `id`, as folder `index`: level, kind, size, ways, and who shares it.
    pub fn cache(&self, id: u16, index: u8, (level, kind, size, ways): (u8, &str, &str, u32), shared: &str) {
        let folder = format!("sys/devices/system/cpu/cpu{id}/cache/index{index}");
        let ways = ways.to_string();
        let facts = [
            ("level", level.to_string()),
            ("type", kind.to_owned()),
            ("size", size.to_owned()),
            ("ways_of_associativity", ways),
            ("coherency_line_size", "64".to_owned()),
            ("shared_cpu_list", shared.to_owned()),
        ];
        for (name, value) in &facts {
            self.file(&format!("{folder}/{name}"), value);
        }
    }

    /// The folder that stands for the root of its file system.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The inventory that is discovered.
    pub fn discover(&self) -> Result<Inventory, HostError> {
        Inventory::discover(&KernelFiles::at(self.root()))
    }
}

/// The numbers of a list.
pub fn numbers(list: &str) -> Vec<u16> {
    parse_list(list).expect("a list of the test's own")
}

/// A list of the numbers from `first`, `count` of them, and of their SMT siblings `apart` further on.
pub fn with_siblings(first: u16, count: u16, apart: u16) -> String {
    ranges((first..first + count).chain(first + apart..first + apart + count))
}
