//! Servers for random tests: sockets of any number of cores, with the caches, directories and networks of every variant of their
//! protocol.

use std::fmt::Write;

use machine::Description;
use machine::description::MOST_SOCKETS;
use protocol::server::{MAX_CLUSTERS, MAX_EARLY_CLUSTERS};

use super::in_range;
use crate::failure::Failure;

/// Sockets and cores of a socket, if none are given: those of two Xeon 8180.
pub const SOCKETS: u16 = 2;
pub const CORES: u16 = 28;
/// Most cores of a socket: those that one caching agent has bits for.
const MOST_CORES: u16 = 64;
/// Cores of a core complex: of Zen 2, or of Zen 3 where there would be more complexes than directories have bits for.
const COMPLEXES: [u16; 2] = [4, 8];

/// The network of a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Rings,
    Mesh,
    IoDie,
}

/// A variant: its name, a machine of its family, the network of a socket, NUMA nodes of a socket, and keys of its own.
type Variant = (&'static str, &'static str, Network, u16, &'static str);

/// The variants that are explored, and those that divide a socket: cluster-on-die and sub-NUMA clustering.
const VARIANTS: [Variant; 9] = [
    ("server/haswell", "xeon-e5-2699v3-2s", Network::Rings, 1, ""),
    ("server/early", "xeon-e5-2699v3-2s", Network::Rings, 1, "[home]\nkind = \"early-snoop\"\n"),
    ("server/cod", "xeon-e5-2699v3-2s", Network::Rings, 2, "[home]\nkind = \"directory\"\nentries = 2048\nways = 8\n"),
    ("server/directory", "xeon-8180-2s", Network::Mesh, 1, "[home]\nentries = 0\n"),
    ("server/skylake", "xeon-8180-2s", Network::Mesh, 1, "[home]\nopportunistic_snoops = true\n"),
    ("server/snc", "xeon-8180-2s", Network::Mesh, 2, ""),
    (
        "server/snoop",
        "xeon-8180-2s",
        Network::Mesh,
        1,
        "[home]\nkind = \"home-snoop\"\nentries = 0\nat_slice = false\n",
    ),
    (
        "server/snoop-early",
        "xeon-8180-2s",
        Network::Mesh,
        1,
        "[home]\nkind = \"early-snoop\"\nentries = 0\nat_slice = false\n",
    ),
    ("server/zen", "epyc-7702-2s", Network::IoDie, 1, ""),
];

/// Whether requesters snoop the one other agent themselves.
fn snoops_early(name: &str) -> bool {
    name.ends_with("early")
}

/// Names of the variants.
pub fn names() -> impl Iterator<Item = &'static str> {
    VARIANTS.iter().map(|(name, ..)| *name)
}

/// The machine of a variant with so many sockets of so many cores; `None` if the variant is none of servers.
///
/// # Errors
/// When a number is out of range for the variant, or its sockets cannot be divided.
pub fn machine(name: &str, sockets: u16, cores: u16) -> Result<Option<Description>, Failure> {
    let Some(&(_, base, network, nodes, keys)) = VARIANTS.iter().find(|(known, ..)| *known == name) else {
        return Ok(None);
    };
    let most = if snoops_early(name) { MAX_EARLY_CLUSTERS } else { MOST_SOCKETS as u16 };
    in_range("--nodes", sockets.into(), 1, most.into())?;
    in_range("--cores", cores.into(), 1, MOST_CORES.into())?;
    let complex = if sockets * cores.div_ceil(COMPLEXES[0]) > MAX_CLUSTERS { COMPLEXES[1] } else { COMPLEXES[0] };
    let divisor = if network == Network::IoDie { complex } else { nodes };
    if !cores.is_multiple_of(divisor) {
        return Err(Failure::flag("--cores", cores, "a socket is divided evenly", format!("multiples of {divisor}")));
    }
    let clusters = if network == Network::IoDie { cores / complex } else { nodes };
    let layout = match network {
        Network::Rings => rings(cores),
        Network::Mesh => mesh(cores),
        Network::IoDie => io_die(clusters),
    };
    let (processors, of_node, controllers) = (sockets * cores, cores / nodes, 2 / nodes);
    let mut text = format!(
        "title = \"{sockets} sockets of {cores} cores\"\ninherit = \"{base}\"\n[topology]\nprocessors = {processors}\n\
         processors_per_node = {of_node}\n[memory]\ncontrollers = {controllers}\n[socket_link]\nlinks = 3\n[server]\n\
         sockets = {sockets}\nnodes_per_socket = {nodes}\nclusters_per_socket = {clusters}\nlayout = {layout:?}\n"
    );
    if network == Network::IoDie {
        let of_die = if clusters.is_multiple_of(2) { 2 } else { 1 };
        // Writing to a string cannot fail.
        let _infallible = writeln!(text, "clusters_per_die = {of_die}\ncores_per_cluster = {complex}");
    }
    let resolved = machine::parse(&format!("{name}-{sockets}x{cores}"), &(text + keys)).map_err(Failure::input)?;
    Ok(Some(resolved.description))
}

/// Two rings with half the cores and a home agent each, and the links on the first.
fn rings(cores: u16) -> Vec<String> {
    let second = cores / 2;
    vec![format!("UU {}B M", "C ".repeat((cores - second).into())), format!("{}B M", "C ".repeat(second.into()))]
}

/// A mesh with links and memory controllers in its first row, which cores of eight columns at most follow.
fn mesh(cores: u16) -> Vec<String> {
    let columns = (1..=8).rev().find(|&columns| cores.is_multiple_of(columns)).unwrap_or(1);
    let first = if columns == 1 { "UUMM".into() } else { format!("UUM {}UM", ". ".repeat((columns - 2).into())) };
    let row = vec!["C"; columns.into()].join(" ");
    std::iter::once(first).chain((0..cores / columns).map(|_| row.clone())).collect()
}

/// Two switches with half the core complexes, a memory controller and a link each.
fn io_die(clusters: u16) -> Vec<String> {
    let second = clusters / 2;
    vec![format!("{}MU {}MU", "K".repeat((clusters - second).into()), "K".repeat(second.into()))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_machines_of_every_size() {
        for name in names() {
            for (sockets, cores) in [(1, 8), (2, 28), (2, 64), (8, 64)] {
                let machine = machine(name, sockets, cores);
                if snoops_early(name) && sockets > 2 {
                    assert!(machine.is_err(), "{name}: requesters snoop one other agent");
                    continue;
                }
                let machine = machine.expect("it is built").expect("it is a variant");
                assert_eq!(machine.topology.processors, u32::from(sockets * cores), "{name}");
                sim::Simulator::new(&machine, sim::Options::default()).expect("it is simulated");
            }
        }
        assert!(machine("moesi", 2, 28).is_ok_and(|found| found.is_none()));
        assert!(machine("server/zen", 2, 30).is_err() && machine("server/cod", 2, 27).is_err());
    }
}
