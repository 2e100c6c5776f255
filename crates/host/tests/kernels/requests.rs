//! Requests that no machine can carry out are refused, with what would have been accepted.

use host::kernels::{Architecture, Features, Operation, Stores, assemble};
use units::Bytes;

#[test]
fn impossible_strides_and_parameters_are_refused() {
    let wide = Operation::FillWide { stores: Stores::Plain };
    for (operation, stride, accepted) in [
        (Operation::Walk { work: 0 }, 8, "16 B"),
        (Operation::Walk { work: 0 }, 20, "multiples of 8 B"),
        (Operation::Walk { work: 5000 }, 64, "4096 additions"),
        (Operation::Sum, 0, "8 B"),
        (wide, 128, "64 B"),
        (Operation::FillNonTemporal, 72, "multiples of 64 B"),
        (Operation::SignChange { window: Bytes(1024) }, 64, "both the same"),
        (Operation::SignChange { window: Bytes(96) }, 96, "multiple of 64 B"),
        (Operation::Traffic { reads: 0, writes: 0, pause: 0 }, 64, "1 to 64"),
        (Operation::Traffic { reads: 60, writes: 5, pause: 0 }, 64, "1 to 64"),
        (Operation::Traffic { reads: u32::MAX, writes: 2, pause: 0 }, 64, "1 to 64"),
    ] {
        for architecture in [Architecture::X86_64, Architecture::AArch64] {
            let error = assemble(architecture, operation, Bytes(stride), &Features::default()).unwrap_err().to_string();
            assert!(error.contains(accepted), "{operation:?}: {error}");
        }
    }
}
