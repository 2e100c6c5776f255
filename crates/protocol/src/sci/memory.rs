//! Memory in the SCI protocol: the state of a line and the head of its list. Memory never waits and never sends a
//! request.

use units::{CpuId, NodeId};

use super::message::{Command, Report, Request, Response};
use crate::{Agent, ProtocolError, Version};

/// State of a line in memory. (`WASH` belongs to an option that the typical set leaves out.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum MemoryState {
    /// No cache has a copy.
    #[default]
    Home,
    /// A list exists, and its copies are the same as memory.
    Fresh,
    /// A list exists, and its copies may be newer than memory.
    Gone,
}

impl MemoryState {
    /// Every state, in order.
    pub const ALL: [Self; 3] = [Self::Home, Self::Fresh, Self::Gone];

    /// Name of the state in the standard.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::Home => "HOME",
            Self::Fresh => "FRESH",
            Self::Gone => "GONE",
        }
    }

    /// Description of the state.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Home => "no sharing list",
            Self::Fresh => "the same data are in memory and in the sharing list",
            Self::Gone => "the sharing list's data may differ from memory's",
        }
    }
}

/// One line in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MemoryLine {
    /// State.
    pub state: MemoryState,
    /// Head of the list: the last cache that requested a copy. `None` in `HOME`.
    pub head: Option<CpuId>,
    /// Contents.
    pub version: Version,
}

/// Work done for one request at memory, which a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MemoryWork {
    /// Whether the request was NACKed: only the tag was read.
    pub nacked: bool,
    /// Whether the line was read.
    pub data_read: bool,
    /// Whether the line was written.
    pub data_write: bool,
    /// Whether state or head changed.
    pub tag_write: bool,
}

/// Handles one request at the memory of its line: a line per pair of command and state.
///
/// # Errors
/// [`ProtocolError`] if the request cannot reach this line in a correct run.
#[inline]
pub fn memory(line: &mut MemoryLine, node: NodeId, request: &Request) -> Result<(Response, MemoryWork), ProtocolError> {
    use MemoryState as S;
    let before = *line;
    let source = request.source;
    let is_head = line.head == Some(source);
    let impossible = |reason| {
        let (message, state) = (request.command.mnemonic(), before.state.mnemonic());
        Err(ProtocolError { at: Agent::Home(node), message, state, reason })
    };
    let report = match (request.command, line.state) {
        // The requester becomes the head, and attaches to the old head itself.
        (Command::CacheFresh, S::Home) => attach(line, S::Fresh, source, Report::Home),
        (Command::CacheFresh, S::Fresh) if !is_head => attach(line, S::Fresh, source, Report::Fresh),
        (Command::CacheFresh, S::Gone) if !is_head => attach(line, S::Gone, source, Report::Gone),
        (Command::CacheDirty, S::Home) => attach(line, S::Gone, source, Report::Home),
        (Command::CacheDirty, S::Fresh) if !is_head => attach(line, S::Gone, source, Report::Fresh),
        (Command::CacheDirty, S::Gone) if !is_head => attach(line, S::Gone, source, Report::Gone),
        (Command::CacheFresh | Command::CacheDirty, S::Fresh | S::Gone) => {
            return impossible("the head has a copy, or has passed the head on before it lost it");
        }
        // The head changes or ends the list. A requester that is no longer the head, or not yet, must retry.
        (Command::ListToGone, S::Fresh) if is_head => attach(line, S::Gone, source, Report::Done),
        (Command::ListToGone, S::Gone) if is_head => Report::Done,
        (Command::ListToHome, S::Fresh | S::Gone) if is_head => {
            *line = MemoryLine { version: request.version.unwrap_or(line.version), ..MemoryLine::default() };
            Report::Done
        }
        (Command::PassHead, S::Fresh | S::Gone) if is_head => {
            line.head = request.pointer;
            Report::Done
        }
        // The list may even have ended in the meantime: the requester was purged while its request was in flight.
        (Command::ListToGone | Command::ListToHome | Command::PassHead, S::Home | S::Fresh | S::Gone) => Report::Nack,
        (
            Command::PendValid
            | Command::CopyValid
            | Command::FreshInvalid
            | Command::ValidInvalid
            | Command::NextFreshHead
            | Command::NextDirtyHead
            | Command::NextMid
            | Command::PreviousMid
            | Command::PreviousTail,
            S::Home | S::Fresh | S::Gone,
        ) => return impossible("a command for a cache"),
    };
    let mut response = Response::to(request, report);
    let work = MemoryWork {
        nacked: report == Report::Nack,
        data_read: matches!(report, Report::Home | Report::Fresh),
        data_write: report == Report::Done && request.version.is_some(),
        tag_write: (line.state, line.head) != (before.state, before.head),
    };
    if work.data_read {
        response = response.with_version(before.version);
    }
    if matches!(report, Report::Fresh | Report::Gone) {
        response = response.with_pointer(before.head);
    }
    Ok((response, work))
}

/// Sets the state and the head of the line.
fn attach(line: &mut MemoryLine, state: MemoryState, head: CpuId, report: Report) -> Report {
    line.state = state;
    line.head = Some(head);
    report
}
