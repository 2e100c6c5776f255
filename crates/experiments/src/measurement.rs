//! Measurements: what can be run, each on a fresh machine of its own, and when two of them are the same.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use bench::seidl::Point;
use bench::{Experiment, Plan, State, Traffic};
use sim::{Scheduling, SpaceSharing, TimeSharing};
use units::{Bytes, CpuId, Duration, NodeId};
use workloads::{BarrierKind, Compiled};

use crate::remote_reads::RemoteReads;
use crate::utilisation::Readers;

/// Something to run on a fresh machine of its own. Equal measurements give equal outcomes and are run once.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The machine description's name.
    pub machine: String,
    /// The subject.
    pub subject: Subject,
}

/// The subject of a measurement.
#[derive(Clone, Debug)]
pub enum Subject {
    /// An experiment of the benchmark suite in one placement.
    Bench(Box<Plan>),
    /// Threads on distinct nodes modifying lines of one node that all of them share (Prestor 2001 section 6.3).
    SharedRegion {
        /// How many threads.
        threads: u16,
    },
    /// Random windows of an area, as the first processor of the first node sees them (Seidl 1997).
    Windows(Point),
    /// Reads of another node's lines, some of which were read before (FLASH dissertation, section 5.4.1).
    RemoteReads(RemoteReads),
    /// Threads that read the lines of one node, and how busy its memory and links are (Prestor 2001 section 6.1).
    Utilisation(Readers),
    /// A parallel program, and what its nodes' counters say.
    Profile(ProgramRun, Looks),
    /// Equal parallel programs at once, under a scheduler.
    Scheduled(Scheduled),
    /// A parallel program.
    Program(ProgramRun),
}

/// Metrics that are sampled in the course of a program, and how often.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Looks {
    /// From one sample to the next.
    pub interval: Duration,
    /// Metrics of its nodes.
    pub metrics: &'static [&'static str],
}

/// A program on the first processors of a machine.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRun {
    /// The program and its parameters.
    pub workload: Compiled,
    /// How many processors.
    pub cpus: u16,
    /// How threads meet, if that costs more than the wait for the last of them.
    pub barrier: Option<BarrierKind>,
}

/// Programs that start together under a scheduler of the operating system (FLASH dissertation, chapter 4).
#[derive(Clone, Copy, Debug)]
pub struct Scheduled {
    /// Each of them.
    pub run: ProgramRun,
    /// How many there are.
    pub processes: u16,
    /// The scheduler's policies in time and space.
    pub scheduling: Scheduling,
}

/// Properties that tell measurements on one machine apart. The series of a plan is none of them, and neither is how often it is
/// repeated: one run of the program has one set of settings.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key<'a> {
    Bench {
        experiment: Experiment,
        state: State,
        home: NodeId,
        locals: &'a [CpuId],
        remotes: &'a [CpuId],
        lines: Option<u64>,
        sharers_drop: Option<bool>,
        array: Option<(Bytes, Bytes, Traffic)>,
        whole_curve: bool,
    },
    SharedRegion {
        threads: u16,
    },
    Windows(Point),
    RemoteReads(RemoteReads),
    Utilisation(Readers),
    Program {
        name: &'static str,
        parameters: Vec<u64>,
        cpus: u16,
        /// The name of the barrier, if threads meet at one that costs anything.
        barrier: Option<&'static str>,
        /// The metrics that are sampled, if any are.
        looks: Option<Looks>,
    },
    /// The program, how often, and the names of the policies.
    Scheduled(Box<Key<'a>>, u16, [&'static str; 2]),
}

impl Measurement {
    /// The measurement that a plan of the benchmark suite makes on `machine`.
    pub fn of_plan(machine: &str, plan: &Plan) -> Self {
        Self { machine: machine.to_owned(), subject: Subject::Bench(Box::new(plan.clone())) }
    }

    fn key(&self) -> (&str, Key<'_>) {
        let key = match &self.subject {
            Subject::Bench(plan) => Key::Bench {
                experiment: plan.experiment,
                state: plan.state,
                home: plan.placement.home,
                locals: &plan.placement.locals,
                remotes: &plan.placement.remotes,
                lines: plan.settings.lines,
                sharers_drop: plan.settings.sharers_drop,
                array: plan.experiment.ranges_over_an_array().then_some((
                    plan.settings.array,
                    plan.settings.stride,
                    plan.settings.traffic,
                )),
                whole_curve: plan.experiment.is_restart() && plan.settings.restart.whole_curve,
            },
            Subject::SharedRegion { threads } => Key::SharedRegion { threads: *threads },
            Subject::Windows(point) => Key::Windows(*point),
            Subject::RemoteReads(reads) => Key::RemoteReads(*reads),
            Subject::Utilisation(readers) => Key::Utilisation(*readers),
            Subject::Profile(run, looks) => run.key(Some(*looks)),
            Subject::Scheduled(Scheduled { run, processes, scheduling: Scheduling { time, space } }) => {
                let name = |names: &mut dyn Iterator<Item = &'static str>| names.next().unwrap_or_default();
                let time =
                    name(&mut TimeSharing::ALL.into_iter().filter(|(each, _)| each == time).map(|(_, name)| name));
                let space =
                    name(&mut SpaceSharing::ALL.into_iter().filter(|(each, _)| each == space).map(|(_, name)| name));
                Key::Scheduled(Box::new(run.key(None)), *processes, [time, space])
            }
            Subject::Program(run) => run.key(None),
        };
        (&self.machine, key)
    }
}

impl ProgramRun {
    /// A program whose threads meet at no cost.
    pub fn new(workload: impl Into<Compiled>, cpus: u16) -> Self {
        Self { workload: workload.into(), cpus, barrier: None }
    }

    fn key(&self, looks: Option<Looks>) -> Key<'static> {
        Key::Program {
            name: self.workload.program.name(),
            parameters: self.workload.parameters().into_iter().map(|(_, value)| value).collect(),
            cpus: self.cpus,
            barrier: BarrierKind::ALL.into_iter().find(|&(kind, _)| Some(kind) == self.barrier).map(|(_, name)| name),
            looks,
        }
    }
}

impl PartialEq for Measurement {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Measurement {}

impl PartialOrd for Measurement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Measurement {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Measurement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use bench::{Placement, Series, Settings};

    use super::*;

    #[test]
    fn a_measurement_is_the_same_in_whatever_series_and_differs_by_what_is_run() {
        let placement = Placement::new(NodeId(1), CpuId(2), None);
        let plan = Plan::new(Experiment::LmbenchRead, State::Uown, placement, Settings::simulated());
        let one = Measurement::of_plan("m", &plan);
        assert_eq!(one, Measurement::of_plan("m", &plan.clone().in_series(Series::Unowned)));
        assert_ne!(one, Measurement::of_plan("n", &plan));
        let mut shorter = plan.clone();
        shorter.settings.lines = Some(7);
        assert_ne!(one, Measurement::of_plan("m", &shorter));
    }
}
