//! One line at one cache on the bus: its MOESI state and what the cache wants of the bus.
//!
//! Races, and how they are resolved:
//! - *A copy is invalidated while its upgrade waits for the bus*: the upgrade becomes a read-exclusive.
//! - *A line that waits for its writeback is asked for*: the buffer is looked up like the cache. If the line changes hands, the
//!   writeback is no longer needed; if it is shared, or others share it already, it stays owned by the buffer.

use units::CpuId;

use super::bus::{Command, DataPhase, Reply};
use crate::{Agent, ProtocolError, Version};

/// State of a line in a cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Moesi {
    /// No copy.
    #[default]
    Invalid,
    /// Read-only copy; others may have one, and one of them may own the line.
    Shared,
    /// The only copy, same as memory. May be dropped without telling anyone.
    Exclusive,
    /// Newer than memory, and others may have copies: this cache supplies it and writes it back.
    Owned,
    /// The only copy, newer than memory.
    Modified,
}

impl Moesi {
    /// Every state, in order.
    pub const ALL: [Self; 5] = [Self::Invalid, Self::Shared, Self::Exclusive, Self::Owned, Self::Modified];

    /// Whether this cache, not memory, supplies the line.
    #[inline]
    pub const fn is_owner(self) -> bool {
        matches!(self, Self::Owned | Self::Modified)
    }
}

/// What a processor, or the replacement of another line, wants of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Operation {
    /// Read it.
    Load,
    /// Write it.
    Store,
    /// Make room.
    Evict,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Done: the cache could do it by itself.
    Done,
    /// It takes the bus: [`Cache::wants`] says what for.
    Wants(Command),
    /// The cache already wants the bus for this line: try again after it is done.
    Blocked,
}

/// What a transaction of another did to a copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CacheOutcome {
    /// There was none, or it is as before: only the tags were looked at.
    Kept,
    /// It was read and supplied.
    Supplied,
    /// It is shared now, without having been supplied.
    Downgraded,
    /// It is gone, and had not been supplied.
    Invalidated,
}

/// One line at one cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cache {
    /// State of the copy, in the cache or (while a writeback is wanted) in the writeback buffer.
    pub state: Moesi,
    /// Contents; meaningless without a copy.
    pub version: Version,
    /// What the cache wants of the bus.
    pub wants: Option<Command>,
}

/// What a transaction of another means for a copy: a line per pair of command and state. The reply, and the state after.
const fn snooped(state: Moesi, command: Command) -> Result<(Answer, Moesi), &'static str> {
    use Command as C;
    use Moesi as S;
    match (command, state) {
        (_, S::Invalid) => Ok((Answer::Nothing, S::Invalid)),
        // The owner supplies and stays responsible; a clean copy leaves it to memory.
        (C::Read, S::Modified | S::Owned) => Ok((Answer::Supply, S::Owned)),
        (C::Read, S::Exclusive | S::Shared) => Ok((Answer::Shared, S::Shared)),
        // Memory is brought up to date by the way: nobody need own the line any more.
        (C::ReadForeign, S::Modified | S::Owned) => Ok((Answer::Supply, S::Shared)),
        (C::ReadForeign, S::Exclusive | S::Shared) => Ok((Answer::Shared, S::Shared)),
        (C::ReadExclusive, S::Modified | S::Owned) => Ok((Answer::Supply, S::Invalid)),
        (C::ReadExclusive, S::Exclusive | S::Shared) => Ok((Answer::Nothing, S::Invalid)),
        // Whoever upgrades has the same contents as the owner.
        (C::Upgrade, S::Owned | S::Shared) => Ok((Answer::Nothing, S::Invalid)),
        (C::Upgrade, S::Modified | S::Exclusive) => Err("the only copy is here, so nobody else has one to upgrade"),
        (C::Writeback, S::Shared) => Ok((Answer::Nothing, S::Shared)),
        (C::Writeback, S::Modified | S::Owned | S::Exclusive) => {
            Err("only the owner writes back, and the owner is here")
        }
    }
}

/// What a copy has to say to a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Nothing,
    Shared,
    Supply,
}

impl Cache {
    /// Begins an operation of the processor: a line per pair of operation and state. A store makes the next [`Version`].
    #[inline]
    pub fn start(&mut self, operation: Operation) -> Start {
        use Moesi as S;
        if self.wants.is_some() {
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
        self.wants = Some(command);
        Start::Wants(command)
    }

    /// The reply to a transaction of another; nothing changes yet.
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot happen beside this copy in a faithful run.
    #[inline]
    pub fn snoop(&self, cpu: CpuId, command: Command) -> Result<Reply, ProtocolError> {
        let (answer, _) = self.look_up(cpu, command)?;
        Ok(match answer {
            Answer::Nothing => Reply::default(),
            Answer::Shared => Reply { shared: true, ..Reply::default() },
            Answer::Supply => Reply { shared: true, owner: Some(self.version), retry: false },
        })
    }

    /// A transaction of another has happened: nobody has retried it.
    ///
    /// # Errors
    /// As [`Cache::snoop`].
    #[inline]
    pub fn observe(&mut self, cpu: CpuId, command: Command) -> Result<CacheOutcome, ProtocolError> {
        let (answer, state) = self.look_up(cpu, command)?;
        let before = std::mem::replace(&mut self.state, state);
        match self.wants {
            // The copy is gone: its data must be asked for too.
            Some(Command::Upgrade) if state == Moesi::Invalid => self.wants = Some(Command::ReadExclusive),
            // Somebody else, or memory, is responsible for the line now.
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

    /// Our own transaction has happened; `reply` is what the others said. Does nothing if the cache wants nothing.
    #[inline]
    pub fn complete(&mut self, reply: Reply, phase: DataPhase) {
        let Some(command) = self.wants.take() else { return };
        if let (Command::Read | Command::ReadExclusive, Some((version, _))) = (command, phase.data) {
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
