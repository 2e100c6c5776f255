//! `ccnuma verify --random`: random programs on simulated machines, every load and store compared.

use std::fmt::Write;
use std::time::Instant;

use clap::Args;
use machine::Description;
use machine::description::MOST_PROCESSORS;
use protocol::msi::catalogue;
use record::{VerificationResult, VerificationRow};
use sim::random::{RandomReport, RandomTest};
use sim::{Fault, SimError, Simulator};
use units::Bytes;

use super::{Done, servers};
use crate::failure::Failure;
use crate::interruption;

/// The protocol of the Origin, which machines of either processor run.
const ORIGIN: &str = "origin";
/// The protocol of SCI rings.
const SCI: &str = "sci";
/// The protocols of machines on a snooping bus.
const BUSES: [&str; 2] = ["moesi", "mesi"];
/// The protocols of clusters, each with the keys of its machine: MESI buses, writes that are granted early, and the systems of Lai
/// and Falsafi 2000 that keep, move and copy pages, with thresholds that a test reaches.
const CLUSTERS: [(&str, &[(&str, &str)]); 10] = [
    ("cluster", &[]),
    ("cluster/mesi", &[("bus.protocol", "mesi")]),
    ("cluster/RC", &[("bus.protocol", "mesi"), ("cluster.early_grant", "true")]),
    ("cluster/perfect", &[("cluster.cache", "infinite")]),
    ("cluster/mig", &[COUNTED, RESET, ("os.migration", "true")]),
    ("cluster/rep", &[COUNTED, RESET, ("os.replication", "true")]),
    ("cluster/mig-rep", &[COUNTED, RESET, ("os.migration", "true"), ("os.replication", "true")]),
    ("cluster/r-numa", &[("page_cache.size_kib", "16"), REFETCHED]),
    ("cluster/r-numa-inf", &[("page_cache.size_kib", "4194304"), REFETCHED]),
    (
        "cluster/r-numa+mig-rep",
        &[
            ("page_cache.size_kib", "16"),
            REFETCHED,
            COUNTED,
            RESET,
            ("miss_counters.relocation_delay_misses", "20"),
            ("os.migration", "true"),
            ("os.replication", "true"),
        ],
    ),
];
/// Thresholds of miss counters, and of refetches.
const COUNTED: (&str, &str) = ("miss_counters.threshold", "2");
const RESET: (&str, &str) = ("miss_counters.reset_misses", "10");
const REFETCHED: (&str, &str) = ("page_cache.threshold", "2");
/// Processors of a cluster's node.
const ON_A_BUS: u16 = 4;
/// Nodes, if no number is given.
const NODES: u16 = 16;

/// How to test at random.
#[derive(Args, Debug)]
pub struct RandomFlags {
    /// Run random programs on a simulated machine instead: small caches and directories, random message delays; without PROTOCOL:
    /// for every simulated protocol.
    #[arg(long, conflicts_with_all = ["all", "litmus", "caches", "processors_per_node", "accesses", "max_states"])]
    pub random: bool,
    /// Number of tests, each with its own programs, sizes and delays.
    #[arg(long, value_name = "N", default_value_t = 8, requires = "random")]
    seeds: u64,
    /// Seed of the first test (failures print it).
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "random")]
    first_seed: u64,
    /// Nodes of the machine (processors per node: FLASH 1, Origin 2, cluster 4); on a bus: processors; of servers: sockets
    /// [default: 16; servers: 2].
    #[arg(long, value_name = "N", requires = "random")]
    nodes: Option<u16>,
    /// Cores of a socket of a server.
    #[arg(long, value_name = "N", default_value_t = servers::CORES, requires = "random")]
    cores: u16,
    /// Accesses per processor.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "random")]
    references: u32,
}

/// Random tests of one machine.
#[derive(Clone, Debug)]
pub struct RandomRun {
    label: String,
    machine: Description,
    first_seed: u64,
    seeds: u64,
    lines: u32,
    references: u32,
    fault: Option<Fault>,
}

impl RandomFlags {
    /// The tests that were asked for, checked.
    ///
    /// # Errors
    /// When no machine runs the protocol, a number is out of range, or there is no such fault.
    pub fn runs(&self, name: Option<&str>, lines: Option<u32>, fault: Option<&str>) -> Result<Vec<RandomRun>, Failure> {
        let lines = lines.unwrap_or(2048);
        in_range("--lines", u64::from(lines), 1, 1 << 20)?;
        in_range("--seeds", self.seeds, 1, 1_000_000)?;
        in_range("--references", u64::from(self.references), 1, 100_000_000)?;
        let fault = fault.map(planted).transpose()?;
        let names = name.map_or_else(|| others().chain(catalogue::names()).collect(), |name| vec![name]);
        let mut runs = Vec::new();
        for name in names {
            for (label, machine) in machines(name, self.nodes, self.cores)? {
                let (first_seed, seeds, references) = (self.first_seed, self.seeds, self.references);
                let label = fault.map_or(label.clone(), |fault: Fault| format!("{label}+{}", fault.name()));
                runs.push(RandomRun { label, machine, first_seed, seeds, lines, references, fault });
            }
        }
        Ok(runs)
    }
}

impl RandomRun {
    /// A test of a second or less, if machines run the protocol: for `--all`.
    ///
    /// # Errors
    /// When the machine cannot be made.
    pub fn short(protocol: &str) -> Result<Option<Self>, Failure> {
        let timed = others().chain(catalogue::names()).any(|name| name == protocol);
        if !timed {
            return Ok(None);
        }
        let run = |(label, machine)| Self {
            label,
            machine,
            first_seed: 0,
            seeds: 4,
            lines: 1024,
            references: 500,
            fault: None,
        };
        Ok(machines(protocol, None, servers::CORES)?.into_iter().next_back().map(run))
    }

    /// The label of its row.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// How many tests there are.
    pub fn tests(&self) -> usize {
        usize::try_from(self.seeds).unwrap_or(usize::MAX)
    }

    /// Runs the tests up to the first that finds a fault; `step` is called after each.
    pub fn run(&self, step: &dyn Fn()) -> Done {
        let start = Instant::now();
        let (mut reports, mut counterexample) = (Vec::new(), None);
        for seed in self.first_seed..self.first_seed.saturating_add(self.seeds) {
            let (lines, references, fault) = (self.lines, self.references, self.fault);
            match (RandomTest { lines, references, fault, ..RandomTest::new(seed) }).run(&self.machine) {
                Ok(report) => {
                    reports.push(report);
                    step();
                    let (protocol, _) = self.label.split_once(':').unwrap_or((&self.label, ""));
                    interruption::go_on_by(format!(
                        "to continue, --random {protocol} --first-seed {}",
                        seed.saturating_add(1)
                    ));
                }
                Err(failure) => {
                    counterexample = Some(format!("{}: {failure}\n", self.label));
                    break;
                }
            }
        }
        let compared = |report: &RandomReport| report.observed.loads + report.observed.stores;
        let most = |report: &RandomReport| report.observed.worst.map_or(0, |(_, misses)| misses);
        let row = VerificationRow {
            protocol: self.label.clone(),
            caches: self.machine.topology.processors,
            lines: self.lines,
            states: reports.iter().map(compared).sum(),
            depth: u32::try_from(reports.iter().map(most).max().unwrap_or(0)).unwrap_or(u32::MAX),
            result: match counterexample {
                None => VerificationResult::Ok,
                Some(_) => VerificationResult::Counterexample,
            },
            seconds: start.elapsed().as_secs_f64(),
        };
        Done { row, statistics: self.statistics(&reports), counterexample }
    }

    fn statistics(&self, reports: &[RandomReport]) -> String {
        let sum = |of: fn(&RandomReport) -> u64| reports.iter().map(of).sum::<u64>();
        let mut text = format!(
            "{}, {} seeds: {} references, {} transactions, {} NACKs, {} invalidations, {} reclamations",
            self.label,
            reports.len(),
            sum(RandomReport::references),
            sum(RandomReport::transactions),
            sum(RandomReport::refusals),
            sum(RandomReport::invalidations),
            sum(RandomReport::reclamations),
        );
        let worst = reports.iter().filter_map(|report| report.observed.worst).max_by_key(|(_, misses)| *misses);
        if let Some((line, misses)) = worst {
            // Writing to a string cannot fail.
            let _infallible = write!(text, "; worst {line:?}, {misses} misses");
        }
        text + "\n"
    }
}

/// The protocols of machines besides those of FLASH.
fn others() -> impl Iterator<Item = &'static str> {
    [ORIGIN, SCI].into_iter().chain(BUSES).chain(CLUSTERS.map(|(name, ..)| name)).chain(servers::names())
}

/// The machine called `base` with changed keys, with what to call its test.
fn one(protocol: &str, base: &str, changes: &[(&str, &str)]) -> Result<Vec<(String, Description)>, Failure> {
    let resolved = machine::resolve_changed(base, base, protocol, changes).map_err(Failure::input)?;
    Ok(vec![(format!("{protocol}: random"), resolved.description)])
}

/// The machines that run the protocol, with what to call a test of each. `cores` are those of a server's socket.
fn machines(protocol: &str, nodes: Option<u16>, cores: u16) -> Result<Vec<(String, Description)>, Failure> {
    if let Some(machine) = servers::machine(protocol, nodes.unwrap_or(servers::SOCKETS), cores)? {
        return Ok(vec![(format!("{protocol}: random"), machine)]);
    }
    let nodes = nodes.unwrap_or(NODES);
    if protocol == ORIGIN {
        in_range("--nodes", u64::from(nodes), 1, 256)?;
        let families = [("R10000", "origin2000-r10k-250"), ("R12000", "origin2000-r12k-300")];
        let machine = |(processor, family): (&str, &str)| {
            let description = machine::load(&format!("{family}-{}p", 2 * nodes)).map_err(Failure::input)?;
            Ok((format!("{protocol}: random, {processor}"), description))
        };
        return families.into_iter().map(machine).collect();
    }
    if BUSES.contains(&protocol) {
        in_range("--nodes", u64::from(nodes), 1, 256)?;
        return one(protocol, &format!("smp-{nodes}p"), &[("bus.protocol", protocol)]);
    }
    if let Some((_, changes)) = CLUSTERS.iter().find(|(name, ..)| *name == protocol) {
        in_range("--nodes", u64::from(nodes), 1, 64)?;
        return one(protocol, &format!("dsm-cluster-{nodes}x{ON_A_BUS}"), changes);
    }
    if protocol == SCI {
        in_range("--nodes", u64::from(nodes), 1, MOST_PROCESSORS.into())?;
        return one(protocol, &format!("sci-ring-{nodes}p"), &[]);
    }
    let most = catalogue::most_nodes(protocol).map_or(MOST_PROCESSORS, u32::from);
    in_range("--nodes", u64::from(nodes), 1, most.into())?;
    // FLASH's own network has 64 nodes; a mesh joins more of them.
    let family = if nodes <= 64 { "flash" } else { "flash-mesh" };
    let mut description = machine::load(&format!("{family}-{nodes}p")).map_err(Failure::input)?;
    if let Some(directory) = &mut description.directory {
        directory.protocol = protocol.to_owned();
        // The name is looked up as the machine will: but with stores that cost nothing to make.
        (directory.link_store_entries, directory.vector_store_entries) = (1024, 1024);
        directory.remote_access_cache = Bytes::from_mib(1);
    }
    match Simulator::new(&description, sim::Options::default()) {
        Ok(_) => Ok(vec![(format!("{protocol}: random"), description)]),
        Err(SimError::UnknownProtocol(error)) => {
            Err(Failure::input(format!("{error}; or {}", others().collect::<Vec<_>>().join(", "))))
        }
        Err(error) => Err(Failure::input(error)),
    }
}

fn planted(name: &str) -> Result<Fault, Failure> {
    let accepted = || Fault::ALL.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(", ");
    let fault = Fault::ALL.iter().find(|fault| fault.name() == name).copied();
    fault.ok_or_else(|| Failure::flag("--mutation", name, "unknown fault", accepted()))
}

pub(super) fn in_range(flag: &str, value: u64, least: u64, most: u64) -> Result<(), Failure> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(Failure::flag(flag, value, "out of range", format!("{least} to {most}"))),
    }
}
