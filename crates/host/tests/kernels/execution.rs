//! Every kernel does to memory what its model does, takes exactly its steps, and stays inside its span.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::kernels::{Course, Features, Operation, Routine, Stores, list};
use proptest::prelude::*;
use units::Bytes;

use crate::guarded::{Against, Guarded};
use crate::model::{LINE_WORDS, World};

/// The processor's features, and those of the plainest one.
fn features() -> [Features; 2] {
    [Features::detect(), Features::default()]
}

fn arrays() -> impl Strategy<Value = Operation> {
    let stores = prop_oneof![Just(Stores::Plain), Just(Stores::NonTemporal)];
    prop_oneof![
        Just(Operation::Sum),
        (0..40_u32).prop_map(|ahead| Operation::SumPrefetched { ahead }),
        (0..40_u32).prop_map(|ahead| Operation::SumNonTemporal { ahead }),
        Just(Operation::Fill),
        Just(Operation::FillNonTemporal),
        Just(Operation::TouchLoad),
        Just(Operation::TouchStore),
        Just(Operation::TouchShared),
        Just(Operation::Flush),
        Just(Operation::ReadUse),
        Just(Operation::ReadModifyWrite),
        stores.clone().prop_map(|stores| Operation::Copy { stores }),
        stores.clone().prop_map(|stores| Operation::Scale { stores }),
        stores.clone().prop_map(|stores| Operation::Add { stores }),
        stores.prop_map(|stores| Operation::Triad { stores }),
        (0..5_u32, 0..4_u32, 0..50_u32)
            .prop_filter("a round has an access", |(reads, writes, _)| reads + writes > 0)
            .prop_map(|(reads, writes, pause)| Operation::Traffic { reads, writes, pause }),
        (1..5_u64).prop_map(|lines| Operation::SignChange { window: Bytes(64 * lines) }),
    ]
}

/// The stride in words that an operation is tried at.
fn stride_words(operation: Operation, wish: usize) -> usize {
    match operation {
        Operation::SignChange { window } => window.0 as usize / 8,
        Operation::FillNonTemporal => (wish * 8).next_multiple_of(LINE_WORDS),
        _ if operation.is_wide() => LINE_WORDS,
        Operation::Sum | Operation::ReadUse | Operation::ReadModifyWrite => wish,
        _ => wish + 1,
    }
}

/// Numbers between one and two, all different.
fn numbers(words: usize, salt: u64) -> Vec<u64> {
    (0..words as u64).map(|i| (1.0 + ((i * 37 + salt) % 1009) as f64 / 1024.0).to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn memory_afterwards_is_the_models(
        operation in arrays(),
        wish in 1..24_usize,
        rounds in 1..90_u64,
        count in 0..400_u64,
        seed: u64,
        back: bool,
        plain: bool,
    ) {
        let stride_words = stride_words(operation, wish);
        let elements = rounds * operation.elements_per_step();
        let words = elements as usize * stride_words;
        let against = if back { Against::Back } else { Against::Front };
        let mut target = Guarded::new(words, against);
        let mut sources = [Guarded::new(words, against), Guarded::new(words, against)];
        let mut world = World {
            words: numbers(words, 1),
            sources: [numbers(words, 2), numbers(words, 3)],
            stride_words,
            elements,
            seed,
        };
        target.set(&world.words);
        for (memory, words) in sources.iter_mut().zip(&world.sources) {
            memory.set(words);
        }

        let features = features()[usize::from(plain)];
        let routine = Routine::assemble(operation, Bytes(stride_words as u64 * 8), &features).unwrap();
        let clock = crate::clock();
        let course = Course::new(target.start(), elements, count)
            .reading([Some(sources[0].start()), Some(sources[1].start())])
            .seeded(seed);
        // SAFETY: all three arrays have `elements` elements, and nobody else looks at them.
        let ran = unsafe { routine.run(clock.source(), &course, None) };

        prop_assert_eq!(ran.steps, count);
        if let Some(sum) = world.run(operation, count) {
            prop_assert_eq!(ran.value, sum);
        }
        prop_assert!(target.words() == world.words, "{:?}: memory differs from the model's", operation);
        prop_assert!(sources[0].words() == world.sources[0] && sources[1].words() == world.sources[1]);
    }

    #[test]
    fn lists_are_walked_step_by_step_and_survive(
        work in prop_oneof![0..4_u32, Just(256_u32), Just(Operation::MAX_WORK)],
        kind in 0..3_u8,
        elements in 1..200_u64,
        count in 0..500_u64,
        seed: u64,
        plain: bool,
    ) {
        let operation = match kind {
            0 => Operation::Walk { work },
            1 => Operation::Modify { work },
            _ => Operation::CompareExchange,
        };
        let memory = Guarded::new(elements as usize * LINE_WORDS, Against::Back);
        // SAFETY: the memory has `elements` lines, and nobody else uses it.
        unsafe { list::link(memory.start(), elements, Bytes(64), list::Order::Random { seed }) };
        let linked = memory.words();
        let routine = Routine::assemble(operation, Bytes(64), &features()[usize::from(plain)]).unwrap();
        // SAFETY: a list has just been linked there.
        let ran = unsafe { routine.run(crate::clock().source(), &Course::new(memory.start(), elements, count), None) };

        let start = memory.start().addr().get() as u64;
        let mut at = start;
        for _ in 0..count {
            at = linked[((at - start) / 8) as usize];
        }
        prop_assert_eq!((ran.steps, ran.value), (count, at));
        prop_assert!(memory.words() == linked, "{:?} changed the list", operation);
    }
}

/// Result of `run`, which is stopped after some time; longer times follow until it has got far enough.
pub fn stopped<T>(run: impl Fn(&AtomicBool) -> Option<T>) -> T {
    let mut tries = [20, 200, 2000, 20_000].into_iter().map(|milliseconds| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(milliseconds));
                stop.store(true, Ordering::Relaxed);
            });
            run(&stop)
        })
    });
    tries.find_map(|ran| ran).expect("a step in twenty seconds")
}

#[test]
fn what_runs_without_end_stops_when_told() {
    let memory = Guarded::new(128 * LINE_WORDS, Against::Front);
    let clock = crate::clock();
    // SAFETY: the memory has 128 lines, and nobody else uses it.
    unsafe { list::link(memory.start(), 128, Bytes(64), list::Order::Ascending) };
    for operation in [
        Operation::Walk { work: 3 },
        Operation::Traffic { reads: 2, writes: 1, pause: 100 },
        Operation::Sum,
        Operation::ReadUse,
        Operation::SumPrefetched { ahead: 8 },
        Operation::SignChange { window: Bytes(64) },
    ] {
        let routine = Routine::assemble(operation, Bytes(64), &Features::detect()).unwrap();
        let course = Course::new(memory.start(), 128, u64::MAX);
        let ran = stopped(|stop| {
            // SAFETY: the memory has 128 lines and holds a list; sign changes come last.
            let ran = unsafe { routine.run(clock.source(), &course, Some(stop)) };
            (ran.steps > 0).then_some(ran)
        });
        assert!(ran.steps > 0 && ran.steps < u64::MAX / 2, "{operation:?} took {} steps", ran.steps);
        assert!(ran.ticks() > 0);
    }
}

#[test]
fn stopped_before_the_start_no_step_is_taken() {
    let memory = Guarded::new(8 * LINE_WORDS, Against::Front);
    let stop = AtomicBool::new(true);
    for operation in
        [Operation::Sum, Operation::Fill, Operation::SumNonTemporal { ahead: 4 }, Operation::ReadModifyWrite]
    {
        let routine = Routine::assemble(operation, Bytes(64), &Features::detect()).unwrap();
        // SAFETY: the memory has eight lines, and nobody else uses it.
        let ran = unsafe { routine.run(crate::clock().source(), &Course::new(memory.start(), 8, 1000), Some(&stop)) };
        assert_eq!(ran.steps, 0, "{operation:?}");
    }
    assert!(memory.words().iter().all(|&word| word == 0), "a stopped kernel stored");
}

/// Elements further apart than a displacement can say: only the first and last page of the span are touched.
#[test]
fn strides_may_be_larger_than_displacements() {
    const STRIDE: u64 = 3 << 30;
    let memory = Guarded::new((2 * STRIDE as usize + 64) / 8, Against::Front);
    let words = |element: u64| memory.start().as_ptr().wrapping_add((element * STRIDE) as usize).cast::<u64>();
    for operation in [Operation::Sum, Operation::SumPrefetched { ahead: 1 }, Operation::TouchStore] {
        for element in 0..3 {
            // SAFETY: each element is mapped and writable.
            unsafe { words(element).write(1 << element) };
        }
        let routine = Routine::assemble(operation, Bytes(STRIDE), &Features::detect()).unwrap();
        // SAFETY: the span holds three elements, the last of a line.
        let ran = unsafe { routine.run(crate::clock().source(), &Course::new(memory.start(), 3, 7), None) };
        assert_eq!(ran.steps, 7);
        match operation {
            Operation::TouchStore => {
                for element in 0..3 {
                    // SAFETY: as above.
                    assert_eq!(unsafe { words(element).add(1).read() }, host::kernels::MARK);
                }
            }
            _ => assert_eq!(ran.value, 7 + 7 + 1, "{operation:?}"),
        }
    }
}

#[test]
fn no_memory_is_writable_and_executable_at_once() {
    let routine = Routine::assemble(Operation::Walk { work: 0 }, Bytes(64), &Features::detect()).unwrap();
    let address = routine.code().as_ptr().addr();
    let found = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let contains = |line: &&str| {
            let mut bounds = line.split([' ', '-']).map(|bound| usize::from_str_radix(bound, 16).unwrap_or(0));
            let (from, to) = (bounds.next().unwrap_or(0), bounds.next().unwrap_or(0));
            (from..to).contains(&address)
        };
        maps.lines().find(contains).map(str::to_owned)
    };
    // The file is read in pieces: what other tests map and unmap meanwhile can make a line slip between two of them.
    let line = (0..100).find_map(|_| found()).expect("code is somewhere");
    assert!(line.contains(" r-x"), "{line}");
}
