//! Planted faults of SCI, each in one rule of the protocol: the checker must find all of them.

use protocol::Version;
use protocol::sci::{CacheLine, CacheState, Command, MemoryLine, MemoryState, Operation, Report, Request, Response};

use crate::model::Property;

macro_rules! mutations {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $property:ident; )*) => {
        /// A fault in one rule of the protocol.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Mutation { $( $(#[$doc])* $name, )* }

        impl Mutation {
            /// Every fault: its name and the property that it violates first.
            pub const ALL: &'static [(&'static str, Property)] = &[$( ($text, Property::$property), )*];

            /// Fault of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $( $text => Some(Self::$name), )* _ => None }
            }
        }
    };
}

mutations! {
    /// Memory returns the old head to a new reader, and does not make the reader the head.
    ForgetNewHead = "forget-new-head", DirectoryAgreement;
    /// Memory accepts a change of head from a cache that is no longer the head.
    PassHeadBlindly = "pass-head-blindly", ExpectedMessage;
    /// Memory grants the right to write fresh copies to a cache that is no longer the head.
    WriteBlindly = "write-blindly", ExpectedMessage;
    /// Memory ends a list although a newcomer is about to attach.
    EndListBlindly = "end-list-blindly", ExpectedMessage;
    /// Memory ignores the data of a dirty line that returns.
    DropReturnedData = "drop-returned-data", DirectoryAgreement;
    /// An old head keeps its state when another cache attaches.
    StayHead = "stay-head", DirectoryAgreement;
    /// An old head does not record the element before it.
    ForgetBackward = "forget-backward", DirectoryAgreement;
    /// An element grants the departure of the element before it, and does not record the new element before it.
    KeepBackward = "keep-backward", ExpectedMessage;
    /// An element grants the departure of the element behind it, and does not record the new element behind it.
    KeepForward = "keep-forward", DirectoryAgreement;
    /// A departing head ignores that it has become the only element.
    MissCollapse = "miss-collapse", ExpectedMessage;
    /// An element responds to its purge, and keeps its copy.
    KeepPurgedCopy = "keep-purged-copy", LatestValue;
    /// The head purges the first element behind it, and no other.
    PurgeFirstOnly = "purge-first-only", LatestValue;
    /// A leaving element is purged, and continues to leave as if it had not been.
    LeaveAlthoughPurged = "leave-although-purged", ExpectedMessage;
    /// The tail leaves without a request to the element before it.
    LeaveTailSilently = "leave-tail-silently", DirectoryAgreement;
    /// An element in the middle leaves with a request to the element behind it, and none to the element before it.
    LeaveMidHalfway = "leave-mid-halfway", DirectoryAgreement;
    /// A leaving element NACKs the element behind it too: neighbours NACK each other.
    NoTailPriority = "no-tail-priority", EventualCompletion;
    /// A leaving element grants the element before it too: both leave.
    HeadPriority = "head-priority", ExpectedMessage;
    /// A head that has passed the head on NACKs newcomers, and memory NACKs it.
    NackNewcomers = "nack-newcomers", EventualCompletion;
    /// A dirty head that leaves makes the next element a fresh head.
    ForgetDirty = "forget-dirty", DirectoryAgreement;
    /// A head that attaches another cache sends data older than its own.
    SupplyOldData = "supply-old-data", LatestValue;
}

impl Mutation {
    /// Applies a fault in memory to the line and the response.
    pub(super) fn at_memory(self, line: &mut MemoryLine, request: &Request, response: &mut Response) {
        let nacked = response.report == Report::Nack;
        match (self, request.command) {
            (Self::ForgetNewHead, Command::CacheFresh) if response.report == Report::Fresh => {
                line.head = response.pointer;
            }
            (Self::PassHeadBlindly, Command::PassHead) if nacked => {
                line.head = request.pointer;
                response.report = Report::Done;
            }
            (Self::WriteBlindly, Command::ListToGone) if nacked => {
                line.state = MemoryState::Gone;
                response.report = Report::Done;
            }
            (Self::EndListBlindly, Command::ListToHome) if nacked => {
                let version = request.version.unwrap_or(line.version);
                *line = MemoryLine { version, ..MemoryLine::default() };
                response.report = Report::Done;
            }
            (Self::DropReturnedData, Command::ListToHome) if !nacked && request.version.is_some() => {
                line.version = Version(0);
            }
            _ => {}
        }
    }

    /// Applies a fault in a cache to its line and its response; `before` is the line before.
    pub(super) fn at_cache(self, before: &CacheLine, line: &mut CacheLine, request: &Request, response: &mut Response) {
        use CacheState as S;
        let attached = matches!(request.command, Command::PendValid | Command::CopyValid)
            && matches!(response.report, Report::Last | Report::Linked);
        match (self, request.command) {
            (Self::StayHead, _) if attached && before.state.is_stable() => line.state = before.state,
            (Self::ForgetBackward, _) if attached => line.backward = None,
            (Self::SupplyOldData, Command::CopyValid) if attached => response.version = Some(Version(0)),
            (Self::KeepPurgedCopy, Command::ValidInvalid) if before.state.is_stable() => *line = *before,
            (Self::LeaveAlthoughPurged, Command::ValidInvalid) if !before.state.is_stable() => *line = *before,
            (Self::KeepBackward, Command::NextMid) => line.backward = before.backward,
            (Self::KeepForward, Command::PreviousMid) => line.forward = before.forward,
            (Self::MissCollapse, Command::PreviousTail) if before.state == S::HeadForwarding => {
                line.state = before.state;
            }
            (Self::NoTailPriority, Command::PreviousMid | Command::PreviousTail)
                if matches!(before.state, S::MidForwarding | S::HeadForwarding) =>
            {
                *line = *before;
                response.report = Report::Nack;
            }
            (Self::HeadPriority, Command::NextMid)
                if matches!(before.state, S::MidReturning | S::TailReturning)
                    && before.backward == Some(request.source) =>
            {
                line.backward = request.pointer;
                response.report = Report::Done;
            }
            (Self::NackNewcomers, _) if before.state == S::HeadReturning => {
                *line = *before;
                *response = Response::to(request, Report::Nack);
            }
            (Self::ForgetDirty, Command::NextDirtyHead) => {
                line.state = match line.state {
                    S::OnlyDirty => S::OnlyFresh,
                    S::HeadDirty => S::HeadFresh,
                    other => other,
                };
            }
            _ => {}
        }
    }

    /// Applies a fault to a response before it arrives.
    pub(super) fn on_the_way(self, receiver: &CacheLine, response: &mut Response) {
        let purging = matches!(receiver.state, CacheState::HeadDirtyPurging | CacheState::QueuedDirty);
        if self == Self::PurgeFirstOnly && purging && response.report == Report::Linked {
            *response = Response { report: Report::Last, pointer: None, ..*response };
        }
    }

    /// Whether a fault ends a replacement here, before the requests to the neighbours are complete.
    pub(super) fn gives_up(self, line: &CacheLine) -> bool {
        let makes_room = line.outstanding.is_some_and(|outstanding| outstanding.operation == Operation::Rollout);
        let ends_here = match self {
            Self::LeaveTailSilently => line.state == CacheState::TailReturning,
            Self::LeaveMidHalfway => line.state == CacheState::MidReturning,
            _ => false,
        };
        makes_room && ends_here
    }
}
