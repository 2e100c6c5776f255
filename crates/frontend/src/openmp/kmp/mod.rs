//! What code compiled by clang calls: the interface of LLVM's runtime. Thread numbers are those in the team.

mod doacross;
mod extensions;
mod invoke;
mod loops;
mod reductions;
mod regions;
mod sync;
mod tasks;

/// Where in the program a call stands, as the compiler tells it.
#[repr(C)]
pub struct Location {
    reserved: i32,
    /// What the compiler says of the construct.
    flags: i32,
}
