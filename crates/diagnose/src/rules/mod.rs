//! The rules: each looks at a survey for one mechanism.

pub mod blocking;
pub mod growth;
pub mod lines;
pub mod nodes;
pub mod pages;
pub mod repeated;
pub mod scheduling;
pub mod synchronising;
pub mod touched;
pub mod waiting;
