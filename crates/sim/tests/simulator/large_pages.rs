//! Large pages: fewer TLB misses and page faults of programs with regions of that size, nothing else.

use machine::Description;
use sim::{Mode, Options, Program, Simulator, Thread, ThreadReport};
use units::{CpuId, NodeId};

const PAGE: u64 = 16 << 10;
/// Pages of the region: a large page and a half.
const PAGES: u64 = 384;

fn machine(large_page_kib: &str) -> Description {
    let changes =
        [("tlb.large_page_kib", large_page_kib), ("os.placement", "first-touch"), ("os.page_fault_ns", "500")];
    match machine::resolve_changed("origin2000-r12k-300-8p", "large pages", "changed", &changes) {
        Ok(resolved) => resolved.description,
        Err(error) => panic!("{error}"),
    }
}

/// Two processors of different nodes sweep the region in turn, twice, a reference a page.
fn sweep(description: &Description, mode: Mode) -> (Vec<ThreadReport>, u64, Vec<Option<NodeId>>) {
    let options = Options { mode, check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(description, options).expect("it can be simulated");
    let start = simulator.map(&[None; PAGES as usize]).expect("there is room");
    let body = move |late: bool| {
        move |thread: &mut Thread<'_>| {
            for round in 0..4 {
                if late == (round % 2 == 1) {
                    (0..PAGES).for_each(|page| thread.store(start.offset(page * PAGE + page % 100 * 128)));
                }
                thread.barrier();
            }
        }
    };
    let programs = vec![(CpuId(2), Box::new(body(false)) as Program), (CpuId(6), Box::new(body(true)) as Program)];
    let reports = simulator.run(programs).expect("it runs");
    simulator.check_coherence().expect("coherent");
    let homes = (0..PAGES).map(|page| simulator.home_of(start.offset(page * PAGE))).collect();
    (reports, simulator.paging().faults, homes)
}

#[test]
fn a_large_page_takes_one_entry_and_one_fault() {
    let (small, faults, homes) = sweep(&machine("0"), Mode::LookAhead);
    assert_eq!((faults, homes), (PAGES, vec![Some(NodeId(1)); PAGES as usize]));
    // Entries of two pages each: 192 of them do not fit in 64.
    assert!(small.iter().all(|thread| thread.counters.translation_misses > 350), "{small:?}");
    let description = machine("4096");
    let (large, faults, homes) = sweep(&description, Mode::LookAhead);
    // One large page, and 128 small ones, two in an entry.
    assert_eq!((faults, &homes), (129, &vec![Some(NodeId(1)); PAGES as usize]));
    assert!(large.iter().all(|thread| thread.counters.translation_misses < 200), "{large:?}");
    assert_eq!(sweep(&description, Mode::LockStep), (large, faults, homes));
}

#[test]
fn a_size_that_cannot_be_is_refused() {
    let refused = |changes: &[(&str, &str)]| match machine::resolve_changed(
        "origin2000-r12k-300-8p",
        "large pages",
        "changed",
        changes,
    ) {
        Ok(_) => panic!("{changes:?} was accepted"),
        Err(error) => error.to_string(),
    };
    let no_power = refused(&[("tlb.large_page_kib", "96")]);
    assert!(no_power.contains("accepted: 0 or a power of two up to 1048576 KiB"), "{no_power}");
    let small = refused(&[("tlb.large_page_kib", "32")]);
    assert!(small.contains("accepted: 0, 64, 128, 256"), "{small}");
    let moving = refused(&[("tlb.large_page_kib", "4096"), ("os.migration", "true")]);
    assert!(moving.contains("os.migration = true: large pages"), "{moving}");
}
