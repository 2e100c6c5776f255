//! The description of a server from the records of the suite `fit` and from what the machine announces.
//!
//! 1. Cores, nodes and caches are those announced ([`structure`]); the network on the die, which nothing shows, is one of their family
//!    ([`layout`]).
//! 2. Records of a kind become one observation, with the plan that measures it again ([`observed`]).
//! 3. Whether homes keep a directory follows from what a line costs that is homed at its reader. Then times, and after them rates, are
//!    those of the simulator on the same plans ([`tuning`]): the fit has no model beside it.
//! 4. The file names every value with its origin; those of the family that nothing replaced are named as defaults ([`values`]).

mod base;
mod choices;
mod classes;
mod cores;
mod known;
mod layout;
mod observed;
mod others;
mod room;
mod search;
mod structure;
mod third_level;
mod tuning;
mod values;
mod walks;

use bench::Settings;
use machine::Description;
use record::{ComputerRow, Record, Unit};
use units::{Bytes, CpuId, NodeId};

use super::Comparison;
use super::neighbours::{Caches, Ordinary, ordinary};
use crate::error::ExperimentError;
use choices::{choose, lists};
use observed::{Home, Kind, Observation, Place, find, measured, observations};
use structure::{Nearness, Structure};
use third_level::ThirdLevel;
use tuning::{Bench, Tunable, fit_rate, fit_times, settle};

/// The classes of pairs of processors that records of the suite `fit` show, in words.
pub fn pairs_in_words(records: &[Record]) -> Option<String> {
    let series = bench::Series::Pairs.name();
    let sampled = records.iter().filter(|record| record.conditions.series.as_deref() == series);
    classes::in_words(&sampled.cloned().collect::<Vec<_>>(), ", least samples")
}

/// A described server.
#[derive(Clone, Debug)]
pub struct Described {
    /// The text of its file.
    pub text: String,
    /// The machine.
    pub description: Description,
    /// Measured figures of each kind, beside those of the described machine.
    pub compared: Vec<Comparison>,
    /// Remarks: classes of pairs, and what could not be described or observed.
    pub notes: Vec<String>,
}

/// The places of a machine in its description.
#[derive(Clone, Debug)]
pub struct Mapping {
    structure: Structure,
}

impl Mapping {
    /// The places of `computer` in a description of it.
    ///
    /// # Errors
    /// When its structure cannot be described.
    pub fn of(computer: &ComputerRow) -> Result<Self, ExperimentError> {
        Structure::of(computer).map(|structure| Self { structure }).map_err(|reason| unsuitable(computer, reason))
    }

    /// The processor of the description that stands for one of the machine; none stands for further threads of cores.
    pub fn cpu(&self, cpu: CpuId) -> Option<CpuId> {
        self.structure.cpu(cpu)
    }

    /// The node of the description that stands for one of the machine.
    pub fn node(&self, node: NodeId) -> Option<NodeId> {
        self.structure.node(node)
    }

    /// The unit of coherence.
    pub fn line(&self) -> Bytes {
        self.structure.line
    }

    /// The caches of the machine, as it announces them.
    pub(super) fn caches(&self) -> Caches {
        self.structure.caches()
    }

    /// Processors and nodes of the description.
    pub fn sizes(&self) -> (u32, u32) {
        let nodes = self.structure.sockets * self.structure.nodes_per_socket + self.structure.memory_nodes;
        (self.structure.cores(), nodes)
    }
}

fn unsuitable(computer: &ComputerRow, reason: String) -> ExperimentError {
    ExperimentError::Machine { machine: computer.machine.clone(), reason }
}

/// A time agrees within this share and a nanosecond, a rate within this share.
const TIMES_AGREE: f64 = 0.05;
const RATES_AGREE: f64 = 0.10;

/// Describes the machine that `computer` lists, whose `records` are those of the suite `fit`, in a file called `file`.
///
/// # Errors
/// When the machine cannot be described as a server, the records lack what a description needs, or it cannot be simulated.
pub fn describe_server(file: &str, computer: &ComputerRow, records: &[Record]) -> Result<Described, ExperimentError> {
    let structure = Structure::of(computer).map_err(|reason| unsuitable(computer, reason))?;
    let settings = Settings { iterations: 1, ..Settings::simulated() };
    let Ordinary { records, at_rest, crowded, notes: neighbours } = ordinary(records, structure.caches());
    let records = &records;
    // Neighbours change how often a cache has a line, and not how long it takes to bring it.
    let is_level = |observation: &Observation| matches!(observation.kind, Kind::Level(_));
    let mut observed = observations(&at_rest, &structure, &settings);
    observed.retain(is_level);
    observed.extend(observations(records, &structure, &settings).into_iter().filter(|other| !is_level(other)));
    let sharing = third_level::of_shared_lines(&mut observed, crowded);
    let clock =
        clock_of(records).ok_or_else(|| unsuitable(computer, "no record tells the clock of its cores".into()))?;
    let clock = at_best(clock, measured(&observed, Kind::Level(1)));
    if find(&observed, Kind::Memory(Place::Local)).is_none() {
        let reason = "no latency of local memory was measured; `ccnuma bench --suite fit` measures what a fit needs";
        return Err(unsuitable(computer, reason.to_owned()));
    }
    let penalty = reader_homed_penalty(&observed);
    let directory = base::has_directory(&structure, penalty, &observed);
    let values = base::values(&structure, clock, directory, penalty.is_some());
    let mut bench = Bench::new(file, values);
    let start = bench.values.described(file)?;
    let times: Vec<Observation> = observed.iter().filter(|one| !one.kind.is_overlapped()).cloned().collect();
    let mut tunables = base::times(&structure, &start, &times);
    // Private caches first: nothing beyond them changes what a load takes that hits there.
    let (inner, outer): (Vec<Observation>, Vec<Observation>) =
        times.iter().cloned().partition(|observation| matches!(observation.kind, Kind::Level(1 | 2)));
    let (private, shared) = tunables.split_at_mut(base::PRIVATE);
    // Lists tell policies apart beside the right times, and times depend on what is chosen.
    fit_times(&mut bench, private, &inner)?;
    fit_times(&mut bench, shared, &outer)?;
    let lists_at_rest = lists(&at_rest, &structure, &settings);
    choose(&mut bench, &structure, &lists_at_rest, measured(&observed, Kind::Level(2)))?;
    let mut depends = fit_times(&mut bench, private, &inner)?;
    depends.extend(fit_times(&mut bench, shared, &outer)?);
    for (tunable, depends) in tunables.iter().zip(depends) {
        let source = origin(tunable, depends, &times, structure.family.name());
        tunable.write(&mut bench.values, &source);
    }
    let described = bench.values.described(file)?;
    let third_level = sharing.clone().and_then(|sharing| ThirdLevel::new(tunables, sharing));
    let lists = lists(records, &structure, &settings);
    let beside_threads = if crowded { others::fit_private(&mut bench, &structure, &lists)? } else { None };
    let beside_cores = others::fit(&mut bench, &structure, &lists, &observed, third_level)?;
    room::make(&mut bench.values, &structure, &described, &observed);
    tune_rates(&mut bench, &structure, &observed)?;
    let mut figures = bench.figures(&observed)?;
    if beside_threads.is_some() || beside_cores.is_some() {
        let is_at_rest = |one: &Observation| match one.kind {
            Kind::Level(3) => sharing.is_none(),
            kind => kind == Kind::Translation || is_level(one),
        };
        let (places, resting): (Vec<usize>, Vec<Observation>) =
            observed.iter().cloned().enumerate().filter(|(_, one)| is_at_rest(one)).unzip();
        let at_rest = bench.figures_of(&others::at_rest(&bench.values), &resting)?;
        places.into_iter().zip(at_rest).for_each(|(place, figure)| figures[place] = figure);
    }
    let compared: Vec<Comparison> = observed.iter().zip(&figures).map(|(one, &figure)| compare(one, figure)).collect();
    let mut notes = notes(&structure, records, &observed, penalty, directory);
    notes.extend(neighbours);
    notes.extend(sharing.as_ref().map(third_level::remark));
    notes.extend(beside_threads.into_iter().chain(beside_cores));
    bench.values.name_defaults(file)?;
    let text = bench.values.text(&heading(&notes));
    let description = machine::parse(file, &text)?.description;
    Ok(Described { text, description, compared, notes })
}

/// Tunes the values that rates decide.
///
/// # Errors
/// When the machine cannot be described or simulated.
fn tune_rates(bench: &mut Bench<'_>, structure: &Structure, observed: &[Observation]) -> Result<(), ExperimentError> {
    let described = bench.values.described(bench.file)?;
    let mut met: Vec<Kind> = Vec::new();
    for base::Rate { mut tunable, rises, others, again } in base::rates(structure, &described, observed) {
        let Some(observation) = find(observed, tunable.decided_by) else { continue };
        // An observation that an earlier value has met already shows nothing of this one.
        let is_met = match again {
            true => agrees(observation, bench.figures(std::slice::from_ref(observation))?[0]),
            false => met.contains(&tunable.decided_by),
        };
        if is_met {
            continue;
        }
        let before = bench.values.number(tunable.keys[0]);
        tunable.value = before.unwrap_or(tunable.value);
        let start = tunable.spelled();
        let fitted = fit_rate(bench, &mut tunable, observation, rises)?;
        if fitted.meets {
            met.push(tunable.decided_by);
        }
        if fitted.depends != Some(false) {
            let all = [observation].into_iter().chain(others.iter().filter_map(|&other| find(observed, other)));
            let all: Vec<Observation> = all.cloned().collect();
            if all.len() > 1 {
                settle(bench, &mut tunable, &all)?;
            }
            let family = structure.family.name();
            if fitted.depends.is_some() || tunable.spelled() != start {
                tunable.write(&mut bench.values, &origin(&tunable, true, observed, family));
            } else if before.is_none() {
                tunable.write(&mut bench.values, &format!("default: {family}; {} agrees", observation.kind.words()));
            }
        }
    }
    Ok(())
}

/// The clock of the cores while they were measured, in MHz: the middle of all records.
fn clock_of(records: &[Record]) -> Option<f64> {
    let mut clocks: Vec<f64> = records.iter().filter_map(|record| record.conditions.clock_mhz).collect();
    clocks.sort_by(f64::total_cmp);
    clocks.get(clocks.len() / 2).copied()
}

/// A clock that rises and falls stays within this share of its middle.
const CLOCK_VARIES: f64 = 0.1;

/// The clock, in MHz, with which a load from the first-level cache takes a whole number of cycles: times are the least of several
/// samples, those at the highest clock, and `clock` is the middle of all records.
fn at_best(clock: f64, first_level_ns: Option<f64>) -> f64 {
    let Some(ns) = first_level_ns else { return clock };
    let best = (ns * clock / 1e3).round().max(1.0) / ns * 1e3;
    if (best / clock - 1.0).abs() < CLOCK_VARIES { best } else { clock }
}

/// Additional latency of a load of a line that a core of another socket has modified if the line is homed at the reader, in
/// nanoseconds: homes that keep a directory in memory read it before they snoop.
fn reader_homed_penalty(observed: &[Observation]) -> Option<f64> {
    let of = |home| measured(observed, Kind::Core { nearness: Nearness::OtherSocket, modified: true, home });
    Some(of(Home::Requester)? - of(Home::Owner)?)
}

/// Where a tuned value comes from, in words.
fn origin(tunable: &Tunable, depends: bool, observations: &[Observation], family: &str) -> String {
    let decided = find(observations, tunable.decided_by);
    match (decided, depends) {
        (Some(Observation { kind, measured, .. }), true) => {
            let (figure, unit) = if kind.is_rate() { (measured / 1e3, "GB/s") } else { (*measured, "ns") };
            format!("calibrated: {}, {figure:.1} {unit}", kind.words())
        }
        (None, true) => "calibrated: with all times together".to_owned(),
        (_, false) => format!("default: {family}; no measurement depends on it"),
    }
}

/// The share within which a figure agrees.
fn tolerance(kind: Kind) -> f64 {
    if kind.is_rate() { RATES_AGREE } else { TIMES_AGREE }
}

/// Whether a simulated figure agrees with the observation.
fn agrees(Observation { kind, measured, .. }: &Observation, figure: f64) -> bool {
    let beside = if kind.is_rate() { 0.0 } else { 1.0 };
    (figure - measured).abs() <= tolerance(*kind) * measured + beside
}

fn compare(observation: &Observation, figure: f64) -> Comparison {
    let Observation { kind, measured, places, .. } = observation;
    let unit = if kind.is_rate() { Unit::MegabytesPerSecond } else { Unit::Nanoseconds };
    let chosen = if *kind == Kind::Level(3) { "shortest" } else { "middle" };
    let several = if *places > 1 { format!(" ({chosen} of {places})") } else { String::new() };
    Comparison {
        name: format!("{}{several}", kind.words()),
        unit,
        measured: *measured,
        simulated: Some(figure),
        agrees: agrees(observation, figure),
    }
}

/// Remarks on the description.
fn notes(
    structure: &Structure,
    records: &[Record],
    observed: &[Observation],
    penalty: Option<f64>,
    directory: bool,
) -> Vec<String> {
    let mut notes = vec![match penalty {
        Some(ns) => format!(
            "a modified line of another socket costs {ns:+.1} ns if homed at its reader: {}",
            if directory { "homes read a directory in memory" } else { "homes read no directory in memory" }
        ),
        None => {
            let why = match structure.sockets {
                1 => "one socket",
                _ => "no modified line of another socket was measured at both homes",
            };
            format!("{why}: the home's way to find copies is that of {}", structure.family.name())
        }
    }];
    notes.extend(classes::in_words(records, ""));
    notes.extend(doubtful_cluster(observed));
    notes.extend(structure.lost.iter().map(|lost| format!("not described: {lost}")));
    notes
}

/// Cores of a cluster that pass lines as slowly as this share of a load from memory have no cache in common.
const AS_SLOW_AS_MEMORY: f64 = 0.8;

/// Remark on cores that announce a cache in common and pass lines as if they had none.
fn doubtful_cluster(observed: &[Observation]) -> Option<String> {
    let passed = Kind::Core { nearness: Nearness::SameCluster, modified: true, home: Home::Both };
    let (passed, memory) = measured(observed, passed).zip(measured(observed, Kind::Memory(Place::Local)))?;
    (passed > AS_SLOW_AS_MEMORY * memory).then(|| {
        format!(
            "cores that announce a common third-level cache pass lines in {passed:.0} ns, memory takes {memory:.0} ns: they seem \
             to be cores of different clusters, as a hypervisor may place virtual processors"
        )
    })
}

fn heading(notes: &[String]) -> String {
    let mut text = "# Written by `ccnuma fit` from measurements. announced: by the operating system or the processor. published: of such
# cores, by the maker or WikiChip. measured: as found.
# calibrated: chosen so that the simulation takes the measured time. default: not observed, from the family of processors.
# assumed: not observed; the network on the die is one that such machines may have.
"
    .to_owned();
    notes.iter().for_each(|note| text.push_str(&format!("# {note}\n")));
    text
}
