//! Times that hold on every processor, with wide margins: those of an emulator would not.

use host::clock::CoreClock;
use host::kernels::{Course, Features, Operation, Routine, list};
use units::Bytes;

use crate::guarded::{Against, Guarded};
use crate::model::LINE_WORDS;

const STEPS: u64 = 5_000;
const ATTEMPTS: usize = 50;

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
    let ticks = (0..200).map(|_| unsafe { routine.run(clock.source(), &course, None) }.ticks()).min().unwrap();
    let seconds = clock.duration(ticks - clock.overhead_of(operation).min).as_seconds();
    seconds * frequency / STEPS as f64
}

/// Holds `measure` to bounds: what it measures together is only comparable if the processor's frequency stays the same
/// meanwhile, so one of several attempts counts.
fn within(bounds: std::ops::Range<f64>, what: &str, measure: impl Fn() -> f64) {
    let mut measured = Vec::new();
    while measured.len() < ATTEMPTS {
        let value = measure();
        measured.push(value);
        if bounds.contains(&value) {
            println!("{what}: {value:.3}");
            return;
        }
    }
    panic!("{what} should be within {bounds:?}, measured {measured:.3?}");
}

#[test]
fn timing_an_addition_of_a_series_takes_a_cycle() {
    let cycles = |work| cycles_in_first_level(Operation::Walk { work });
    within(2.0..8.0, "cycles of a load from the first-level cache", || cycles(0));
    for work in [1, 16, 64, 256] {
        let slope = || (cycles(work) - cycles(0)) / f64::from(work);
        within(0.7..1.3, &format!("cycles of each of {work} additions"), slope);
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
        let cycles = || {
            let frequency = core.measure(clock).hertz().0;
            // SAFETY: the memory has one line, and nobody else uses it.
            let ticks = (0..100).map(|_| unsafe { routine.run(clock.source(), &course, None) }.ticks()).min().unwrap();
            clock.duration(ticks - clock.overhead().min).as_seconds() * frequency / PAUSES as f64
        };
        let asked = f64::from(pause);
        within(asked * 0.95..asked * 1.5, &format!("cycles of a pause of {pause}"), cycles);
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
                    prepare.run(clock.source(), &course, None);
                    walk.run(clock.source(), &course, None).ticks()
                }
            })
            .min()
            .unwrap()
    };
    let ratio = || after(&flush) as f64 / after(&touch) as f64;
    within(4.0..f64::INFINITY, &format!("time of {LINES} flushed lines over that of cached ones"), ratio);
}
