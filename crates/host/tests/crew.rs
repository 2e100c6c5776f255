//! The crew runs what is sound, and refuses what would leave its memory, follow what is no pointer, or wait for nobody.

use std::sync::{Arc, LazyLock};

use host::clock::Clock;
use host::crew::{AreaId, Crew, Elements, Job, ping_pong};
use host::discovery::{Inventory, KernelFiles};
use host::kernels::list::Order;
use host::kernels::{Operation, Stores};
use host::memory::{Mapping, PageKind};
use proptest::prelude::*;
use units::{Bytes, CpuId};

const SIZE: Bytes = Bytes::from_kib(64);
const WALK: Operation = Operation::Walk { work: 0 };
const TRAFFIC: Operation = Operation::Traffic { reads: 1, writes: 1, pause: 0 };

static INVENTORY: LazyLock<Arc<Inventory>> =
    LazyLock::new(|| Arc::new(Inventory::discover(&KernelFiles::live()).expect("this computer has CPUs")));

static CLOCK: LazyLock<Arc<Clock>> = LazyLock::new(|| Arc::new(Clock::calibrate().expect("Linux has a clock")));

/// A crew with 64 KiB.
fn crew() -> (Crew, AreaId) {
    let mut crew = Crew::new(INVENTORY.clone(), CLOCK.clone());
    let node = *INVENTORY.usable_nodes().first().expect("a node with memory");
    let area = crew.add(Mapping::on_node(&INVENTORY, node, SIZE, PageKind::Base).expect("64 KiB"));
    (crew, area)
}

fn elements(area: AreaId, offset: u64, stride: u64, count: u64) -> Elements {
    Elements { area, offset: Bytes(offset), stride: Bytes(stride), count }
}

/// A job of one pass on processor number `number` of those that may be used; there need not be as many.
fn job(number: usize, operation: Operation, elements: Elements) -> Job {
    let cpu = INVENTORY.usable_cpus().get(number).copied().unwrap_or(CpuId(u16::MAX - number as u16));
    Job { cpu, operation, elements, first: 0, steps: elements.count }
}

/// Runs one job; the steps it took.
fn run(crew: &mut Crew, operation: Operation, elements: Elements) -> Result<u64, String> {
    let done = crew.run(&[job(0, operation, elements)], false).map_err(|error| error.to_string())?;
    Ok(done[0].steps)
}

/// Whether two threads can run at once.
fn alone() -> bool {
    let alone = INVENTORY.usable_cpus().len() < 2;
    if alone {
        eprintln!("skipped: two threads need two processors");
    }
    alone
}

#[test]
fn stores_beside_the_elements_of_a_list_spoil_it() {
    let (mut crew, area) = crew();
    let list = elements(area, 0, 64, 512);
    let other = elements(area, 32 << 10, 64, 512);
    for operation in [Operation::Fill, Operation::TouchStore, TRAFFIC] {
        for (offset, stride) in [(56, 64), (0, 24), (8, 16), (120, 128), (16, 40)] {
            crew.link(list, Order::Random { seed: 1 }).unwrap();
            crew.link(other, Order::Ascending).unwrap();
            run(&mut crew, operation, elements(area, offset, stride, 200)).unwrap();
            let refused = run(&mut crew, WALK, list).expect_err("pointers were written over");
            assert!(refused.contains("not linked"), "{operation:?} at {offset}, {stride}: {refused}");
            assert_eq!(run(&mut crew, WALK, other), Ok(512), "{operation:?} did not come so far");
        }
    }
}

#[test]
fn stores_to_the_elements_themselves_keep_lists() {
    let (mut crew, area) = crew();
    let (first, second) = (elements(area, 0, 128, 256), elements(area, 32 << 10, 128, 256));
    for part in [first, second] {
        crew.link(part, Order::Random { seed: 2 }).unwrap();
    }
    for (offset, stride, count) in [(0, 128, 512), (0, 64, 1024), (0, 256, 256), (128, 256, 255), (256, 32, 1000)] {
        for operation in [Operation::Fill, Operation::TouchStore, TRAFFIC, Operation::TouchLoad, Operation::Flush] {
            run(&mut crew, operation, elements(area, offset, stride, count)).unwrap();
        }
        for part in [first, second] {
            assert_eq!(run(&mut crew, Operation::Modify { work: 1 }, part), Ok(256), "{offset} {stride}");
            assert_eq!(run(&mut crew, Operation::CompareExchange, part), Ok(256));
        }
    }
    let stores = Stores::Plain;
    run(&mut crew, Operation::Copy { stores }, elements(area, 0, 64, 100)).unwrap();
    assert!(run(&mut crew, WALK, first).is_err(), "whole lines were written");
    assert_eq!(run(&mut crew, WALK, second), Ok(256));
}

/// Action of a random phase on the memory.
fn action() -> impl Strategy<Value = (u8, u64, u64, u64)> {
    (0..8_u8, 0..64_u64, 2..24_u64, 1..200_u64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// A pointer that is none would end the test program.
    #[test]
    fn walks_are_refused_or_come_round(actions in prop::collection::vec(action(), 2..12)) {
        let (mut crew, area) = crew();
        let mut lists = Vec::new();
        for (kind, offset, stride, count) in actions {
            let some = elements(area, 8 * offset, 8 * stride, count);
            let operation = match kind {
                0..=2 => {
                    crew.link(some, Order::Random { seed: offset }).unwrap();
                    lists.push(some);
                    continue;
                }
                3 => Operation::Fill,
                4 => Operation::TouchStore,
                5 if count > 1 => TRAFFIC,
                6 => Operation::ReadModifyWrite,
                _ => Operation::TouchLoad,
            };
            run(&mut crew, operation, some).unwrap();
            for &list in &lists {
                for follower in [WALK, Operation::Modify { work: 0 }] {
                    if let Ok(steps) = run(&mut crew, follower, list) {
                        prop_assert_eq!(steps, list.count);
                    }
                }
            }
        }
    }
}

#[test]
fn nobody_writes_over_pointers_that_another_follows() {
    let (mut crew, area) = crew();
    let list = elements(area, 0, 64, 512);
    crew.link(list, Order::Ascending).unwrap();
    for (operation, offset, stride) in [
        (Operation::FillNonTemporal, 0, 64),
        (Operation::ReadModifyWrite, 1024, 64),
        (Operation::Fill, 56, 64),
        (TRAFFIC, 0, 24),
        (Operation::Copy { stores: Stores::NonTemporal }, 0, 64),
    ] {
        let stores = job(1, operation, elements(area, offset, stride, 100));
        for jobs in [[job(0, WALK, list), stores], [stores, job(0, WALK, list)]] {
            let refused = crew.run(&jobs, false).expect_err("not at the same time").to_string();
            assert!(refused.contains("may write over"), "{refused}");
        }
    }
    assert_eq!(run(&mut crew, WALK, list), Ok(512), "nothing was done");
    if alone() {
        return;
    }
    let elsewhere = elements(area, 32 << 10, 64, 512);
    for beside in [
        job(1, Operation::Fill, elements(area, 0, 64, 1024)),
        job(1, Operation::Modify { work: 0 }, list),
        job(1, Operation::FillNonTemporal, elsewhere),
    ] {
        let done = crew.run(&[job(0, WALK, list), beside], false).expect("they get along");
        assert_eq!(done.iter().map(|done| done.steps).collect::<Vec<_>>(), [512, beside.steps]);
    }
}

#[test]
fn elements_that_are_not_there_are_refused() {
    let (mut crew, area) = crew();
    let stores = Stores::Plain;
    // Three arrays of so many elements: their number, then their bytes are small again modulo 2^64.
    let wrapping = u64::MAX / 3 + 1;
    for (operation, offset, stride, count) in [
        (Operation::Triad { stores }, 0, 64, wrapping),
        (Operation::Copy { stores }, 0, 64, u64::MAX / 192 + 1),
        (Operation::Copy { stores }, 0, 64, 342),
        (Operation::Fill, 0, 1 << 62, 4),
        (Operation::Fill, u64::MAX - 7, 64, 1),
        (Operation::Fill, 0, 64, 1025),
        (Operation::Fill, 64, 64, 1024),
        (Operation::Sum, 0, 0, 5),
        (Operation::Sum, 0, 8, 0),
        (Operation::Walk { work: 0 }, 0, 64, u64::MAX),
    ] {
        let refused = run(&mut crew, operation, elements(area, offset, stride, count));
        assert!(refused.is_err(), "{operation:?} at {offset}, {stride}, {count}: {refused:?}");
    }
    assert!(crew.link(elements(area, 0, 1 << 63, 2), Order::Ascending).is_err());
    assert!(crew.link(elements(area, 0, 64, 1025), Order::Ascending).is_err());
    let order = Order::PageLocal { page: Bytes(3), seed: 0 };
    let refused = crew.link(elements(area, 0, 64, 8), order).expect_err("no page").to_string();
    assert!(refused.contains("powers of two"), "{refused}");
    crew.remove(area);
    assert!(run(&mut crew, Operation::Sum, elements(area, 0, 64, 1)).is_err_and(|text| text.contains("given back")));
}

#[test]
fn elements_that_are_not_aligned_are_refused() {
    let (mut crew, area) = crew();
    let stores = Stores::NonTemporal;
    for (operation, offset, accepted) in [
        (Operation::TouchLoad, 4, "multiples of 8 B"),
        (Operation::Flush, 1, "multiples of 8 B"),
        (Operation::FillNonTemporal, 8, "multiples of 64 B"),
        (Operation::Scale { stores }, 32, "multiples of 64 B"),
    ] {
        let refused = run(&mut crew, operation, elements(area, offset, 64, 8)).expect_err("not aligned");
        assert!(refused.contains(accepted), "{operation:?}: {refused}");
    }
    assert_eq!(run(&mut crew, Operation::TouchLoad, elements(area, 8, 64, 8)), Ok(8));
    assert_eq!(run(&mut crew, Operation::FillNonTemporal, elements(area, 64, 128, 8)), Ok(8));
}

#[test]
fn a_ping_pong_has_two_sides_and_one_word() {
    let (mut crew, area) = crew();
    let (word, other) = (elements(area, 0, 64, 1), elements(area, 128, 64, 1));
    let player =
        |number: usize, side: usize, elements: Elements| Job { steps: 100, ..job(number, ping_pong(side), elements) };
    for jobs in [
        vec![player(0, 0, word)],
        vec![player(0, 0, word), player(1, 0, word)],
        vec![player(0, 1, word), player(1, 1, word)],
        vec![player(0, 0, word), player(1, 1, other)],
        vec![player(0, 0, word), job(1, Operation::TouchLoad, word)],
        vec![player(0, 0, word), player(1, 1, word), job(2, Operation::TouchLoad, other)],
    ] {
        let refused = crew.run(&jobs, true).expect_err("no ping-pong").to_string();
        assert!(refused.contains("a leader and a follower"), "{refused}");
    }
    if alone() {
        return;
    }
    for _ in 0..2 {
        let done = crew.run(&[player(0, 0, word), player(1, 1, word)], false).expect("a ping-pong");
        assert_eq!([done[0].steps, done[1].steps], [100, 100]);
    }
}

#[test]
fn whoever_goes_on_along_a_list_begins_where_the_one_before_ended() {
    let (mut crew, area) = crew();
    let list = elements(area, 0, 64, 100);
    crew.link(list, Order::Random { seed: 5 }).unwrap();
    for first in [0, 70, 140, 30, u64::MAX - 5] {
        let done = crew.run(&[Job { first, steps: 70, ..job(0, WALK, list) }], false).unwrap();
        assert_eq!(done[0].steps, 70, "from {first}");
    }
}
