//! Times that hold on every processor, with wide margins: those of an emulator would not.

use host::clock::CoreClock;
use host::kernels::{Course, Features, Operation, Routine, list};
use units::Bytes;

use crate::guarded::{Against, Guarded};
use crate::model::LINE_WORDS;

const STEPS: u64 = 5_000;

/// Cycles of a step over a list of one element, the fastest of many runs.
fn cycles_in_first_level(operation: Operation) -> f64 {
    let memory = Guarded::new(LINE_WORDS, Against::Front);
    // SAFETY: the memory has one line, and nobody else uses it.
    unsafe { list::link(memory.start(), 1, Bytes(64), list::Order::Ascending) };
    let routine = Routine::assemble(operation, Bytes(64), &Features::detect()).unwrap();
    let clock = crate::clock();
    let core = CoreClock::new().unwrap();
    let frequency = core.measure(clock).hertz().0;
    let course = Course::new(memory.start(), 1, STEPS);
    // SAFETY: a list of one element was just linked there.
    let ticks = (0..200).map(|_| unsafe { routine.run(clock, &course, None) }.ticks()).min().unwrap();
    let seconds = clock.duration(ticks - clock.overhead_of(operation).min).as_seconds();
    seconds * frequency / STEPS as f64
}

#[test]
fn timing_an_addition_of_a_series_takes_a_cycle() {
    let plain = cycles_in_first_level(Operation::Walk { work: 0 });
    assert!((2.0..8.0).contains(&plain), "a load from the first-level cache takes {plain:.2} cycles");
    for work in [1, 16, 64, 256] {
        let slope = (cycles_in_first_level(Operation::Walk { work }) - plain) / f64::from(work);
        println!("walk 0: {plain:.3} cycles; with {work} additions {slope:.3} cycles each");
        assert!((0.7..1.3).contains(&slope), "{work} additions take {slope:.2} cycles each");
    }
}

#[test]
fn timing_a_pause_takes_its_cycles() {
    const PAUSES: u64 = 100;
    let memory = Guarded::new(LINE_WORDS, Against::Front);
    let clock = crate::clock();
    let course = Course::new(memory.start(), 1, PAUSES);
    let core = CoreClock::new().unwrap();
    for pause in [20, 32, 33, 100, 1000] {
        let operation = Operation::Traffic { reads: 1, writes: 0, pause };
        let routine = Routine::assemble(operation, Bytes(64), &Features::detect()).unwrap();
        let frequency = core.measure(clock).hertz().0;
        // SAFETY: the memory has one line, and nobody else uses it.
        let ticks = (0..200).map(|_| unsafe { routine.run(clock, &course, None) }.ticks()).min().unwrap();
        let seconds = clock.duration(ticks - clock.overhead().min).as_seconds();
        let ratio = seconds * frequency / PAUSES as f64 / f64::from(pause);
        println!("a pause of {pause} cycles takes {:.2} cycles", ratio * f64::from(pause));
        assert!((0.9..2.0).contains(&ratio), "{pause} cycles take {ratio:.2} times as long");
    }
}

#[test]
fn timing_flushed_lines_come_from_memory() {
    const LINES: u64 = 256;
    let memory = Guarded::new(LINES as usize * LINE_WORDS, Against::Front);
    // SAFETY: the memory has that many lines, and nobody else uses it.
    unsafe { list::link(memory.start(), LINES, Bytes(64), list::Order::Random { seed: 3 }) };
    let clock = crate::clock();
    let [walk, flush, touch] = [Operation::Walk { work: 0 }, Operation::Flush, Operation::TouchLoad]
        .map(|operation| Routine::assemble(operation, Bytes(64), &Features::detect()).unwrap());
    let course = Course::new(memory.start(), LINES, LINES);
    let after = |prepare: &Routine| {
        (0..20)
            .map(|_| {
                // SAFETY: a list of that many lines was just linked there; flushing and loading keep it.
                unsafe {
                    prepare.run(clock, &course, None);
                    walk.run(clock, &course, None).ticks()
                }
            })
            .min()
            .unwrap()
    };
    let (cached, flushed) = (after(&touch), after(&flush));
    println!("{LINES} cached lines: {cached} ticks, flushed: {flushed} ticks");
    assert!(flushed > 4 * cached, "{LINES} lines: {cached} ticks cached, {flushed} ticks flushed");
}
