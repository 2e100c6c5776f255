//! A machine with some of its parameters changed, by name: `flash-64p+hybrid`, `arctic+processor.outstanding_misses=1`,
//! `flash-64p+placement=round-robin`.
//!
//! A protocol laboratory compares one machine under many protocols. A variant is a description that inherits the machine
//! and overrides what its name says, so that keys and values are checked, and refused, as those of any file are.

use std::collections::BTreeMap;
use std::path::Path;

use machine::description::{Entry, IdealProtocol, Origin, ThreadOrder};
use machine::{Description, DescriptionError, Resolved};
use protocol::msi::catalogue;

use crate::setting_words;

/// Between the machine and each of its changes.
pub(crate) const SEPARATOR: char = '+';
/// The key that a change without a key of its own is about.
const PROTOCOL: &str = "directory.protocol";
/// The base of the protocols that keep sharers in lists of links, and the key that says how many there are.
const LINKED: &str = "dynamic-pointer";
const LINKS: &str = "directory.link_store_entries";

/// Words that stand for a key and a value.
const WORDS: [(&str, &str); 3] =
    [("migration", "os.migration"), ("replication", "os.replication"), ("touch-again", "os.touch_again")];
/// Systems of Lai and Falsafi 2000, Section 6: clusters whose devices have a page cache of 2.4 MB, as many pages as there are, or
/// 1.2 MB, or count misses by page, so that pages migrate or are replicated.
const SYSTEMS: [(&str, &[(&str, &str)]); 8] = [
    ("cc-numa", &[("cluster.cache", "inclusive")]),
    ("perfect", &[("cluster.cache", "infinite")]),
    ("r-numa", &[("page_cache.size_kib", "2456")]),
    ("r-numa-inf", &[("page_cache.size_kib", "4194304")]),
    ("r-numa-half", &[("page_cache.size_kib", "1228")]),
    ("mig", &[("miss_counters.threshold", "800"), ("os.migration", "true")]),
    ("rep", &[("miss_counters.threshold", "800"), ("os.replication", "true")]),
    ("mig-rep", &[("miss_counters.threshold", "800"), ("os.migration", "true"), ("os.replication", "true")]),
];
/// Modes of the homes of a server without directory (Intel's BIOS settings of Haswell-EP).
pub(crate) const SNOOPS: [(&str, &str); 2] = [("home", "home-snoop"), ("early", "early-snoop")];
/// The word before them.
pub(crate) const SNOOP: &str = "snoop";
/// The word before the nodes of a socket (AMD's BIOS setting).
pub(crate) const NODES: &str = "nps";
/// The word before the nodes of a socket that are core clusters as well (Intel's BIOS setting, sub-NUMA clustering); 1 is off.
pub(crate) const CLUSTERS: &str = "snc";
/// The word before the order in which threads take processors.
const THREADS: (&str, &str) = ("threads", "os.threads");
/// The word before the number of hardware threads of a core (the BIOS setting of simultaneous multithreading); 1 is off.
const SMT: (&str, &str) = ("smt", "processor.threads");
/// The word before the state of the hardware prefetcher, which is a table that a machine has or lacks.
pub(crate) const PREFETCH: &str = "prefetch";
/// The word in place of the table of a hardware prefetcher that is off.
const NO_TABLE: &str = "none";
/// Words that take a value and stand for keys of machines.
pub(crate) const VALUED: [&str; 7] = [PLACEMENT, SNOOP, NODES, CLUSTERS, THREADS.0, SMT.0, PREFETCH];
/// A word, the number of nodes, and other keys that change.
pub(crate) type Division = (&'static str, u32, &'static [(&'static str, &'static str)]);
/// Entries and ways of the directory cache that Haswell-EP has with a directory in memory (HitME, 14 KB for a home agent).
pub(crate) const HITME: [&str; 2] = ["2048", "8"];
/// Divisions of a server's socket into nodes that are core clusters as well: sub-NUMA clustering, and cluster-on-die, whose homes keep
/// directories in memory with a directory cache.
pub(crate) const DIVISIONS: [Division; 2] =
    [("snc2", 2, &[]), ("cod", 2, &[("home.kind", "directory"), ("home.entries", HITME[0]), ("home.ways", HITME[1])])];
/// The word before a placement policy.
pub const PLACEMENT: &str = "placement";
/// Placement policies with a number of their own: `fixed=N` and `mld=R`.
const NUMBERED: [(&str, &str); 2] = [("fixed", "os.fixed_node"), ("mld", "os.domain_radius")];

/// The name of `machine` with its pages placed by a policy: `planned`, `first-touch`, `round-robin`, `fixed=N` on node N,
/// `mld` or `mld=R` within R hops; each with `+migration` and `+replication` behind it if wanted.
pub fn with_placement(machine: &str, placement: &str) -> String {
    format!("{machine}{SEPARATOR}{PLACEMENT}={placement}")
}

/// The name of `machine` with its directory protocol replaced.
pub fn with_protocol(machine: &str, protocol: &str) -> String {
    format!("{machine}{SEPARATOR}{protocol}")
}

/// The name of `machine` with the value of `key` (`table.key`) replaced.
pub fn with(machine: &str, key: &str, value: impl std::fmt::Display) -> String {
    format!("{machine}{SEPARATOR}{key}={value}")
}

/// The machine called `name`, which is the name or path of a machine ([`machine::resolve`]) and any number of changes, each
/// after a `+`: a directory protocol, `table.key=value`, `placement=` with a policy ([`with_placement`]), `migration`,
/// `replication` or `touch-again`, or a system of clusters: `cc-numa`, `perfect`, `mig`, `rep`, `mig-rep`, `r-numa`,
/// `r-numa-inf` or `r-numa-half`. A server has `snoop=home`, `snoop=early` and `cod`, `snc2` or `snc=` with a number of clusters, or
/// `nps=` with a number of nodes. `smt=` is the number of hardware threads of a core, `threads=` the order in which threads take
/// processors, and `prefetch=off` takes the hardware prefetcher away.
///
/// # Errors
/// As for any description: no such machine, no such key, no such value; and when two changes set one key.
pub fn resolve(name: &str) -> Result<Resolved, DescriptionError> {
    let mut parts = name.split(SEPARATOR);
    let base = parts.next().unwrap_or_default();
    let changes: Vec<&str> = parts.collect();
    // A path may have the sign in it.
    if changes.is_empty() || Path::new(name).exists() {
        return machine::resolve(name).and_then(with_known_protocol);
    }
    without_collision(name, base, &changes)?;
    assembled(base, name, &changes).map_err(|error| setting_words::in_words(base, &changes, error))
}

/// Refuses changes of one key, of which the machine's name would tell two values. The last of several words for a setting holds, as of
/// flags beside a name, and a key after the name of a system changes what that name stands for.
fn without_collision(name: &str, base: &str, changes: &[&str]) -> Result<(), DescriptionError> {
    let is_key = |change: &str| change.split_once('=').is_some_and(|(key, _)| key.contains('.'));
    let is_system = |change: &str| SYSTEMS.iter().any(|(system, _)| *system == change);
    let mut set: Vec<(String, &str)> = Vec::new();
    for &change in changes {
        let keyed = keyed(base, change)?;
        for (key, value) in &keyed {
            let collides = |other: &str| (is_key(change) || is_key(other)) && !is_system(other);
            if let Some((_, other)) = set.iter().find(|(known, other)| known == key && collides(other)) {
                let at = Origin { file: name.to_owned(), line: None, comment: None };
                let entry = Box::new(Entry { at, key: key.clone(), value: value.clone() });
                let reason = format!("both {other} and {change} set it");
                return Err(DescriptionError::Impossible { entry, reason, accepted: "one of the two".to_owned() });
            }
        }
        set.extend(keyed.into_iter().map(|(key, _)| (key, change)));
    }
    Ok(())
}

/// The keys that a change of `base` is about, with their values.
fn keyed(base: &str, change: &str) -> Result<Vec<(String, String)>, DescriptionError> {
    let plain = || keys(change).into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Ok(divided(base, change)?.unwrap_or_else(plain))
}

/// The machine `base` with changes, under another name; errors name keys, also where words stand for them.
pub(crate) fn assembled(base: &str, name: &str, changes: &[&str]) -> Result<Resolved, DescriptionError> {
    let mut all: Vec<(String, String)> = Vec::new();
    for change in changes {
        all.extend(keyed(base, change)?);
    }
    let keyed: Vec<_> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    if let Some((_, protocol)) = keyed.iter().find(|(key, _)| *key == PROTOCOL) {
        with_changeable_protocol(machine::resolve(base)?, protocol)?;
    }
    let machine = machine::resolve_changed(base, name, &changes.join(", "), &keyed)?;
    let orders = keyed.iter().any(|(key, _)| *key == THREADS.1);
    let machine = if orders { with_siblings(machine)? } else { machine };
    setting_words::with_room_for_early_snoops(with_known_protocol(machine)?, changes)
}

/// Refuses the order by hardware threads where a core has one alone: it would do nothing.
fn with_siblings(machine: Resolved) -> Result<Resolved, DescriptionError> {
    let description = &machine.description;
    if description.os.threads != ThreadOrder::Siblings || description.processor.threads > 1 {
        return Ok(machine);
    }
    let reason = format!("a core of {} has one hardware thread", description.name);
    let accepted = "another order, or hardware threads, as smt=2 sets them".to_owned();
    Err(machine.refused(THREADS.1, "siblings", reason, accepted))
}

/// The parameters (`table.key`) that a machine's name changes, each with its value; of several changes to one, the last.
pub fn changes(name: &str) -> BTreeMap<&str, &str> {
    let changes = name.split(SEPARATOR).skip(1).filter_map(|change| change.split_once('='));
    changes.filter(|(key, _)| key.contains('.')).collect()
}

/// The keys of a division of each socket of `base` into nodes, if a change is one: the sizes of a node follow from the number.
fn divided(base: &str, change: &str) -> Result<Option<Vec<(String, String)>>, DescriptionError> {
    let named = DIVISIONS.iter().find(|(word, ..)| *word == change);
    let numbered = |known: &str| {
        change.split_once('=').filter(|(word, _)| *word == known).and_then(|(_, number)| number.parse().ok())
    };
    let (nodes, clusters, others) = match (named, numbered(NODES), numbered(CLUSTERS)) {
        (Some(&(_, nodes, others)), ..) => (nodes, Some(nodes), others),
        (None, Some(nodes), _) => (nodes, None, &[][..]),
        (None, None, Some(nodes)) => (nodes, Some(nodes), &[][..]),
        (None, None, None) => return Ok(None),
    };
    let description = machine::load(base)?;
    let mut keys = vec![("server.nodes_per_socket", nodes)];
    keys.extend(clusters.map(|clusters| ("server.clusters_per_socket", clusters)));
    if let Some(server) = &description.server {
        let cores = description.topology.processors / server.sockets;
        let memories = description.memory.controllers * server.nodes_per_socket;
        // A number that does not divide them is refused for itself.
        if nodes > 0 && cores.is_multiple_of(nodes) && memories.is_multiple_of(nodes) {
            keys.extend([("topology.processors_per_node", cores / nodes), ("memory.controllers", memories / nodes)]);
        }
    }
    let others = others.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
    Ok(Some(keys.into_iter().map(|(key, value)| (key.to_owned(), value.to_string())).chain(others).collect()))
}

/// Refuses a directory protocol for a machine whose controllers run one alone.
fn with_changeable_protocol(machine: Resolved, protocol: &str) -> Result<(), DescriptionError> {
    match machine.description.directory {
        Some(_) => Ok(()),
        None => {
            let reason = format!("the protocol of {} is fixed", machine.description.name);
            let accepted = "--protocol on a FLASH machine, such as flash-64p".to_owned();
            Err(machine.refused(PROTOCOL, protocol, reason, accepted))
        }
    }
}

/// Refuses a directory protocol that there is not, or that cannot run so; a description by itself knows none.
fn with_known_protocol(machine: Resolved) -> Result<Resolved, DescriptionError> {
    let Some(directory) = &machine.description.directory else { return Ok(machine) };
    let name = directory.protocol.as_str();
    match catalogue::named(name) {
        Err(unknown) => {
            let nearest = unknown.nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"));
            let reason = format!("unknown protocol{nearest}");
            Err(machine.refused(PROTOCOL, name, reason, unknown.accepted))
        }
        Ok(named) if named.remote_access_cache && directory.ideal != IdealProtocol::None => {
            let reason = "ideal protocols have no remote access cache".to_owned();
            Err(machine.refused(PROTOCOL, name, reason, "a protocol without /RAC".to_owned()))
        }
        // Nodes that wait for a word in a line read it again and again. If they cannot all share the line, each of them takes it
        // away from others before those have got on, for ever.
        Ok(named) if named.base == LINKED && directory.link_store_entries < links_of_a_line(&machine) => {
            let (entries, least) = (directory.link_store_entries, links_of_a_line(&machine));
            let reason = format!("a line shared by all nodes needs {least} links");
            Err(machine.refused_number(LINKS, entries, reason, format!("a whole number from {least} to {}", 1 << 30)))
        }
        Ok(_) if catalogue::most_nodes(name).is_ok_and(|most| u32::from(most) < nodes(&machine)) => {
            let nodes = nodes(&machine);
            let reason = format!("it cannot represent the sharers among {nodes} nodes");
            Err(machine.refused(PROTOCOL, name, reason, catalogue::names_for(nodes as u16).join(", ")))
        }
        Ok(_) => Ok(machine),
    }
}

/// Nodes of a machine.
fn nodes(machine: &Resolved) -> u32 {
    machine.description.topology.nodes()
}

/// Links that a line takes which all nodes with processors share: all but one, which stands in its header (FLASH dissertation, 5.2.2).
fn links_of_a_line(machine: &Resolved) -> u32 {
    let topology = &machine.description.topology;
    topology.processors / topology.processors_per_node - 1
}

/// As [`resolve`], without where each value came from.
///
/// # Errors
/// As [`resolve`].
pub fn load(name: &str) -> Result<Description, DescriptionError> {
    resolve(name).map(|resolved| resolved.description)
}

/// A machine with the value of `key` (`table.key`) replaced, whatever file it is from.
///
/// # Errors
/// As for any description: no such key, no such value.
pub fn changed(machine: &Description, key: &str, value: &str) -> Result<Description, DescriptionError> {
    machine.changed(&with(&machine.name, key, value), key, value)
}

/// The machine with what a word stands for.
///
/// # Errors
/// As [`changed`].
pub fn extended(machine: &Description, word: &str) -> Result<Description, DescriptionError> {
    keys(word).into_iter().try_fold(machine.clone(), |machine, (key, value)| changed(&machine, key, value))
}

/// The keys that a change is about, with their values.
fn keys(change: &str) -> Vec<(&str, &str)> {
    if let Some((_, key)) = WORDS.iter().find(|(word, _)| *word == change) {
        return vec![(key, "true")];
    }
    if let Some((_, keys)) = SYSTEMS.iter().find(|(word, _)| *word == change) {
        return keys.to_vec();
    }
    match change.split_once('=') {
        Some((PLACEMENT, policy)) => {
            let numbered = policy.split_once('=').and_then(|(word, number)| {
                let (_, key) = NUMBERED.iter().find(|(known, _)| *known == word)?;
                Some(vec![("os.placement", word), (key, number)])
            });
            // A number where none belongs stays part of the word, which is then refused.
            numbered.unwrap_or_else(|| vec![("os.placement", policy)])
        }
        Some((SNOOP, mode)) => {
            let known = SNOOPS.iter().find(|(word, _)| *word == mode);
            vec![("home.kind", known.map_or(mode, |(_, kind)| kind)), ("home.entries", "0")]
        }
        Some((word, order)) if word == THREADS.0 => vec![(THREADS.1, order)],
        Some((word, number)) if word == SMT.0 => vec![(SMT.1, number)],
        // One that is on has the table that it has.
        Some((PREFETCH, "on")) => Vec::new(),
        Some((PREFETCH, "off")) => vec![(PREFETCH, NO_TABLE)],
        Some((PREFETCH, other)) => vec![(PREFETCH, other)],
        // A number that is none is refused where it belongs.
        Some((NODES | CLUSTERS, other)) => vec![("server.nodes_per_socket", other)],
        Some((key, value)) if key.contains('.') => vec![(key, value)],
        _ => vec![(PROTOCOL, change)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_the_machine_but_for_what_its_name_says() {
        let name = with(&with("origin2000-r12k-300-8p", "processor.outstanding_misses", 1), "tlb.miss_ns", 7.5);
        let varied = load(&name).expect("a variant");
        let mut expected = machine::load("origin2000-r12k-300-8p").expect("a machine");
        assert_eq!(expected.processor.outstanding_misses, 4);
        expected.processor.outstanding_misses = 1;
        expected.tlb.miss = units::Duration::from_ns(7.5);
        expected.title.push_str(", processor.outstanding_misses=1, tlb.miss_ns=7.5");
        expected.name.clone_from(&name);
        assert_eq!(varied, expected);
    }

    #[test]
    fn placements_are_changes_too() {
        use machine::description::PlacementKind;
        let os = |name: &str| load(name).expect(name).os;
        let first_touch = os("flash-8p+placement=first-touch+hybrid");
        assert_eq!(first_touch.placement, PlacementKind::FirstTouch);
        let fixed = os(&with_placement("arctic", "fixed=3+migration"));
        assert_eq!((fixed.placement, fixed.fixed_node, fixed.migration), (PlacementKind::Fixed, 3, true));
        let domains = os("arctic+placement=mld=2+replication");
        assert_eq!((domains.placement, domains.domain_radius, domains.replication), (PlacementKind::Domains, 2, true));
        assert_eq!(os("arctic+placement=mld").domain_radius, 0);
        let message = |name: &str| load(name).expect_err(name).to_string();
        assert!(message("arctic+placement=round-robin=2").contains("os.placement = \"round-robin=2\""));
        assert!(message("arctic+placement=fixed=first").contains("os.fixed_node = \"first\""));
    }

    #[test]
    fn the_sockets_of_servers_are_divided_by_words() {
        let of = |name: &str| {
            let machine = load(name).unwrap_or_else(|error| panic!("{error}"));
            let (server, topology) = (machine.server.expect("a server"), machine.topology);
            (topology.nodes(), topology.processors_per_node, server.clusters_per_socket, machine.memory.controllers)
        };
        assert_eq!(of("xeon-8269cy-2s"), (2, 26, 1, 2));
        assert_eq!(of("xeon-8269cy-2s+snc2"), (4, 13, 2, 1));
        assert_eq!(of("xeon-e5-2699v3-2s+cod"), (4, 9, 2, 1));
        assert_eq!([1, 2, 4].map(|nodes| of(&format!("epyc-7702-2s+nps={nodes}")).0), [2, 4, 8]);
        let kind = |name: &str| load(name).expect(name).home.expect("a home").kind;
        assert_eq!(kind("xeon-e5-2699v3-2s+snoop=early"), machine::description::HomeKind::EarlySnoop);
        let message = |name: &str| load(name).expect_err(name).to_string();
        assert_eq!(of("xeon-8269cy-2s+snc=2"), of("xeon-8269cy-2s+snc2"));
        assert_eq!(of("xeon-8269cy-2s+snc2+snc=1"), of("xeon-8269cy-2s"), "of several changes the last");
        assert_eq!(of("xeon-e5-2699v3-2s+cod+snc=1").2, 1);
        assert!(load("xeon-8180-2s").expect("a machine").prefetch.is_some());
        assert!(load("xeon-8180-2s+prefetch=on").expect("a machine").prefetch.is_some());
        assert!(load("xeon-8180-2s+prefetch=off").expect("a machine").prefetch.is_none());
        assert!(message("xeon-8180-2s+threads=apart").contains("compact"));
        assert!(message("smp-4p+threads=siblings").contains("has one hardware thread; accepted: another order"));
        assert!(load("xeon-6252n-2s+smt=2+threads=siblings").is_ok());
    }

    #[test]
    fn two_changes_of_one_key_are_refused() {
        for (name, key, both) in [
            ("arctic+l2.size_mib=4+l2.size_mib=2", "l2.size_mib = 2", "both l2.size_mib=4 and l2.size_mib=2 set it"),
            (
                "xeon-8180-2s+snoop=early+home.kind=directory",
                "home.kind = directory",
                "both snoop=early and home.kind=directory set it",
            ),
            (
                "xeon-8180-2s+home.entries=64+snoop=home",
                "home.entries = 0",
                "both home.entries=64 and snoop=home set it",
            ),
            (
                "xeon-8180-2s+snc2+server.clusters_per_socket=1",
                "server.clusters_per_socket = 1",
                "both snc2 and server.clusters_per_socket=1 set it",
            ),
            ("flash-8p+hybrid+directory.protocol=bit-vector", "directory.protocol = bit-vector", "both hybrid and"),
        ] {
            let message = load(name).expect_err(name).to_string();
            assert!(message.starts_with(key) && message.contains(both), "{message}");
            assert!(message.ends_with("; accepted: one of the two"), "{message}");
        }
        assert!(load("arctic+placement=first-touch+placement=round-robin").is_ok(), "as a flag beside a name");
        assert!(load("flash-8p+hybrid+bit-vector").is_ok(), "as a flag beside a name");
    }

    #[test]
    fn a_key_changes_what_the_name_of_a_system_stands_for() {
        for (system, _) in SYSTEMS {
            load(&format!("dsm-cluster+{system}")).unwrap_or_else(|error| panic!("{error}"));
        }
        let machine = load("dsm-cluster+mig-rep+r-numa-half+miss_counters.threshold=400").expect("a variant");
        assert_eq!(machine.miss_counters.expect("counters").threshold, 400);
    }

    #[test]
    fn the_base_may_be_a_file_in_any_folder() {
        let folder = std::env::temp_dir().join(format!("variant-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("mine.toml");
        std::fs::write(&file, "inherit = \"bootleg\"\n[processor]\nclock_mhz = 180").expect("a file");
        let varied = load(&with(&file.to_string_lossy(), "l2.way_prediction", "false"));
        std::fs::remove_dir_all(&folder).expect("removable");
        let varied = varied.expect("a variant of a file");
        assert_eq!(varied.processor.clock.as_mhz(), 180.0);
        assert!(varied.coherent_cache().port.is_some_and(|port| !port.way_prediction));
    }

    #[test]
    fn what_is_wrong_with_a_name_is_said() {
        let message = |name: &str| load(name).expect_err(name).to_string();
        assert!(message("artic+l2.size_mib=2").contains("did you mean arctic?"));
        assert!(message("arctic+l2.size_mb=2").contains("l2.size_mib"), "{}", message("arctic+l2.size_mb=2"));
        assert!(message("arctic+l2.ways=none").contains("l2.ways = \"none\""), "{}", message("arctic+l2.ways=none"));
    }
}
