//! The simulator of every kind of node: what it holds coherent, counts and takes, how it places and moves pages, whoever is asked.
//!
//! All tests of this crate are one program: the harness then runs them beside each other, and they are linked once.

mod coherence;
mod counters;
mod first_touch;
mod hardware_threads;
mod ideal;
mod large;
mod large_pages;
mod levels;
mod memories;
mod memory_nodes;
mod migration;
mod poison;
mod process;
mod random;
mod scheduling;
mod servers;
mod stall_terms;
mod unloaded;
mod values;
mod wires;
