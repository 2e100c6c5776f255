//! A cache's side of SCI: what it does with its processor's operations, with the responses to its own requests, and with the
//! requests of its neighbours in the list and of those who are about to join it.
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

use super::cache_line::{CacheContext, CacheLine, CacheState, Operation, Outstanding};
use super::message::{Command, Report, Request, Response};
use crate::{Agent, ProtocolError, Version};

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Done: the cache could do it by itself.
    Done,
    /// A transaction has begun, with this request.
    Requested(Request),
    /// A transaction is outstanding on the line: try again after it is done.
    Blocked,
}

/// How far a response has brought a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It goes on, with the next request.
    Waiting,
    /// It is done, and the operation with it.
    Completed(Operation),
}

/// What a response did at a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The transaction's next request; `None` exactly when it is complete.
    pub next: Option<Request>,
    /// How far the transaction is.
    pub outcome: Outcome,
    /// The request was nullified: `next` repeats it, or goes another way.
    pub nullified: bool,
    /// An element of the list has been purged.
    pub purged: bool,
    /// Data have come and been written into the cache.
    pub filled: bool,
}

/// What a request of another cache took, for the machine to price.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ServeWork {
    /// The request was refused: only the tag was read.
    pub nullified: bool,
    /// The line was read from the cache and sent.
    pub data_read: bool,
    /// State or pointers changed.
    pub tag_write: bool,
}

/// Begins an operation of the processor: a line per pair of operation and state. A store makes the next
/// [`crate::Version`].
#[inline]
pub fn start(line: &mut CacheLine, context: &CacheContext, operation: Operation) -> Start {
    use CacheState as S;
    use Command as C;
    if !line.state.is_stable() {
        return Start::Blocked;
    }
    let (state, command) = match (operation, line.state) {
        (Operation::Load, S::Invalid) => (S::Pending, C::CacheFresh),
        (Operation::Load, _) | (Operation::Rollout, S::Invalid) => return Start::Done,
        (Operation::Store, S::Invalid) => (S::Pending, C::CacheDirty),
        (Operation::Store, S::OnlyDirty) => {
            line.version = line.version.next();
            return Start::Done;
        }
        (Operation::Store, S::OnlyFresh) => (S::OnlyFreshToDirty, C::ListToGone),
        (Operation::Store, S::HeadFresh) => (S::HeadFreshToDirty, C::ListToGone),
        (Operation::Store, S::HeadDirty) => (S::HeadDirtyPurging, C::ValidInvalid),
        (Operation::Rollout, S::OnlyFresh) => (S::OnlyFreshReturning, C::ListToHome),
        (Operation::Rollout, S::OnlyDirty) => (S::OnlyDirtyReturning, C::ListToHome),
        (Operation::Rollout, S::HeadFresh) => (S::HeadForwarding, C::NextFreshHead),
        (Operation::Rollout, S::HeadDirty) => (S::HeadForwarding, C::NextDirtyHead),
        // Only the head may write: leave the list, and come back at its head.
        (Operation::Rollout | Operation::Store, S::MidValid) => (S::MidForwarding, C::NextMid),
        (Operation::Rollout | Operation::Store, S::TailValid) => (S::TailReturning, C::PreviousTail),
        (Operation::Store | Operation::Rollout, _) => return Start::Blocked,
    };
    Start::Requested(send(line, context, operation, state, command))
}

/// Goes to a state of a transaction and asks what it takes next.
fn send(
    line: &mut CacheLine,
    context: &CacheContext,
    operation: Operation,
    state: CacheState,
    command: Command,
) -> Request {
    line.state = state;
    line.outstanding = Some(Outstanding { operation, command });
    let (to, pointer) = match command {
        Command::PassHead => (None, line.forward),
        Command::NextMid => (line.forward, line.backward),
        Command::PreviousMid => (line.backward, line.forward),
        Command::PreviousTail => (line.backward, None),
        Command::PendValid
        | Command::CopyValid
        | Command::FreshInvalid
        | Command::ValidInvalid
        | Command::NextFreshHead
        | Command::NextDirtyHead => (line.forward, None),
        Command::CacheFresh | Command::CacheDirty | Command::ListToGone | Command::ListToHome => (None, None),
    };
    Request {
        line: context.line,
        to: to.map_or(Agent::Home(context.home), Agent::Processor),
        source: context.cpu,
        command,
        pointer,
        version: (state == CacheState::OnlyDirtyReturning).then_some(line.version),
    }
}

/// Handles the response to the outstanding request: a line per pair of state and report.
///
/// # Errors
/// [`ProtocolError`] if the response cannot reach this line in a faithful run.
#[inline]
pub fn receive(line: &mut CacheLine, context: &CacheContext, response: &Response) -> Result<Progress, ProtocolError> {
    use CacheState as S;
    use Command as C;
    use Report as R;
    let Some(Outstanding { operation, command }) = line.outstanding else {
        return Err(impossible(line, context, "response", "nothing has been asked"));
    };
    let stores = operation == Operation::Store;
    let mut transaction = Transaction { line, context, operation, response };
    let next = match (transaction.line.state, response.report) {
        // Memory has answered, and we are the head in its eyes.
        (S::Pending, R::Home) if stores => transaction.complete(S::OnlyDirty),
        (S::Pending, R::Home) => transaction.complete(S::OnlyFresh),
        (S::Pending, R::Fresh) if stores => transaction.ask_next(S::QueuedDirty, C::FreshInvalid),
        (S::Pending, R::Fresh) => transaction.ask_next(S::QueuedFresh, C::PendValid),
        (S::Pending, R::Gone) => transaction.ask_next(S::QueuedJunk, C::CopyValid),
        // Attach to the old head, or purge it; or turn to the one that it names because it has left.
        (S::QueuedFresh | S::QueuedJunk, R::Returning) => transaction.ask_next(transaction.line.state, command),
        (S::QueuedDirty, R::Returning) if command == C::FreshInvalid => {
            transaction.ask_next(S::QueuedDirty, C::FreshInvalid)
        }
        (S::QueuedFresh, R::Last | R::Linked) => transaction.complete(S::HeadFresh),
        (S::QueuedJunk, R::Last | R::Linked) if stores => transaction.ask(S::HeadDirtyPurging, C::ValidInvalid),
        (S::QueuedJunk, R::Last | R::Linked) => transaction.complete(S::HeadDirty),
        // Purge one element after the other.
        (S::QueuedDirty | S::HeadDirtyPurging, R::Linked) => {
            transaction.ask_next(transaction.line.state, C::ValidInvalid)
        }
        (S::QueuedDirty | S::HeadDirtyPurging, R::Last) => transaction.complete(S::OnlyDirty),
        // Memory knows of the write, unless it names another head.
        (S::OnlyFreshToDirty, R::Done) => transaction.complete(S::OnlyDirty),
        (S::OnlyFreshToDirty, R::Nullified) => transaction.ask(S::OnlyFreshReturning, C::ListToHome),
        (S::HeadFreshToDirty, R::Done) => transaction.ask(S::HeadDirtyPurging, C::ValidInvalid),
        (S::HeadFreshToDirty, R::Nullified) => transaction.ask(S::HeadForwarding, C::NextFreshHead),
        // Leave an empty list. While memory refuses, a short command without the data asks how it stands.
        (S::OnlyFreshReturning | S::OnlyDirtyReturning, R::Done) => transaction.leave(),
        (S::OnlyDirtyReturning, R::Nullified) => transaction.ask(S::OnlyDirtySpinning, C::ListToGone),
        (S::OnlyDirtySpinning, R::Done) => transaction.ask(S::OnlyDirtyReturning, C::ListToHome),
        // Leave the head: first the next element learns of it, then memory.
        (S::HeadForwarding, R::Done) => transaction.ask(S::HeadReturning, C::PassHead),
        (S::HeadForwardingLast, R::Nullified) if command == C::NextFreshHead => {
            transaction.ask(S::OnlyFreshReturning, C::ListToHome)
        }
        (S::HeadForwardingLast, R::Nullified) => transaction.ask(S::OnlyDirtyReturning, C::ListToHome),
        (S::HeadReturning, R::Done) => transaction.leave(),
        // Leave the middle: first the element behind learns of it, then the element before.
        (S::MidForwarding, R::Done) => transaction.ask(S::MidReturning, C::PreviousMid),
        (S::MidReturning, R::Done) => transaction.leave(),
        // Leave the tail. Who has become the tail while it asked for something else has not asked for this yet.
        (S::TailReturning, R::Done) if command == C::PreviousTail => transaction.leave(),
        (S::TailReturning, R::Done) if command == C::ListToGone => transaction.ask(S::TailReturning, C::PreviousTail),
        (S::TailReturning, R::Done) => {
            return Err(transaction.impossible("memory names a newcomer as the head, or the element behind has left"));
        }
        (S::TailReturning, R::Nullified) => transaction.ask(S::TailReturning, C::PreviousTail),
        // Purged, or relieved by a newcomer: the answer does not matter any more.
        (S::ToInvalid, R::Done | R::Nullified) => transaction.leave(),
        // Whoever could not do it will be able to.
        (
            S::QueuedFresh
            | S::QueuedJunk
            | S::OnlyFreshReturning
            | S::OnlyDirtySpinning
            | S::HeadForwarding
            | S::HeadReturning
            | S::MidForwarding
            | S::MidReturning,
            R::Nullified,
        ) => transaction.ask(transaction.line.state, command),
        (S::QueuedDirty, R::Nullified) if command == C::FreshInvalid => transaction.ask(S::QueuedDirty, command),
        (S::QueuedDirty | S::HeadDirtyPurging, R::Nullified) => {
            return Err(transaction.impossible("nothing keeps an element behind the head from being purged"));
        }
        (_, _) => return Err(transaction.impossible("not a response to what was asked")),
    };
    Ok(Progress {
        next,
        outcome: if next.is_none() { Outcome::Completed(operation) } else { Outcome::Waiting },
        nullified: response.report == R::Nullified,
        purged: matches!(command, C::FreshInvalid | C::ValidInvalid) && matches!(response.report, R::Last | R::Linked),
        filled: response.version.is_some(),
    })
}

/// A transaction whose response has come.
struct Transaction<'a> {
    line: &'a mut CacheLine,
    context: &'a CacheContext,
    operation: Operation,
    response: &'a Response,
}

impl Transaction<'_> {
    /// The next request, of the neighbours that the line names.
    fn ask(&mut self, state: CacheState, command: Command) -> Option<Request> {
        self.fill();
        Some(send(self.line, self.context, self.operation, state, command))
    }

    /// The next request, of the list element that the response names.
    fn ask_next(&mut self, state: CacheState, command: Command) -> Option<Request> {
        self.line.forward = self.response.pointer;
        self.ask(state, command)
    }

    /// The transaction is over, and a copy is here: perform the operation.
    fn complete(&mut self, state: CacheState) -> Option<Request> {
        self.fill();
        self.line.state = state;
        self.line.outstanding = None;
        if self.operation == Operation::Store {
            self.line.version = self.line.version.next();
        }
        if matches!(state, CacheState::OnlyFresh | CacheState::OnlyDirty) {
            self.line.forward = None;
        }
        None
    }

    /// The line is out of the list: for good, or to come back as a writer.
    fn leave(&mut self) -> Option<Request> {
        *self.line = CacheLine::default();
        match self.operation {
            Operation::Store => {
                Some(send(self.line, self.context, self.operation, CacheState::Pending, Command::CacheDirty))
            }
            Operation::Load | Operation::Rollout => None,
        }
    }

    fn fill(&mut self) {
        self.line.version = self.response.version.unwrap_or(self.line.version);
    }

    fn impossible(&self, reason: &'static str) -> ProtocolError {
        let message = match self.response.report {
            Report::Nullified => "nullified response",
            _ => "response",
        };
        impossible(self.line, self.context, message, reason)
    }
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
    let report = answer.map_err(|reason| impossible(&before, context, request.command.mnemonic(), reason))?;
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

#[cold]
fn impossible(line: &CacheLine, context: &CacheContext, message: &'static str, reason: &'static str) -> ProtocolError {
    ProtocolError { at: Agent::Processor(context.cpu), message, state: line.state.mnemonic(), reason }
}
