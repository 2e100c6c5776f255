//! Faults to be planted in SCI, each in one rule of the protocol: the checker must find every one of them.

use protocol::Version;
use protocol::sci::{CacheLine, CacheState, Command, MemoryLine, MemoryState, Operation, Report, Request, Response};

use crate::model::Property;

macro_rules! mutations {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $property:ident; )*) => {
        /// A fault in one rule of the protocol.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Mutation { $( $(#[$doc])* $name, )* }

        impl Mutation {
            /// Every fault: its name and the property that it breaks first.
            pub const ALL: &'static [(&'static str, Property)] = &[$( ($text, Property::$property), )*];

            /// The fault of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $( $text => Some(Self::$name), )* _ => None }
            }
        }
    };
}

mutations! {
    /// Memory names a new reader the old head, and forgets to name it the head.
    ForgetNewHead = "forget-new-head", DirectoryAgreement;
    /// Memory lets a cache pass the head that is not the head any more.
    PassHeadBlindly = "pass-head-blindly", ExpectedMessage;
    /// Memory lets a cache write fresh copies that is not the head any more.
    WriteBlindly = "write-blindly", ExpectedMessage;
    /// Memory lets a list end although a newcomer is about to attach.
    EndListBlindly = "end-list-blindly", ExpectedMessage;
    /// A dirty line comes back and memory does not take it.
    DropReturnedData = "drop-returned-data", DirectoryAgreement;
    /// An old head keeps its state when another cache attaches.
    StayHead = "stay-head", DirectoryAgreement;
    /// An old head does not note who is before it.
    ForgetBackward = "forget-backward", DirectoryAgreement;
    /// An element grants that the one before it leaves, and does not note who is before it now.
    KeepBackward = "keep-backward", ExpectedMessage;
    /// An element grants that the one behind it leaves, and does not note who is behind it now.
    KeepForward = "keep-forward", DirectoryAgreement;
    /// A head that leaves does not notice that it has become the only element.
    MissCollapse = "miss-collapse", ExpectedMessage;
    /// An element confirms that it is purged, and keeps its copy.
    KeepPurgedCopy = "keep-purged-copy", LatestValue;
    /// The head purges the first element behind it, and no other.
    PurgeFirstOnly = "purge-first-only", LatestValue;
    /// An element that leaves is purged, and goes on leaving as if it was not.
    LeaveAlthoughPurged = "leave-although-purged", ExpectedMessage;
    /// The tail leaves without telling the element before.
    LeaveTailSilently = "leave-tail-silently", DirectoryAgreement;
    /// An element in the middle tells the element behind that it leaves, and not the one before.
    LeaveMidHalfTold = "leave-mid-half-told", DirectoryAgreement;
    /// An element that leaves refuses the element behind it too: neighbours refuse each other.
    NoTailPriority = "no-tail-priority", EventualCompletion;
    /// An element that leaves grants the element before it too: both go.
    HeadPriority = "head-priority", ExpectedMessage;
    /// A head that has passed the head on refuses newcomers, and memory refuses it.
    NackNewcomers = "nack-newcomers", EventualCompletion;
    /// A dirty head that leaves makes the next element a fresh head.
    ForgetDirty = "forget-dirty", DirectoryAgreement;
    /// A head that attaches another cache sends data older than its own.
    SupplyOldData = "supply-old-data", LatestValue;
}

impl Mutation {
    /// What a fault in memory makes of the line and the response.
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

    /// What a fault in a cache makes of its line and its response; `before` is the line as it was.
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

    /// What a fault makes of a response before its receiver looks at it.
    pub(super) fn on_the_way(self, receiver: &CacheLine, response: &mut Response) {
        let purging = matches!(receiver.state, CacheState::HeadDirtyPurging | CacheState::QueuedDirty);
        if self == Self::PurgeFirstOnly && purging && response.report == Report::Linked {
            *response = Response { report: Report::Last, pointer: None, ..*response };
        }
    }

    /// Whether a fault makes a cache that wants room give up here, its neighbours not told.
    pub(super) fn gives_up(self, line: &CacheLine) -> bool {
        let makes_room = line.outstanding.is_some_and(|outstanding| outstanding.operation == Operation::Rollout);
        let told_enough = match self {
            Self::LeaveTailSilently => line.state == CacheState::TailReturning,
            Self::LeaveMidHalfTold => line.state == CacheState::MidReturning,
            _ => false,
        };
        makes_room && told_enough
    }
}
