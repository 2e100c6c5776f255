//! Checks between the values of a server: its sockets hold its processors, its nodes their memories, and its links join all.

use units::Bytes;

use super::check::Conflict;
use super::kind::{Alternatives, quoted};
use super::{ControllerKind, Description, HomeKind, OnDieNetwork, ServerSpec, SliceKind, TopologyKind};
use crate::server::{Package, Sockets};

/// Rejects a server whose values contradict each other, and parts of a server in other machines.
pub(super) fn check_server(description: &Description) -> Result<(), Conflict> {
    let kind = description.topology.kind;
    let Some(spec) = &description.server else {
        if kind == TopologyKind::Sockets {
            let reason = "no other controller than a server's is in sockets";
            return Err(Conflict::new("topology.kind", reason, "another, or controller.kind = \"server\""));
        }
        if description.memory_link.is_some() {
            let reason = "no other controller than a server's has links to memory nodes";
            return Err(Conflict::new("memory_link.latency_ns", reason, "controller.kind = \"server\""));
        }
        if description.processor.threads > 1 {
            let reason = "no other controller than a server's has cores with several hardware threads";
            return Err(Conflict::new("processor.threads", reason, "1, or controller.kind = \"server\""));
        }
        return Ok(());
    };
    if kind != TopologyKind::Sockets {
        let reason = format!(
            "the sockets of controller.kind = {} have networks of their own",
            quoted(ControllerKind::Server.word())
        );
        return Err(Conflict::new("topology.kind", reason, quoted(TopologyKind::Sockets.word())));
    }
    let package = Package::new(spec)
        .map_err(|error| Conflict::new(format!("server.{}", error.key), error.reason, error.accepted))?;
    sizes(description, spec, &package)?;
    links(description, spec, &package)?;
    slices(description)?;
    homes(description)
}

/// The sizes in other tables are those of the layout.
fn sizes(description: &Description, spec: &ServerSpec, package: &Package) -> Result<(), Conflict> {
    let (topology, memory) = (&description.topology, &description.memory);
    let (cores, nodes) = (package.cores.len() as u32, spec.nodes_per_socket);
    let of_layout = format!("server.layout has {cores} cores a socket");
    for (key, value, wanted) in [
        ("topology.processors_per_node", topology.processors_per_node, cores / nodes),
        ("topology.processors", topology.processors, cores * spec.sockets),
    ] {
        if value != wanted {
            let reason = format!("{of_layout}, {} sockets and {nodes} nodes in each", spec.sockets);
            return Err(Conflict::new(key, reason, wanted.to_string()));
        }
    }
    let wanted = package.memories.len() as u32 / nodes;
    if memory.controllers != wanted {
        let reason = format!("server.layout has {} memory controllers a socket", package.memories.len());
        return Err(Conflict::new("memory.controllers", reason, wanted.to_string()));
    }
    let at_slice = description.home.as_ref().is_some_and(|home| home.at_slice);
    if at_slice && spec.clusters_per_socket != nodes {
        let reason = format!("{nodes} nodes of a socket have {} core clusters", spec.clusters_per_socket);
        return Err(Conflict::new("home.at_slice", reason, "false, or a core cluster for each node"));
    }
    if spec.network == OnDieNetwork::IoDie && spec.gateway_cycles == 0 {
        return Err(Conflict::new("server.gateway_cycles", "a link to the I/O die takes time", "at least 1"));
    }
    Ok(())
}

/// Sockets, and memory nodes, are joined.
fn links(description: &Description, spec: &ServerSpec, package: &Package) -> Result<(), Conflict> {
    let Some(link) = &description.socket_link else { return Ok(()) };
    let sockets = spec.sockets;
    if Sockets::new(sockets, link.links).is_none() {
        let reason = format!("they do not join {sockets} sockets");
        let enough = (1..=8).find(|&links| Sockets::new(sockets, links).is_some()).unwrap_or(8);
        return Err(Conflict::new("socket_link.links", reason, format!("at least {enough}")));
    }
    if sockets > 1 && package.links.is_empty() {
        let reason = "no stop has a link U to other sockets";
        return Err(Conflict::new("server.layout", reason, "a stop with the letter U"));
    }
    if sockets > 1 && link.latency.0 == 0 {
        return Err(Conflict::new("socket_link.latency_ns", "a link takes time", "more than 0"));
    }
    let nodes = description.topology.memory_nodes;
    match (nodes, &description.memory_link) {
        (0, None) => Ok(()),
        (0, Some(_)) => {
            let reason = "the machine has no memory nodes";
            Err(Conflict::new("memory_link.latency_ns", reason, "no [memory_link], or topology.memory_nodes"))
        }
        (_, None) => {
            let reason = "memory nodes of a server are behind links";
            Err(Conflict::new("topology.memory_nodes", reason, "0, or a table [memory_link]"))
        }
        (_, Some(_)) if package.memory_links.is_empty() => {
            let reason = "no stop has a link X to memory nodes";
            Err(Conflict::new("server.layout", reason, "a stop with the letter X"))
        }
        (_, Some(_)) => Ok(()),
    }
}

/// Slices and snoop filters have a power of two of sets, and cores' lines are found in some way.
fn slices(description: &Description) -> Result<(), Conflict> {
    let Some(slice) = &description.l3_slice else { return Ok(()) };
    let line = description.coherent_cache().line;
    let set = Bytes(u64::from(slice.ways) * line.0);
    if !slice.size.0.is_multiple_of(set.0) || !(slice.size.0 / set.0).is_power_of_two() {
        let reason = format!("{} ways of lines of {line} do not make a power of two of sets", slice.ways);
        let accepted = format!("{} KiB times a power of two", (set.0 as f64) / 1024.0);
        return Err(Conflict::new("l3_slice.size_kib", reason, accepted));
    }
    let filter = slice.filter_sets > 0 && slice.filter_ways > 0;
    match slice.kind {
        SliceKind::Victim if !filter || !slice.filter_sets.is_power_of_two() => {
            let reason = "the snoop filter of a victim cache has a power of two of sets";
            Err(Conflict::new("l3_slice.filter_sets", reason, "a power of two, with l3_slice.filter_ways"))
        }
        SliceKind::Inclusive | SliceKind::ShadowTags if slice.filter_sets > 0 => {
            let reason = format!("nothing reads it with l3_slice.kind = {}", quoted(slice.kind.word()));
            Err(Conflict::new("l3_slice.filter_sets", reason, "0"))
        }
        _ => Ok(()),
    }
}

/// The caches of home agents.
fn homes(description: &Description) -> Result<(), Conflict> {
    let Some(home) = &description.home else { return Ok(()) };
    let with = format!("with home.kind = {}", quoted(home.kind.word()));
    let sets = home.entries / home.ways;
    match home.kind {
        HomeKind::HomeSnoop | HomeKind::EarlySnoop if home.entries > 0 => {
            Err(Conflict::new("home.entries", format!("nothing reads it {with}"), "0"))
        }
        HomeKind::ProbeFilter if home.entries == 0 => {
            Err(Conflict::new("home.entries", format!("a probe filter has entries {with}"), "at least 1"))
        }
        _ if home.entries > 0 && (sets * home.ways != home.entries || !sets.is_power_of_two()) => {
            let reason = format!("{} ways of it do not make a power of two of sets", home.ways);
            Err(Conflict::new("home.entries", reason, format!("{} times a power of two", home.ways)))
        }
        HomeKind::Directory | HomeKind::HomeSnoop | HomeKind::EarlySnoop | HomeKind::ProbeFilter => Ok(()),
    }
}
