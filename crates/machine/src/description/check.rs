//! Checks of a description's values beside each other.

use units::Bytes;

use super::kind::{Alternatives, quoted};
use super::layer::Resolver;
use super::{Description, DescriptionError, TopologyKind};
use crate::topology::{MOST_CLUSTERS, MOST_LEAF_ROUTERS};

/// Refuses a machine whose values cannot stand together, naming the key that is most likely meant otherwise.
pub(super) fn check(description: &Description, resolver: &Resolver) -> Result<(), DescriptionError> {
    topology(description, resolver)?;
    caches(description, resolver)?;
    directory(description, resolver)
}

fn topology(description: &Description, resolver: &Resolver) -> Result<(), DescriptionError> {
    let spec = &description.topology;
    // Origin: two nodes a router, from two processors to 512 (Prestor 3.2.3). FLASH: four nodes a cluster router, 64 in
    // all (FLASH dissertation, Appendix A).
    let (most_on_router, most_routers, router) = match spec.kind {
        TopologyKind::Origin => (2, MOST_LEAF_ROUTERS, "router"),
        TopologyKind::Flash => (4, MOST_CLUSTERS, "cluster router"),
    };
    if spec.nodes_per_router > most_on_router {
        let reason = format!("a {router} of topology.kind = {} has fewer ports for nodes", quoted(spec.kind.word()));
        return Err(resolver.impossible(
            "topology.nodes_per_router",
            reason,
            format!("a whole number from 1 to {most_on_router}"),
        ));
    }
    let per_node = spec.processors_per_node;
    let per_router = spec.nodes_per_router * per_node;
    let most = most_routers * per_router;
    if !spec.processors.is_multiple_of(per_node) {
        return Err(resolver.impossible(
            "topology.processors",
            format!("it is not a multiple of processors_per_node = {per_node}"),
            format!("a multiple of {per_node} from {per_node} to {most}"),
        ));
    }
    if spec.processors > most {
        return Err(resolver.impossible(
            "topology.processors",
            format!("at most {most_routers} {router}s can be connected"),
            format!("at most {most} with {per_router} processors on a {router}"),
        ));
    }
    Ok(())
}

/// What MAGIC's directory takes of a node's memory must leave some.
fn directory(description: &Description, resolver: &Resolver) -> Result<(), DescriptionError> {
    let Some(spec) = &description.directory else { return Ok(()) };
    let memory = description.topology.node_memory;
    for (key, size) in [("reserved_mib", spec.reserved), ("remote_access_cache_mib", spec.remote_access_cache)] {
        if size >= memory {
            return Err(resolver.impossible(
                &format!("directory.{key}"),
                format!("it leaves nothing of the node's memory ({memory})"),
                format!("less than topology.node_memory_mib = {memory}"),
            ));
        }
    }
    Ok(())
}

/// Ways that a set can have.
const MOST_WAYS: u32 = 32;

/// Whether a cache has a whole number of sets, and a power of two of them: their number is taken from bits of an address.
fn divides_into_sets(size: Bytes, ways: u32, line: Bytes) -> bool {
    let set = u64::from(ways) * line.0;
    size.0.is_multiple_of(set) && (size.0 / set).is_power_of_two()
}

fn caches(description: &Description, resolver: &Resolver) -> Result<(), DescriptionError> {
    let (l1, l2) = (&description.l1, &description.l2);
    let at_most = |what: &str, limit: Bytes| format!("at most {what} = {limit}");
    if l1.size > l2.size {
        let reason = format!("the primary cache is larger than the secondary ({})", l2.size);
        return Err(resolver.impossible("l1.size_kib", reason, at_most("l2.size_mib", l2.size)));
    }
    if l1.line > l2.line {
        let reason = format!("the primary line is larger than the secondary ({})", l2.line);
        return Err(resolver.impossible("l1.line_bytes", reason, at_most("l2.line_bytes", l2.line)));
    }
    if l2.fill_block > l2.line {
        let reason = format!("the block is larger than the line ({})", l2.line);
        return Err(resolver.impossible("l2.fill_block_bytes", reason, at_most("l2.line_bytes", l2.line)));
    }
    for (name, size, ways, line) in [("l1", l1.size, l1.ways, l1.line), ("l2", l2.size, l2.ways, l2.line)] {
        if !divides_into_sets(size, ways, line) {
            let fitting: Vec<_> = (1..=MOST_WAYS).filter(|&ways| divides_into_sets(size, ways, line)).collect();
            let (key, accepted) = match fitting.is_empty() {
                false => ("ways", units::ranges(fitting.into_iter().map(|ways| ways as usize))),
                true => ("size_kib", format!("1 to {MOST_WAYS} ways of a power of two of lines")),
            };
            return Err(resolver.impossible(
                &format!("{name}.{key}"),
                format!("{size} cannot be divided into a power of two of sets of {ways} lines of {line}"),
                accepted,
            ));
        }
    }
    Ok(())
}
