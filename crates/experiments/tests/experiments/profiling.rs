//! Traces of simulated machines: what a profiler's 64-bit totals say is what there was, and metrics say what the thesis means.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use experiments::profiling::{ProfileRequest, Recording, Timeline, Tracing, record, trace_of};
use experiments::{Simulated, Simulation};
use sim::counters::{CounterUnit, Place, Watch, Watched};
use sim::{Mode, Options, Program, Simulator, Thread};
use trace::{Event, Trace};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr};
use workloads::{Settings, Workload};

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn ms(count: u64) -> Duration {
    Duration(count * 1_000_000_000)
}

fn asks(metrics: &[&str], interval: Duration) -> ProfileRequest {
    let metrics = metrics.iter().map(|&metric| metric.to_owned()).collect();
    ProfileRequest { metrics, interval: Some(interval), ..ProfileRequest::default() }
}

fn simulation(machine: &str, program: &str, cpus: u16, mode: Mode) -> Simulation {
    let workload = Workload::new(program, &Settings::default()).unwrap();
    Simulation::new(machine::load(machine).unwrap(), workload, Some(cpus), Options { mode, ..Options::default() })
        .unwrap()
}

fn recorded(simulation: &Simulation, request: &ProfileRequest) -> (Simulated, Vec<u8>) {
    let written = Shared::default();
    let (simulated, _) = record(simulation, request, Box::new(written.clone())).unwrap();
    (simulated, written.0.take())
}

/// Now and then a line of either node, and much work in between.
fn long(thread: &mut Thread<'_>, regions: &[PhysicalAddr], rounds: u64) {
    for round in 0..rounds {
        thread.load(regions[0].offset(128 * (round % 900)));
        thread.store(regions[1].offset(128 * (round % 700)));
        thread.work(900_000);
    }
}

const ROUNDS: u64 = 5000;

fn run_long(watch: impl FnOnce(&mut Simulator)) {
    let description = machine::load("lego-oil").unwrap();
    let mut simulator = Simulator::new(&description, Options::default()).unwrap();
    let regions = [0, 1].map(|node| simulator.allocate(NodeId(node), Bytes(128 * 1000)).unwrap());
    watch(&mut simulator);
    let body = move |thread: &mut Thread<'_>| long(thread, &regions, ROUNDS);
    simulator.run(vec![(CpuId(0), Box::new(body) as Program)]).unwrap();
}

/// Through sampler, virtualiser and file: of a run in which 20-bit registers wrap more than a thousand times and a 32-bit one
/// once, totals are what an exact observer of an equal run has counted.
#[test]
fn totals_in_a_trace_are_the_exact_numbers() {
    const EVENTS: [&str; 6] = ["mdidle", "mdblocked", "mdrefresh", "mddir", "mdmem", "mdmisc"];
    let description = machine::load("lego-oil").unwrap();
    // One event of each of the processor's counters: none has to take turns.
    let mut request = asks(&["mem", "tread", "cycles", "niout"], ms(50));
    request.nodes = vec![NodeId(0)];
    let threads = [("long".to_owned(), CpuId(0))];
    let mut tracing = None;
    run_long(|simulator| tracing = Some(Tracing::start(simulator, &description, &threads, &request).unwrap()));
    let timeline = tracing.unwrap().finish().unwrap();

    let exact = Rc::new(RefCell::new(Vec::new()));
    let seen = exact.clone();
    let one = |place, unit, mode| Watched { place, unit, modes: vec![mode] };
    let node = machine::Topology::new(&description).nodes()[0];
    let units = vec![
        one(Place::Node(NodeId(0)), CounterUnit::HubMemory, 0),
        one(Place::Thread(0), CounterUnit::Processor { second: false }, 0),
        one(Place::Thread(0), CounterUnit::Processor { second: true }, 10),
        one(Place::Port(node.router, node.port), CounterUnit::RouterPort { channel: 0 }, 0),
    ];
    run_long(|simulator| {
        let told = move |round: &sim::counters::Round<'_>| {
            *seen.borrow_mut() = round.readings.iter().map(|reading| reading.exact.clone()).collect();
        };
        simulator.watch(Watch { interval: ms(50), reader: None, units: units.clone() }, Box::new(told)).unwrap();
    });
    let exact = exact.take();
    for (event, exact) in EVENTS.into_iter().zip(&exact[0]) {
        assert_eq!(timeline.total(event, "n0"), Some(*exact as f64), "{event}");
    }
    assert!(exact[0][0] > 1400 << 20, "{} idle cycles", exact[0][0]);
    assert_eq!(timeline.total("cycles", "t0"), Some(exact[1][0] as f64));
    assert!(exact[1][0] > 1 << 32);
    assert_eq!(timeline.total("rsmiss", "t0"), Some(exact[2][0] as f64));
    // The port's registers were read in time, so that they never halved.
    assert_eq!(timeline.total("nireceived", "n0"), Some(exact[3][1] as f64));
    assert_eq!(timeline.total("niclock", "n0"), Some(exact[3][3] as f64));
}

/// Traces of equal runs are equal to the byte, however far programs run ahead; and looks from outside change nothing.
#[test]
fn equal_runs_leave_equal_traces() {
    for (machine, metrics) in [
        ("lego-oil", &["mem", "alocal", "uown", "niout", "send", "homemiss"][..]),
        ("flash-4p", &["mem", "remotelatency", "readcost", "external", "queue1"][..]),
    ] {
        let request = asks(metrics, Duration(100_000_000));
        let of = |mode| recorded(&simulation(machine, "fft", 4, mode), &request);
        let (ahead, again, in_step) = (of(Mode::LookAhead), of(Mode::LookAhead), of(Mode::LockStep));
        assert!(ahead.1 == again.1, "{machine}");
        assert!(ahead.1 == in_step.1, "{machine}: in lock-step");
        let alone = simulation(machine, "fft", 4, Mode::LookAhead).run().unwrap();
        assert_eq!(alone.row, ahead.0.row);
        let trace = Trace::read(ahead.1.as_slice()).unwrap();
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
        assert!(trace.preamble.simulated && trace.preamble.started_unix_ns == 0);
        assert!(matches!(trace.events.last(), Some((_, Event::Summary { late: 0, .. }))), "{:?}", trace.events.last());
        assert!(trace.objects.iter().any(|object| object.title == "/hw/module/1/slot/n1/node"));
    }
}

/// A monitor on a processor of its own costs the program next to nothing; on one that works, it makes the whole run longer.
#[test]
fn a_monitor_among_the_threads_costs_time() {
    let of = |reader| {
        let request = ProfileRequest { reader, ..asks(&["mem", "niout"], Duration(100_000_000)) };
        let (simulated, bytes) = recorded(&simulation("lego-oil", "fft", 2, Mode::LookAhead), &request);
        let trace = Trace::read(bytes.as_slice()).unwrap();
        let Some((_, Event::Summary { sample_ns, .. })) = trace.events.last().cloned() else { panic!("no summary") };
        (simulated.finished, sample_ns)
    };
    let (outside, inside) = (of(None), of(Some(CpuId(0))));
    assert_eq!(outside.1, 0, "an observer from outside takes no time");
    assert!(inside.1 >= 1800 + 5000, "{} ns a reading", inside.1);
    assert!(inside.0 > outside.0);
}

/// A thread that reads lines of its own node for two thirds of its time has that local access ratio, and the node tells memory and
/// link what they do.
#[test]
fn metrics_mean_what_the_thesis_says() {
    let description = machine::load("lego-oil").unwrap();
    let mut simulator = Simulator::new(&description, Options::default()).unwrap();
    let lines = 3000u64;
    let regions = [0, 1].map(|node| simulator.allocate(NodeId(node), Bytes(128 * lines)).unwrap());
    let mut request = asks(&["alocal", "local", "tread", "homemiss", "uown", "niout", "niin"], Duration(20_000_000));
    request.nodes = vec![NodeId(0), NodeId(1)];
    let threads = [("reader".to_owned(), CpuId(1))];
    let tracing = Tracing::start(&mut simulator, &description, &threads, &request).unwrap();
    let body = move |thread: &mut Thread<'_>| {
        for line in 0..lines {
            thread.load(regions[usize::from(line % 3 == 2)].offset(128 * line));
            thread.drain();
        }
    };
    simulator.run(vec![(CpuId(1), Box::new(body) as Program)]).unwrap();
    let timeline = tracing.finish().unwrap();
    assert_eq!(timeline.total("rsmiss", "t0"), Some(lines as f64));
    let near = |found: Option<f64>, expected: f64, slack: f64| {
        let found = found.expect("known");
        assert!((found - expected).abs() <= slack, "{found} for {expected}");
    };
    // Two modes of the Hub take turns: what is counted in one is an estimate.
    near(timeline.whole("local", "t0"), 200.0 / 3.0, 4.0);
    near(timeline.whole("homemiss", "t0"), 200.0 / 3.0, 0.1);
    near(timeline.whole("uown", "n0"), 100.0, 0.0);
    // A packet there and nine back for each of a thousand lines: the ratio of the links' utilisations is exact.
    let (out, into) = (timeline.whole("niout", "n1").unwrap(), timeline.whole("niin", "n1").unwrap());
    near(Some(out / into), 9.0, 1e-9);
    near(timeline.total("nisent", "n1"), 1000.0, 0.0);
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    let refused = |machine: &str, metrics: &[&str]| {
        let simulation = simulation(machine, "fft", 2, Mode::LookAhead);
        trace_of(&simulation, &asks(metrics, ms(1))).expect_err("refused").to_string()
    };
    let message = refused("lego-oil", &["mem", "speed"]);
    assert!(message.starts_with("--metric speed: unknown metric or counter; accepted: "), "{message}");
    assert!(message.contains(" alocal, ") && !message.contains("remotelatency"), "{message}");
    let message = refused("lego-oil", &["send", "queue1"]);
    assert!(message.contains("one mode at a time"), "{message}");
    assert!(refused("flash-4p", &["uown"]).contains("accepted: "), "no Hub");
    // A counter by its own name is as good as a metric.
    let simulation = simulation("lego-oil", "fft", 2, Mode::LookAhead);
    let (_, timeline) = trace_of(&simulation, &asks(&["outnack"], ms(1))).unwrap();
    assert!(timeline.total("outnack", "n0").is_some());
}

/// As the recording of several runs on one machine would: what is not finished leaves what has been handed over.
#[test]
fn a_recording_can_be_left() {
    let description = machine::load("lego-oil").unwrap();
    let mut simulator = Simulator::new(&description, Options::default()).unwrap();
    let written = Shared::default();
    let recording =
        Recording::start(&mut simulator, &description, &[], &asks(&["mem"], ms(1)), Box::new(written.clone())).unwrap();
    drop(recording);
    let trace = Trace::read(written.0.borrow().as_slice()).unwrap();
    assert!(Timeline::of(&trace).times_ns.is_empty());
}
