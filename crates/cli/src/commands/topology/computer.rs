//! The rows of `ccnuma topology` for this computer, from its inventory.

use std::collections::BTreeMap;

use host::discovery::{Cache, Cpu, Inventory, Node};
use record::{TopologyPart, TopologyRow};
use units::{Bytes, CpuId, NodeId, ranges};

/// The machine's name in records.
const NAME: &str = "host";

/// One line: what computer this is.
pub fn headline(inventory: &Inventory) -> String {
    let processor = &inventory.processor;
    let model = processor.model.as_deref().unwrap_or("unknown processor");
    let guest = processor.hypervisor.as_ref().map_or_else(String::new, |name| format!(", virtual machine ({name})"));
    let online = inventory.cpus.iter().filter(|cpu| cpu.online).count();
    format!("{NAME}: {model}, {online} processors, nodes: {}{guest}", inventory.nodes.len())
}

/// All rows, in the order of the tables.
pub fn rows(inventory: &Inventory) -> Vec<TopologyRow> {
    let mut rows: Vec<TopologyRow> = inventory.nodes.iter().map(node).collect();
    for from in &inventory.nodes {
        rows.extend(inventory.nodes.iter().map(|to| TopologyRow {
            to: Some(node_name(to.id)),
            distance: Some(inventory.distance(from.id, to.id)),
            ..of_node(TopologyPart::Distance, from.id)
        }));
    }
    rows.extend(inventory.nodes.iter().flat_map(access));
    rows.extend(inventory.nodes.iter().flat_map(side_caches));
    rows.extend(cores(inventory));
    rows.extend(caches(&inventory.caches));
    rows.extend(pages(inventory));
    rows.extend(limits(inventory));
    let notes = inventory.notes.iter().enumerate();
    rows.extend(notes.map(|(number, note)| TopologyRow {
        class: Some(note.to_string()),
        ..blank(TopologyPart::Note, number, String::new())
    }));
    rows
}

fn blank(part: TopologyPart, number: usize, at: String) -> TopologyRow {
    TopologyRow::new(NAME, part, u32::try_from(number).unwrap_or(u32::MAX), at)
}

fn of_node(part: TopologyPart, id: NodeId) -> TopologyRow {
    blank(part, id.index(), node_name(id))
}

fn node_name(id: NodeId) -> String {
    format!("node{id}")
}

fn kib(bytes: Bytes) -> Option<u64> {
    Some(bytes.0 >> 10)
}

fn node(node: &Node) -> TopologyRow {
    TopologyRow {
        cpus: node.cpus.clone(),
        class: Some(node.kind().name().to_owned()),
        size_kib: kib(node.memory),
        free_kib: kib(node.free),
        tier: node.tier,
        ..of_node(TopologyPart::Node, node.id)
    }
}

/// Firmware's figures, a row for each node that they are for.
fn access(node: &Node) -> impl Iterator<Item = TopologyRow> {
    node.access.iter().flat_map(move |access| {
        access.initiators.iter().map(move |&from| TopologyRow {
            to: Some(node_name(node.id)),
            class: Some(if access.class == 0 { "nearest initiator" } else { "nearest CPUs" }.to_owned()),
            read_ns: access.read_latency_ns,
            write_ns: access.write_latency_ns,
            read_mib_s: access.read_bandwidth_mib_s,
            write_mib_s: access.write_bandwidth_mib_s,
            ..of_node(TopologyPart::Access, from)
        })
    })
}

fn side_caches(node: &Node) -> impl Iterator<Item = TopologyRow> {
    node.side_caches.iter().map(|cache| {
        let mapping = if cache.direct_mapped { "direct-mapped" } else { "associative" };
        let writing = if cache.write_through { "write-through" } else { "write-back" };
        TopologyRow {
            to: Some(node_name(node.id)),
            class: Some(format!("{mapping}, {writing}")),
            size_kib: cache.size.and_then(kib),
            line_bytes: cache.line.map(|line| line.0),
            ..blank(TopologyPart::SideCache, cache.level.into(), format!("node{}/side cache", node.id))
        }
    })
}

/// A row for each core, in the order of its first thread; offline CPUs each by itself.
fn cores(inventory: &Inventory) -> Vec<TopologyRow> {
    let mut by_first: BTreeMap<CpuId, &Cpu> = BTreeMap::new();
    for cpu in &inventory.cpus {
        by_first.entry(cpu.core_cpus.first().copied().unwrap_or(cpu.id)).or_insert(cpu);
    }
    let rows = by_first.into_values().enumerate().map(|(number, cpu)| TopologyRow {
        cpus: if cpu.core_cpus.is_empty() { vec![cpu.id] } else { cpu.core_cpus.clone() },
        to: cpu.node.map(node_name),
        class: if cpu.online { cpu.kind.clone() } else { Some("offline".to_owned()) },
        ..blank(TopologyPart::Core, number, place(cpu))
    });
    rows.collect()
}

/// Where a core is, from the socket down, as far as is told.
fn place(cpu: &Cpu) -> String {
    let levels = [("socket", cpu.socket), ("die", cpu.die), ("cluster", cpu.cluster), ("core", cpu.core)];
    let told = levels.iter().filter_map(|(name, number)| Some(format!("/{name}{}", (*number)?)));
    told.collect()
}

fn caches(caches: &[Cache]) -> impl Iterator<Item = TopologyRow> {
    caches.iter().enumerate().map(|(number, cache)| TopologyRow {
        cpus: cache.shared_by.clone(),
        class: Some(cache.kind.to_string()),
        size_kib: cache.size.and_then(kib),
        line_bytes: cache.line.map(|line| line.0),
        ways: cache.ways,
        ..blank(TopologyPart::Cache, number, format!("L{}", cache.level))
    })
}

fn pages(inventory: &Inventory) -> Vec<TopologyRow> {
    let mut rows = vec![TopologyRow {
        class: Some("base".to_owned()),
        size_kib: kib(inventory.page_size),
        ..blank(TopologyPart::Pages, 0, String::new())
    }];
    let transparent = &inventory.transparent;
    if let Some(enabled) = &transparent.enabled {
        let defrag = transparent.defrag.as_ref().map_or_else(String::new, |defrag| format!(", defrag {defrag}"));
        rows.push(TopologyRow {
            class: Some(format!("transparent: {enabled}{defrag}")),
            size_kib: kib(transparent.size),
            ..blank(TopologyPart::Pages, 0, String::new())
        });
    }
    for pool in &inventory.huge_pages {
        let row = |at: String, pages: u64, free: u64| TopologyRow {
            class: Some("pool".to_owned()),
            size_kib: kib(pool.size),
            pages: Some(pages),
            free_pages: Some(free),
            ..blank(TopologyPart::Pages, 0, at)
        };
        match pool.nodes.is_empty() {
            true => rows.push(row(String::new(), pool.total, pool.free)),
            false => rows.extend(pool.nodes.iter().map(|node| row(node_name(node.node), node.total, node.free))),
        }
    }
    number(rows)
}

fn limits(inventory: &Inventory) -> Vec<TopologyRow> {
    let limits = &inventory.limits;
    let named = |name: &str| blank(TopologyPart::Limit, 0, name.to_owned());
    let size = |name: &str, size: Option<Bytes>| Some(TopologyRow { size_kib: Some(size?.0 >> 10), ..named(name) });
    let nodes = format!("nodes {}", ranges(limits.nodes.iter().map(|node| node.0)));
    let rows = [
        Some(TopologyRow { cpus: limits.cpus.clone(), ..named("usable CPUs") }),
        Some(TopologyRow { class: Some(nodes), ..named("usable memory") }),
        size("cgroup memory", limits.cgroup.memory),
        size("cgroup memory left", limits.cgroup.memory_left),
        limits
            .cgroup
            .cpu_quota
            .map(|quota| TopologyRow { class: Some(format!("{quota:.2} CPUs of time")), ..named("cgroup CPU quota") }),
        size("address space", limits.address_space),
        size("data", limits.data),
        size("locked memory", limits.locked),
    ];
    number(rows.into_iter().flatten().collect())
}

/// Numbers rows of a kind.
fn number(mut rows: Vec<TopologyRow>) -> Vec<TopologyRow> {
    for (row, number) in rows.iter_mut().zip(0..) {
        row.id = number;
    }
    rows
}
