//! The simulated system, for any kind of controller: the event loop, the running programs and the network.

mod bus;
mod check;
mod controller;
mod event;
mod measured;
mod misses;
mod network;
mod paging;
mod process;
mod programs;
mod schedule;
mod sharing;
mod transport;
mod watching;

use std::cell::RefCell;
use std::rc::Rc;

use engine::{EventQueue, Source, StackPool};
use machine::Topology;
use machine::description::{Description, SchedulerSpec};
use protocol::Version;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{Bytes, ChannelId, CpuId, Duration, LineAddr, NodeId, PhysicalAddr, Time};

use crate::causes::Causes;
use crate::fault::{Fault, Saboteur};
use crate::memory::{LineMap, Memory};
use crate::observer::{Observer, SharedObserver};
use crate::os::Paging;
use crate::processor::{CachedCopy, Post, Processor, ProcessorTiming};
use crate::thread::{Program, Team};
use crate::{Mode, Options, SimError};

pub use bus::BusTiming;
pub use check::{Incoherence, Unfinished};
pub use controller::{Blueprint, Controller, Held};
pub use event::{EnvelopeId, Event, NodeEvent};
pub use misses::{Crossing, Served};
pub use network::Network;
pub use programs::ThreadReport;
pub use schedule::Job;

use event::{Envelope, Envelopes, Packed};
use measured::Measured;
use programs::Running;
use schedule::Schedule;
use watching::Watching;

/// A simulated machine whose nodes have controllers of one kind.
pub struct System<C: Controller> {
    /// The controllers.
    pub controllers: C,
    /// The present time.
    pub now: Time,
    /// The network.
    pub network: Network,
    /// Messages under way.
    pub envelopes: Envelopes<C::Message>,
    line: Bytes,
    processors_per_node: u16,
    /// The memory, as allocated.
    pub memory: Memory,
    /// The virtual pages of the programs.
    pub paging: Paging,
    queue: EventQueue<Packed>,
    events: u64,
    /// `None` while the processor is in its running program.
    processors: Vec<Option<Box<Processor>>>,
    processor_sources: Vec<Source>,
    channel_sources: Vec<Source>,
    running: Vec<Option<Running>>,
    /// Reports of ended threads, with their numbers.
    reports: Vec<(usize, ThreadReport)>,
    at_barrier: usize,
    /// The process with dynamic threads, if one runs.
    process: Option<process::Process>,
    /// The scheduler, if one places the threads.
    schedule: Option<Box<Schedule>>,
    /// The time of the scheduler's next own event.
    schedule_next: Time,
    schedule_source: Source,
    scheduler: SchedulerSpec,
    stacks: StackPool,
    /// Emptied after every use.
    posts: Vec<Post>,
    options: Options,
    /// The observer of every access, if enabled.
    pub observer: Option<SharedObserver>,
    /// The source of random delays, if enabled.
    delays: Option<Xoshiro256PlusPlus>,
    /// The saboteur of a planted fault, if there is one.
    pub saboteur: Option<Saboteur>,
    failure: Option<SimError>,
    /// The readings of counters, if there are any.
    watching: Option<Box<Watching>>,
    /// The time of the next reading.
    due: Time,
    /// One cycle of the processors.
    cycle: Duration,
    measured: Measured,
    lookahead: Duration,
}

impl<C: Controller> System<C> {
    /// The machine of `description`, with empty caches.
    ///
    /// # Errors
    /// The description requires something that the simulator does not model.
    pub fn new(description: &Description, options: Options) -> Result<Self, SimError> {
        description.check()?;
        let topology = Topology::new(description);
        let nodes = topology.nodes().len();
        let coherent = description.coherent_cache();
        let lines = LineMap::new(coherent.line);
        let processors = topology.processors() as u16;
        let paging = Paging::new(&description.os, &topology, &description.tlb);
        let network = Network::new(description, topology);
        let channels = network.channels().len();
        // The order of sources breaks ties between events: processors, controllers, channels.
        let mut source = (0..).map(Source::new);
        let processor_sources = source.by_ref().take(usize::from(processors)).collect();
        let blueprint = Blueprint { description, network: &network, lines, options };
        let controllers = C::new(&blueprint, source.by_ref().take(nodes))?;
        let capacity = Bytes(description.topology.node_memory.0.saturating_sub(controllers.reserved().0));
        let way = Bytes(coherent.size.0 / u64::from(coherent.ways));
        let soonest_answer = if C::FORESEES_ANSWERS { controllers.lookahead() } else { Duration::ZERO };
        let timing = ProcessorTiming::new(description, controllers.release(), soonest_answer);
        let (announces_clean, controllers_relax) = (controllers.announces_clean(), controllers.relaxes_order());
        let make_observer = || Rc::new(RefCell::new(Observer::new(controllers_relax, C::WRITE_PREFETCHES_STORE)));
        let observer = options.check_loads.then(make_observer);
        let cache = description.held_lines() as usize;
        let make_causes = || Rc::new(RefCell::new(Causes::new(processors.into(), cache)));
        let causes = (options.miss_causes || options.attribute).then(make_causes);
        let make = |cpu| {
            let mut processor = Processor::new(CpuId(cpu), timing.clone(), announces_clean, options.seed);
            if let Some(observer) = &observer {
                processor.observe(observer.clone());
            }
            if let Some(causes) = &causes {
                processor.tell_causes(causes.clone());
            }
            if options.attribute {
                processor.attribute();
            }
            if options.mode == Mode::LockStep {
                processor.forbid_rest();
            }
            Some(Box::new(processor))
        };
        Ok(Self {
            lookahead: controllers.lookahead(),
            controllers,
            now: Time::ZERO,
            network,
            envelopes: Envelopes::default(),
            line: coherent.line,
            processors_per_node: description.topology.processors_per_node as u16,
            memory: Memory::new(nodes, capacity, description.tlb.page, way),
            paging,
            queue: EventQueue::new(),
            events: 0,
            processors: (0..processors).map(make).collect(),
            processor_sources,
            channel_sources: source.by_ref().take(channels).collect(),
            running: (0..processors).map(|_| None).collect(),
            reports: Vec::new(),
            at_barrier: 0,
            process: None,
            schedule: None,
            schedule_next: Time::MAX,
            schedule_source: source.next().unwrap_or(Source::new(u32::MAX >> 12)),
            scheduler: description.scheduler.clone(),
            stacks: StackPool::default(),
            posts: Vec::new(),
            options,
            observer,
            delays: (options.random_delay > Duration::ZERO).then(|| Xoshiro256PlusPlus::seed_from_u64(options.seed)),
            saboteur: options.fault.map(Saboteur::new),
            failure: None,
            due: Time::MAX,
            watching: None,
            cycle: description.processor.clock.period(),
            measured: Measured::default(),
        })
    }

    /// The size of a line.
    pub fn line(&self) -> Bytes {
        self.line
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Messages under way: zero after [`Self::run`] has returned.
    pub fn messages_under_way(&self) -> usize {
        self.envelopes.len()
    }

    /// Consecutive whole pages on node `home`, at least `bytes` of them.
    ///
    /// # Errors
    /// The node does not exist, or has no room left.
    pub fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        let start = self.memory.allocate(home, bytes)?;
        self.controllers.allocated(home, self.memory.allocated(home).0 / self.line.0);
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
        self.reports.clear();
        for (thread, (cpu, program)) in programs.into_iter().enumerate() {
            self.start(cpu, program, &team, thread)?;
        }
        self.go_on(count)
    }

    /// Handles events until `count` threads have ended and no message is under way. Returns their reports in the order
    /// of their numbers.
    fn go_on(&mut self, count: usize) -> Result<Vec<ThreadReport>, SimError> {
        while self.reports.len() < count {
            if !self.step()? {
                return Err(self.deadlock());
            }
        }
        self.wind_up()
    }

    /// Completes everything under way after the last program has ended. Returns the reports in the order of their
    /// threads.
    fn wind_up(&mut self) -> Result<Vec<ThreadReport>, SimError> {
        // No thread is left for a scheduler.
        (self.schedule, self.schedule_next) = (None, Time::MAX);
        // Writebacks and revisions still under way arrive.
        while self.step()? {}
        // Programs whose references all hit have run ahead of the last event.
        self.now = self.reports.iter().map(|(_, report)| report.finished).fold(self.now, Time::max);
        self.look_finally(self.now);
        self.reports.sort_unstable_by_key(|&(thread, _)| thread);
        Ok(self.reports.drain(..).map(|(_, report)| report).collect())
    }

    /// Handles the next event. Returns false if there is none.
    #[inline]
    fn step(&mut self) -> Result<bool, SimError> {
        let Some((time, event)) = self.queue.pop() else { return Ok(false) };
        let event = event.into();
        if matches!(event, Event::Schedule) && self.schedule.is_none() {
            // The event was scheduled for threads that have ended.
            return Ok(true);
        }
        while self.due <= time {
            self.look(self.due);
        }
        self.now = time;
        self.events += 1;
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
            Event::Node(event) => C::happened(self, event),
        }
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    /// The node of `cpu`.
    #[inline]
    pub fn node_of(&self, cpu: CpuId) -> NodeId {
        NodeId(cpu.0 / self.processors_per_node)
    }

    /// The processor `cpu`, for changes. Between events no processor is in its running program.
    #[inline]
    pub fn processor_mut(&mut self, cpu: CpuId) -> &mut Processor {
        match &mut self.processors[cpu.index()] {
            Some(processor) => processor,
            None => unreachable!("programs do not run while an event is handled"),
        }
    }

    /// A processor between events.
    pub fn processor(&self, cpu: CpuId) -> &Processor {
        match &self.processors[cpu.index()] {
            Some(processor) => processor,
            None => unreachable!("programs do not run while an event is handled"),
        }
    }

    /// Registers a message for an agent of node `to`.
    #[inline]
    pub fn envelop(&mut self, message: C::Message, to: NodeId) -> EnvelopeId {
        self.envelopes.insert(Envelope {
            message,
            to,
            spread: Duration::ZERO,
            holds: None,
            reached: Time::ZERO,
            waited: Duration::ZERO,
        })
    }

    /// Schedules an event of a node.
    #[inline]
    pub fn schedule(&mut self, node: NodeId, time: Time, event: C::Event) {
        self.schedule_common(node, time, Event::Node(event));
    }

    #[inline]
    fn schedule_common(&mut self, node: NodeId, time: Time, event: Event<C::Event>) {
        let rank = self.controllers.source(node).rank();
        self.queue.push(time, rank, event.into());
    }

    /// Schedules an event of a processor.
    #[inline]
    pub fn schedule_processor(&mut self, cpu: CpuId, time: Time, event: Event<C::Event>) {
        let rank = self.processor_sources[cpu.index()].rank();
        self.queue.push(time, rank, event.into());
    }

    /// Schedules an event of a network channel.
    #[inline]
    pub fn schedule_channel(&mut self, channel: ChannelId, time: Time, event: Event<C::Event>) {
        let rank = self.channel_sources[channel.index()].rank();
        self.queue.push(time, rank, event.into());
    }

    /// A random delay, if enabled; zero otherwise.
    #[inline]
    pub fn random_delay(&mut self) -> Duration {
        match &mut self.delays {
            None => Duration::ZERO,
            Some(random) => Duration(random.next_u64() % (self.options.random_delay.0 + 1)),
        }
    }

    /// Whether `fault` is planted and strikes on this occasion.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        self.saboteur.as_mut().is_some_and(|saboteur| saboteur.strikes(fault))
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
