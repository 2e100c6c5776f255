//! Servers: what Intel MLC prints of two-socket machines, and the latencies of AMD Rome.

use std::rc::Rc;

use bench::{Experiment, Placement, Plan, Settings, State, TYPICAL_LINES};
use units::{Bytes, CpuId, NodeId};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::system::System;

/// A row for each machine: latencies by requester, home and owner, and bandwidths.
pub struct Mlc;

/// Places of AMD Rome: latency and bandwidth.
pub struct Rome;

/// Rows and machines.
pub(super) const MACHINES: [(&str, &str); 4] = [
    ("E5-2699 v3", "xeon-e5-2699v3-2s"),
    ("8180", "xeon-8180-2s"),
    ("6252N", "xeon-6252n-2s"),
    ("8269CY", "xeon-8269cy-2s"),
];

/// Lines that each core reads for a bandwidth.
const LINES_EACH: u64 = 4096;

impl Shape for Mlc {
    fn other_machines(&self) -> &'static [&'static str] {
        const NAMES: [&str; MACHINES.len()] = [MACHINES[0].1, MACHINES[1].1, MACHINES[2].1, MACHINES[3].1];
        &NAMES
    }

    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((_, machine)) = MACHINES.iter().find(|(name, _)| *name == row) else { return Ok(None) };
        let system = scene.systems.get(machine)?;
        // Threads of a core follow one another: the second processor belongs to another core of the same socket.
        let [neighbour, other] = [1, first_of(&system, 1).0];
        let hitm = |home| read(&system, home, State::Dexd, Some(other));
        Ok(match column {
            "local DRAM" => Some(read(&system, 0, State::Uown, None)),
            "remote DRAM" => Some(read(&system, 1, State::Uown, None)),
            "HIT same socket" => Some(read(&system, 0, State::Cexh, Some(neighbour))),
            "HITM same socket" => Some(read(&system, 0, State::Dexd, Some(neighbour))),
            "HITM other socket homed at the writer" => Some(hitm(1)),
            "HITM other socket homed at the reader" => Some(hitm(0)),
            "home at the reader over the writer" => Some(hitm(0).less(hitm(1))),
            "reads both sockets" => {
                let each = vec![bandwidth(&system, 0, 0), bandwidth(&system, 1, 1)];
                Some(Formula::mean(each).times(2.0))
            }
            "local node" => Some(bandwidth(&system, 0, 0)),
            "remote node" => Some(bandwidth(&system, 0, 1)),
            _ => None,
        })
    }
}

impl Shape for Rome {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system: Rc<System> = scene.system()?;
        // A core complex has four cores; the next one is the other of the die.
        let [neighbour, next] = [1, 4];
        Ok(match (row, column) {
            ("L1", "latency") => Some(area(&system, Bytes::from_kib(16))),
            ("L2", "latency") => Some(area(&system, Bytes::from_kib(256))),
            ("L3", "latency") => Some(area(&system, Bytes::from_mib(4))),
            ("local DRAM", "latency") => Some(read(&system, 0, State::Uown, None)),
            ("same CCX O or S", "latency") => Some(shared(&system, [neighbour, neighbour + 1])),
            ("same CCX M or E", "latency") => Some(read(&system, 0, State::Dexd, Some(neighbour))),
            ("other CCX of the CCD", "latency") => Some(read(&system, 0, State::Dexd, Some(next))),
            ("node", "bandwidth") => Some(bandwidth(&system, 0, 0)),
            _ => None,
        })
    }
}

/// The median of the samples of a plan: Intel MLC measures each of these figures for seconds, not its best moment.
fn typical(system: &System, plan: &Plan) -> Formula {
    Formula::median(Measurement::of_plan(system.name(), plan), "median")
}

/// The first processor of a node.
fn first_of(system: &System, node: u16) -> CpuId {
    system.layout.cpus_of(NodeId(node)).first().copied().unwrap_or(CpuId(0))
}

/// The time of a dependent read by processor 0 of lines of `home` in a state, which another processor may have left.
fn read(system: &System, home: u16, state: State, owner: Option<u16>) -> Formula {
    let placement = Placement::new(NodeId(home), CpuId(0), owner.map(CpuId));
    let settings = Settings { latency_lines: TYPICAL_LINES, ..system.settings().clone() };
    typical(system, &Plan::new(Experiment::LmbenchRead, state, placement, settings))
}

/// The time of a dependent read by processor 0 of lines of its node that two others have read and keep.
fn shared(system: &System, sharers: [u16; 2]) -> Formula {
    let settings = Settings { sharers_drop: Some(false), latency_lines: TYPICAL_LINES, ..system.settings().clone() };
    let remotes = sharers.map(CpuId).to_vec();
    let placement = Placement { home: NodeId(0), locals: vec![CpuId(0)], remotes };
    typical(system, &Plan::new(Experiment::LmbenchRead, State::Shrd, placement, settings))
}

/// The time of a dependent read in an array that processor 0 reads again and again.
fn area(system: &System, array: Bytes) -> Formula {
    let settings = Settings { array, stride: system.layout.line, ..system.settings().clone() };
    let placement = Placement::new(NodeId(0), CpuId(0), None);
    typical(system, &Plan::new(Experiment::AreaRead, State::Uown, placement, settings))
}

/// Bandwidth of all processors of a node that read the memory of `home` together. MLC reads its buffers again and again: directories
/// have what an earlier pass of the same readers has left there, and caches have other lines.
fn bandwidth(system: &System, node: u16, home: u16) -> Formula {
    let locals = system.layout.cpus_of(NodeId(node)).to_vec();
    let settings = Settings { lines: Some(LINES_EACH), ..system.settings().clone() };
    let placement = Placement::again(NodeId(home), locals);
    typical(system, &Plan::new(Experiment::BwmpRead, State::Cexm, placement, settings))
}
