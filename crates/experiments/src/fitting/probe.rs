//! Measurements to which a model can be fitted.

use bench::seidl::{Point, Probe, points};
use bench::{BenchError, Experiment, Layout, PageKind, Placement, Plan, Platform, Settings, State, areas, p3};
use machine::Description;
use record::Record;
use units::{Bytes, CpuId, NodeId};

use super::Model;

/// The smallest array of the P3 diagram; the primary cache of no machine is smaller.
const SMALLEST_ARRAY: Bytes = Bytes::from_kib(4);
/// How much larger than the largest cache the largest array of the P3 diagram is.
const BEYOND_CACHES: u64 = 4;
/// How much larger the largest list is, measured and simulated: random replacement smears the end of a cache over two octaves, and memory is to be told from
/// a flat of its own.
pub(super) const LISTS_BEYOND_CACHES: u64 = 8;
/// Lists from one power of two to the next: caches have sizes between powers of two, and a level that others disturb is told from
/// many points.
const LISTS_PER_OCTAVE: u32 = 4;
/// The largest area of Seidl 1997.
const LARGEST_AREA: Bytes = Bytes(8 << 30);
/// Nodes whose pairs are all measured; on larger machines, the distances from the first node.
const ALL_PAIRS: usize = 8;
/// Readers of one node's memory that saturate it: as many as in Prestor 2001 Table 4.10.
const SATURATING: usize = 4;
/// Elements of the list that misses in the translation buffer at every step: more than any has entries to spare, and few
/// enough lines for a cache.
const TRANSLATIONS: u64 = 2048;

/// Sizes of a machine that jobs need beside its layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// Memory of a node that a probe may use.
    pub node_memory: Bytes,
    /// The largest area of the window probe.
    pub largest_area: Bytes,
    /// Size of the largest cache, or a generous bound of it.
    pub caches: Bytes,
    /// The memory that one entry of the translation buffer covers, as far as is known: a page.
    pub page: Bytes,
    /// The pages of lists that are about caches, if they can be chosen: the larger, the less translation adds to a load.
    pub list_pages: Option<PageKind>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// An experiment of the benchmark suite.
    Plan(Box<Plan>),
    /// Random windows of an area.
    Windows(Point),
}

impl Surroundings {
    /// Those of a simulated machine: what its description has.
    pub fn simulated(description: &Description) -> Self {
        Self {
            node_memory: description.topology.node_memory,
            largest_area: LARGEST_AREA,
            caches: description.coherent_cache().size,
            page: fit::held::translation_page(description),
            list_pages: None,
        }
    }
}

impl Job {
    /// Carries the job out on `platform`, with the first processor wherever it is not told otherwise.
    ///
    /// # Errors
    /// When it is impossible on the machine, or the platform fails.
    pub fn run(&self, platform: &mut dyn Platform, surroundings: &Surroundings) -> Result<Record, BenchError> {
        match self {
            Self::Plan(plan) => Ok(plan.run(platform)?.record),
            Self::Windows(point) => {
                let cpu = first_cpu(platform.layout());
                let probe = Probe::new(platform.layout(), cpu, |_| surroundings.node_memory)?;
                let probe = Probe { caches: surroundings.caches, ..probe };
                Ok(probe.run(platform, &[*point], |_| ())?.remove(0))
            }
        }
    }
}

/// The measurements that `model` needs of a machine with this layout. `settings` are those of the machine's platform.
pub fn jobs(model: Model, layout: &Layout, surroundings: &Surroundings, settings: &Settings) -> Vec<Job> {
    match model {
        Model::Seidl => windows(layout, surroundings),
        Model::Remote => latencies(layout, settings),
        Model::Caches => diagram(layout, surroundings, settings),
    }
}

fn first_cpu(layout: &Layout) -> CpuId {
    layout.cpus().next().unwrap_or(CpuId(0))
}

fn windows(layout: &Layout, surroundings: &Surroundings) -> Vec<Job> {
    let nodes = layout.nodes().filter(|&node| layout.has_memory(node)).count() as u64;
    let capacity = surroundings.node_memory.0 * nodes;
    points(Bytes(surroundings.largest_area.0.min(capacity))).into_iter().map(Job::Windows).collect()
}

/// Back-to-back reads of every node's memory, and of one node's by so many processors that it is the bottleneck.
fn latencies(layout: &Layout, settings: &Settings) -> Vec<Job> {
    let with_cpus: Vec<NodeId> = layout.nodes().filter(|&node| !layout.cpus_of(node).is_empty()).collect();
    let homes: Vec<NodeId> = layout.nodes().filter(|&node| layout.has_memory(node)).collect();
    let readers = if homes.len() <= ALL_PAIRS { with_cpus.as_slice() } else { &with_cpus[..1] };
    let mut jobs = Vec::new();
    let plan =
        |experiment, placement| Job::Plan(Box::new(Plan::new(experiment, State::Uown, placement, settings.clone())));
    for &reader in readers {
        let cpu = layout.cpus_of(reader)[0];
        jobs.extend(homes.iter().map(|&home| plan(Experiment::LmbenchRead, Placement::new(home, cpu, None))));
    }
    let Some(&home) = homes.iter().find(|home| with_cpus.contains(home)) else { return jobs };
    let nearest = [vec![home], layout.nodes_by_distance(home)].concat();
    let locals = nearest.iter().filter_map(|&node| layout.cpus_of(node).first().copied()).take(SATURATING);
    let locals: Vec<CpuId> = locals.collect();
    if locals.len() == SATURATING {
        jobs.push(plan(Experiment::BwmpRead, Placement { home, locals, remotes: Vec::new() }));
    }
    jobs
}

/// A P3 diagram of reads; lists of neighbouring lines, for latencies without overlap; and two lists that differ only in that every
/// element of one is on a page of its own.
fn diagram(layout: &Layout, surroundings: &Surroundings, settings: &Settings) -> Vec<Job> {
    let cpu = first_cpu(layout);
    let home = layout.node_of(cpu).unwrap_or_default();
    let beyond =
        |times: u64| Bytes((surroundings.caches.0 * times).next_power_of_two().min(surroundings.node_memory.0));
    let largest = beyond(BEYOND_CACHES);
    let arrays = std::iter::successors(Some(SMALLEST_ARRAY), |array| Some(Bytes(array.0 * 2)));
    let arrays = arrays.take_while(|array| *array <= largest);
    let once = Settings { iterations: settings.iterations.min(2), ..settings.clone() };
    let plans = p3::diagram(Experiment::P3Ru, home, cpu, arrays, &once);
    let mut jobs: Vec<Job> = plans.into_iter().map(|plan| Job::Plan(Box::new(plan))).collect();
    let list = |array: Bytes, stride: Bytes, pages: Option<PageKind>| {
        let settings = Settings { array, stride, pages, ..settings.clone() };
        let placement = Placement::new(home, cpu, None);
        Job::Plan(Box::new(Plan::new(Experiment::AreaRead, State::Uown, placement, settings)))
    };
    let lists = areas(beyond(LISTS_BEYOND_CACHES), LISTS_PER_OCTAVE).into_iter();
    jobs.extend(lists.map(|array| list(array, layout.line, surroundings.list_pages.or(settings.pages))));
    // Neighbouring elements are a line further into the next page, so that they spread over the sets of the caches.
    for stride in [layout.line.0, surroundings.page.0 + layout.line.0] {
        let array = Bytes(stride * TRANSLATIONS);
        if array <= surroundings.node_memory {
            jobs.push(list(array, Bytes(stride), settings.pages));
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_many_nodes_is_measured_from_the_first_one_of_few_from_all() {
        let count = |name: &str| {
            let description = machine::load(name).expect("a machine");
            let layout = Layout::simulated(&description).expect("a layout");
            let surroundings = Surroundings::simulated(&description);
            let jobs = jobs(Model::Remote, &layout, &surroundings, &Settings::simulated());
            for job in &jobs {
                let Job::Plan(plan) = job else { panic!("latencies are plans") };
                plan.validate(&layout).expect("possible");
            }
            jobs.len()
        };
        assert_eq!(count("dresden"), 16 + 1);
        assert_eq!(count("origin2000-r10k-195-8p"), 16 + 1);
        assert_eq!(count("origin2000-r10k-195-2p"), 1);
    }

    #[test]
    fn models_are_read_back_by_name() {
        for model in Model::ALL {
            assert_eq!(model.name().parse(), Ok(model));
        }
        let error = "sidel".parse::<Model>().expect_err("misspelt").to_string();
        assert!(error.contains("accepted: seidl remote caches all"), "{error}");
    }
}
