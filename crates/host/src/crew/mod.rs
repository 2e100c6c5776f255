//! A crew: one pinned thread a processor, kernels that they run together, and the memory that they work on.
//!
//! Threads sleep between phases, so that they disturb nobody, and meet at a barrier before a phase is timed. The crew owns
//! its memory and knows which parts of it are linked into lists: a kernel that chases pointers is only run where there are
//! some.

mod area;
mod barrier;
mod check;
mod elements;
mod phase;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use units::{Bytes, CpuId, Duration};

use crate::HostError;
use crate::clock::Clock;
use crate::discovery::Inventory;
use crate::interference::Interference;
use crate::kernels::list::Order;
use crate::kernels::{Features, Operation, Role, Routine};
use crate::memory::{Mapping, Obtained};
use area::Area;
use phase::Place;
use worker::{Assignment, Worker};

pub use elements::Elements;

/// Memory of the crew, until [`Crew::remove`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AreaId(u64);

/// A kernel for one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// The processor whose thread runs it.
    pub cpu: CpuId,
    /// Operation at each element. Arrays that it reads beside the elements ([`Operation::sources`]) follow them, with
    /// as many elements each; a ping-pong has one word, that of its first element.
    pub operation: Operation,
    /// Its memory.
    pub elements: Elements,
    /// The step with which it begins.
    pub first: u64,
    /// Steps to take.
    pub steps: u64,
}

/// Outcome of a job.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// From the first step to the last, the clock's own cost taken off.
    pub elapsed: Duration,
    /// Steps taken.
    pub steps: u64,
    /// Disturbances of the thread meanwhile.
    pub interference: Interference,
}

/// The threads, their kernels and their memory.
#[derive(Debug)]
pub struct Crew {
    inventory: Arc<Inventory>,
    clock: Arc<Clock>,
    features: Features,
    workers: BTreeMap<CpuId, Worker>,
    routines: HashMap<(Operation, Bytes), Arc<Routine>>,
    areas: BTreeMap<AreaId, Area>,
    /// The number of the next area: none is used twice.
    next: u64,
}

impl Crew {
    /// A crew without threads or memory yet.
    pub fn new(inventory: Arc<Inventory>, clock: Arc<Clock>) -> Self {
        let features = Features::detect();
        Self {
            inventory,
            clock,
            features,
            workers: BTreeMap::new(),
            routines: HashMap::new(),
            areas: BTreeMap::new(),
            next: 0,
        }
    }

    /// The clock that it measures with.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Takes memory over.
    pub fn add(&mut self, mapping: Mapping) -> AreaId {
        let id = AreaId(self.next);
        self.next += 1;
        self.areas.insert(id, Area::new(mapping));
        id
    }

    /// Gives memory back.
    pub fn remove(&mut self, area: AreaId) {
        self.areas.remove(&area);
    }

    /// How large an area is; nothing if it has been given back.
    pub fn size(&self, area: AreaId) -> Option<Bytes> {
        self.areas.get(&area).map(Area::size)
    }

    /// Pages and nodes of an area's memory; nothing if it has been given back.
    pub fn obtained(&self, area: AreaId) -> Option<&Obtained> {
        self.areas.get(&area).map(Area::obtained)
    }

    /// Links elements into a circular list that begins with the first of them; lists that overlap it are forgotten.
    ///
    /// # Errors
    /// When the area has been given back or ends before them, they are too small for a pointer or not aligned to words, or
    /// the order's page is no power of two.
    pub fn link(&mut self, elements: Elements, order: Order) -> Result<(), HostError> {
        self.area_of(elements)?;
        self.area_mut(elements.area).link(elements, order)
    }

    /// Runs jobs at the same time, one a processor; with `first_finisher_stops_all` they all end with the first. What became
    /// of each, in their order.
    ///
    /// # Errors
    /// When a processor cannot be used or has two jobs, an area has been given back or ends before the elements, these are
    /// not aligned as the kernel needs them, a kernel that chases pointers is to run where there is no list or where another
    /// writes over its pointers meanwhile, or a ping-pong has not two players for one word; and when a thread fails.
    pub fn run(&mut self, jobs: &[Job], first_finisher_stops_all: bool) -> Result<Vec<Done>, HostError> {
        self.check(jobs)?;
        let mut assignments = Vec::with_capacity(jobs.len());
        for (job, place) in jobs.iter().zip(Place::of_phase(jobs.len(), first_finisher_stops_all)) {
            self.hire(job.cpu)?;
            assignments.push(self.assignment(job, place)?);
        }
        for job in jobs {
            let area = self.area_mut(job.elements.area);
            area.forget_spoilt(job.operation, check::reach(job)?);
            if matches!(job.operation, Operation::PingPong { .. }) {
                area.clear_word(job.elements);
            }
        }
        // From here on threads work on the areas, which `self` keeps: nothing may return before all have answered.
        for (job, assignment) in jobs.iter().zip(assignments) {
            self.workers[&job.cpu].assign(assignment);
        }
        let answers: Vec<worker::Answer> = jobs.iter().map(|job| self.workers[&job.cpu].answer()).collect();
        for (job, answer) in jobs.iter().zip(&answers) {
            if let Ok(done) = &answer.done
                && job.operation.needs_list()
            {
                let area = self.area_mut(job.elements.area);
                area.remember(job.elements, job.first, done.steps, answer.position);
            }
        }
        answers.into_iter().map(|answer| answer.done).collect()
    }

    /// An area that has been checked to be there.
    fn area_mut(&mut self, area: AreaId) -> &mut Area {
        self.areas.get_mut(&area).expect("checked before")
    }

    /// Makes sure that a processor has its thread.
    fn hire(&mut self, cpu: CpuId) -> Result<(), HostError> {
        if !self.workers.contains_key(&cpu) {
            let worker = Worker::hire(cpu, &self.inventory, &self.clock)?;
            self.workers.insert(cpu, worker);
        }
        Ok(())
    }

    /// The machine code of an operation, assembled when it is first needed.
    fn routine(&mut self, operation: Operation, stride: Bytes) -> Result<Arc<Routine>, HostError> {
        let key = (operation, stride);
        if let Some(routine) = self.routines.get(&key) {
            return Ok(routine.clone());
        }
        let routine = Arc::new(Routine::assemble(operation, stride, &self.features)?);
        self.routines.insert(key, routine.clone());
        Ok(routine)
    }

    /// The assignment of `job` to its thread.
    fn assignment(&mut self, job: &Job, place: Place) -> Result<Assignment, HostError> {
        let routine = self.routine(job.operation, job.elements.stride)?;
        let area = &self.areas[&job.elements.area];
        let courses = match job.operation.needs_list() {
            true => area.along_list(job.elements, job.first, job.steps),
            false => area.over_array(job.elements, job.operation, job.first, job.steps),
        };
        let walk = match courses.approach {
            0 => None,
            _ => Some(self.routine(Operation::Walk { work: 0 }, job.elements.stride)?),
        };
        Ok(Assignment { routine, walk, courses, place })
    }
}

/// The side of a ping-pong that a thread takes: the first leads.
pub fn ping_pong(player: usize) -> Operation {
    Operation::PingPong { role: if player == 0 { Role::Leader } else { Role::Follower } }
}
