//! The packets of SCI's coherence protocol: a request from a cache, a response to it.

use units::{CpuId, LineAddr};

use crate::{Agent, Version};

macro_rules! commands {
    ($( $(#[$doc:meta])* $name:ident = $mnemonic:literal, $memory:literal; )*) => {
        /// What a request asks. Names are those of IEEE 1596-1992.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Command { $( $(#[$doc])* #[doc = concat!(" Mnemonic `", $mnemonic, "`.")] $name, )* }

        impl Command {
            /// Every command, in order.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The standard's name.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Self::$name => $mnemonic, )* }
            }

            /// Whether it is for memory; if not, it is for a cache.
            pub const fn is_for_memory(self) -> bool {
                match self { $( Self::$name => $memory, )* }
            }
        }
    };
}

commands! {
    /// A copy to read; the requester becomes the head of the list.
    CacheFresh = "CACHE_FRESH", true;
    /// A copy to be written at once; the requester becomes the head of the list.
    CacheDirty = "CACHE_DIRTY", true;
    /// The head of a fresh list wants to write: memory's copy is good no longer.
    ListToGone = "LIST_TO_GONE", true;
    /// The only element leaves; carries the line if it is dirty.
    ListToHome = "LIST_TO_HOME", true;
    /// The head leaves, and `pointer` is the head now.
    PassHead = "PASS_HEAD", true;

    /// To the old head: the requester attaches itself before it (and has the data already).
    PendValid = "PEND_VALID", false;
    /// To the old head: the requester attaches itself before it and needs the data.
    CopyValid = "COPY_VALID", false;
    /// To the head of a fresh list: the requester is about to write; drop the copy.
    FreshInvalid = "FRESH_INVALID", false;
    /// To an element behind the head: the head is about to write; drop the copy.
    ValidInvalid = "VALID_INVALID", false;
    /// From the head of a fresh list, which leaves: the head is you.
    NextFreshHead = "NEXT_FHEAD", false;
    /// From the head of a dirty list, which leaves: the head is you, and the data are yours to write back.
    NextDirtyHead = "NEXT_DHEAD", false;
    /// From the element before, which leaves: the element before you is `pointer`.
    NextMid = "NEXT_VMID", false;
    /// From the element behind, which leaves: the element behind you is `pointer`.
    PreviousMid = "PREV_VMID", false;
    /// From the element behind, which leaves and is the last: nobody is behind you.
    PreviousTail = "PREV_VTAIL", false;
}

/// A request. It is answered by exactly one [`Response`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// The line it is about.
    pub line: LineAddr,
    /// Whom it is for: the line's memory or a cache.
    pub to: Agent,
    /// The cache that sent it, and gets the response.
    pub source: CpuId,
    /// What it asks.
    pub command: Command,
    /// The list element that it names (`PASS_HEAD`, `NEXT_VMID`, `PREV_VMID`): the standard's `newId`.
    pub pointer: Option<CpuId>,
    /// The line's contents, if it carries them (`LIST_TO_HOME` of a dirty line).
    pub version: Option<Version>,
}

/// What a response says about the state in which the request found its target. (The standard returns that state itself; this is
/// as much of it as anybody asks for.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Report {
    /// The request could not be done, and nothing has changed: ask again.
    Nullified,
    /// Done; there is nothing to report.
    Done,
    /// Memory: nobody had a copy. Carries the data.
    Home,
    /// Memory: copies were fresh; `pointer` was the head. Carries the data.
    Fresh,
    /// Memory: copies may be dirty; `pointer` was the head.
    Gone,
    /// Cache: it was the last element of the list.
    Last,
    /// Cache: `pointer` was behind it.
    Linked,
    /// Cache: it is leaving and has passed the head to `pointer`: ask there.
    Returning,
}

impl Report {
    /// Every report, in order.
    pub const ALL: [Self; 8] =
        [Self::Nullified, Self::Done, Self::Home, Self::Fresh, Self::Gone, Self::Last, Self::Linked, Self::Returning];
}

/// A response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Response {
    /// The line it is about.
    pub line: LineAddr,
    /// The cache that sent the request.
    pub to: CpuId,
    /// What became of the request.
    pub report: Report,
    /// The list element that it names.
    pub pointer: Option<CpuId>,
    /// The line's contents, if it carries them: 64 bytes in a data packet (Hexsel and Topham, appendix).
    pub version: Option<Version>,
}

impl Response {
    /// A response without pointer and data.
    #[inline]
    pub const fn to(request: &Request, report: Report) -> Self {
        Self { line: request.line, to: request.source, report, pointer: None, version: None }
    }

    /// With a list element.
    #[inline]
    #[must_use]
    pub const fn with_pointer(mut self, pointer: Option<CpuId>) -> Self {
        self.pointer = pointer;
        self
    }

    /// With data.
    #[inline]
    #[must_use]
    pub const fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }
}
