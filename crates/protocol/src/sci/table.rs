//! SCI's transition tables, read off the handlers themselves: what documentation prints cannot differ from what runs.

use units::{CpuId, LineAddr, NodeId};

use super::cache::{ServeWork, serve};
use super::cache_line::{CacheContext, CacheLine, CacheState};
use super::memory::{MemoryLine, MemoryState, MemoryWork, memory};
use super::message::{Command, Request, Response};
use crate::{Agent, ProtocolError, Version};

const ME: CpuId = CpuId(0);
const OTHER: CpuId = CpuId(1);
const BEFORE: CpuId = CpuId(2);
const BEHIND: CpuId = CpuId(3);
const HOME: NodeId = NodeId(0);
const LINE: LineAddr = LineAddr(0);

/// One cell of memory's table: a command from one cache ("me") meets a line.
#[derive(Clone, Debug)]
pub struct MemoryCase {
    /// The line before, as the sender sees it.
    pub situation: &'static str,
    /// The command.
    pub command: Command,
    /// The response and what it took, or why this cannot happen.
    pub result: Result<(Response, MemoryWork), ProtocolError>,
    /// The line after.
    pub next: MemoryLine,
}

/// Memory's table.
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

/// One cell of a cache's table: a command meets a line. `NEXT` commands come from the element before and `PREV` commands from
/// the one behind; from anyone else they are nullified in every state.
#[derive(Clone, Debug)]
pub struct CacheCase {
    /// The state before.
    pub state: CacheState,
    /// The command.
    pub command: Command,
    /// The response and what it took, or why this cannot happen.
    pub result: Result<(Response, ServeWork), ProtocolError>,
    /// The state after.
    pub next: CacheState,
}

/// A cache's table, as the target of requests.
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
