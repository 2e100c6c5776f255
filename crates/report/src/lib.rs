//! Tables for the terminal and plots as SVG, from records alone.
//!
//! Nothing here knows how a record was obtained: not from which platform, not by which experiment.

mod bars;
mod comparison;
mod computer;
mod computer_drawing;
mod diagnosis;
mod fits;
pub mod html;
mod ink;
mod inventory;
mod legend;
mod measurements;
mod mlc;
mod plot;
mod regions;
mod series;
mod simulations;
mod table;
mod text;
mod time_split;
mod verifications;

pub use bars::StackedBars;
pub use comparison::{ErrorSummary, comparison, publications, summaries};
pub use computer_drawing::computer_drawing;
pub use diagnosis::findings;
pub use fits::fits;
pub use inventory::{machines, topology};
pub use measurements::measurements;
pub use mlc::mlc;
pub use plot::{Axis, Mark, Plot, PlotError, Series, Ticks};
pub use regions::regions;
pub use series::{area_curves, load_curves, series_tables};
pub use simulations::{programs, simulation_statistics, simulations};
pub use table::{Align, Column, Table};
pub use time_split::{speedups, time_bars, time_split};
pub use verifications::VerificationLines;
