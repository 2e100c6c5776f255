//! One progress display on standard error, and only where a person is looking.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of `total` steps; nothing at all unless standard error is a terminal.
pub fn bar(total: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed} (left: {eta})") {
        bar.set_style(style);
    }
    bar.with_message(what)
}
