//! Looking at a thread and its processor before and after a sample.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;

use units::{CpuId, Duration, Hertz};

use super::parse;
use super::reason::{Detector, Interference, Missing};
use crate::HostError;
use crate::clock::{Clock, CoreClock, Facts};
use crate::threads::current_cpu;

/// Where the kernel tells about the calling thread and about all processors.
const SCHED: &str = "/proc/thread-self/sched";
const SCHEDSTAT: &str = "/proc/thread-self/schedstat";
const STAT: &str = "/proc/stat";
/// Room for the whole of what the kernel tells about a thread.
const ROOM: usize = 64 << 10;
/// The first lines of `/proc/stat` grow with the processors: room for the counters of one.
const LINE_OF_STAT: usize = 160;

/// Watches the thread that made it. The kernel's files are opened once; a look takes some tens of microseconds.
#[derive(Debug)]
pub struct Watch {
    cpu: CpuId,
    sched: Option<File>,
    schedstat: Option<File>,
    stat: Option<File>,
    core: Option<(CoreClock, Clock)>,
    text: Vec<u8>,
    missing: Vec<Missing>,
    before: Option<Look>,
    /// A watch observes the thread that made it: it cannot go to another.
    thread: PhantomData<*const ()>,
}

/// All counters at one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    voluntary: u64,
    involuntary: u64,
    minor: u64,
    major: u64,
    cpu: CpuId,
    migrations: Option<u64>,
    run_delay: Option<u64>,
    stolen: Option<u64>,
    frequency: Option<Hertz>,
}

impl Watch {
    /// A watch over the calling thread, which is pinned to `cpu`. Detectors that this machine lacks are
    /// [listed](Self::missing).
    pub fn new(cpu: CpuId, clock: &Clock) -> Self {
        let mut watch = Self {
            cpu,
            sched: None,
            schedstat: None,
            stat: None,
            core: None,
            text: vec![0; ROOM.max(LINE_OF_STAT * (usize::from(cpu.0) + 2))],
            missing: Vec::new(),
            before: None,
            thread: PhantomData,
        };
        watch.sched = watch.open(Detector::Migrations, SCHED, |text, _| parse::migrations(text));
        watch.schedstat = watch.open(Detector::Waiting, SCHEDSTAT, |text, _| parse::run_delay(text));
        // The file takes longer the more processors there are; without a hypervisor nothing is ever stolen.
        if cfg!(not(target_arch = "x86_64")) || Facts::gather().hypervisor.is_some() {
            watch.stat = watch.open(Detector::StolenTime, STAT, |text, cpu| parse::stolen(text, cpu.0));
        }
        watch.core = match CoreClock::new() {
            Ok(core) => Some((core, clock.clone())),
            Err(error) => {
                watch.missing.push(Missing { detector: Detector::Frequency, reason: error.to_string() });
                None
            }
        };
        watch
    }

    /// Opens a file that `detector` needs, if it can be read and holds what is looked for.
    fn open(&mut self, detector: Detector, path: &str, find: fn(&str, CpuId) -> Option<u64>) -> Option<File> {
        let problem = match File::open(path) {
            Ok(file) if read(Some(&file), &mut self.text).and_then(|text| find(text, self.cpu)).is_some() => {
                return Some(file);
            }
            Ok(_) => "does not contain it".to_owned(),
            Err(error) => error.to_string(),
        };
        self.missing.push(Missing { detector, reason: format!("{path}: {problem}") });
        None
    }

    /// The detectors that this machine lacks. On x86-64 stolen time is only looked for under a hypervisor.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Begins to watch.
    ///
    /// # Errors
    /// [`HostError::Call`] when the kernel does not tell about the thread at all.
    pub fn start(&mut self) -> Result<(), HostError> {
        let look = self.look(false)?;
        self.before = Some(look);
        Ok(())
    }

    /// Events since [`start`](Self::start).
    ///
    /// # Errors
    /// [`HostError::Request`] when it was not started, [`HostError::Call`] when the kernel does not tell.
    pub fn finish(&mut self) -> Result<Interference, HostError> {
        let after = self.look(true)?;
        let before =
            self.before.take().ok_or_else(|| HostError::Request("a watch ended that had not begun".to_owned()))?;
        let grown = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
        Ok(Interference {
            voluntary_switches: after.voluntary - before.voluntary,
            involuntary_switches: after.involuntary - before.involuntary,
            cpu: self.cpu,
            ended_on: after.cpu,
            migrations: grown(before.migrations, after.migrations),
            minor_faults: after.minor - before.minor,
            major_faults: after.major - before.major,
            waited: grown(before.run_delay, after.run_delay).map(|nanoseconds| Duration(nanoseconds * 1000)),
            stolen_ticks: grown(before.stolen, after.stolen),
            frequency: before.frequency.zip(after.frequency),
        })
    }

    /// Reads all counters, the frequency nearest to the sample: last before it, first after it.
    fn look(&mut self, frequency_first: bool) -> Result<Look, HostError> {
        let early = if frequency_first { self.frequency() } else { None };
        let usage = usage()?;
        let cpu = self.cpu;
        let migrations = read(self.sched.as_ref(), &mut self.text).and_then(parse::migrations);
        let run_delay = read(self.schedstat.as_ref(), &mut self.text).and_then(parse::run_delay);
        let stolen = read(self.stat.as_ref(), &mut self.text).and_then(|text| parse::stolen(text, cpu.0));
        Ok(Look {
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
            minor: usage.ru_minflt as u64,
            major: usage.ru_majflt as u64,
            cpu: current_cpu().0,
            migrations,
            run_delay,
            stolen,
            frequency: if frequency_first { early } else { self.frequency() },
        })
    }

    fn frequency(&self) -> Option<Hertz> {
        self.core.as_ref().map(|(core, clock)| core.glance(clock))
    }
}

/// The beginning of a file, as far as there is room.
fn read<'a>(file: Option<&File>, text: &'a mut [u8]) -> Option<&'a str> {
    let length = file?.read_at(text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()
}

/// Resource usage of the calling thread.
fn usage() -> Result<libc::rusage, HostError> {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and the kernel writes no more than one of them.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), usage)
    };
    if result == 0 {
        return Ok(usage);
    }
    Err(HostError::Call {
        call: "getrusage(RUSAGE_THREAD)".to_owned(),
        source: io::Error::last_os_error(),
        advice: "needed for context switches and page faults".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Files of the kernel's, longer than those of today, on the first and the last processor.
    #[test]
    fn what_stands_far_down_in_a_file_is_read() {
        let clock = Clock::calibrate().unwrap();
        for cpu in [CpuId(0), CpuId(8191)] {
            let mut watch = Watch::new(cpu, &clock);
            let (mut sched, mut stat) =
                (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
            for line in 0..100 {
                writeln!(sched, "se.statistics.number_{line:<24}:{:>21}", 1000 * line).unwrap();
            }
            writeln!(sched, "nr_migrations                               :                    7").unwrap();
            writeln!(stat, "cpu  1 2 3 4 5 6 7 8 9 10").unwrap();
            for line in 0..=8191 {
                writeln!(stat, "cpu{line} {} 9 10", [u64::MAX; 7].map(|number| number.to_string()).join(" ")).unwrap();
            }
            watch.missing.clear();
            let path = |file: &tempfile::NamedTempFile| file.path().to_str().unwrap().to_owned();
            watch.sched = watch.open(Detector::Migrations, &path(&sched), |text, _| parse::migrations(text));
            watch.stat = watch.open(Detector::StolenTime, &path(&stat), |text, cpu| parse::stolen(text, cpu.0));
            assert_eq!(watch.missing(), [], "on CPU {cpu}");
            let look = watch.look(false).unwrap();
            assert_eq!((look.migrations, look.stolen), (Some(7), Some(9)));
        }
    }
}
