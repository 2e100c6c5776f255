//! Servers against what was measured on them: latencies by requester, home and owner, and what the directory in memory costs.

use std::cell::Cell;
use std::rc::Rc;

use machine::Description;
use sim::{Options, Program, Simulator, Thread, unloaded_reads};
use units::{Bytes, CpuId, NodeId, PhysicalAddr, Time};

/// Lines of a chain, each somewhere in a space of so many lines of its own.
const LINES: u64 = 1024;
const SPREAD: u64 = 16;

/// A machine without prefetchers, which Intel MLC turns off where it measures latencies.
fn without_prefetchers(machine: &str, changes: &[(&str, &str)]) -> Description {
    let changes = [&[("prefetch", "none")], changes].concat();
    machine::resolve_changed(machine, machine, "", &changes).unwrap_or_else(|error| panic!("{error}")).description
}

/// An order in which no line follows a neighbour.
fn order() -> impl Iterator<Item = u64> {
    (0..LINES).map(|number| number * 389 % LINES)
}

fn address(base: PhysicalAddr, number: u64) -> PhysicalAddr {
    let within = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % SPREAD;
    base.offset((number * SPREAD + within) * 64)
}

/// The state in which another core leaves the lines.
#[derive(Clone, Copy)]
enum Left {
    Read(u16),
    Written(u16),
}

/// The mean time, in nanoseconds, of a read in a chain of dependent reads by processor 0, of lines of `home`.
fn latency(description: &Description, home: u16, left: Option<Left>) -> f64 {
    let mut simulator = Simulator::new(description, Options::default()).unwrap();
    let base = simulator.allocate(NodeId(home), Bytes(LINES * SPREAD * 64)).unwrap();
    let taken = Rc::new(Cell::new(0.0));
    let seen = taken.clone();
    let reader = move |thread: &mut Thread<'_>| {
        thread.barrier();
        let begin: Time = thread.now();
        order().for_each(|number| thread.load_dependent(address(base, number)));
        thread.drain();
        seen.set(thread.now().since(begin).as_ns() / LINES as f64);
    };
    let mut programs: Vec<(CpuId, Program)> = vec![(CpuId(0), Box::new(reader))];
    if let Some(left) = left {
        let owner = match left {
            Left::Read(owner) | Left::Written(owner) => owner,
        };
        let prepare = move |thread: &mut Thread<'_>| {
            order().for_each(|number| match left {
                Left::Read(_) => thread.load(address(base, number)),
                Left::Written(_) => thread.store(address(base, number)),
            });
            thread.drain();
            thread.barrier();
        };
        programs.push((CpuId(owner), Box::new(prepare)));
    }
    simulator.run(programs).unwrap();
    simulator.check_coherence().unwrap();
    taken.get()
}

/// The transactions of the table that Intel MLC prints: local and remote memory, clean and modified lines of the same socket, and
/// modified lines of the other socket, homed at the writer and at the reader.
fn transactions(machine: &str) -> [f64; 6] {
    let description = without_prefetchers(machine, &[]);
    let other = description.topology.processors as u16 / 2;
    [
        latency(&description, 0, None),
        latency(&description, 1, None),
        latency(&description, 0, Some(Left::Read(1))),
        latency(&description, 0, Some(Left::Written(1))),
        latency(&description, 1, Some(Left::Written(other))),
        latency(&description, 0, Some(Left::Written(other))),
    ]
}

/// FD.io CSIT test beds and public reports, Intel MLC: means where both sockets were measured.
const MEASURED: [(&str, [f64; 6]); 4] = [
    ("xeon-e5-2699v3-2s", [99.9, 136.6, 42.1, 47.0, 107.45, 107.15]),
    ("xeon-8180-2s", [81.4, 131.1, 53.7, 53.7, 113.9, 177.9]),
    ("xeon-6252n-2s", [81.2, 130.2, 55.5, 55.6, 115.6, 178.2]),
    ("xeon-8269cy-2s", [78.6, 144.1, 51.6, 51.7, 111.3, 175.8]),
];

#[test]
fn latencies_are_those_measured() {
    let mut errors = Vec::new();
    for (machine, measured) in MEASURED {
        let simulated = transactions(machine);
        for (ours, theirs) in simulated.into_iter().zip(measured) {
            let error = (ours / theirs - 1.0).abs();
            assert!(error < 0.15, "{machine}: {simulated:.1?}, measured {measured:?}");
            errors.push(error);
        }
        let penalty = simulated[5] - simulated[4];
        let expected = if machine.contains("2699") { -5.0..5.0 } else { 57.0..73.0 };
        assert!(expected.contains(&penalty), "{machine}: {penalty:.1} ns more if homed at the reader");
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[errors.len() / 2] < 0.05, "{errors:.3?}");
}

/// Bandwidth, in GB/s, of reads by all cores of the first socket of the memory of `home`: each an array of its own, line by line.
fn bandwidth(description: &Description, home: u16) -> f64 {
    const LINES_EACH: u64 = 4096;
    let mut simulator = Simulator::new(description, Options::default()).unwrap();
    let cores = description.topology.processors_per_node as u16;
    let programs = (0..cores).map(|cpu| {
        let base = simulator.allocate(NodeId(home), Bytes(LINES_EACH * 64)).unwrap();
        let program = move |thread: &mut Thread<'_>| {
            (0..LINES_EACH * 8).for_each(|word| thread.load(base.offset(word * 8)));
            thread.drain();
        };
        (CpuId(cpu), Box::new(program) as Program)
    });
    let programs: Vec<_> = programs.collect();
    let reports = simulator.run(programs).unwrap();
    let times = reports.iter().map(|report| report.finished.since(report.started).as_ns());
    let mean = times.sum::<f64>() / f64::from(cores);
    f64::from(cores) * (LINES_EACH * 64) as f64 / mean
}

/// Intel MLC, reads of all cores: of one socket's own memory, and of the other socket's.
#[test]
fn bandwidths_are_those_measured() {
    let mut errors = Vec::new();
    for (machine, [own, other]) in [
        ("xeon-e5-2699v3-2s", [57.9, 30.3]),
        ("xeon-8180-2s", [107.9, 51.0]),
        ("xeon-6252n-2s", [122.1, 51.3]),
        ("xeon-8269cy-2s", [113.3, 50.9]),
        ("epyc-7702-2s", [42.9, 0.0]),
    ] {
        let description = machine::load(machine).unwrap();
        for (home, measured) in [(0, own), (1, other)] {
            if measured > 0.0 {
                let simulated = bandwidth(&description, home);
                let error = (simulated / measured - 1.0).abs();
                assert!(error < 0.2, "{machine}, node {home}: {simulated:.1}, measured {measured}");
                errors.push(error);
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[errors.len() / 2] < 0.1, "{errors:.3?}");
}

/// A home that does not wait for its directory bits, or that has the line in its directory cache, snoops at once.
#[test]
fn the_penalty_of_the_reader_is_the_directory_in_memory() {
    let penalty = |changes: &[(&str, &str)]| {
        let description = without_prefetchers("xeon-8180-2s", changes);
        latency(&description, 0, Some(Left::Written(28))) - latency(&description, 1, Some(Left::Written(28)))
    };
    let (directory, opportunistic) = (penalty(&[]), penalty(&[("home.opportunistic_snoops", "true")]));
    assert!(directory > 55.0 && opportunistic < 25.0, "{directory:.1}, {opportunistic:.1}");
    let snooped = penalty(&[("home.kind", "home-snoop"), ("home.entries", "0")]);
    assert!(snooped.abs() < 25.0, "{snooped:.1}");
}

/// A tenth at most, for what refreshes delay beside the mean of one access.
#[test]
fn sums_of_parts_are_what_a_simulation_measures() {
    for machine in ["xeon-8180-2s", "xeon-e5-2699v3-2s", "epyc-7702-2s", "xeon-8480-2s"] {
        let description = without_prefetchers(machine, &[]);
        let reads = unloaded_reads(&description).unwrap();
        let last = reads.iter().map(|read| read.to.0).max().unwrap();
        for home in [0, last] {
            let sum = reads.iter().find(|read| read.from.0 == 0 && read.to.0 == home).unwrap().time.as_ns();
            let time = latency(&description, home, None);
            assert!((0.97..1.13).contains(&(time / sum)), "{machine}, {home}: {sum:.1} added up, {time:.1} simulated");
        }
    }
}

/// AMD Rome (Velten et al., ICPE 2022).
#[test]
fn rome_is_near_what_was_measured() {
    let description = without_prefetchers("epyc-7702-2s", &[]);
    let near = |what: &str, ours: f64, least: f64, most: f64| {
        assert!(ours > least * 0.9 && ours < most * 1.1, "{what}: {ours:.1}, measured {least} to {most}");
    };
    near("memory", latency(&description, 0, None), 110.0, 110.0);
    near("same complex", latency(&description, 0, Some(Left::Written(1))), 39.0, 39.0);
    near("other complex of the die", latency(&description, 0, Some(Left::Written(4))), 102.5, 126.5);
}

#[test]
fn a_memory_node_is_behind_its_link() {
    let far = [
        ("topology.memory_nodes", "1"),
        ("memory_link.latency_ns", "80"),
        ("memory_link.header_ns", "0.5"),
        ("memory_link.line_ns", "3"),
        ("memory_link.credits", "32"),
    ];
    let description = without_prefetchers("epyc-7702-2s", &[("server.nodes_per_socket", "4")]);
    let refused = description.changed("x", "topology.memory_nodes", "1").expect_err("no link");
    assert!(refused.to_string().contains("memory_link"), "{refused}");
    let mut spec = machine::resolve("xeon-8180-2s").unwrap().description.to_toml();
    spec = spec.replacen("\"UU . . . U .\"", "\"UU . . . U X\"", 1);
    let file = std::env::temp_dir().join(format!("far-{}.toml", std::process::id()));
    std::fs::write(&file, spec).unwrap();
    let path = file.to_string_lossy().into_owned();
    let with = without_prefetchers(&path, &far);
    std::fs::remove_file(&file).unwrap();
    let (near, far) = (latency(&with, 0, None), latency(&with, 2, None));
    assert!((150.0..175.0).contains(&(far - near)), "{near:.1} and {far:.1}");
}

/// The mean time of a load in a chain over `lines` lines of one processor, walked twice before.
fn walk(description: &Description, lines: u64, mode: sim::Mode) -> f64 {
    let mut simulator = Simulator::new(description, Options { mode, check_loads: true, ..Options::default() }).unwrap();
    let base = simulator.allocate(NodeId(0), Bytes(lines * 64)).unwrap();
    let taken = Rc::new(Cell::new(0.0));
    let seen = taken.clone();
    let reader = move |thread: &mut Thread<'_>| {
        for _ in 0..3 {
            let begin: Time = thread.now();
            (0..lines).for_each(|number| thread.load_dependent(base.offset(number * 40_503 % lines * 64)));
            seen.set(thread.now().since(begin).as_ns() / lines as f64);
        }
    };
    simulator.run(vec![(CpuId(0), Box::new(reader) as Program)]).unwrap();
    simulator.check_coherence().unwrap();
    taken.get()
}

/// Threads of others on the same core take places in the second-level cache.
#[test]
fn what_others_bring_into_a_private_cache_takes_the_place_of_lines() {
    // 512 KiB of 1 MiB: 46 us a walk if all is there, 0.2 ms if not.
    let lines = 1 << 13;
    for replacement in ["lru", "pseudo-lru", "random"] {
        let at = |rate: &str| {
            let changes = [("l2.others_mb_per_s", rate), ("l2.replacement", replacement)];
            let description = without_prefetchers("xeon-8180-2s", &changes);
            let ahead = walk(&description, lines, sim::Mode::LookAhead);
            assert_eq!(ahead, walk(&description, lines, sim::Mode::LockStep), "{replacement} {rate}");
            ahead
        };
        let [alone, few, all] = ["0", "50", "100000"].map(at);
        assert!(few < 1.25 * alone && all > 2.0 * alone, "{replacement}: {alone}, {few} and {all} ns");
        // A cacheful or two in the time of a walk: replacement by age leaves nothing of the list then.
        let some = at("10000");
        let wanted = if replacement == "random" { 1.05 * alone..=0.95 * all } else { 0.95 * all..=all };
        assert!(wanted.contains(&some), "{replacement}: {alone}, {some} and {all} ns");
    }
}

/// Others that fill the third-level cache within the time of a walk leave nothing of it there; those that take a hundred times as long,
/// nearly everything; and random replacement spreads what is between.
#[test]
fn what_others_bring_in_takes_the_place_of_lines() {
    // 2 MiB of 38.5 MiB, twice what the second-level cache holds: 0.7 ms a walk if it is there, 2.6 ms if not.
    let lines = 1 << 15;
    for (name, replacement) in [("xeon-8180-2s", "lru"), ("xeon-8180-2s", "random"), ("xeon-e5-2699v3-2s", "lru")] {
        let at = |rate: &str| {
            let changes = [("l3_slice.others_mb_per_s", rate), ("l3_slice.replacement", replacement)];
            let description = without_prefetchers(name, &changes);
            let ahead = walk(&description, lines, sim::Mode::LookAhead);
            assert_eq!(ahead, walk(&description, lines, sim::Mode::LockStep), "{name} {replacement} {rate}");
            ahead
        };
        let [alone, few, all] = ["0", "100", "200000"].map(at);
        assert!(few < 1.05 * alone && all > 2.0 * alone, "{name} {replacement}: {alone}, {few} and {all} ns");
        // A cacheful in the time of one or two walks from it.
        let half = at("40000");
        let between = (half - alone) / (all - alone);
        let wanted = if replacement == "random" { 0.3..0.97 } else { 0.0..1.01 };
        assert!(wanted.contains(&between), "{name} {replacement}: {alone}, {half} and {all} ns");
    }
}
