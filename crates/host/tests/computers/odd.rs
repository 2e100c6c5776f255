//! Files that say something else than they should: noted, never believed, never a panic.

use host::discovery::{Inventory, KernelFiles, Note};
use proptest::prelude::*;
use units::{CpuId, NodeId};

use crate::builder::{Computer, Place};

#[test]
fn nothing_at_all_is_an_error_that_says_what_to_mount() {
    let empty = tempfile::tempdir().expect("a folder");
    let error = Inventory::discover(&KernelFiles::at(empty.path())).expect_err("no CPU");
    assert!(error.to_string().contains("mount sysfs and proc"), "{error}");
}

#[test]
fn without_sysfs_cpus_are_counted() {
    let inventory = Computer::bare("processor\t: 0\n\nprocessor\t: 1\n").discover().expect("two CPUs");
    assert_eq!(inventory.usable_cpus(), [CpuId(0), CpuId(1)]);
    let has = |note: &Note| inventory.notes.contains(note);
    assert!(has(&Note::NoCpuFolder) && has(&Note::NoNodes) && has(&Note::PageSizeAssumed));
}

#[test]
fn a_file_that_makes_no_sense_is_noted_with_its_name() {
    let computer = Computer::new("0-1", "0-1");
    computer.node(0, "0-1", 1 << 20, "10 20 30");
    computer.cache(0, 0, (1, "Data", "32 bananas", 8), "0");
    computer.cache(0, 1, (1, "Soup", "32K", 8), "0");
    let inventory = computer.discover().expect("the rest");
    assert_eq!(inventory.distance(NodeId(0), NodeId(0)), 10);
    assert!(inventory.notes.contains(&Note::NoDistances { node: NodeId(0) }));
    assert_eq!(inventory.caches.len(), 1);
    assert_eq!(inventory.caches[0].size, None);
    let texts: Vec<String> = inventory.notes.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("index0/size: not a size such as 48K")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("`Soup` is none of Data, Instruction, Unified")), "{texts:?}");
}

#[test]
fn numbers_that_no_kernel_has_are_refused() {
    let computer = Computer::new("0-1", "0-1");
    computer.node(0, "0-1", 1 << 20, "10");
    computer.file("sys/devices/system/node/online", "0-65535");
    computer.file("sys/devices/system/cpu/present", "0-65535");
    let inventory = computer.discover().expect("what else is told");
    assert_eq!((inventory.nodes.len(), inventory.cpus.len()), (1, 2));
    let texts: Vec<String> = inventory.notes.iter().map(ToString::to_string).collect();
    for accepted in ["accepted: up to 8191", "accepted: up to 1023"] {
        assert!(texts.iter().any(|text| text.contains(accepted)), "{texts:?}");
    }
}

#[test]
fn a_cpu_whose_node_cannot_be_read_is_found_by_its_link() {
    let computer = Computer::new("0-1", "0-1");
    computer.node(0, "?", 1 << 20, "10");
    computer.folder("sys/devices/system/cpu/cpu1/node0");
    let inventory = computer.discover().expect("a node");
    assert_eq!(inventory.node_of(CpuId(1)), Some(NodeId(0)));
    assert_eq!(inventory.node_of(CpuId(0)), None);
}

/// The files of a small computer that discovery reads.
const FILES: &[&str] = &[
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/meminfo",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/access0/initiators/read_latency",
    "sys/devices/system/node/node0/memory_side_cache/index1/size",
    "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.current",
    "sys/fs/cgroup/memory.stat",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpuset.cpus.effective",
    "proc/self/auxv",
    "proc/self/status",
    "proc/self/limits",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/meminfo",
    "proc/cpuinfo",
];

fn small() -> Computer {
    let computer = Computer::new("0-3", "0-3");
    computer.node(0, "0-3", 1 << 20, "10");
    computer.file("proc/self/cgroup", "0::/a/b");
    computer.file("proc/self/mountinfo", "35 30 0:31 / /sys/fs/cgroup ro - cgroup2 cgroup rw");
    for cpu in 0..4_u16 {
        computer.cpu(cpu, Place { core_cpus: "0-3", socket_cpus: "0-3", ..Place::default() });
        computer.cache(cpu, 0, (1, "Data", "32K", 8), "0-3");
    }
    computer
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        "[0-9,:/ \\-KMkB\\[\\]\n]{0,40}".prop_map(String::into_bytes),
        any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        Just(b"18446744073709551615 18446744073709551615".to_vec()),
        Just(b"MemTotal: 18446744073709551615 kB\nNode 0 MemTotal: 18014398509481983 kB".to_vec()),
        Just(b"0-65535".to_vec()),
        Just(b"0-1023".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever some of the files hold, discovery answers, and what it answers fits together.
    #[test]
    fn any_contents_are_survived(wrong in prop::collection::vec((prop::sample::select(FILES), contents()), 1..6)) {
        let computer = small();
        for (path, bytes) in wrong {
            computer.bytes(path, &bytes);
        }
        if let Ok(inventory) = computer.discover() {
            prop_assert!(!inventory.nodes.is_empty());
            prop_assert!(inventory.page_size.0.is_power_of_two());
            for cpu in inventory.usable_cpus() {
                prop_assert!(inventory.cpu(cpu).is_some_and(|cpu| cpu.online));
            }
            for node in inventory.usable_nodes() {
                prop_assert!(inventory.node(node).is_some());
            }
            for note in &inventory.notes {
                prop_assert!(!note.to_string().is_empty());
            }
            let (a, b) = (CpuId(0), CpuId(3));
            inventory.relation(a, b);
        }
    }
}
