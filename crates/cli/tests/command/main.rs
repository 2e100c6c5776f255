//! The command, run as its users run it, on simulated machines; its manual, its records, and the shape of the workspace.
//!
//! They are one program, whose tests the harness runs beside each other. What measures this computer is apart: `tests/measuring`.

#[path = "../common/mod.rs"]
mod common;

mod architecture;
mod bad_input;
mod chains;
mod computer;
mod counters;
mod emulated_loop;
mod files;
mod fit;
mod input;
mod installed;
mod interrupted;
mod libraries;
mod manual;
mod own_programs;
mod programs;
mod python;
mod readme;
mod records;
mod runs;
mod screens;
mod servers_for_programs;
mod simulations;
mod sweeps;
mod tasks;
mod what_programs_do;
