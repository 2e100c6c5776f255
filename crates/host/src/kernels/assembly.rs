//! The code of an operation, for any architecture: what can be had, and who writes it.

use units::Bytes;

use super::{Architecture, Features, LINE, Operation, aarch64, program, x86_64};
use crate::HostError;

/// The code of `operation` over elements that are `stride` apart, for any architecture.
///
/// # Errors
/// [`HostError::Request`] when the operation cannot have that stride or parameter.
pub fn assemble(
    architecture: Architecture,
    operation: Operation,
    stride: Bytes,
    features: &Features,
) -> Result<Vec<u8>, HostError> {
    check(operation, stride)?;
    let failed = |problem: String| HostError::Request(format!("{operation} at a stride of {stride}: {problem}"));
    match architecture {
        Architecture::X86_64 => {
            let mut backend = x86_64::Backend::new(operation, stride, features);
            program::write(&mut backend, operation);
            backend.finish().map_err(failed)
        }
        Architecture::AArch64 => {
            let mut backend = aarch64::Backend::new(operation, stride, features);
            program::write(&mut backend, operation);
            backend.finish().map_err(failed)
        }
    }
}

/// Refuses strides and parameters that make no sense.
fn check(operation: Operation, stride: Bytes) -> Result<(), HostError> {
    let refuse = |problem: String| Err(HostError::Request(format!("{operation}: {problem}")));
    let least = match operation {
        Operation::Sum | Operation::SumPrefetched { .. } | Operation::SumNonTemporal { .. } => 8,
        Operation::ReadUse | Operation::ReadModifyWrite => 8,
        Operation::PingPong { .. } | Operation::Chain { .. } => 0,
        _ if operation.is_wide() || operation == Operation::FillNonTemporal => LINE.0,
        _ => 16,
    };
    if stride.0 < least || !stride.0.is_multiple_of(8) || stride.0 > i64::MAX as u64 {
        return refuse(format!("a stride of {stride} cannot be had; accepted: multiples of 8 B from {least} B"));
    }
    match operation {
        Operation::Walk { work } | Operation::Modify { work } if work > Operation::MAX_WORK => {
            refuse(format!("accepted: 0 to {} additions", Operation::MAX_WORK))
        }
        Operation::SignChange { window } if window != stride || window.0 == 0 || !window.0.is_multiple_of(LINE.0) => {
            refuse(format!("window {window}, stride {stride}; accepted: both the same multiple of {LINE}"))
        }
        Operation::Traffic { reads, writes, .. }
            if reads.checked_add(writes).is_none_or(|round| !(1..=Operation::MAX_ROUND).contains(&round)) =>
        {
            refuse(format!("accepted: 1 to {} reads and writes together", Operation::MAX_ROUND))
        }
        _ if operation.is_wide() && stride != LINE => refuse(format!("a stride of {stride}; accepted: {LINE}")),
        _ if operation == Operation::FillNonTemporal && !stride.0.is_multiple_of(LINE.0) => {
            refuse(format!("a stride of {stride}; accepted: multiples of {LINE}"))
        }
        _ => Ok(()),
    }
}
