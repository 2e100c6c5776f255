//! One line at one cache on the bus: its MOESI state and its outstanding bus request.
//!
//! Races resolve as follows:
//! - *An invalidation while an upgrade waits for the bus* turns the upgrade into a read-exclusive.
//! - *A request for a line that waits for its writeback* finds the line in the writeback buffer, which is snooped like
//!   the cache. If the line changes owner, the writeback is cancelled; if it is shared, or has been shared already, the
//!   buffer remains its owner.

use units::CpuId;

use super::bus::{Command, DataPhase, Reply};
use crate::{Agent, CopyState, ProtocolError, Rights, Version};

/// State of a line in a cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Moesi {
    /// No copy.
    #[default]
    Invalid,
    /// Read-only copy; other caches may have copies, and one of them may own the line.
    Shared,
    /// The only copy, same as memory. It may be dropped silently.
    Exclusive,
    /// Owned copy, newer than memory; other caches may have copies. This cache supplies the line and writes it back.
    Owned,
    /// The only copy, newer than memory.
    Modified,
}

impl Moesi {
    /// Every state, in order.
    pub const ALL: [Self; 5] = [Self::Invalid, Self::Shared, Self::Exclusive, Self::Owned, Self::Modified];

    /// Whether this cache is the owner, which supplies the line instead of memory.
    #[inline]
    pub const fn is_owner(self) -> bool {
        matches!(self, Self::Owned | Self::Modified)
    }
}

impl From<Moesi> for CopyState {
    #[inline]
    fn from(state: Moesi) -> Self {
        match state {
            Moesi::Invalid => Self::INVALID,
            Moesi::Shared => Self::SHARED,
            Moesi::Exclusive => Self::EXCLUSIVE,
            Moesi::Owned => Self::OWNED,
            Moesi::Modified => Self::MODIFIED,
        }
    }
}

impl From<CopyState> for Moesi {
    #[inline]
    fn from(state: CopyState) -> Self {
        match (state.rights(), state.is_dirty()) {
            (Rights::None, _) => Self::Invalid,
            (Rights::Read, false) => Self::Shared,
            (Rights::Read, true) => Self::Owned,
            (Rights::Write, false) => Self::Exclusive,
            (Rights::Write, true) => Self::Modified,
        }
    }
}

/// Operation of a processor on a line, or the line's replacement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Operation {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Replacement.
    Evict,
}

/// Outcome of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Hit: performed without the bus.
    Done,
    /// Miss: the cache requests the bus for this command ([`Cache::request`]).
    Requested(Command),
    /// Blocked by an outstanding bus request for the line: the operation must be repeated afterwards.
    Blocked,
}

/// Outcome of another's transaction for a copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CacheOutcome {
    /// Unchanged, or no copy: only the tags were read.
    Kept,
    /// Read and supplied.
    Supplied,
    /// Downgraded to shared, without supplying the data.
    Downgraded,
    /// Invalidated, without supplying the data.
    Invalidated,
}

/// One line at one cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cache {
    /// State of the copy, in the cache or (while a writeback is outstanding) in the writeback buffer.
    pub state: Moesi,
    /// Contents; meaningless without a copy.
    pub version: Version,
    /// Outstanding bus request.
    pub request: Option<Command>,
}

/// Snoop table: the answer to another's transaction and the state after, a line per pair of command and state.
const fn snooped(state: Moesi, command: Command) -> Result<(Answer, Moesi), &'static str> {
    use Command as C;
    use Moesi as S;
    match (command, state) {
        (_, S::Invalid) => Ok((Answer::Nothing, S::Invalid)),
        // The owner supplies the line and remains the owner; a clean copy leaves it to memory.
        (C::Read, S::Modified | S::Owned) => Ok((Answer::Supply, S::Owned)),
        (C::Read, S::Exclusive | S::Shared) => Ok((Answer::Shared, S::Shared)),
        // Memory is brought up to date by the same transaction, so the line needs no owner any more.
        (C::ReadForeign, S::Modified | S::Owned) => Ok((Answer::Supply, S::Shared)),
        (C::ReadForeign, S::Exclusive | S::Shared) => Ok((Answer::Shared, S::Shared)),
        (C::ReadExclusive, S::Modified | S::Owned) => Ok((Answer::Supply, S::Invalid)),
        (C::ReadExclusive, S::Exclusive | S::Shared) => Ok((Answer::Nothing, S::Invalid)),
        // The cache that upgrades has the same contents as the owner.
        (C::Upgrade, S::Owned | S::Shared) => Ok((Answer::Nothing, S::Invalid)),
        (C::Upgrade, S::Modified | S::Exclusive) => Err("the only copy is here, so no other cache has one to upgrade"),
        (C::Writeback, S::Shared) => Ok((Answer::Nothing, S::Shared)),
        (C::Writeback, S::Modified | S::Owned | S::Exclusive) => {
            Err("only the owner writes back, and the owner is here")
        }
    }
}

/// Answer of a copy to a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Nothing,
    Shared,
    Supply,
}

impl Cache {
    /// Starts an operation of the processor: a line per pair of operation and state. A store creates the next
    /// [`Version`].
    #[inline]
    pub fn start(&mut self, operation: Operation) -> Start {
        use Moesi as S;
        if self.request.is_some() {
            return Start::Blocked;
        }
        let command = match (operation, self.state) {
            (Operation::Load, S::Invalid) => Command::Read,
            (Operation::Load, S::Shared | S::Exclusive | S::Owned | S::Modified) => return Start::Done,
            (Operation::Store, S::Invalid) => Command::ReadExclusive,
            (Operation::Store, S::Shared | S::Owned) => Command::Upgrade,
            (Operation::Store, S::Exclusive | S::Modified) => {
                self.store();
                return Start::Done;
            }
            (Operation::Evict, S::Invalid | S::Shared | S::Exclusive) => {
                *self = Self::default();
                return Start::Done;
            }
            (Operation::Evict, S::Owned | S::Modified) => Command::Writeback,
        };
        self.request = Some(command);
        Start::Requested(command)
    }

    /// Snoop reply to another's transaction; the state does not change yet.
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot occur beside this copy in a correct run.
    #[inline]
    pub fn snoop(&self, cpu: CpuId, command: Command) -> Result<Reply, ProtocolError> {
        let (answer, _) = self.look_up(cpu, command)?;
        Ok(match answer {
            Answer::Nothing => Reply::default(),
            Answer::Shared => Reply { shared: true, ..Reply::default() },
            Answer::Supply => Reply { shared: true, owner: Some(self.version), retry: false },
        })
    }

    /// Applies another's transaction, which no participant has retried.
    ///
    /// # Errors
    /// As [`Cache::snoop`].
    #[inline]
    pub fn observe(&mut self, cpu: CpuId, command: Command) -> Result<CacheOutcome, ProtocolError> {
        let (answer, state) = self.look_up(cpu, command)?;
        let before = std::mem::replace(&mut self.state, state);
        match self.request {
            // The copy is gone: the request must fetch the data too.
            Some(Command::Upgrade) if state == Moesi::Invalid => self.request = Some(Command::ReadExclusive),
            // Another cache, or memory, is responsible for the line now.
            Some(Command::Writeback) if !state.is_owner() => *self = Self::default(),
            _ => {}
        }
        if self.state == Moesi::Invalid {
            self.version = Version::default();
        }
        Ok(match answer {
            Answer::Supply => CacheOutcome::Supplied,
            Answer::Nothing | Answer::Shared if before == state => CacheOutcome::Kept,
            Answer::Nothing | Answer::Shared if state == Moesi::Invalid => CacheOutcome::Invalidated,
            Answer::Nothing | Answer::Shared => CacheOutcome::Downgraded,
        })
    }

    /// Completes the cache's own transaction; `reply` is the combined reply of the others. Without an outstanding
    /// request, nothing changes.
    #[inline]
    pub fn complete(&mut self, reply: Reply, phase: DataPhase) {
        let Some(command) = self.request.take() else { return };
        if let (Command::Read | Command::ReadExclusive | Command::ReadForeign, Some((version, _))) =
            (command, phase.data)
        {
            self.version = version;
        }
        match command {
            Command::Read | Command::ReadForeign if reply.shared => self.state = Moesi::Shared,
            Command::Read | Command::ReadForeign => self.state = Moesi::Exclusive,
            Command::ReadExclusive | Command::Upgrade => self.store(),
            Command::Writeback => *self = Self::default(),
        }
    }

    fn store(&mut self) {
        self.state = Moesi::Modified;
        self.version = self.version.next();
    }

    fn look_up(&self, cpu: CpuId, command: Command) -> Result<(Answer, Moesi), ProtocolError> {
        snooped(self.state, command).map_err(|reason| {
            let state = match self.state {
                Moesi::Invalid => "Invalid",
                Moesi::Shared => "Shared",
                Moesi::Exclusive => "Exclusive",
                Moesi::Owned => "Owned",
                Moesi::Modified => "Modified",
            };
            ProtocolError { at: Agent::Processor(cpu), message: command.mnemonic(), state, reason }
        })
    }
}
