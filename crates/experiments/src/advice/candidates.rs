//! The settings that a machine offers beside its present one.

use std::collections::BTreeSet;

use diagnose::{Class, Trial, diagnose};
use machine::description::{ControllerKind, PlacementKind, SliceKind, ThreadOrder};
use machine::{Description, Topology};
use record::Attribution;
use units::{CpuId, NodeId};

use super::setting::{BOUND, Dimension, Means, Setting};
use crate::error::ExperimentError;
use crate::simulation::policies;
use crate::simulation::thread_order::thread_order;
use crate::simulation::trial::remedied;
use crate::variant;

/// The machine and the program for which settings are sought.
#[derive(Clone, Copy, Debug)]
pub struct Present<'a> {
    /// The machine's name, with its changes.
    pub name: &'a str,
    /// The machine.
    pub machine: &'a Description,
    /// How many processors the program may use.
    pub cpus: usize,
    /// Whether the program requests nodes for its pages by itself, as built-in programs do.
    pub plans: bool,
}

/// The operating system whose commands are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    /// Linux, with `numactl`.
    Linux,
    /// IRIX 6.5, with the variables of `pe_environ(5)`.
    Irix,
    /// One of which no commands are known: the machine's keys are told.
    Unknown,
}

impl System {
    fn of(machine: &Description) -> Self {
        match machine.controller.kind {
            ControllerKind::Server => Self::Linux,
            ControllerKind::Hub | ControllerKind::Magic => Self::Irix,
            ControllerKind::Cluster | ControllerKind::Sci | ControllerKind::SnoopingBus => Self::Unknown,
        }
    }

    fn means(self, numactl: &[&str], variable: Option<&str>, key: &str) -> Means {
        match (self, variable) {
            (Self::Linux, _) => {
                let words = std::iter::once("numactl").chain(numactl.iter().copied());
                Means { launcher: words.map(str::to_owned).collect(), ..Means::default() }
            }
            (Self::Irix, Some(variable)) => Means { environment: Some(variable.to_owned()), ..Means::default() },
            _ => Means { before: Some(key.to_owned()), ..Means::default() },
        }
    }
}

impl Present<'_> {
    /// The settings of a dimension that this machine can have, each of which differs from the present one and from each other.
    /// `lost` is what the program loses as it is.
    ///
    /// # Errors
    /// When a machine cannot be changed as the diagnosis of what is lost proposes.
    pub fn alternatives(&self, dimension: Dimension, lost: &Attribution) -> Result<Vec<Setting>, ExperimentError> {
        let candidates = match dimension {
            Dimension::Placement => self.placements(),
            Dimension::MemoryMode => self.modes(),
            Dimension::Prefetchers => self.prefetchers(),
            Dimension::Threads => self.threads(),
        };
        let mut known = vec![(self.machine.clone(), self.order(self.machine))];
        let mut alternatives = Vec::new();
        for setting in candidates {
            // Settings that the machine does not offer are refused by its checks.
            let Ok(changed) = variant::load(&self.changed(&setting.changes)) else { continue };
            let anonymous = Description {
                name: self.machine.name.clone(),
                title: self.machine.title.clone(),
                os: machine::description::OsSpec { threads: self.machine.os.threads, ..changed.os.clone() },
                ..changed.clone()
            };
            let like = (anonymous, self.order(&changed));
            if !known.contains(&like) {
                known.push(like);
                alternatives.push(setting);
            }
        }
        if dimension == Dimension::Placement {
            alternatives.extend(self.at_users(lost)?);
        }
        if dimension == Dimension::MemoryMode {
            alternatives.extend(self.mechanisms(lost));
        }
        Ok(alternatives)
    }

    /// The present setting in words.
    pub fn label(&self) -> String {
        format!("as it is (pages: {})", policies::placement_name(&self.machine.os))
    }

    /// The machine's name with more changes.
    pub fn changed(&self, changes: &[String]) -> String {
        changes.iter().fold(self.name.to_owned(), |name, change| format!("{name}{}{change}", variant::SEPARATOR))
    }

    fn order(&self, machine: &Description) -> Vec<CpuId> {
        thread_order(machine, &Topology::new(machine), self.cpus)
    }

    /// Placements of pages.
    fn placements(&self) -> Vec<Setting> {
        let (system, spec) = (System::of(self.machine), &self.machine.os);
        let of = |label: &str, change: &str, means| Setting::of(Dimension::Placement, label, &[change], means);
        let mut settings = Vec::new();
        if self.machine.topology.nodes() == 1 {
            return settings;
        }
        // A program of the user's own that requests nothing is placed by first touch either way.
        if self.plans || spec.placement != PlacementKind::Planned {
            let means = system.means(&["--localalloc"], None, "os.placement = \"first-touch\"");
            settings.push(of("pages on the node that touches them first", "placement=first-touch", means));
        }
        let key = "os.placement = \"round-robin\"";
        let means = system.means(&["--interleave=all"], Some("_DSM_ROUND_ROBIN=TRUE"), key);
        settings.push(of("pages interleaved over all nodes", "placement=round-robin", means));
        settings.push(self.on_one_node(system));
        // A plan's pages are there before the program begins, which no command of Linux does: beside first touch, that alone would gain.
        if self.plans && system != System::Linux {
            let program = Some("place data in the program (mbind, numa_alloc_onnode)".to_owned());
            let means = Means { program, ..Means::default() };
            settings.push(of("pages where the program's own plan puts them", "placement=planned", means));
        }
        // Nodes of servers move no pages, so that there is no command of Linux for it.
        let moved = match system {
            System::Irix => environment("_DSM_MIGRATION=ON"),
            System::Linux | System::Unknown => {
                Means { before: Some("os.migration = true".to_owned()), ..Means::default() }
            }
        };
        settings.push(of("pages migrate to the node that uses them most", "migration", moved));
        let means = Means { before: Some("os.replication = true".to_owned()), ..Means::default() };
        settings.push(of("read-only pages replicated on the nodes that read them", "replication", means));
        settings
    }

    /// All pages on one node: that of the threads if they are all on one. Threads that have whole nodes without them are bound to theirs.
    fn on_one_node(&self, system: System) -> Setting {
        let nodes = self.nodes_of_threads(self.machine);
        let (node, label) = match nodes.as_slice() {
            &[node] => (node.0, format!("threads and pages bound to node {node}")),
            _ => (0, "all pages on node 0".to_owned()),
        };
        let words = [self.bound(self.machine), Some(format!("--membind={node}"))];
        let words: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        let key = format!("os.placement = \"fixed\", os.fixed_node = {node}");
        let change = format!("placement=fixed={node}");
        Setting::of(Dimension::Placement, label, &[&change], system.means(&words, None, &key))
    }

    /// The nodes of the program's threads on a machine.
    fn nodes_of_threads(&self, machine: &Description) -> Vec<NodeId> {
        let topology = Topology::new(machine);
        let nodes = self.order(machine).into_iter().filter_map(|cpu| topology.node_of(cpu));
        nodes.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The word of `numactl` that binds the program's threads to their nodes on a machine, unless those are all that have processors.
    pub(super) fn bound(&self, machine: &Description) -> Option<String> {
        let topology = &machine.topology;
        let (nodes, all) = (self.nodes_of_threads(machine), topology.processors / topology.processors_per_node);
        (nodes.len() < all as usize).then(|| format!("{BOUND}{}", units::ranges(nodes.iter().map(|node| node.0))))
    }

    /// Each page on the node that uses it most, where the program now loses time at pages of other nodes.
    fn at_users(&self, lost: &Attribution) -> Result<Option<Setting>, ExperimentError> {
        let pages = diagnose(lost, None).into_iter().filter_map(|finding| match (finding.class, finding.trial) {
            (Class::Misplaced | Class::NodeFalseSharing, Some(Trial::Place(pages))) => Some(pages),
            _ => None,
        });
        let pages: Vec<_> = pages.flatten().collect();
        if pages.is_empty() {
            return Ok(None);
        }
        let label = format!("{} pages on the node that uses them most", pages.len());
        let Some((machine, relocation)) = remedied(self.machine, &Trial::Place(pages), lost)? else { return Ok(None) };
        let change =
            (machine.os.placement != self.machine.os.placement).then(|| format!("{}=planned", variant::PLACEMENT));
        let program = Some("initialise data in the threads that use them, so that these touch them first".to_owned());
        Ok(Some(Setting {
            dimension: Dimension::Placement,
            label,
            changes: change.into_iter().collect(),
            relocation,
            means: Means { program, ..Means::default() },
        }))
    }

    /// Modes that the firmware of a server's family offers.
    fn modes(&self) -> Vec<Setting> {
        let of = |text: &str, changes: &[&str]| {
            let means = Means { before: Some(format!("BIOS: {text}")), ..Means::default() };
            Setting::of(Dimension::MemoryMode, text, changes, means)
        };
        match self.machine.l3_slice.as_ref().map(|slice| slice.kind) {
            // Haswell-EP: cluster-on-die is one of three snoop modes.
            Some(SliceKind::Inclusive) => vec![
                of("snoop mode home snoop", &["snc=1", "snoop=home"]),
                of("snoop mode early snoop", &["snc=1", "snoop=early"]),
                of("snoop mode cluster on die", &["cod"]),
            ],
            // Skylake-SP and its successors: as many clusters as their memory controllers can be divided among.
            Some(SliceKind::Victim) => {
                vec![of("SNC off", &["snc=1"]), of("SNC on (SNC2)", &["snc=2"]), of("SNC4", &["snc=4"])]
            }
            Some(SliceKind::ShadowTags) => {
                vec![of("NPS=1", &["nps=1"]), of("NPS=2", &["nps=2"]), of("NPS=4", &["nps=4"])]
            }
            None => Vec::new(),
        }
    }

    /// Mechanisms by which nodes could keep, move or copy pages, where a diagnosis finds that this may help.
    fn mechanisms(&self, lost: &Attribution) -> Vec<Setting> {
        let systems = diagnose(lost, None).into_iter().filter_map(|finding| match finding.trial {
            Some(Trial::System(word)) => Some(word),
            _ => None,
        });
        let setting = |word: &str| {
            let before = Some(format!("{}{}{word}", self.name, variant::SEPARATOR));
            let means = Means { before, ..Means::default() };
            Setting::of(Dimension::MemoryMode, format!("nodes as of {word}"), &[word], means)
        };
        systems.map(setting).collect()
    }

    /// Prefetchers off, where there are any.
    fn prefetchers(&self) -> Vec<Setting> {
        let means = Means { before: Some("BIOS: hardware prefetchers disabled".to_owned()), ..Means::default() };
        let off = Setting::of(Dimension::Prefetchers, "hardware prefetchers off", &["prefetch=off"], means);
        self.machine.prefetch.iter().map(|_| off.clone()).collect()
    }

    /// Orders in which threads take processors.
    fn threads(&self) -> Vec<Setting> {
        let system = System::of(self.machine);
        let orders = [
            (ThreadOrder::Compact, "compact", "threads close to each other"),
            (ThreadOrder::Spread, "spread", "threads spread over the machine"),
            (ThreadOrder::Scatter, "scatter", "threads scattered over sockets and nodes in turn"),
            (ThreadOrder::Clusters, "clusters", "a thread for each core cluster in turn"),
            (ThreadOrder::Siblings, "siblings", "threads on all hardware threads of a core"),
        ];
        let setting = |(order, word, label): (ThreadOrder, &str, &str)| {
            let change = format!("threads={word}");
            let places = variant::load(&self.changed(std::slice::from_ref(&change))).ok()?;
            let means = match (system, order) {
                (System::Unknown, _) => Means { before: Some(format!("os.threads = \"{word}\"")), ..Means::default() },
                (_, ThreadOrder::Compact) => environment("OMP_PROC_BIND=close OMP_PLACES=cores"),
                (_, ThreadOrder::Spread) => environment("OMP_PROC_BIND=spread OMP_PLACES=cores"),
                (_, ThreadOrder::Siblings) => environment("OMP_PROC_BIND=close OMP_PLACES=threads"),
                (_, ThreadOrder::Scatter | ThreadOrder::Clusters) => environment(&listed(&self.order(&places))),
            };
            Some(Setting::of(Dimension::Threads, label, &[&change], means))
        };
        orders.into_iter().filter_map(setting).collect()
    }
}

fn environment(variables: &str) -> Means {
    Means { environment: Some(variables.to_owned()), ..Means::default() }
}

/// The variables that give threads these processors, one after the other.
fn listed(order: &[CpuId]) -> String {
    let places: Vec<String> = order.iter().map(|cpu| format!("{{{}}}", cpu.0)).collect();
    format!("OMP_PROC_BIND=close OMP_PLACES='{}'", places.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that put all pages on one node, for so many threads.
    fn on_one_node(name: &str, cpus: usize) -> (String, String) {
        let machine = variant::load(name).unwrap_or_else(|error| panic!("{error}"));
        let present = Present { name, machine: &machine, cpus, plans: false };
        let setting = present.on_one_node(System::Linux);
        (setting.label, setting.means.launcher.join(" "))
    }

    #[test]
    fn cores_are_shared_where_they_have_several_hardware_threads() {
        let of_threads = |name: &str| {
            let machine = variant::load(name).unwrap_or_else(|error| panic!("{error}"));
            let present = Present { name, machine: &machine, cpus: 8, plans: false };
            let settings = present.alternatives(Dimension::Threads, &Attribution::default()).expect("settings");
            settings.into_iter().filter_map(|setting| setting.means.environment).collect::<Vec<_>>()
        };
        let shared = "OMP_PROC_BIND=close OMP_PLACES=threads".to_owned();
        assert!(of_threads("xeon-6252n-2s+smt=2").contains(&shared));
        assert!(!of_threads("xeon-6252n-2s").contains(&shared));
        let apart = of_threads("xeon-6252n-2s+smt=2+threads=siblings");
        assert!(apart.contains(&"OMP_PROC_BIND=close OMP_PLACES=cores".to_owned()), "{apart:?}");
    }

    #[test]
    fn threads_are_bound_to_the_nodes_that_they_have() {
        let (label, words) = on_one_node("epyc-7702-2s+nps=4", 16);
        assert_eq!(
            (label.as_str(), words.as_str()),
            ("threads and pages bound to node 0", "numactl --cpunodebind=0 --membind=0")
        );
        // Two of the four nodes of a socket.
        let (label, words) = on_one_node("epyc-7702-2s+nps=4", 32);
        assert_eq!((label.as_str(), words.as_str()), ("all pages on node 0", "numactl --cpunodebind=0-1 --membind=0"));
        assert_eq!(on_one_node("epyc-7702-2s+nps=4", 128).1, "numactl --membind=0");
        assert_eq!(on_one_node("epyc-7702-2s+nps=1", 32).1, "numactl --cpunodebind=0 --membind=0");
        assert_eq!(on_one_node("xeon-8269cy-2s+snc2", 26).1, "numactl --cpunodebind=0-1 --membind=0");
    }
}
