//! Tests with random programs: look-ahead against lock-step bit for bit, and caches, directory and data against each
//! other.

use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

use sim::counters::{CounterUnit, Place, Watch, Watched};
use sim::{HubCounters, Mode, Options, Program, Simulator, Thread, ThreadReport};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time};

/// One step of a random program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u8),
    LoadDependent(u8),
    Store(u8),
    StoreDependent(u8),
    PrefetchShared(u8),
    PrefetchExclusive(u8),
    LoadUncached(u8),
    Work(u8),
    DropCaches,
    Barrier,
}

fn step() -> impl Strategy<Value = Step> {
    let line = 0u8..24;
    prop_oneof![
        6 => line.clone().prop_map(Step::Load),
        3 => line.clone().prop_map(Step::LoadDependent),
        6 => line.clone().prop_map(Step::Store),
        2 => line.clone().prop_map(Step::StoreDependent),
        2 => line.clone().prop_map(Step::PrefetchShared),
        1 => line.clone().prop_map(Step::PrefetchExclusive),
        1 => line.prop_map(Step::LoadUncached),
        3 => any::<u8>().prop_map(Step::Work),
    ]
}

/// Programs for `cpus` processors: `rounds` of random steps each, a barrier after each round, and occasional cache
/// flushes.
fn programs(cpus: usize) -> impl Strategy<Value = Vec<Vec<Step>>> {
    let rounds = prop::collection::vec((prop::collection::vec(step(), 1..40), any::<bool>()), 3);
    prop::collection::vec(rounds, cpus).prop_map(|programs| {
        let flatten = |rounds: Vec<(Vec<Step>, bool)>| {
            let round = |(mut steps, flush): (Vec<Step>, bool)| {
                steps.extend(flush.then_some(Step::DropCaches));
                steps.push(Step::Barrier);
                steps
            };
            rounds.into_iter().flat_map(round).collect()
        };
        programs.into_iter().map(flatten).collect()
    })
}

/// The distance between lines that compete for the same cache set: a multiple of every way's size.
const CONFLICT: u64 = 8 << 20;

/// Twenty-four lines on four nodes: pairs of neighbours in a page, and three for each set of a two-way cache.
fn address(regions: &[PhysicalAddr], line: u8) -> PhysicalAddr {
    let (region, rest) = (usize::from(line) % regions.len(), u64::from(line) / regions.len() as u64);
    regions[region].offset(rest % 2 * 128 + rest / 2 * CONFLICT)
}

fn execute(thread: &mut Thread<'_>, regions: &[PhysicalAddr], steps: &[Step]) {
    for &step in steps {
        match step {
            Step::Load(line) => thread.load(address(regions, line)),
            Step::LoadDependent(line) => thread.load_dependent(address(regions, line)),
            Step::Store(line) => thread.store(address(regions, line)),
            Step::StoreDependent(line) => thread.store_dependent(address(regions, line)),
            Step::PrefetchShared(line) => thread.prefetch_shared(address(regions, line)),
            Step::PrefetchExclusive(line) => thread.prefetch_exclusive(address(regions, line)),
            Step::LoadUncached(line) => thread.load_uncached(address(regions, line)),
            Step::Work(cycles) => thread.work(u32::from(cycles)),
            Step::DropCaches => thread.drop_caches(),
            Step::Barrier => thread.barrier(),
        }
    }
}

/// The observable results of a run.
type Seen = (Vec<ThreadReport>, Vec<Option<HubCounters>>, Time, Vec<Sample>);

/// The exact counts of the first nodes at a time: memory activity, directory states found, and packets of their links.
type Sample = (Time, Vec<[Vec<u64>; 3]>);

/// Takes samples of the first nodes.
fn sample(simulator: &mut Simulator, interval: Duration) -> Rc<RefCell<Vec<Sample>>> {
    let nodes: Vec<_> = simulator.topology().nodes().iter().take(4).copied().collect();
    let one = |place, unit, mode| Watched { place, unit, modes: vec![mode] };
    let of = |node: &machine::Node| {
        let (place, unit) = (Place::Node(node.id), CounterUnit::HubMemory);
        let port = one(Place::Port(node.router, node.port), CounterUnit::RouterPort { channel: 0 }, 0);
        [one(place, unit, 0), one(place, unit, 4), port]
    };
    let (samples, watch) =
        (Rc::default(), Watch { interval, reader: None, units: nodes.iter().flat_map(of).collect() });
    let taken: Rc<RefCell<Vec<Sample>>> = Rc::clone(&samples);
    let told = move |round: &sim::counters::Round<'_>| {
        let node = |readings: &[sim::counters::Reading]| [0, 1, 2].map(|unit: usize| readings[unit].exact.clone());
        taken.borrow_mut().push((round.due, round.readings.chunks(3).map(node).collect()));
    };
    simulator.watch(watch, Box::new(told)).unwrap();
    samples
}

fn run(machine: &str, mode: Mode, programs: &[Vec<Step>]) -> Seen {
    run_sampled(machine, mode, programs, Some(Duration::from_ns(1700.0)))
}

fn run_sampled(machine: &str, mode: Mode, programs: &[Vec<Step>], sampling: Option<Duration>) -> Seen {
    let description = machine::load(machine).unwrap();
    let options = Options { mode, check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(&description, options).unwrap();
    let samples = sampling.map(|interval| sample(&mut simulator, interval));
    let nodes = simulator.topology().nodes().len() as u16;
    let regions: Vec<_> = (0..4).map(|n| simulator.allocate(NodeId(n % nodes), Bytes(3 * CONFLICT)).unwrap()).collect();
    let start = |(cpu, steps): (usize, &Vec<Step>)| {
        let (regions, steps) = (regions.clone(), steps.clone());
        let body = move |thread: &mut Thread<'_>| execute(thread, &regions, &steps);
        (CpuId(cpu as u16), Box::new(body) as Program)
    };
    let reports = simulator.run(programs.iter().enumerate().map(start).collect()).unwrap();
    simulator.check_coherence().unwrap();
    assert_eq!(simulator.messages_under_way(), 0, "every message has arrived");
    let counters = (0..nodes).map(|n| simulator.hub_counters(NodeId(n))).collect();
    (reports, counters, simulator.now(), samples.map_or_else(Vec::new, |samples| samples.take()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Look-ahead does not change any observable result, on either processor.
    #[test]
    fn look_ahead_equals_lock_step(programs in programs(10), r12k in any::<bool>()) {
        let machine = if r12k { "origin2000-r12k-300-16p" } else { "bitmap" };
        prop_assert_eq!(run(machine, Mode::LookAhead, &programs), run(machine, Mode::LockStep, &programs));
    }

    /// On a machine with a coarse sharer vector, every load returns the last store and the directory lists every copy.
    #[test]
    fn coarse_vectors_stay_coherent(programs in programs(12)) {
        run("origin2000-r12k-300-256p", Mode::LookAhead, &programs);
    }
}

/// A program of hits alone runs without events; the next one still starts when it has ended.
#[test]
fn runs_follow_each_other_in_time() {
    let mut simulator = Simulator::new(&machine::load("arctic").unwrap(), Options::default()).unwrap();
    let base = simulator.allocate(NodeId(0), Bytes(128)).unwrap();
    let hits = || Box::new(move |thread: &mut Thread<'_>| (0..1000).for_each(|_| thread.load(base))) as Program;
    let first = simulator.run(vec![(CpuId(0), hits())]).unwrap()[0];
    let second = simulator.run(vec![(CpuId(0), hits())]).unwrap()[0];
    assert!(second.started >= first.finished);
    assert!(second.finished - second.started < first.finished - first.started, "only the first run misses");
}

/// Every processor of a 16-processor machine stores to every line: the same run twice gives the same bytes.
#[test]
fn equal_seeds_give_equal_runs() {
    let steps: Vec<_> = (0..240u32)
        .map(|n| if n % 3 == 0 { Step::Load(n as u8 % 24) } else { Step::Store((n * 7 % 24) as u8) })
        .collect();
    let programs = vec![steps; 16];
    assert_eq!(run("bwana", Mode::LookAhead, &programs), run("bwana", Mode::LookAhead, &programs));
}

/// Samples of the nodes do not change the results, and the last sample covers the whole run.
#[test]
fn samples_disturb_nothing() {
    let step = |n: u32| if n.is_multiple_of(4) { Step::Store(n as u8 % 24) } else { Step::Load(n as u8 % 24) };
    let steps: Vec<Step> = (0..120).map(step).collect();
    let programs = vec![steps; 4];
    let of = |ns: Option<f64>| run_sampled("bitmap", Mode::LookAhead, &programs, ns.map(Duration::from_ns));
    let (without, often, seldom) = (of(None), of(Some(100.0)), of(Some(1e6)));
    assert_eq!((&without.0, &without.1, without.2), (&often.0, &often.1, often.2));
    assert!(without.3.is_empty() && seldom.3.len() < often.3.len());
    assert_eq!(often.3.last(), seldom.3.last());
    assert!(often.3.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let sum = |register: usize| often.3.last().unwrap().1.iter().map(|node| node[2][register]).sum::<u64>();
    assert_eq!(sum(1), sum(2), "what goes into the network comes out");
}

/// The work of a node for a neighbour that reads `READS` of its lines, one at a time: a request of one packet comes in,
/// nine packets go out, and memory takes 100 ns to the first data and 200 ns more for the line (Prestor 2001, 4.1.3).
#[test]
fn samples_show_what_memory_and_links_did() {
    const READS: u64 = 100;
    let mut simulator = Simulator::new(&machine::load("lego-oil").unwrap(), Options::default()).unwrap();
    let base = simulator.allocate(NodeId(0), Bytes(128 * READS)).unwrap();
    let samples = sample(&mut simulator, Duration::from_ns(5000.0));
    let reads = move |thread: &mut Thread<'_>| {
        for line in 0..READS {
            thread.load(base.offset(128 * line));
            thread.drain();
        }
    };
    simulator.run(vec![(CpuId(2), Box::new(reads) as Program)]).unwrap();
    let samples = samples.take();
    let (first, (_, nodes)) = (&samples[1].1[0], samples.last().unwrap());
    let [activity, found, link] = &nodes[0];
    assert_eq!(found.iter().sum::<u64>(), READS);
    assert_eq!(found[0], READS, "unowned");
    assert_eq!((link[1], link[2]), (9 * READS, READS));
    // The unit is cycles of 10 ns; refresh counts apart.
    let refreshes = simulator.now().0 / Duration::from_ns(15_600.0).0 + 1;
    assert!(activity[2] <= 25 * refreshes && activity[2] >= 25 * (refreshes - 1), "{activity:?}");
    let reading = 30 * READS;
    assert!((reading - 25 * refreshes..=reading).contains(&activity[4]), "{activity:?} for {reading}");
    assert!(first[0][4] < activity[4] && first[1][0] < READS && first[1][0] > 0);
    // Node 1 is not involved.
    assert_eq!((nodes[1][0][3], nodes[1][0][4]), (0, 0));
}
