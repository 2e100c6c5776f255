//! What runs inside of the program: on one thread of the host, and nowhere else.

pub mod address;
mod atomics;
mod barrier;
pub mod callbacks;
pub mod clock;
mod condition;
pub mod futex;
pub mod heap;
mod keys;
mod memory;
mod mutex;
mod once;
pub mod processors;
mod rwlock;
mod semaphore;
mod start;
pub mod state;
pub mod threads;
mod tls;
