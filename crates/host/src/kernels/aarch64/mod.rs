//! Kernels for AArch64: entry, loops and exit.
