//! Latency under load: one processor chases pointers while the others load the memory with reads and writes.

use units::{Bandwidth, Bytes, CpuId};

use crate::platform::{Kernel, Measurement, Phase, Platform, Region, Task};
use crate::procedure::{Collected, Procedure};
use crate::sample::{Sample, disturbance, ns_per_step};
use crate::{BenchError, Plan, Traffic};

/// Loads of one sample.
const LOADS: u64 = 8 << 10;
/// No processor makes as many accesses while the chaser makes its loads: the traffic ends with them.
const ENDLESS: u64 = 1 << 40;

/// Nanoseconds a load of the first requester, and the bandwidth of all the others' traffic meanwhile. The arrays are
/// consecutive, one for each requester; the sample before the first, in which caches fill with the traffic's lines, does not
/// count.
pub(crate) struct UnderLoad;

impl Procedure for UnderLoad {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let parts = plan.placement.locals.len() as u64;
        let region = platform.allocate(plan.placement.home, Bytes(plan.settings.array.0 * parts))?;
        let (line, spaced) = (platform.layout().line, plan.element_stride(platform.layout()));
        let mut course = Course { plan: &plan, region, line, spaced, done: vec![0; parts as usize] };
        platform.arrange(&course.tasks()[..1])?;
        course.sample(platform)?;
        for _ in 0..count {
            collected.take(count, || course.sample(platform))?;
        }
        collected.note_conditions(platform);
        Ok(())
    }
}

/// Where each requester is in its array.
struct Course<'a> {
    plan: &'a Plan,
    region: Region,
    line: Bytes,
    /// From one element of the chaser's list to the next.
    spaced: Bytes,
    /// Steps that each requester has taken.
    done: Vec<u64>,
}

impl Course<'_> {
    fn tasks(&self) -> Vec<Task> {
        let array = self.plan.settings.array;
        let Traffic { reads, writes, pause } = self.plan.settings.traffic;
        let task = |(requester, &cpu): (usize, &CpuId)| Task {
            cpu,
            kernel: if requester == 0 { Kernel::Walk { work: 0 } } else { Kernel::Traffic { reads, writes, pause } },
            region: self.region,
            offset: Bytes(requester as u64 * array.0),
            stride: if requester == 0 { self.spaced } else { self.line },
            elements: array.0 / if requester == 0 { self.spaced.0 } else { self.line.0 },
            first: self.done[requester],
            count: if requester == 0 { LOADS } else { ENDLESS },
        };
        self.plan.placement.locals.iter().enumerate().map(task).collect()
    }

    fn sample(&mut self, platform: &mut dyn Platform) -> Result<Sample, crate::PlatformError> {
        let measurements = platform.run(Phase { tasks: &self.tasks(), first_finisher_stops_all: true })?;
        for (done, measurement) in self.done.iter_mut().zip(&measurements) {
            *done += measurement.steps;
        }
        let bandwidth =
            |traffic: &Measurement| Bandwidth::over(Bytes(traffic.steps * self.line.0), traffic.elapsed).as_mb_per_s();
        Ok(Sample {
            values: vec![ns_per_step(measurements[0])],
            traffic_mb_per_s: Some(measurements[1..].iter().map(bandwidth).sum()),
            disturbance: disturbance(&measurements),
        })
    }
}
