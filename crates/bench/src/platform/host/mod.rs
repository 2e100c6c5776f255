//! This computer as a platform: kernels become machine code on pinned threads, regions become verified memory.

mod eviction;
mod layout;
mod parking;
mod translate;

use std::collections::BTreeMap;
use std::sync::Arc;

use host::HostError;
use host::clock::Clock;
use host::crew::{AreaId, Crew, Done, Elements, Job};
use host::discovery::{Inventory, KernelFiles};
use host::kernels::Operation;
use host::kernels::list::Order;
use host::memory::{Mapping, PageKind};
use record::{Conditions, Disturbance};
use units::{Bytes, CpuId, Duration, Hertz, NodeId};

use crate::platform::{
    Kernel, Layout, ListOrder, Measurement, Phase, Platform, PlatformError, Region, Task, check_phase,
};
use eviction::Eviction;
use parking::Parking;

/// How this computer is to be measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostOptions {
    /// The pages that regions are to have.
    pub pages: PageKind,
    /// The order of lists.
    pub order: ListOrder,
    /// Start of all random sequences.
    pub seed: u64,
}

/// The computer that this program runs on.
#[derive(Debug)]
pub struct HostPlatform {
    inventory: Arc<Inventory>,
    options: HostOptions,
    /// The pages of the next region.
    pages: PageKind,
    layout: Layout,
    crew: Crew,
    regions: BTreeMap<usize, AreaId>,
    /// Regions lent out that lie in memory that is kept.
    lent: BTreeMap<usize, AreaId>,
    /// The number of the next region: none is used twice.
    next: usize,
    /// Lists linked so far: each gets a random order of its own.
    lists: u64,
    eviction: Eviction,
    /// Large memory that has been released and may be wanted again.
    parking: Parking,
    /// How much was read to drop copies, at the latest time since the latest release.
    dropped: Option<Bytes>,
    /// The clock of the first processor of the latest phase.
    clock: Option<Hertz>,
}

impl HostPlatform {
    /// The computer, with threads on no processor yet. Takes about a tenth of a second, for the calibration of the clock.
    ///
    /// # Errors
    /// When the kernel does not tell what the computer is made of, or has no clock.
    pub fn new(options: HostOptions) -> Result<Self, PlatformError> {
        let failed =
            |error: HostError| PlatformError::Failed { machine: Self::NAME.to_owned(), source: Box::new(error) };
        let inventory = Arc::new(Inventory::discover(&KernelFiles::live()).map_err(failed)?);
        let clock = Arc::new(Clock::calibrate().map_err(failed)?);
        let layout = Layout::host(&inventory)?.clocked(&clock).map_err(failed)?;
        let crew = Crew::new(inventory.clone(), clock);
        Ok(Self {
            inventory,
            options,
            pages: options.pages,
            layout,
            crew,
            regions: BTreeMap::new(),
            lent: BTreeMap::new(),
            next: 0,
            lists: 0,
            eviction: Eviction::default(),
            parking: Parking::default(),
            dropped: None,
            clock: None,
        })
    }

    /// The name of this computer in records.
    pub const NAME: &'static str = "host";

    /// The components of the computer.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// The clock that it measures with.
    pub fn clock(&self) -> &Clock {
        self.crew.clock()
    }

    /// How it is measured.
    pub fn options(&self) -> HostOptions {
        self.options
    }

    /// How copies were dropped since the latest release, if any were.
    fn dropped_how(&self) -> Option<String> {
        self.dropped.map(|size| format!("copies evicted by loads of {size} of other memory"))
    }

    fn failed(error: HostError) -> PlatformError {
        PlatformError::Failed { machine: Self::NAME.to_owned(), source: Box::new(error) }
    }

    /// The area of a region that has not been released.
    fn area_of(&self, task: &Task) -> Result<AreaId, PlatformError> {
        let own = self.regions.get(&task.region.index);
        own.or_else(|| self.lent.get(&task.region.index))
            .copied()
            .ok_or_else(|| PlatformError::BadTask { cpu: task.cpu, reason: "its region has been released".to_owned() })
    }

    /// The elements of a task.
    fn elements(&self, task: &Task) -> Result<Elements, PlatformError> {
        let area = self.area_of(task)?;
        Ok(Elements { area, offset: task.offset, stride: task.stride, count: task.elements })
    }

    fn next_order(&mut self) -> Order {
        self.lists += 1;
        self.options.order.of(self.inventory.page_size, self.options.seed ^ self.lists)
    }

    /// The job of task number `player` of a phase.
    fn job(&mut self, task: &Task, player: usize) -> Result<Job, PlatformError> {
        let elements = self.elements(task)?;
        if drops(task.kernel) {
            return self.displace(task.cpu, task.kernel);
        }
        let operation = translate::operation(task.kernel, task.stride, player);
        let parts = translate::parts_of_element(operation, task.stride);
        let elements = Elements { stride: Bytes(task.stride.0 / parts), count: task.elements * parts, ..elements };
        Ok(Job {
            cpu: task.cpu,
            operation,
            elements,
            first: task.first * parts,
            steps: task.count.saturating_mul(parts),
        })
    }

    /// The job that displaces everything from the caches of `cpu`, or from its own: loads of more memory than they hold.
    fn displace(&mut self, cpu: CpuId, kernel: Kernel) -> Result<Job, PlatformError> {
        let node = self.layout.node_of(cpu).expect("checked before");
        let mut elements =
            |pages| self.eviction.elements(&mut self.crew, &self.inventory, &self.layout, cpu, node, pages);
        // Huge pages spare the time of translation misses; where there are none, it takes longer.
        let elements = elements(PageKind::Transparent).or_else(|_| elements(PageKind::Base));
        let mut elements = elements.map_err(Self::failed)?;
        if kernel == Kernel::DropOwnCaches {
            // Its own are those of the first and second level.
            elements.count = elements.count.min(2 * self.layout.l2.0 / elements.stride.0);
        }
        self.dropped = Some(Bytes(elements.count * elements.stride.0));
        Ok(Job { cpu, operation: Operation::TouchLoad, elements, first: 0, steps: elements.count })
    }
}

impl Platform for HostPlatform {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn choose_pages(&mut self, pages: Option<PageKind>) -> Result<(), PlatformError> {
        self.pages = pages.unwrap_or(self.options.pages);
        Ok(())
    }

    fn allocate_across(&mut self, parts: &[(NodeId, Bytes)]) -> Result<Region, PlatformError> {
        let (home, size) = (parts[0].0, Bytes(parts.iter().map(|(_, size)| size.0).sum()));
        if let Some(&(node, _)) = parts.iter().find(|&&(node, _)| !self.layout.has_memory(node)) {
            let (machine, accepted) = (Self::NAME.to_owned(), self.layout.accepted_nodes());
            return Err(PlatformError::NoMemory { node, machine, accepted });
        }
        let area = match self.parking.take(parts, self.pages) {
            Some(area) => area,
            None => {
                let mapping = match parts {
                    [(node, size)] => Mapping::on_node(&self.inventory, *node, *size, self.pages),
                    parts => Mapping::across(&self.inventory, parts, self.pages),
                };
                self.crew.add(mapping.map_err(Self::failed)?)
            }
        };
        let region = Region { index: self.next, home, size };
        self.regions.insert(self.next, area);
        self.parking.note(area, parts, self.pages);
        self.next += 1;
        Ok(region)
    }

    /// As much memory as is read to displace lines, but of the pages chosen; at least twice the second-level caches of all of
    /// `cpus`, as far as there is so much.
    fn ballast(&mut self, home: NodeId, cpus: &[CpuId]) -> Result<Region, PlatformError> {
        let elements = self.eviction.elements(&mut self.crew, &self.inventory, &self.layout, cpus[0], home, self.pages);
        let elements = elements.map_err(Self::failed)?;
        let (found, all) = (elements.stride.0 * elements.count, self.crew.size(elements.area).unwrap_or_default());
        let size = Bytes(found.max(2 * self.layout.l2.0 * cpus.len() as u64)).min(all);
        let region = Region { index: self.next, home, size };
        self.lent.insert(self.next, elements.area);
        self.next += 1;
        Ok(region)
    }

    fn arrange(&mut self, tasks: &[Task]) -> Result<(), PlatformError> {
        for task in tasks {
            check_phase(&self.layout, Phase::new(std::slice::from_ref(task)))?;
            let (elements, order) = (self.elements(task)?, self.next_order());
            self.crew.link(elements, order).map_err(Self::failed)?;
        }
        // Linking has left the lines in the caches of whatever processor this thread is on.
        for task in tasks {
            self.run(Phase::new(&[Task { kernel: Kernel::Flush, first: 0, count: task.elements, ..*task }]))?;
        }
        Ok(())
    }

    fn conditions(&self) -> Conditions {
        let obtained =
            self.regions.values().chain(self.lent.values()).next().and_then(|&area| self.crew.obtained(area));
        Conditions {
            pages_asked: Some(self.pages.to_string()),
            pages_obtained: obtained.map(|obtained| obtained.page_mix()),
            order: Some(self.options.order.name().to_owned()),
            preparation: self.dropped_how(),
            clock_mhz: self.clock.map(Hertz::as_mhz),
            ..Conditions::default()
        }
    }

    fn release_all(&mut self) {
        self.dropped = None;
        self.lent.clear();
        for area in std::mem::take(&mut self.regions).into_values() {
            self.parking.park(area).into_iter().for_each(|area| self.crew.remove(area));
        }
    }

    fn run(&mut self, phase: Phase<'_>) -> Result<Vec<Measurement>, PlatformError> {
        check_phase(&self.layout, phase)?;
        let jobs = phase.tasks.iter().enumerate().map(|(player, task)| self.job(task, player));
        let jobs = jobs.collect::<Result<Vec<Job>, _>>()?;
        let done = self.crew.run(&jobs, phase.first_finisher_stops_all).map_err(Self::failed)?;
        self.clock = done.first().and_then(|done| done.interference.frequency).map(|(_, after)| after).or(self.clock);
        let measurement = |((task, job), done): ((&Task, &Job), &Done)| Measurement {
            elapsed: done.elapsed.max(Duration(1)),
            steps: match drops(task.kernel) {
                true => task.count,
                false => done.steps / translate::parts_of_element(job.operation, task.stride),
            },
            disturbance: disturbance(done),
        };
        Ok(phase.tasks.iter().zip(&jobs).zip(&done).map(measurement).collect())
    }
}

/// Whether a kernel drops lines by loads of other memory.
fn drops(kernel: Kernel) -> bool {
    matches!(kernel, Kernel::DropCaches | Kernel::DropOwnCaches)
}

/// Disturbances of a thread, in the terms of records.
fn disturbance(done: &Done) -> Disturbance {
    /// The kernel counts stolen time in ticks of a hundredth of a second (USER_HZ).
    const TICK: Duration = Duration(10_000_000_000);
    let found = &done.interference;
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let moved = found.migrations.unwrap_or(u64::from(found.ended_on != found.cpu));
    let change = found.frequency.map_or(0.0, |(from, to)| (to.0 / from.0 - 1.0) * 1000.0);
    Disturbance {
        switches: count(found.voluntary_switches + found.involuntary_switches),
        migrations: count(moved),
        faults: count(found.minor_faults + found.major_faults),
        waited: found.waited.unwrap_or(Duration::ZERO),
        stolen: TICK * found.stolen_ticks.unwrap_or(0),
        clock_change_permille: change.round() as i32,
    }
}
