//! Checks between the values of a description: an accepted machine can be built and runs.

use units::Bytes;

use super::check_caches::check_caches;
use super::check_server::check_server;
use super::kind::{Alternatives, quoted};
use super::wiring::{MOST_CLUSTERS, MOST_LEAF_ROUTERS};
use super::{
    ControllerKind, Description, DescriptionError, IdealProtocol, MOST_PROCESSORS, MOST_VIRTUAL_CHANNELS,
    PassTransmission, ProcessorModel, TopologyKind,
};

/// A conflict between a value and others.
pub(super) struct Conflict {
    /// The key (`table.key`) that most likely needs a change.
    pub(super) key: String,
    /// The fault of its value.
    pub(super) reason: String,
    /// The values that it accepts.
    pub(super) accepted: String,
}

impl Conflict {
    pub(super) fn new(key: impl Into<String>, reason: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into(), accepted: accepted.into() }
    }
}

/// Rejects a machine whose values contradict each other.
pub(super) fn check(description: &Description) -> Result<(), Conflict> {
    topology(description)?;
    processor(description)?;
    check_caches(description)?;
    check_server(description)?;
    translations(description)?;
    prefetched_region(description)?;
    directory(description)?;
    network(description)?;
    sci_ring(description)?;
    cluster(description)?;
    refresh(description)?;
    rows(description)?;
    memories(description)?;
    operating_system(description)
}

impl Description {
    /// Checks the values of a description that was changed in memory. Those of a file are checked at load.
    ///
    /// # Errors
    /// The error that a file with these values would cause.
    pub fn check(&self) -> Result<(), DescriptionError> {
        check(self).map_err(|conflict| self.impossible(conflict))
    }
}

fn topology(description: &Description) -> Result<(), Conflict> {
    let spec = &description.topology;
    // Origin: two nodes on each router, from two to 512 processors (Prestor 3.2.3). FLASH: four nodes on each cluster
    // router, 64 in all (FLASH dissertation, Appendix A). Ring and mesh: the ports of the same chip that their own links
    // leave. SCI ring: a link interface in each node. Crossbar and ideal: one part that all
    // nodes are linked to.
    let (most_on_router, most_routers, router) = match spec.kind {
        TopologyKind::Origin => (2, MOST_LEAF_ROUTERS, "router"),
        TopologyKind::Flash => (4, MOST_CLUSTERS, "cluster router"),
        TopologyKind::Ring => (4, MOST_PROCESSORS, "router"),
        TopologyKind::Mesh => (2, MOST_PROCESSORS, "router"),
        TopologyKind::SciRing | TopologyKind::Crossbar | TopologyKind::Ideal => (4, MOST_PROCESSORS, "node"),
        TopologyKind::Sockets => (4, MOST_PROCESSORS, "socket"),
    };
    if spec.nodes_per_router > most_on_router {
        let reason = format!("a {router} of topology.kind = {} has fewer ports for nodes", quoted(spec.kind.word()));
        return Err(Conflict::new(
            "topology.nodes_per_router",
            reason,
            format!("a whole number from 1 to {most_on_router}"),
        ));
    }
    let per_node = spec.processors_per_node;
    if per_node != 1 && description.controller.kind == ControllerKind::Magic {
        return Err(Conflict::new("topology.processors_per_node", "a MAGIC node has one processor", "1"));
    }
    if per_node > 2 && description.controller.kind == ControllerKind::Hub {
        return Err(Conflict::new("topology.processors_per_node", "a Hub node has at most two processors", "1 or 2"));
    }
    if per_node != spec.processors && description.controller.kind == ControllerKind::SnoopingBus {
        let reason = "a snooping bus joins all processors of the machine";
        return Err(Conflict::new("topology.processors_per_node", reason, spec.processors.to_string()));
    }
    let nodes_on_one = if spec.kind.is_routed() { spec.nodes_per_router } else { 1 };
    let per_router = nodes_on_one * per_node;
    let most = (most_routers * per_router).min(MOST_PROCESSORS);
    if !spec.processors.is_multiple_of(per_node) {
        return Err(Conflict::new(
            "topology.processors",
            format!("it is not a multiple of processors_per_node = {per_node}"),
            format!("a multiple of {per_node} from {per_node} to {most}"),
        ));
    }
    if spec.processors > most {
        return Err(Conflict::new(
            "topology.processors",
            format!("at most {most_routers} {router}s can be connected"),
            format!("at most {most} with {per_router} processors on a {router}"),
        ));
    }
    if spec.nodes() > most_routers * nodes_on_one {
        let (reason, left) =
            (format!("at most {most_routers} {router}s can be connected"), most_routers * nodes_on_one);
        let accepted = format!("at most {}", left - spec.processors / per_node);
        return Err(Conflict::new("topology.memory_nodes", reason, accepted));
    }
    if spec.memory_nodes > 0 && description.controller.kind == ControllerKind::SnoopingBus {
        let reason = "a snooping bus joins all processors and memories of the machine";
        return Err(Conflict::new("topology.memory_nodes", reason, "0"));
    }
    if spec.nodes() > MOST_HUBS && description.controller.kind == ControllerKind::Hub {
        let reason = "the Hub's directory has room for fewer nodes";
        return Err(Conflict::new("topology.processors", reason, format!("at most {MOST_HUBS} nodes")));
    }
    if spec.nodes() > MOST_CLUSTER_NODES && description.controller.kind == ControllerKind::Cluster {
        let reason = "the directory has a bit for each node";
        return Err(Conflict::new("topology.processors", reason, format!("at most {MOST_CLUSTER_NODES} nodes")));
    }
    mesh(description)
}

/// The columns and rows of a mesh hold its routers without a gap.
fn mesh(description: &Description) -> Result<(), Conflict> {
    let Some(spec) = &description.mesh else { return Ok(()) };
    let routers = description.topology.routers_with_nodes();
    if spec.sides(routers).is_some() {
        return Ok(());
    }
    let sides = (1..=routers).filter(|side| routers.is_multiple_of(*side)).map(|side| side as usize);
    let divisors = units::ranges(sides);
    if spec.columns == 0 || !routers.is_multiple_of(spec.columns) {
        let (key, value) = if spec.columns == 0 { ("rows", spec.rows) } else { ("columns", spec.columns) };
        let reason = format!("the machine's {routers} routers cannot be divided into {value} {key}");
        return Err(Conflict::new(format!("mesh.{key}"), reason, format!("0 (chosen), {divisors}")));
    }
    let reason = format!("{} columns of it do not make the machine's {routers} routers", spec.columns);
    Err(Conflict::new("mesh.rows", reason, format!("0 (chosen) or {}", routers / spec.columns)))
}

/// Maximum number of nodes that an Origin's directory can represent: a bit for each group of eight in its coarse mode (Prestor
/// 2001, 3.2.1).
const MOST_HUBS: u32 = 512;

/// Maximum number of nodes that a cluster's directory can represent: a bit each.
const MOST_CLUSTER_NODES: u32 = 64;

/// MAGIC's directory must leave a part of each node's memory to programs.
fn directory(description: &Description) -> Result<(), Conflict> {
    let Some(spec) = &description.directory else { return Ok(()) };
    let memory = description.topology.node_memory;
    for (key, size) in [("reserved_mib", spec.reserved), ("remote_access_cache_mib", spec.remote_access_cache)] {
        if size >= memory {
            return Err(Conflict::new(
                format!("directory.{key}"),
                format!("no memory of the node is left ({memory})"),
                format!("less than topology.node_memory_mib = {memory}"),
            ));
        }
    }
    Ok(())
}

/// A blocking processor has one instruction in flight.
fn processor(description: &Description) -> Result<(), Conflict> {
    let spec = &description.processor;
    if spec.model != ProcessorModel::Blocking {
        return Ok(());
    }
    let reason = |what: &str| format!("{what} processor.model = {}", quoted(spec.model.word()));
    for (key, value, most) in [
        ("instruction_window", spec.instruction_window, 1),
        ("issue_width", spec.issue_width, 1),
        ("write_buffer", spec.write_buffer, 0),
    ] {
        if value > most {
            let reason = reason("instructions do not overlap with");
            return Err(Conflict::new(format!("processor.{key}"), reason, most.to_string()));
        }
    }
    Ok(())
}

/// The region of a prefetcher is a page or larger.
fn prefetched_region(description: &Description) -> Result<(), Conflict> {
    let Some(prefetch) = &description.prefetch else { return Ok(()) };
    let (region, page) = (prefetch.region, description.tlb.page);
    if region.0 > 0 && region < page {
        let reason = format!("less than a page, {page}");
        return Err(Conflict::new("prefetch.region_kib", reason, "0 for a page, or a larger power of two"));
    }
    Ok(())
}

/// A TLB entry is found by the bits of an address above those of its pages.
fn translations(description: &Description) -> Result<(), Conflict> {
    let pages = description.tlb.pages_per_entry;
    if !pages.is_power_of_two() {
        return Err(Conflict::new("tlb.pages_per_entry", "it is not a power of two", "1, 2, 4 or 8"));
    }
    let (large, entry) = (description.tlb.large_page, description.tlb.page.0 * u64::from(pages));
    if large.0 > 0 && (!large.0.is_power_of_two() || large.0 <= entry) {
        let reason = "a large page is a power of two, and more than what an entry maps by small pages";
        let sizes = (0..=20).map(|shift| 1 << shift).filter(|kib| kib << 10 > entry);
        let accepted = sizes.map(|kib: u64| kib.to_string()).collect::<Vec<_>>().join(", ");
        return Err(Conflict::new("tlb.large_page_kib", reason, format!("0, {accepted}")));
    }
    if large > description.topology.node_memory {
        let reason = format!("a node has {} of memory", description.topology.node_memory);
        return Err(Conflict::new("tlb.large_page_kib", reason, "at most topology.node_memory_mib"));
    }
    for (key, wanted) in [("migration", description.os.migration), ("replication", description.os.replication)] {
        if wanted && large.0 > 0 {
            let reason = "large pages (tlb.large_page_kib) neither move nor are copied";
            return Err(Conflict::new(format!("os.{key}"), reason, "false"));
        }
    }
    Ok(())
}

/// A link must have a virtual channel for each virtual network of the protocol and each class of the routes, and the receive
/// buffer of a virtual channel must hold a whole message.
fn network(description: &Description) -> Result<(), Conflict> {
    if !description.topology.kind.is_routed() {
        return Ok(());
    }
    let (networks, classes) = (description.controller.kind.networks(), description.topology.channel_classes());
    let needed = networks * classes;
    if description.router.virtual_channels < needed {
        let twice = if classes > 1 { ", each with a channel before and one after the dateline" } else { "" };
        return Err(Conflict::new(
            "router.virtual_channels",
            format!("the controller's protocol uses {networks} virtual networks{twice}"),
            format!("a whole number from {needed} to {MOST_VIRTUAL_CHANNELS}"),
        ));
    }
    let (buffer, packet) = (description.router.buffer, description.link.micropacket);
    let message = Bytes(description.data_packets() * packet.0);
    if buffer < message {
        return Err(Conflict::new(
            "router.buffer_bytes",
            format!(
                "a line of {} with its header, in packets of {packet}, takes {message}",
                description.coherent_cache().line
            ),
            format!("a power of two from {} to 65536 bytes", message.0.next_power_of_two()),
        ));
    }
    Ok(())
}

/// The packets of an SCI ring carry the lines, an echo replaces any packet, delays are whole symbols, and joined rings are of
/// the same size. Packets of one node may overtake each other if several requests wait for their echoes, which only SCI's own
/// protocol permits.
fn sci_ring(description: &Description) -> Result<(), Conflict> {
    let Some(spec) = &description.sci_ring else { return Ok(()) };
    let line = description.coherent_cache();
    if Bytes(spec.line_room().into()) < line.line {
        let (data, header) = (spec.data_symbols, spec.command_symbols);
        let reason = format!(
            "a data packet of sci_ring.data_symbols = {data}, {header} of them header, cannot carry a line of {}",
            line.line
        );
        let accepted = format!("at most {} bytes", spec.line_room());
        return Err(Conflict::new(format!("{}.line_bytes", line.table), reason, accepted));
    }
    let nodes = description.topology.nodes();
    if !nodes.is_multiple_of(spec.rings) {
        let reason = format!("{nodes} nodes cannot be divided evenly among the rings");
        return Err(Conflict::new("sci_ring.rings", reason, format!("a divisor of {nodes}")));
    }
    let shortest = spec.command_symbols.min(spec.long_command_symbols).min(spec.data_symbols);
    if spec.echo_symbols > shortest {
        let reason = format!("an echo must not be longer than the shortest packet, {shortest} symbols");
        return Err(Conflict::new("sci_ring.echo_symbols", reason, format!("at most {shortest}")));
    }
    for (key, delay) in [("wire_ns", spec.wire), ("stripper_ns", spec.stripper), ("switch_ns", spec.switch)] {
        if !delay.0.is_multiple_of(spec.symbol.0) {
            let reason = format!("not a whole number of symbols of {} ns", spec.symbol.as_ns());
            let accepted = format!("a multiple of {} ns", spec.symbol.as_ns());
            return Err(Conflict::new(format!("sci_ring.{key}"), reason, accepted));
        }
    }
    let hop = (spec.wire + spec.stripper).0 / spec.symbol.0;
    if hop == 0 || hop > MOST_HOP_SYMBOLS {
        let reason = format!("wire and stripper of a node take {hop} symbols together");
        let accepted = format!("1 to {MOST_HOP_SYMBOLS} symbols together with sci_ring.stripper_ns");
        return Err(Conflict::new("sci_ring.wire_ns", reason, accepted));
    }
    if spec.transmission == PassTransmission::Several && description.controller.kind != ControllerKind::Sci {
        let kind = quoted(description.controller.kind.word());
        let reason = format!("packets may be reordered, which controller.kind = {kind} does not allow");
        return Err(Conflict::new("sci_ring.transmission", reason, "\"one\" or \"one-of-each\""));
    }
    Ok(())
}

/// The longest delay of a node on an SCI ring, in symbols.
const MOST_HOP_SYMBOLS: u64 = 4096;

/// The cache of a cluster's device has whole sets, a power of two of them, and its page cache whole pages.
fn cluster(description: &Description) -> Result<(), Conflict> {
    if let Some(pages) = &description.page_cache {
        if description.controller.kind != ControllerKind::Cluster {
            let reason = "only cluster devices have a page cache";
            return Err(Conflict::new("page_cache.size_kib", reason, "controller.kind = \"cluster\""));
        }
        let page = description.tlb.page;
        if !pages.size.0.is_multiple_of(page.0) {
            let reason = format!("not a whole number of pages of {page}");
            return Err(Conflict::new("page_cache.size_kib", reason, format!("a multiple of {}", page.0 >> 10)));
        }
    }
    if description.miss_counters.is_some() && description.controller.kind != ControllerKind::Cluster {
        let reason = "only cluster devices count misses by page";
        return Err(Conflict::new("miss_counters.threshold", reason, "controller.kind = \"cluster\""));
    }
    let Some(spec) = &description.cluster else { return Ok(()) };
    let line = description.coherent_cache().line;
    let set = line.0 * u64::from(spec.cache_ways);
    if spec.cache_size.0.is_multiple_of(set) && (spec.cache_size.0 / set).is_power_of_two() {
        return Ok(());
    }
    let reason = format!("{} ways of lines of {line} do not make a power of two of sets", spec.cache_ways);
    let sizes = (0..=20).map(|shift| Bytes::from_kib(1 << shift).0).filter(|size| *size >= set);
    let accepted = sizes.filter(|size| (size / set).is_power_of_two() && size.is_multiple_of(set));
    let accepted = accepted.map(|size| (size >> 10).to_string()).collect::<Vec<_>>().join(", ");
    Err(Conflict::new("cluster.cache_kib", reason, accepted))
}

/// A memory refresh must end before the next one begins.
fn refresh(description: &Description) -> Result<(), Conflict> {
    let memory = &description.memory;
    let of_home = description.home.as_ref().map(|home| home.memory_clock);
    let Some(clock) = of_home.or(description.controller_clock()) else { return Ok(()) };
    let length = clock.period() * u64::from(memory.refresh_cycles);
    if length >= memory.refresh_interval {
        let length = length.as_ns();
        let reason = format!("a refresh of memory.refresh_cycles takes {length} ns");
        return Err(Conflict::new("memory.refresh_interval_ns", reason, format!("more than {length} ns")));
    }
    Ok(())
}

/// Servers alone have controllers that reorder. Rows that stay open and collected writes need one; rows also banks in groups and ranks, and
/// times that fit into each other.
fn rows(description: &Description) -> Result<(), Conflict> {
    let Some(banks) = &description.banks else { return Ok(()) };
    if banks.reorders && description.server.is_none() {
        let reason = "this kind of node serves the accesses of a channel in order";
        return Err(Conflict::new("banks.reorders", reason, "false, or a [server]"));
    }
    let (high, low) = (banks.write_high_watermark, banks.write_low_watermark);
    if high > 1 && !banks.reorders {
        let reason = "a controller that does not reorder collects no writes (banks.write_high_watermark)";
        return Err(Conflict::new("banks.reorders", reason, "true, or write_high_watermark = 0"));
    }
    if low > 0 && low >= high {
        let reason = format!("no less than banks.write_high_watermark = {high}");
        return Err(Conflict::new("banks.write_low_watermark", reason, format!("0 to {}", high.saturating_sub(1))));
    }
    let refuse =
        |key: &str, reason: String, accepted: String| Err(Conflict::new(format!("banks.{key}"), reason, accepted));
    let access = description.memory.access_cycles;
    if banks.activate_cycles > access {
        let reason = format!("an access has memory.access_cycles = {access} with the opening of its row");
        return refuse("activate_cycles", reason, format!("0 to {access}"));
    }
    if banks.row_lines == 0 {
        return Ok(());
    }
    if !banks.reorders {
        let reason = "a controller that does not reorder keeps no rows open (banks.row_lines)";
        return refuse("reorders", reason.into(), "true, or row_lines = 0".into());
    }
    let (groups, ranks) = (4 * banks.ranks, banks.ranks);
    if !banks.banks.is_multiple_of(groups) {
        let reason = format!("banks with rows are in four groups of each of {ranks} ranks (banks.ranks)");
        return refuse("banks_per_channel", reason, format!("a multiple of {groups}"));
    }
    let both = banks.activate_cycles + banks.precharge_cycles;
    if both > banks.cycle {
        let reason = format!("a row is opened and closed within it, which takes {both} cycles");
        return refuse("bank_cycles", reason, format!("{both} or more"));
    }
    Ok(())
}

/// A controller chip of the papers has one memory behind it.
fn memories(description: &Description) -> Result<(), Conflict> {
    let chip = match description.controller.kind {
        ControllerKind::Hub => "a Hub has one memory, with the directory beside it",
        ControllerKind::Magic => "MAGIC has one memory, and no part of its own for another",
        ControllerKind::Sci | ControllerKind::SnoopingBus | ControllerKind::Cluster | ControllerKind::Server => {
            return Ok(());
        }
    };
    match description.memory.controllers {
        1 => Ok(()),
        _ => Err(Conflict::new("memory.controllers", chip, "1")),
    }
}

/// Nodes in the table must exist, and pages may migrate only where there is another node for them.
fn operating_system(description: &Description) -> Result<(), Conflict> {
    let (os, spec) = (&description.os, &description.topology);
    let last = spec.nodes().saturating_sub(1);
    for (key, node) in [("fixed_node", os.fixed_node), ("domain_affinity_node", os.domain_affinity_node)] {
        if node > last {
            let nodes = if last == 0 { "node 0 alone".to_owned() } else { format!("nodes 0 to {last}") };
            let accepted = if last == 0 { "0".to_owned() } else { format!("a whole number from 0 to {last}") };
            return Err(Conflict::new(format!("os.{key}"), format!("the machine has {nodes}"), accepted));
        }
    }
    let Some(reason) = never_moves_pages(description) else { return Ok(()) };
    if os.touch_again && description.controller.kind == ControllerKind::Cluster {
        return Ok(());
    }
    for (key, wanted) in [("touch_again", os.touch_again), ("migration", os.migration), ("replication", os.replication)]
    {
        if wanted {
            return Err(Conflict::new(format!("os.{key}"), reason, "false"));
        }
    }
    Ok(())
}

/// The reason why a machine neither moves nor copies pages; `None` if it does.
fn never_moves_pages(description: &Description) -> Option<&'static str> {
    let ideal = description.directory.as_ref().map_or(IdealProtocol::None, |directory| directory.ideal);
    match description.controller.kind {
        ControllerKind::SnoopingBus => {
            Some("a machine on one bus has one memory, which is equally near to every processor")
        }
        ControllerKind::Magic if ideal != IdealProtocol::None => {
            Some("ideal protocols (directory.ideal) neither count references nor copy lines")
        }
        ControllerKind::Sci => Some("SCI controllers neither count references nor copy pages"),
        ControllerKind::Server => Some("home agents of servers neither count references nor copy pages"),
        ControllerKind::Cluster if description.miss_counters.is_none() => {
            Some("miss counters are disabled (miss_counters.threshold)")
        }
        ControllerKind::Hub | ControllerKind::Magic | ControllerKind::Cluster => None,
    }
}
