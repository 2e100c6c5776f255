//! Servers with several sockets, kinds of memory and levels of sharing.

use host::discovery::{CacheKind, NodeKind, Note, Relation};
use units::{Bytes, CpuId, NodeId, ranges};

use crate::builder::{Computer, Place, numbers, with_siblings};

/// Two Xeon Gold 6148 with sub-NUMA clusters: two nodes a socket, cores dealt to them unevenly; 20 cores with SMT a socket.
fn xeon() -> Computer {
    let computer = Computer::new("0-79", "0-79");
    let nodes = ["0-2,5-6,10-12,15-16", "3-4,7-9,13-14,17-19"];
    computer.file("sys/devices/system/node/online", "0-3");
    let lines = ["10 11 21 21", "11 10 21 21", "21 21 10 11", "21 21 11 10"];
    for (id, line) in (0_u16..).zip(lines) {
        let first = numbers(nodes[usize::from(id % 2)]).into_iter().map(|cpu| cpu + 20 * (id / 2));
        let both: Vec<u16> = first.clone().chain(first.map(|cpu| cpu + 40)).collect();
        computer.node(id, &ranges(both), 48 << 20, line);
    }
    for cpu in 0..80_u16 {
        let (core, socket) = (cpu % 20, cpu / 20 % 2);
        let core_cpus = with_siblings(core + 20 * socket, 1, 40);
        let socket_cpus = with_siblings(20 * socket, 20, 40);
        let place = Place {
            socket: socket.into(),
            core: core.into(),
            core_cpus: &core_cpus,
            die_cpus: &socket_cpus,
            socket_cpus: &socket_cpus,
            cluster: 65535,
            cluster_cpus: &core_cpus,
            ..Place::default()
        };
        computer.cpu(cpu, place);
        computer.cache(cpu, 0, (1, "Data", "32K", 8), &core_cpus);
        computer.cache(cpu, 1, (1, "Instruction", "32K", 8), &core_cpus);
        computer.cache(cpu, 2, (2, "Unified", "1024K", 16), &core_cpus);
        computer.cache(cpu, 3, (3, "Unified", "28160K", 11), &socket_cpus);
    }
    computer
}

#[test]
fn sub_numa_clusters_are_nodes_of_one_socket() {
    let inventory = xeon().discover().expect("a Xeon");
    assert_eq!(inventory.nodes.len(), 4);
    assert_eq!(inventory.usable_cpus().len(), 80);
    assert_eq!(inventory.node_of(CpuId(63)), Some(NodeId(3)));
    assert_eq!(inventory.distance(NodeId(0), NodeId(1)), 11);
    assert_eq!(inventory.distance(NodeId(3), NodeId(0)), 21);
    let relation = |a: u16, b: u16| inventory.relation(CpuId(a), CpuId(b));
    assert_eq!(relation(7, 7), Relation::Same);
    assert_eq!(relation(7, 47), Relation::SmtSibling);
    // CPU 3 is of another node, behind the same third-level cache.
    assert_eq!(relation(0, 3), Relation::SameSocket);
    assert_eq!(relation(0, 20), Relation::OtherSocket);
    assert_eq!(inventory.caches.len(), 40 * 3 + 2);
    let cache = inventory.cache_of(CpuId(79), 3, CacheKind::Data).expect("the third level");
    assert_eq!((cache.size, cache.ways, cache.shared_by.len()), (Some(Bytes::from_kib(28_160)), Some(11), 40));
    assert_eq!(inventory.cache_of(CpuId(0), 1, CacheKind::Instruction).expect("there").size, Some(Bytes::from_kib(32)));
    assert!(inventory.cpus.iter().all(|cpu| cpu.cluster.is_none()), "65535 means that there is none");
}

/// Two EPYC 7742 as four nodes a socket: 64 cores with SMT a socket, a third-level cache for every four cores.
fn epyc() -> Computer {
    let computer = Computer::new("0-255", "0-255");
    computer.file("sys/devices/system/node/online", "0-7");
    for id in 0..8_u16 {
        let distance = |to: u16| {
            if to == id {
                "10"
            } else if to / 4 == id / 4 {
                "12"
            } else {
                "32"
            }
        };
        let line: Vec<&str> = (0..8).map(distance).collect();
        computer.node(id, &with_siblings(16 * id, 16, 128), 64 << 20, &line.join(" "));
    }
    for cpu in 0..256_u16 {
        let (core, socket) = (cpu % 128, cpu % 128 / 64);
        let core_cpus = with_siblings(core, 1, 128);
        let socket_cpus = with_siblings(64 * socket, 64, 128);
        let complex = with_siblings(core / 4 * 4, 4, 128);
        let place = Place {
            socket: socket.into(),
            core: (core % 64).into(),
            core_cpus: &core_cpus,
            die_cpus: &socket_cpus,
            socket_cpus: &socket_cpus,
            ..Place::default()
        };
        computer.cpu(cpu, place);
        computer.cache(cpu, 0, (1, "Data", "32K", 8), &core_cpus);
        computer.cache(cpu, 2, (2, "Unified", "512K", 8), &core_cpus);
        computer.cache(cpu, 3, (3, "Unified", "16384K", 16), &complex);
    }
    computer
}

#[test]
fn cores_behind_one_third_level_cache_of_many_are_a_cluster() {
    let inventory = epyc().discover().expect("an EPYC");
    assert_eq!(inventory.nodes.len(), 8);
    let relation = |a: u16, b: u16| inventory.relation(CpuId(a), CpuId(b));
    assert_eq!(relation(0, 128), Relation::SmtSibling);
    assert_eq!(relation(0, 3), Relation::SameCluster);
    assert_eq!(relation(0, 131), Relation::SameCluster);
    assert_eq!(relation(0, 4), Relation::SameSocket);
    assert_eq!(relation(0, 64), Relation::OtherSocket);
    assert_eq!(inventory.caches.iter().filter(|cache| cache.level == 3).count(), 32);
    assert_eq!(inventory.distance(NodeId(1), NodeId(6)), 32);
}

#[test]
fn dies_count_where_a_socket_has_several() {
    let computer = Computer::new("0-7", "0-7");
    computer.node(0, "0-7", 1 << 20, "10");
    for cpu in 0..8_u16 {
        let die = if cpu < 4 { "0-3" } else { "4-7" };
        let core = cpu.to_string();
        computer.cpu(
            cpu,
            Place { die: (cpu / 4).into(), core_cpus: &core, die_cpus: die, socket_cpus: "0-7", ..Place::default() },
        );
        let pair = format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1);
        computer.cache(cpu, 2, (2, "Unified", "1024K", 16), &pair);
        computer.cache(cpu, 3, (3, "Unified", "16384K", 16), die);
    }
    let inventory = computer.discover().expect("two dies");
    let relation = |a: u16, b: u16| inventory.relation(CpuId(a), CpuId(b));
    assert_eq!(relation(0, 1), Relation::SameCluster);
    assert_eq!(relation(0, 2), Relation::SameDie);
    assert_eq!(relation(0, 4), Relation::SameSocket);
}

/// Two Xeon Max 9480 in flat mode: DDR5 with the CPUs, HBM as nodes of its own; and what firmware says about both.
#[test]
fn high_bandwidth_memory_is_nodes_without_cpus_and_with_figures() {
    let computer = Computer::new("0-223", "0-223");
    computer.file("sys/devices/system/node/online", "0-3");
    let lines = ["10 21 13 23", "21 10 23 13", "13 23 10 23", "23 13 23 10"];
    for (id, cpus, kib, line) in [
        (0, "0-55,112-167", 256_u64 << 20, lines[0]),
        (1, "56-111,168-223", 256 << 20, lines[1]),
        (2, "", 64 << 20, lines[2]),
        (3, "", 64 << 20, lines[3]),
    ] {
        computer.node(id, cpus, kib, line);
        let initiator = id % 2;
        for class in 0..2 {
            let folder = format!("sys/devices/system/node/node{id}/access{class}/initiators");
            computer.folder(&format!("{folder}/node{initiator}"));
            let figures = if id < 2 { [110, 110, 190_000, 90_000] } else { [135, 135, 560_000, 280_000] };
            for (name, figure) in
                ["read_latency", "write_latency", "read_bandwidth", "write_bandwidth"].iter().zip(figures)
            {
                computer.file(&format!("{folder}/{name}"), &figure.to_string());
            }
        }
    }
    computer.file("sys/devices/virtual/memory_tiering/memory_tier3/nodelist", "2-3");
    computer.file("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0-1");
    let inventory = computer.discover().expect("a Xeon Max");
    let node = |id| inventory.node(NodeId(id)).expect("a node");
    assert_eq!((node(0).kind(), node(2).kind()), (NodeKind::Full, NodeKind::MemoryOnly));
    assert_eq!((node(0).tier, node(3).tier), (Some(4), Some(3)));
    assert_eq!(inventory.distance(NodeId(1), NodeId(3)), 13);
    let access = &node(3).access;
    assert_eq!(access.len(), 2);
    assert_eq!(access[1].initiators, [NodeId(1)]);
    assert_eq!((access[1].read_latency_ns, access[1].write_bandwidth_mib_s), (Some(135), Some(280_000)));
    assert!(!inventory.notes.iter().any(|note| matches!(note, Note::NoMemoryFigures { .. })));
}

/// An IBM AC922 (POWER9): nodes 0 and 8, the memory of four GPUs as nodes 252-255, 64 KiB pages, SMT4, some threads offline.
#[test]
fn numbers_may_have_gaps_and_cpus_may_be_offline() {
    let computer = Computer::new("0-175", "0-3,8-175");
    computer.page_size(65_536);
    computer.file("sys/devices/system/node/online", "0,8,252-255");
    let distances = |own: usize, near: &str| {
        let mut words = [near, near, "80", "80", "80", "80"];
        words[own] = "10";
        words.join(" ")
    };
    computer.node(0, "0-3,8-87", 256 << 20, &distances(0, "40"));
    computer.node(8, "88-175", 256 << 20, &distances(1, "40"));
    for (place, id) in (2..).zip(252..=255) {
        computer.node(id, "", 16 << 20, &distances(place, "80"));
    }
    for cpu in numbers("0-3,8-175") {
        let core = ranges(cpu / 4 * 4..cpu / 4 * 4 + 4);
        let socket = if cpu < 88 { "0-3,8-87" } else { "88-175" };
        computer.cpu(
            cpu,
            Place { core_cpus: &core, socket_cpus: socket, socket: (cpu / 88 * 8).into(), ..Place::default() },
        );
    }
    let inventory = computer.discover().expect("an AC922");
    let ids: Vec<u16> = inventory.nodes.iter().map(|node| node.id.0).collect();
    assert_eq!(ids, [0, 8, 252, 253, 254, 255]);
    assert_eq!(inventory.page_size, Bytes::from_kib(64));
    assert_eq!(inventory.distance(NodeId(8), NodeId(0)), 40);
    assert_eq!(inventory.distance(NodeId(254), NodeId(8)), 80);
    assert_eq!(inventory.distance(NodeId(254), NodeId(254)), 10);
    assert_eq!(inventory.usable_cpus().len(), 172);
    assert_eq!(inventory.node_of(CpuId(5)), None);
    assert_eq!(inventory.relation(CpuId(8), CpuId(11)), Relation::SmtSibling);
    assert_eq!(inventory.relation(CpuId(8), CpuId(99)), Relation::OtherSocket);
    let offline: Vec<CpuId> = (4..8).map(CpuId).collect();
    assert!(inventory.notes.contains(&Note::Offline { cpus: offline }));
    assert!(inventory.notes.contains(&Note::NoMemoryFigures { nodes: (252..=255).map(NodeId).collect() }));
}
