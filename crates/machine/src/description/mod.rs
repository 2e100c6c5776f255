//! Machine descriptions: TOML files, checked key by key, each inheriting at most one other.
//!
//! A description is plain data. Every number carries its unit in its key (`clock_mhz`, `size_kib`); in memory it
//! is a newtype of `units` or a count of cycles of the part's own clock.

mod catalogue;
mod check;
mod check_caches;
mod check_server;
mod error;
mod kind;
mod layer;
mod level;
mod source;
pub(crate) mod spec;
mod wiring;

use std::collections::BTreeMap;
use std::path::PathBuf;

use units::{Bytes, Hertz};

pub use error::{DescriptionError, Entry, Origin};
pub use level::{CacheLevel, CachePort, MOST_CACHE_LEVELS};
pub use spec::{
    BanksSpec, BusSpec, ClusterSpec, ControllerKind, ControllerSpec, CrossbarSpec, DeviceCache, DirectorySpec,
    DomainTopology, DoubleMeshSpec, Fill, Forwarding, Frames, HandlerSpec, HomeKind, HomeSpec, HubSpec, HypercubeSpec,
    IdealNetworkSpec, IdealProtocol, Inclusion, L1PortSpec, L1Spec, L2Spec, L3Spec, LatencySpec, LinkSpec,
    MOST_HARDWARE_THREADS, MOST_MISSES, MOST_OTHERS_MB_PER_S, MOST_PROCESSORS, MOST_SOCKETS, MOST_TRANSLATIONS,
    MOST_VIRTUAL_CHANNELS, MOST_WAYS, MagicSpec, MemoryLinkSpec, MemorySpec, MeshSpec, MissCountersSpec, OnDieNetwork,
    OsSpec, PageCacheSpec, PassTransmission, PlacementKind, PrefetchKind, PrefetchSpec, ProcessorModel, ProcessorSpec,
    Refill, Replacement, RingSpec, RouterBypass, RouterSpec, SchedulerSpec, SciRingSpec, SciSpec, ServerSpec,
    SliceKind, SliceSpec, SocketLinkSpec, SysadSpec, ThreadOrder, TlbSpec, TopologyKind, TopologySpec, WritePolicy,
};

use check::{Conflict, check};
use kind::{Alternatives, quoted};
use layer::{KeyRule, Layer, Resolver, Writer};
use source::{Source, inheritance};
use spec::Section;

pub use wiring::JoinedRings;
pub(crate) use wiring::{LONG_RING, METACUBE_CLUSTERS, MOST_METACUBES, PURE_CORNERS};

macro_rules! description {
    (
        first { $($(#[$first_doc:meta])* $first:ident: $first_spec:ident,)* }
        given { $($(#[$given_doc:meta])* $given:ident: $given_spec:ident,)* }
        all { $($(#[$doc:meta])* $field:ident: $spec:ident,)* }
        some { $($(#[$some_doc:meta])* $some:ident: $some_spec:ident if $table:ident.kind in $kinds:expr,)* }
    ) => {
        /// A machine description with all inheritance resolved: every parameter has a value. Tables that only some
        /// machines have are present as required by the kind of controller or topology.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Description {
            /// The name: a built-in one, a parametric one, or the stem of its file.
            pub name: String,
            /// The title, in words.
            pub title: String,
            /// The published figures that its values were fitted to, its ancestors' first. All other figures are
            /// predictions.
            pub calibrated_on: Vec<String>,
            $($(#[$first_doc])* pub $first: $first_spec,)*
            $($(#[$given_doc])* pub $given: Option<$given_spec>,)*
            $($(#[$doc])* pub $field: $spec,)*
            $($(#[$some_doc])* pub $some: Option<$some_spec>,)*
        }

        fn rules() -> Vec<KeyRule> {
            let mut rules = top_rules();
            $(rules.push(KeyRule::giving_up($given_spec::TABLE));)*
            $(rules.extend($first_spec::rules());)*
            $(rules.extend($given_spec::rules());)*
            $(rules.extend($spec::rules());)*
            $(rules.extend($some_spec::rules());)*
            rules
        }

        fn read(resolver: &Resolver, name: String, title: String) -> Result<Description, DescriptionError> {
            let calibrated_on = resolver.calibrated_on.clone();
            $(let $first = $first_spec::read(resolver)?;)*
            $(let $given = read_if_given(resolver)?;)*
            $(let $field = $spec::read(resolver)?;)*
            $(let $some = read_if(resolver, concat!(stringify!($table), ".kind"), $table.kind, &$kinds)?;)*
            Ok(Description { name, title, calibrated_on, $($first,)* $($given,)* $($field,)* $($some,)* })
        }

        /// The tables that the machine's kinds do not read.
        fn unread_tables(description: &Description) -> Vec<&'static str> {
            let absent = [$(description.$some.is_none().then_some($some_spec::TABLE)),*];
            absent.into_iter().flatten().collect()
        }

        fn write_sections(description: &Description, writer: &mut Writer<'_>) {
            $(description.$first.write(writer);)*
            $(if let Some(section) = &description.$given { section.write(writer) })*
            $(description.$field.write(writer);)*
            $(if let Some(section) = &description.$some { section.write(writer) })*
        }
    };
}

description! {
    first {
        /// Size and wiring.
        topology: TopologySpec,
        /// The processor.
        processor: ProcessorSpec,
        /// How long its operations take.
        latency: LatencySpec,
        /// The primary data cache.
        l1: L1Spec,
    }
    given {
        /// The port of the primary cache to the system bus, if it is the only private level.
        l1_port: L1PortSpec,
        /// The secondary cache.
        l2: L2Spec,
        /// The third level.
        l3: L3Spec,
        /// The hardware prefetcher.
        prefetch: PrefetchSpec,
        /// The page cache of a cluster's device.
        page_cache: PageCacheSpec,
        /// The miss counters of a cluster's device.
        miss_counters: MissCountersSpec,
        /// The links of a server's memory nodes.
        memory_link: MemoryLinkSpec,
    }
    all {
        /// The translation lookaside buffer.
        tlb: TlbSpec,
        /// The kind of node controller.
        controller: ControllerSpec,
        /// Memory.
        memory: MemorySpec,
        /// The router chip.
        router: RouterSpec,
        /// A link.
        link: LinkSpec,
        /// The operating system's scheduler.
        scheduler: SchedulerSpec,
        /// The operating system's memory management.
        os: OsSpec,
    }
    some {
        /// The Origin's wiring.
        hypercube: HypercubeSpec if topology.kind in [TopologyKind::Origin],
        /// FLASH's wiring.
        double_mesh: DoubleMeshSpec if topology.kind in [TopologyKind::Flash],
        /// The bus between processors and a controller chip.
        sysad: SysadSpec if controller.kind in [ControllerKind::Hub, ControllerKind::Magic],
        /// A ring.
        ring: RingSpec if topology.kind in [TopologyKind::Ring],
        /// A two-dimensional mesh.
        mesh: MeshSpec if topology.kind in [TopologyKind::Mesh],
        /// A ring of SCI links.
        sci_ring: SciRingSpec if topology.kind in [TopologyKind::SciRing],
        /// A crossbar.
        crossbar: CrossbarSpec if topology.kind in [TopologyKind::Crossbar],
        /// An ideal interconnect.
        ideal_network: IdealNetworkSpec if topology.kind in [TopologyKind::Ideal],
        /// The Hub.
        hub: HubSpec if controller.kind in [ControllerKind::Hub],
        /// MAGIC.
        magic: MagicSpec if controller.kind in [ControllerKind::Magic],
        /// The directory that MAGIC keeps.
        directory: DirectorySpec if controller.kind in [ControllerKind::Magic],
        /// The handlers that MAGIC runs.
        handlers: HandlerSpec if controller.kind in [ControllerKind::Magic],
        /// The snooping bus of a node.
        bus: BusSpec if controller.kind in [ControllerKind::SnoopingBus, ControllerKind::Cluster],
        /// The device that joins buses.
        cluster: ClusterSpec if controller.kind in [ControllerKind::Cluster],
        /// An SCI node.
        sci: SciSpec if controller.kind in [ControllerKind::Sci],
        /// The sockets of a server.
        server: ServerSpec if controller.kind in [ControllerKind::Server],
        /// A slice of a server's third-level cache.
        l3_slice: SliceSpec if controller.kind in [ControllerKind::Server],
        /// The home agents of a server.
        home: HomeSpec if controller.kind in [ControllerKind::Server],
        /// The links between the sockets of a server.
        socket_link: SocketLinkSpec if controller.kind in [ControllerKind::Server],
        /// The banks of the memory of a snooping bus, an SCI node or a server.
        banks: BanksSpec if controller.kind in [ControllerKind::SnoopingBus, ControllerKind::Cluster, ControllerKind::Sci, ControllerKind::Server],
    }
}

/// The table `S`, if any key of it is given.
fn read_if_given<S: Section>(resolver: &Resolver) -> Result<Option<S>, DescriptionError> {
    resolver.has_table(S::TABLE).then(|| S::read(resolver)).transpose()
}

/// The table `S` if the machine's `kind` (the value of `key`) is among those that read it; otherwise the table must be
/// absent, or inherited by the file that chose the kind.
fn read_if<S: Section, K: Alternatives>(
    resolver: &Resolver,
    key: &str,
    kind: K,
    readers: &[K],
) -> Result<Option<S>, DescriptionError> {
    if readers.contains(&kind) {
        return S::read(resolver).map(Some);
    }
    let pair = |kind: K| format!("{key} = {}", quoted(kind.word()));
    let readers: Vec<_> = readers.iter().map(|&reader| pair(reader)).collect();
    resolver.refuse_table(S::TABLE, key, &pair(kind), &readers.join(" or "))?;
    Ok(None)
}

/// The keys outside any table.
fn top_rules() -> Vec<KeyRule> {
    let rule = |key, accepted: &str| KeyRule {
        key,
        suffix: "",
        accepted: accepted.into(),
        extremes: Vec::new(),
        gives_up: false,
    };
    vec![
        rule("name", "a string"),
        rule("title", "a string"),
        rule("inherit", "the name of a machine, or the path of a .toml file relative to this one"),
        rule("calibrated_on", "an array of strings, each PAPER/TABLE [rows A, B] [columns C, D]"),
    ]
}

/// A description with the origin of each of its values.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The description.
    pub description: Description,
    /// The file and line that set each key (`table.key`).
    pub origins: BTreeMap<String, Origin>,
}

impl Resolved {
    /// The error for a word of key `key` that only the caller can check, with its origin.
    pub fn refused(&self, key: &str, word: &str, reason: String, accepted: String) -> DescriptionError {
        self.refused_value(key, quoted(word), reason, accepted)
    }

    /// The same for a number.
    pub fn refused_number(&self, key: &str, number: u32, reason: String, accepted: String) -> DescriptionError {
        self.refused_value(key, number.to_string(), reason, accepted)
    }

    fn refused_value(&self, key: &str, value: String, reason: String, accepted: String) -> DescriptionError {
        let at = self.origins.get(key).cloned();
        let at = at.unwrap_or_else(|| Origin { file: self.description.name.clone(), line: None, comment: None });
        let entry = Box::new(Entry { at, key: key.into(), value });
        DescriptionError::Impossible { entry, reason, accepted }
    }

    /// The whole description as TOML, with the origin of each value as a comment.
    pub fn to_toml(&self) -> String {
        write(&self.description, &self.origins)
    }
}

impl Description {
    /// The clock of the node controller, and with it of the SysAD bus and the memory; `None` if the controller's table
    /// was removed in memory.
    pub fn controller_clock(&self) -> Option<Hertz> {
        let bus = self.bus.as_ref().map(|bus| bus.clock).or(self.sci.as_ref().map(|sci| sci.clock));
        let bus = bus.or(self.server.as_ref().map(|server| server.clock));
        self.hub.as_ref().map(|hub| hub.clock).or(self.magic.as_ref().map(|magic| magic.clock)).or(bus)
    }

    /// Whether a packet bypasses an empty queue in a router.
    pub fn bypasses_queues(&self) -> bool {
        match self.topology.router_bypass {
            RouterBypass::On => true,
            RouterBypass::Off => false,
            RouterBypass::WithoutMetarouters => !self.topology.has_metarouters(),
        }
    }

    /// Memory of a node that programs may have: what its directory does not hold.
    pub fn free_memory(&self) -> Bytes {
        let held = self.directory.as_ref().map_or(Bytes(0), |directory| directory.reserved);
        Bytes(self.topology.node_memory.0.saturating_sub(held.0))
    }

    /// Packets of a message with a line.
    pub fn data_packets(&self) -> u64 {
        self.link.packets(self.coherent_cache().line)
    }

    /// The error for a conflict between its values, without regard to their origins.
    fn impossible(&self, conflict: Conflict) -> DescriptionError {
        match Layer::of_name(&self.name, &self.to_toml()).and_then(|layer| Resolver::new(vec![layer], rules())) {
            Ok(resolver) => resolver.impossible(&conflict.key, conflict.reason, conflict.accepted),
            Err(error) => error,
        }
    }

    /// The same machine under another name, with a new value of `key` (`table.key`) in the spelling of a file.
    ///
    /// # Errors
    /// As for any description: an unknown key, or a value that it does not accept.
    pub fn changed(&self, name: &str, key: &str, value: &str) -> Result<Self, DescriptionError> {
        let changes = Layer::of_changes(name, [("name", name), ("title", &self.title), (key, value)]);
        let layers = vec![changes, Layer::of_name(&self.name, &self.to_toml())?];
        resolve_layers(layers, name).map(|resolved| resolved.description)
    }

    /// The whole description as TOML: no inheritance, every key. Loading it gives an equal description.
    pub fn to_toml(&self) -> String {
        write(self, &BTreeMap::new())
    }
}

fn write(description: &Description, origins: &BTreeMap<String, Origin>) -> String {
    let mut writer = Writer { text: String::new(), origins };
    writer.value("", "name", &quoted(&description.name));
    writer.value("", "title", &quoted(&description.title));
    let entries: Vec<_> = description.calibrated_on.iter().map(|entry| quoted(entry)).collect();
    // The entries come from several files, so no single origin applies.
    writer.text.push_str(&format!("calibrated_on = [{}]\n", entries.join(", ")));
    write_sections(description, &mut writer);
    writer.text
}

/// The built-in machines: name and title, in the order of Prestor 2001, Table 4.5.
pub fn names() -> impl Iterator<Item = (String, String)> {
    catalogue::MACHINES.iter().filter_map(|entry| load(entry.name).ok()).map(|found| (found.name, found.title))
}

/// The parametric families, each with its sizes: `flash-Np with any N from 1 to 64`.
pub fn families() -> impl Iterator<Item = String> {
    catalogue::families().into_iter()
}

/// The machine called `name_or_path`: a built-in (`arctic`), a parametric name (`origin2000-r12k-300-64p`), or the path
/// of a TOML file (anything with a `/` or ending in `.toml`).
///
/// # Errors
/// The first fault of the name or of the description.
pub fn load(name_or_path: &str) -> Result<Description, DescriptionError> {
    resolve(name_or_path).map(|resolved| resolved.description)
}

/// As [`load`], with the origin of each value.
///
/// # Errors
/// As [`load`].
pub fn resolve(name_or_path: &str) -> Result<Resolved, DescriptionError> {
    let source = Source::named(name_or_path, None).ok_or_else(|| catalogue::unknown(name_or_path))?;
    let text = source.text()?;
    resolve_from(source, &text)
}

/// The machine called `base` under the name `name`, with `note` appended to its title, and with new values of keys
/// (`table.key`) in the spelling of a file. The last of several changes to one key counts.
///
/// # Errors
/// As [`load`]; faults of changes are reported without a file.
pub fn resolve_changed(
    base: &str,
    name: &str,
    note: &str,
    changes: &[(&str, &str)],
) -> Result<Resolved, DescriptionError> {
    let title = format!("{}, {note}", load(base)?.title);
    let source = Source::named(base, None).ok_or_else(|| catalogue::unknown(base))?;
    let named = [("name", name), ("title", &title)];
    let mut layers = vec![Layer::of_changes(name, named.into_iter().chain(changes.iter().copied()))];
    let text = source.text()?;
    layers.extend(inheritance(source, &text)?);
    resolve_layers(layers, name)
}

/// Every key (`table.key`) with the least and the greatest value that its own rule accepts, or every alternative, as
/// TOML. Other values of a machine may exclude them.
pub fn extremes() -> impl Iterator<Item = (&'static str, Vec<String>)> {
    rules().into_iter().filter(|rule| !rule.extremes.is_empty()).map(|rule| (rule.key, rule.extremes))
}

/// Parses the description in `text`; `file` is its name in messages, and the base of a relative `inherit`.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str) -> Result<Resolved, DescriptionError> {
    resolve_from(Source::File(PathBuf::from(file)), text)
}

fn resolve_from(source: Source, text: &str) -> Result<Resolved, DescriptionError> {
    let stem = source.stem();
    resolve_layers(inheritance(source, text)?, &stem)
}

/// Resolves files that inherit each other, the top one first; `stem` is the name if they set none.
fn resolve_layers(layers: Vec<Layer>, stem: &str) -> Result<Resolved, DescriptionError> {
    let own = |key| layers[0].get(key).is_some();
    let (own_name, own_title) = (own("name"), own("title"));
    let resolver = Resolver::new(layers, rules())?;
    // Names and titles are not inherited, since a machine is not its ancestor.
    let name = resolver.text("name")?.filter(|_| own_name).unwrap_or_else(|| stem.into());
    let title = resolver.text("title")?.filter(|_| own_title).unwrap_or_else(|| name.clone());
    let description = read(&resolver, name, title)?;
    check(&description).map_err(|Conflict { key, reason, accepted }| resolver.impossible(&key, reason, accepted))?;
    let mut origins = resolver.origins();
    origins.retain(|key, _| !(key == "inherit" || key == "name" && !own_name || key == "title" && !own_title));
    let unread = unread_tables(&description);
    origins.retain(|key, _| key.split_once('.').is_none_or(|(table, _)| !unread.contains(&table)));
    Ok(Resolved { description, origins })
}

#[cfg(test)]
mod tests;
