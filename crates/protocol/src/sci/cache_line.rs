//! One line at one cache: its state, its neighbours in the sharing list, and the outstanding transaction.

use units::{CpuId, LineAddr, NodeId};

use super::memory::MemoryState;
use super::message::Command;
use crate::{Agent, ProtocolError, Version};

macro_rules! states {
    ($( $name:ident = $mnemonic:literal, $stable:literal, $description:literal; )*) => {
        /// State of a line in a cache. Stable states give the position in the list and whether memory has the same
        /// data; the others belong to a transaction. Names are those of IEEE 1596-1992.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(u8)]
        pub enum CacheState {
            #[default]
            $( #[doc = concat!("`", $mnemonic, "`: ", $description, ".")] $name, )*
        }

        impl CacheState {
            /// Every state, in order.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// Name of the state in the standard.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Self::$name => $mnemonic, )* }
            }

            /// Description of the state.
            pub const fn description(self) -> &'static str {
                match self { $( Self::$name => $description, )* }
            }

            /// Whether no transaction is outstanding.
            pub const fn is_stable(self) -> bool {
                match self { $( Self::$name => $stable, )* }
            }
        }
    };
}

states! {
    Invalid = "INVALID", true, "no copy";
    OnlyFresh = "ONLY_FRESH", true, "the only element; same as memory";
    OnlyDirty = "ONLY_DIRTY", true, "the only element; may be written without a request";
    HeadFresh = "HEAD_FRESH", true, "first of several; same as memory";
    HeadDirty = "HEAD_DIRTY", true, "first of several; may differ from memory";
    MidValid = "MID_VALID", true, "neither first nor last";
    TailValid = "TAIL_VALID", true, "last of several";
    Pending = "PENDING", false, "waiting for memory's response";
    QueuedFresh = "QUEUED_FRESH", false, "attaching to a fresh list, with memory's data";
    QueuedJunk = "QUEUED_JUNK", false, "attaching to a dirty list, without data";
    QueuedDirty = "QUEUED_DIRTY", false, "purging a fresh list, to write";
    OnlyFreshToDirty = "OF_MODS_OD", false, "ONLY_FRESH, requesting the right to write from memory";
    HeadFreshToDirty = "HF_MODS_HD", false, "HEAD_FRESH, requesting the right to write from memory";
    HeadDirtyPurging = "HD_INVAL_OD", false, "HEAD_DIRTY, purging the others to write";
    OnlyFreshReturning = "OF_RETN_IN", false, "ONLY_FRESH, leaving";
    OnlyDirtyReturning = "OD_RETN_IN", false, "ONLY_DIRTY, leaving with the data";
    OnlyDirtySpinning = "OD_SPIN_IN", false, "ONLY_DIRTY, leaving, NACKed: another cache is about to attach";
    HeadForwarding = "HX_FORW_HX", false, "head, leaving: request to the next element outstanding";
    HeadForwardingLast = "HX_FORW_OX", false, "as HX_FORW_HX, but the next element has left and was the last";
    HeadReturning = "HX_RETN_IN", false, "former head, leaving: request to memory outstanding";
    MidForwarding = "MV_FORW_MV", false, "MID_VALID, leaving: request to the element behind outstanding";
    MidReturning = "MV_BACK_IN", false, "MID_VALID, leaving: request to the element before outstanding";
    TailReturning = "TV_BACK_IN", false, "TAIL_VALID, leaving: request to the element before outstanding";
    ToInvalid = "TO_INVALID", false, "purged or replaced as head while leaving: waiting for the outstanding response";
}

impl CacheState {
    /// The stable state of an element at this position of a list.
    pub const fn in_list(memory: MemoryState, first: bool, last: bool) -> Self {
        match (first, last, memory) {
            (true, true, MemoryState::Gone) => Self::OnlyDirty,
            (true, true, _) => Self::OnlyFresh,
            (true, false, MemoryState::Gone) => Self::HeadDirty,
            (true, false, _) => Self::HeadFresh,
            (false, false, _) => Self::MidValid,
            (false, true, _) => Self::TailValid,
        }
    }
}

impl CacheState {
    /// Whether the copy may be read.
    #[inline]
    pub const fn is_readable(self) -> bool {
        self.is_stable() && !matches!(self, Self::Invalid)
    }
}

/// Operation of a processor on a line, or the line's replacement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Operation {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Replacement: the cache leaves the list.
    Rollout,
}

impl Operation {
    /// Every operation, in order.
    pub const ALL: [Self; 3] = [Self::Load, Self::Store, Self::Rollout];
}

/// The transaction that is outstanding on a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outstanding {
    /// Operation that the transaction is for.
    pub operation: Operation,
    /// Command last sent, whose response is outstanding.
    pub command: Command,
}

/// One line at one cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CacheLine {
    /// State.
    pub state: CacheState,
    /// Contents; meaningless without a copy.
    pub version: Version,
    /// Element behind (or, while attaching, the element to attach to): the standard's `forwId`.
    pub forward: Option<CpuId>,
    /// Element before: the standard's `backId`.
    pub backward: Option<CpuId>,
    /// The outstanding transaction; `None` exactly in stable states.
    pub outstanding: Option<Outstanding>,
}

impl CacheLine {
    /// Error for a message that the line cannot receive.
    #[cold]
    pub(super) fn impossible(
        &self,
        context: &CacheContext,
        message: &'static str,
        reason: &'static str,
    ) -> ProtocolError {
        ProtocolError { at: Agent::Processor(context.cpu), message, state: self.state.mnemonic(), reason }
    }
}

/// Context of a handler at a cache, besides the line's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheContext {
    /// The cache, identified by its processor.
    pub cpu: CpuId,
    /// The line.
    pub line: LineAddr,
    /// Home: the node of the line's memory.
    pub home: NodeId,
}
