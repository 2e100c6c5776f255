//! Latencies and bandwidths of a server, for calibration.
use machine::Description;
use sim::{Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time};
use std::cell::Cell;
use std::rc::Rc;

const SPREAD: u64 = 16;
fn order(count: u64, seed: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (0..count).collect();
    let mut x = seed | 1;
    for i in (1..all.len()).rev() {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        all.swap(i, (x % (i as u64 + 1)) as usize);
    }
    all
}

fn chain(d: &Description, reader: u16, owner: Option<(u16, bool)>, home: u16, lines: u64, passes: u32) -> f64 {
    let mut s = Simulator::new(d, Options::default()).expect("sim");
    let base = s.allocate(NodeId(home), Bytes(lines * 64 * SPREAD)).expect("memory");
    let out = Rc::new(Cell::new((Time::ZERO, Time::ZERO)));
    let at = move |l: u64| PhysicalAddr(base.0 + (l * SPREAD + (l.wrapping_mul(0x9e3779b97f4a7c15) >> 40) % SPREAD) * 64);
    let mut programs: Vec<(CpuId, Program)> = Vec::new();
    if let Some((owner, dirty)) = owner {
        programs.push((CpuId(owner), Box::new(move |t: &mut Thread<'_>| {
            for l in order(lines, 77) { if dirty { t.store(at(l)) } else { t.load(at(l)) } }
            t.drain();
            t.barrier();
        })));
    }
    let seen = out.clone();
    programs.push((CpuId(reader), Box::new(move |t: &mut Thread<'_>| {
        if owner.is_some() { t.barrier(); }
        let all = order(lines, 5);
        for pass in 0..passes {
            let begin = t.now();
            for &l in &all { t.load_dependent(at(l)); }
            t.drain();
            let end = t.now();
            if pass + 1 == passes { seen.set((begin, end)); }
        }
    })));
    s.run(programs).expect("runs");
    let (begin, end) = out.get();
    (end.0 - begin.0) as f64 / 1000.0 / lines as f64
}

fn bandwidth(d: &Description, cpus: Vec<u16>, home: impl Fn(u16) -> u16, lines: u64) -> f64 {
    let mut s = Simulator::new(d, Options::default()).expect("sim");
    let mut programs: Vec<(CpuId, Program)> = Vec::new();
    let n = cpus.len() as u64;
    for cpu in cpus {
        let base = s.allocate(NodeId(home(cpu)), Bytes(lines * 64)).expect("memory");
        programs.push((CpuId(cpu), Box::new(move |t: &mut Thread<'_>| {
            for l in 0..lines { for w in 0..8 { t.load(PhysicalAddr(base.0 + l * 64 + w * 8)); } }
            t.drain();
        })));
    }
    let reports = s.run(programs).expect("runs");
    let time: f64 = reports.iter().map(|r| (r.finished.0 - r.started.0) as f64 / 1000.0).fold(0.0, f64::max);
    (n * lines * 64) as f64 / time
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let d = machine::load(&args[0]).unwrap_or_else(|e| panic!("{e}"));
    let server = d.server.as_ref().expect("server");
    let (ppn, nps) = (d.topology.processors_per_node as u16, server.nodes_per_socket as u16);
    let per = ppn * nps;
    let (n, other) = (4096, nps);
    let p = |what: &str, v: f64| println!("{what:<44} {v:8.1}");
    let l2 = d.coherent_cache().size.0 / 64;
    p("L3", chain(&d, 0, None, 0, l2 * 2, 4));
    p("local DRAM", chain(&d, 0, None, 0, n, 1));
    p("remote DRAM", if server.sockets > 1 { chain(&d, 0, None, other, n, 1) } else { 0.0 });
    let n = 2048;
    p("HIT same socket (cluster)", chain(&d, 0, Some((1, false)), 0, n, 1));
    p("HITM same socket (cluster)", chain(&d, 0, Some((1, true)), 0, n, 1));
    let cores = server.cores_per_cluster as u16;
    if server.clusters_per_socket > 1 {
        p("HITM next cluster", chain(&d, 0, Some((cores, true)), 0, n, 1));
        p("HITM far cluster same socket", chain(&d, 0, Some((per - 1, true)), 0, n, 1));
    }
    if server.sockets > 1 {
        p("HITM other, homed writer", chain(&d, 0, Some((per, true)), other, n, 1));
        p("HITM other, homed reader", chain(&d, 0, Some((per, true)), 0, n, 1));
        p("HIT other, homed writer", chain(&d, 0, Some((per, false)), other, n, 1));
    }
    if args.len() > 1 {
        let lines: u64 = 1 << 14;
        p("one core reads GB/s", bandwidth(&d, vec![0], |_| 0, lines));
        p("node reads own GB/s", bandwidth(&d, (0..ppn).collect(), |_| 0, lines / 4));
        p("node reads other socket GB/s", bandwidth(&d, (0..ppn).collect(), |_| other, lines / 4));
        let reads = sim::unloaded_reads(&d).expect("reads");
        for r in reads.iter().filter(|r| r.from.0 == 0) { println!("unloaded {} -> {}: {:.1}", r.from.0, r.to.0, r.time.as_ns()); }
    }
    let _ = Duration::ZERO;
}
