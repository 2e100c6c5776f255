//! A map of latency by region of memory: what one node hides, such as the nodes of a machine behind a virtual one.

use record::{Disturbance, Parameters, Record, Statistics, Unit};
use units::Bytes;

use crate::measure::ns_per_step;
use crate::platform::{Kernel, Phase, Platform, PlatformError, Task};
use crate::trial::Trial;
use crate::{BenchError, Layout, PlanError, Settings};

/// Lines of a chunk that are loaded: all over it, at random.
const LINES: u64 = 512;

/// What was measured in one chunk of the region.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Where in the region it begins.
    pub(crate) offset: Bytes,
    /// Nanoseconds a load, one sample a round.
    pub(crate) samples: Vec<f64>,
}

/// Checks array and chunks.
///
/// # Errors
/// When there is no whole chunk, or a chunk has not room for the lines that are loaded.
pub(crate) fn validate(settings: &Settings, layout: &Layout) -> Result<(), PlanError> {
    let least = Bytes(LINES * 2 * layout.line.0);
    if settings.chunk < least || settings.chunk > settings.array {
        let accepted = format!("{least} up to the array of {}", settings.array);
        return Err(PlanError::new("--chunk", settings.chunk.to_string(), "no chunks of the array", accepted));
    }
    Ok(())
}

/// Loads of uncached lines of each chunk in turn, as often as there are iterations. All chunks are in one region, so that
/// they are different memory; what was disturbed is taken again once.
pub(crate) fn map(trial: &mut Trial, platform: &mut dyn Platform) -> Result<Vec<Chunk>, BenchError> {
    let plan = trial.plan().clone();
    let chunk = plan.settings.chunk;
    let region = platform.allocate(plan.placement.home, plan.settings.array)?;
    let stride = stride(chunk, platform.layout().line);
    let lists: Vec<Task> = (0..plan.settings.array.0 / chunk.0)
        .map(|number| Task {
            cpu: plan.placement.locals[0],
            kernel: Kernel::Walk { work: 0 },
            region,
            offset: Bytes(number * chunk.0),
            stride,
            elements: LINES,
            first: 0,
            count: LINES,
        })
        .collect();
    platform.arrange(&lists)?;
    let mut chunks: Vec<Chunk> = lists.iter().map(|list| Chunk { offset: list.offset, samples: Vec::new() }).collect();
    for _ in 0..plan.settings.iterations {
        for (chunk, &list) in chunks.iter_mut().zip(&lists) {
            chunk.samples.push(trial.twice(|| sample(platform, list))?);
        }
    }
    Ok(chunks)
}

/// From one loaded line to the next: a line less than its share of the chunk, which may be a power of two, so that the lines
/// are of all sets of a cache.
pub(crate) fn stride(chunk: Bytes, line: Bytes) -> Bytes {
    Bytes((chunk.0 / LINES / line.0 - 1) * line.0)
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
