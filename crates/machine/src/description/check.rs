//! Checks of a description's values beside each other: what is accepted can be built, and runs.

use units::Bytes;

use super::kind::{Alternatives, quoted};
use super::{ControllerKind, Description, DescriptionError, MOST_WAYS, TopologyKind};
use crate::topology::{MOST_CLUSTERS, MOST_LEAF_ROUTERS};

/// What is wrong with a value beside others.
pub(super) struct Conflict {
    /// The key (`table.key`) that is most likely meant otherwise.
    pub(super) key: String,
    /// What is wrong with its value.
    pub(super) reason: String,
    /// What could stand there.
    pub(super) accepted: String,
}

impl Conflict {
    fn new(key: impl Into<String>, reason: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into(), accepted: accepted.into() }
    }
}

/// Refuses a machine whose values cannot stand together.
pub(super) fn check(description: &Description) -> Result<(), Conflict> {
    topology(description)?;
    caches(description)?;
    translations(description)?;
    directory(description)?;
    network(description)?;
    refresh(description)?;
    operating_system(description)
}

impl Description {
    /// Whether the values of a description that was changed by hand can stand together. Those of a file do.
    ///
    /// # Errors
    /// What a file with these values would be refused for.
    pub fn check(&self) -> Result<(), DescriptionError> {
        check(self).map_err(|conflict| self.impossible(conflict))
    }
}

fn topology(description: &Description) -> Result<(), Conflict> {
    let spec = &description.topology;
    // Origin: two nodes a router, from two processors to 512 (Prestor 3.2.3). FLASH: four nodes a cluster router, 64 in
    // all (FLASH dissertation, Appendix A).
    let (most_on_router, most_routers, router) = match spec.kind {
        TopologyKind::Origin => (2, MOST_LEAF_ROUTERS, "router"),
        TopologyKind::Flash => (4, MOST_CLUSTERS, "cluster router"),
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
        return Err(Conflict::new("topology.processors_per_node", "MAGIC serves one processor", "1"));
    }
    let per_router = spec.nodes_per_router * per_node;
    let most = most_routers * per_router;
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
    if spec.processors > MOST_MAGIC_NODES && description.controller.kind == ControllerKind::Magic {
        let reason = "MAGIC's directory has room for fewer nodes";
        return Err(Conflict::new("topology.processors", reason, format!("at most {MOST_MAGIC_NODES}")));
    }
    Ok(())
}

/// The most nodes that the sharing sets of MAGIC's protocols tell apart (FLASH dissertation, 5.2).
pub const MOST_MAGIC_NODES: u32 = 64;

/// What MAGIC's directory takes of a node's memory must leave some.
fn directory(description: &Description) -> Result<(), Conflict> {
    let Some(spec) = &description.directory else { return Ok(()) };
    let memory = description.topology.node_memory;
    for (key, size) in [("reserved_mib", spec.reserved), ("remote_access_cache_mib", spec.remote_access_cache)] {
        if size >= memory {
            return Err(Conflict::new(
                format!("directory.{key}"),
                format!("it leaves nothing of the node's memory ({memory})"),
                format!("less than topology.node_memory_mib = {memory}"),
            ));
        }
    }
    Ok(())
}

/// Whether a cache has a whole number of sets, and a power of two of them: their number is taken from bits of an address.
fn divides_into_sets(size: Bytes, ways: u32, line: Bytes) -> bool {
    let set = u64::from(ways) * line.0;
    size.0.is_multiple_of(set) && (size.0 / set).is_power_of_two()
}

fn caches(description: &Description) -> Result<(), Conflict> {
    let (l1, l2) = (&description.l1, &description.l2);
    let at_most = |what: &str, limit: Bytes| format!("at most {what} = {limit}");
    if l1.size > l2.size {
        let reason = format!("the primary cache is larger than the secondary ({})", l2.size);
        return Err(Conflict::new("l1.size_kib", reason, at_most("l2.size_mib", l2.size)));
    }
    if l1.line > l2.line {
        let reason = format!("the primary line is larger than the secondary ({})", l2.line);
        return Err(Conflict::new("l1.line_bytes", reason, at_most("l2.line_bytes", l2.line)));
    }
    if l2.fill_block > l2.line {
        let reason = format!("the block is larger than the line ({})", l2.line);
        return Err(Conflict::new("l2.fill_block_bytes", reason, at_most("l2.line_bytes", l2.line)));
    }
    for (name, key, size, ways, line) in
        [("l1", "size_kib", l1.size, l1.ways, l1.line), ("l2", "size_mib", l2.size, l2.ways, l2.line)]
    {
        if !divides_into_sets(size, ways, line) {
            let fitting: Vec<_> = (1..=MOST_WAYS).filter(|&ways| divides_into_sets(size, ways, line)).collect();
            let (key, accepted) = match fitting.is_empty() {
                false => ("ways", units::ranges(fitting.into_iter().map(|ways| ways as usize))),
                true => (key, format!("what 1 to {MOST_WAYS} ways of a power of two of sets have room for")),
            };
            return Err(Conflict::new(
                format!("{name}.{key}"),
                format!("{size} cannot be divided into a power of two of sets of {ways} lines of {line}"),
                accepted,
            ));
        }
    }
    Ok(())
}

/// An entry of the translation buffer is found by the bits of an address above those of its pages.
fn translations(description: &Description) -> Result<(), Conflict> {
    let pages = description.tlb.pages_per_entry;
    if !pages.is_power_of_two() {
        return Err(Conflict::new("tlb.pages_per_entry", "it is not a power of two", "1, 2, 4 or 8"));
    }
    Ok(())
}

/// A message waits whole in the receive buffer of a virtual channel.
fn network(description: &Description) -> Result<(), Conflict> {
    let (buffer, packet) = (description.router.buffer, description.link.micropacket);
    let message = Bytes(description.data_packets() * packet.0);
    if buffer < message {
        return Err(Conflict::new(
            "router.buffer_bytes",
            format!("a line of {} with its header, in packets of {packet}, takes {message}", description.l2.line),
            format!("a power of two from {} to 65536 bytes", message.0.next_power_of_two()),
        ));
    }
    Ok(())
}

/// A refresh of memory is over before the next one begins.
fn refresh(description: &Description) -> Result<(), Conflict> {
    let (Some(hub), memory) = (&description.hub, &description.memory) else { return Ok(()) };
    let length = hub.clock.period() * u64::from(memory.refresh_cycles);
    if length >= memory.refresh_interval {
        let length = length.as_ns();
        let reason = format!("a refresh of memory.refresh_cycles takes {length} ns");
        return Err(Conflict::new("memory.refresh_interval_ns", reason, format!("more than {length} ns")));
    }
    Ok(())
}

/// Nodes that are named exist, and pages move only where there is what moves them.
fn operating_system(description: &Description) -> Result<(), Conflict> {
    let (os, spec) = (&description.os, &description.topology);
    let last = (spec.processors / spec.processors_per_node).saturating_sub(1);
    for (key, node) in [("fixed_node", os.fixed_node), ("domain_affinity_node", os.domain_affinity_node)] {
        if node > last {
            let nodes = if last == 0 { "node 0 alone".to_owned() } else { format!("nodes 0 to {last}") };
            let accepted = if last == 0 { "0".to_owned() } else { format!("a whole number from 0 to {last}") };
            return Err(Conflict::new(format!("os.{key}"), format!("the machine has {nodes}"), accepted));
        }
    }
    let is_hub = description.controller.kind == ControllerKind::Hub;
    for (key, wanted, reason) in [
        ("migration", os.migration, "only the Hub of an Origin counts references by page"),
        ("replication", os.replication, "only the Hub of an Origin poisons the lines of a page that is given up"),
    ] {
        if wanted && !is_hub {
            return Err(Conflict::new(format!("os.{key}"), reason, "false"));
        }
    }
    Ok(())
}
