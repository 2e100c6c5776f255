//! Programs on threads of this computer that note every reference: who reads and writes what, and whether results are right.

mod every;
mod loops;
mod mock;
mod order;
mod parallel;
mod repairs;
mod replay;
mod sharing;
mod specomp;
mod splash;
