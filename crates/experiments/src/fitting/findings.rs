//! What a machine description needs of the fits, and whether the machine that it describes behaves like the one measured.

use bench::{Experiment, Placement, Plan, Platform, Settings, SimulatedPlatform, State};
use fit::HostFindings;
use machine::Description;
use record::Record;
use units::{Bytes, CpuId, NodeId};

use super::Analysis;
use super::list::List;
use crate::error::ExperimentError;

/// What a description needs and no measurement tells.
#[derive(Clone, PartialEq, Debug)]
pub struct Identity {
    /// What the machine is, in words.
    pub title: String,
    /// Nodes with memory.
    pub nodes: u32,
    /// Processors in all.
    pub processors: u32,
    /// Memory of a node.
    pub node_memory: Bytes,
    /// The unit of coherence as announced: prefetching makes lines look larger in a P3 diagram.
    pub line: Bytes,
}

/// Collects from `analyses` and the `records` behind them what a machine description needs.
///
/// # Errors
/// When no cache was found, or no latency of local memory was measured.
pub fn findings(
    identity: &Identity,
    analyses: &[Analysis],
    records: &[Record],
) -> Result<HostFindings, ExperimentError> {
    let lacking =
        |what: &str| fit::FitError::Unsuitable { model: "caches", reason: format!("{what}; nothing to describe") };
    let caches: Vec<Bytes> = (1..).map_while(|number| bytes(analyses, &format!("C{number}"))).collect();
    let (Some(&first), Some(&last)) = (caches.first(), caches.last()) else {
        return Err(lacking("no cache was found in the P3 diagram").into());
    };
    let lists = lists(records, identity.line);
    let held = |cache: Bytes| {
        let within = |list: &&(u64, f64)| list.0 <= cache.0 / 2;
        lists.iter().filter(within).max_by_key(|list| list.0).map(|list| list.1)
    };
    let (Some(first_ns), Some(last_ns)) = (held(first), held(last)) else {
        return Err(lacking("no list fits the caches").into());
    };
    let Some(local_ns) = value(analyses, "local").or_else(|| latency(records, |hops| hops == 0)) else {
        return Err(lacking("no back-to-back latency of local memory was measured").into());
    };
    let one_distance = value(analyses, "penalty + delay");
    let line_is_measured = bytes(analyses, &format!("b{}", caches.len())) == Some(identity.line);
    let entries = value(analyses, "e").map(|entries| entries as u64);
    let translation = bytes(analyses, "s_p").zip(entries).zip(value(analyses, "t_tlb"));
    Ok(HostFindings {
        title: identity.title.clone(),
        clock_mhz: records.iter().find_map(|record| record.conditions.clock_mhz).unwrap_or(1000.0),
        nodes: identity.nodes,
        processors: identity.processors,
        node_memory: identity.node_memory,
        line: identity.line,
        line_is_measured,
        first_cache: (first, first_ns),
        last_cache: (last, last_ns),
        local_ns,
        penalty_ns: value(analyses, "penalty").or(one_distance),
        step_ns: value(analyses, "delay"),
        line_ns: value(analyses, "1 / bandwidth"),
        translation: translation.map(|((page, entries), miss)| (page, entries, miss.max(0.0))),
    })
}

/// A latency of the measured machine beside that of the machine described, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// What is compared.
    pub name: String,
    /// The measured machine.
    pub measured_ns: f64,
    /// The simulated one.
    pub simulated_ns: f64,
}

/// Simulates the machine that was described from `findings` and compares latencies: of both caches, of local memory, and of
/// remote memory on average.
///
/// # Errors
/// When the description cannot be simulated.
pub fn compare(
    description: &Description,
    findings: &HostFindings,
    records: &[Record],
) -> Result<Vec<Comparison>, ExperimentError> {
    let mut platform = SimulatedPlatform::new(description.clone(), sim::Options::default())?;
    let mut rows = Vec::new();
    let list = |array: Bytes| {
        let settings = Settings { array, stride: description.l2.line, ..Settings::simulated() };
        Plan::new(Experiment::AreaRead, State::Uown, Placement::new(NodeId(0), CpuId(0), None), settings)
    };
    let caches = [
        ("first cache", description.l1.size, findings.first_cache),
        ("last cache", description.l2.size, findings.last_cache),
    ];
    for (name, simulated, (size, measured_ns)) in caches {
        let simulated_ns = list(Bytes(simulated.0 / 2)).run(&mut platform)?.record.median;
        rows.push(Comparison { name: format!("load from the {name} ({size})"), measured_ns, simulated_ns });
    }
    let mut from_memory = |name: &str, measured_ns: Option<f64>, wanted: &dyn Fn(u32) -> bool| {
        let Some(measured_ns) = measured_ns else { return Ok(()) };
        let (mut sum, mut count) = (0.0, 0.0);
        let layout = platform.layout().clone();
        for home in layout.nodes().filter(|&home| wanted(layout.hops(NodeId(0), home))) {
            let placement = Placement::new(home, CpuId(0), None);
            let plan = Plan::new(Experiment::LmbenchRead, State::Uown, placement, Settings::simulated());
            sum += plan.run(&mut platform)?.record.median;
            count += 1.0;
        }
        if count > 0.0 {
            rows.push(Comparison { name: name.to_owned(), measured_ns, simulated_ns: sum / count });
        }
        Ok::<(), ExperimentError>(())
    };
    from_memory("load from local memory", latency(records, |hops| hops == 0), &|hops| hops == 0)?;
    from_memory("load from remote memory, mean", latency(records, |hops| hops > 0), &|hops| hops > 0)?;
    Ok(rows)
}

fn value(analyses: &[Analysis], symbol: &str) -> Option<f64> {
    let mut parameters = analyses.iter().flat_map(|analysis| &analysis.parameters);
    parameters.find(|parameter| parameter.symbol == symbol)?.estimate().map(|estimate| estimate.value)
}

fn bytes(analyses: &[Analysis], symbol: &str) -> Option<Bytes> {
    value(analyses, symbol).map(|value| Bytes(value as u64))
}

/// Arrays and times of lists of neighbouring lines.
fn lists(records: &[Record], line: Bytes) -> Vec<(u64, f64)> {
    let lists = records.iter().filter_map(List::of_record).filter(|list| list.stride == line);
    lists.map(|list| (list.extent.0, list.ns)).collect()
}

/// The mean back-to-back latency over such distances.
fn latency(records: &[Record], wanted: impl Fn(u32) -> bool) -> Option<f64> {
    let is_it = |record: &&Record| {
        record.experiment == Experiment::LmbenchRead.name() && record.state == "UOWN" && wanted(record.xhops)
    };
    let times: Vec<f64> = records.iter().filter(is_it).map(|record| record.median).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}
