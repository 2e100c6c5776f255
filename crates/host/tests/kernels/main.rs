//! The kernels, run and disassembled. The same tests run on AArch64, under emulation if need be (`tests/emulated/aarch64/mod.rs`);
//! those of time, which an emulator has its own idea of, are named `timing`.

mod aarch64;
mod disassembly;
mod execution;
mod guarded;
mod lists;
mod model;
mod ping_pong;
mod requests;
mod timing;
mod x86_64;

use std::sync::LazyLock;

use host::clock::Clock;

/// The clock of all tests, calibrated once.
fn clock() -> &'static Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(|| Clock::calibrate().expect("every Linux has CLOCK_MONOTONIC_RAW"));
    &CLOCK
}
