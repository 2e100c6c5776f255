//! Tables for the terminal and plots as SVG, from records alone.
//!
//! Nothing here knows how a record was obtained: not from which platform, not by which experiment.

mod advice;
mod bars;
mod comparison;
mod computer;
mod computer_drawing;
mod diagnosis;
mod document;
mod fits;
mod heat;
pub mod html;
mod ink;
mod inventory;
mod layout;
mod legend;
mod matrix;
mod measurements;
mod mlc;
mod plot;
mod quantity;
mod regions;
mod series;
mod simulation_statistics;
mod simulations;
mod sweeps;
mod table;
mod text;
mod theme;
mod time_split;
mod verifications;
mod view;

pub use advice::advice;
pub use bars::StackedBars;
pub use comparison::{ErrorSummary, comparison, publications, summaries};
pub use computer_drawing::computer_drawing;
pub use diagnosis::findings;
pub use document::document;
pub use fits::fits;
pub use inventory::{machines, topology};
pub use matrix::Matrix;
pub use measurements::measurements;
pub use mlc::mlc;
pub use plot::{Axis, Mark, Plot, PlotError, Series, Ticks};
pub use regions::regions;
pub use series::{area_curves, load_curves, matrices, series_tables};
pub use simulation_statistics::simulation_statistics;
pub use simulations::{programs, simulations};
pub use sweeps::sweep_runs;
pub use table::{Align, Cell, Column, Table, Tone};
pub use time_split::{speedups, time_bars, time_split};
pub use verifications::VerificationLines;
pub use view::{View, WIDTH_WITHOUT_TERMINAL, message, paragraph, wrap};
