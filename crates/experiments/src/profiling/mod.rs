//! Profiles of programs on simulated machines: what the machine's counters say over time, as a trace like any other.

mod choice;
mod offer;
mod source;
mod timeline;

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use machine::Description;
use profile::Sampler;
use serde::{Deserialize, Serialize};
use sim::counters::{Round, Watch};
use sim::{Options, SimError, Simulator};
use trace::metric::Metric;
use trace::{Event, Preamble, Trace, TraceWriter, WriteError};
use units::{CpuId, Duration, NodeId, Port, RouterId};

use crate::error::ExperimentError;
use crate::simulation::{Simulated, Simulation, run_watched};
use source::SimulatedSource;

pub use choice::metrics;
pub use timeline::Timeline;

/// Samples after which a trace is handed to the operating system.
const FLUSH: u64 = 256;

/// The objects and metrics to sample, and how.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProfileRequest {
    /// Nodes; none for those on which threads run first.
    pub nodes: Vec<NodeId>,
    /// Ports of routers; none for all of them, if a metric is of ports.
    pub ports: Vec<(RouterId, Port)>,
    /// Metrics or counters by their names; none for the main ones.
    pub metrics: Vec<String>,
    /// From one sample to the next; chosen by the widths of registers if not said.
    pub interval: Option<Duration>,
    /// The processor that reads registers and pays for it; without, an observer from outside reads for nothing.
    pub reader: Option<CpuId>,
    /// The virtual channel that histograms of queues are of: 0 has requests, 1 replies.
    pub queue_channel: u8,
    /// Metrics that are declared; none for those that are built in.
    pub declared: Vec<Metric>,
    /// The command line that the trace is to name.
    pub command: Vec<String>,
}

/// Intervals and summary of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// From one sample to the next.
    pub sample: Duration,
    /// From one reading of registers to the next.
    pub reading: Duration,
    /// The summary of the sampler at its end.
    pub summary: Event,
}

/// Reads, and writes down.
struct Recorder {
    source: SimulatedSource,
    sampler: Sampler,
    writer: TraceWriter<Box<dyn Write>>,
    /// Rounds since the last sample, and samples since the last flush.
    rounds: u64,
    samples: u64,
    begun: bool,
    failed: Option<WriteError>,
}

impl Recorder {
    fn round(&mut self, round: &Round<'_>) {
        self.source.take(round);
        if self.failed.is_none()
            && let Err(error) = self.note()
        {
            self.failed = Some(error);
        }
    }

    fn note(&mut self) -> Result<(), WriteError> {
        if !self.begun {
            self.begun = true;
            self.sampler.refresh(&mut self.source, &mut self.writer)?;
            return self.sample();
        }
        self.rounds += 1;
        if self.rounds < self.sampler.interval().readings() {
            self.sampler.read(&mut self.source);
            return Ok(());
        }
        self.sample()
    }

    fn sample(&mut self) -> Result<(), WriteError> {
        self.sampler.sample(&mut self.source, &mut self.writer)?;
        self.rounds = 0;
        self.samples += 1;
        if self.samples.is_multiple_of(FLUSH) { self.writer.flush() } else { Ok(()) }
    }

    /// The program is over: what was read since the last sample is one, too.
    fn finish(mut self) -> Result<Recorded, WriteError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.rounds > 0 {
            self.sample()?;
        }
        let (summary, interval) = (self.sampler.summary(), self.sampler.interval());
        self.writer.event(self.sampler.time_ns(), &summary)?;
        self.writer.finish()?;
        let [sample, reading] = [interval.sample_ns, interval.reading_ns].map(|ns| Duration(ns * 1000));
        Ok(Recorded { sample, reading, summary })
    }
}

/// Whether a machine has all that `request` asks for. `threads` are as for [`Recording::start`], as far as they are known.
///
/// # Errors
/// The first that it has not.
pub fn check(
    machine: &Description,
    threads: &[(String, CpuId)],
    request: &ProfileRequest,
) -> Result<(), ExperimentError> {
    let simulator = Simulator::new(machine, Options::default())?;
    choice::choose(&simulator, machine, threads, request)?;
    let processors = simulator.topology().hardware_threads() as usize;
    match request.reader.filter(|cpu| usize::from(cpu.0) >= processors) {
        Some(cpu) => Err(SimError::NoSuchProcessor { cpu, processors }.into()),
        None => Ok(()),
    }
}

/// A trace that is being written while a simulator runs.
pub struct Recording {
    recorder: Rc<RefCell<Option<Recorder>>>,
}

impl Recording {
    /// From now on, what `request` asks for of a machine is written to `destination`. `threads` are what its threads are called, by
    /// their numbers, and the processors that they begin on.
    ///
    /// # Errors
    /// When something is asked for that there is not, or the destination fails.
    pub fn start(
        simulator: &mut Simulator,
        machine: &Description,
        threads: &[(String, CpuId)],
        request: &ProfileRequest,
        destination: Box<dyn Write>,
    ) -> Result<Self, ExperimentError> {
        let chosen = choice::choose(simulator, machine, threads, request)?;
        let (source, units) = SimulatedSource::new(machine, simulator.topology(), &chosen);
        let asked = request.interval.map(|interval| (interval.0 / 1000).max(1));
        let sampler = Sampler::new(profile::CounterSource::counters(&source), asked);
        let processors = simulator.topology().hardware_threads();
        let mut preamble = Preamble {
            machine: format!("{} ({processors} processors, simulated)", machine.name),
            simulated: true,
            description: machine.to_toml(),
            command: request.command.clone(),
            clock: "simulated time".to_owned(),
            ..Preamble::default()
        };
        sampler.describe(&source, &mut preamble);
        let writer = TraceWriter::new(destination, &preamble, profile::CounterSource::counters(&source))?;
        let interval = Duration(sampler.interval().reading_ns * 1000);
        let recorder = Recorder { source, sampler, writer, rounds: 0, samples: 0, begun: false, failed: None };
        let recorder = Rc::new(RefCell::new(Some(recorder)));
        let told = recorder.clone();
        let watch = Watch { interval, reader: request.reader, units };
        simulator.watch(
            watch,
            Box::new(move |round| {
                if let Some(recorder) = told.borrow_mut().as_mut() {
                    recorder.round(round);
                }
            }),
        )?;
        Ok(Self { recorder })
    }

    /// The run is over: the trace is whole.
    ///
    /// # Errors
    /// When the destination has failed.
    pub fn finish(self) -> Result<Option<Recorded>, ExperimentError> {
        let recorder = self.recorder.borrow_mut().take();
        Ok(recorder.map(Recorder::finish).transpose()?)
    }
}

/// A trace that nobody keeps: it is read as soon as it is whole.
pub struct Tracing {
    recording: Recording,
    written: Rc<RefCell<Vec<u8>>>,
}

/// Memory that a trace is written to.
struct InMemory(Rc<RefCell<Vec<u8>>>);

impl Write for InMemory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Tracing {
    /// As [`Recording::start`].
    ///
    /// # Errors
    /// As there.
    pub fn start(
        simulator: &mut Simulator,
        machine: &Description,
        threads: &[(String, CpuId)],
        request: &ProfileRequest,
    ) -> Result<Self, ExperimentError> {
        let written = Rc::new(RefCell::new(Vec::new()));
        let destination = Box::new(InMemory(written.clone()));
        Ok(Self { recording: Recording::start(simulator, machine, threads, request, destination)?, written })
    }

    /// The timeline of the trace, now that the run is over.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn finish(self) -> Result<Timeline, ExperimentError> {
        self.recording.finish()?;
        let trace = Trace::read(self.written.borrow().as_slice())?;
        Ok(Timeline::of(&trace))
    }
}

/// Runs a program as [`Simulation::run`], and reads the trace that [`record()`] writes of it.
///
/// # Errors
/// As there.
pub fn trace_of(simulation: &Simulation, request: &ProfileRequest) -> Result<(Simulated, Timeline), ExperimentError> {
    traced(simulation, request).map(|(simulated, trace)| (simulated, Timeline::of(&trace)))
}

/// Runs a program as [`Simulation::run`], with the trace that [`record()`] writes of it.
///
/// # Errors
/// As there.
pub fn traced(simulation: &Simulation, request: &ProfileRequest) -> Result<(Simulated, Trace), ExperimentError> {
    let written = Rc::new(RefCell::new(Vec::new()));
    let (simulated, _) = record(simulation, request, Box::new(InMemory(written.clone())))?;
    let trace = Trace::read(written.borrow().as_slice())?;
    Ok((simulated, trace))
}

/// Runs a program as [`Simulation::run`], and writes a trace of it to `destination`.
///
/// # Errors
/// As there; when something is asked for that there is not, or the destination fails.
pub fn record(
    simulation: &Simulation,
    request: &ProfileRequest,
    destination: Box<dyn Write>,
) -> Result<(Simulated, Recorded), ExperimentError> {
    let threads = simulation.threads();
    let mut recording = None;
    let mut simulated = run_watched(std::slice::from_ref(simulation), |simulator| {
        recording = Some(Recording::start(simulator, simulation.description(), &threads, request, destination)?);
        Ok(())
    })?;
    let recorded = recording.map(Recording::finish).transpose()?.flatten();
    match recorded {
        Some(recorded) => Ok((simulated.swap_remove(0), recorded)),
        None => unreachable!("a run that has ended was watched"),
    }
}
