//! Tests of the counters of simulated machines: short registers add up to the exact counts, and readings do not
//! disturb.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;
use sim::counters::{CounterUnit, Place, Reading, Shape, Watch, Watched};
use sim::{Mode, Options, Program, SimError, Simulator, Thread, ThreadReport};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Port, RouterId, Time};

/// Memory for every thread on every node, in lines: more than fits two ways of a secondary cache in conflict.
const LINES: u64 = 64;

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u8, u8),
    Store(u8, u8),
    Work(u32),
    Barrier,
}

fn ns(count: u64) -> Duration {
    Duration(count * 1000)
}

fn ms(count: u64) -> Duration {
    ns(count * 1_000_000)
}

/// A round: its due time, its cost, and its readings.
type Seen = Vec<(Time, Duration, Vec<Reading>)>;

fn all_modes(place: Place, unit: CounterUnit) -> Watched {
    let seen = |&mode: &usize| unit.modes()[mode].events.iter().all(|event| event.is_seen());
    Watched { place, unit, modes: (0..unit.modes().len()).filter(seen).collect() }
}

/// The machine with its readings, after `programs` have run on it.
fn run(
    machine: &str,
    options: Options,
    watch: Option<Watch>,
    programs: &[Vec<Step>],
) -> (Vec<ThreadReport>, Seen, Time) {
    let description = machine::load(machine).unwrap();
    let mut simulator = Simulator::new(&description, options).unwrap();
    let nodes = simulator.topology().nodes().len().min(2) as u16;
    let regions: Vec<_> =
        (0..nodes).map(|node| simulator.allocate(NodeId(node), Bytes(128 * LINES)).unwrap()).collect();
    let seen = Rc::new(RefCell::new(Vec::new()));
    if let Some(watch) = watch {
        let seen = seen.clone();
        simulator
            .watch(
                watch,
                Box::new(move |round| {
                    seen.borrow_mut().push((round.due, round.cost, round.readings.to_vec()));
                }),
            )
            .unwrap();
    }
    let start = |(cpu, steps): (usize, &Vec<Step>)| {
        let (regions, steps) = (regions.clone(), steps.clone());
        (CpuId(cpu as u16), Box::new(move |thread: &mut Thread<'_>| execute(thread, &regions, &steps)) as Program)
    };
    let reports = simulator.run(programs.iter().enumerate().map(start).collect()).unwrap();
    (reports, seen.take(), simulator.now())
}

fn execute(thread: &mut Thread<'_>, regions: &[PhysicalAddr], steps: &[Step]) {
    let at = |node: u8, line: u8| regions[usize::from(node) % regions.len()].offset(128 * (u64::from(line) % LINES));
    for &step in steps {
        match step {
            Step::Load(node, line) => thread.load(at(node, line)),
            Step::Store(node, line) => thread.store(at(node, line)),
            Step::Work(cycles) => thread.work(cycles),
            Step::Barrier => thread.barrier(),
        }
    }
}

/// The sums of differences of register contents, for a unit in one mode that counts on from reading to reading.
fn virtualised(seen: &Seen, unit: usize, shape: Shape) -> Vec<u64> {
    let period = shape.period();
    let counts = |(_, _, readings): &(Time, Duration, Vec<Reading>)| {
        readings[unit].registers.iter().map(|&contents| shape.count_of(contents)).collect::<Vec<_>>()
    };
    let mut sums = vec![0u64; seen[0].2[unit].registers.len()];
    for pair in seen.windows(2) {
        let (before, after) = (counts(&pair[0]), counts(&pair[1]));
        for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
            *sum += match period {
                Some(period) => (after + period - before) % period,
                None => after - before,
            };
        }
    }
    sums
}

fn exact(seen: &Seen, unit: usize) -> Vec<u64> {
    let (first, last) = (&seen[0].2[unit].exact, &seen.last().unwrap().2[unit].exact);
    last.iter().zip(first).map(|(last, first)| last - first).collect()
}

/// A thread on each of two nodes that occasionally reads and writes lines of both, and works much longer in between.
fn long_programs(rounds: u32) -> Vec<Vec<Step>> {
    let steps = |thread: u8| {
        (0..rounds)
            .flat_map(move |round| {
                let line = (round % 50) as u8;
                let touch = if round % 3 == 0 { Step::Store(thread, line) } else { Step::Load(thread + 1, line) };
                [touch, Step::Load(thread, line.wrapping_add(thread)), Step::Work(900_000 + round * 13)]
            })
            .collect()
    };
    vec![steps(0), Vec::new(), steps(1)]
}

/// 20-bit registers wrap every 10.5 ms at the soonest, links' clocks every 1.3 ms; in twenty seconds, that is two
/// thousand times and fifteen thousand times. With a reading in less than each wrap, no count is lost.
#[test]
fn thousands_of_wraps_lose_no_count() {
    let topology = machine::Topology::new(&machine::load("lego-oil").unwrap());
    let (node, home) = (Place::Node(NodeId(0)), topology.nodes()[0]);
    let router = Place::Port(home.router, home.port);
    let thread = Place::Thread(0);
    let one = |place, unit, mode| Watched { place, unit, modes: vec![mode] };
    let mut units: Vec<_> = (0..6).map(|mode| one(node, CounterUnit::HubMemory, mode)).collect();
    let cycles = units.len();
    units.push(one(thread, CounterUnit::Processor { second: false }, 0));
    units.push(one(thread, CounterUnit::Processor { second: true }, 26 - 16));
    units.push(one(router, CounterUnit::RouterPort { channel: 0 }, 0));
    let link = units.len() - 1;
    let watch = Watch { interval: ms(10), reader: None, units: units.clone() };
    let (_, seen, now) = run("lego-oil", Options::default(), Some(watch), &long_programs(6500));
    assert!(now > Time::ZERO + ms(20_000), "{now}");
    for (unit, watched) in units[..link].iter().enumerate() {
        assert_eq!(virtualised(&seen, unit, watched.unit.shape()), exact(&seen, unit), "{watched:?}");
    }
    let idle = exact(&seen, 0)[0];
    assert!(idle > 1_900 << 20, "{idle} idle cycles wrap so many times");
    assert!(exact(&seen, cycles)[0] > 1 << 32, "the cycle counter wraps, too");
    // Link registers halve: their ratio stays, except for rounding in a register of a few packets.
    let ratio = |counts: &[u64]| counts[2] as f64 / counts[3] as f64;
    for (_, _, readings) in &seen[1..] {
        let registers = &readings[link].registers;
        assert!(registers.iter().all(|&register| register < 1 << 16));
        assert!(
            registers[3] >= 1 << 15 || readings[link].at == now,
            "the clock is halved, never cleared: {registers:?}"
        );
    }
    let whole = exact(&seen, link);
    assert!(whole[2] > 0 && ratio(&whole) < 0.01, "{whole:?}");
}

/// With a reading every millisecond no link register halves, and a reading clears each, so the readings add up.
#[test]
fn links_read_every_millisecond_are_exact() {
    for channel in [0, 1] {
        for mode in 0..3 {
            let unit = CounterUnit::RouterPort { channel };
            let units =
                (1..=6).map(|port| Watched { place: Place::Port(RouterId(0), Port(port)), unit, modes: vec![mode] });
            let connected = |watched: &Watched| {
                let one = Watch { interval: ms(1), reader: None, units: vec![watched.clone()] };
                let machine = machine::load("lego-oil").unwrap();
                Simulator::new(&machine, Options::default()).unwrap().watch(one, Box::new(|_| ())).is_ok()
            };
            let units: Vec<_> = units.filter(connected).collect();
            assert!(units.len() >= 2);
            let watch = Watch { interval: ms(1), reader: None, units: units.clone() };
            let (_, seen, now) = run("lego-oil", Options::default(), Some(watch), &long_programs(100));
            for (unit, watched) in units.iter().enumerate() {
                let sum =
                    |register: usize| seen[1..].iter().map(|round| round.2[unit].registers[register]).sum::<u64>();
                let sums: Vec<_> = (0..4).map(sum).collect();
                assert_eq!(sums, exact(&seen, unit), "mode {mode} of {watched:?}");
                // The histogram of a queue covers every tick; each of its classes may lack the last one.
                let ticks = now.since(Time::ZERO) / 20_000;
                if mode == 1 {
                    assert!(sums.iter().sum::<u64>().abs_diff(ticks.0) <= 4, "{sums:?} of {ticks:?}");
                }
            }
        }
    }
}

/// Modes that take turns never count more than the exact total, and the turns of one mode cover all its time.
#[test]
fn modes_take_turns() {
    let unit = CounterUnit::HubMemory;
    let units = vec![all_modes(Place::Node(NodeId(0)), unit)];
    let watch = Watch { interval: ms(1), reader: None, units };
    let (_, seen, _) = run("lego-oil", Options::default(), Some(watch), &long_programs(400));
    assert!(seen.len() > 100);
    for (number, pair) in seen.windows(2).enumerate() {
        let (before, after) = (&pair[0].2[0], &pair[1].2[0]);
        assert_eq!(after.turn, (number + 1) % 6, "one round a turn");
        assert_eq!(after.since, before.at, "each counts from when the one before was read");
    }
    // Idle cycles are counted in every sixth round, and nearly all cycles are idle.
    let turns: Vec<_> = seen.iter().filter(|round| round.2[0].turn == 0 && round.2[0].at > round.2[0].since).collect();
    let counted: u64 = turns.iter().map(|round| round.2[0].registers[0]).sum();
    let running: u64 = turns.iter().map(|round| (round.2[0].at - round.2[0].since).0).sum();
    let share = counted as f64 * 10_000.0 / running as f64;
    assert!((0.97..0.99).contains(&share), "all but refresh: {share}");
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u8..2, any::<u8>()).prop_map(|(node, line)| Step::Load(node, line)),
        4 => (0u8..2, any::<u8>()).prop_map(|(node, line)| Step::Store(node, line)),
        2 => (1u32..3000).prop_map(Step::Work),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Machines with both controllers, and with every kind of interconnect.
const WATCHED: &[&str] = &["lego-oil", "flash-16p", "flash-ring-16p", "flash-crossbar-16p", "flash-uncontended-16p"];

/// All units of a machine, with modes in turns.
fn everything(machine: &str, threads: usize, interval: Duration, reader: Option<CpuId>) -> Watch {
    let description = machine::load(machine).unwrap();
    let simulator = Simulator::new(&description, Options::default()).unwrap();
    let mut units = Vec::new();
    for node in (0..2).map(|node| Place::Node(NodeId(node))) {
        units.extend(simulator.node_counters().iter().map(|&unit| all_modes(node, unit)));
        units.push(all_modes(node, CounterUnit::NodeTruth));
    }
    for router in simulator.topology().routers() {
        for (port, _) in router.ports() {
            units.push(all_modes(Place::Port(router.id, port), CounterUnit::RouterPort { channel: 1 }));
        }
    }
    for thread in (0..threads).map(Place::Thread) {
        for second in [false, true] {
            units.push(all_modes(thread, CounterUnit::Processor { second }));
        }
        units.push(all_modes(thread, CounterUnit::ThreadTruth));
    }
    Watch { interval, reader, units }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(18))]

    /// Readings of all units are the same in look-ahead and lock-step, and external readings do not change the results.
    #[test]
    fn looking_is_the_same_in_lock_step(programs in proptest::collection::vec(steps(), 1..4),
        machine in prop::sample::select(WATCHED), inside in any::<bool>()) {
        // The processor takes longer than this interval to read all units.
        let interval = if inside { ns(400_000) } else { ns(1700) };
        let reader = inside.then_some(CpuId(1));
        let of = |mode| {
            let options = Options { mode, ..Options::default() };
            run(machine, options, Some(everything(machine, programs.len(), interval, reader)), &programs)
        };
        let ahead = of(Mode::LookAhead);
        prop_assert_eq!(&ahead, &of(Mode::LockStep));
        if !inside {
            let (reports, _, now) = run(machine, Options::default(), None, &programs);
            prop_assert_eq!((&ahead.0, ahead.2), (&reports, now));
        }
    }
}

/// A thread's counters at its end equal those of its report.
#[test]
fn counters_of_threads_end_where_their_reports_do() {
    let programs: Vec<Vec<Step>> = (0..3u8)
        .map(|thread| {
            let step = |n: u8| if n % 4 == thread { Step::Store(n % 2, n) } else { Step::Load(n % 2, n / 2) };
            (0..200).map(step).chain([Step::Barrier, Step::Work(5000)]).collect()
        })
        .collect();
    let one = |thread, event: usize| Watched {
        place: Place::Thread(thread),
        unit: CounterUnit::Processor { second: event >= 16 },
        modes: vec![event % 16],
    };
    const EVENTS: [usize; 9] = [7, 12, 13, 15, 23, 26, 28, 29, 31];
    let units = (0..3).flat_map(|thread| EVENTS.map(|event| one(thread, event))).collect();
    let watch = Watch { interval: ns(900), reader: None, units };
    let (reports, seen, _) = run("lego-oil", Options::default(), Some(watch), &programs);
    let last = &seen.last().unwrap().2;
    for (thread, report) in reports.iter().enumerate() {
        let counters = &report.counters;
        let external = counters.external;
        let expected = [
            counters.writebacks * 8,
            external.interventions,
            external.invalidations,
            counters.instructions,
            counters.translation_misses,
            counters.secondary_misses - counters.upgrades,
            external.intervention_hits,
            external.invalidation_hits,
            counters.upgrades,
        ];
        let found: Vec<_> = (0..EVENTS.len()).map(|event| last[thread * EVENTS.len() + event].registers[0]).collect();
        assert_eq!(found, expected, "thread {thread}");
        assert_eq!(last[thread * EVENTS.len()].cpu, None, "it is over");
        assert!(external.invalidations >= external.invalidation_hits);
    }
    let sum = |of: fn(&ThreadReport) -> u64| reports.iter().map(of).sum::<u64>();
    assert!(sum(|report| report.counters.external.intervention_hits) > 0);
    assert!(sum(|report| report.counters.upgrades) > 0);
    assert!(seen.iter().any(|round| round.2[0].cpu == Some(CpuId(0))));
}

/// A monitor on a processor takes 300 ns for each register of its own Hub, more for another node's, and 5 us for a
/// port; units are read one after the other, and the processor's program is delayed by the same time.
#[test]
fn a_monitor_inside_pays_for_its_accesses() {
    let md = |node| Watched { place: Place::Node(NodeId(node)), unit: CounterUnit::HubMemory, modes: vec![0] };
    let port = Watched {
        place: Place::Port(RouterId(0), Port(1)),
        unit: CounterUnit::RouterPort { channel: 0 },
        modes: vec![0],
    };
    let watch = |reader| Watch { interval: ms(1), reader, units: vec![md(0), port.clone(), md(1)] };
    let steps = (0..3000u32).flat_map(|step| [Step::Load(0, step as u8), Step::Work(1000)]);
    let programs = vec![steps.collect()];
    let of = |reader| run("lego-oil", Options::default(), Some(watch(reader)), &programs);
    let (outside, inside) = (of(None), of(Some(CpuId(0))));
    assert!(
        outside.1.iter().all(|(due, cost, readings)| {
            *cost == Duration::ZERO && readings.iter().all(|reading| reading.at == *due)
        })
    );
    let (due, cost, readings) = &inside.1[1];
    let after: Vec<_> = readings.iter().map(|reading| reading.at.since(*due)).collect();
    assert_eq!(after[0], ns(1800));
    assert_eq!(after[1], ns(6800));
    assert!(after[2] > ns(8600) && after[2] < ns(14_000), "{after:?}");
    assert_eq!(after[2], *cost);
    let rounds = inside.1.iter().filter(|(due, ..)| *due < inside.0[0].finished).count() as u64;
    let longer = inside.0[0].finished - outside.0[0].finished;
    assert!(
        longer >= *cost * (rounds - 1) && longer <= *cost * rounds + ns(1000),
        "{longer:?} for {rounds} rounds of {cost:?}"
    );
}

#[test]
fn what_cannot_be_looked_at_is_refused_with_the_reason() {
    let mut simulator = Simulator::new(&machine::load("lego-oil").unwrap(), Options::default()).unwrap();
    let mut refused = |place, unit, mode| {
        let watch = Watch { interval: ms(1), reader: None, units: vec![Watched { place, unit, modes: vec![mode] }] };
        simulator.watch(watch, Box::new(|_| ())).expect_err("refused").to_string()
    };
    let node = Place::Node(NodeId(0));
    assert!(refused(node, CounterUnit::MagicHandlers, 0).ends_with("its nodes have no such counters"));
    assert!(refused(node, CounterUnit::HubMemory, 6).ends_with("it has no such mode"));
    assert!(refused(Place::Thread(0), CounterUnit::HubIo, 0).ends_with("it is something else that has such counters"));
    assert!(refused(Place::Node(NodeId(99)), CounterUnit::HubMemory, 0).contains("node 99 does not exist"));
    let port = |port| Place::Port(RouterId(0), Port(port));
    assert!(refused(port(1), CounterUnit::RouterPort { channel: 4 }, 0).ends_with("virtual channels 0 to 3"));
    assert!(refused(port(77), CounterUnit::RouterPort { channel: 0 }, 0).contains("no such port"));
    let branches = refused(Place::Thread(0), CounterUnit::Processor { second: false }, 6);
    assert!(branches.ends_with("not the part of a processor that this event is about"), "{branches}");
    let watch = Watch { interval: Duration::ZERO, reader: None, units: Vec::new() };
    assert!(matches!(simulator.watch(watch, Box::new(|_| ())), Err(SimError::Unwatchable { .. })));
}
