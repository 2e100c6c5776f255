//! Requirements of every platform, in one call: each implementation's tests make it.

use units::{Bytes, CpuId, NodeId};

use crate::platform::{Kernel, Phase, Platform, PlatformError, Region, StreamOperation, Task};

/// All kernels that every machine has and that end by themselves, the latency ones with some work.
const KERNELS: [Kernel; 19] = [
    Kernel::Walk { work: 3 },
    Kernel::Modify { work: 3 },
    Kernel::Sum,
    Kernel::SumPrefetch,
    Kernel::Fill,
    Kernel::TouchLoad,
    Kernel::TouchStore,
    Kernel::TouchShared,
    Kernel::DropCaches,
    Kernel::DropOwnCaches,
    Kernel::ReadUse,
    Kernel::ReadModifyWrite,
    Kernel::CompareExchange,
    Kernel::Flush,
    Kernel::SignChange,
    Kernel::Stream(StreamOperation::Copy),
    Kernel::Stream(StreamOperation::Scale),
    Kernel::Stream(StreamOperation::Add),
    Kernel::Stream(StreamOperation::Triad),
];

/// Lines of the lists that the checks use.
const LINES: u64 = 64;

/// Holds a platform to the contract of [`Platform`].
///
/// # Errors
/// The first rule that it breaks, in words.
pub fn check(platform: &mut dyn Platform) -> Result<(), String> {
    let layout = platform.layout();
    let home = layout.nodes().find(|&node| layout.has_memory(node)).ok_or("a layout has a node with memory")?;
    let cpus: Vec<CpuId> = platform.layout().cpus().take(2).collect();
    platform.release_all();
    // The loops over several arrays take three of them.
    let bytes = Bytes(3 * LINES * platform.layout().line.0);
    let region = platform.allocate(home, bytes).map_err(|error| format!("allocate on node {home}: {error}"))?;
    if region.home != home || region.size < bytes {
        return Err(format!("asked for {bytes} on node {home}, got {region:?}"));
    }
    refusals(platform, region, cpus[0])?;
    every_kernel_takes_its_steps(platform, region, &cpus)?;
    caches_matter(platform, region, cpus[0])?;
    if let [_, _] = cpus[..] {
        first_finisher_stops_the_rest(platform, region, &cpus)?;
        a_line_goes_back_and_forth(platform, region, &cpus)?;
    }
    a_region_may_have_parts(platform, home, cpus[0])?;
    passing_caches_works_or_is_refused(platform, region, cpus[0])?;
    platform.release_all();
    platform.allocate(home, bytes).map_err(|error| format!("allocate after release: {error}"))?;
    platform.release_all();
    Ok(())
}

fn list(platform: &dyn Platform, region: Region, cpu: CpuId, kernel: Kernel) -> Task {
    Task {
        cpu,
        kernel,
        region,
        offset: Bytes(0),
        stride: platform.layout().line,
        elements: LINES,
        first: 0,
        count: LINES,
    }
}

/// Unknown nodes and processors, processors with two tasks and elements outside of a region are errors.
fn refusals(platform: &mut dyn Platform, region: Region, cpu: CpuId) -> Result<(), String> {
    let beyond = NodeId(platform.layout().nodes().len() as u16);
    if !matches!(platform.allocate(beyond, Bytes(4096)), Err(PlatformError::NoMemory { .. })) {
        return Err(format!("memory of node {beyond}, which does not exist, is not refused"));
    }
    let good = list(platform, region, cpu, Kernel::TouchLoad);
    let unknown = Task { cpu: CpuId(u16::MAX), ..good };
    if !matches!(platform.run(Phase::new(&[unknown])), Err(PlatformError::NoProcessor { .. })) {
        return Err("a processor that does not exist is not refused".to_owned());
    }
    let outside = Task { offset: region.size, ..good };
    for (what, tasks) in [("two tasks on a processor", vec![good, good]), ("an element outside", vec![outside])] {
        if !matches!(platform.run(Phase::new(&tasks)), Err(PlatformError::BadTask { .. })) {
            return Err(format!("{what}: not refused"));
        }
    }
    Ok(())
}

/// One measurement a task, in order; each task takes all its steps, and steps take time.
fn every_kernel_takes_its_steps(platform: &mut dyn Platform, region: Region, cpus: &[CpuId]) -> Result<(), String> {
    for kernel in KERNELS {
        // Some kernels write over what lists need.
        let all = list(platform, region, cpus[0], Kernel::Walk { work: 0 });
        platform.arrange(&[all]).map_err(|error| format!("arranging a list: {error}"))?;
        let mut tasks: Vec<Task> = cpus.iter().map(|&cpu| list(platform, region, cpu, kernel)).collect();
        for (i, task) in tasks.iter_mut().enumerate() {
            task.count = LINES * (i as u64 + 1);
        }
        let measurements =
            platform.run(Phase::new(&tasks)).map_err(|error| format!("{kernel:?} on {cpus:?}: {error}"))?;
        let steps: Vec<u64> = measurements.iter().map(|measurement| measurement.steps).collect();
        let counts: Vec<u64> = tasks.iter().map(|task| task.count).collect();
        if steps != counts {
            return Err(format!("{kernel:?}: took {steps:?} steps, not {counts:?}"));
        }
        if !matches!(kernel, Kernel::DropCaches | Kernel::DropOwnCaches | Kernel::Flush)
            && measurements.iter().any(|measurement| measurement.elapsed.0 == 0)
        {
            return Err(format!("{kernel:?}: took no time"));
        }
    }
    Ok(())
}

/// How often it is tried whether caches matter: on a busy computer, whoever runs between two phases empties them.
const ATTEMPTS: usize = 20;

/// A list is walked at least twice as fast from the cache as after it was dropped, and work instructions take time: at least once.
fn caches_matter(platform: &mut dyn Platform, region: Region, cpu: CpuId) -> Result<(), String> {
    let mut told = Ok(());
    for _ in 0..ATTEMPTS {
        told = caches_matter_now(platform, region, cpu);
        if told.is_ok() {
            break;
        }
    }
    told
}

fn caches_matter_now(platform: &mut dyn Platform, region: Region, cpu: CpuId) -> Result<(), String> {
    let all = list(platform, region, cpu, Kernel::Walk { work: 0 });
    platform.arrange(&[all]).map_err(|error| format!("arranging a list: {error}"))?;
    let mut time = |kernel: Kernel| {
        let task = list(platform, region, cpu, kernel);
        platform.run(Phase::new(&[task])).map(|all| all[0].elapsed).map_err(|error| format!("{kernel:?}: {error}"))
    };
    let cold = time(Kernel::Walk { work: 0 })?;
    for emptying in [Kernel::DropCaches, Kernel::Flush] {
        time(Kernel::Walk { work: 0 })?;
        time(emptying)?;
        let (again, warm) = (time(Kernel::Walk { work: 0 })?, time(Kernel::Walk { work: 0 })?);
        if warm * 2 > again {
            return Err(format!("{LINES} lines took {warm} in the cache, {again} after {emptying:?}"));
        }
    }
    let warm = time(Kernel::Walk { work: 0 })?;
    let working = time(Kernel::Walk { work: 200 })?;
    let after = time(Kernel::Walk { work: 0 })?;
    if after * 2 > working {
        return Err(format!("a phase that took {working} delayed the next one: {after}, {warm} before"));
    }
    if warm * 2 > cold {
        return Err(format!("{LINES} lines took {warm} in the cache, {cold} when they had just been arranged"));
    }
    if working < warm * 2 {
        return Err(format!("{LINES} lines took {warm} without work, {working} with 200 instructions each"));
    }
    Ok(())
}

/// When the first task ends, the others stop short of their counts.
fn first_finisher_stops_the_rest(platform: &mut dyn Platform, region: Region, cpus: &[CpuId]) -> Result<(), String> {
    let mut tasks: Vec<Task> = cpus.iter().map(|&cpu| list(platform, region, cpu, Kernel::Sum)).collect();
    // On a busy computer the first may have to wait for its processor while the second has its own.
    tasks[1].count = LINES * 1_000_000_000;
    let phase = Phase { tasks: &tasks, first_finisher_stops_all: true };
    let measurements = platform.run(phase).map_err(|error| format!("a phase that is stopped: {error}"))?;
    if measurements[0].steps != LINES || measurements[1].steps >= tasks[1].count {
        return Err(format!("the first finisher stopped nobody: {measurements:?}"));
    }
    Ok(())
}

/// Two processors hand a line back and forth, both of them as often as asked.
fn a_line_goes_back_and_forth(platform: &mut dyn Platform, region: Region, cpus: &[CpuId]) -> Result<(), String> {
    let tasks: Vec<Task> = cpus.iter().map(|&cpu| list(platform, region, cpu, Kernel::PingPong)).collect();
    let both = platform.run(Phase::new(&tasks)).map_err(|error| format!("ping-pong: {error}"))?;
    match both.iter().all(|measurement| measurement.steps == LINES && measurement.elapsed.0 > 0) {
        true => Ok(()),
        false => Err(format!("ping-pong of {LINES} round trips: {both:?}")),
    }
}

/// A region of two parts, here on one node, is as large as both and can be walked from end to end, or from the middle on.
fn a_region_may_have_parts(platform: &mut dyn Platform, home: NodeId, cpu: CpuId) -> Result<(), String> {
    const PART: Bytes = Bytes::from_kib(64);
    let region = platform.allocate_across(&[(home, PART), (home, PART)]);
    let region = region.map_err(|error| format!("a region of two parts: {error}"))?;
    if region.size.0 != 2 * PART.0 {
        return Err(format!("two parts of {PART} make {}", region.size));
    }
    let elements = region.size.0 / platform.layout().line.0;
    let whole = Task { elements, count: elements, ..list(platform, region, cpu, Kernel::Walk { work: 0 }) };
    platform.arrange(&[whole]).map_err(|error| format!("arranging a list over two parts: {error}"))?;
    for first in [0, elements / 2, 3 * elements + 1] {
        let steps = platform.run(Phase::new(&[Task { first, ..whole }])).map(|all| all[0].steps);
        match steps {
            Ok(steps) if steps == elements => {}
            other => return Err(format!("{elements} steps from step {first} on: {other:?}")),
        }
    }
    Ok(())
}

/// A machine has accesses that pass its caches, or says that it has none.
fn passing_caches_works_or_is_refused(platform: &mut dyn Platform, region: Region, cpu: CpuId) -> Result<(), String> {
    for kernel in [Kernel::SumNonTemporal, Kernel::FillNonTemporal] {
        match platform.run(Phase::new(&[list(platform, region, cpu, kernel)])) {
            Ok(measurements) if measurements[0].steps == LINES => {}
            Err(PlatformError::Unsupported { .. }) => {}
            other => return Err(format!("{kernel:?}: {other:?}")),
        }
    }
    Ok(())
}
