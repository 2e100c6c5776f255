//! A cache as the one that is asked: by its neighbours in the list, and by those who are about to join it.
//!
//! Races, and how they are resolved without relying on the order of packets:
//! - *Several caches ask memory at once.* Memory puts each before the last: every one attaches to the one that asked before
//!   it, and is nullified there until that one is attached itself.
//! - *Neighbours leave at once.* The one nearer the tail goes first: an element that leaves nullifies what the element before
//!   it asks, and grants what the element behind it asks.
//! - *A head leaves while another cache attaches.* Memory refuses it, because it names another head already. If it has passed
//!   the head to the next element, it sends the newcomer there; if it was alone, it lets the newcomer attach, and goes on to
//!   leave as the tail.
//! - *An element that leaves is purged.* It answers the purge with the element behind it, and is done when the response to
//!   its own request is in, whatever that says.
//! - *A head wants to write while another cache attaches.* Memory refuses; the head leaves and asks anew, as a writer.

use units::CpuId;

use super::cache_line::{CacheContext, CacheLine, CacheState};
use super::message::{Command, Report, Request, Response};
use crate::{ProtocolError, Version};

/// What a request of another cache took, for the machine to price.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ServeWork {
    /// The request was nacked: only the tag was read.
    pub nullified: bool,
    /// The line was read from the cache and sent.
    pub data_read: bool,
    /// State or pointers changed.
    pub tag_write: bool,
}

/// Handles a request of another cache: a line per pair of command and state.
///
/// # Errors
/// [`ProtocolError`] if the request cannot reach this line in a faithful run.
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
    let work = ServeWork { nullified: report == Report::Nullified, data_read, tag_write: *line != before };
    Ok((response, work))
}

/// A newcomer attaches itself before the head that memory knew last.
fn attach(line: &mut CacheLine, command: Command, newcomer: CpuId) -> Result<Report, &'static str> {
    use CacheState as S;
    let (state, report) = match (line.state, command) {
        (S::OnlyFresh, Command::PendValid) | (S::OnlyDirty, Command::CopyValid) => (S::TailValid, Report::Last),
        (S::HeadFresh, Command::PendValid) | (S::HeadDirty, Command::CopyValid) => (S::MidValid, Report::Linked),
        // It is leaving, and memory refuses it since it knows of the newcomer: it goes on as the tail behind it.
        (S::OnlyFreshReturning, Command::PendValid) | (S::OnlyDirtySpinning, Command::CopyValid) => {
            (S::TailReturning, Report::Last)
        }
        // It has passed the head on, and memory refuses to hear of it: the newcomer attaches to the next one, and all is
        // as if it had been told in time.
        (S::HeadReturning, _) => return Ok(relieve(line, Report::Returning)),
        // Not attached itself yet, or in the middle of something.
        (S::Pending | S::OnlyFreshToDirty | S::HeadFreshToDirty | S::HeadForwarding | S::HeadForwardingLast, _)
        | (S::QueuedFresh, Command::PendValid)
        | (S::QueuedJunk | S::QueuedDirty | S::HeadDirtyPurging | S::OnlyDirtyReturning, Command::CopyValid) => {
            return Ok(Report::Nullified);
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
            return Err("somebody is before it, so it is not the head that memory knew last");
        }
        (S::Invalid | S::ToInvalid, _) => return Err("memory was told, or a newcomer has been here"),
    };
    line.state = state;
    line.backward = Some(newcomer);
    Ok(report)
}

/// A writer that memory has named the head purges the head before it: the copies are fresh, so nobody needs the data.
fn purge_head(line: &mut CacheLine) -> Result<Report, &'static str> {
    use CacheState as S;
    match line.state {
        S::OnlyFresh => Ok(invalidate(line, Report::Last)),
        S::HeadFresh => Ok(invalidate(line, Report::Linked)),
        S::OnlyFreshReturning => Ok(relieve(line, Report::Last)),
        S::HeadReturning => Ok(relieve(line, Report::Returning)),
        S::Pending
        | S::QueuedFresh
        | S::OnlyFreshToDirty
        | S::HeadFreshToDirty
        | S::HeadForwarding
        | S::HeadForwardingLast => Ok(Report::Nullified),
        S::QueuedDirty
        | S::QueuedJunk
        | S::OnlyDirty
        | S::HeadDirty
        | S::HeadDirtyPurging
        | S::OnlyDirtyReturning
        | S::OnlyDirtySpinning => Err("memory was FRESH, and no writer but this one has asked it since"),
        S::MidValid | S::TailValid | S::MidForwarding | S::MidReturning | S::TailReturning => {
            Err("somebody is before it, so it is not the head that memory knew last")
        }
        S::Invalid | S::ToInvalid => Err("memory was told, or a newcomer has been here"),
    }
}

/// The head purges an element behind it.
fn purge(line: &mut CacheLine) -> Result<Report, &'static str> {
    use CacheState as S;
    match line.state {
        S::MidValid => Ok(invalidate(line, Report::Linked)),
        S::TailValid => Ok(invalidate(line, Report::Last)),
        S::MidForwarding | S::MidReturning => Ok(relieve(line, Report::Linked)),
        S::TailReturning => Ok(relieve(line, Report::Last)),
        S::Invalid | S::ToInvalid | S::Pending | S::QueuedFresh | S::QueuedJunk | S::QueuedDirty => {
            Err("an element leaves with the consent of the one before it, which a purging head does not give")
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
        | S::HeadReturning => Err("the purging head is before it, so it is none"),
    }
}

/// The element before this one leaves: a head makes this one the head, another names who is before it from now on.
///
/// Whoever leaves itself refuses, for the one nearer the tail goes first; so does whoever has left meanwhile.
fn neighbour_before_leaves(line: &mut CacheLine, request: &Request) -> Result<Report, &'static str> {
    use CacheState as S;
    if line.backward != Some(request.source) {
        return Ok(Report::Nullified);
    }
    let state = match (line.state, request.command) {
        (S::MidValid, Command::NextFreshHead) => S::HeadFresh,
        (S::MidValid, Command::NextDirtyHead) => S::HeadDirty,
        (S::TailValid, Command::NextFreshHead) => S::OnlyFresh,
        (S::TailValid, Command::NextDirtyHead) => S::OnlyDirty,
        (S::MidValid | S::TailValid, _) => line.state,
        (S::MidForwarding | S::MidReturning | S::TailReturning, _) => return Ok(Report::Nullified),
        (_, _) => return Err("the sender is before it, so it is not the head"),
    };
    line.state = state;
    line.backward = request.pointer;
    Ok(Report::Done)
}

/// The element behind this one leaves. Granted even by one that leaves itself: the one nearer the tail goes first.
fn neighbour_behind_leaves(line: &mut CacheLine, request: &Request) -> Report {
    use CacheState as S;
    let last = request.command == Command::PreviousTail;
    if line.forward != Some(request.source) {
        return Report::Nullified;
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
        // It is purging, so the sender will be purged; or it has been, or is attaching, and the sender is not behind it.
        _ => return Report::Nullified,
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

/// Drops the copy of one that is leaving: the response that it awaits ends that.
fn relieve(line: &mut CacheLine, report: Report) -> Report {
    *line = CacheLine {
        state: CacheState::ToInvalid,
        outstanding: line.outstanding,
        version: Version::default(),
        forward: None,
        backward: None,
    };
    report
}
