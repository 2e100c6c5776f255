//! Laptops, containers, virtual machines, boards: few parts, much that is missing.

use host::discovery::{Note, Relation};
use units::{Bytes, CpuId, NodeId};

use crate::builder::{Computer, Place};

/// A Core i9-12900K: eight cores with SMT, eight without in two clusters with a cache each.
#[test]
fn hybrid_cores_have_kinds() {
    let computer = Computer::new("0-23", "0-23");
    computer.node(0, "0-23", 32 << 20, "10");
    computer.file("sys/devices/cpu_core/cpus", "0-15");
    computer.file("sys/devices/cpu_atom/cpus", "16-23");
    for cpu in 0..24_u16 {
        let small = cpu >= 16;
        let first = if small { cpu / 4 * 4 } else { cpu / 2 * 2 };
        let pair = format!("{first}-{}", first + 1);
        let quad = format!("{first}-{}", first + 3);
        let own = cpu.to_string();
        let (core_cpus, cluster_cpus) = if small { (&own, &quad) } else { (&pair, &pair) };
        let place = Place { core_cpus, cluster_cpus, die_cpus: "0-23", socket_cpus: "0-23", ..Place::default() };
        computer.cpu(cpu, place);
        computer.cache(
            cpu,
            2,
            if small { (2, "Unified", "2048K", 16) } else { (2, "Unified", "1280K", 10) },
            cluster_cpus,
        );
        computer.cache(cpu, 3, (3, "Unified", "30720K", 12), "0-23");
    }
    let inventory = computer.discover().expect("a laptop");
    let kind = |cpu| inventory.cpu(CpuId(cpu)).expect("a CPU").kind.clone();
    assert_eq!((kind(0).as_deref(), kind(23).as_deref()), (Some("performance"), Some("efficiency")));
    let relation = |a: u16, b: u16| inventory.relation(CpuId(a), CpuId(b));
    assert_eq!((relation(0, 1), relation(0, 2)), (Relation::SmtSibling, Relation::SameSocket));
    assert_eq!((relation(16, 19), relation(16, 20)), (Relation::SameCluster, Relation::SameSocket));
    let kinds = vec![("efficiency".to_owned(), 8), ("performance".to_owned(), 16)];
    assert!(inventory.notes.contains(&Note::Hybrid { kinds }));
}

/// An AArch64 server whose firmware tells of cores, not of caches.
#[test]
fn caches_that_firmware_does_not_tell_are_not_made_up() {
    let computer = Computer::new("0-3", "0-3");
    computer.node(0, "0-3", 16 << 20, "10");
    let processor = "processor\t: 0\nFeatures\t: fp asimd atomics\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c";
    computer.file("proc/cpuinfo", processor);
    computer.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter");
    for cpu in 0..4_u16 {
        let own = cpu.to_string();
        computer.cpu(cpu, Place { socket: -1, core_cpus: &own, socket_cpus: "0-3", ..Place::default() });
    }
    let inventory = computer.discover().expect("an Ampere Altra");
    assert!(inventory.caches.is_empty());
    assert!(inventory.notes.contains(&Note::NoCaches { cpus: (0..4).map(CpuId).collect() }));
    assert_eq!(inventory.processor.vendor.as_deref(), Some("Arm"));
    assert_eq!(inventory.processor.model.as_deref(), Some("Neoverse-N1"));
    assert_eq!(inventory.processor.hypervisor, None);
    assert!(inventory.processor.features.contains("atomics"));
    assert_eq!(inventory.cpu(CpuId(0)).expect("it").socket, None, "-1 means that it is not told");
    assert_eq!(inventory.relation(CpuId(0), CpuId(3)), Relation::SameSocket);
    assert!(!inventory.notes.iter().any(|note| matches!(note, Note::ClockSource { .. })));
}

/// A container on a server of 64 CPUs and 2 nodes: two CPUs, one node, 2 GiB, one and a half CPUs of time.
fn container() -> Computer {
    let computer = Computer::new("0-63", "0-63");
    computer.file("sys/devices/system/node/online", "0-1");
    computer.node(0, "0-31", 64 << 20, "10 21");
    computer.node(1, "32-63", 64 << 20, "21 10");
    computer.file("proc/self/status", "Name:\tcat\nCpus_allowed_list:\t0-63\nMems_allowed_list:\t0-1");
    computer.file("proc/self/cgroup", "0::/");
    let mount = "35 30 0:31 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate";
    computer.file("proc/self/mountinfo", mount);
    computer.file("sys/fs/cgroup/cpuset.cpus.effective", "40-41");
    computer.file("sys/fs/cgroup/cpuset.mems.effective", "1");
    computer.file("sys/fs/cgroup/memory.max", "2147483648");
    computer.file("sys/fs/cgroup/memory.current", "1073741824");
    computer.file("sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 1000000\nactive_file 2000000\nshmem 7");
    computer.file("sys/fs/cgroup/cpu.max", "150000 100000");
    computer
}

#[test]
fn a_container_may_use_what_its_control_group_leaves() {
    let inventory = container().discover().expect("a container");
    assert_eq!(inventory.usable_cpus(), [CpuId(40), CpuId(41)]);
    assert_eq!(inventory.usable_nodes(), [NodeId(1)]);
    let cgroup = &inventory.limits.cgroup;
    assert_eq!(cgroup.version, Some(2));
    assert_eq!(cgroup.memory, Some(Bytes(2 << 30)));
    assert_eq!(cgroup.memory_left, Some(Bytes((1 << 30) + 3_000_000)));
    assert_eq!(cgroup.cpu_quota, Some(1.5));
    let forbidden: Vec<CpuId> = (0..40).chain(42..64).map(CpuId).collect();
    assert!(inventory.notes.contains(&Note::ForbiddenCpus { cpus: forbidden }));
    assert!(inventory.notes.contains(&Note::ForbiddenNodes { nodes: vec![NodeId(0)] }));
    assert!(inventory.notes.contains(&Note::CpuQuota { millicpus: 1500 }));
}

/// Version 1 of control groups: a hierarchy for each controller, limits that count in every group up to the root.
#[test]
fn the_narrowest_of_nested_groups_counts() {
    let computer = Computer::new("0-7", "0-7");
    computer.node(0, "0-7", 64 << 20, "10");
    computer.file("proc/self/cgroup", "4:memory:/outer/inner\n3:cpuset:/\n1:cpu,cpuacct:/outer\n0::/");
    let mounts = "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
    computer.file("proc/self/mountinfo", mounts);
    let memory = "sys/fs/cgroup/memory";
    computer.file(&format!("{memory}/memory.limit_in_bytes"), "9223372036854771712");
    computer.file(&format!("{memory}/outer/memory.limit_in_bytes"), "1000000000");
    computer.file(&format!("{memory}/outer/memory.usage_in_bytes"), "900000000");
    computer.file(&format!("{memory}/outer/inner/memory.limit_in_bytes"), "2000000000");
    computer.file("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7");
    computer.file("sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_quota_us", "-1");
    computer.file("sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_period_us", "100000");
    let inventory = computer.discover().expect("nested groups");
    let cgroup = &inventory.limits.cgroup;
    assert_eq!((cgroup.version, cgroup.path.as_str()), (Some(1), "/outer/inner"));
    assert_eq!((cgroup.memory, cgroup.memory_left), (Some(Bytes(1_000_000_000)), Some(Bytes(100_000_000))));
    assert_eq!(cgroup.cpu_quota, None);
    assert_eq!(inventory.usable_cpus().len(), 8);
}

/// A virtual machine without NUMA in its kernel, without caches and sockets, on a paravirtual clock.
#[test]
fn a_kernel_without_nodes_has_one_that_holds_everything() {
    let computer = Computer::new("0-1", "0-1");
    computer.file("proc/meminfo", "MemTotal:        2048000 kB\nMemFree:         1024000 kB");
    computer.file("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu tsc hypervisor");
    computer.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock");
    computer.file("sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc");
    let inventory = computer.discover().expect("a small machine");
    assert_eq!(inventory.nodes.len(), 1);
    assert_eq!(inventory.nodes[0].memory, Bytes::from_kib(2_048_000));
    assert_eq!(inventory.node_of(CpuId(1)), Some(NodeId(0)));
    assert_eq!(inventory.relation(CpuId(0), CpuId(1)), Relation::SameSocket);
    assert_eq!(inventory.processor.hypervisor.as_deref(), Some("KVM"));
    let has = |note: &Note| inventory.notes.contains(note);
    assert!(has(&Note::NoNodes) && has(&Note::Virtual { hypervisor: "KVM".to_owned() }));
    assert!(has(&Note::ClockSource { current: "kvm-clock".to_owned() }));
    assert!(has(&Note::NoTopology { cpus: vec![CpuId(0), CpuId(1)] }));
    assert!(has(&Note::NoTransparentHugePages) && has(&Note::NoCgroup));
}

#[test]
fn huge_pages_are_told_for_each_node() {
    let computer = Computer::new("0", "0");
    computer.node(0, "0", 8 << 20, "10");
    computer.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    computer.file("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise madvise [never]");
    computer.file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152");
    for (folder, total, free) in
        [("sys/kernel/mm/hugepages", 10, 7), ("sys/devices/system/node/node0/hugepages", 10, 7)]
    {
        computer.file(&format!("{folder}/hugepages-2048kB/nr_hugepages"), &total.to_string());
        computer.file(&format!("{folder}/hugepages-2048kB/free_hugepages"), &free.to_string());
    }
    computer.file("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "3");
    let inventory = computer.discover().expect("huge pages");
    let pool = inventory.pool(Bytes::from_mib(2)).expect("a pool");
    assert_eq!((pool.total, pool.free, pool.reserved), (10, 7, 3));
    assert_eq!((pool.nodes.len(), pool.nodes[0].node, pool.nodes[0].free), (1, NodeId(0), 7));
    let transparent = &inventory.transparent;
    assert_eq!((transparent.enabled.as_deref(), transparent.defrag.as_deref()), (Some("madvise"), Some("never")));
}
