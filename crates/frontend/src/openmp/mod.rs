//! OpenMP on the program's threads, real or simulated: what gcc, gfortran and clang call in place of their own libraries.
//!
//! One mechanism with two faces. [`team`] has barriers, [`pool`] parallel regions, [`sharing`] the work that a team shares, [`tasks`]
//! explicit tasks, which threads take from each other's queues ([`stealing`]) while they wait ([`waiting`]), and [`groups`] groups of them,
//! all made of words in the program's memory ([`platform`]), so that what a barrier or the next chunk of a loop costs is what its references
//! cost. [`gomp`] is the face that gcc and gfortran know, `kmp` clang's, [`api`] what programs
//! themselves call; [`cancellation`] is about what ends before its end, [`memory`] about allocators, [`tree`] about how clang's
//! threads meet. Nested regions have one thread.

mod api;
mod cancellation;
mod dependences;
mod deque;
mod detached;
mod device;
mod display;
mod doacross;
mod fortran;
mod gomp;
mod groups;
mod kmp;
mod locks;
mod meeting;
mod memory;
mod places;
mod platform;
mod pool;
mod schedule;
mod settings;
mod sharing;
mod stealing;
mod stock;
mod tasks;
mod team;
mod tree;
mod waiting;
