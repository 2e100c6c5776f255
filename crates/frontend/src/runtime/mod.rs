//! What runs inside of the program: on one thread of the host, and nowhere else.

mod address;
mod atomics;
mod barrier;
mod callbacks;
mod clock;
mod condition;
mod futex;
mod heap;
mod keys;
mod memory;
mod mutex;
mod once;
mod processors;
mod rwlock;
mod semaphore;
mod start;
mod state;
mod threads;
mod tls;
