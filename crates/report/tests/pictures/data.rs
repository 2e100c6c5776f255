//! The data that the pictures are of.

use record::{Conditions, Parameters, Record, SimulationRow, TopologyPart, TopologyRow, Unit};
use report::html::Page;
use trace::{Counter, Object, ObjectKind, Preamble, Trace, TraceWriter, Value};
use units::{Bytes, CpuId, NodeId};

/// A record with a median.
fn record(series: &str, experiment: &str, median: f64) -> Record {
    Record {
        machine: "host".into(),
        experiment: experiment.into(),
        state: "UOWN".into(),
        home: NodeId(0),
        local: CpuId(0),
        remotes: vec![],
        xhops: 0,
        yhops: None,
        zhops: None,
        unit: Unit::Nanoseconds,
        min: median,
        max: median,
        median,
        mean: median,
        stdev: None,
        n: 1,
        ci_low: None,
        ci_high: None,
        locals: vec![CpuId(0)],
        parameters: Parameters::default(),
        conditions: Conditions { series: Some(series.into()), ..Conditions::default() },
    }
}

/// A line modified by every processor and loaded by every other: siblings, neighbours on a socket, another socket.
pub fn cores(processors: u16) -> Vec<Record> {
    let latency = |from: u16, to: u16| match (from, to) {
        _ if from / 2 == to / 2 => 35.0,
        _ if from / (processors / 2) == to / (processors / 2) => 70.0 + f64::from(from.abs_diff(to)) / 4.0,
        _ => 160.0 + f64::from(from.abs_diff(to)),
    };
    let pairs = (0..processors).flat_map(|from| (0..processors).map(move |to| (from, to)));
    let pair = |(from, to): (u16, u16)| Record {
        state: "DEXT".into(),
        local: CpuId(from),
        remotes: vec![CpuId(to)],
        locals: vec![CpuId(from)],
        ..record("cores", "lmbench-read", latency(from, to))
    };
    pairs.filter(|(from, to)| from != to).map(pair).collect()
}

/// Areas in a hierarchy of three caches, on two kinds of pages.
pub fn areas() -> Vec<Record> {
    let latency = |kib: u64, reach: u64| match kib {
        0..=32 => 1.2,
        33..=1024 => 4.1,
        1025..=32768 => {
            if kib > reach {
                19.0
            } else {
                14.5
            }
        }
        _ => {
            if kib > reach {
                118.0
            } else {
                96.0
            }
        }
    };
    let mut records = Vec::new();
    for (pages, reach) in [("base", 6 << 10), ("thp", 1 << 20)] {
        for kib in (2..=20).map(|power| 1u64 << power) {
            let mut record = record("hierarchy", "area-read", latency(kib, reach));
            record.parameters.array = Some(Bytes::from_kib(kib));
            record.conditions.pages_asked = Some(pages.into());
            records.push(record);
        }
    }
    records
}

/// Latency and traffic under three mixes, from heavy to light.
pub fn loads() -> Vec<Record> {
    let mut records = Vec::new();
    for (reads, writes, most) in [(1, 0, 42_000.0), (2, 1, 33_000.0), (1, 1, 29_000.0)] {
        for step in 0..10u32 {
            let share = 1.0 / f64::from(1 + step);
            let pause_cycles = Some(step * 32);
            let parameters =
                Parameters { array: None, offset: None, reads: Some(reads), writes: Some(writes), pause_cycles };
            let latency = 95.0 + 180.0 * share * share;
            records.push(Record { parameters, ..record("loaded", "loaded-read", latency) });
            let traffic = record("loaded", "loaded-traffic", most * share);
            records.push(Record { parameters, unit: Unit::MegabytesPerSecond, ..traffic });
        }
    }
    records
}

/// Runs on one to sixty-four processors, which spend time on everything.
pub fn runs() -> Vec<SimulationRow> {
    let run = |(placement, cpus): (&str, u32)| {
        let grown = f64::from(cpus).log2();
        let parts = [
            ("busy", 400.0),
            ("primary", 60.0),
            ("secondary", 40.0),
            ("read.local.clean", 90.0),
            ("read.remote.clean", 20.0 * grown),
            ("read.remote-third.owned", 12.0 * grown),
            ("write.local.clean", 30.0),
            ("write.remote.clean", 9.0 * grown),
            ("write.remote-third.invalidating", 8.0 * grown),
            ("translation", 25.0),
            ("barrier", 15.0 * grown),
            ("lock", 6.0 * grown),
            ("system", 10.0),
            ("idle", 4.0 * grown),
        ];
        let whole: f64 = parts.iter().map(|(_, ns)| ns).sum();
        SimulationRow {
            program: "ocean".into(),
            machine: format!("flash-scaled-64p+placement={placement}"),
            protocol: "cv=2".into(),
            placement: placement.into(),
            cpus,
            time_ns: whole / f64::from(cpus),
            spent_ns: parts.map(|(name, ns)| (name.to_owned(), ns)).into(),
            ..SimulationRow::default()
        }
    };
    let cpus = [1, 4, 16, 64];
    ["first-touch", "round-robin"]
        .into_iter()
        .flat_map(|placement| cpus.map(|cpus| (placement, cpus)))
        .map(run)
        .collect()
}

/// A computer whose last two nodes are memory alone, if it has so many.
pub fn computer(nodes: u32) -> Vec<TopologyRow> {
    let name = |id: u32| format!("node{id}");
    let mut rows = Vec::new();
    for id in 0..nodes {
        let alone = id >= 6;
        let cpus = if alone { vec![] } else { (0..8).map(|cpu| CpuId((id * 8 + cpu) as u16)).collect() };
        rows.push(TopologyRow {
            cpus,
            class: Some(if alone { "memory alone" } else { "processors and memory" }.into()),
            size_kib: Some(64 << 20),
            free_kib: Some((60 << 20) - u64::from(id) * 1024),
            ..TopologyRow::new("host", TopologyPart::Node, id, name(id))
        });
        for to in 0..nodes {
            let distance = if id == to {
                10
            } else if id / 2 == to / 2 {
                12
            } else {
                21 + 11 * u32::from(to >= 6 || alone)
            };
            rows.push(TopologyRow {
                to: Some(name(to)),
                distance: Some(distance),
                ..TopologyRow::new("host", TopologyPart::Distance, id, name(id))
            });
        }
    }
    rows
}

/// As many threads as are asked for that run now and then, in a process whose memory is looked at every tenth sample.
pub fn trace(threads: u64) -> Trace {
    let thread = |name, unit| Counter::count(ObjectKind::Thread, name, unit, "of a thread");
    let process = |name| Counter::level(ObjectKind::Process, name, "KiB", "of a process");
    let cpu = Counter::level(ObjectKind::Thread, "cpu", "", "CPU that it is on");
    let counters = [thread("run_ns", "ns"), thread("wait_ns", "ns"), cpu, process("kib_total"), process("kib_near")];
    let preamble = Preamble {
        machine: "Linux example 6.1.0 x86_64: 1 node, 4 CPUs".into(),
        command: vec!["./prog".into(), format!("-p{threads}")],
        clock: "CLOCK_MONOTONIC".into(),
        ..Preamble::default()
    };
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, &preamble, &counters).expect("a writer");
    let object = |kind, key, name: String| Object::new(kind, key, name.clone(), name);
    let program = writer.object(0, &object(ObjectKind::Process, 1000, "p0".into())).expect("an object");
    let objects: Vec<u32> = (0..threads)
        .map(|number| {
            writer.object(0, &object(ObjectKind::Thread, 1000 + number, format!("t{number}"))).expect("an object")
        })
        .collect();
    for step in 0..100u64 {
        let time = step * 10_000_000;
        for (number, &thread) in (0u64..).zip(&objects) {
            // Each runs in every other half of a tenth of a second, and every third thread is seen but now and then.
            if number % 3 == 2 && step % 5 != 0 {
                continue;
            }
            let run = (step / 2 + number) * 4_000_000;
            let wait = step / 5 * 9_000_000;
            let values = [run, wait, (step / 30 + number) % 4].map(Value::exact);
            writer.sample(time, thread, &values).expect("a sample");
        }
        if step % 10 == 0 {
            let values = [Value::exact(1024 * (100 + step)), Value::exact(1024 * 90)];
            writer.sample(time, program, &values).expect("a sample");
        }
    }
    writer.finish().expect("an end");
    Trace::read(bytes.as_slice()).expect("a trace")
}

/// A page about that trace.
pub fn about(trace: &Trace) -> Page<'_> {
    let command = trace.preamble.command.join(" ");
    Page {
        title: command.clone(),
        facts: vec![("machine".into(), trace.preamble.machine.clone()), ("command".into(), command)],
        trace: Some(trace),
        ..Page::default()
    }
}
