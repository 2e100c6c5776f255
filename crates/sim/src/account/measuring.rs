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

/// The measured part of a thread's program at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MeasuredPart {
    /// Whether the thread is measured.
    pub measuring: Measuring,
    /// Whether it has declared a measured interval.
    pub declared: bool,
}

impl MeasuredPart {
    /// Changes whether the thread is measured. Returns whether that is a change: a repeated start is none, and neither
    /// is a provisional end outside of a measured interval.
    pub fn change(&mut self, measuring: Measuring) -> bool {
        let is_change = match measuring {
            Measuring::IfMoreFollows => self.measuring == Measuring::Yes,
            _ => measuring != self.measuring,
        };
        if is_change {
            self.measuring = measuring;
            self.declared |= measuring == Measuring::Yes;
        }
        is_change
    }
}
