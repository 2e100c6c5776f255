//! The clock of this computer: it runs as fast as time does, on all processors alike.

use std::time::{Duration, Instant};

use host::clock::{Clock, CoreClock, Skew, SkewProbe, Source};
use host::interference::gaps;
use host::kernels::Operation;

#[test]
fn a_tenth_of_a_second_takes_as_many_ticks() {
    let clock = Clock::calibrate().unwrap();
    println!("{:?} {:?} +-{:.1e} {:?}", clock.source(), clock.rate(), clock.rate_error(), clock.notes());
    // Whoever is interrupted between reading the two clocks reads them at different times: one undisturbed attempt counts.
    let ratio = |_| {
        let (real, ticks) = (Instant::now(), clock.now());
        std::thread::sleep(Duration::from_millis(100));
        clock.duration(clock.now() - ticks).as_seconds() / real.elapsed().as_secs_f64()
    };
    let ratios: Vec<f64> = (0..5).map(ratio).collect();
    assert!(
        ratios.iter().any(|ratio| (0.995..1.005).contains(ratio)),
        "clock and time differ by factors of {ratios:?}"
    );
    let ticks = 123_456_789;
    let there_and_back = clock.ticks(clock.duration(ticks)) as f64 / ticks as f64;
    assert!((there_and_back - 1.0).abs() < 1e-6);
}

#[test]
fn an_empty_section_takes_little_and_stores_take_no_less() {
    let clock = Clock::calibrate().unwrap();
    let (load, store) = (clock.overhead(), clock.overhead_of(Operation::Fill));
    println!("overhead {load:?}, with stores {store:?}, resolution {}", clock.resolution());
    assert!(load.min <= load.median && store.min <= store.median);
    assert!(clock.duration(load.median).as_ns() < 10_000.0, "{load:?}");
    if clock.source() == Source::TimeStampCounter {
        assert!(load.min > 0, "two readings of the time stamp counter are never equal: fences lie between");
    }
    assert_eq!(clock.overhead_of(Operation::Sum), load);
    assert_eq!(clock.overhead_of(Operation::Flush), store);
}

#[test]
fn two_chains_of_instructions_tell_one_frequency() {
    let clock = Clock::calibrate().unwrap();
    let core = CoreClock::new().unwrap();
    // A busy machine disturbs one or the other; every machine is quiet for 0.2 ms at some time.
    let agreeing = (0..200).map(|_| core.measure(&clock)).find(|frequency| frequency.agrees());
    let frequency = agreeing.expect("the chains of additions and of the other instruction agree").hertz();
    println!("core at {:.1} MHz", frequency.as_mhz());
    assert!((100.0..10_000.0).contains(&frequency.as_mhz()));
}

#[test]
fn threads_know_how_far_their_clocks_are_apart() {
    let clock = Clock::calibrate().unwrap();
    let probe = SkewProbe::new(500);
    let skew = std::thread::scope(|scope| {
        scope.spawn(|| probe.follow(&clock));
        probe.lead(&clock)
    });
    println!("{skew:?}");
    assert!(skew.least <= skew.most, "an answer was read before it was given: {skew:?}");
    assert!(skew.may_be_none(), "the counters of a machine that Linux runs on agree: {skew:?}");
    assert!(!Skew { least: 5, most: 9 }.may_be_none());
}

#[test]
fn a_pause_is_a_gap() {
    let clock = Clock::calibrate().unwrap();
    let gaps = gaps(&clock, units::Duration::from_ns(20e6));
    println!("{gaps:?}");
    assert!(gaps.watched.as_seconds() >= 0.02);
    assert!(gaps.longest <= gaps.lost && gaps.lost <= gaps.watched);
    assert_eq!(gaps.count == 0, gaps.longest == units::Duration::ZERO);
}
