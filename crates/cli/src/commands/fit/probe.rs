//! Measuring what models need, on a simulated machine or on this computer.

use bench::seidl::{Point, Probe};
use bench::{
    BenchError, HostOptions, HostPlatform, Layout, PageKind, Plan, Platform, Settings, SimulatedPlatform, Trial, rounds,
};
use experiments::fitting::{AnnouncedCache, Identity, Job, Model, Surroundings, doubtful, jobs};
use experiments::parallel;
use host::discovery::{CacheKind, Inventory};
use machine::Description;
use record::Record;
use units::{Bytes, NodeId};

use super::{Measured, identity_of, system_of};
use crate::failure::Failure;
use crate::{progress, provenance};

/// The least capacity of a computer's caches that the probe assumes: it goes far beyond that, and beyond the largest that is
/// announced. Beside that, announced sizes decide nothing; their number is the most that is found.
const HOST_CACHES: Bytes = Bytes::from_mib(32);
/// The largest area on this computer, unless told otherwise.
const HOST_AREA: Bytes = Bytes::from_mib(1024);
/// Samples of each measurement on this computer: as many as give an interval of the median, and one to spare.
pub(super) const HOST_SAMPLES: u32 = 7;
/// How often lists that leave the hierarchy in doubt get as many samples again. Where others use the caches, too, one sample in some
/// is undisturbed, and the least of all counts.
const REPEATED: u32 = 3;

/// Measures the machine of `description`, on all cores.
pub(super) fn simulated(
    models: &[Model],
    description: &Description,
    surroundings: &Surroundings,
    most_caches: Option<usize>,
) -> Result<Measured, Failure> {
    let layout = Layout::simulated(description).map_err(Failure::input)?;
    let settings = Settings::simulated();
    let all: Vec<Job> = models.iter().flat_map(|&model| jobs(model, &layout, surroundings, &settings)).collect();
    let bar = progress::bar(all.len(), "measurements");
    let work = |job: &Job| -> Result<Record, BenchError> {
        let mut platform = SimulatedPlatform::new(description.clone(), sim::Options::default())?;
        job.run(&mut platform, surroundings)
    };
    let records = parallel::collected(&all, work, |done| bar.at(done)).map_err(Failure::run)?;
    drop(bar);
    let (name, identity) = (description.name.clone(), identity_of(description));
    let (system, provenance) = (Some(system_of(description.clone())?), provenance::of_software());
    Ok(Measured { name, records, provenance, system, identity, announced: Vec::new(), most_caches, computer: None })
}

/// Measures this computer. It has `most_caches` at most, or else as many as its kernel announces.
pub(super) fn host(models: &[Model], largest: Option<Bytes>, most_caches: Option<usize>) -> Result<Measured, Failure> {
    let mut platform = HostPlatform::new(HostOptions::default()).map_err(Failure::run)?;
    let provenance = provenance::of_host(platform.inventory());
    let (identity, surroundings) = surroundings(&platform, largest)?;
    let settings = Settings { iterations: HOST_SAMPLES, check: false, ..Settings::host() };
    let all: Vec<Job> =
        models.iter().flat_map(|&model| jobs(model, platform.layout(), &surroundings, &settings)).collect();
    let mut plans: Vec<Plan> = Vec::new();
    let mut windows: Vec<Point> = Vec::new();
    for job in all {
        match job {
            Job::Plan(plan) => plans.push(*plan),
            Job::Windows(point) => windows.push(point),
        }
    }
    let announced = announced(&platform);
    let most_caches = most_caches.or_else(|| (!announced.is_empty()).then_some(announced.len()));
    let mut records = measure_plans(&plans, &mut platform, most_caches)?;
    if !windows.is_empty() {
        records.extend(measure_windows(&windows, &mut platform, &surroundings)?);
    }
    let name = HostPlatform::NAME.to_owned();
    Ok(Measured { name, records, provenance, system: None, identity, announced, most_caches, computer: None })
}

/// The data caches of the processor that is measured, as the kernel announces them.
fn announced(platform: &HostPlatform) -> Vec<AnnouncedCache> {
    let cpu = platform.layout().cpus().next().unwrap_or_default();
    let of = |level| {
        let cache = platform.inventory().cache_of(cpu, level, CacheKind::Data)?;
        Some(AnnouncedCache { level, size: cache.size, line: cache.line, ways: cache.ways })
    };
    (1..).map_while(of).collect()
}

/// Samples of all plans in turn. What cannot be measured is said and left out.
pub(super) fn measure_plans(
    plans: &[Plan],
    platform: &mut HostPlatform,
    most_caches: Option<usize>,
) -> Result<Vec<Record>, Failure> {
    let trials: Result<Vec<Trial>, _> = plans.iter().map(|plan| Trial::new(plan, platform.layout())).collect();
    let mut trials = trials.map_err(Failure::input)?;
    let bar = progress::bar(rounds::samples_of(&trials, HOST_SAMPLES) as usize, "samples");
    let (failed, _) = rounds::interleaved(&mut trials, platform, HOST_SAMPLES, |_, _, _| {
        bar.step();
        true
    });
    drop(bar);
    failed.iter().for_each(|failed| eprintln!("not measured: {}", failed.error));
    trials.retain(|trial| trial.taken() > 0);
    for _ in 0..REPEATED {
        let records: Vec<Record> = trials.iter().map(|trial| trial.clone().outcome(platform.layout()).record).collect();
        let doubtful = doubtful(&records, most_caches);
        let mut again: Vec<Trial> = doubtful.iter().map(|&number| trials[number].clone()).collect();
        let bar = progress::bar(rounds::samples_of(&again, HOST_SAMPLES) as usize, "retaken samples");
        rounds::interleaved(&mut again, platform, HOST_SAMPLES, |_, _, _| {
            bar.step();
            true
        });
        drop(bar);
        doubtful.into_iter().zip(again).for_each(|(number, trial)| trials[number] = trial);
    }
    Ok(trials.into_iter().map(|trial| trial.outcome(platform.layout()).record).collect())
}

fn measure_windows(
    points: &[Point],
    platform: &mut HostPlatform,
    surroundings: &Surroundings,
) -> Result<Vec<Record>, Failure> {
    let cpu = platform.layout().cpus().next().unwrap_or_default();
    let probe = Probe::new(platform.layout(), cpu, |_| surroundings.node_memory).map_err(Failure::input)?;
    let probe = Probe { caches: surroundings.caches, samples: HOST_SAMPLES, ..probe };
    let bar = progress::bar(points.len() * HOST_SAMPLES as usize, "samples");
    probe.run(platform, points, |_| bar.step()).map_err(Failure::run)
}

/// The identity of the computer, and the memory that the probe may use: half of what is free on the poorest node, and of what its
/// control group leaves.
pub(super) fn surroundings(
    platform: &HostPlatform,
    largest: Option<Bytes>,
) -> Result<(Identity, Surroundings), Failure> {
    let inventory = platform.inventory();
    let with_memory: Vec<NodeId> =
        platform.layout().nodes().filter(|&node| platform.layout().has_memory(node)).collect();
    let of = |value: fn(&host::discovery::Node) -> Bytes| {
        with_memory.iter().filter_map(|&node| inventory.node(node)).map(value).min().unwrap_or_default()
    };
    let left = inventory.limits.cgroup.memory_left.map_or(u64::MAX, |left| left.0 / with_memory.len().max(1) as u64);
    let page = inventory.page_size;
    let node_memory = Bytes(of(|node| node.free).0.min(left) / 2 / page.0 * page.0);
    let wanted = largest.unwrap_or(HOST_AREA);
    let capacity = Bytes(node_memory.0 * with_memory.len() as u64);
    if wanted > capacity && largest.is_some() {
        let mib = wanted.0 >> 20;
        let accepted = format!("up to {}, half of what is free", capacity.0 >> 20);
        return Err(Failure::flag("--largest", mib, "not enough free memory", accepted));
    }
    let identity = Identity {
        title: format!("as measured: {}", model_name(inventory)),
        nodes: with_memory.len() as u32,
        processors: inventory.usable_cpus().len() as u32,
        node_memory: of(|node| node.memory),
        line: platform.layout().line,
    };
    let largest_area = wanted.min(capacity);
    let caches = HOST_CACHES.max(platform.layout().outermost);
    let list_pages = inventory.transparent.is_on().then_some(PageKind::Transparent);
    Ok((identity, Surroundings { node_memory, largest_area, caches, page, list_pages }))
}

fn model_name(inventory: &Inventory) -> &str {
    inventory.processor.model.as_deref().unwrap_or("this computer")
}
