//! The runtime linked into a user's own compiled program: it runs the program's threads on a simulated machine.
//!
//! A program is compiled with the references of its threads announced (`-fsanitize=thread` of gcc and clang calls a function at
//! each) and linked against this library in place of the compiler's own. Functions of the C library that a simulated thread must
//! not reach are replaced where the program calls them ([`wrapped`]); the C library itself, and this one, keep the true ones. The
//! simulator is in here: a reference is a call, not a message. Every thread of the program is a coroutine on the one thread of
//! the host that `main` was started on, so its data stay where they are, at their real addresses.
//!
//! Without the variable that tells what to simulate ([`request`]) the program runs as if it had been compiled as usual.

pub mod compiler;
pub mod launch;
mod lines;
pub mod request;
mod standard_input;
mod watch;
pub mod wrapped;

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod openmp;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod runtime;
