//! Costs of transactions on SCI rings and on DASH: Hexsel and Topham, Table 2 and Section 4.

use bench::{Experiment, Placement, Plan, Settings, State};
use units::{Bytes, CpuId, Duration, NodeId};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::system::System;

/// A row for each operation; the least and the greatest cost over rings of several sizes, and the cost on DASH.
pub struct SciCosts;

/// The sizes of the rings.
const SIZES: [u16; 4] = [2, 4, 8, 16];
/// The machine of Table 2, and that of Section 4.
const FAMILIES: [&str; 2] = ["sci-ring-33", "sci-ring"];
/// The DASH of Table 2.
const DASH: &str = "dash-16p";
/// The home of all lines.
const HOME: NodeId = NodeId(0);
/// Arrays in primary and in secondary caches.
const IN_PRIMARY: Bytes = Bytes::from_kib(16);
const IN_SECONDARY: Bytes = Bytes::from_kib(128);

impl Shape for SciCosts {
    fn other_machines(&self) -> &'static [&'static str] {
        &[DASH]
    }

    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let [of_table, of_section] = FAMILIES;
        if column == "beyond the ring" {
            let size = if row.starts_with("cache to memory") { 1 } else { 16 };
            let system = scene.systems.get(&format!("{of_section}-{size}p"))?;
            return Ok(Some(beyond_the_ring(&system, size)));
        }
        if column == "DASH" {
            let system = scene.systems.get(DASH)?;
            return Ok(cost_on_dash(&system, row).map(|cost| system.cycles(cost)));
        }
        let mut costs = Vec::new();
        for size in SIZES {
            let system = scene.systems.get(&format!("{of_table}-{size}p"))?;
            let Some(cost) = cost(&system, row, size, column == "greatest") else { return Ok(None) };
            costs.push(system.cycles(cost));
        }
        Ok(match column {
            "least" => Some(Formula::least(costs)),
            "greatest" => Some(Formula::greatest(costs)),
            _ => None,
        })
    }
}

/// The cost of an operation on a ring of `size` nodes, in nanoseconds.
fn cost(system: &System, row: &str, size: u16, greatest: bool) -> Option<Formula> {
    let (last, third) = (size - 1, size / 2 - 1);
    let read = |state, local, remotes: &[u16]| latency(system, Experiment::LmbenchRead, state, local, remotes);
    let write = |state, remotes: &[u16]| latency(system, Experiment::LmbenchRdex, state, last, remotes);
    Some(match row {
        "read from primary cache" => area(system, Experiment::AreaRead, IN_PRIMARY),
        "fill from secondary cache" => area(system, Experiment::AreaRead, IN_SECONDARY),
        "fill from local memory" => read(State::Uown, HOME.0, &[]),
        "fill from remote node" => read(State::Uown, last, &[]),
        "fill from dirty remote at remote home" => read(State::Dexd, last, &[third]),
        // A loop with a store in place of none; the store's operand takes one instruction more.
        // A node is a processor, so that a line that its node owns is in its secondary cache. The loops range over more than the
        // primary cache, which does not keep the line of a store.
        "write owned by secondary cache" | "write owned by local node" => {
            area(system, Experiment::P3Rmw, IN_SECONDARY).less(area(system, Experiment::P3Ru, IN_SECONDARY))
        }
        "write owned by remote node" | "write to dirty remote at remote home" if greatest => {
            write(State::Shrd, &(0..last).collect::<Vec<_>>())
        }
        "write owned by remote node" | "write to dirty remote at remote home" => write(State::Dext, &[third]),
        _ => return None,
    })
}

/// The cost of an operation on DASH, in nanoseconds: by a processor of the home's cluster, of the next, or, of a dirty line, of the
/// one after its owner's.
fn cost_on_dash(system: &System, row: &str) -> Option<Formula> {
    let [here, owner, other] = [0, 1, 2].map(|node| node * system.description.topology.processors_per_node as u16);
    let read = |state, local, remotes: &[u16]| latency(system, Experiment::LmbenchRead, state, local, remotes);
    // The loop has a load behind the store. Each takes a cycle to issue.
    let issue = || ns(system.description.processor.clock.period() * 2);
    let write =
        |state, local, remotes: &[u16]| latency(system, Experiment::LmbenchRdex, state, local, remotes).less(issue());
    Some(match row {
        "read from primary cache" => area(system, Experiment::AreaRead, IN_PRIMARY),
        "fill from secondary cache" => area(system, Experiment::AreaRead, IN_SECONDARY),
        "fill from local memory" => read(State::Uown, here, &[]),
        "fill from remote node" => read(State::Uown, owner, &[]),
        "fill from dirty remote at remote home" => read(State::Dexd, other, &[owner]),
        "write owned by secondary cache" => {
            area(system, Experiment::P3Rmw, IN_PRIMARY).less(area(system, Experiment::P3Ru, IN_PRIMARY))
        }
        "write owned by local node" => write(State::Uown, here, &[]),
        "write owned by remote node" => write(State::Uown, owner, &[]),
        "write to dirty remote at remote home" => write(State::Dext, other, &[owner]),
        _ => return None,
    })
}

/// The cost of a transaction less its ways around the ring: of a line from local memory, less the cycle of the primary cache, on a
/// ring of one; of the purge of another element on a larger one.
fn beyond_the_ring(system: &System, size: u16) -> Formula {
    if size == 1 {
        let primary = system.description.processor.clock.period();
        return latency(system, Experiment::LmbenchRead, State::Uown, HOME.0, &[]).less(ns(primary));
    }
    let purge = |sharers: u16| {
        let sharers: Vec<u16> = (1..=sharers).collect();
        latency(system, Experiment::LmbenchUpgrd, State::Shrd, HOME.0, &sharers)
    };
    let ring = system.description.sci_ring.as_ref();
    let around = ring.map_or(Duration::ZERO, |ring| {
        ring.way(size.into()) + ring.tail(ring.command_symbols) + ring.tail(ring.long_command_symbols)
    });
    purge(2).less(purge(1)).less(ns(around))
}

fn ns(time: Duration) -> Formula {
    Formula::Known(time.as_ns())
}

fn latency(system: &System, experiment: Experiment, state: State, local: u16, remotes: &[u16]) -> Formula {
    let placement = Placement::new(HOME, CpuId(local), remotes.iter().map(|&cpu| CpuId(cpu)));
    let settings = Settings { sharers_drop: Some(false), ..system.settings().clone() };
    system.headline(&Plan::new(experiment, state, placement, settings))
}

/// The time of a reference in a loop over `array`.
fn area(system: &System, experiment: Experiment, array: Bytes) -> Formula {
    let settings = Settings { array, stride: system.layout.line, ..system.settings().clone() };
    system.headline(&Plan::new(experiment, State::Uown, Placement::new(HOME, CpuId(HOME.0), None), settings))
}
