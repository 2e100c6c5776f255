//! The measured part of a program.

/// Whether a thread is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measuring {
    /// Not measured.
    #[default]
    No,
    /// Measured only if a measured interval follows.
    IfMoreFollows,
    /// Measured.
    Yes,
}
