//! A cache as requester: its processor's operations, and the responses to its own requests. The module `target` has the
//! other half, with the list of races.

use super::cache_line::{CacheContext, CacheLine, CacheState, Operation, Outstanding};
use super::message::{Command, Report, Request, Response};
use crate::{Agent, ProtocolError};

/// Outcome of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Hit: performed without a request.
    Done,
    /// Miss: a transaction has started, with this request.
    Requested(Request),
    /// Blocked by an outstanding transaction on the line: the operation must be repeated afterwards.
    Blocked,
}

/// Progress of a transaction after a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Incomplete: the next request follows.
    Waiting,
    /// Completed, with its operation.
    Completed(Operation),
}

/// Outcome of a response at a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Next request of the transaction; `None` exactly when it is complete.
    pub next: Option<Request>,
    /// Progress of the transaction.
    pub outcome: Outcome,
    /// Whether the request was NACKed: `next` repeats it, or takes another way. A machine may delay a repetition.
    pub nacked: bool,
    /// Whether an element of the list was purged.
    pub purged: bool,
    /// Whether data arrived and were written into the cache.
    pub filled: bool,
}

/// Starts an operation of the processor: a line per pair of operation and state. A store creates the next
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
        // Only the head may write: the element leaves the list, and comes back as its head.
        (Operation::Rollout | Operation::Store, S::MidValid) => (S::MidForwarding, C::NextMid),
        (Operation::Rollout | Operation::Store, S::TailValid) => (S::TailReturning, C::PreviousTail),
        (Operation::Store | Operation::Rollout, _) => return Start::Blocked,
    };
    Start::Requested(send(line, context, operation, state, command))
}

/// Changes to a state of a transaction, and creates the request that it begins with.
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

/// Handles the response to the outstanding request.
///
/// # Errors
/// [`ProtocolError`] if the response cannot reach this line in a correct run.
#[inline]
pub fn receive(line: &mut CacheLine, context: &CacheContext, response: &Response) -> Result<Progress, ProtocolError> {
    use CacheState as S;
    let Some(Outstanding { operation, command }) = line.outstanding else {
        return Err(line.impossible(context, "response", "no request is outstanding"));
    };
    let mut transaction = Transaction { line, context, operation, command, response };
    let next = match transaction.line.state {
        S::Pending
        | S::QueuedFresh
        | S::QueuedJunk
        | S::QueuedDirty
        | S::OnlyFreshToDirty
        | S::HeadFreshToDirty
        | S::HeadDirtyPurging => transaction.join()?,
        S::OnlyFreshReturning
        | S::OnlyDirtyReturning
        | S::OnlyDirtySpinning
        | S::HeadForwarding
        | S::HeadForwardingLast
        | S::HeadReturning
        | S::MidForwarding
        | S::MidReturning
        | S::TailReturning
        | S::ToInvalid => transaction.part()?,
        S::Invalid | S::OnlyFresh | S::OnlyDirty | S::HeadFresh | S::HeadDirty | S::MidValid | S::TailValid => {
            return Err(transaction.line.impossible(context, "response", "no request is outstanding"));
        }
    };
    Ok(Progress {
        next,
        outcome: if next.is_none() { Outcome::Completed(operation) } else { Outcome::Waiting },
        nacked: response.report == Report::Nack,
        purged: matches!(command, Command::FreshInvalid | Command::ValidInvalid)
            && matches!(response.report, Report::Last | Report::Linked),
        filled: response.version.is_some(),
    })
}

/// A transaction whose response has arrived.
struct Transaction<'a> {
    line: &'a mut CacheLine,
    context: &'a CacheContext,
    operation: Operation,
    command: Command,
    response: &'a Response,
}

impl Transaction<'_> {
    /// Handles a response on the way to a copy, or to the right to write it: a line per pair of state and result.
    fn join(&mut self) -> Result<Option<Request>, ProtocolError> {
        use CacheState as S;
        use Command as C;
        use Report as R;
        let stores = self.operation == Operation::Store;
        Ok(match (self.line.state, self.response.report) {
            // Memory has responded, and names this cache as the head.
            (S::Pending, R::Home) if stores => self.complete(S::OnlyDirty),
            (S::Pending, R::Home) => self.complete(S::OnlyFresh),
            (S::Pending, R::Fresh) if stores => self.request_next(S::QueuedDirty, C::FreshInvalid),
            (S::Pending, R::Fresh) => self.request_next(S::QueuedFresh, C::PendValid),
            (S::Pending, R::Gone) => self.request_next(S::QueuedJunk, C::CopyValid),
            // Attach to the old head, or to the element that it names because it is leaving.
            (S::QueuedFresh | S::QueuedJunk, R::Nack) => self.request(self.line.state, self.command),
            (S::QueuedFresh | S::QueuedJunk, R::Returning) => self.request_next(self.line.state, self.command),
            (S::QueuedFresh, R::Last | R::Linked) => self.complete(S::HeadFresh),
            (S::QueuedJunk, R::Last | R::Linked) if stores => self.request(S::HeadDirtyPurging, C::ValidInvalid),
            (S::QueuedJunk, R::Last | R::Linked) => self.complete(S::HeadDirty),
            // Purge one element after the other, beginning with the old head if the copies are fresh.
            (S::QueuedDirty, R::Nack) if self.command == C::FreshInvalid => self.request(S::QueuedDirty, self.command),
            (S::QueuedDirty, R::Returning) if self.command == C::FreshInvalid => {
                self.request_next(S::QueuedDirty, self.command)
            }
            (S::QueuedDirty | S::HeadDirtyPurging, R::Linked) => self.request_next(self.line.state, C::ValidInvalid),
            (S::QueuedDirty | S::HeadDirtyPurging, R::Last) => self.complete(S::OnlyDirty),
            (S::QueuedDirty | S::HeadDirtyPurging, R::Nack) => {
                return Err(self.impossible("an element behind the head can always be purged"));
            }
            // Memory has responded to the request for the right to write. If it names another head, leave, and come
            // back as the head.
            (S::OnlyFreshToDirty, R::Done) => self.complete(S::OnlyDirty),
            (S::OnlyFreshToDirty, R::Nack) => self.request(S::OnlyFreshReturning, C::ListToHome),
            (S::HeadFreshToDirty, R::Done) => self.request(S::HeadDirtyPurging, C::ValidInvalid),
            (S::HeadFreshToDirty, R::Nack) => self.request(S::HeadForwarding, C::NextFreshHead),
            (_, _) => return Err(self.impossible("the response does not match the request")),
        })
    }

    /// Handles a response on the way out of the list: a line per pair of state and result.
    fn part(&mut self) -> Result<Option<Request>, ProtocolError> {
        use CacheState as S;
        use Command as C;
        use Report as R;
        Ok(match (self.line.state, self.response.report) {
            // Only element: the list ends. While memory sends NACKs, a short command without the data polls it.
            (S::OnlyFreshReturning | S::OnlyDirtyReturning, R::Done) => self.leave(),
            (S::OnlyFreshReturning, R::Nack) => self.request(S::OnlyFreshReturning, C::ListToHome),
            (S::OnlyDirtyReturning, R::Nack) => self.request(S::OnlyDirtySpinning, C::ListToGone),
            (S::OnlyDirtySpinning, R::Nack) => self.request(S::OnlyDirtySpinning, C::ListToGone),
            (S::OnlyDirtySpinning, R::Done) => self.request(S::OnlyDirtyReturning, C::ListToHome),
            // Head: first the request to the next element, then the one to memory.
            (S::HeadForwarding, R::Nack) => self.request(S::HeadForwarding, self.command),
            (S::HeadForwarding, R::Done) => self.request(S::HeadReturning, C::PassHead),
            (S::HeadForwardingLast, R::Nack) if self.command == C::NextFreshHead => {
                self.request(S::OnlyFreshReturning, C::ListToHome)
            }
            (S::HeadForwardingLast, R::Nack) => self.request(S::OnlyDirtyReturning, C::ListToHome),
            (S::HeadReturning, R::Nack) => self.request(S::HeadReturning, C::PassHead),
            (S::HeadReturning, R::Done) => self.leave(),
            // Middle: first the request to the element behind, then the one to the element before.
            (S::MidForwarding, R::Nack) => self.request(S::MidForwarding, C::NextMid),
            (S::MidForwarding, R::Done) => self.request(S::MidReturning, C::PreviousMid),
            (S::MidReturning, R::Nack) => self.request(S::MidReturning, C::PreviousMid),
            (S::MidReturning, R::Done) => self.leave(),
            // Tail. An element that became the tail during another request has yet to send this one.
            (S::TailReturning, R::Done) if self.command == C::PreviousTail => self.leave(),
            (S::TailReturning, R::Done) if self.command == C::ListToGone => {
                self.request(S::TailReturning, C::PreviousTail)
            }
            (S::TailReturning, R::Done) => {
                return Err(self.impossible("memory names a newcomer as the head, or the element behind has left"));
            }
            (S::TailReturning, R::Nack) => self.request(S::TailReturning, C::PreviousTail),
            // Purged, or replaced as head by a newcomer: the response has no effect any more.
            (S::ToInvalid, R::Done | R::Nack) => self.leave(),
            (_, _) => return Err(self.impossible("the response does not match the request")),
        })
    }

    /// Creates the next request, to the neighbours that the line names.
    fn request(&mut self, state: CacheState, command: Command) -> Option<Request> {
        self.fill();
        Some(send(self.line, self.context, self.operation, state, command))
    }

    /// Creates the next request, to the list element that the response names.
    fn request_next(&mut self, state: CacheState, command: Command) -> Option<Request> {
        self.line.forward = self.response.pointer;
        self.request(state, command)
    }

    /// Completes the transaction: the copy is present, and the operation is performed.
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

    /// Leaves the list: for good, or to come back as a writer.
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
            Report::Nack => "NACK",
            _ => "response",
        };
        self.line.impossible(self.context, message, reason)
    }
}
