//! The simulated system, for any kind of controller: processors, their threads, and the operating system around them.
//!
//! The order of events is the kernel's ([`crate::kernel`]), the answers to misses are the controllers' ([`Controller`]).

mod bus;
mod bus_errors;
mod check;
mod controller;
mod hardware_threads;
mod measured;
mod misses;
mod movement;
mod observation;
mod page_steps;
mod paging;
mod process;
mod programs;
mod schedule;
mod sharing;
mod shootdown;
mod threads;
mod transport;
mod watching;

use std::rc::Rc;

use machine::Topology;
use machine::description::Description;
use protocol::Version;
use units::{Bytes, ChannelId, CpuId, Duration, LineAddr, NodeId, PhysicalAddr, Time};

use crate::fault::Fault;
use crate::kernel::{EnvelopeId, Event, Kernel, Places};
use crate::map::LineMap;
use crate::memory::Memory;
use crate::observe::{self, Probe, Subject};
use crate::os::Paging;
use crate::part::CachedCopy;
use crate::processor::{Processor, ProcessorTiming};
use crate::thread::{Program, Team};
use crate::wire::Network;
use crate::{Mode, Options, SimError};

pub use bus::BusTiming;
pub use controller::{Blueprint, Controller, Held};
pub use misses::{Crossing, Served};
pub use page_steps::TransfersPages;
pub use programs::ThreadReport;
pub use schedule::Job;

use observation::Observation;
use process::Process;
use shootdown::Shootdowns;
use threads::Threads;

/// A simulated machine whose nodes have controllers of one kind.
pub struct System<C: Controller> {
    /// The controllers.
    pub controllers: C,
    /// Time, events, messages and probes under way.
    pub kernel: Kernel<C::Message, C::Event>,
    /// The network.
    pub network: Network,
    /// The memory, as allocated.
    pub memory: Memory,
    /// The virtual pages of the programs.
    pub paging: Paging,
    shootdowns: Shootdowns,
    /// Those of a server are its cores, whose hardware threads have the numbers of [`Topology::threads_of`]. `None` while the
    /// processor is in its running program.
    processors: Vec<Option<Box<Processor>>>,
    /// The programs on the processors.
    threads: Threads,
    /// Observers, planted faults and readings.
    pub observation: Observation,
    options: Options,
    failure: Option<SimError>,
    line: Bytes,
    /// One cycle of the processors.
    cycle: Duration,
}

/// A state of the threads up to which events are handled.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// So many have ended.
    Reports(usize),
    /// The process has ended.
    ProcessEnd,
    /// None: until nothing is under way.
    Rest,
}

/// The processors of a machine, observed through `probe`.
fn processors<C: Controller>(
    controllers: &C,
    description: &Description,
    options: &Options,
    count: u16,
    probe: &Probe,
) -> Vec<Option<Box<Processor>>> {
    let soonest_answer = if C::PROBES_INCLUDE_ANSWERS { controllers.lookahead() } else { Duration::ZERO };
    let timing = Rc::new(ProcessorTiming::new(description, controllers.release(), soonest_answer));
    let (announces_clean, seed) = (controllers.announces_clean(), options.seed);
    let make = |cpu| {
        let mut processor = Processor::new(CpuId(cpu), count, timing.clone(), announces_clean, seed, probe.clone());
        if options.mode == Mode::LockStep {
            processor.forbid_skipping();
        }
        Some(Box::new(processor))
    };
    (0..count).map(make).collect()
}

/// The node of each coherence agent: of every hardware thread of a processor and, after those, of as many on every node without processors, in whose
/// names its controller sends requests of its own.
fn agents(description: &Description, topology: &Topology) -> Vec<NodeId> {
    let processors = (0..topology.hardware_threads() as u16).filter_map(|cpu| topology.node_of(CpuId(cpu)));
    let spec = &description.topology;
    let without = topology.nodes().iter().map(|node| node.id).filter(|&node| topology.cpus_of(node).len() == 0);
    let others = without.flat_map(|node| std::iter::repeat_n(node, spec.processors_per_node as usize));
    processors.chain(others).collect()
}

impl<C: Controller> System<C> {
    /// The machine of `description`, with empty caches.
    ///
    /// # Errors
    /// The description requires something that the simulator does not model.
    pub fn new(description: &Description, options: Options) -> Result<Self, SimError> {
        description.check()?;
        let (topology, coherent) = (Topology::new(description), description.coherent_cache());
        let nodes = topology.nodes().len();
        let (count, threads) = (topology.processors() as u16, topology.hardware_threads() as u16);
        let node_of = agents(description, &topology);
        let places = Places { node_of, nodes, channels: topology.channels().count() };
        let paging = Paging::new(&description.os, &topology, &description.tlb, C::DISCOVERY)
            .counted(description.miss_counters.is_some());
        let mut network = Network::new(description, topology, C::NETWORKS.len());
        if let Some(fault) = options.fault {
            network.plant(fault);
        }
        let lines = LineMap::of(description);
        let controllers = C::new(&Blueprint { description, network: &network, lines, options })?;
        let capacity = Bytes(description.topology.node_memory.0.saturating_sub(controllers.reserved().0));
        let way = Bytes(coherent.size.0 / u64::from(coherent.ways));
        let subject = Subject {
            threads: threads.into(),
            processors: count.into(),
            cache_lines: description.held_lines() as usize,
            line_shift: coherent.line.0.ilog2(),
            relaxes_order: controllers.relaxes_order(),
            recalls: controllers.recalls(),
        };
        let observation = Observation::new(observe::subscribe(&options, &subject), options.fault);
        Ok(Self {
            processors: processors(&controllers, description, &options, count, &observation.probe),
            controllers,
            kernel: Kernel::new(places, options.random_delay, options.seed),
            network,
            memory: Memory::new(nodes, capacity, description.tlb.page, way, lines)
                .prefetched_by(description.prefetch.as_ref().map_or(Bytes(0), |prefetch| prefetch.region)),
            paging,
            shootdowns: Shootdowns::default(),
            threads: Threads::new(threads, description.scheduler.clone()),
            observation,
            options,
            failure: None,
            line: coherent.line,
            cycle: description.processor.clock.period(),
        })
    }

    /// The size of a line.
    pub fn line(&self) -> Bytes {
        self.line
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.kernel.handled()
    }

    /// Messages under way: zero after [`Self::run`] has returned.
    pub fn messages_under_way(&self) -> usize {
        self.kernel.envelopes.len()
    }

    /// Probes under way: zero after [`Self::run`] has returned.
    pub fn probes_under_way(&self) -> usize {
        self.kernel.probes_under_way()
    }

    /// Consecutive whole pages on node `home`, at least `bytes` of them.
    ///
    /// # Errors
    /// The node does not exist, or has no room left.
    pub fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        let start = self.memory.allocate(home, bytes)?;
        self.controllers.allocated(home, self.memory.within_reach(home).0 / self.line.0);
        Ok(start)
    }

    /// Runs programs, one on each given processor, until all have ended. All start at the present time.
    ///
    /// # Errors
    /// A processor does not exist or has two programs; the programs deadlock; the protocol meets a case that it
    /// excludes; the host has no memory for a stack.
    pub fn run(&mut self, programs: Vec<(CpuId, Program)>) -> Result<Vec<ThreadReport>, SimError> {
        let count = programs.len();
        let team = Rc::new(Team::new(false));
        self.threads.reports.clear();
        for (thread, (cpu, program)) in programs.into_iter().enumerate() {
            self.start(cpu, program, &team, thread)?;
        }
        self.go_on(count)
    }

    /// Handles events until `count` threads have ended and no message is under way. Returns their reports in the order
    /// of their numbers.
    fn go_on(&mut self, count: usize) -> Result<Vec<ThreadReport>, SimError> {
        if !self.handle_events(Until::Reports(count))? {
            return Err(self.deadlock());
        }
        self.wind_up()
    }

    /// Handles events up to a state of the threads. Returns false if no event is left before. One loop, into which the handling
    /// of an event is compiled: a call for each event would save and restore all registers.
    fn handle_events(&mut self, until: Until) -> Result<bool, SimError> {
        while !self.has_reached(until) {
            if !self.handle_next() {
                return Ok(false);
            }
            if self.failure.is_some() {
                return self.failed();
            }
        }
        Ok(true)
    }

    /// Whether the threads are in a state.
    #[inline]
    fn has_reached(&self, until: Until) -> bool {
        match until {
            Until::Reports(count) => self.threads.reports.len() >= count,
            Until::ProcessEnd => self.threads.process.as_ref().is_none_or(Process::has_ended),
            Until::Rest => false,
        }
    }

    /// Completes everything under way after the last program has ended. Returns the reports in the order of their
    /// threads.
    fn wind_up(&mut self) -> Result<Vec<ThreadReport>, SimError> {
        // No thread is left for a scheduler.
        (self.threads.schedule, self.threads.schedule_next) = (None, Time::MAX);
        // Writebacks and revisions still under way arrive.
        self.handle_events(Until::Rest)?;
        // Programs whose references all hit have run ahead of the last event.
        self.kernel.now =
            self.threads.reports.iter().map(|(_, report)| report.finished).fold(self.kernel.now, Time::max);
        self.look_finally(self.kernel.now);
        self.threads.reports.sort_unstable_by_key(|&(thread, _)| thread);
        Ok(self.threads.reports.drain(..).map(|(_, report)| report).collect())
    }

    /// Handles the next event. Returns false if there is none.
    #[inline(always)]
    fn handle_next(&mut self) -> bool {
        let Some((time, event)) = self.kernel.pop() else { return false };
        if matches!(event, Event::Schedule) && self.threads.schedule.is_none() {
            // The event was scheduled for threads that have ended.
            return true;
        }
        while self.observation.due <= time {
            self.look(self.observation.due);
        }
        self.kernel.advance(time);
        match event {
            Event::Resume(cpu) if self.is_due(cpu) => self.resume(cpu),
            Event::Resume(cpu) => self.put_off(cpu),
            Event::Schedule => {
                self.ring();
                self.on_schedule();
            }
            Event::Left(cpu) => self.on_left(cpu),
            Event::Filled(cpu, miss) => self.on_filled(cpu, miss),
            Event::Route(channel, id) => self.on_route(channel, id),
            Event::Credits(channel, lane) => self.on_credits(channel, lane),
            Event::Page(event) => self.on_page(event),
            Event::Node(event) => C::happened(self, event),
        }
        true
    }

    #[cold]
    fn failed(&mut self) -> Result<bool, SimError> {
        self.failure.take().map_or(Ok(true), Err)
    }

    /// The node of `cpu`.
    #[inline]
    pub fn node_of(&self, cpu: CpuId) -> NodeId {
        self.kernel.node_of(cpu)
    }

    /// Number of processors.
    #[inline]
    pub fn processors(&self) -> u16 {
        self.processors.len() as u16
    }

    /// Whether the agent `cpu` is a processor, with caches that probes act on.
    #[inline]
    pub fn is_processor(&self, cpu: CpuId) -> bool {
        cpu.index() < self.processors.len()
    }

    /// The processor that is the agent `cpu`, for changes; `None` of a node without processors.
    #[inline]
    pub fn agent_processor(&mut self, cpu: CpuId) -> Option<&mut Processor> {
        if self.is_processor(cpu) { Some(self.processor_mut(cpu)) } else { None }
    }

    /// The copy that the agent `cpu` holds; a node without processors holds none.
    #[inline]
    pub fn copy_of(&mut self, cpu: CpuId, line: LineAddr) -> CachedCopy {
        self.agent_processor(cpu).map_or_else(CachedCopy::default, |processor| processor.copy(line))
    }

    /// The processor with hardware thread `cpu` as the active one, for changes. Between events no processor is in its running
    /// program.
    #[inline]
    pub fn processor_mut(&mut self, cpu: CpuId) -> &mut Processor {
        let core = self.core_of(cpu);
        match &mut self.processors[core.index()] {
            Some(processor) => {
                if C::HARDWARE_THREADS {
                    processor.activate(cpu);
                }
                processor
            }
            None => unreachable!("programs do not run while an event is handled"),
        }
    }

    /// A processor between events, as its latest active hardware thread left it.
    pub fn processor(&self, cpu: CpuId) -> &Processor {
        match &self.processors[self.core_of(cpu).index()] {
            Some(processor) => processor,
            None => unreachable!("programs do not run while an event is handled"),
        }
    }

    /// Registers a message for an agent of node `to`.
    #[inline]
    pub fn envelop(&mut self, message: C::Message, to: NodeId) -> EnvelopeId {
        self.kernel.envelop(message, to)
    }

    /// Schedules an event of a node.
    #[inline]
    pub fn schedule(&mut self, node: NodeId, time: Time, event: C::Event) {
        self.kernel.schedule(node, time, Event::Node(event));
    }

    /// Schedules an event of a processor.
    #[inline]
    pub fn schedule_processor(&mut self, cpu: CpuId, time: Time, event: Event<C::Event>) {
        self.kernel.schedule_processor(cpu, time, event);
    }

    /// Schedules an event of a network channel.
    #[inline]
    pub fn schedule_channel(&mut self, channel: ChannelId, time: Time, event: Event<C::Event>) {
        self.kernel.schedule_channel(channel, time, event);
    }

    /// A random delay, if enabled; zero otherwise.
    #[inline]
    pub fn random_delay(&mut self) -> Duration {
        self.kernel.random_delay()
    }

    /// Whether `fault` is planted and strikes on this occasion.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        self.observation.planted.as_mut().is_some_and(|planted| planted.strikes(fault))
    }

    /// Ends the run with an error.
    #[cold]
    pub fn fail(&mut self, error: impl Into<SimError>) {
        self.failure.get_or_insert_with(|| error.into());
    }

    /// The copies in all caches, by processor.
    pub fn copies(&self) -> impl Iterator<Item = (CpuId, LineAddr, CachedCopy)> + '_ {
        self.processors.iter().flatten().flat_map(|processor| {
            let copy = |line, state, version: Version| (processor.cpu(), line, CachedCopy { state, version });
            processor.copies().map(move |found| copy(LineAddr(found.line), found.state, found.version))
        })
    }
}
