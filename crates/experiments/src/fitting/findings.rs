//! Results of fits that a machine description needs.

use bench::Experiment;
use fit::HostFindings;
use record::Record;
use units::Bytes;

use super::Analysis;
use crate::error::ExperimentError;

/// Properties that a description needs and no measurement shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Identity {
    /// The machine's title, in words.
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
        return Err(lacking("no cache found in the P3 diagram").into());
    };
    let (Some(first_ns), Some(last_ns)) = (value(analyses, "t1"), value(analyses, &format!("t{}", caches.len())))
    else {
        return Err(lacking("no cache load latency measured").into());
    };
    let Some(local_ns) = value(analyses, "local").or_else(|| latency(records, |hops| hops == 0)) else {
        return Err(lacking("no local memory latency measured").into());
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

pub(super) fn value(analyses: &[Analysis], symbol: &str) -> Option<f64> {
    let mut parameters = analyses.iter().flat_map(|analysis| &analysis.parameters);
    parameters.find(|parameter| parameter.symbol == symbol)?.estimate().map(|estimate| estimate.value)
}

pub(super) fn bytes(analyses: &[Analysis], symbol: &str) -> Option<Bytes> {
    value(analyses, symbol).map(|value| Bytes(value as u64))
}

/// The mean back-to-back latency over such distances, by the least sample of each.
pub(super) fn latency(records: &[Record], wanted: impl Fn(u32) -> bool) -> Option<f64> {
    let is_it = |record: &&Record| {
        record.experiment == Experiment::LmbenchRead.name() && record.state == "UOWN" && wanted(record.xhops)
    };
    let times: Vec<f64> = records.iter().filter(is_it).map(Record::headline).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}
