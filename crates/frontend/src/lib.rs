//! A user's own program on a simulated machine: what compiles it, and the runtime that is linked into it.

pub mod built_with;
pub mod compiler;
