//! The kernels of experiments as operations of this computer's processors.

use host::crew;
use host::kernels::{Operation, Stores};
use units::Bytes;

use crate::platform::{Kernel, StreamOperation};

/// How many elements ahead of its load an element is prefetched: a few times the misses that a core can have outstanding
/// would come too late to matter, fewer would leave some idle.
const PREFETCH_AHEAD: u32 = 16;

/// What `kernel` is, over elements that are `stride` apart, for task number `player` of its phase.
///
/// # Panics
/// For [`Kernel::DropCaches`], which works on other memory than its task names.
pub(super) fn operation(kernel: Kernel, stride: Bytes, player: usize) -> Operation {
    let stores = Stores::Plain;
    match kernel {
        Kernel::Walk { work } => Operation::Walk { work },
        Kernel::Modify { work } => Operation::Modify { work },
        Kernel::CompareExchange => Operation::CompareExchange,
        Kernel::Sum => Operation::Sum,
        Kernel::SumPrefetch => Operation::SumPrefetched { ahead: PREFETCH_AHEAD },
        Kernel::SumNonTemporal => Operation::SumNonTemporal { ahead: PREFETCH_AHEAD },
        Kernel::FillNonTemporal => Operation::FillNonTemporal,
        Kernel::Stream(StreamOperation::Copy) => Operation::Copy { stores },
        Kernel::Stream(StreamOperation::Scale) => Operation::Scale { stores },
        Kernel::Stream(StreamOperation::Add) => Operation::Add { stores },
        Kernel::Stream(StreamOperation::Triad) => Operation::Triad { stores },
        Kernel::Fill => Operation::Fill,
        Kernel::TouchLoad => Operation::TouchLoad,
        Kernel::TouchStore => Operation::TouchStore,
        Kernel::TouchShared => Operation::TouchShared,
        Kernel::Flush => Operation::Flush,
        Kernel::Traffic { reads, writes, pause } => Operation::Traffic { reads, writes, pause },
        Kernel::PingPong => crew::ping_pong(player),
        Kernel::SignChange => Operation::SignChange { window: stride },
        Kernel::ReadUse => Operation::ReadUse,
        Kernel::ReadModifyWrite => Operation::ReadModifyWrite,
        Kernel::DropCaches => unreachable!("displaced through memory of its own"),
    }
}
