//! Planted faults of the bus, each in one rule of the protocol: the checker must find all of them.

use protocol::snoop::{Cache, Command, Device, Moesi, Reply};
use units::CpuId;

use crate::model::Property;

macro_rules! mutations {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $property:ident; )*) => {
        /// A fault in one rule of the protocol.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Mutation { $( $(#[$doc])* $name, )* }

        impl Mutation {
            /// Name of the fault.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }

            /// Property that the fault violates in the fewest steps.
            pub const fn breaks(self) -> Property {
                match self { $( Self::$name => Property::$property, )* }
            }

            /// Fault of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $( $text => Some(Self::$name), )* _ => None }
            }
        }
    };
}

mutations! {
    /// A cache keeps its copy when another cache takes the line to write.
    KeepCopy = "keep-copy", LatestValue;
    /// An owner leaves the supply of data to memory.
    OwnerStaysSilent = "owner-stays-silent", LatestValue;
    /// An owner that supplies data gives up the responsibility for the line.
    ForgetOwnership = "forget-ownership", DirectoryAgreement;
    /// A cache with a copy does not reply "shared".
    HideCopy = "hide-copy", SingleWriter;
    /// An upgrade proceeds although the copy is gone.
    UpgradeNothing = "upgrade-nothing", ExpectedMessage;
    /// The writeback buffer is not snooped.
    IgnoreBuffer = "ignore-buffer", LatestValue;
    /// A writeback proceeds although the line has changed owner.
    WriteBackTwice = "write-back-twice", ExpectedMessage;
    /// An owned line is dropped as silently as a clean one.
    DropOwned = "drop-owned", DirectoryAgreement;
    /// Memory ignores the data of a writeback.
    DropWriteback = "drop-writeback", DirectoryAgreement;

    /// The device lets a cache write a line that the node may only read.
    WriteWithoutRight = "write-without-right", SingleWriter;
    /// The device does not reply "shared" for a line of which other nodes have copies.
    HideOtherNodes = "hide-other-nodes", SingleWriter;
    /// The device retries a transaction without requesting the right.
    ForgetFetch = "forget-fetch", DeadlockFreedom;
    /// The device downgrades copies that it should invalidate.
    TakeHalf = "take-half", SingleWriter;
    /// The block cache is not updated when another node reads.
    ForgetUpdate = "forget-update", DirectoryAgreement;
    /// The device retries writebacks while a recall is outstanding.
    RetryWritebacks = "retry-writebacks", DeadlockFreedom;
}

impl Mutation {
    /// Faults of caches and of memory.
    pub const OF_CACHES: &'static [Self] = &[
        Self::KeepCopy,
        Self::OwnerStaysSilent,
        Self::ForgetOwnership,
        Self::HideCopy,
        Self::UpgradeNothing,
        Self::IgnoreBuffer,
        Self::WriteBackTwice,
        Self::DropOwned,
        Self::DropWriteback,
    ];

    /// Faults of the device and of its block cache.
    pub const OF_DEVICES: &'static [Self] = &[
        Self::WriteWithoutRight,
        Self::HideOtherNodes,
        Self::ForgetFetch,
        Self::TakeHalf,
        Self::ForgetUpdate,
        Self::RetryWritebacks,
    ];

    /// Applies a fault to a cache that has begun an operation.
    pub(super) fn after_start(self, cache: &mut Cache) {
        if self == Self::DropOwned && cache.request == Some(Command::Writeback) {
            *cache = Cache::default();
        }
    }

    /// Applies a fault to the command of a bus transaction.
    pub(super) fn on_the_bus(self, requester: Option<CpuId>, wanted: Command) -> Command {
        if self == Self::TakeHalf && requester.is_none() { Command::ReadForeign } else { wanted }
    }

    /// Applies a fault to a cache's reply.
    pub(super) fn reply_of_cache(self, cache: &Cache, reply: Reply) -> Reply {
        match self {
            Self::OwnerStaysSilent => Reply { owner: None, ..reply },
            Self::HideCopy => Reply { shared: false, ..reply },
            Self::IgnoreBuffer if cache.request == Some(Command::Writeback) => Reply::default(),
            _ => reply,
        }
    }

    /// Applies a fault to the device's reply, and to the device.
    pub(super) fn reply_of_device(self, device: &mut Device, command: Command, reply: Reply) -> Reply {
        match self {
            Self::WriteWithoutRight if command == Command::Upgrade => Reply::default(),
            Self::HideOtherNodes => Reply { shared: false, ..reply },
            Self::ForgetFetch => {
                device.fetch = None;
                reply
            }
            Self::RetryWritebacks if command == Command::Writeback => Reply { retry: true, ..reply },
            _ => reply,
        }
    }

    /// Applies a fault to a cache that has snooped a transaction; `before` is the line before.
    pub(super) fn after_observing(self, before: &Cache, cache: &mut Cache, command: Command) {
        match self {
            Self::KeepCopy if matches!(command, Command::ReadExclusive | Command::Upgrade) => *cache = *before,
            Self::ForgetOwnership if command == Command::Read && cache.state == Moesi::Owned => {
                cache.state = Moesi::Shared;
            }
            Self::UpgradeNothing if before.request == Some(Command::Upgrade) => cache.request = before.request,
            Self::WriteBackTwice if before.request == Some(Command::Writeback) => cache.request = before.request,
            _ => {}
        }
    }

    /// Whether a fault keeps memory from being written.
    pub(super) fn drops_memory_write(self, command: Command) -> bool {
        match self {
            Self::DropWriteback => command == Command::Writeback,
            Self::ForgetUpdate => command == Command::ReadForeign,
            _ => false,
        }
    }
}
