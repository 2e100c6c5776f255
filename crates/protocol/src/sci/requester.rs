//! A cache as the one that asks: its processor's operations, and the responses to its own requests. The other half, with the
//! list of races, is in `target`.

use super::cache_line::{CacheContext, CacheLine, CacheState, Operation, Outstanding};
use super::message::{Command, Report, Request, Response};
use crate::{Agent, ProtocolError};

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
    /// The request was nullified: `next` repeats it, or goes another way. A machine may hold a repetition back for a while.
    pub nullified: bool,
    /// An element of the list has been purged.
    pub purged: bool,
    /// Data have come and been written into the cache.
    pub filled: bool,
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

/// Handles the response to the outstanding request.
///
/// # Errors
/// [`ProtocolError`] if the response cannot reach this line in a faithful run.
#[inline]
pub fn receive(line: &mut CacheLine, context: &CacheContext, response: &Response) -> Result<Progress, ProtocolError> {
    use CacheState as S;
    let Some(Outstanding { operation, command }) = line.outstanding else {
        return Err(line.impossible(context, "response", "nothing has been asked"));
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
            return Err(transaction.line.impossible(context, "response", "nothing has been asked"));
        }
    };
    Ok(Progress {
        next,
        outcome: if next.is_none() { Outcome::Completed(operation) } else { Outcome::Waiting },
        nullified: response.report == Report::Nullified,
        purged: matches!(command, Command::FreshInvalid | Command::ValidInvalid)
            && matches!(response.report, Report::Last | Report::Linked),
        filled: response.version.is_some(),
    })
}

/// A transaction whose response has come.
struct Transaction<'a> {
    line: &'a mut CacheLine,
    context: &'a CacheContext,
    operation: Operation,
    command: Command,
    response: &'a Response,
}

impl Transaction<'_> {
    /// Towards a copy, or towards the right to write it: a line per pair of state and report.
    fn join(&mut self) -> Result<Option<Request>, ProtocolError> {
        use CacheState as S;
        use Command as C;
        use Report as R;
        let stores = self.operation == Operation::Store;
        Ok(match (self.line.state, self.response.report) {
            // Memory has answered, and we are the head in its eyes.
            (S::Pending, R::Home) if stores => self.complete(S::OnlyDirty),
            (S::Pending, R::Home) => self.complete(S::OnlyFresh),
            (S::Pending, R::Fresh) if stores => self.ask_next(S::QueuedDirty, C::FreshInvalid),
            (S::Pending, R::Fresh) => self.ask_next(S::QueuedFresh, C::PendValid),
            (S::Pending, R::Gone) => self.ask_next(S::QueuedJunk, C::CopyValid),
            // Attach to the old head, or to the one that it names because it has left.
            (S::QueuedFresh | S::QueuedJunk, R::Nullified) => self.ask(self.line.state, self.command),
            (S::QueuedFresh | S::QueuedJunk, R::Returning) => self.ask_next(self.line.state, self.command),
            (S::QueuedFresh, R::Last | R::Linked) => self.complete(S::HeadFresh),
            (S::QueuedJunk, R::Last | R::Linked) if stores => self.ask(S::HeadDirtyPurging, C::ValidInvalid),
            (S::QueuedJunk, R::Last | R::Linked) => self.complete(S::HeadDirty),
            // Purge one element after the other, beginning with the old head if the copies are fresh.
            (S::QueuedDirty, R::Nullified) if self.command == C::FreshInvalid => self.ask(S::QueuedDirty, self.command),
            (S::QueuedDirty, R::Returning) if self.command == C::FreshInvalid => {
                self.ask_next(S::QueuedDirty, self.command)
            }
            (S::QueuedDirty | S::HeadDirtyPurging, R::Linked) => self.ask_next(self.line.state, C::ValidInvalid),
            (S::QueuedDirty | S::HeadDirtyPurging, R::Last) => self.complete(S::OnlyDirty),
            (S::QueuedDirty | S::HeadDirtyPurging, R::Nullified) => {
                return Err(self.impossible("nothing keeps an element behind the head from being purged"));
            }
            // Tell memory of the write. If it names another head, leave and come back as the head.
            (S::OnlyFreshToDirty, R::Done) => self.complete(S::OnlyDirty),
            (S::OnlyFreshToDirty, R::Nullified) => self.ask(S::OnlyFreshReturning, C::ListToHome),
            (S::HeadFreshToDirty, R::Done) => self.ask(S::HeadDirtyPurging, C::ValidInvalid),
            (S::HeadFreshToDirty, R::Nullified) => self.ask(S::HeadForwarding, C::NextFreshHead),
            (_, _) => return Err(self.impossible("not a response to what was asked")),
        })
    }

    /// Out of the list: a line per pair of state and report.
    fn part(&mut self) -> Result<Option<Request>, ProtocolError> {
        use CacheState as S;
        use Command as C;
        use Report as R;
        Ok(match (self.line.state, self.response.report) {
            // Alone: the list ends. While memory refuses, a short command asks how things stand, without the data.
            (S::OnlyFreshReturning | S::OnlyDirtyReturning, R::Done) => self.leave(),
            (S::OnlyFreshReturning, R::Nullified) => self.ask(S::OnlyFreshReturning, C::ListToHome),
            (S::OnlyDirtyReturning, R::Nullified) => self.ask(S::OnlyDirtySpinning, C::ListToGone),
            (S::OnlyDirtySpinning, R::Nullified) => self.ask(S::OnlyDirtySpinning, C::ListToGone),
            (S::OnlyDirtySpinning, R::Done) => self.ask(S::OnlyDirtyReturning, C::ListToHome),
            // At the head: first the next element learns of it, then memory.
            (S::HeadForwarding, R::Nullified) => self.ask(S::HeadForwarding, self.command),
            (S::HeadForwarding, R::Done) => self.ask(S::HeadReturning, C::PassHead),
            (S::HeadForwardingLast, R::Nullified) if self.command == C::NextFreshHead => {
                self.ask(S::OnlyFreshReturning, C::ListToHome)
            }
            (S::HeadForwardingLast, R::Nullified) => self.ask(S::OnlyDirtyReturning, C::ListToHome),
            (S::HeadReturning, R::Nullified) => self.ask(S::HeadReturning, C::PassHead),
            (S::HeadReturning, R::Done) => self.leave(),
            // In the middle: first the element behind learns of it, then the element before.
            (S::MidForwarding, R::Nullified) => self.ask(S::MidForwarding, C::NextMid),
            (S::MidForwarding, R::Done) => self.ask(S::MidReturning, C::PreviousMid),
            (S::MidReturning, R::Nullified) => self.ask(S::MidReturning, C::PreviousMid),
            (S::MidReturning, R::Done) => self.leave(),
            // At the tail. Who has become the tail while it asked for something else has yet to ask for this.
            (S::TailReturning, R::Done) if self.command == C::PreviousTail => self.leave(),
            (S::TailReturning, R::Done) if self.command == C::ListToGone => self.ask(S::TailReturning, C::PreviousTail),
            (S::TailReturning, R::Done) => {
                return Err(self.impossible("memory names a newcomer as the head, or the element behind has left"));
            }
            (S::TailReturning, R::Nullified) => self.ask(S::TailReturning, C::PreviousTail),
            // Purged, or relieved by a newcomer: the answer does not matter any more.
            (S::ToInvalid, R::Done | R::Nullified) => self.leave(),
            (_, _) => return Err(self.impossible("not a response to what was asked")),
        })
    }

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
        self.line.impossible(self.context, message, reason)
    }
}
