//! Latencies that are added up from a machine's parts are those that a simulation of its parts measures.

use sim::{Options, Program, Simulator, Thread, unloaded_reads};
use units::{Bytes, CpuId, Duration, NodeId};

const READS: u64 = 256;

/// The mean time of a read in a chain of dependent reads, by the first processor, of lines of `home` that no cache has.
fn simulated(machine: &str, home: NodeId) -> Duration {
    let description = machine::load(machine).unwrap();
    let mut simulator = Simulator::new(&description, Options::default()).unwrap();
    let line = description.coherent_cache().line.0;
    let base = simulator.allocate(home, Bytes(2 * READS * line)).unwrap();
    let mut read = |lines: std::ops::Range<u64>| {
        let program = move |thread: &mut Thread<'_>| {
            lines.for_each(|number| thread.load_dependent(base.offset(number * line)));
        };
        let start = simulator.now();
        simulator.run(vec![(CpuId(0), Box::new(program) as Program)]).unwrap();
        simulator.now().since(start)
    };
    read(0..8);
    read(8..READS) / (READS - 8)
}

/// A tenth at most, for translation misses, refreshes, and edges of clocks that a mean over all edges does not meet.
#[test]
fn sums_of_parts_are_what_a_simulation_measures() {
    let rings = ["sci-ring-16p", "sci-ring-33-2p", "sci-rings-2x4", "dash-16p"];
    for machine in ["arctic", "bitmap", "origin2000-r12k-300-16p", "flash-16p", "smp-4p"].into_iter().chain(rings) {
        let reads = unloaded_reads(&machine::load(machine).unwrap()).unwrap();
        let last = reads.iter().map(|read| read.to).max().unwrap();
        let mut homes = vec![NodeId(0), NodeId(1.min(last.0)), last];
        homes.dedup();
        for home in homes {
            let sum = reads.iter().find(|read| read.from == NodeId(0) && read.to == home).unwrap().time;
            let time = simulated(machine, home);
            let ratio = time.as_ns() / sum.as_ns();
            assert!((0.97..1.10).contains(&ratio), "{machine}, {home:?}: {sum} added up, {time} simulated");
        }
    }
}

#[test]
fn they_grow_with_the_number_of_routers() {
    let reads = unloaded_reads(&machine::load("arctic").unwrap()).unwrap();
    let mean = |hops: u32| {
        let of: Vec<_> = reads.iter().filter(|read| read.hops == hops).map(|read| read.time.as_ns()).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    // Prestor 2001: Table 4.8 (local, 384 ns), section 4.3.2 (penalty 230 ns, 111 to 114 ns a router).
    assert!((mean(0) / 384.0 - 1.0).abs() < 0.1, "{}", mean(0));
    let step = (mean(4) - mean(2)) / 2.0;
    assert!((step / 112.5 - 1.0).abs() < 0.05, "{step}");
    let penalty = mean(1) - step - mean(0);
    assert!((penalty / 230.0 - 1.0).abs() < 0.1, "{penalty}");
}
