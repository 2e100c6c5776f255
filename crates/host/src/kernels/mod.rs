//! Kernels in machine code, assembled at run time: one routine for each operation, stride and processor.
//!
//! A compiler may reorder, merge and remove memory accesses, and the thesis' restart series alone needs hundreds of kernels
//! that differ by one instruction (Prestor 2001, section 4.2.3). So the kernels are generated: [`Operation`] says what is
//! done at each element, the private module `program` builds the loops around it, and one module for each architecture
//! writes the instructions. Both architectures' generators are part of every build ([`assemble`]), so that either can be
//! looked at anywhere.

mod aarch64;
mod assembly;
mod features;
mod frame;
pub mod list;
mod operation;
mod program;
mod routine;
mod windows;
mod x86_64;

pub use assembly::assemble;
pub use features::{Architecture, Features};
pub use operation::{LINE, Link, MARK, Operation, Role, Stores, WORD};
pub use routine::{Course, Ran, Routine};
pub use windows::window_sequence;
