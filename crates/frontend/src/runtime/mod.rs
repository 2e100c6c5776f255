//! What runs inside of the program: on one thread of the host, and nowhere else.

pub mod address;
mod atomics;
mod barrier;
mod blocks;
pub mod callbacks;
pub mod clock;
mod condition;
mod crash;
pub mod futex;
mod futex_call;
pub mod heap;
mod keys;
mod located;
mod memory;
mod mutex;
mod numa;
mod once;
mod places;
pub mod processors;
pub mod recording;
mod refused;
mod rwlock;
mod semaphore;
mod start;
pub mod state;
pub mod threads;
mod tls;
