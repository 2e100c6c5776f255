//! Errors of an experiment, before it starts and while it runs.

use crate::platform::PlatformError;

/// An experiment that cannot be carried out as asked: one line that names the flag, its value, what is wrong and what
/// is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag} {value}: {problem}; accepted: {accepted}")]
pub struct PlanError {
    /// The command-line flag (or argument) at fault, such as `--remote`.
    pub flag: &'static str,
    /// The value it was given; `(none)` if it is missing.
    pub value: String,
    /// The problem with the value.
    pub problem: String,
    /// Values that are accepted.
    pub accepted: String,
}

impl PlanError {
    /// Puts the parts together.
    pub fn new(
        flag: &'static str,
        value: impl Into<String>,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self { flag, value: value.into(), problem: problem.into(), accepted: accepted.into() }
    }
}

/// Why an experiment gave no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It was impossible from the start.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The platform failed.
    #[error(transparent)]
    Platform(#[from] PlatformError),
}
