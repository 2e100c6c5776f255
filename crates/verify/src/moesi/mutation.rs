//! Faults to be planted in the bus, each in one rule of the protocol: the checker must find every one of them.

use protocol::snoop::{Cache, Command, Device, Moesi, Reply};
use units::CpuId;

use crate::model::Property;

macro_rules! mutations {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $property:ident; )*) => {
        /// A fault in one rule of the protocol.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Mutation { $( $(#[$doc])* $name, )* }

        impl Mutation {
            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }

            /// The property that it breaks by the fewest steps.
            pub const fn breaks(self) -> Property {
                match self { $( Self::$name => Property::$property, )* }
            }

            /// The fault of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $( $text => Some(Self::$name), )* _ => None }
            }
        }
    };
}

mutations! {
    /// A cache keeps its copy when another takes the line to write.
    KeepCopy = "keep-copy", LatestValue;
    /// An owner leaves it to memory to supply.
    OwnerStaysSilent = "owner-stays-silent", LatestValue;
    /// An owner that supplies forgets that it is responsible for the line.
    ForgetOwnership = "forget-ownership", DirectoryAgreement;
    /// A cache does not say that it has a copy.
    HideCopy = "hide-copy", SingleWriter;
    /// An upgrade goes on although the copy is gone.
    UpgradeNothing = "upgrade-nothing", ExpectedMessage;
    /// The writeback buffer is not looked up.
    IgnoreBuffer = "ignore-buffer", LatestValue;
    /// A writeback goes on although the line has changed hands.
    WriteBackTwice = "write-back-twice", ExpectedMessage;
    /// An owned line is dropped as silently as a clean one.
    DropOwned = "drop-owned", DirectoryAgreement;
    /// Memory does not take what is written back.
    DropWriteback = "drop-writeback", DirectoryAgreement;

    /// The device lets a cache write what the node may only read.
    WriteWithoutRight = "write-without-right", SingleWriter;
    /// The device does not say that other nodes have copies.
    HideOtherNodes = "hide-other-nodes", SingleWriter;
    /// The device retries, and asks nobody for the right.
    ForgetFetch = "forget-fetch", DeadlockFreedom;
    /// The device has copies downgraded where they should be taken away.
    TakeHalf = "take-half", SingleWriter;
    /// The block cache is not brought up to date when another node reads.
    ForgetUpdate = "forget-update", DirectoryAgreement;
    /// The device retries writebacks while other nodes ask for the line.
    RetryWritebacks = "retry-writebacks", DeadlockFreedom;
}

impl Mutation {
    /// Faults of caches and memory.
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

    /// Faults of the device and its block cache.
    pub const OF_DEVICES: &'static [Self] = &[
        Self::WriteWithoutRight,
        Self::HideOtherNodes,
        Self::ForgetFetch,
        Self::TakeHalf,
        Self::ForgetUpdate,
        Self::RetryWritebacks,
    ];

    /// What a fault makes of a cache that has begun an operation.
    pub(super) fn after_start(self, cache: &mut Cache) {
        if self == Self::DropOwned && cache.request == Some(Command::Writeback) {
            *cache = Cache::default();
        }
    }

    /// What a fault puts on the bus instead of what is wanted.
    pub(super) fn on_the_bus(self, requester: Option<CpuId>, wanted: Command) -> Command {
        if self == Self::TakeHalf && requester.is_none() { Command::ReadForeign } else { wanted }
    }

    /// What a fault makes of a cache's reply.
    pub(super) fn reply_of_cache(self, cache: &Cache, reply: Reply) -> Reply {
        match self {
            Self::OwnerStaysSilent => Reply { owner: None, ..reply },
            Self::HideCopy => Reply { shared: false, ..reply },
            Self::IgnoreBuffer if cache.request == Some(Command::Writeback) => Reply::default(),
            _ => reply,
        }
    }

    /// What a fault makes of the device's reply, and of the device.
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

    /// What a fault makes of a cache that has seen a transaction; `before` is the line as it was.
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

    /// Whether a fault keeps memory from taking data.
    pub(super) fn forgets_to_write(self, command: Command) -> bool {
        match self {
            Self::DropWriteback => command == Command::Writeback,
            Self::ForgetUpdate => command == Command::ReadForeign,
            _ => false,
        }
    }
}
