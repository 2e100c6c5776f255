//! Tests of pages of a cluster whose old frames are poisoned: who finds out that a page has moved, and who pays for it (Lai and
//! Falsafi 2000, Section 3.1), and what counts as a miss on a page.

use sim::{Cause, Options, Program, Simulator, Thread};
use units::{CpuId, Duration, NodeId};

const PAGE: u64 = 4 << 10;
/// More than a block cache holds.
const PAGES: u64 = 32;

/// Processors of four nodes use pages of the first; then one of the second node misses on all of them, so that they move there;
/// then one of the third node uses some again.
#[test]
fn only_who_meets_the_poison_pays_for_a_page_that_has_moved() {
    let changes = [("miss_counters.threshold", "8"), ("os.migration", "true")];
    let description = machine::resolve_changed("dsm-cluster-4x2", "moving", "", &changes).expect("good").description;
    let options = Options { check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(&description, options).expect("it can be");
    let start = simulator.map(&[Some(NodeId(0)); PAGES as usize]).expect("there is room");
    let again = 5;
    let body = move |cpu: u16| {
        move |thread: &mut Thread<'_>| {
            let mut touch = |pages: u64| (0..pages).for_each(|page| thread.load_dependent(start.offset(page * PAGE)));
            touch(PAGES);
            thread.barrier();
            if cpu == 2 {
                for line in 0..3 * PAGES * PAGE / 64 {
                    thread.load_dependent(start.offset(line * 64 % (PAGES * PAGE)));
                }
            }
            thread.barrier();
            if cpu == 4 {
                (0..again).for_each(|page| thread.load_dependent(start.offset(page * PAGE + 64)));
            }
        }
    };
    let programs = [0, 2, 4, 6].map(|cpu| (CpuId(cpu), Box::new(body(cpu)) as Program));
    let reports = simulator.run(Vec::from(programs)).expect("it runs");
    simulator.check_coherence().expect("coherent");
    let paging = simulator.paging();
    assert_eq!((paging.migrations, &paging.placed[..2]), (PAGES, &[0, PAGES][..]), "{paging:?}");
    assert_eq!(paging.shootdowns, PAGES, "the old home's processor alone is interrupted, once a page");
    assert_eq!(paging.bus_errors, PAGES + again, "who has moved the pages meets each poison, too");
    let in_os = |thread: usize| reports[thread].counters.time.of(Cause::System);
    let traps = Duration(description.os.bus_error.0 * again);
    assert_eq!((in_os(2), in_os(3)), (traps, Duration::ZERO), "one has met poison, and one has not");
    assert!(in_os(0) >= Duration(description.os.shootdown.0 * PAGES));
}

/// A processor of the third node stores to a line of a page of the first, which it has loaded before or not; then one of the second node
/// misses on all lines of all pages.
#[test]
fn an_upgrade_is_no_write_miss_that_keeps_a_page_from_being_replicated() {
    let changes = [("miss_counters.threshold", "8"), ("os.replication", "true")];
    let description = machine::resolve_changed("dsm-cluster-4x2", "copying", "", &changes).expect("good").description;
    for upgrade in [true, false] {
        let options = Options { check_loads: true, ..Options::default() };
        let mut simulator = Simulator::new(&description, options).expect("it can be");
        let start = simulator.map(&[Some(NodeId(0)); PAGES as usize]).expect("there is room");
        let writer = move |thread: &mut Thread<'_>| {
            if upgrade {
                thread.load_dependent(start);
            }
            thread.store(start);
            thread.barrier();
        };
        let reader = move |thread: &mut Thread<'_>| {
            thread.barrier();
            (0..PAGES * PAGE / 64).for_each(|line| thread.load_dependent(start.offset(line * 64)));
        };
        let programs = vec![(CpuId(4), Box::new(writer) as Program), (CpuId(2), Box::new(reader) as Program)];
        simulator.run(programs).expect("it runs");
        simulator.check_coherence().expect("coherent");
        let copied = simulator.paging().replications;
        assert_eq!(copied, if upgrade { PAGES } else { PAGES - 1 }, "the page with a write miss is not");
    }
}

/// Both processors of the home load lines of a page, and one of them stores to them, which is an upgrade; then one of the second node
/// misses on all 64 lines. The page moves if that is ahead of the loads by the threshold: the upgrades are no misses of the home.
#[test]
fn an_upgrade_of_the_home_is_no_miss_that_keeps_a_page_from_moving() {
    let changes = [("miss_counters.threshold", "8"), ("os.migration", "true")];
    let description = machine::resolve_changed("dsm-cluster-4x2", "moving", "", &changes).expect("good").description;
    for (upgrades, moved) in [(20, 1), (28, 1), (29, 0)] {
        let options = Options { check_loads: true, ..Options::default() };
        let mut simulator = Simulator::new(&description, options).expect("it can be");
        let start = simulator.map(&[Some(NodeId(0))]).expect("there is room");
        let each = move |thread: &mut Thread<'_>, lines: u64, store: bool| {
            for line in (0..lines).map(|line| start.offset(line * 64)) {
                if store { thread.store(line) } else { thread.load_dependent(line) }
            }
        };
        let loader = move |thread: &mut Thread<'_>| {
            each(thread, upgrades, false);
            thread.barrier();
            thread.barrier();
        };
        let writer = move |thread: &mut Thread<'_>| {
            thread.barrier();
            each(thread, upgrades, false);
            each(thread, upgrades, true);
            thread.barrier();
        };
        let reader = move |thread: &mut Thread<'_>| {
            thread.barrier();
            thread.barrier();
            each(thread, 64, false);
        };
        let programs =
            vec![(CpuId(1), Box::new(loader) as Program), (CpuId(0), Box::new(writer)), (CpuId(2), Box::new(reader))];
        simulator.run(programs).expect("it runs");
        simulator.check_coherence().expect("coherent");
        assert_eq!(simulator.paging().migrations, moved, "after {upgrades} upgrades");
    }
}
