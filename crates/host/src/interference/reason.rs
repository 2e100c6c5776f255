//! Disturbances found in a sample, and their description in words.

use std::fmt;

use units::{CpuId, Duration, Hertz, counted};

use crate::clock::TOLERANCE;

/// Events of the thread and its processor during a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interference {
    /// Times that the thread gave the processor up.
    pub voluntary_switches: u64,
    /// Times that the kernel took it away.
    pub involuntary_switches: u64,
    /// The processor the thread should have been on.
    pub cpu: CpuId,
    /// The processor it was on at the end.
    pub ended_on: CpuId,
    /// Times it was moved, where the kernel tells.
    pub migrations: Option<u64>,
    /// Page faults served without a device.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// How long the thread waited for its processor, where the kernel tells.
    pub waited: Option<Duration>,
    /// Ticks of USER_HZ (10 ms mostly) that the hypervisor gave to others, where there is one.
    pub stolen_ticks: Option<u64>,
    /// The processor's frequency before and after.
    pub frequency: Option<(Hertz, Hertz)>,
}

/// One thing that disturbed a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The thread did not run all the time.
    Switched {
        /// It gave the processor up so often.
        voluntary: u64,
        /// It lost the processor so often.
        involuntary: u64,
    },
    /// It waited for the processor while somebody else ran there.
    Waited(Duration),
    /// It did not stay on its processor.
    Moved {
        /// Where it should have been.
        from: CpuId,
        /// Where it was at the end.
        to: CpuId,
        /// How often it was moved, if known.
        times: Option<u64>,
    },
    /// Memory was not there when it was used.
    Faulted {
        /// Faults served from memory.
        minor: u64,
        /// Faults served from a device.
        major: u64,
    },
    /// The hypervisor ran something else.
    Stolen {
        /// Ticks of USER_HZ.
        ticks: u64,
    },
    /// The processor's clock changed.
    FrequencyChanged {
        /// Before the sample.
        from: Hertz,
        /// After it.
        to: Hertz,
    },
}

impl Interference {
    /// Whether nothing disturbed the sample, as far as this machine lets that be seen.
    pub fn is_clean(&self) -> bool {
        self.reasons().is_empty()
    }

    /// Disturbances of the sample.
    pub fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if self.voluntary_switches + self.involuntary_switches > 0 {
            let (voluntary, involuntary) = (self.voluntary_switches, self.involuntary_switches);
            reasons.push(Reason::Switched { voluntary, involuntary });
        }
        if let Some(waited) = self.waited.filter(|&waited| waited > Duration::ZERO) {
            reasons.push(Reason::Waited(waited));
        }
        if self.ended_on != self.cpu || self.migrations.is_some_and(|times| times > 0) {
            reasons.push(Reason::Moved { from: self.cpu, to: self.ended_on, times: self.migrations });
        }
        if self.minor_faults + self.major_faults > 0 {
            reasons.push(Reason::Faulted { minor: self.minor_faults, major: self.major_faults });
        }
        if let Some(ticks) = self.stolen_ticks.filter(|&ticks| ticks > 0) {
            reasons.push(Reason::Stolen { ticks });
        }
        if let Some((from, to)) = self.frequency.filter(|(from, to)| (to.0 / from.0 - 1.0).abs() > TOLERANCE) {
            reasons.push(Reason::FrequencyChanged { from, to });
        }
        reasons
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Switched { voluntary, involuntary } => {
                write!(f, "context switches: {voluntary} voluntary, {involuntary} involuntary")
            }
            Self::Waited(time) => write!(f, "{:.1} us run-queue wait", time.as_ns() / 1e3),
            Self::Moved { from, to, times: Some(times) } => {
                write!(f, "migrated {}, from CPU {from} to CPU {to}", counted(times, "time"))
            }
            Self::Moved { from, to, times: None } => write!(f, "migrated from CPU {from} to CPU {to}"),
            Self::Faulted { minor, major } => write!(f, "page faults: {minor} minor, {major} major"),
            Self::Stolen { ticks } => write!(f, "{} stolen by the hypervisor", counted(ticks, "tick")),
            Self::FrequencyChanged { from, to } => {
                write!(f, "frequency changed from {:.0} to {:.0} MHz", from.as_mhz(), to.as_mhz())
            }
        }
    }
}

/// A way to see interference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detector {
    /// How often the thread was moved (`/proc/thread-self/sched`).
    Migrations,
    /// How long it waited for a processor (`/proc/thread-self/schedstat`).
    Waiting,
    /// Time that the hypervisor gave to others (`/proc/stat`).
    StolenTime,
    /// The processor's frequency, by chains of instructions.
    Frequency,
}

impl Detector {
    /// Its name in notes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Migrations => "count of migrations",
            Self::Waiting => "run-queue wait",
            Self::StolenTime => "time stolen by the hypervisor",
            Self::Frequency => "processor frequency",
        }
    }
}

/// A detector that this machine lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Which one.
    pub detector: Detector,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} unavailable: {}", self.detector.name(), self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Interference = Interference {
        voluntary_switches: 0,
        involuntary_switches: 0,
        cpu: CpuId(3),
        ended_on: CpuId(3),
        migrations: Some(0),
        minor_faults: 0,
        major_faults: 0,
        waited: Some(Duration::ZERO),
        stolen_ticks: None,
        frequency: Some((Hertz(2.0e9), Hertz(2.01e9))),
    };

    #[test]
    fn a_quiet_sample_is_clean() {
        assert_eq!(QUIET.reasons(), []);
        assert!(QUIET.is_clean());
    }

    #[test]
    fn each_disturbance_is_told_in_words() {
        let told = |interference: Interference| {
            assert!(!interference.is_clean());
            interference.reasons().iter().map(Reason::to_string).collect::<Vec<_>>().join("; ")
        };
        let switched = Interference { involuntary_switches: 2, waited: Some(Duration::from_ns(1500.0)), ..QUIET };
        assert_eq!(told(switched), "context switches: 0 voluntary, 2 involuntary; 1.5 us run-queue wait");
        let moved = Interference { ended_on: CpuId(4), migrations: Some(1), ..QUIET };
        assert_eq!(told(moved), "migrated 1 time, from CPU 3 to CPU 4");
        let there_and_back = Interference { migrations: Some(2), ..QUIET };
        assert_eq!(told(there_and_back), "migrated 2 times, from CPU 3 to CPU 3");
        assert_eq!(told(Interference { minor_faults: 7, ..QUIET }), "page faults: 7 minor, 0 major");
        assert_eq!(told(Interference { stolen_ticks: Some(1), ..QUIET }), "1 tick stolen by the hypervisor");
        let slower = Interference { frequency: Some((Hertz(3.0e9), Hertz(2.0e9))), ..QUIET };
        assert_eq!(told(slower), "frequency changed from 3000 to 2000 MHz");
    }
}
