//! The built-in machines: the thesis's systems by name, and parametric families by processor and size.

use super::DescriptionError;

/// A description embedded in the program.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../../machines/", $name, ".toml")) }),*]
    };
}

/// Whole machines: the systems of Prestor 2001, Table 4.5 and Table 4.14, of Seidl 1997, and of Lai and Falsafi 2000, and servers of
/// two sockets. A new machine is one more name here.
pub(crate) const MACHINES: &[BuiltIn] = built_in![
    "bitmap",
    "bootleg",
    "lego-oil",
    "arctic",
    "bwana",
    "stinger",
    "dresden",
    "dsm-cluster",
    "xeon-e5-2699v3-2s",
    "xeon-8180-2s",
    "xeon-6252n-2s",
    "xeon-8269cy-2s",
    "xeon-8360y-2s",
    "xeon-8480-2s",
    "epyc-7702-2s",
    "epyc-9654-2s",
];

/// The base descriptions that families inherit: a processor, the common part of all Origins, and families of servers, whose sizes are
/// those of their dies.
const BASES: &[BuiltIn] = built_in!["irix", "r10000", "origin2000", "server", "haswell-ep", "skylake-sp", "zen2"];

/// Descriptions that machines inherit; they lack a size.
const FAMILIES: &[BuiltIn] = built_in![
    "origin2000-r10k-195",
    "origin2000-r10k-250",
    "origin2000-r12k-300",
    "origin2000-r12k-400",
    "flash",
    "flash-scaled",
    "smp",
    "flash-ring",
    "flash-mesh",
    "flash-crossbar",
    "flash-uncontended",
    "sci-ring",
    "sci-ring-33",
    "dash",
];

/// Every built-in description with a file, ancestors first.
pub(crate) fn all() -> impl Iterator<Item = &'static BuiltIn> {
    BASES.iter().chain(FAMILIES).chain(MACHINES)
}

fn stored(name: &str) -> Option<&'static BuiltIn> {
    all().find(|entry| entry.name == name)
}

/// Whether `name` has a file of its own; otherwise it may be parametric.
pub(crate) fn is_stored(name: &str) -> bool {
    stored(name).is_some()
}

/// The text of the built-in or parametric description `name`; none if there is no such name.
pub(crate) fn text(name: &str) -> Option<String> {
    stored(name).map(|entry| entry.text.to_string()).or_else(|| parametric(name))
}

/// Writes the description for a parametric name such as `origin2000-r12k-300-64p`. The description's checks validate
/// the number of processors, so that a wrong one gets the usual message.
fn parametric(name: &str) -> Option<String> {
    let (family, size) = name.rsplit_once('-')?;
    if family == JOINED_RINGS {
        return joined_rings(size);
    }
    if family == JOINED_BUSES {
        return joined_buses(size);
    }
    let processors = size.strip_suffix('p').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let known = FAMILIES.iter().any(|entry| entry.name == family);
    let count: u32 = processors.parse().ok().filter(|_| known)?;
    let plural = if count == 1 { "" } else { "s" };
    let flash = |other: &str| format!("Stanford FLASH{other}, {count} processor{plural}");
    let title = match family {
        "smp" => format!("Processors on a snooping bus, {count} processor{plural}"),
        "flash" => flash(""),
        "flash-scaled" => flash(" with caches of a 32nd"),
        "flash-ring" => flash(" on a ring"),
        "flash-mesh" => flash(" on a two-dimensional mesh"),
        "flash-crossbar" => flash(" with a crossbar"),
        "flash-uncontended" => flash(" without contention in the network"),
        "dash" => format!("Stanford DASH, {count} processor{plural}"),
        "sci-ring" => format!("SCI ring, {count} processor{plural}"),
        "sci-ring-33" => format!("SCI ring with the processors of DASH, {count} processor{plural}"),
        _ => format!("SGI Origin 2000, {count} processor{plural}, {family}"),
    };
    // All processors of a snooping bus are on one node.
    let node = if family == "smp" { format!("processors_per_node = {count}\n") } else { String::new() };
    Some(format!("title = \"{title}\"\ninherit = \"{family}\"\n\n[topology]\nprocessors = {count}\n{node}"))
}

/// The family of SCI rings that switches join, whose sizes are rings and nodes on each.
const JOINED_RINGS: &str = "sci-rings";

/// Writes the description of joined rings of a size such as `4x16`.
fn joined_rings(size: &str) -> Option<String> {
    let (rings, nodes) = size.split_once('x')?;
    let (rings, nodes): (u32, u32) = (rings.parse().ok()?, nodes.parse().ok()?);
    let processors = rings.checked_mul(nodes)?;
    let title = format!("{rings} joined SCI rings of {nodes} processors");
    let size = format!("[topology]\nprocessors = {processors}\n\n[sci_ring]\nrings = {rings}\n");
    Some(format!("title = \"{title}\"\ninherit = \"sci-ring\"\n\n{size}"))
}

/// The family of clusters of any size, in nodes and processors of each.
const JOINED_BUSES: &str = "dsm-cluster";

/// Writes the description of a cluster of a size such as `8x4`.
fn joined_buses(size: &str) -> Option<String> {
    let (nodes, each) = size.split_once('x')?;
    let (nodes, each): (u32, u32) = (nodes.parse().ok()?, each.parse().ok()?);
    let processors = nodes.checked_mul(each)?;
    let title = format!("Cluster of {nodes} SMPs of {each} processors");
    let size = format!("[topology]\nprocessors = {processors}\nprocessors_per_node = {each}\n");
    Some(format!("title = \"{title}\"\ninherit = \"{JOINED_BUSES}\"\n\n{size}"))
}

/// The families, with those of the same sizes in one line: `flash-Np with any N from 1 to 64`.
pub(crate) fn families() -> [String; 8] {
    let named = |sizes: Sizes| {
        let names = FAMILIES.iter().map(|entry| entry.name).filter(|name| Sizes::of(name) == sizes);
        names.map(|name| format!("{name}-Np")).collect::<Vec<_>>().join(" ")
    };
    let [hypercube, mesh, other, lists, bus, clusters] = [
        (Sizes::Hypercube, "an even N from 2 to 512"),
        (Sizes::DoubleMesh, "any N from 1 to 64"),
        (Sizes::OtherNetwork, "any N from 1 to 4096 (above 64 with a protocol that represents so many nodes)"),
        (Sizes::Lists, "any N from 1 to 4096"),
        (Sizes::Bus, "any N from 1 to 256"),
        (Sizes::Clusters, "any multiple N of 4 from 4 to 256"),
    ]
    .map(|(sizes, words)| format!("{} with {words}", named(sizes)));
    let joined = format!("{JOINED_RINGS}-RxN with any R rings of N nodes, up to 4096 in all");
    let buses = format!("{JOINED_BUSES}-NxP with N nodes of P processors, up to 64 nodes");
    [hypercube, mesh, other, lists, joined, bus, clusters, buses]
}

/// The sizes in which a family comes, by what limits them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    /// The Origin's routers.
    Hypercube,
    /// FLASH's routers.
    DoubleMesh,
    /// The sharing set of the protocol.
    OtherNetwork,
    /// None but that of any machine: a sharing list grows with the caches.
    Lists,
    /// The bus.
    Bus,
    /// Nodes of four processors, of which a directory has bits for 64.
    Clusters,
}

impl Sizes {
    fn of(family: &str) -> Self {
        match family {
            "smp" => Self::Bus,
            "dash" => Self::Clusters,
            _ if family.starts_with("sci-ring") => Self::Lists,
            "flash" | "flash-scaled" => Self::DoubleMesh,
            _ if family.starts_with("origin") => Self::Hypercube,
            _ => Self::OtherNetwork,
        }
    }
}

/// The error for an unknown name.
pub(crate) fn unknown(name: &str) -> DescriptionError {
    let names: Vec<_> = MACHINES.iter().map(|entry| entry.name).collect();
    let accepted = format!("{}, {}, or the path of a .toml file", names.join(" "), families().join(", "));
    let sized = FAMILIES.iter().map(|entry| format!("{}-Np", entry.name));
    let parametric: Vec<_> = sized.chain([format!("{JOINED_RINGS}-RxN"), format!("{JOINED_BUSES}-NxP")]).collect();
    let nearest = input::nearest(name, names.iter().copied().chain(parametric.iter().map(String::as_str)));
    DescriptionError::UnknownMachine { name: name.into(), nearest: nearest.map(str::to_owned), accepted }
}
