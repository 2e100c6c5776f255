//! What runs inside of the program: on one thread of the host, and nowhere else.

mod address;
mod atomics;
mod barrier;
mod callbacks;
mod clock;
mod condition;
mod crash;
mod futex;
mod heap;
mod keys;
mod located;
mod memory;
mod mutex;
mod numa;
mod once;
mod places;
mod processors;
mod refused;
mod rwlock;
mod semaphore;
mod start;
mod state;
mod threads;
mod tls;
