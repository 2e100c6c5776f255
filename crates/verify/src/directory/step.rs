//! Steps of a directory protocol's model, with their names in traces.

use std::fmt;

use protocol::Access;
use protocol::contract::{Destination, Due};
use units::LineAddr;

use super::Explored;

/// One step.
pub enum Step<P: Explored> {
    /// A processor accesses a line.
    Access {
        /// The cache.
        cache: usize,
        /// The line.
        line: usize,
        /// Access.
        access: Access,
    },
    /// A cache evicts a line.
    Evict {
        /// The cache.
        cache: usize,
        /// The line.
        line: usize,
    },
    /// A cache does what is due.
    Due {
        /// The cache.
        cache: usize,
        /// The line.
        line: usize,
        /// The work.
        due: Due,
    },
    /// A message arrives.
    Deliver {
        /// The message.
        message: P::Message,
        /// First of the caches that it arrives at, and one past the last; `None` at the home.
        caches: Option<(u16, u16)>,
        /// Whether the home leaves messages to others.
        backoff: bool,
        /// Line whose store entries the home reclaims for the message.
        reclaimed: Option<LineAddr>,
    },
}

impl<P: Explored> Clone for Step<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Explored> Copy for Step<P> {}

impl<P: Explored> Step<P> {
    /// Arrival of a message at its destination.
    pub(super) fn deliver(message: P::Message, to: &Destination) -> Self {
        let caches = match to {
            Destination::Home => None,
            Destination::Caches(caches) => Some((caches.start, caches.end)),
        };
        Self::Deliver { message, caches, backoff: false, reclaimed: None }
    }
}

impl<P: Explored> fmt::Display for Step<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = P::AGENT;
        match self {
            Self::Access { cache, line, access } => write!(f, "{agent}{cache}: {} line {line}", verb(*access)),
            Self::Evict { cache, line } => write!(f, "{agent}{cache}: evicts line {line}"),
            Self::Due { cache, line, due: Due::Retry } => write!(f, "{agent}{cache}: retries line {line}"),
            Self::Due { cache, line, due: Due::DeferredAnswer } => {
                write!(f, "{agent}{cache}: answers the deferred message on line {line}")
            }
            Self::Deliver { message, caches, backoff, reclaimed } => {
                match caches {
                    None => write!(f, "home")?,
                    Some((first, end)) if end - first == 1 => write!(f, "{agent}{first}")?,
                    Some((first, end)) => write!(f, "{agent}{first} to {agent}{}", end - 1)?,
                }
                write!(f, ": receives {message}")?;
                if *backoff {
                    write!(f, ", backs off")?;
                }
                reclaimed.map_or(Ok(()), |victim| write!(f, ", reclaims line {}", victim.0))
            }
        }
    }
}

/// Verb of an access in traces, before its object.
pub fn verb(access: Access) -> &'static str {
    match access {
        Access::Load => "loads",
        Access::Store => "stores to",
        Access::InstructionFetch => "fetches instructions from",
        Access::ReadPrefetch => "prefetches for reading",
        Access::WritePrefetch => "prefetches for writing",
        Access::UncachedRead => "reads without caching",
        Access::PoisonRead => "reads and poisons",
    }
}
