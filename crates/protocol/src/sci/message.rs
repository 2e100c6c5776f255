//! Packets of SCI's coherence protocol: a request from a cache, and the response to it.

use units::{CpuId, LineAddr};

use crate::{Agent, Version};

macro_rules! commands {
    ($( $(#[$doc:meta])* $name:ident = $mnemonic:literal, $memory:literal; )*) => {
        /// Command of a request. Names are those of IEEE 1596-1992.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Command { $( $(#[$doc])* #[doc = concat!(" Mnemonic `", $mnemonic, "`.")] $name, )* }

        impl Command {
            /// Every command, in order.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// Name of the command in the standard.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Self::$name => $mnemonic, )* }
            }

            /// Whether the command is for memory; the others are for a cache.
            pub const fn is_for_memory(self) -> bool {
                match self { $( Self::$name => $memory, )* }
            }
        }
    };
}

commands! {
    /// Request for a copy to read; the requester becomes the head of the list.
    CacheFresh = "CACHE_FRESH", true;
    /// Request for a copy to be written at once; the requester becomes the head of the list.
    CacheDirty = "CACHE_DIRTY", true;
    /// Request of the head of a fresh list for the right to write: memory's copy becomes stale.
    ListToGone = "LIST_TO_GONE", true;
    /// Departure of the only element; carries the line if it is dirty.
    ListToHome = "LIST_TO_HOME", true;
    /// Departure of the head; `pointer` becomes the head.
    PassHead = "PASS_HEAD", true;

    /// Attachment before the old head, by a requester that has the data already.
    PendValid = "PEND_VALID", false;
    /// Attachment before the old head, by a requester that needs the data.
    CopyValid = "COPY_VALID", false;
    /// Purge of the head of a fresh list, by a requester that is about to write.
    FreshInvalid = "FRESH_INVALID", false;
    /// Purge of an element behind the head, by the head, which is about to write.
    ValidInvalid = "VALID_INVALID", false;
    /// Departure of the head of a fresh list: the target becomes the head.
    NextFreshHead = "NEXT_FHEAD", false;
    /// Departure of the head of a dirty list: the target becomes the head, and must write the data back.
    NextDirtyHead = "NEXT_DHEAD", false;
    /// Departure of the element before the target: `pointer` is before the target from now on.
    NextMid = "NEXT_VMID", false;
    /// Departure of the element behind the target: `pointer` is behind the target from now on.
    PreviousMid = "PREV_VMID", false;
    /// Departure of the last element: no element is behind the target from now on.
    PreviousTail = "PREV_VTAIL", false;
}

/// A request, answered by exactly one [`Response`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// Line of the request.
    pub line: LineAddr,
    /// Destination: the line's memory or a cache.
    pub to: Agent,
    /// Requester: the cache that sent the request and receives the response.
    pub source: CpuId,
    /// Command.
    pub command: Command,
    /// List element that the command names (`PASS_HEAD`, `NEXT_VMID`, `PREV_VMID`): the standard's `newId`.
    pub pointer: Option<CpuId>,
    /// Contents of the line, if the request carries them (`LIST_TO_HOME` of a dirty line).
    pub version: Option<Version>,
}

/// Result of a request, in its response. (The standard returns the state in which the request found its target; this
/// type has as much of it as requesters use.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Report {
    /// NACK: nothing has changed, and the requester must retry. The standard's name is nullified.
    Nack,
    /// Done, with no further result.
    Done,
    /// Memory: no cache had a copy. Carries the data.
    Home,
    /// Memory: copies were fresh; `pointer` was the head. Carries the data.
    Fresh,
    /// Memory: copies may be dirty; `pointer` was the head.
    Gone,
    /// Cache: the target was the last element of the list.
    Last,
    /// Cache: `pointer` was behind the target.
    Linked,
    /// Cache: the target is leaving, and has passed the head to `pointer`, to which the requester must attach.
    Returning,
}

impl Report {
    /// Every result, in order.
    pub const ALL: [Self; 8] =
        [Self::Nack, Self::Done, Self::Home, Self::Fresh, Self::Gone, Self::Last, Self::Linked, Self::Returning];
}

/// A response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Response {
    /// Line of the request.
    pub line: LineAddr,
    /// Requester: the cache that sent the request.
    pub to: CpuId,
    /// Result of the request.
    pub report: Report,
    /// List element that the result names.
    pub pointer: Option<CpuId>,
    /// Contents of the line, if the response carries them: 64 bytes in a data packet (Hexsel and Topham, appendix).
    pub version: Option<Version>,
}

impl Response {
    /// Creates a response without pointer and data.
    #[inline]
    pub const fn to(request: &Request, report: Report) -> Self {
        Self { line: request.line, to: request.source, report, pointer: None, version: None }
    }

    /// Sets the list element.
    #[inline]
    #[must_use]
    pub const fn with_pointer(mut self, pointer: Option<CpuId>) -> Self {
        self.pointer = pointer;
        self
    }

    /// Adds data.
    #[inline]
    #[must_use]
    pub const fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }
}
