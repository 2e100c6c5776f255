//! A map of latency by region of memory: what one node hides, such as the nodes of a machine behind a virtual one.

use record::{Disturbance, Parameters, Record, Statistics, Unit};
use units::Bytes;

use crate::BenchError;
use crate::extent::{LINES_OF_CHUNK, chunk_stride};
use crate::platform::{Kernel, Phase, Platform, PlatformError, Task};
use crate::procedure::{Chunk, Collected, Procedure};
use crate::sample::ns_per_step;

/// Loads of uncached lines of each chunk in turn, as often as there are iterations. All chunks are in one region, so that
/// they are different memory; what was disturbed is taken again once.
pub(crate) struct Map;

impl Procedure for Map {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, _count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let chunk = plan.settings.chunk;
        let region = platform.allocate(plan.placement.home, plan.settings.array)?;
        let stride = chunk_stride(chunk, platform.layout().line);
        let lists: Vec<Task> = (0..plan.settings.array.0 / chunk.0)
            .map(|number| Task {
                cpu: plan.placement.locals[0],
                kernel: Kernel::Walk { work: 0 },
                region,
                offset: Bytes(number * chunk.0),
                stride,
                elements: LINES_OF_CHUNK,
                first: 0,
                count: LINES_OF_CHUNK,
            })
            .collect();
        platform.arrange(&lists)?;
        let mut chunks: Vec<Chunk> =
            lists.iter().map(|list| Chunk { offset: list.offset, samples: Vec::new() }).collect();
        for _ in 0..plan.settings.iterations {
            for (chunk, &list) in chunks.iter_mut().zip(&lists) {
                chunk.samples.push(collected.twice(|| sample(platform, list))?);
            }
        }
        collected.map = chunks;
        collected.note_conditions(platform);
        Ok(())
    }
}

/// Nanoseconds a load of uncached lines, and what disturbed them.
fn sample(platform: &mut dyn Platform, list: Task) -> Result<(f64, Disturbance), PlatformError> {
    platform.run(Phase::new(&[Task { kernel: Kernel::Flush, ..list }]))?;
    let measurement = platform.run(Phase::new(&[list]))?[0];
    Ok((ns_per_step(measurement), measurement.disturbance))
}

/// The record of each chunk, like `whole` but for its figures and where it is.
pub(crate) fn records(chunks: &[Chunk], whole: &Record) -> Vec<Record> {
    let record = |chunk: &Chunk| {
        let statistics = Statistics::of(&chunk.samples)?;
        let of_chunk = whole.beside(whole.experiment.clone(), Unit::Nanoseconds, statistics);
        let parameters = Parameters { offset: Some(chunk.offset), ..whole.parameters };
        Some(Record { parameters, ..of_chunk })
    };
    chunks.iter().filter_map(record).collect()
}
