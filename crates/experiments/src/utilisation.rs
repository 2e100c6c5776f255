//! How busy the memory and the links of a node are while threads read its lines (Prestor 2001 section 6.1), and what nodes do
//! in the course of a program (sections 6.2 and 6.4).

use machine::{Description, Topology};
use record::SimulationRow;
use sim::{Options, Program, Simulator, Thread};
use units::{Bandwidth, Bytes, Duration, PhysicalAddr};

use crate::error::ExperimentError;
use crate::profiling::{ProfileRequest, Timeline, Tracing};
use crate::shared_region::{HOME, on_all, processors};

/// Processors that read, and how.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Readers {
    /// Processors of the node itself sum up an array of doubles from one end to the other.
    Reduction {
        /// How many.
        threads: u16,
    },
    /// A processor on each of the nodes nearest to it loads a double of each line.
    Neighbours {
        /// How many.
        threads: u16,
    },
}

/// Utilisation of the node's memory and links meanwhile.
#[derive(Clone, PartialEq, Debug)]
pub struct Utilisation {
    /// Bytes of the lines that the threads read, in MB/s.
    pub mb_per_s: f64,
    /// How much of the time memory was not idle, in percent of Hub cycles.
    pub memory_pct: f64,
    /// How much of the time packets came over the link from the node, in percent of what its router's clock allows.
    pub outgoing_pct: f64,
    /// The same, to the node.
    pub incoming_pct: f64,
    /// How much of each interval memory was not idle: its end in nanoseconds, and percent.
    pub profile: Vec<(f64, f64)>,
}

/// A parallel program, and what its nodes' counters said at equal steps of time.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The run.
    pub row: SimulationRow,
    /// The timeline of its trace.
    pub timeline: Timeline,
}

/// The secondary caches of the experiment, which must only be smaller than what is read.
const CACHE: Bytes = Bytes::from_kib(256);
/// Bytes that each thread reads in an iteration: more than the translation buffer maps, as in arrays larger than the machine's
/// caches.
const PART: Bytes = Bytes::from_kib(4096);
/// Iterations (Prestor 2001, section 6.1).
const ITERATIONS: u64 = 5;
/// From one sample to the next: some eighty in the course of it.
const INTERVAL: f64 = 1e6;
/// Cycles of an addition, which begins when the one before has ended and its double is there (R10000 User's Manual 2.0: latency
/// of floating-point additions), and instructions that are each double's part of the unrolled loop.
const ADD: u32 = 2;
const LOOP: u32 = 1;
/// Bytes of a double.
const DOUBLE: u64 = 8;

/// Runs the experiment on `machine`, with small secondary caches, and reads its trace. The lines are unowned at first.
///
/// # Errors
/// When the machine has too few processors, or the simulation fails.
pub fn run(machine: &Description, readers: Readers, options: Options) -> Result<Utilisation, ExperimentError> {
    let mut machine = machine.clone();
    machine.set_coherent_size(CACHE);
    let topology = Topology::new(&machine);
    let (cpus, stride, sums) = match readers {
        Readers::Reduction { threads } => (topology.cpus_of(HOME).take(threads.into()).collect(), DOUBLE, true),
        Readers::Neighbours { threads } => (processors(&topology, threads), machine.coherent_cache().line.0, false),
    };
    let interval = Duration::from_ns(INTERVAL);
    let mut simulator = Simulator::new(&machine, options)?;
    let request = ProfileRequest {
        nodes: vec![HOME],
        metrics: ["mem", "niout", "niin"].map(str::to_owned).into(),
        interval: Some(interval),
        ..ProfileRequest::default()
    };
    let tracing = Tracing::start(&mut simulator, &machine, &[], &request)?;
    let start = simulator.allocate(HOME, Bytes(PART.0 * cpus.len() as u64))?;
    let program = |index: usize| -> Program {
        let first = start.offset(PART.0 * index as u64);
        Box::new(move |thread| read(thread, first, stride, sums))
    };
    let reports = simulator.run(on_all(&cpus, program))?;
    let ends = reports.iter().map(|report| report.finished);
    let elapsed = ends.max().map_or(Duration::ZERO, |end| end.since(reports[0].started));
    let bytes = Bytes(PART.0 * ITERATIONS * cpus.len() as u64);
    let timeline = tracing.finish()?;
    let node = format!("n{}", HOME.0);
    let whole = |metric| timeline.whole(metric, &node).unwrap_or(f64::NAN);
    Ok(Utilisation {
        mb_per_s: Bandwidth::over(bytes, elapsed).as_mb_per_s(),
        memory_pct: whole("mem"),
        outgoing_pct: whole("niout"),
        incoming_pct: whole("niin"),
        profile: timeline.points("mem", &node),
    })
}

/// Iterations over a thread's part, all threads at a barrier after each.
fn read(thread: &mut Thread<'_>, first: PhysicalAddr, stride: u64, sums: bool) {
    for _ in 0..ITERATIONS {
        for offset in (0..PART.0).step_by(stride as usize) {
            thread.load(first.offset(offset));
            if sums {
                thread.work(ADD);
                thread.instructions(LOOP);
            }
        }
        thread.barrier();
    }
}
