//! Random programs: look-ahead against lock-step bit for bit, and caches, directory and data against each other.

use proptest::prelude::*;
use sim::{HubCounters, Mode, Options, Program, Simulator, Thread, ThreadReport};
use units::{Bytes, CpuId, NodeId, PhysicalAddr};

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

/// Programs for some processors: `rounds` of random steps each, a barrier after each round, now and then a cache flush.
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

/// From one line to the next of those that compete for the same two places in a cache: a multiple of every way's size.
const CONFLICT: u64 = 8 << 20;

/// Twenty-four lines on four nodes: pairs of neighbours in a page, and three of each place in a two-way cache.
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

/// Everything that can be seen of a run.
type Seen = (Vec<ThreadReport>, Vec<Option<HubCounters>>, units::Time);

fn run(machine: &str, mode: Mode, programs: &[Vec<Step>]) -> Seen {
    let description = machine::load(machine).unwrap();
    let options = Options { mode, check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(&description, options).unwrap();
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
    (reports, counters, simulator.now())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Running ahead changes nothing that can be seen, on either processor.
    #[test]
    fn look_ahead_equals_lock_step(programs in programs(10), r12k in any::<bool>()) {
        let machine = if r12k { "origin2000-r12k-300-16p" } else { "bitmap" };
        prop_assert_eq!(run(machine, Mode::LookAhead, &programs), run(machine, Mode::LockStep, &programs));
    }

    /// On a machine with a coarse sharer vector, every load returns the last store and the directory knows every copy.
    #[test]
    fn coarse_vectors_stay_coherent(programs in programs(12)) {
        run("origin2000-r12k-300-256p", Mode::LookAhead, &programs);
    }
}

/// A program of hits alone runs without events; the next one starts when it has ended all the same.
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
