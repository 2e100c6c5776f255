//! Open counters: groups of events that count together on a thread or a CPU.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};

use perf_event_open_sys as sys;
use sys::bindings::{
    PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, perf_event_attr,
};
use units::CpuId;

use super::EventCode;

/// Threads or CPUs on which a group counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// A thread by its number, wherever it runs; not its children.
    Thread(i32),
    /// Whatever runs on a CPU.
    Cpu(CpuId),
}

/// The most events in a group: more than any processor counts at once.
const MOST: usize = 16;
/// Numbers before the counts in what the kernel answers: how many there are, and two times.
const HEAD: usize = 3;

/// Events that are counted together: all at the same time or none.
#[derive(Debug)]
pub struct EventGroup {
    /// The first leads: it is read for all.
    files: Vec<File>,
}

/// Counts and times of a group, as read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupReading {
    /// Nanoseconds for which it was meant to count.
    pub enabled_ns: u64,
    /// Nanoseconds for which it did.
    pub running_ns: u64,
    counts: [u64; MOST],
    len: usize,
}

impl GroupReading {
    /// The counts, in the order of the events.
    pub fn counts(&self) -> &[u64] {
        &self.counts[..self.len]
    }
}

impl EventGroup {
    /// Opens counters that count from now on. If the kernel does not let us count its own work
    /// (`perf_event_paranoid` 2), only the program's is counted, and `user_only` is true.
    ///
    /// # Errors
    /// The kernel's error: `ENOENT` where there is no such event, `EACCES` or `EPERM` where it is forbidden.
    pub fn open(events: &[EventCode], scope: Scope) -> io::Result<(Self, bool)> {
        let forbidden = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
        match Self::open_with(events, scope, false) {
            Err(first) if forbidden(&first) => match Self::open_with(events, scope, true) {
                Ok(group) => Ok((group, true)),
                // An event forbidden either way gives the first error; one that does not exist, the second.
                Err(second) if forbidden(&second) => Err(first),
                Err(second) => Err(second),
            },
            other => other.map(|group| (group, false)),
        }
    }

    /// Opens counters of the program's work alone, or of the kernel's, too.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(events: &[EventCode], scope: Scope, user_only: bool) -> io::Result<Self> {
        if events.is_empty() || events.len() > MOST {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut group = Self { files: Vec::with_capacity(events.len()) };
        for event in events {
            group.join(event, scope, user_only)?;
        }
        Ok(group)
    }

    /// One more event in the group, which is opened on what the others are; its number among them.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when the group is full; it goes on counting what it did.
    pub fn join(&mut self, event: &EventCode, scope: Scope, user_only: bool) -> io::Result<usize> {
        if self.files.len() == MOST {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let leader = self.files.first().map_or(-1, File::as_raw_fd);
        self.files.push(open_one(event, scope, leader, user_only)?);
        Ok(self.files.len() - 1)
    }

    /// Whether one more event can join.
    pub fn has_room(&self) -> bool {
        self.files.len() < MOST
    }

    /// Reads all counts at one moment. Does not allocate.
    ///
    /// # Errors
    /// When the kernel does not answer, as for a thread of whose counters it wants to know no more.
    pub fn read(&self) -> io::Result<GroupReading> {
        let mut bytes = [0_u8; (HEAD + MOST) * 8];
        let length = (&self.files[0]).read(&mut bytes)?;
        let number = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[i * 8..i * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        let len = number(0) as usize;
        if len != self.files.len() || length < (HEAD + len) * 8 {
            // The kernel answers nothing for a group that could not be put on the hardware at all.
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let mut reading = GroupReading { enabled_ns: number(1), running_ns: number(2), counts: [0; MOST], len };
        (0..len).for_each(|i| reading.counts[i] = number(HEAD + i));
        Ok(reading)
    }
}

fn open_one(event: &EventCode, scope: Scope, leader: i32, user_only: bool) -> io::Result<File> {
    let mut attributes = perf_event_attr::default();
    attributes.type_ = event.kind;
    attributes.size = size_of::<perf_event_attr>() as u32;
    attributes.config = event.config[0];
    attributes.config3 = event.config[3];
    attributes.read_format =
        (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING).into();
    attributes.__bindgen_anon_3.config1 = event.config[1];
    attributes.__bindgen_anon_4.config2 = event.config[2];
    if user_only {
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
    }
    let (thread, cpu) = match scope {
        Scope::Thread(thread) => (thread, -1),
        Scope::Cpu(cpu) => (-1, i32::from(cpu.0)),
    };
    let flags = sys::bindings::PERF_FLAG_FD_CLOEXEC;
    // SAFETY: the kernel reads as many bytes of the attributes as their size says, and they live until it returns. It may
    // write the size that it expects into them.
    let descriptor = unsafe { sys::perf_event_open(&raw mut attributes, thread, cpu, leader, flags.into()) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, new, and nobody else's.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::software_events;

    /// The kernel counts software events for a program's own threads nearly everywhere; where it does not, it says why.
    #[test]
    fn a_thread_is_counted_or_the_kernel_says_why_not() {
        let events: Vec<EventCode> = software_events().iter().map(|event| event.code).collect();
        match EventGroup::open(&events, Scope::Thread(0)) {
            Ok((group, _)) => {
                let before = group.read().unwrap();
                let work = (0..200_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
                let after = group.read().unwrap();
                assert!(after.counts().len() == 4 && after.counts()[0] > before.counts()[0], "{work}");
                assert!(after.enabled_ns >= after.running_ns && after.running_ns > before.running_ns);
            }
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::ENOSYS | libc::ENOENT)),
                "{error}"
            ),
        }
    }

    #[test]
    fn there_are_limits_to_a_group() {
        assert!(EventGroup::open(&[], Scope::Thread(0)).is_err());
        let none = EventCode { kind: u32::MAX, config: [0; 4] };
        assert!(EventGroup::open(&[none], Scope::Thread(0)).is_err());
        assert!(EventGroup::open(&[none; MOST + 1], Scope::Cpu(CpuId(0))).is_err());
    }
}
