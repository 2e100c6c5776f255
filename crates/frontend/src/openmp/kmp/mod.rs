//! Functions called by code that clang compiles: the interface of LLVM's runtime. Thread numbers are those in the team.

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
    /// The compiler's flags for the construct.
    flags: i32,
}
