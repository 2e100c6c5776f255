//! A cache as target: requests of its neighbours in the list, and of caches that are about to join it.
//!
//! Races resolve without reliance on the order of packets:
//! - *Several caches send requests to memory at once.* Memory puts each before the last one: each attaches to its
//!   predecessor, and is NACKed there until the predecessor is attached itself.
//! - *Neighbours leave at once.* The element nearer the tail goes first: a leaving element NACKs the requests of the
//!   element before it, and grants those of the element behind it.
//! - *A head leaves while another cache attaches.* Memory NACKs the head, because it names another head already. If the
//!   old head has passed the head to the next element, it redirects the newcomer there; if it was alone, it lets the
//!   newcomer attach, and leaves as the tail.
//! - *An element that leaves is purged.* Its response to the purge names the element behind it, and it is done when the
//!   response to its own request arrives, with any result.
//! - *A head writes while another cache attaches.* Memory NACKs it; the head leaves and sends a new request, as a
//!   writer.

use units::CpuId;

use super::cache_line::{CacheContext, CacheLine, CacheState};
use super::message::{Command, Report, Request, Response};
use crate::{ProtocolError, Version};

/// Work done for a request of another cache, which a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ServeWork {
    /// Whether the request was NACKed: only the tag was read.
    pub nacked: bool,
    /// Whether the line was read from the cache and sent.
    pub data_read: bool,
    /// Whether state or pointers changed.
    pub tag_write: bool,
}

/// Handles a request of another cache: a line per pair of command and state.
///
/// # Errors
/// [`ProtocolError`] if the request cannot reach this line in a correct run.
#[inline]
pub fn serve(
    line: &mut CacheLine,
    context: &CacheContext,
    request: &Request,
) -> Result<(Response, ServeWork), ProtocolError> {
    let before = *line;
    let answer = match request.command {
        Command::PendValid | Command::CopyValid => attach(line, request.command, request.source),
        Command::FreshInvalid => purge_head(line),
        Command::ValidInvalid => purge(line),
        Command::NextFreshHead | Command::NextDirtyHead | Command::NextMid => neighbour_before_leaves(line, request),
        Command::PreviousMid | Command::PreviousTail => Ok(neighbour_behind_leaves(line, request)),
        Command::CacheFresh | Command::CacheDirty | Command::ListToGone | Command::ListToHome | Command::PassHead => {
            Err("a command for memory")
        }
    };
    let report = answer.map_err(|reason| before.impossible(context, request.command.mnemonic(), reason))?;
    let mut response = Response::to(request, report);
    if matches!(report, Report::Linked | Report::Returning) {
        response = response.with_pointer(before.forward);
    }
    let attached = matches!(report, Report::Last | Report::Linked);
    let data_read = request.command == Command::CopyValid && attached;
    if data_read {
        response = response.with_version(before.version);
    }
    let work = ServeWork { nacked: report == Report::Nack, data_read, tag_write: *line != before };
    Ok((response, work))
}

/// Attaches a newcomer before this element, the last head that memory named.
fn attach(line: &mut CacheLine, command: Command, newcomer: CpuId) -> Result<Report, &'static str> {
    use CacheState as S;
    let (state, report) = match (line.state, command) {
        (S::OnlyFresh, Command::PendValid) | (S::OnlyDirty, Command::CopyValid) => (S::TailValid, Report::Last),
        (S::HeadFresh, Command::PendValid) | (S::HeadDirty, Command::CopyValid) => (S::MidValid, Report::Linked),
        // The element is leaving, and memory NACKs it because it names the newcomer as the head: it goes on as the tail
        // behind the newcomer.
        (S::OnlyFreshReturning, Command::PendValid) | (S::OnlyDirtySpinning, Command::CopyValid) => {
            (S::TailReturning, Report::Last)
        }
        // The element has passed the head on, and memory NACKs this: the newcomer attaches to the next element, as if
        // memory had received the request in time.
        (S::HeadReturning, _) => return Ok(invalidate_leaving(line, Report::Returning)),
        // The element is not attached itself yet, or in another transaction.
        (S::Pending | S::OnlyFreshToDirty | S::HeadFreshToDirty | S::HeadForwarding | S::HeadForwardingLast, _)
        | (S::QueuedFresh, Command::PendValid)
        | (S::QueuedJunk | S::QueuedDirty | S::HeadDirtyPurging | S::OnlyDirtyReturning, Command::CopyValid) => {
            return Ok(Report::Nack);
        }
        (S::OnlyFresh | S::HeadFresh | S::OnlyFreshReturning | S::QueuedFresh, _) => {
            return Err("memory is FRESH, so the newcomer has the data");
        }
        (
            S::OnlyDirty
            | S::HeadDirty
            | S::OnlyDirtySpinning
            | S::QueuedJunk
            | S::QueuedDirty
            | S::HeadDirtyPurging
            | S::OnlyDirtyReturning,
            _,
        ) => return Err("memory is GONE, so the newcomer needs the data"),
        (S::MidValid | S::TailValid | S::MidForwarding | S::MidReturning | S::TailReturning, _) => {
            return Err("another element is before it, so it is not the last head that memory named");
        }
        (S::Invalid | S::ToInvalid, _) => return Err("memory has the new head, or a newcomer has replaced this one"),
    };
    line.state = state;
    line.backward = Some(newcomer);
    Ok(report)
}

/// Purges the old head for a writer that memory has made the new head: the copies are fresh, so the writer needs no
/// data.
fn purge_head(line: &mut CacheLine) -> Result<Report, &'static str> {
    use CacheState as S;
    match line.state {
        S::OnlyFresh => Ok(invalidate(line, Report::Last)),
        S::HeadFresh => Ok(invalidate(line, Report::Linked)),
        S::OnlyFreshReturning => Ok(invalidate_leaving(line, Report::Last)),
        S::HeadReturning => Ok(invalidate_leaving(line, Report::Returning)),
        S::Pending
        | S::QueuedFresh
        | S::OnlyFreshToDirty
        | S::HeadFreshToDirty
        | S::HeadForwarding
        | S::HeadForwardingLast => Ok(Report::Nack),
        S::QueuedDirty
        | S::QueuedJunk
        | S::OnlyDirty
        | S::HeadDirty
        | S::HeadDirtyPurging
        | S::OnlyDirtyReturning
        | S::OnlyDirtySpinning => Err("memory was FRESH, and has received no other writer's request since"),
        S::MidValid | S::TailValid | S::MidForwarding | S::MidReturning | S::TailReturning => {
            Err("another element is before it, so it is not the last head that memory named")
        }
        S::Invalid | S::ToInvalid => Err("memory has the new head, or a newcomer has replaced this one"),
    }
}

/// Purges an element behind the head.
fn purge(line: &mut CacheLine) -> Result<Report, &'static str> {
    use CacheState as S;
    match line.state {
        S::MidValid => Ok(invalidate(line, Report::Linked)),
        S::TailValid => Ok(invalidate(line, Report::Last)),
        S::MidForwarding | S::MidReturning => Ok(invalidate_leaving(line, Report::Linked)),
        S::TailReturning => Ok(invalidate_leaving(line, Report::Last)),
        S::Invalid | S::ToInvalid | S::Pending | S::QueuedFresh | S::QueuedJunk | S::QueuedDirty => {
            Err("an element leaves after a grant of the element before it, and a purging head grants nothing")
        }
        S::OnlyFresh
        | S::OnlyDirty
        | S::HeadFresh
        | S::HeadDirty
        | S::OnlyFreshToDirty
        | S::HeadFreshToDirty
        | S::HeadDirtyPurging
        | S::OnlyFreshReturning
        | S::OnlyDirtyReturning
        | S::OnlyDirtySpinning
        | S::HeadForwarding
        | S::HeadForwardingLast
        | S::HeadReturning => Err("the purging head is before it, so it is not a head"),
    }
}

/// Handles the departure of the element before this one: a departing head makes this one the head, another element
/// names the one that is before it from now on.
///
/// A leaving element NACKs the request, because the element nearer the tail goes first; so does an element that has
/// left in the meantime.
fn neighbour_before_leaves(line: &mut CacheLine, request: &Request) -> Result<Report, &'static str> {
    use CacheState as S;
    if line.backward != Some(request.source) {
        return Ok(Report::Nack);
    }
    let state = match (line.state, request.command) {
        (S::MidValid, Command::NextFreshHead) => S::HeadFresh,
        (S::MidValid, Command::NextDirtyHead) => S::HeadDirty,
        (S::TailValid, Command::NextFreshHead) => S::OnlyFresh,
        (S::TailValid, Command::NextDirtyHead) => S::OnlyDirty,
        (S::MidValid | S::TailValid, _) => line.state,
        (S::MidForwarding | S::MidReturning | S::TailReturning, _) => return Ok(Report::Nack),
        (_, _) => return Err("the sender is before it, so it is not the head"),
    };
    line.state = state;
    line.backward = request.pointer;
    Ok(Report::Done)
}

/// Handles the departure of the element behind this one. A leaving element grants it too, because the element nearer
/// the tail goes first.
fn neighbour_behind_leaves(line: &mut CacheLine, request: &Request) -> Report {
    use CacheState as S;
    let last = request.command == Command::PreviousTail;
    if line.forward != Some(request.source) {
        return Report::Nack;
    }
    let state = match line.state {
        S::HeadFresh if last => S::OnlyFresh,
        S::HeadDirty if last => S::OnlyDirty,
        S::HeadFreshToDirty if last => S::OnlyFreshToDirty,
        S::HeadForwarding if last => S::HeadForwardingLast,
        S::MidValid if last => S::TailValid,
        S::MidForwarding if last => S::TailReturning,
        S::HeadFresh | S::HeadDirty | S::HeadFreshToDirty | S::HeadForwarding | S::MidValid | S::MidForwarding => {
            line.state
        }
        // Purging: the sender will be purged. Purged itself, or attaching: the sender is not behind it.
        _ => return Report::Nack,
    };
    line.state = state;
    line.forward = request.pointer;
    Report::Done
}

/// Drops the copy.
fn invalidate(line: &mut CacheLine, report: Report) -> Report {
    *line = CacheLine::default();
    report
}

/// Drops the copy of a leaving element: the outstanding response ends its transaction.
fn invalidate_leaving(line: &mut CacheLine, report: Report) -> Report {
    *line = CacheLine {
        state: CacheState::ToInvalid,
        outstanding: line.outstanding,
        version: Version::default(),
        forward: None,
        backward: None,
    };
    report
}
