//! Observations of a fit, from records: figures of the same kind from several places become one, with the plan that measures it
//! again.

use bench::{Experiment, Plan, Settings, State};
use record::{Record, Unit};
use units::{Bytes, CpuId};

use super::structure::{Nearness, Structure};
use crate::fitting::list::FILLED;
use crate::fitting::repeated::Circumstances;

/// Where a reading or writing core finds a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// In its own caches, or the third-level cache of its cluster: the level, from 1.
    Level(u8),
    /// In memory: of its node, of another node of its socket, of another socket, or of a node without processors.
    Memory(Place),
    /// In the caches of another core so far away, modified or clean, homed at the owner or at the requester.
    Core {
        nearness: Nearness,
        modified: bool,
        home: Home,
    },
    /// Bandwidth of one core that reads memory there.
    CoreReads(Place),
    /// Bandwidth of the cores of a node that read memory there together.
    NodeReads(Place),
    /// Bandwidth of the cores of a cluster that read their node's memory together.
    ClusterReads,
    /// Bandwidth of one core, or of all of a node, in the triad of STREAM.
    CoreTriad,
    NodeTriad,
    /// An access to the next line of an array in its own caches.
    Stream(u8),
    /// An access to a line in its second-level cache whose translation the first level of its TLB lacks.
    Translation,
    /// A line that a core of its cluster has, too, clean.
    Shared,
    /// A store to a line that another core has, too.
    Upgrade,
    /// A load of a list of any size.
    List,
}

/// The place of memory relative to a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    Local,
    Socket,
    OtherSocket,
    MemoryNode,
}

/// The home of a line that two cores share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Home {
    /// On the node of both.
    Both,
    Requester,
    Owner,
}

impl Kind {
    /// The kind in words.
    pub(super) fn words(self) -> String {
        let place = |place| match place {
            Place::Local => "local memory",
            Place::Socket => "memory of another node, same socket",
            Place::OtherSocket => "memory of another socket",
            Place::MemoryNode => "memory node",
        };
        match self {
            Self::Level(level) => format!("load, level {level} cache"),
            Self::Memory(where_) => format!("load, {}", place(where_)),
            Self::Core { nearness, modified, home } => {
                let state = if modified { "modified" } else { "clean" };
                let near = match nearness {
                    Nearness::SameCluster => "same cluster",
                    Nearness::SameNode => "same node",
                    Nearness::SameSocket => "same socket",
                    Nearness::OtherSocket => "other socket",
                };
                let home = match home {
                    Home::Both => "",
                    Home::Requester => ", homed at reader",
                    Home::Owner => ", homed at owner",
                };
                format!("load, {state} in core of {near}{home}")
            }
            Self::CoreReads(where_) => format!("one core reads {}", place(where_)),
            Self::NodeReads(where_) => format!("a node's cores read {}", place(where_)),
            Self::ClusterReads => "a cluster's cores read local memory".to_owned(),
            Self::CoreTriad => "triad, one core".to_owned(),
            Self::NodeTriad => "triad, a node's cores".to_owned(),
            Self::Stream(level) => format!("stream from level {level} cache"),
            Self::Translation => "load, another page each, level 2 cache".to_owned(),
            Self::Shared => "load, shared with core of same cluster".to_owned(),
            Self::Upgrade => "store to a shared line".to_owned(),
            Self::List => "load, list".to_owned(),
        }
    }

    /// Whether it is a rate rather than a time.
    pub(super) fn is_rate(self) -> bool {
        match self {
            Self::Level(_) | Self::Memory(_) | Self::Core { .. } => false,
            Self::Stream(_) | Self::Translation | Self::Shared | Self::Upgrade | Self::List => false,
            Self::CoreReads(_) | Self::NodeReads(_) | Self::ClusterReads | Self::CoreTriad | Self::NodeTriad => true,
        }
    }

    /// Whether it depends on what is under way at once, as rates do.
    pub(super) fn is_overlapped(self) -> bool {
        self.is_rate() || matches!(self, Self::Stream(_) | Self::Upgrade)
    }
}

/// A figure that was measured, and how to measure it on a described machine.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) kind: Kind,
    pub(super) plan: Plan,
    /// In the unit of the records: nanoseconds, or MB/s.
    pub(super) measured: f64,
    /// How many places it is the middle of.
    pub(super) places: usize,
    /// How it was measured.
    pub(super) circumstances: Circumstances,
}

impl Observation {
    /// The observation of a kind in `record`, measured again by `plan`.
    pub(super) fn new(kind: Kind, plan: Plan, record: &Record) -> Self {
        let measured = record.headline();
        Self { kind, plan, measured, places: 1, circumstances: Circumstances::of(record) }
    }
}

/// The observations that `records` hold of a machine of this structure, each kind once.
pub(super) fn observations(records: &[Record], structure: &Structure, settings: &Settings) -> Vec<Observation> {
    let mut all: Vec<Observation> = Vec::new();
    for record in records {
        let Some(plan) = plan_of(record, structure, settings) else { continue };
        if let Some(kind) = kind_of(record, &plan, structure) {
            all.push(Observation::new(kind, plan, record));
        }
    }
    all.sort_by(|a, b| a.kind.cmp(&b.kind).then(a.measured.total_cmp(&b.measured)));
    all.chunk_by(|a, b| a.kind == b.kind).map(middle).collect()
}

/// The plan that measures a record again on a machine of this structure.
pub(super) fn plan_of(record: &Record, structure: &Structure, settings: &Settings) -> Option<Plan> {
    let (cpu, node) = (|cpu| structure.cpu(cpu), |node| structure.node(node));
    Plan::of_record(record, structure.line, settings, cpu, node)
}

/// The observation of a kind.
pub(super) fn find(observations: &[Observation], kind: Kind) -> Option<&Observation> {
    observations.iter().find(|observation| observation.kind == kind)
}

/// The measured figure of a kind.
pub(super) fn measured(observations: &[Observation], kind: Kind) -> Option<f64> {
    find(observations, kind).map(|observation| observation.measured)
}

/// One observation for all of a kind: the middle one. Of lists in the third-level cache the shortest: others share it, and what they
/// put there leaves less and less of longer ones.
fn middle(same: &[Observation]) -> Observation {
    // On large pages, translation adds to no load.
    let large: Vec<&Observation> = same.iter().filter(|observation| !observation.circumstances.small_pages).collect();
    let among: Vec<&Observation> = if large.is_empty() { same.iter().collect() } else { large };
    let shortest = among.iter().min_by_key(|observation| observation.plan.settings.array);
    let chosen = match (same[0].kind, shortest) {
        (Kind::Level(3), Some(shortest)) => shortest,
        _ => among[(among.len() - 1) / 2],
    };
    Observation { places: among.len(), ..chosen.clone() }
}

fn kind_of(record: &Record, plan: &Plan, structure: &Structure) -> Option<Kind> {
    let (locals, remotes) = (&plan.placement.locals, &plan.placement.remotes);
    let local = *locals.first()?;
    let place = place_of(local, plan, structure);
    // Nodes may have a cache in common: a core of another node is then as near as one of this.
    let of_node = |cpu| structure.node_of(cpu) == structure.node_of(local);
    let of_cluster = |cpu| structure.nearness(local, cpu) == Nearness::SameCluster;
    match (plan.experiment, plan.state) {
        (Experiment::AreaRead, _) if is_of_pages(plan, structure) => {
            // One on large pages tells whether they are what they seem.
            (!Circumstances::of(record).large_pages).then_some(Kind::Translation)
        }
        (Experiment::P3Ru, _) => level_of(plan.settings.array, plan.settings.stride, structure).and_then(stream),
        (Experiment::LmbenchUpgrd, State::Shrd) => Some(Kind::Upgrade),
        (Experiment::AreaRead, _) => level_of(plan.settings.array, plan.settings.stride, structure),
        (Experiment::LmbenchRead, State::Uown) => Some(Kind::Memory(place)),
        (Experiment::LmbenchRead, State::Shrd) => {
            (place == Place::Local && remotes.iter().all(|&sharer| of_cluster(sharer))).then_some(Kind::Shared)
        }
        (Experiment::LmbenchRead, State::Dexd | State::Cexh) => {
            let owner = *remotes.first()?;
            let [reads, owns] = [local, owner].map(|cpu| structure.node_of(cpu));
            let home = match plan.placement.home {
                home if home == reads && home == owns => Home::Both,
                home if home == reads => Home::Requester,
                home if home == owns => Home::Owner,
                _ => return None,
            };
            let modified = plan.state == State::Dexd;
            Some(Kind::Core { nearness: structure.nearness(local, owner), modified, home })
        }
        _ if record.unit != Unit::MegabytesPerSecond => None,
        (Experiment::BwRead, State::Uown) if locals.len() == 1 => Some(Kind::CoreReads(place)),
        (Experiment::BwmpRead, _) if crew_is(locals, structure, of_node) => Some(Kind::NodeReads(place)),
        (Experiment::BwmpRead, _) if crew_is(locals, structure, of_cluster) && place == Place::Local => {
            Some(Kind::ClusterReads)
        }
        (Experiment::StreamTriad, _) if place != Place::Local => None,
        (Experiment::StreamTriad, _) if locals.len() == 1 => Some(Kind::CoreTriad),
        (Experiment::StreamTriad, _) if crew_is(locals, structure, of_node) => Some(Kind::NodeTriad),
        _ => None,
    }
}

/// The stream of the kind of a list.
fn stream(list: Kind) -> Option<Kind> {
    if let Kind::Level(level) = list { Some(Kind::Stream(level)) } else { None }
}

/// Whether a list has a line of each of so many pages as its lines fit the second-level cache, but not the primary one.
pub(super) fn is_of_pages(plan: &Plan, structure: &Structure) -> bool {
    let (array, stride) = (plan.settings.array.0, plan.settings.stride.0);
    let lines = array / stride * structure.line.0;
    stride > structure.page.0 && lines > structure.l1.size.0 && lines as f64 <= FILLED * structure.l2.size.0 as f64
}

fn place_of(local: CpuId, plan: &Plan, structure: &Structure) -> Place {
    let (home, own) = (plan.placement.home, structure.node_of(local));
    match () {
        () if !structure.has_cores(home) => Place::MemoryNode,
        () if home == own => Place::Local,
        () if structure.socket_of(home) == structure.socket_of(own) => Place::Socket,
        () => Place::OtherSocket,
    }
}

/// Whether processors, several, are all cores of a group, and no others.
fn crew_is(locals: &[CpuId], structure: &Structure, is_of_group: impl Fn(CpuId) -> bool) -> bool {
    let all = (0..structure.cores() as u16).map(CpuId).filter(|&cpu| is_of_group(cpu)).count();
    locals.len() > 1 && locals.len() == all && locals.iter().all(|&cpu| is_of_group(cpu))
}

/// The level that a list of neighbouring elements lies in: wholly, and beyond all of the level inside.
fn level_of(array: Bytes, stride: Bytes, structure: &Structure) -> Option<Kind> {
    let caches = [structure.l1, structure.l2, structure.l3].map(|shape| shape.size.0);
    // Elements that leave out many lines leave out sets.
    if stride.0 > 4 * structure.line.0 {
        return None;
    }
    let within = |size: u64| array.0 as f64 <= FILLED * size as f64;
    let beyond = |inside: u64, times: u64| array.0 >= times * inside;
    match () {
        () if within(caches[0]) => Some(Kind::Level(1)),
        () if within(caches[1]) && beyond(caches[0], 2) => Some(Kind::Level(2)),
        // Neither wholly: the level inside may have a part of it.
        () if array.0 <= caches[2] / 2 && beyond(caches[1], 2) && array.0 <= 8 * caches[1] => Some(Kind::Level(3)),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use units::NodeId;

    use super::*;

    /// Linux announces the third-level cache of a socket with sub-NUMA clusters as one.
    #[test]
    fn nodes_with_a_cache_in_common_have_rates_of_their_own() {
        let description = machine::load("xeon-8269cy-2s").expect("a machine");
        let mut computer = bench::computer_of_server(&description).expect("a server");
        computer.cores.iter_mut().for_each(|core| core.node.0 = core.node.0 * 2 + u16::from(core.cpus[0].0 % 26 >= 13));
        computer.nodes = (0..4)
            .map(|node| record::ComputerNode { node: NodeId(node), memory_kib: 1 << 20, distances: vec![10; 4] })
            .collect();
        let structure = Structure::of(&computer).expect("a server");
        assert_eq!((structure.nodes_per_socket, structure.clusters_per_socket), (2, 1));
        let crew = |count| (0..count).map(CpuId).collect::<Vec<_>>();
        let of_node = |cpu| structure.node_of(cpu) == NodeId(0);
        assert!(crew_is(&crew(13), &structure, of_node));
        assert!(!crew_is(&crew(26), &structure, of_node));
        let near = |cpu| structure.nearness(CpuId(0), cpu) == Nearness::SameCluster;
        assert!(crew_is(&crew(26), &structure, near));
    }
}
