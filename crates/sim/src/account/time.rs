//! The causes of a processor's time.

use units::Duration;

use super::Service;

/// The cause of a processor's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A chain of dependent instructions.
    Work,
    /// A load that hits in the primary cache and whose value is needed at once.
    PrimaryCache,
    /// A load that hits in the secondary cache.
    SecondaryCache,
    /// A load that hits in the third level.
    TertiaryCache,
    /// A store that waits for room in the write buffer.
    WriteBuffer,
    /// A store that a cache passes on to a level beyond it, which has the line.
    WriteThrough,
    /// A load of private data that the primary cache does not serve.
    PrivateRead,
    /// A store to private data that the primary cache does not complete.
    PrivateWrite,
    /// A miss of a load, or a read prefetch.
    Read(Service),
    /// A miss of a store, or a write prefetch.
    Write(Service),
    /// A line leaving the caches.
    Writeback,
    /// A TLB refill.
    Translation,
    /// A barrier, where other threads are still missing.
    Barrier,
    /// A lock, or another word that another processor is to change.
    Lock,
    /// The operating system.
    System,
    /// A ready thread without a processor.
    Descheduled,
    /// A processor without a thread.
    Idle,
}

impl Cause {
    const READ: usize = 15;
    const WRITE: usize = Self::READ + Service::COUNT;
    const COUNT: usize = Self::WRITE + Service::COUNT;

    const fn index(self) -> usize {
        match self {
            Self::Work => 0,
            Self::PrimaryCache => 1,
            Self::SecondaryCache => 2,
            Self::Writeback => 3,
            Self::Translation => 4,
            Self::Barrier => 5,
            Self::Lock => 6,
            Self::System => 7,
            Self::Descheduled => 8,
            Self::Idle => 9,
            Self::TertiaryCache => 10,
            Self::WriteBuffer => 11,
            Self::WriteThrough => 12,
            Self::PrivateRead => 13,
            Self::PrivateWrite => 14,
            Self::Read(service) => Self::READ + service.index(),
            Self::Write(service) => Self::WRITE + service.index(),
        }
    }

    /// Causes that only some machines and programs have, with their names.
    pub const OF_SOME: [(Self, &'static str); 5] = [
        (Self::TertiaryCache, "tertiary"),
        (Self::WriteBuffer, "write-buffer"),
        (Self::WriteThrough, "write-through"),
        (Self::PrivateRead, "private.read"),
        (Self::PrivateWrite, "private.write"),
    ];

    /// Every cause that all machines have, except misses, with its name. Work is left out: waits for work count as busy, like
    /// issue.
    pub const OTHERS: [(Self, &'static str); 9] = [
        (Self::PrimaryCache, "primary"),
        (Self::SecondaryCache, "secondary"),
        (Self::Writeback, "writeback"),
        (Self::Translation, "translation"),
        (Self::Barrier, "barrier"),
        (Self::Lock, "lock"),
        (Self::System, "system"),
        (Self::Descheduled, "descheduled"),
        (Self::Idle, "idle"),
    ];

    /// The cause of a load that hits in the level of this number, counted from 0.
    pub const fn cache(level: usize) -> Self {
        match level {
            0 => Self::PrimaryCache,
            1 => Self::SecondaryCache,
            _ => Self::TertiaryCache,
        }
    }

    /// The cause of an access to private data beyond the primary cache, by whether it writes.
    pub const fn private(writes: bool) -> Self {
        if writes { Self::PrivateWrite } else { Self::PrivateRead }
    }

    /// The cause of a miss, by whether its access writes.
    pub const fn miss(writes: bool, service: Service) -> Self {
        if writes { Self::Write(service) } else { Self::Read(service) }
    }
}

/// The split of time by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeSplit {
    /// Time in which instructions issued.
    issuing: Duration,
    spent: [Duration; Cause::COUNT],
}

impl Default for TimeSplit {
    fn default() -> Self {
        Self { issuing: Duration::ZERO, spent: [Duration::ZERO; Cause::COUNT] }
    }
}

impl TimeSplit {
    /// Time in which instructions issued or a dependent chain filled the window.
    pub fn busy(&self) -> Duration {
        self.issuing + self.of(Cause::Work)
    }

    /// Time of one cause.
    pub const fn of(&self, cause: Cause) -> Duration {
        self.spent[cause.index()]
    }

    /// The total.
    pub fn total(&self) -> Duration {
        self.spent.iter().fold(self.issuing, |sum, &spent| sum + spent)
    }

    /// The same with this time in which instructions issued.
    pub(crate) fn with_issuing(&self, issuing: Duration) -> Self {
        Self { issuing, ..*self }
    }

    /// Adds time to `cause`.
    #[inline]
    pub(crate) fn spend(&mut self, cause: Cause, time: Duration) {
        self.spent[cause.index()] += time;
    }

    /// Adds `rounds` times the time of `each`, without the time in which instructions issued.
    pub(crate) fn repeat(&mut self, each: &Self, rounds: u64) {
        for (spent, each) in self.spent.iter_mut().zip(each.spent) {
            *spent += each * rounds;
        }
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        let spent = std::array::from_fn(|index| Duration(self.spent[index].0 - before.spent[index].0));
        Self { issuing: Duration(self.issuing.0 - before.issuing.0), spent }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let spent = std::array::from_fn(|index| self.spent[index] + other.spent[index]);
        Self { issuing: self.issuing + other.issuing, spent }
    }
}
