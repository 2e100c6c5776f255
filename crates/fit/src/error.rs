//! Why data do not make a fit.

/// Data that a model cannot be fitted to: what is wrong, and what would do.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FitError {
    /// There are fewer points than the model has parameters.
    #[error("{model}: {points} points cannot determine {parameters} parameters; measure more sizes, windows or nodes")]
    TooFewPoints {
        /// The model.
        model: &'static str,
        /// Points given.
        points: usize,
        /// Parameters to find.
        parameters: usize,
    },
    /// A time that is zero, negative or not a number: its relative error means nothing.
    #[error("{model}: invalid time of {value} ns at point {index}; accepted: positive, finite times")]
    BadTime {
        /// The model.
        model: &'static str,
        /// Which point, from 0.
        index: usize,
        /// The time.
        value: f64,
    },
    /// The data lack what the model is about.
    #[error("{model}: {reason}")]
    Unsuitable {
        /// The model.
        model: &'static str,
        /// The reason: what is missing, and what would do.
        reason: String,
    },
}
