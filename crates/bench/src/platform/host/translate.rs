//! The kernels of experiments as operations of this computer's processors.

use host::crew;
use host::kernels::{LINE, Operation, Stores};
use units::Bytes;

use crate::platform::{Kernel, StreamOperation};

/// How many elements ahead of its load an element is prefetched: a few times the misses that a core can have outstanding
/// would come too late to matter, fewer would leave some idle.
const PREFETCH_AHEAD: u32 = 16;

/// How many elements of an operation make one of a kernel: those that handle whole lines do so a line of 64 bytes at a time,
/// where a processor has larger ones.
pub(super) fn parts_of_element(operation: Operation, stride: Bytes) -> u64 {
    let whole_lines = operation.is_wide() || operation == Operation::FillNonTemporal;
    if whole_lines && stride.0.is_multiple_of(LINE.0) { stride.0 / LINE.0 } else { 1 }
}

/// The operation of `kernel`, over elements that are `stride` apart, for task number `player` of its phase.
///
/// # Panics
/// For the kernels that drop lines, which work on other memory than their tasks name.
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
        Kernel::DropCaches | Kernel::DropOwnCaches => unreachable!("displaced through memory of their own"),
    }
}
