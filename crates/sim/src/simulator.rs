//! The simulated machine: its parts, its event loop, and the programs that run on it.

use std::cell::Cell;
use std::rc::Rc;

use engine::{Coroutine, EventQueue, Rank, Source, StackPool, Step};
use machine::Topology;
use machine::description::Description;
use protocol::{CacheContext, CacheLine, Geometry, Message};
use units::{Bytes, ChannelId, CpuId, Duration, LineAddr, NodeId, PhysicalAddr, Time};

use crate::check::LastStores;
use crate::event::{Envelope, EnvelopeId, Envelopes, Event, Packed};
use crate::hub::{Hub, HubCounters, HubTiming};
use crate::memory::Memory;
use crate::network::Network;
use crate::processor::{Processor, ProcessorCounters, ProcessorTiming, Wait};
use crate::thread::{Program, Thread};
use crate::{Mode, Options, SimError};

/// What a finished thread has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadReport {
    /// The processor it ran on.
    pub cpu: CpuId,
    /// When it started.
    pub started: Time,
    /// When the last of its accesses was done.
    pub finished: Time,
    /// What its processor did meanwhile.
    pub counters: ProcessorCounters,
}

type Body = Coroutine<Box<Processor>, (Box<Processor>, Wait), Box<Processor>>;

/// A running program.
struct Running {
    body: Body,
    wait: Option<Wait>,
    started: Time,
    before: ProcessorCounters,
}

/// A simulated machine. Its caches, directory and clock keep their state from one [`Simulator::run`] to the next.
pub struct Simulator {
    pub(crate) geometry: Geometry,
    pub(crate) hub_timing: HubTiming,
    pub(crate) now: Time,
    pub(crate) memory: Memory,
    pub(crate) hubs: Vec<Hub>,
    pub(crate) network: Network,
    pub(crate) envelopes: Envelopes,
    queue: EventQueue<Packed>,
    events: u64,
    /// `None` while the processor is in its running program.
    processors: Vec<Option<Box<Processor>>>,
    processor_sources: Vec<Source>,
    channel_sources: Vec<Source>,
    running: Vec<Option<Running>>,
    reports: Vec<ThreadReport>,
    at_barrier: usize,
    stacks: StackPool,
    options: Options,
    pub(crate) last_stores: Option<LastStores>,
    failure: Option<SimError>,
    /// No event can lead to an intervention or invalidation at a processor sooner than this after it.
    lookahead: Duration,
}

impl Simulator {
    /// The machine of `description`, with empty caches.
    ///
    /// # Errors
    /// The description asks for what the simulator cannot do.
    pub fn new(description: &Description, options: Options) -> Result<Self, SimError> {
        SimError::check(description)?;
        let topology = Topology::new(description);
        let nodes = topology.nodes().len();
        let geometry = Geometry {
            nodes: nodes as u16,
            processors_per_node: description.topology.processors_per_node as u16,
            priority_limit: Geometry::ORIGIN_PRIORITY_LIMIT,
        };
        let memory = Memory::new(nodes, description.topology.node_memory, description.tlb.page, description.l2.line);
        let processor_timing = ProcessorTiming::new(description)?;
        let hub_timing = HubTiming::new(description)?;
        let network = Network::new(description, topology);
        let processors = usize::from(geometry.processors());
        let channels = network.channels().len();
        // Sources in the order in which ties are broken: processors, Hubs, channels.
        let mut source = (0..).map(Source::new);
        let processor_sources = source.by_ref().take(processors).collect();
        let hubs = source.by_ref().take(nodes).map(Hub::new).collect();
        let make = |cpu| {
            let shift = memory.home_shift();
            Some(Box::new(Processor::new(CpuId(cpu), processor_timing.clone(), geometry, shift, options.seed)))
        };
        Ok(Self {
            geometry,
            // The shortest way of an intervention or invalidation: within a node, with the bus free.
            lookahead: hub_timing.crossbar + hub_timing.interface_in,
            hub_timing,
            now: Time::ZERO,
            hubs,
            network,
            envelopes: Envelopes::default(),
            queue: EventQueue::new(),
            events: 0,
            processors: (0..geometry.processors()).map(make).collect(),
            memory,
            processor_sources,
            channel_sources: source.take(channels).collect(),
            running: (0..processors).map(|_| None).collect(),
            reports: Vec::new(),
            at_barrier: 0,
            stacks: StackPool::default(),
            options,
            last_stores: options.check_loads.then(LastStores::default),
            failure: None,
        })
    }

    /// The machine's topology.
    pub fn topology(&self) -> &Topology {
        self.network.topology()
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What a node's Hub did since the start.
    pub fn hub_counters(&self, node: NodeId) -> Option<HubCounters> {
        self.hubs.get(node.index()).map(Hub::counters)
    }

    /// Consecutive whole pages on node `home`, at least `bytes` of them.
    ///
    /// # Errors
    /// The node does not exist, or has no room left.
    pub fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        self.memory.allocate(home, bytes)
    }

    /// Runs programs, one a processor, until all have ended. All start at the present time.
    ///
    /// # Errors
    /// A processor does not exist or was given two programs; a program waits for what never comes; the protocol met a
    /// case that it rules out; the host has no memory for a stack.
    pub fn run(&mut self, programs: Vec<(CpuId, Program)>) -> Result<Vec<ThreadReport>, SimError> {
        let count = programs.len();
        let stop = Rc::new(Cell::new(false));
        self.reports.clear();
        let mut cpus = Vec::with_capacity(count);
        for (cpu, program) in programs {
            self.start(cpu, program, &stop)?;
            cpus.push(cpu);
        }
        while self.reports.len() < count {
            let Some((time, event)) = self.queue.pop() else { return Err(self.deadlock()) };
            self.now = time;
            self.events += 1;
            self.handle(event.into());
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
        }
        self.settle()?;
        // Programs whose references all hit have run ahead of the last event.
        self.now = self.reports.iter().map(|report| report.finished).fold(self.now, Time::max);
        let order = |cpu: &CpuId| self.reports.iter().find(|report| report.cpu == *cpu).copied();
        Ok(cpus.iter().filter_map(order).collect())
    }

    /// Lets everything still under way (writebacks, revisions) arrive.
    fn settle(&mut self) -> Result<(), SimError> {
        while let Some((time, event)) = self.queue.pop() {
            self.now = time;
            self.events += 1;
            self.handle(event.into());
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
        }
        Ok(())
    }

    fn start(&mut self, cpu: CpuId, program: Program, stop: &Rc<Cell<bool>>) -> Result<(), SimError> {
        let processors = self.processors.len();
        let place = self.running.get_mut(cpu.index()).ok_or(SimError::NoSuchProcessor { cpu, processors })?;
        if place.is_some() {
            return Err(SimError::TwoPrograms { cpu });
        }
        let stop = stop.clone();
        let body = Body::new(&mut self.stacks, move |yielder, processor| {
            let mut thread = Thread::new(yielder, processor, stop);
            program(&mut thread);
            thread.drain();
            thread.into_processor()
        })
        .map_err(SimError::NoStack)?;
        let before = self.processors[cpu.index()].as_ref().map(|p| p.counters()).unwrap_or_default();
        *place = Some(Running { body, wait: Some(Wait::Until(self.now)), started: self.now, before });
        let rank = self.processor_sources[cpu.index()].rank();
        self.queue.push(self.now, rank, Event::Resume(cpu).into());
        Ok(())
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Resume(cpu) => self.resume(cpu),
            Event::Request(cpu, id) => self.on_request(cpu, id),
            Event::Home(id) => self.on_home(id),
            Event::Interface(id) => self.on_interface(id),
            Event::Snoop(id) => self.on_snoop(id),
            Event::Supply(response, revision) => self.on_supply(response, revision),
            Event::Inject(node, id) => self.on_inject(node, id),
            Event::Depart(node, id) => self.on_depart(node, id),
            Event::Arrive(id) => self.on_arrive(id),
            Event::Route(channel, id) => self.on_route(channel, id),
            Event::Credits(channel, lane) => self.on_credits(channel, lane),
            Event::Filled(cpu, miss) => self.on_filled(cpu, miss),
            Event::Retry(cpu, miss) => self.on_retry(cpu, miss),
        }
    }

    /// Lets the program on `cpu` go on from the present time, up to where it must wait.
    pub(crate) fn resume(&mut self, cpu: CpuId) {
        let horizon = self.horizon(cpu);
        let Some(mut processor) = self.processors[cpu.index()].take() else { return };
        let Some(running) = &mut self.running[cpu.index()] else {
            self.processors[cpu.index()] = Some(processor);
            return;
        };
        processor.release(self.now, horizon);
        match running.body.resume(processor) {
            Step::Suspended((mut processor, wait)) => {
                self.post(cpu, &mut processor);
                self.processors[cpu.index()] = Some(processor);
                self.suspended(cpu, wait);
            }
            Step::Finished(mut processor) => {
                self.post(cpu, &mut processor);
                self.finished(cpu, &processor);
                self.processors[cpu.index()] = Some(processor);
            }
        }
    }

    /// The program on `cpu` goes on at `time`.
    pub(crate) fn resume_at(&mut self, cpu: CpuId, time: Time) {
        if let Some(running) = &mut self.running[cpu.index()] {
            running.wait = Some(Wait::Until(time));
        }
        let rank = self.processor_sources[cpu.index()].rank();
        self.queue.push(time, rank, Event::Resume(cpu).into());
    }

    /// Until when the program on `cpu` may run without an event: up to the next event in lock-step; further if nothing
    /// can reach this processor until some time after it.
    #[inline]
    fn horizon(&mut self, cpu: CpuId) -> Time {
        let soonest = Time(self.now.0 + 1);
        if self.options.mode == Mode::LockStep {
            return soonest;
        }
        let node = self.geometry.node_of(cpu);
        let next = self.queue.peek_time().unwrap_or(Time::MAX);
        let unthreatened = self.hubs[node.index()].threats == 0
            && self.processors[cpu.index()].as_ref().is_some_and(|processor| processor.is_quiet());
        let horizon = if unthreatened { Time(next.0.saturating_add(self.lookahead.0)) } else { next };
        horizon.max(soonest)
    }

    fn post(&mut self, cpu: CpuId, processor: &mut Processor) {
        let to = self.geometry.node_of(cpu);
        for post in processor.take_posts() {
            let envelope = Envelope { message: post.message, to, spread: Duration::ZERO, holds: None };
            let id = self.envelopes.insert(envelope);
            let rank = self.processor_sources[cpu.index()].rank();
            self.queue.push(post.at, rank, Event::Request(cpu, id).into());
        }
    }

    /// Sends what a processor has to send although its program does not run.
    pub(crate) fn post_now(&mut self, cpu: CpuId) {
        if let Some(mut processor) = self.processors[cpu.index()].take() {
            self.post(cpu, &mut processor);
            self.processors[cpu.index()] = Some(processor);
        }
    }

    fn suspended(&mut self, cpu: CpuId, wait: Wait) {
        let Some(running) = &mut self.running[cpu.index()] else { return };
        running.wait = Some(wait);
        match wait {
            Wait::Until(time) => self.resume_at(cpu, time.max(self.now)),
            Wait::Barrier => {
                self.at_barrier += 1;
                self.release_barrier();
            }
            _ => {}
        }
    }

    /// Lets all go on if all that still run are at the barrier: from the time of the last one's arrival.
    fn release_barrier(&mut self) {
        let running = self.running.iter().flatten().count();
        if self.at_barrier == 0 || self.at_barrier < running {
            return;
        }
        self.at_barrier = 0;
        let waiting = |running: &Option<Running>| running.as_ref().is_some_and(|r| r.wait == Some(Wait::Barrier));
        let cpus: Vec<_> = (0..self.running.len()).filter(|&cpu| waiting(&self.running[cpu])).collect();
        let clock = |cpu: &usize| self.processors[*cpu].as_ref().map_or(self.now, |processor| processor.time());
        let last = cpus.iter().map(clock).max().unwrap_or(self.now).max(self.now);
        for cpu in cpus {
            let rank = self.processor_sources[cpu].rank();
            self.queue.push(last, rank, Event::Resume(CpuId(cpu as u16)).into());
        }
    }

    fn finished(&mut self, cpu: CpuId, processor: &Processor) {
        let Some(running) = self.running[cpu.index()].take() else { return };
        self.reports.push(ThreadReport {
            cpu,
            started: running.started,
            finished: processor.time().max(self.now),
            counters: processor.counters().since(&running.before),
        });
        running.body.recycle(&mut self.stacks);
        self.release_barrier();
    }

    /// What the program on `cpu` waits for.
    #[inline]
    pub(crate) fn waits(&self, cpu: CpuId) -> Option<Wait> {
        self.running[cpu.index()].as_ref().and_then(|running| running.wait)
    }

    /// A processor that is not in its running program: between events, every one.
    #[inline]
    pub(crate) fn processor_mut(&mut self, cpu: CpuId) -> &mut Processor {
        match &mut self.processors[cpu.index()] {
            Some(processor) => processor,
            None => unreachable!("programs do not run while an event is handled"),
        }
    }

    /// Applies a handler of the protocol to a line at a processor.
    #[inline]
    pub(crate) fn with_line<T>(
        &mut self,
        cpu: CpuId,
        line: LineAddr,
        handler: impl FnOnce(&mut CacheLine, &CacheContext) -> T,
    ) -> T {
        let processor = self.processor_mut(cpu);
        let mut cache = processor.line(line);
        let result = handler(&mut cache, &processor.context(line));
        processor.set_line(line, cache);
        result
    }

    /// Keeps a message of `node` until it can be dispatched.
    pub(crate) fn hold(&mut self, node: NodeId, message: Message) -> EnvelopeId {
        self.envelopes.insert(Envelope { message, to: node, spread: Duration::ZERO, holds: None })
    }

    /// Schedules an event of a Hub.
    #[inline]
    pub(crate) fn schedule(&mut self, node: NodeId, time: Time, event: Event) {
        let rank: Rank = self.hubs[node.index()].source.rank();
        self.queue.push(time, rank, event.into());
    }

    /// Schedules an event of a network channel.
    #[inline]
    pub(crate) fn schedule_network(&mut self, channel: ChannelId, time: Time, event: Event) {
        let rank = self.channel_sources[channel.index()].rank();
        self.queue.push(time, rank, event.into());
    }

    /// Something happened that cannot: the run ends.
    #[cold]
    pub(crate) fn fail(&mut self, error: impl Into<SimError>) {
        self.failure.get_or_insert_with(|| error.into());
    }

    #[cold]
    fn deadlock(&self) -> SimError {
        let stuck = |(cpu, running): (usize, &Option<Running>)| {
            let wait = running.as_ref()?.wait?;
            Some(format!("processor {cpu} waits for {wait:?}"))
        };
        let waits: Vec<_> = self.running.iter().enumerate().filter_map(stuck).collect();
        SimError::Deadlock { at: self.now, waits: waits.join(", ") }
    }

    /// Messages under way: none after [`Simulator::run`] has returned.
    pub fn messages_under_way(&self) -> usize {
        self.envelopes.len()
    }
}
