//! Machines that this computer is not, emulated: an AArch64 processor, and a machine with four nodes.

mod aarch64;
mod four_nodes;
