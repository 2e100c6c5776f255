//! Reading the processor's counter and the kernel's clock, and the one against the other.

use std::io;

use units::Hertz;

use crate::HostError;

/// How long a calibration lasts, in nanoseconds: two readings that are each off by 50 ns or so then know the rate to a few
/// millionths.
const CALIBRATION: u64 = 20_000_000;
/// Attempts to read both clocks together; the closest counts.
const ATTEMPTS: usize = 32;

/// Where the ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The time stamp counter of x86-64 (LFENCE, RDTSC), which runs at a constant rate.
    TimeStampCounter,
    /// The virtual counter of AArch64's generic timer (CNTVCT_EL0).
    VirtualCounter,
    /// The kernel's CLOCK_MONOTONIC_RAW, in nanoseconds, because the counter cannot be trusted.
    MonotonicRaw,
}

impl Source {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeStampCounter => "time stamp counter",
            Self::VirtualCounter => "virtual counter (CNTVCT_EL0)",
            Self::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
        }
    }

    /// Whether the ticks are those of the processor's counter, which generated code reads itself.
    pub fn is_counter(self) -> bool {
        self != Self::MonotonicRaw
    }

    /// The time now, in ticks: everything before has completed, nothing after has begun.
    #[inline]
    pub fn now(self) -> u64 {
        if self.is_counter() { read() } else { monotonic_raw().unwrap_or(0) }
    }
}

/// The counter of this architecture.
pub(super) const SOURCE: Source =
    if cfg!(target_arch = "aarch64") { Source::VirtualCounter } else { Source::TimeStampCounter };

/// The processor's counter, after everything before has completed and before anything after begins.
#[inline]
fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        // SAFETY: LFENCE and RDTSC exist on every x86-64 processor; a kernel that forbids RDTSC to programs
        // (PR_SET_TSC) ends this one before anything is measured.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets programs read CNTVCT_EL0, or emulates the reading.
        unsafe {
            std::arch::asm!("isb", "mrs {ticks}, cntvct_el0", "isb", ticks = out(reg) ticks, options(nostack, nomem));
        }
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        monotonic_raw().unwrap_or(0)
    }
}

/// CLOCK_MONOTONIC_RAW in nanoseconds.
pub(super) fn monotonic_raw() -> Result<u64, HostError> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this function's own.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    if result == 0 {
        return Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
    }
    Err(HostError::Call {
        call: "clock_gettime(CLOCK_MONOTONIC_RAW)".to_owned(),
        source: io::Error::last_os_error(),
        advice: "nothing can be measured without it; Linux has it since 2.6.28".to_owned(),
    })
}

/// The counter's rate, by the kernel's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibration {
    pub(super) rate: Hertz,
    /// How far off it can be at most, relatively.
    pub(super) error: f64,
}

impl Calibration {
    /// Takes 20 ms.
    pub(super) fn measure() -> Self {
        let first = Pair::read();
        while monotonic_raw().is_ok_and(|now| now < first.nanoseconds + CALIBRATION) {
            std::hint::spin_loop();
        }
        let last = Pair::read();
        let nanoseconds = (last.nanoseconds - first.nanoseconds).max(1) as f64;
        let ticks = last.ticks.wrapping_sub(first.ticks) as f64;
        let error = (first.apart + last.apart) as f64 / ticks.max(1.0);
        Self { rate: Hertz(ticks * 1e9 / nanoseconds), error }
    }
}

/// Both clocks at one moment.
struct Pair {
    ticks: u64,
    nanoseconds: u64,
    /// Ticks from before to after the reading of the kernel's clock.
    apart: u64,
}

impl Pair {
    fn read() -> Self {
        let once = || {
            let before = read();
            let nanoseconds = monotonic_raw().unwrap_or(0);
            let apart = read().saturating_sub(before);
            Self { ticks: before + apart / 2, nanoseconds, apart }
        };
        (1..ATTEMPTS).map(|_| once()).fold(once(), |best, next| if next.apart < best.apart { next } else { best })
    }
}
