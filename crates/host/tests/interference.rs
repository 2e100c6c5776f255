//! Interference that is caused is seen.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::clock::Clock;
use host::interference::{Detector, Reason, Watch};
use units::CpuId;

/// The processors this thread may use.
fn allowed() -> Vec<u16> {
    // SAFETY: the set is plain bits, and the kernel writes no more than one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), 0);
        (0..libc::CPU_SETSIZE as u16).filter(|&cpu| libc::CPU_ISSET(cpu.into(), &set)).collect()
    }
}

fn pin(cpu: u16) {
    // SAFETY: as in `allowed`.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu.into(), &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set), 0);
    }
}

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// A watch over this thread, pinned to the first processor it may use.
fn watch() -> (Watch, Vec<u16>) {
    let cpus = allowed();
    pin(cpus[0]);
    (Watch::new(CpuId(cpus[0]), &Clock::calibrate().unwrap()), cpus)
}

#[test]
fn somewhen_nothing_happens() {
    let (mut watch, _) = watch();
    for missing in watch.missing() {
        println!("{missing}");
    }
    let quiet = (0..2000).any(|_| {
        watch.start().unwrap();
        busy(Duration::from_micros(20));
        watch.finish().unwrap().is_clean()
    });
    assert!(quiet, "never 20 quiet microseconds in a row");
}

#[test]
fn sleep_is_a_voluntary_switch() {
    let (mut watch, _) = watch();
    watch.start().unwrap();
    std::thread::sleep(Duration::from_millis(1));
    let seen = watch.finish().unwrap();
    assert!(seen.voluntary_switches >= 1, "{seen:?}");
    assert!(seen.reasons().iter().any(|reason| matches!(reason, Reason::Switched { .. })));
}

#[test]
fn new_memory_faults() {
    const PAGES: usize = 64;
    let (mut watch, _) = watch();
    // SAFETY: a new mapping of ordinary pages, touched within its bounds and unmapped at the end.
    unsafe {
        let size = PAGES * 4096;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let map = libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0);
        assert_ne!(map, libc::MAP_FAILED);
        libc::madvise(map, size, libc::MADV_NOHUGEPAGE);
        watch.start().unwrap();
        for page in 0..PAGES {
            map.cast::<u8>().add(page * 4096).write_volatile(1);
        }
        let seen = watch.finish().unwrap();
        libc::munmap(map, size);
        assert!(seen.minor_faults >= 1, "{seen:?}");
        assert!(seen.reasons().iter().any(|reason| matches!(reason, Reason::Faulted { .. })));
    }
}

#[test]
fn a_thread_that_is_moved_is_found_elsewhere() {
    let (mut watch, cpus) = watch();
    let Some(&other) = cpus.get(1) else {
        eprintln!("skipped: a thread cannot be moved with a single processor");
        return;
    };
    watch.start().unwrap();
    pin(other);
    let seen = watch.finish().unwrap();
    assert_eq!(seen.ended_on, CpuId(other));
    assert!(seen.reasons().iter().any(|reason| matches!(reason, Reason::Moved { to, .. } if to.0 == other)));
}

#[test]
fn a_competitor_takes_time_away() {
    let (mut watch, cpus) = watch();
    let (done, started) = (AtomicBool::new(false), AtomicBool::new(false));
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(cpus[0]);
            started.store(true, Ordering::Relaxed);
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        while !started.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        watch.start().unwrap();
        busy(Duration::from_millis(200));
        let seen = watch.finish().unwrap();
        done.store(true, Ordering::Relaxed);
        seen
    });
    assert!(seen.involuntary_switches >= 1, "{seen:?}");
    let blind = watch.missing().iter().any(|missing| missing.detector == Detector::Waiting);
    assert!(blind || seen.waited.is_some_and(|waited| waited.as_ns() > 1e6), "{seen:?}");
}
