//! Tests of lone misses of every kind on FLASH and on its ideal machines: the account's terms against their times.

use machine::description::{Description, IdealProtocol};
use sim::{Mode, Options, Program, Simulator, StallTerms, Thread};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time};

/// An access to the line before the measured miss.
#[derive(Clone, Copy)]
enum Before {
    Load,
    Store,
}

/// A lone miss: the requester, the line's home, whether it stores, and the earlier accesses to the line.
struct Case {
    name: &'static str,
    requester: u16,
    home: u16,
    store: bool,
    before: Vec<(u16, Before)>,
}

fn readers(cpus: std::ops::Range<u16>) -> Vec<(u16, Before)> {
    cpus.map(|cpu| (cpu, Before::Load)).collect()
}

/// Every kind of miss. Node 1 is on the same cluster router as node 0, node 63 in the farthest metacube.
fn cases() -> Vec<Case> {
    let case = |name, requester, home, store, before| Case { name, requester, home, store, before };
    let mut upgrade = readers(1..9);
    upgrade.push((0, Before::Load));
    vec![
        case("local read", 0, 0, false, vec![]),
        case("local write", 0, 0, true, vec![]),
        case("local upgrade", 0, 0, true, vec![(0, Before::Load)]),
        case("near read", 0, 1, false, vec![]),
        case("far read", 0, 63, false, vec![]),
        case("far write", 0, 63, true, vec![]),
        case("far upgrade", 0, 63, true, vec![(0, Before::Load)]),
        case("three-hop read", 0, 63, false, vec![(17, Before::Store)]),
        case("three-hop write", 0, 63, true, vec![(17, Before::Store)]),
        case("remote read, owner at home", 0, 63, false, vec![(63, Before::Store)]),
        case("local read, dirty elsewhere", 0, 0, false, vec![(63, Before::Store)]),
        case("local write, dirty elsewhere", 0, 0, true, vec![(63, Before::Store)]),
        case("local write, one sharer", 0, 0, true, readers(5..6)),
        case("local write, 20 sharers", 0, 0, true, readers(5..25)),
        case("far write, 20 sharers", 0, 63, true, readers(5..25)),
        case("local upgrade, 8 sharers", 0, 0, true, upgrade.clone()),
        case("far upgrade, 8 sharers", 0, 63, true, upgrade),
    ]
}

fn description(ideal: IdealProtocol) -> Description {
    let mut description = machine::load("flash-64p").unwrap();
    description.directory.as_mut().unwrap().ideal = ideal;
    description
}

/// Runs one program on one processor.
fn run(simulator: &mut Simulator, cpu: u16, program: impl FnOnce(&mut Thread<'_>) + 'static) {
    simulator.run(vec![(CpuId(cpu), Box::new(program) as Program)]).unwrap();
}

fn touch(simulator: &mut Simulator, cpu: u16, at: PhysicalAddr, store: bool) -> (Time, Time) {
    let times = std::rc::Rc::new(std::cell::Cell::new((Time::ZERO, Time::ZERO)));
    let seen = times.clone();
    run(simulator, cpu, move |thread| {
        let start = thread.now();
        if store {
            thread.store(at)
        } else {
            thread.load(at)
        }
        seen.set((start, thread.now()));
    });
    times.get()
}

/// The terms added. T_c may decrease slightly: T_m is a mean, and a miss may be faster.
fn since(after: &StallTerms, before: &StallTerms) -> StallTerms {
    let added = |after: Duration, before: Duration| Duration(after.0.saturating_sub(before.0));
    StallTerms {
        local: after.local - before.local,
        local_with_remote_action: after.local_with_remote_action - before.local_with_remote_action,
        remote: after.remote - before.remote,
        minimum: after.minimum - before.minimum,
        waiting: after.waiting - before.waiting,
        point_to_point: after.point_to_point - before.point_to_point,
        coherence: added(after.coherence, before.coherence),
    }
}

/// The time and the terms of a case's miss, after others of its kind have warmed MAGIC's caches and the TLB.
fn measure(case: &Case, ideal: IdealProtocol) -> (Duration, StallTerms) {
    let mut simulator =
        Simulator::new(&description(ideal), Options { check_loads: true, ..Options::default() }).unwrap();
    let base = simulator.allocate(NodeId(case.home), Bytes(4096)).unwrap();
    let mut last = None;
    for line in 0..3 {
        let at = base.offset(line * 128);
        for &(cpu, before) in &case.before {
            touch(&mut simulator, cpu, at, matches!(before, Before::Store));
        }
        let before = simulator.stall_terms(CpuId(case.requester)).unwrap();
        let (start, end) = touch(&mut simulator, case.requester, at, case.store);
        let after = simulator.stall_terms(CpuId(case.requester)).unwrap();
        last = Some((end.since(start), since(&after, &before)));
    }
    simulator.check_coherence().unwrap();
    last.unwrap()
}

/// Time and terms of a read in a chain of dependent reads of `home`'s lines by processor 0, after reads by another one.
fn chain(ideal: IdealProtocol, home: u16) -> (Duration, StallTerms) {
    const READS: u64 = 64;
    let mut simulator = Simulator::new(&description(ideal), Options::default()).unwrap();
    let base = simulator.allocate(NodeId(home), Bytes(16 << 10)).unwrap();
    let read = move |lines: std::ops::Range<u64>| {
        move |thread: &mut Thread<'_>| lines.for_each(|line| thread.load_dependent(base.offset(line * 128)))
    };
    run(&mut simulator, 5, read(0..2 * READS));
    run(&mut simulator, 0, read(0..READS));
    let (start, before) = (simulator.now(), simulator.stall_terms(CpuId(0)).unwrap());
    run(&mut simulator, 0, read(READS..2 * READS));
    (simulator.now().since(start) / READS, since(&simulator.stall_terms(CpuId(0)).unwrap(), &before))
}

/// The tolerance for a miss: clocks have edges, and the network time is a mean over them.
const EDGES: Duration = Duration(3 * 13_333);

/// The time from the start of a line on the bus to its end in the cache, which an upgrade does not need.
fn fill(description: &Description) -> Duration {
    let cycles = description.coherent_cache().line.0 / description.sysad.as_ref().unwrap().width.0;
    let (magic, l2) = (description.magic.as_ref().unwrap(), description.l2.as_ref().unwrap());
    magic.clock.period() * cycles + l2.bus_clock.period() * u64::from(l2.fill_write_cycles)
}

fn close(first: Duration, second: Duration) -> bool {
    first.0.abs_diff(second.0) <= EDGES.0
}

#[test]
fn terms_of_a_lone_miss_add_up_to_its_time() {
    let machine = description(IdealProtocol::None);
    for case in cases() {
        for ideal in [IdealProtocol::None, IdealProtocol::ZeroOverhead, IdealProtocol::AllLocal] {
            let (time, terms) = measure(&case, ideal);
            // T_m is the time of a miss that fetches a line, which an upgrade does not.
            let upgrade = case.store && case.before.iter().any(|&(cpu, _)| cpu == case.requester);
            let accounted = terms.total() - if upgrade { fill(&machine) } else { Duration::ZERO };
            let slack = if upgrade { EDGES + EDGES } else { EDGES };
            assert!(time.0.abs_diff(accounted.0) <= slack.0, "{}, {ideal:?}: {time} is {terms:?}", case.name);
            assert_eq!(terms.misses(), 1, "{}", case.name);
        }
    }
}

#[test]
fn each_term_is_what_its_name_says() {
    let local = measure(&cases()[0], IdealProtocol::None).1;
    for case in cases() {
        let (_, terms) = measure(&case, IdealProtocol::None);
        let StallTerms { minimum, waiting, point_to_point, coherence, .. } = terms;
        let (remote, elsewhere) = (case.home != case.requester, !case.before.is_empty());
        assert_eq!(minimum, local.minimum, "{}", case.name);
        assert_eq!(waiting, Duration::ZERO, "{}: nobody is in the way", case.name);
        assert_eq!(point_to_point > Duration::ZERO, remote, "{}", case.name);
        assert_eq!(coherence > EDGES, elsewhere, "{}: {coherence}", case.name);
        let kinds = (terms.local, terms.local_with_remote_action, terms.remote);
        assert_eq!(
            kinds,
            if remote {
                (0, 0, 1)
            } else if elsewhere {
                (0, 1, 0)
            } else {
                (1, 0, 0)
            },
            "{}",
            case.name
        );
    }
}

/// FLASH dissertation, 5.5, The All-Local Protocol, and Table 5.2.
#[test]
fn the_least_that_a_miss_takes_on_flash_is_a_local_read() {
    let (time, terms) = chain(IdealProtocol::AllLocal, 63);
    let cycles = |time: Duration| (time.as_ns() * 0.225).round();
    assert_eq!((cycles(time), cycles(terms.minimum / terms.misses())), (135.0, 135.0));
}

#[test]
fn an_ideal_miss_takes_the_time_of_an_unhindered_read() {
    let local = measure(&cases()[0], IdealProtocol::None).0;
    for case in cases() {
        let read = Case { store: false, before: vec![], ..case };
        let upgrade = case.store && case.before.iter().any(|&(cpu, _)| cpu == case.requester);
        let (zero_overhead, all_local) = (IdealProtocol::ZeroOverhead, IdealProtocol::AllLocal);
        // The time does not depend on the owner or on the number of sharers.
        let plain = measure(&read, zero_overhead).0;
        if !upgrade {
            assert!(close(measure(&case, zero_overhead).0, plain), "{}", case.name);
            assert!(close(measure(&case, all_local).0, local), "{}", case.name);
        }
        assert!(measure(&case, zero_overhead).0 <= plain + EDGES, "{}", case.name);
        assert!(close(plain, measure(&read, IdealProtocol::None).0), "{}", case.name);
    }
}

/// Dependent reads follow at the distance of T_m and T_p2p, on the machine and on its ideals, as measured for Table 5.2
/// of the FLASH dissertation.
#[test]
fn back_to_back_reads_follow_at_the_distance_of_the_terms() {
    for home in [0, 1, 5, 17, 33, 63] {
        for ideal in [IdealProtocol::None, IdealProtocol::ZeroOverhead, IdealProtocol::AllLocal] {
            let (time, terms) = chain(ideal, home);
            assert!(close(time, terms.total() / terms.misses()), "home {home}, {ideal:?}: {time}, {terms:?}");
            assert_eq!(terms.point_to_point > Duration::ZERO, home != 0 && ideal != IdealProtocol::AllLocal);
        }
    }
}

/// The terms are sums over misses, whether they overlap or not: no latency hiding is assumed.
#[test]
fn overlapping_misses_count_in_full() {
    let mut simulator = Simulator::new(&description(IdealProtocol::None), Options::default()).unwrap();
    let base = simulator.allocate(NodeId(0), Bytes(4096)).unwrap();
    let start = simulator.now();
    run(&mut simulator, 0, move |thread| (0..4).for_each(|line| thread.load(base.offset(line * 128))));
    let (time, terms) = (simulator.now().since(start), simulator.stall_terms(CpuId(0)).unwrap());
    let alone = measure(&cases()[0], IdealProtocol::None).1.minimum;
    assert_eq!(terms.minimum, alone * 4);
    assert!(terms.waiting > Duration::ZERO, "they wait for each other in MAGIC");
    assert!(terms.total() > time, "{terms:?} in {time}");
}

/// All processors store to one line repeatedly: requests receive NACKs and are retried, and wait for MAGIC. For each
/// processor the terms add up to the time of its misses.
#[test]
fn what_refused_requests_wait_is_accounted_for() {
    const ROUNDS: u32 = 30;
    let mut simulator =
        Simulator::new(&description(IdealProtocol::None), Options { check_loads: true, ..Options::default() }).unwrap();
    let base = simulator.allocate(NodeId(0), Bytes(4096)).unwrap();
    let taken = std::rc::Rc::new(std::cell::RefCell::new(vec![Duration::ZERO; 16]));
    let program = |cpu: u16| {
        let taken = taken.clone();
        let body = move |thread: &mut Thread<'_>| {
            for _ in 0..ROUNDS {
                let start = thread.now();
                thread.store(base);
                let end = thread.now();
                taken.borrow_mut()[usize::from(cpu)] += end.since(start);
                // The work leaves time for another processor to invalidate the line.
                thread.work(2000);
                thread.drain();
            }
        };
        (CpuId(cpu), Box::new(body) as Program)
    };
    let reports = simulator.run((0..16).map(program).collect()).unwrap();
    assert!(reports.iter().any(|report| report.counters.refusals > 0));
    for (report, &taken) in reports.iter().zip(taken.borrow().iter()) {
        let terms = simulator.stall_terms(report.cpu).unwrap();
        let misses = report.counters.secondary_misses;
        assert!(misses > u64::from(ROUNDS) / 2, "{report:?}");
        assert_eq!(terms.misses(), misses);
        // Hits and the TLB miss are not in the protocol's terms.
        let hits = Duration::from_ns(100.0) * (u64::from(ROUNDS) - misses) + description(IdealProtocol::None).tlb.miss;
        let least = terms.total() - EDGES * misses;
        let most = terms.total() + EDGES * misses + hits;
        assert!((least..=most).contains(&taken), "{taken}, but the terms add up to {}: {terms:?}", terms.total());
    }
}

/// Sixteen processors read lines of one node, each its own and one after the other: the ideal machines take the time
/// that the account leaves when T_c, or T_c and T_p2p, are removed (Equations 5.3 and 5.4).
#[test]
fn the_account_foretells_the_ideal_machines_where_nothing_overlaps() {
    const READS: u64 = 200;
    let run_on = |ideal: IdealProtocol| {
        let mut simulator = Simulator::new(&description(ideal), Options::default()).unwrap();
        let base = simulator.allocate(NodeId(20), Bytes(16 * READS * 128)).unwrap();
        let program = |cpu: u16| {
            let own = base.offset(u64::from(cpu) * READS * 128);
            let body = move |thread: &mut Thread<'_>| {
                (0..READS).for_each(|read| thread.load_dependent(own.offset(read * 128)))
            };
            (CpuId(cpu), Box::new(body) as Program)
        };
        let reports = simulator.run((0..16).map(program).collect()).unwrap();
        let with_terms = |report: &sim::ThreadReport| {
            (report.finished.since(report.started), simulator.stall_terms(report.cpu).unwrap())
        };
        reports.iter().map(with_terms).collect::<Vec<_>>()
    };
    let [real, zero_overhead, all_local] =
        [IdealProtocol::None, IdealProtocol::ZeroOverhead, IdealProtocol::AllLocal].map(run_on);
    for ((real, zero_overhead), all_local) in real.iter().zip(&zero_overhead).zip(&all_local) {
        let (time, terms) = *real;
        assert!(terms.coherence > time / 2, "they crowd: {time}, {terms:?}");
        let near = |ours: Duration, theirs: Duration| ours.0.abs_diff(theirs.0) * 20 < theirs.0;
        assert!(near(time - terms.coherence, zero_overhead.0), "{time}, {terms:?}: {}", zero_overhead.0);
        let remote = terms.coherence + terms.point_to_point;
        assert!(near(time - remote, all_local.0), "{time}, {terms:?}: {}", all_local.0);
    }
}

/// The terms cover the measured part of a program alone, or all of a program without a measured part.
#[test]
fn only_what_is_measured_is_accounted_for() {
    let misses = |ideal: IdealProtocol, mode: Mode, measures: bool| {
        let mut simulator = Simulator::new(&description(ideal), Options { mode, ..Options::default() }).unwrap();
        let base = simulator.allocate(NodeId(3), Bytes(16 << 10)).unwrap();
        run(&mut simulator, 0, move |thread: &mut Thread<'_>| {
            for (part, on) in [(0..4, true), (4..7, false), (7..12, true), (12..13, false)] {
                part.for_each(|line| thread.load(base.offset(line * 128)));
                if measures {
                    thread.measure(on);
                }
            }
        });
        simulator.stall_terms(CpuId(0)).unwrap()
    };
    for ideal in [IdealProtocol::None, IdealProtocol::ZeroOverhead] {
        let terms = |measures| {
            let [ahead, step] = [Mode::LookAhead, Mode::LockStep].map(|mode| misses(ideal, mode, measures));
            assert_eq!(ahead, step);
            (ahead.misses(), ahead.remote)
        };
        assert_eq!(terms(false), (13, 13));
        // Measured: the three misses after the first four, and the last one after the next five.
        assert_eq!(terms(true), (4, 4));
    }
}
