//! Host speed of the simulator: references that hit, coherence transactions under contention, and packets of a ring.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim::sci_ring::{Format, Outcome, Packet, PassTransmission, Ring, RingSpec, Subaction};
use sim::{Location, Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, NodeId, PhysicalAddr, Time};

/// References that hit in the primary cache of one processor, by physical and by virtual addresses.
fn hits(criterion: &mut Criterion) {
    let description = machine::load("arctic").unwrap();
    let mut simulator = Simulator::new(&description, Options::default()).unwrap();
    let physical = simulator.allocate(NodeId(0), Bytes(1 << 14)).unwrap();
    let paged = simulator.map(&[Some(NodeId(0))]).unwrap();
    hits_at(criterion, &mut simulator, "one processor, primary hits", move |offset| physical.offset(offset));
    hits_at(criterion, &mut simulator, "one processor, primary hits, virtual", move |offset| paged.offset(offset));
}

fn hits_at<L: Location>(
    criterion: &mut Criterion,
    simulator: &mut Simulator,
    name: &str,
    at: impl Fn(u64) -> L + Copy + 'static,
) {
    const REFERENCES: u64 = 10_000_000;
    let mut group = criterion.benchmark_group("references");
    group.throughput(Throughput::Elements(REFERENCES)).sample_size(10);
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let program: Program = Box::new(move |thread: &mut Thread<'_>| {
                for reference in 0..REFERENCES {
                    thread.load(at(reference * 8 % (1 << 14)));
                }
            });
            simulator.run(vec![(CpuId(0), program)]).unwrap()
        });
    });
    group.finish();
}

/// All processors of a 64-processor machine load lines of other nodes, each line once: every reference is a transaction.
/// The lines have been loaded and dropped before, so that the host's memory is in place.
fn contended(criterion: &mut Criterion) {
    for machine in ["arctic", "flash-64p"] {
        contended_on(criterion, machine);
    }
}

fn contended_on(criterion: &mut Criterion, machine: &str) {
    const LINES: u64 = 2000;
    let description = machine::load(machine).unwrap();
    let mut simulator = Simulator::new(&description, Options::default()).unwrap();
    let nodes = simulator.topology().nodes().len() as u16;
    let mut bases = Vec::new();
    for cpu in 0..64u16 {
        let home = NodeId((cpu * nodes / 64 + 7 * (cpu % 4) + 1) % nodes);
        bases.push(simulator.allocate(home, Bytes(LINES * 128)).unwrap());
    }
    let programs = |drop: bool| {
        let program = |(cpu, &base): (usize, &PhysicalAddr)| {
            let program: Program = Box::new(move |thread: &mut Thread<'_>| {
                if drop {
                    return thread.drop_caches();
                }
                for line in 0..LINES {
                    thread.load(base.offset(line * 128));
                    thread.instructions(2);
                }
            });
            (CpuId(cpu as u16), program)
        };
        bases.iter().enumerate().map(program).collect::<Vec<_>>()
    };
    let mut group = criterion.benchmark_group("transactions");
    group.throughput(Throughput::Elements(64 * LINES)).sample_size(10);
    group.bench_function(format!("{machine}, 64 processors, all missing remotely"), |bencher| {
        bencher.iter_custom(|iterations| {
            let mut spent = Duration::ZERO;
            for _ in 0..iterations {
                simulator.run(programs(true)).unwrap();
                let start = Instant::now();
                simulator.run(programs(false)).unwrap();
                spent += start.elapsed();
            }
            spent
        });
    });
    group.finish();
}

/// Packets to random nodes of an SCI ring, one every so many symbols, taken out of input buffers at once.
fn ring(criterion: &mut Criterion) {
    const PACKETS: u64 = 100_000;
    for (load, spacing) in [("a light load", 50), ("half its bandwidth", 20)] {
        let mut group = criterion.benchmark_group("packets");
        group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
        group.bench_function(format!("SCI ring, 16 nodes, {load}"), |bencher| {
            bencher.iter(|| {
                let mut ring = Ring::new(RingSpec::published(16, PassTransmission::Several(4))).unwrap();
                send_on(&mut ring, PACKETS, spacing);
                assert_eq!(ring.audit(), Ok(()));
            });
        });
        group.finish();
    }
}

/// Sends packets on a ring of 16 nodes, one every `spacing` symbols: one in seven with a line (Hexsel and Topham, Section 5).
fn send_on(ring: &mut Ring, packets: u64, spacing: u64) {
    let mut delivered = Vec::new();
    for tag in 0..packets {
        let now = Time(tag * spacing * ring.spec().symbol.0);
        ring.run_through(now);
        delivered.extend(ring.outcomes().filter_map(|outcome| match outcome {
            Outcome::Delivered { packet, .. } => Some(packet),
            _ => None,
        }));
        for packet in delivered.drain(..) {
            ring.release(&packet, now);
        }
        let random = (tag + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (from, to) = ((random % 16) as u16, (random / 16 % 15) as u16);
        let packet = Packet {
            from: NodeId(from),
            to: NodeId((from + 1 + to) % 16),
            subaction: if random & 1 << 10 == 0 { Subaction::Request } else { Subaction::Response },
            format: if tag % 7 == 0 { Format::Data } else { Format::Command },
            tag: tag as u32,
        };
        ring.offer(packet, now).unwrap();
    }
}

criterion_group!(benches, hits, contended, ring);
criterion_main!(benches);
