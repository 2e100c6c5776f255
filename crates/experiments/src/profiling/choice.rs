//! From metrics that are asked for to the counters that they follow from, and whose those are.

use std::collections::{BTreeMap, BTreeSet};

use machine::Description;
use sim::Simulator;
use sim::counters::CounterUnit;
use trace::metric::{Metric, Resolved, built_in};
use trace::{Counter, ObjectKind};
use units::{CpuId, NodeId};

use super::ProfileRequest;
use super::offer::{Offer, Origin, offers};
use super::source::{Chosen, constants};
use crate::error::ExperimentError;

/// The metrics, of those declared, that can be had of a machine.
///
/// # Errors
/// When the machine cannot be simulated.
pub fn metrics(machine: &Description, declared: &[Metric]) -> Result<Vec<Resolved>, ExperimentError> {
    let simulator = Simulator::new(machine, sim::Options::default())?;
    Ok(derived(&offers(machine, simulator.node_counters(), 0), machine, declared))
}

fn derived(offers: &[Offer], machine: &Description, declared: &[Metric]) -> Vec<Resolved> {
    let numbers: BTreeMap<String, f64> = constants(machine).into_iter().collect();
    let declared = if declared.is_empty() { built_in() } else { declared.to_vec() };
    Resolved::derive(&declared, &counters(offers), &numbers).0
}

fn counters(offers: &[Offer]) -> Vec<Counter> {
    offers.iter().map(|offer| offer.counter.clone()).collect()
}

/// Objects and counters to sample for `request`.
pub fn choose(
    simulator: &Simulator,
    machine: &Description,
    threads: &[(String, CpuId)],
    request: &ProfileRequest,
) -> Result<Chosen, ExperimentError> {
    let all = offers(machine, simulator.node_counters(), request.queue_channel);
    let metrics = derived(&all, machine, &request.declared);
    let known = counters(&all);
    let mut columns = wanted(request, &metrics, &known)?;
    let wants = |kind: ObjectKind| columns.iter().any(|column: &String| column.starts_with(&format!("{kind}.")));
    let (of_links, of_threads) = (wants(ObjectKind::Link), wants(ObjectKind::Thread));
    if of_threads {
        // Formulas of threads may be about the nodes that they run on.
        columns.extend(["cpu", "node", "slot"].map(|level| format!("{}.{level}", ObjectKind::Thread)));
    }
    let offers: Vec<Offer> = all.into_iter().filter(|offer| columns.contains(&offer.counter.column())).collect();
    check_ports(&offers)?;
    let topology = simulator.topology();
    let homes: BTreeSet<NodeId> = threads.iter().filter_map(|(_, cpu)| topology.node_of(*cpu)).collect();
    let nodes = if request.nodes.is_empty() { homes.into_iter().collect() } else { request.nodes.clone() };
    let every_port = || {
        let routers = topology.routers().iter();
        routers.flat_map(|router| router.ports().map(|(port, _)| (router.id, port))).collect()
    };
    let ports = match (of_links, request.ports.is_empty()) {
        (false, _) => Vec::new(),
        (true, true) => every_port(),
        (true, false) => request.ports.clone(),
    };
    let threads = if of_threads { threads.to_vec() } else { Vec::new() };
    Ok(Chosen { nodes, ports, threads, offers })
}

/// The columns of the counters that what is asked for follows from.
fn wanted(
    request: &ProfileRequest,
    metrics: &[Resolved],
    known: &[Counter],
) -> Result<BTreeSet<String>, ExperimentError> {
    if request.metrics.is_empty() {
        let main = metrics.iter().filter(|resolved| resolved.metric.main);
        // Metrics of ports only if ports are asked for: there are many.
        let main = main.filter(|resolved| resolved.metric.of != ObjectKind::Link || !request.ports.is_empty());
        return Ok(main.flat_map(|resolved| resolved.columns(known)).collect());
    }
    let mut columns = BTreeSet::new();
    for name in &request.metrics {
        let mut named: Vec<String> = metrics
            .iter()
            .filter(|resolved| resolved.metric.name == *name)
            .flat_map(|resolved| resolved.columns(known))
            .collect();
        if named.is_empty() {
            let counters = known.iter().filter(|counter| counter.name == *name || counter.column() == *name);
            named.extend(counters.map(Counter::column));
        }
        if named.is_empty() {
            let names: BTreeSet<&str> = metrics.iter().map(|resolved| resolved.metric.name.as_str()).collect();
            let names: Vec<&str> = names.into_iter().collect();
            return Err(ExperimentError::Policy {
                what: "metric or counter",
                name: format!("--metric {name}"),
                accepted: format!("{}; or a counter by its name", names.join(", ")),
            });
        }
        columns.extend(named);
    }
    Ok(columns)
}

/// The registers of a port count in one mode: they are halved at any time, so that turns could not be told apart.
fn check_ports(offers: &[Offer]) -> Result<(), ExperimentError> {
    let mode = |offer: &Offer| match offer.origin {
        Origin::Register { unit: CounterUnit::RouterPort { .. }, mode, .. } => Some((mode, offer.counter.name.clone())),
        _ => None,
    };
    let modes: BTreeMap<usize, String> = offers.iter().filter_map(mode).collect();
    let names: Vec<String> = modes.into_values().collect();
    match names.as_slice() {
        [] | [_] => Ok(()),
        several => Err(ExperimentError::Policy {
            what: "set of router-port counters (one mode at a time)",
            name: several.join(" with "),
            accepted: "metrics of utilisation (send, receive, bypass), of the queue (damq...), or of age (age...)"
                .to_owned(),
        }),
    }
}
