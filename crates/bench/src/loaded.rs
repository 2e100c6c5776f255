//! Latency under load: one processor chases pointers while the others load the memory with reads and writes.

use units::{Bandwidth, Bytes, CpuId, NodeId};

use crate::platform::{Kernel, Measurement, Phase, Platform, Region, StreamOperation, Task};
use crate::procedure::{Collected, Procedure};
use crate::sample::{Sample, disturbance, ns_per_step};
use crate::{BenchError, Experiment, Layout, Placement, Plan, Traffic};

/// The name of the record of the traffic beside a loaded latency, by the experiment.
pub(crate) fn traffic_of(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::LoadedTriad => "triad-traffic",
        _ => "loaded-traffic",
    }
}
/// Loads of the chaser that come before the first sample where there are stores: caches fill with lines that are then written back.
const FILLING_LOADS: u64 = 8 << 10;
/// No processor makes as many accesses while the chaser makes its loads: the traffic ends with them.
const ENDLESS: u64 = 1 << 40;

/// Nanoseconds a load of the first requester, and the bandwidth of all the others' traffic meanwhile. The requesters' arrays are
/// at the home, one for each; those of the remote processors, which load the memory of their own nodes, follow. The sample before the
/// first, in which caches fill with the traffic's lines, does not count.
pub(crate) struct UnderLoad;

impl Procedure for UnderLoad {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let (line, spaced) = (platform.layout().line, plan.element_stride(platform.layout()));
        let cpus = [&plan.placement.locals[..], &plan.placement.remotes].concat();
        let region = platform.allocate_across(&parts(&plan, platform.layout()))?;
        let mut course = Course { plan: &plan, region, line, spaced, done: vec![0; cpus.len()], cpus };
        let loads = plan.settings.loaded_loads;
        let stores = plan.settings.traffic.writes > 0 || plan.experiment == Experiment::LoadedTriad;
        let before = if stores { loads.max(FILLING_LOADS) } else { loads };
        platform.arrange(&course.tasks(loads)[..1])?;
        course.sample(platform, before)?;
        for _ in 0..count {
            collected.take(count, || course.sample(platform, loads))?;
        }
        collected.note_conditions(platform);
        Ok(())
    }
}

/// The nodes on which the arrays are, one after the other.
pub(crate) fn parts(plan: &Plan, layout: &Layout) -> Vec<(NodeId, Bytes)> {
    let Placement { home, locals, remotes } = &plan.placement;
    let mut parts = vec![(*home, Bytes(plan.settings.array.0.saturating_mul(locals.len() as u64)))];
    for own in remotes.iter().map(|&cpu| layout.node_of(cpu).unwrap_or(*home)) {
        match parts.last_mut() {
            Some((node, size)) if *node == own => size.0 = size.0.saturating_add(plan.settings.array.0),
            _ => parts.push((own, plan.settings.array)),
        }
    }
    parts
}

/// Where each requester is in its array.
struct Course<'a> {
    plan: &'a Plan,
    /// The requesters: the one that is measured, the others at the home, and those with memory of their own nodes.
    cpus: Vec<CpuId>,
    region: Region,
    line: Bytes,
    /// From one element of the chaser's list to the next.
    spaced: Bytes,
    /// Steps that each requester has taken.
    done: Vec<u64>,
}

impl Course<'_> {
    /// The task of each requester: so many loads of the first.
    fn tasks(&self, loads: u64) -> Vec<Task> {
        let array = self.plan.settings.array;
        let task = |(requester, &cpu): (usize, &CpuId)| {
            let (kernel, stride, count) = match requester {
                0 => (Kernel::Walk { work: 0 }, self.spaced, loads),
                _ => (self.traffic(), self.line, ENDLESS),
            };
            Task {
                cpu,
                kernel,
                region: self.region,
                offset: Bytes(requester as u64 * array.0),
                stride,
                elements: array.0 / kernel.arrays() / stride.0,
                first: self.done[requester],
                count,
            }
        };
        self.cpus.iter().enumerate().map(task).collect()
    }

    /// The kernel of all requesters but the first.
    fn traffic(&self) -> Kernel {
        let Traffic { reads, writes, pause } = self.plan.settings.traffic;
        match self.plan.experiment {
            Experiment::LoadedTriad => Kernel::Stream(StreamOperation::Triad),
            _ => Kernel::Traffic { reads, writes, pause },
        }
    }

    fn sample(&mut self, platform: &mut dyn Platform, loads: u64) -> Result<Sample, crate::PlatformError> {
        let measurements = platform.run(Phase { tasks: &self.tasks(loads), first_finisher_stops_all: true })?;
        for (done, measurement) in self.done.iter_mut().zip(&measurements) {
            *done += measurement.steps;
        }
        // A step of a loop over arrays is a line of each.
        let moved = self.line.0 * self.traffic().arrays();
        let bandwidth =
            |traffic: &Measurement| Bandwidth::over(Bytes(traffic.steps * moved), traffic.elapsed).as_mb_per_s();
        Ok(Sample {
            values: vec![ns_per_step(measurements[0])],
            traffic_mb_per_s: Some(measurements[1..].iter().map(bandwidth).sum()),
            disturbance: disturbance(&measurements),
        })
    }
}
