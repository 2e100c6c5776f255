//! A machine as a picture, in the colours of what a trace says of its load.

use std::collections::BTreeMap;

use machine::Endpoint;
use machine::drawing::{Load, loaded_svg};
use machine::{Description, Topology};
use record::SimulationRow;
use trace::{ObjectKind, Trace};
use units::NodeId;

/// The machine with nodes and links as busy as `trace` tells; nodes of which that says nothing, as their controllers were in `run`.
pub fn loaded_picture(description: &Description, trace: Option<&Trace>, run: Option<&SimulationRow>) -> String {
    let topology = Topology::new(description);
    let mut load = Load::default();
    let controllers = run.and_then(|row| row.controllers.as_ref()).into_iter().flatten();
    load.nodes.extend(controllers.map(|controller| (controller.node, controller.utilisation_pct)));
    let told: BTreeMap<(ObjectKind, String), f64> = trace.map(report::html::mean_loads).unwrap_or_default();
    for ((kind, name), &percent) in &told {
        if let (ObjectKind::Node, Some(node)) = (kind, name.strip_prefix('n').and_then(|number| number.parse().ok())) {
            load.nodes.insert(NodeId(node), percent);
        }
    }
    for link in topology.links() {
        let of = |end: &Endpoint| match end {
            Endpoint::Router(router, port) => told.get(&(ObjectKind::Link, format!("r{router}:{port}"))).copied(),
            Endpoint::Node(_) => None,
        };
        if let Some(busiest) = link.ends.iter().filter_map(of).reduce(f64::max) {
            load.links.insert(link.id, busiest);
        }
    }
    loaded_svg(&topology, load)
}
