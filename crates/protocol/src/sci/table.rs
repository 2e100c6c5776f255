//! Transition tables of SCI, derived from the handlers: the documented tables cannot differ from the running code.

use units::{CpuId, LineAddr, NodeId};

use super::cache_line::{CacheContext, CacheLine, CacheState, Operation, Outstanding};
use super::memory::{MemoryLine, MemoryState, MemoryWork, memory};
use super::message::{Command, Report, Request, Response};
use super::requester::{Progress, receive};
use super::target::{ServeWork, serve};
use crate::{Agent, ProtocolError, Version};

/// The transition tables as Markdown, which the test `sci` of this crate derives from the handlers and holds current.
pub const TRANSITIONS: &str = include_str!("../../TRANSITIONS-sci.md");

const ME: CpuId = CpuId(0);
const OTHER: CpuId = CpuId(1);
const BEFORE: CpuId = CpuId(2);
const BEHIND: CpuId = CpuId(3);
const HOME: NodeId = NodeId(0);
const LINE: LineAddr = LineAddr(0);

/// A cell of memory's table: a command from one cache ("me") meets a line.
#[derive(Clone, Debug)]
pub struct MemoryCase {
    /// Line before, from the sender's point of view.
    pub situation: &'static str,
    /// Command.
    pub command: Command,
    /// Response and work done, or the reason why the request cannot arrive.
    pub result: Result<(Response, MemoryWork), ProtocolError>,
    /// Line after.
    pub next: MemoryLine,
}

/// Cells of memory's table.
pub fn memory_cases() -> impl Iterator<Item = MemoryCase> {
    let line = |state, head| MemoryLine { state, head, version: Version(0) };
    let situations = [
        ("HOME", line(MemoryState::Home, None)),
        ("FRESH, I am the head", line(MemoryState::Fresh, Some(ME))),
        ("FRESH, another is the head", line(MemoryState::Fresh, Some(OTHER))),
        ("GONE, I am the head", line(MemoryState::Gone, Some(ME))),
        ("GONE, another is the head", line(MemoryState::Gone, Some(OTHER))),
    ];
    situations.into_iter().flat_map(|(situation, before)| {
        Command::ALL.iter().filter(|command| command.is_for_memory()).map(move |&command| {
            let pointer = (command == Command::PassHead).then_some(BEHIND);
            let to = Agent::Home(HOME);
            let request = Request { line: LINE, to, source: ME, command, pointer, version: None };
            let mut next = before;
            let result = memory(&mut next, HOME, &request);
            MemoryCase { situation, command, result, next }
        })
    })
}

/// A cell of a cache's table: a command meets a line. `NEXT` commands come from the element before and `PREV` commands
/// from the element behind; from other senders they are NACKed in every state.
#[derive(Clone, Debug)]
pub struct CacheCase {
    /// State before.
    pub state: CacheState,
    /// Command.
    pub command: Command,
    /// Response and work done, or the reason why the request cannot arrive.
    pub result: Result<(Response, ServeWork), ProtocolError>,
    /// State after.
    pub next: CacheState,
}

/// Cells of a cache's table, as the target of requests.
pub fn cache_cases() -> impl Iterator<Item = CacheCase> {
    CacheState::ALL.iter().flat_map(|&state| {
        Command::ALL.iter().filter(|command| !command.is_for_memory()).map(move |&command| {
            let source = match command {
                Command::NextFreshHead | Command::NextDirtyHead | Command::NextMid => BEFORE,
                Command::PreviousMid | Command::PreviousTail => BEHIND,
                _ => OTHER,
            };
            let pointer = matches!(command, Command::NextMid | Command::PreviousMid).then_some(OTHER);
            let request = Request { line: LINE, to: Agent::Processor(ME), source, command, pointer, version: None };
            let mut line = CacheLine { state, forward: Some(BEHIND), backward: Some(BEFORE), ..CacheLine::default() };
            let result = serve(&mut line, &CacheContext { cpu: ME, line: LINE, home: HOME }, &request);
            CacheCase { state, command, result, next: line.state }
        })
    })
}

/// A cell of a cache's table, as requester: a response meets a transaction.
#[derive(Clone, Debug)]
pub struct ResponseCase {
    /// State before.
    pub state: CacheState,
    /// Operation that the transaction is for.
    pub operation: Operation,
    /// Command of the outstanding request.
    pub command: Command,
    /// Result in the response.
    pub report: Report,
    /// Progress of the transaction, or the reason why the response cannot arrive.
    pub result: Result<Progress, ProtocolError>,
    /// State after.
    pub next: CacheState,
}

/// Transactions that occur. An element that leaves in order to come back as a writer does the same as an element that
/// makes room, and then sends `CACHE_DIRTY`; these cases are not repeated here.
const TRANSACTIONS: &[(CacheState, Operation, Command)] = {
    use CacheState as S;
    use Command as C;
    use Operation::{Load, Rollout, Store};
    &[
        (S::Pending, Load, C::CacheFresh),
        (S::Pending, Store, C::CacheDirty),
        (S::QueuedFresh, Load, C::PendValid),
        (S::QueuedJunk, Load, C::CopyValid),
        (S::QueuedJunk, Store, C::CopyValid),
        (S::QueuedDirty, Store, C::FreshInvalid),
        (S::QueuedDirty, Store, C::ValidInvalid),
        (S::OnlyFreshToDirty, Store, C::ListToGone),
        (S::HeadFreshToDirty, Store, C::ListToGone),
        (S::HeadDirtyPurging, Store, C::ValidInvalid),
        (S::OnlyFreshReturning, Rollout, C::ListToHome),
        (S::OnlyDirtyReturning, Rollout, C::ListToHome),
        (S::OnlyDirtySpinning, Rollout, C::ListToGone),
        (S::HeadForwarding, Rollout, C::NextFreshHead),
        (S::HeadForwarding, Rollout, C::NextDirtyHead),
        (S::HeadForwardingLast, Rollout, C::NextFreshHead),
        (S::HeadForwardingLast, Rollout, C::NextDirtyHead),
        (S::HeadReturning, Rollout, C::PassHead),
        (S::MidForwarding, Rollout, C::NextMid),
        (S::MidReturning, Rollout, C::PreviousMid),
        (S::TailReturning, Rollout, C::PreviousTail),
        (S::TailReturning, Rollout, C::NextMid),
        (S::TailReturning, Rollout, C::ListToHome),
        (S::TailReturning, Rollout, C::ListToGone),
        (S::ToInvalid, Rollout, C::PreviousTail),
        (S::ToInvalid, Store, C::PreviousTail),
    ]
};

/// Cells of a cache's table, as requester.
pub fn response_cases() -> impl Iterator<Item = ResponseCase> {
    TRANSACTIONS.iter().flat_map(|&(state, operation, command)| {
        Report::ALL.into_iter().map(move |report| {
            let outstanding = Some(Outstanding { operation, command });
            let mut line =
                CacheLine { state, outstanding, forward: Some(BEHIND), backward: Some(BEFORE), ..CacheLine::default() };
            let response = Response { line: LINE, to: ME, report, pointer: Some(OTHER), version: None };
            let result = receive(&mut line, &CacheContext { cpu: ME, line: LINE, home: HOME }, &response);
            ResponseCase { state, operation, command, report, result, next: line.state }
        })
    })
}
