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

/// Does `act` under a bar of steps whose number shows meanwhile: `act` tells how many are done, of how many.
pub fn growing<T>(what: &'static str, act: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
    let bar = bar(0, what);
    let result = act(&mut |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    result
}

/// A line that tells how far something is whose end nobody knows; nothing at all unless standard error is a terminal.
pub fn line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg} {elapsed}") {
        line.set_style(style);
    }
    line
}
