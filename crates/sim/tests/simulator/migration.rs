//! Tests of pages that move while programs use them: contents and coherence hold, and look-ahead does not change times.

use machine::Description;
use machine::description::OsSpec;
use proptest::prelude::*;
use sim::{Job, Mode, Options, PagingCounters, Program, Scheduling, Simulator, Thread, ThreadReport};
use units::{CpuId, Duration, NodeId, Time, VirtualAddr};

const PAGE: u64 = 16 << 10;

/// Options for migrations that are frequent and repeated.
const NERVOUS: &str = "migration_threshold = 3\nmigration_limit = 1000\n";

/// A machine of eight processors with page migration, and further keys of `[os]`.
fn moving(base: &str, os: &str) -> Description {
    let text = format!(
        "inherit = \"{base}\"\n[l2]\nsize_mib = 1\n[os]\nmigration = true\npage_fault_ns = 700\ninterrupt_ns = 500\nmigrate_ns = 900\nbus_error_ns = 400\nshootdown_ns = 600\n{os}"
    );
    machine::parse("nervous.toml", &text).expect("a machine").description
}

/// An Origin of eight processors with page migration, and further keys of `[os]`.
fn machine(os: &str) -> Description {
    moving("origin2000-r12k-300-8p", os)
}

/// A FLASH of eight processors with page migration, and further keys of `[os]`.
fn flash(os: &str) -> Description {
    moving("flash-8p", os)
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u16),
    LoadDependent(u16),
    Store(u16),
    PrefetchShared(u16),
    PrefetchExclusive(u16),
    LoadUncached(u16),
    Work(u8),
    DropCaches,
    Barrier,
}

/// Six pages, with eight lines used of each, in every block with counters of its own.
fn address(start: VirtualAddr, place: u16) -> VirtualAddr {
    let (page, line) = (u64::from(place) / 8 % 6, u64::from(place) % 8);
    start.offset(page * PAGE + line * (PAGE / 8) + line * 128)
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0u16..48;
    prop_oneof![
        8 => place.clone().prop_map(Step::Load),
        3 => place.clone().prop_map(Step::LoadDependent),
        8 => place.clone().prop_map(Step::Store),
        2 => place.clone().prop_map(Step::PrefetchShared),
        2 => place.clone().prop_map(Step::PrefetchExclusive),
        1 => place.prop_map(Step::LoadUncached),
        4 => any::<u8>().prop_map(Step::Work),
        1 => Just(Step::DropCaches),
    ]
}

fn programs() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let round = prop::collection::vec(step(), 1..60);
    let program = prop::collection::vec(round, 3).prop_map(|rounds| {
        let closed = |mut round: Vec<Step>| {
            round.push(Step::Barrier);
            round
        };
        rounds.into_iter().flat_map(closed).collect()
    });
    prop::collection::vec(program, 8)
}

/// The steps of a program. MAGIC's memory operations are for lines that nobody caches, so `uncached` is false there.
fn execute(thread: &mut Thread<'_>, start: VirtualAddr, steps: &[Step], uncached: bool) {
    for &step in steps {
        match step {
            Step::Load(place) => thread.load(address(start, place)),
            Step::LoadDependent(place) => thread.load_dependent(address(start, place)),
            Step::Store(place) => thread.store(address(start, place)),
            Step::PrefetchShared(place) => thread.prefetch_shared(address(start, place)),
            Step::PrefetchExclusive(place) => thread.prefetch_exclusive(address(start, place)),
            Step::LoadUncached(place) if uncached => thread.load_uncached(address(start, place)),
            Step::LoadUncached(place) => thread.load(address(start, place)),
            Step::Work(cycles) => thread.work(u32::from(cycles)),
            Step::DropCaches => thread.drop_caches(),
            Step::Barrier => thread.barrier(),
        }
    }
}

type Seen = (Vec<ThreadReport>, PagingCounters, Vec<Option<NodeId>>, Time);

fn run(description: &Description, options: Options, programs: &[Vec<Step>]) -> Seen {
    let mut simulator = Simulator::new(description, options).expect("it can be simulated");
    let last = NodeId(description.topology.nodes() as u16 - 1);
    let start = simulator.map(&[None, Some(NodeId(1)), None, None, Some(last), None]).expect("there is room");
    let uncached = description.hub.is_some();
    let program = |(cpu, steps): (usize, &Vec<Step>)| {
        let steps = steps.clone();
        let body = move |thread: &mut Thread<'_>| execute(thread, start, &steps, uncached);
        (CpuId(cpu as u16), Box::new(body) as Program)
    };
    let reports = simulator.run(programs.iter().enumerate().map(program).collect()).expect("it runs");
    simulator.check_coherence().expect("coherent");
    assert_eq!(simulator.messages_under_way(), 0);
    let homes: Vec<_> = (0..6).map(|page| simulator.home_of(start.offset(page * PAGE))).collect();
    let paging = simulator.paging().clone();
    let copies = paging.placed.iter().sum::<u64>() - homes.iter().flatten().count() as u64;
    assert!(copies <= paging.replications, "{paging:?}");
    (reports, paging, homes, simulator.now())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every load returns the last store while pages move, and look-ahead does not change the results.
    #[test]
    fn pages_move_under_programs(
        programs in programs(), seed: u64, keeps_colour in any::<bool>(), copies in any::<bool>(), slow in any::<bool>(),
        memory_nodes in 0u32..3,
    ) {
        let more = format!("migration_keeps_colour = {keeps_colour}\nreplication = {copies}\ncoverage_radius = 1\n");
        // The last page is on a node without processors, if there is one.
        let description = machine(&format!("{NERVOUS}{more}[topology]\nmemory_nodes = {memory_nodes}\n"));
        let random_delay = if slow { Duration::from_ns(400.0) } else { Duration::ZERO };
        let of = |mode| Options { mode, check_loads: true, random_delay, seed, ..Options::default() };
        let ahead = run(&description, of(Mode::LookAhead), &programs);
        // Random delays are drawn in the order of events, some of which look-ahead omits.
        if !slow {
            prop_assert_eq!(ahead, run(&description, of(Mode::LockStep), &programs));
        }
    }
}

/// Protocols of FLASH with different ways to keep sharers, to invalidate, and to keep remote lines.
const PROTOCOLS: [&str; 8] = [
    "cv=2",
    "bit-vector/RH",
    "dynamic-pointer",
    "dynamic-pointer/RAC",
    "hybrid/IC",
    "hybrid/IR/RAC",
    "broadcast",
    "limited-pointer=2/IR",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The same on FLASH, where the kernel takes translations away and MAGIC recalls the lines.
    #[test]
    fn pages_move_under_programs_on_flash(
        programs in programs(), seed: u64, keeps_colour in any::<bool>(), copies in any::<bool>(), slow in any::<bool>(),
        memory_nodes in 0u32..3, protocol in prop::sample::select(&PROTOCOLS[..]), registers in 1u32..5,
    ) {
        let more = format!("migration_keeps_colour = {keeps_colour}\nreplication = {copies}\ncoverage_radius = 0\n");
        let rest = format!(
            "[topology]\nmemory_nodes = {memory_nodes}\n[directory]\nprotocol = \"{protocol}\"\n[processor]\noutstanding_misses = {registers}\n"
        );
        let description = flash(&format!("{NERVOUS}{more}{rest}"));
        let random_delay = if slow { Duration::from_ns(400.0) } else { Duration::ZERO };
        let of = |mode| Options { mode, check_loads: true, random_delay, seed, ..Options::default() };
        let ahead = run(&description, of(Mode::LookAhead), &programs);
        prop_assert_eq!(ahead.1.bus_errors, 0);
        if !slow {
            prop_assert_eq!(ahead, run(&description, of(Mode::LockStep), &programs));
        }
    }
}

/// One processor repeatedly accesses more pages of a remote node than its cache holds.
fn go_over(description: &Description, pages: u64, rounds: usize) -> Seen {
    let options = Options { check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(description, options).expect("it can be");
    let start = simulator.map(&vec![Some(NodeId(3)); pages as usize]).expect("there is room");
    let body = move |thread: &mut Thread<'_>| {
        for _ in 0..rounds {
            for line in 0..pages * PAGE / 128 {
                thread.load_dependent(start.offset(line * 128));
                if line % 4 == 0 {
                    thread.store(start.offset(line * 128 + 8));
                }
            }
        }
    };
    let reports = simulator.run(vec![(CpuId(0), Box::new(body) as Program)]).expect("it runs");
    simulator.check_coherence().expect("coherent");
    let homes = (0..pages).map(|page| simulator.home_of(start.offset(page * PAGE))).collect();
    (reports, simulator.paging().clone(), homes, simulator.now())
}

#[test]
fn a_page_moves_to_who_uses_it_and_that_pays() {
    let moving = machine("migration_threshold = 48\nmigration_limit = 4");
    let os = OsSpec { migration: false, ..moving.os.clone() };
    let still = Description { os, ..moving.clone() };
    let (reports, paging, homes, _) = go_over(&moving, 96, 20);
    assert_eq!(homes, [Some(NodeId(0)); 96]);
    assert_eq!((paging.migrations, paging.placed.as_slice()), (96, &[96, 0, 0, 0][..]));
    assert!(paging.bus_errors >= 1 && paging.interrupts >= 96, "{paging:?}");
    let (unmoved, none, stayed, _) = go_over(&still, 96, 20);
    assert_eq!((none.migrations, none.interrupts, stayed), (0, 0, vec![Some(NodeId(3)); 96]));
    let time = |reports: &[ThreadReport]| reports[0].finished - reports[0].started;
    assert!(time(&reports).0 * 10 < time(&unmoved).0 * 9, "{:?} moved, {:?} not", time(&reports), time(&unmoved));
    let os_time = |reports: &[ThreadReport]| reports[0].counters.time.of(sim::Cause::System);
    assert!(os_time(&reports) > Duration::ZERO && os_time(&unmoved) == Duration::ZERO);
}

#[test]
fn a_page_of_flash_moves_to_who_uses_it_and_that_pays() {
    let moving = flash("migration_threshold = 48\nmigration_limit = 4");
    let os = OsSpec { migration: false, ..moving.os.clone() };
    let still = Description { os, ..moving.clone() };
    let (reports, paging, homes, _) = go_over(&moving, 96, 20);
    assert_eq!(homes, [Some(NodeId(0)); 96]);
    assert_eq!((paging.migrations, &paging.placed[..4]), (96, &[96, 0, 0, 0][..]));
    assert_eq!((paging.bus_errors, paging.shootdowns), (0, 96), "{paging:?}");
    let (unmoved, none, stayed, _) = go_over(&still, 96, 20);
    assert_eq!((none.migrations, none.interrupts, stayed), (0, 0, vec![Some(NodeId(3)); 96]));
    let time = |reports: &[ThreadReport]| reports[0].finished - reports[0].started;
    assert!(time(&reports).0 * 10 < time(&unmoved).0 * 9, "{:?} moved, {:?} not", time(&reports), time(&unmoved));
}

/// All processors read the same pages, without keeping copies in caches for long; then one stores to each page.
fn read_by_all(mut description: Description, replication: bool) -> Seen {
    (description.os.migration, description.os.replication) = (false, replication);
    let options = Options { check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(&description, options).expect("it can be");
    let start = simulator.map(&[Some(NodeId(0)); 4]).expect("there is room");
    let body = move |cpu: u16| {
        move |thread: &mut Thread<'_>| {
            for _ in 0..12 {
                (0..4 * PAGE / 128).for_each(|line| thread.load_dependent(start.offset(line * 128)));
                thread.drop_caches();
            }
            thread.barrier();
            if cpu == 7 {
                (0..4).for_each(|page| thread.store(start.offset(page * PAGE)));
            }
            thread.barrier();
            (0..4 * PAGE / 128).for_each(|line| thread.load_dependent(start.offset(line * 128)));
        }
    };
    let programs = (0..8).map(|cpu| (CpuId(cpu), Box::new(body(cpu)) as Program));
    let reports = simulator.run(programs.collect()).expect("it runs");
    simulator.check_coherence().expect("coherent");
    let homes = (0..4).map(|page| simulator.home_of(start.offset(page * PAGE))).collect();
    (reports, simulator.paging().clone(), homes, simulator.now())
}

#[test]
fn what_is_only_read_is_copied_to_its_readers_until_somebody_stores_to_it() {
    let origin = machine("migration_threshold = 1000000");
    let (_, alone, _, long) = read_by_all(origin.clone(), false);
    assert_eq!((alone.replications, alone.collapses, alone.placed[0]), (0, 0, 4));
    let (_, paging, homes, short) = read_by_all(origin, true);
    // Nodes 0 and 1 share a router, as do 2 and 3: one copy at the other router is near enough to both.
    assert_eq!((paging.replications, paging.collapses), (4, 4), "{paging:?}");
    assert_eq!((homes, paging.placed), (vec![Some(NodeId(0)); 4], vec![4, 0, 0, 0]));
    assert!(short.0 * 10 < long.0 * 9, "{short:?} with copies, {long:?} without");
}

#[test]
fn flash_copies_what_is_only_read_to_every_reader_beyond_the_radius() {
    let flash = flash("migration_threshold = 1000000\ncoverage_radius = 0");
    let (_, alone, _, long) = read_by_all(flash.clone(), false);
    let (_, paging, homes, short) = read_by_all(flash, true);
    assert_eq!((alone.replications, alone.collapses, alone.shootdowns), (0, 0, 0));
    // Each of the seven other nodes has one copy of each page, which the store gives up. Its reader is interrupted.
    assert_eq!((paging.replications, paging.collapses, paging.shootdowns), (28, 4, 28), "{paging:?}");
    assert_eq!((homes, &paging.placed[..2]), (vec![Some(NodeId(0)); 4], &[4, 0][..]));
    assert!(short.0 * 10 < long.0 * 9, "{short:?} with copies, {long:?} without");
}

#[test]
fn a_page_that_is_placed_far_away_is_used_there_and_copied_at_the_next_fault() {
    let mut description = machine("placement = \"fixed\"\nfixed_node = 3");
    (description.os.migration, description.os.replication) = (false, true);
    let mut simulator = Simulator::new(&description, Options::default()).expect("it can be");
    let start = simulator.map(&[None]).expect("there is room");
    let body = move |cpu: u16| {
        move |thread: &mut Thread<'_>| {
            // Processors 0 and 1 are of one node; the second finds the page in memory.
            for turn in 0..2 {
                if turn == cpu {
                    thread.load(start);
                }
                thread.barrier();
            }
        }
    };
    let programs = (0..2).map(|cpu| (CpuId(cpu), Box::new(body(cpu)) as Program)).collect();
    simulator.run(programs).expect("nobody waits for a copy that is not made");
    let paging = simulator.paging();
    assert_eq!((paging.faults, paging.replications, paging.placed.as_slice()), (1, 1, &[1, 0, 0, 1][..]));
}

#[test]
fn an_interrupt_puts_off_a_page_fault_and_does_not_lose_it() {
    let os = "migration_threshold = 1\nmigration_limit = 1\nreplication = true\ncoverage_radius = 0";
    is_put_off(machine(os));
    is_put_off(flash(os));
}

fn is_put_off(mut description: Description) {
    description.os.page_fault = Duration::from_ns(1e6);
    let mut simulator = Simulator::new(&description, Options::default()).expect("it can be");
    let copied = simulator.map(&[Some(NodeId(3))]).expect("there is room");
    let moving = simulator.map(&[Some(NodeId(0)); 32]).expect("there is room");
    let program = || {
        Box::new(move |thread: &mut Thread<'_>| match thread.cpu() {
            // It goes on a page fault after the copy has been made.
            CpuId(0) => thread.load(copied),
            // Meanwhile its node's reference counters interrupt it again and again.
            CpuId(2) => {
                for page in 0..32 {
                    thread.store_dependent(moving.offset(page * PAGE));
                    thread.work(30_000);
                }
            }
            _ => {}
        }) as Program
    };
    let job = Job { name: "one".to_owned(), threads: (0..8).map(|_| program()).collect() };
    simulator.run_jobs(vec![job], Scheduling::default()).expect("the fault is served");
    let paging = simulator.paging();
    assert!(paging.replications == 1 && paging.interrupts >= 32, "{paging:?}");
}

/// In a cache whose sets have one place, each of two misses needs the place that is kept for the other.
#[test]
fn misses_on_pages_that_exchange_their_colours_go_on() {
    let mut description = machine("migration_keeps_colour = false");
    (description.os.migration, description.l2.as_mut().unwrap().ways) = (false, 1);
    let mut simulator =
        Simulator::new(&description, Options { check_loads: true, ..Options::default() }).expect("it can be");
    let start = simulator.map(&[Some(NodeId(3)); 2]).expect("there is room");
    let (first, second) = (start, start.offset(PAGE));
    assert!(simulator.let_pages_move());
    let body = move |thread: &mut Thread<'_>| {
        // The processor learns where the pages are, and keeps nothing of the lines that it misses on later.
        thread.load(first.offset(128));
        thread.load(second.offset(128));
        thread.drain();
        // The first two frames of a node have the colours of the first two pages: the other way round.
        for page in [second, first] {
            thread.move_page(page, NodeId(1));
            while thread.home_of(page) != Some(NodeId(1)) {
                thread.work(1000);
            }
        }
        thread.load(first);
        thread.load(second);
    };
    let reports = simulator.run_process(vec![CpuId(0)], None, Box::new(body)).expect("it runs");
    simulator.check_coherence().expect("coherent");
    assert_eq!((reports.len(), simulator.paging().migrations, simulator.paging().bus_errors), (1, 2, 2));
}

/// A thread of FLASH asks for its page on another node, and goes on while the page moves.
#[test]
fn a_page_of_flash_moves_where_the_program_asks() {
    let mut description = flash("migration_limit = 1");
    description.os.migration = false;
    let mut simulator =
        Simulator::new(&description, Options { check_loads: true, ..Options::default() }).expect("it can be");
    let page = simulator.map(&[Some(NodeId(3))]).expect("there is room");
    assert!(simulator.let_pages_move());
    let body = move |thread: &mut Thread<'_>| {
        thread.store(page);
        for node in [5, 0, 3] {
            thread.move_page(page, NodeId(node));
            // The store waits for the page.
            thread.store(page.offset(8));
            while thread.home_of(page) != Some(NodeId(node)) {
                thread.work(1000);
            }
            thread.load(page);
        }
    };
    simulator.run_process(vec![CpuId(0)], None, Box::new(body)).expect("it runs");
    simulator.check_coherence().expect("coherent");
    let paging = simulator.paging();
    assert_eq!((paging.migrations, paging.shootdowns, paging.interrupts), (3, 3, 0), "{paging:?}");
}

#[test]
fn machines_of_one_memory_and_ideal_protocols_move_and_copy_no_pages() {
    let refusal = |name: &str, change: fn(&mut Description)| {
        let mut description = machine::load(name).expect("a machine");
        change(&mut description);
        Simulator::new(&description, Options::default()).err().expect("refused").to_string()
    };
    let moves = refusal("smp-4p", |machine| machine.os.migration = true);
    assert!(moves.contains("os.migration = true: a machine on one bus has one memory"), "{moves}");
    let copies = refusal("flash-4p", |machine| {
        machine.os.replication = true;
        machine.directory.as_mut().unwrap().ideal = machine::description::IdealProtocol::ZeroOverhead;
    });
    assert!(
        copies.contains(
            "os.replication = true: ideal protocols (directory.ideal) neither count references nor copy lines"
        ),
        "{copies}"
    );
}
