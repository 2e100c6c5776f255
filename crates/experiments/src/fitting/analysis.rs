//! Analysis of measurements: the hierarchy that their records show.

use bench::Experiment;
use bench::seidl::Point;
use fit::caches::{P3Point, doubtful_lists, read_diagram};
use fit::hierarchy::{KneeKind, LevelFit, Sample, SeidlFit, SeidlParameter, choose_levels};
use fit::remote::{self, Latency, RemoteFit};
use fit::{FitError, Parameter, Uncertain, held};
use machine::Description;
use record::{FitRow, Record, Unit};
use report::Plot;
use units::Bytes;

use super::Model;
use super::list::List;
use super::unloaded::unloaded;
use crate::System;
use crate::error::ExperimentError;
use crate::tables::seidl::{model as seidl_model, residual_plot, sweep_plot};

/// Pairs of constants that move together more than this are named.
const STRONG_CORRELATION: f64 = 0.9;

/// A fitted model.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Which.
    pub model: Model,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Remarks on the fit: its quality, what it could not tell, what else was tried.
    pub notes: Vec<String>,
    /// Diagrams, each with a name for its file.
    pub plots: Vec<(String, Plot)>,
}

impl Analysis {
    /// The records of the parameters, fitted to `machine`.
    pub fn rows(&self, machine: &str) -> Vec<FitRow> {
        self.parameters.iter().map(|parameter| parameter.row(machine, self.model.name())).collect()
    }
}

/// Fits `model` to what `records` hold for it. With the description of the machine they are from, sizes and distances that
/// the model needs are taken from there, and every parameter that it holds is named beside what was found. There are `caches` at most,
/// if that is known.
///
/// # Errors
/// When there is nothing in the records for the model, or not enough.
pub fn analyse(
    model: Model,
    records: &[Record],
    system: Option<&System>,
    caches: Option<usize>,
) -> Result<Analysis, ExperimentError> {
    match model {
        Model::Seidl => windows(records, system),
        Model::Remote => latencies(records, system.map(|system| &system.description)),
        Model::Caches => diagram(records, system.map(|system| &system.description), caches),
    }
}

fn lacking(model: &'static str, what: &str) -> ExperimentError {
    let reason = format!("the records contain {what}; `ccnuma fit` without files measures what it needs");
    FitError::Unsuitable { model, reason }.into()
}

fn windows(records: &[Record], system: Option<&System>) -> Result<Analysis, ExperimentError> {
    let sample = |record: &Record| {
        let point = Point::of_record(record)?;
        Some(Sample { area: point.area, window: point.window, ns: record.median })
    };
    let mut samples: Vec<Sample> = records.iter().filter_map(sample).collect();
    samples.sort_by_key(|sample| (sample.area, sample.window));
    if samples.is_empty() {
        return Err(lacking("seidl", "no random windows (seidl)"));
    }
    match system {
        Some(system) => {
            // The reach of the translation buffer is found, not given, so that it can be compared.
            let model = fit::hierarchy::Seidl { translation_reach: None, ..seidl_model(system) };
            Ok(published_model(&samples, &model.fit(&samples)?, &system.description))
        }
        None => {
            // Nobody described what disturbs this machine: the least of the samples of each point is disturbed least.
            let least = |record: &Record| Some(Sample { ns: record.headline(), ..sample(record)? });
            let least: Vec<Sample> = records.iter().filter_map(least).collect();
            Ok(free_levels(&choose_levels(&least)?))
        }
    }
}

fn plots(samples: &[Sample], fitted: &[f64], residuals: &[f64]) -> Vec<(String, Plot)> {
    let title = "Random windows: measurement and model";
    vec![
        ("windows".to_owned(), sweep_plot(title, samples, fitted)),
        ("residuals".to_owned(), residual_plot("Random windows: residuals of the model", samples, residuals)),
    ]
}

/// The constants of eq. 4, 6 and 7.
fn published_model(samples: &[Sample], fit: &SeidlFit, description: &Description) -> Analysis {
    use SeidlParameter as P;
    let held = |parameter: &Parameter| match parameter.symbol.as_str() {
        "64 s_p" => Some(held::translation_reach(description).0 as f64),
        "t_tlb" => Some(held::translation_miss(description)),
        _ => None,
    };
    let parameters = fit.parameters().into_iter().map(|parameter| {
        let held = held(&parameter);
        parameter.beside(held)
    });
    let [home, remote, memory] = [P::HubHome, P::HubRemote, P::Memory].map(|p| fit.least_norm(p));
    let mut notes = vec![
        format!("residuals: {:.1} % (root mean square)", fit.rms_pct()),
        format!(
            "only sums of hub and memory times are determined; minimum-norm split, as in the paper's Table 1: home hub \
             {home:.0} ns, both hubs {remote:.0} ns, memory {memory:.0} ns"
        ),
        "misses in these windows overlap: the times are throughput times, and t_tlb includes the overlap lost by a trap"
            .to_owned(),
    ];
    notes.extend(
        fit.correlated(STRONG_CORRELATION)
            .into_iter()
            .map(|(a, b, r)| format!("{} and {} are strongly correlated ({r:+.2})", a.symbol(), b.symbol())),
    );
    Analysis {
        model: Model::Seidl,
        parameters: parameters.collect(),
        notes,
        plots: plots(samples, fit.fitted(), fit.residuals()),
    }
}

/// As many levels as the data support.
fn free_levels(fit: &LevelFit) -> Analysis {
    let (samples, mut parameters) = (&fit.samples, Vec::new());
    let windows = || samples.iter().map(|sample| sample.window);
    let window = windows().min().unwrap_or(Bytes(1024));
    let exact = |value: f64| Some(Uncertain { value, error: fit.rms_pct() / 100.0 * value });
    let mut passed = 0;
    let name = |number: usize, what: &str| format!("level {number}: {what}");
    let time = |passed: usize| {
        let ns = fit.window_ns(window, passed);
        Parameter::new(name(passed + 1, &format!("window of {window}")), "t", Unit::Nanoseconds, exact(ns), "")
    };
    parameters.push(time(passed));
    for knee in &fit.knees {
        passed += 1;
        let what = match knee.kind {
            KneeKind::ByLine => "size (lines beyond cost more)",
            KneeKind::ByWindow => "size (windows beyond cost more)",
        };
        parameters.push(Parameter::new(name(passed, what), format!("S_{passed}"), Unit::Bytes, Some(knee.size), ""));
        parameters.push(time(passed));
    }
    let tried = fit.candidates.iter().map(|candidate| {
        let (levels, bic, rms) = (candidate.knees + 1, candidate.bic, candidate.rms_pct);
        format!("{levels} levels: residuals {rms:.1} %, BIC {bic:.0}; {}", candidate.verdict)
    });
    let mut notes: Vec<String> = tried.collect();
    if !fit.left_out.is_empty() {
        let (left_out, all) = (fit.left_out.len(), fit.left_out.len() + samples.len());
        notes.push(format!("{left_out} of {all} points excluded: inconsistent with smaller and larger sizes"));
    }
    Analysis { model: Model::Seidl, parameters, notes, plots: plots(samples, fit.fitted(), fit.residuals()) }
}

fn latencies(records: &[Record], description: Option<&Description>) -> Result<Analysis, ExperimentError> {
    let latency = |record: &Record| {
        let is_it = record.experiment == Experiment::LmbenchRead.name() && record.state == "UOWN";
        let cpu = record.local;
        is_it.then(|| {
            // Half of a 95 % interval is 1.96 standard errors.
            let error_ns = record.statistics().interval().map_or(0.0, |(low, high)| (high - low) / 2.0 / 1.96);
            (cpu, Latency { from: record.home, to: record.home, hops: record.xhops, ns: record.median, error_ns })
        })
    };
    let mut by_cpu: Vec<_> = records.iter().filter_map(latency).collect();
    if by_cpu.is_empty() {
        return Err(lacking("remote", "no lmbench-read of UOWN lines"));
    }
    // A reader's own node is where its distance is zero.
    let nodes = by_cpu.clone();
    for (cpu, latency) in &mut by_cpu {
        let own = nodes.iter().find(|(other, local)| other == cpu && local.hops == 0);
        latency.from = own.map_or(latency.from, |(_, local)| local.to);
    }
    let latencies: Vec<Latency> = by_cpu.into_iter().map(|(_, latency)| latency).collect();
    let fit = remote::fit(&latencies)?;
    let mut parameters: Vec<Parameter> = fit.parameters();
    if let Some(description) = description {
        // The same fit of the latencies that the machine's own parts add up to.
        let path = remote::fit(&unloaded(description)).ok();
        let of =
            |value: fn(&RemoteFit) -> Option<Uncertain>| path.as_ref().and_then(value).map(|estimate| estimate.value);
        let held = |parameter: Parameter| match parameter.symbol.as_str() {
            "local" => parameter.beside(of(RemoteFit::local)),
            "penalty" => parameter.beside(of(RemoteFit::penalty)),
            "delay" => parameter.beside(of(RemoteFit::delay)),
            _ => parameter.beside(of(RemoteFit::remote_less_local)),
        };
        parameters = parameters.into_iter().map(held).collect();
    }
    parameters.extend(occupancy(records, description));
    let notes = notes_on_distances(&fit, &latencies);
    Ok(Analysis { model: Model::Remote, parameters, notes, plots: Vec::new() })
}

/// For how long a line holds the memory: with the memory as the bottleneck, lines follow each other at that distance.
fn occupancy(records: &[Record], description: Option<&Description>) -> Option<Parameter> {
    let record = records.iter().find(|record| record.experiment == Experiment::BwmpRead.name())?;
    let line = record.conditions.stride?;
    let of = |mb_per_s: f64| line.0 as f64 / mb_per_s * 1e3;
    let estimate = Uncertain { value: of(record.median), error: (of(record.min) - of(record.max)) / 2.0 };
    let held = description.and_then(held::memory_occupancy);
    let name = "memory, held by a line";
    Some(Parameter::new(name, "1 / bandwidth", Unit::Nanoseconds, Some(estimate), "").beside(held))
}

fn notes_on_distances(fit: &RemoteFit, latencies: &[Latency]) -> Vec<String> {
    let mut notes = vec![format!("residuals: {:.1} % (root mean square)", fit.rms_pct())];
    let hop = |hop: &remote::Hop| {
        let delay = hop.delay_ns.map_or_else(|| "-".to_owned(), |delay| format!("{delay:.0} ns"));
        format!("hop {}: {} pairs, {:.0} ns, delay {delay}", hop.hops, hop.pairs, hop.mean_ns)
    };
    notes.extend(fit.hops().iter().map(hop));
    if let Some(average) = fit.average_delay() {
        notes.push(format!("average router delay, by the method of Prestor's Table 4.14: {average:.0} ns"));
    }
    let group = |group: &remote::Group| format!("{} at {:.0} ns", group.pairs.len(), group.mean_ns);
    let groups: Vec<String> = remote::groups(latencies).iter().map(group).collect();
    notes.push(format!("pairs of equal latency regardless of distance: {}", groups.join(", ")));
    notes
}

fn diagram(
    records: &[Record],
    description: Option<&Description>,
    caches: Option<usize>,
) -> Result<Analysis, ExperimentError> {
    let is_p3 = |record: &&Record| record.experiment == Experiment::P3Ru.name();
    let point = |record: &Record| {
        let (array, stride) = (record.conditions.window?, record.conditions.stride?);
        Some(P3Point { array, stride, ns: record.headline() })
    };
    let points: Vec<P3Point> = records.iter().filter(is_p3).filter_map(point).collect();
    if points.is_empty() {
        return Err(lacking("caches", "no P3 diagram (p3-ru)"));
    }
    let found = read_diagram(&points, &lists(records), caches)?;
    let mut parameters = found.parameters();
    parameters.extend(translation_by_lists(records));
    if let Some(description) = description {
        parameters = parameters.into_iter().map(|parameter| beside_caches(parameter, description)).collect();
    }
    let mut notes = vec!["size: largest array that fits; error: distance to the next measured size".to_owned()];
    if let Some(pages) = List::dense(records).first().and_then(|(_, list)| list.pages.clone()) {
        notes.push(format!("sizes and load times: pointer chasing on {pages} pages, minimum of all samples"));
    }
    if description.is_none() {
        let note = "adjacent-line prefetch makes lines appear larger and hides misses at short strides";
        notes.push(note.to_owned());
    }
    Ok(Analysis { model: Model::Caches, parameters, notes, plots: vec![("diagram".to_owned(), plot(&points))] })
}

/// Which of these records, by index, should be measured again before a hierarchy is read off them: lists that contradict their
/// neighbours, and those that tell where a level ends. There are `caches` at most, if that is known.
pub fn doubtful(records: &[Record], caches: Option<usize>) -> Vec<usize> {
    let dense = List::dense(records);
    let lists: Vec<(Bytes, f64)> = dense.iter().map(|(_, list)| (list.extent, list.ns)).collect();
    doubtful_lists(&lists, caches).into_iter().map(|index| dense[index].0).collect()
}

/// Lists of neighbouring lines: their extent, and the time of a load. Those whose stride is larger are about translation.
fn lists(records: &[Record]) -> Vec<(Bytes, f64)> {
    List::dense(records).into_iter().map(|(_, list)| (list.extent, list.ns)).collect()
}

/// The cost of a translation miss from two lists of equally many lines, of which one has every element on a page of its
/// own: dependent loads, so that nothing overlaps.
fn translation_by_lists(records: &[Record]) -> Option<Parameter> {
    let lists: Vec<List> = records.iter().filter_map(List::of_record).collect();
    let elements = |list: &List| list.extent.0 / list.stride.0;
    let sparse = lists.iter().max_by_key(|list| list.stride)?;
    let comparable = |list: &&List| list.pages == sparse.pages && elements(list) == elements(sparse);
    let dense = lists.iter().filter(comparable).min_by_key(|list| list.stride)?;
    let estimate = (sparse.stride > dense.stride).then_some(Uncertain { value: sparse.ns - dense.ns, error: 0.0 });
    Some(Parameter::new(
        "TLB: miss, dependent loads",
        "t_tlb",
        Unit::Nanoseconds,
        estimate,
        "no two lists with equal numbers of lines",
    ))
}

/// The parameter beside what the description holds for it.
fn beside_caches(parameter: Parameter, description: &Description) -> Parameter {
    let (l1, l2) = (&description.l1, description.coherent_cache());
    let held = match parameter.symbol.as_str() {
        "C1" => l1.size.0 as f64,
        "b1" => l1.line.0 as f64,
        "a1" => f64::from(l1.ways),
        "C2" => l2.size.0 as f64,
        "b2" => l2.line.0 as f64,
        "a2" => f64::from(l2.ways),
        "s_p" => held::translation_page(description).0 as f64,
        "e" => f64::from(description.tlb.entries),
        "t_tlb" => held::translation_miss(description),
        _ => return parameter,
    };
    parameter.beside(Some(held))
}

/// The diagram: a curve for each array.
fn plot(points: &[P3Point]) -> Plot {
    let mut arrays: Vec<Bytes> = points.iter().map(|point| point.array).collect();
    arrays.sort_unstable();
    arrays.dedup();
    let curve = |(colour, array): (usize, Bytes)| {
        let of_array = points.iter().filter(|point| point.array == array);
        let points = of_array.map(|point| (point.stride.0 as f64, point.ns)).collect();
        report::Series { name: array.to_string(), points, mark: report::Mark::Line, colour }
    };
    let series = arrays.into_iter().enumerate().map(curve).collect();
    let (x, y) = (report::Axis::sizes("stride"), report::Axis::log2("time per element (ns)"));
    Plot { title: "P3 diagram".to_owned(), x, y, series }
}
