//! Lone misses of every kind on FLASH and on its ideal machines: the account's terms against the time that they take.

use machine::description::{Description, IdealProtocol};
use sim::{Options, Program, Simulator, StallTerms, Thread};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time};

/// What a processor does to a line before the miss that is measured.
#[derive(Clone, Copy)]
enum Before {
    Load,
    Store,
}

/// A lone miss: who misses, the line's home, whether it stores, and who did what to the line before.
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
        if store { thread.store(at) } else { thread.load(at) }
        seen.set((start, thread.now()));
    });
    times.get()
}

fn since(after: &StallTerms, before: &StallTerms) -> StallTerms {
    StallTerms {
        local: after.local - before.local,
        local_with_remote_action: after.local_with_remote_action - before.local_with_remote_action,
        remote: after.remote - before.remote,
        minimum: after.minimum - before.minimum,
        waiting: after.waiting - before.waiting,
        point_to_point: after.point_to_point - before.point_to_point,
        coherence: after.coherence - before.coherence,
    }
}

/// The time and the terms of a case's miss, when another of its kind has warmed MAGIC's caches and the translation buffer.
fn measure(case: &Case, ideal: IdealProtocol) -> (Duration, StallTerms) {
    let mut simulator = Simulator::new(&description(ideal), Options { check_loads: true, ..Options::default() }).unwrap();
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

#[test]
fn show() {
    for case in cases() {
        let cycle = 1000.0 / 225.0;
        for ideal in [IdealProtocol::None, IdealProtocol::ZeroOverhead, IdealProtocol::AllLocal] {
            let (time, t) = measure(&case, ideal);
            let c = |d: Duration| d.as_ns() / cycle;
            println!("{:32} {ideal:?} {:.1} = {:.1}: m {:.1} w {:.1} p {:.1} c {:.1}   {} {} {}", case.name, c(time), c(t.total()), c(t.minimum), c(t.waiting), c(t.point_to_point), c(t.coherence), t.local, t.local_with_remote_action, t.remote);
        }
    }
}
