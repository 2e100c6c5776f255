//! A simulated machine as a platform: kernels become programs of the timing simulator.

mod extents;
mod program;

use std::cell::Cell;
use std::rc::Rc;

use host::kernels::list::sequence;
use host::memory::PageKind;
use machine::description::ControllerKind;
use machine::server::Package;
use machine::{Description, Topology};
use record::Conditions;
use sim::{Options, SimError, Simulator};
use units::{Bytes, CpuId, NodeId};

use crate::platform::layout::Kin;
use crate::platform::{Layout, ListOrder, Measurement, Phase, Platform, PlatformError, Region, Task, check_phase};
use extents::Extents;

/// A machine simulated from its description.
///
/// It starts afresh, at time zero and with everything empty, whenever its regions are released: what a plan measures
/// does not depend on what was measured before it, nor on the order in which plans are run.
pub struct SimulatedPlatform {
    description: Description,
    options: Options,
    layout: Layout,
    /// `None` until the first use after a release.
    simulator: Option<Simulator>,
    /// Where the regions are that were handed out.
    regions: Vec<Rc<Extents>>,
    /// The order of lists.
    order: ListOrder,
    /// Lists that are not walked by address: the elements of each as it visits them.
    lists: Vec<List>,
}

/// A list in a region.
struct List {
    region: usize,
    offset: Bytes,
    visited: Rc<[u64]>,
}

impl Layout {
    /// The layout of the machine that `description` describes, without simulating it.
    ///
    /// # Errors
    /// When the description gives the caches sizes that are not multiples of the line.
    pub fn simulated(description: &Description) -> Result<Self, PlatformError> {
        let topology = Topology::new(description);
        let cpus = (0..topology.nodes().len() as u16).map(|node| topology.threads_on(NodeId(node))).collect();
        let coherent = description.coherent_cache();
        let sizes = (coherent.line, description.l1.size, coherent.size);
        let hops = |from, to| topology.hops(from, to);
        let forgets_dropped = description.controller.kind == ControllerKind::Sci;
        let mut layout = Self::new(&description.name, cpus, hops, sizes, description.processor.clock.period())
            .map_err(|error| PlatformError::Failed { machine: description.name.clone(), source: Box::new(error) })?;
        layout.forgets_dropped = forgets_dropped;
        layout.shares_alone = description.controller.kind != ControllerKind::Server;
        if let (Some(package), Some(slice)) = (topology.package(), &description.l3_slice) {
            layout = layout.with_kin(
                (0..topology.hardware_threads() as u16)
                    .map(CpuId)
                    .map(|cpu| (cpu, kin(package, topology.core_of(cpu).0))),
            );
            layout.outermost = Bytes(slice.size.0 * package.slices_of(0).len() as u64 + coherent.size.0);
        }
        Ok(layout)
    }
}

/// The groups of a core of a server, each named after its first core.
fn kin(package: &Package, cpu: u16) -> Kin {
    let cores = package.cores.len() as u16;
    let (first, core) = (cpu / cores * cores, cpu % cores);
    let cluster = |core: u16| package.cluster_of_core(core);
    let die = |core: u16| package.die_of(package.cores[usize::from(core)]);
    let group = |same: &dyn Fn(u16) -> bool| {
        let members = (0..cores).filter(|&other| same(other)).count() as u16;
        let leader = (0..cores).find(|&other| same(other)).unwrap_or(core);
        (members < cores).then_some(CpuId(first + leader))
    };
    Kin {
        core: CpuId(cpu),
        cluster: group(&|other| cluster(other) == cluster(core)),
        die: group(&|other| die(other) == die(core)),
        socket: CpuId(first),
    }
}

impl SimulatedPlatform {
    /// The machine of `description`.
    ///
    /// # Errors
    /// When the simulator cannot simulate it.
    pub fn new(description: Description, options: Options) -> Result<Self, PlatformError> {
        let layout = Layout::simulated(&description)?;
        let order = ListOrder::Ascending;
        let mut platform =
            Self { description, options, layout, simulator: None, regions: Vec::new(), order, lists: Vec::new() };
        platform.simulator_mut()?;
        Ok(platform)
    }

    /// The same with lists in this order; it is ascending otherwise, and prefetchers are off while lists are walked.
    #[must_use]
    pub fn in_order(self, order: ListOrder) -> Self {
        Self { order, ..self }
    }

    /// The elements of the task's list as it visits them; `None` by address.
    fn visited(&self, task: &Task) -> Option<Rc<[u64]>> {
        let is_it = |list: &&List| (list.region, list.offset) == (task.region.index, task.offset);
        let of_list = self.lists.iter().rev().find(is_it).filter(|list| list.visited.len() as u64 == task.elements);
        of_list.map(|list| list.visited.clone())
    }

    /// The simulator with the counters of everything since the latest release: after [`crate::Plan::run`], those of the
    /// plan, its preparation included. `None` if nothing has run since.
    pub fn simulator(&self) -> Option<&Simulator> {
        self.simulator.as_ref()
    }

    fn simulator_mut(&mut self) -> Result<&mut Simulator, PlatformError> {
        if self.simulator.is_none() {
            let simulator = Simulator::new(&self.description, self.options).map_err(|error| self.failed(error))?;
            self.simulator = Some(simulator);
        }
        Ok(self.simulator.as_mut().expect("made above"))
    }

    fn failed(&self, error: SimError) -> PlatformError {
        PlatformError::Failed { machine: self.layout.machine().to_owned(), source: Box::new(error) }
    }
}

impl Platform for SimulatedPlatform {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn choose_pages(&mut self, pages: Option<PageKind>) -> Result<(), PlatformError> {
        match pages {
            None => Ok(()),
            Some(pages) => Err(PlatformError::Unsupported {
                what: format!("have pages of {pages}"),
                machine: self.layout.machine().to_owned(),
                reason: "the page size is set in its description".to_owned(),
            }),
        }
    }

    fn allocate_across(&mut self, parts: &[(NodeId, Bytes)]) -> Result<Region, PlatformError> {
        let (home, _) = *parts.first().expect("a region has a part");
        let mut extents = Extents::default();
        for &(node, size) in parts {
            let base = self.simulator_mut()?.allocate(node, size).map_err(|error| match error {
                SimError::NoSuchNode { .. } => PlatformError::NoMemory {
                    node,
                    machine: self.layout.machine().to_owned(),
                    accepted: self.layout.accepted_nodes(),
                },
                SimError::OutOfMemory { .. } => {
                    PlatformError::OutOfMemory { home: node, size, reason: error.to_string() }
                }
                other => self.failed(other),
            })?;
            extents.push(base, size);
        }
        let size = extents.size();
        self.regions.push(Rc::new(extents));
        Ok(Region { index: self.regions.len() - 1, home, size })
    }

    /// Lists need no pointers here: addresses are computed.
    fn arrange(&mut self, tasks: &[Task]) -> Result<(), PlatformError> {
        for task in tasks {
            check_phase(&self.layout, Phase::new(std::slice::from_ref(task)))?;
            if self.order != ListOrder::Ascending {
                let order = self.order.of(self.description.tlb.page, self.lists.len() as u64);
                let visited = sequence(order, task.elements, task.stride).into();
                self.lists.push(List { region: task.region.index, offset: task.offset, visited });
            }
        }
        Ok(())
    }

    fn conditions(&self) -> Conditions {
        let pages = format!("{}K", self.description.tlb.page.0 >> 10);
        Conditions {
            pages_asked: Some(pages.clone()),
            pages_obtained: Some(pages),
            order: Some(self.order.name().to_owned()),
            clock_mhz: Some(self.description.processor.clock.as_mhz()),
            ..Conditions::default()
        }
    }

    fn release_all(&mut self) {
        // A machine of which no memory was used is as good as a new one, which takes a while to make if it has many nodes.
        if !self.regions.is_empty() {
            self.simulator = None;
            self.regions.clear();
            self.lists.clear();
        }
    }

    fn run(&mut self, phase: Phase<'_>) -> Result<Vec<Measurement>, PlatformError> {
        check_phase(&self.layout, phase)?;
        if let Some(task) = phase.tasks.iter().find(|task| task.kernel.passes_caches()) {
            return Err(PlatformError::Unsupported {
                what: format!("run {:?}", task.kernel),
                machine: self.layout.machine().to_owned(),
                reason: "its processors have no non-temporal accesses".to_owned(),
            });
        }
        let turn = Rc::new(Cell::new(0));
        let mut results = Vec::new();
        let mut programs = Vec::new();
        for task in phase.tasks {
            let Some(extents) = self.regions.get(task.region.index) else {
                let reason = "its region has been released".to_owned();
                return Err(PlatformError::BadTask { cpu: task.cpu, reason });
            };
            let result = Rc::new(Cell::new(Measurement::default()));
            let role = program::Role {
                racing: phase.first_finisher_stops_all,
                player: results.len() as u64,
                turn: turn.clone(),
                width: self.description.processor.issue_width,
                vector: self.description.processor.vector,
                visited: self.visited(task).filter(|_| task.kernel.walks_a_list()),
            };
            programs.push((task.cpu, program::program(*task, extents.clone(), role, result.clone())));
            results.push(result);
        }
        self.simulator_mut()?.run(programs).map_err(|error| self.failed(error))?;
        Ok(results.iter().map(|result| result.get()).collect())
    }
}
