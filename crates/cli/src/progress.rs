//! One progress display on standard error, and only where a person is looking. How far a command is, is known in any case, and
//! told in lines to a program that asks for them (`CCNUMA_PROGRESS=lines`), such as the Python package.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// The displays there are, the innermost last: what an interruption clears, and tells of.
static SHOWN: Mutex<Vec<ProgressBar>> = Mutex::new(Vec::new());

/// Whether another program reads how far this one is: a line `progress: DONE of ALL WHAT` for each step, `?` for an unknown number.
static LINES: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("CCNUMA_PROGRESS").is_some_and(|asked| asked == "lines"));

/// How long a program runs before something is said, and how much longer each time.
const FIRST_WORD: Duration = Duration::from_secs(5);

/// How often a display moves whose work does not.
const TICK: Duration = Duration::from_secs(1);

fn shown() -> MutexGuard<'static, Vec<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A display; it goes when this is dropped.
pub struct Bar(ProgressBar);

/// A bar of `total` steps; shown only if standard error is a terminal.
pub fn bar(total: usize, what: impl Into<String>) -> Bar {
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
    let template =
        if total == 1 { "{spinner} {msg} {elapsed}" } else { "{msg} {bar:40} {pos}/{len} {prefix}{elapsed}{left}" };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", left));
    }
    bar.set_message(what.into());
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    shown().push(bar.clone());
    let bar = Bar(bar);
    bar.tell();
    bar
}

/// The remaining time, once there is something to judge by.
fn left(state: &ProgressState, text: &mut dyn Write) {
    if state.pos() > 0 && state.len() > Some(state.pos()) {
        // Writing to a string cannot fail.
        let _infallible = write!(text, " ({:#} remaining)", indicatif::HumanDuration(state.eta()));
    }
}

impl Bar {
    /// One step that nobody sees, but an interruption tells of.
    fn hidden(what: String) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden()).with_message(what);
        shown().push(bar.clone());
        Self(bar)
    }

    /// One more step is done.
    pub fn step(&self) {
        self.0.inc(1);
        self.tell();
    }

    /// So many steps are done.
    pub fn at(&self, done: usize) {
        self.0.set_position(done as u64);
        self.tell();
    }

    /// So many steps were done before this began: what is left is judged by those that follow.
    pub fn begin_at(&self, done: usize) {
        self.at(done);
        self.0.reset_eta();
    }

    /// So many steps are under way.
    pub fn running(&self, count: usize) {
        self.0.set_prefix(format!("{count} running, "));
    }

    /// So many steps are done, of a number that grows.
    pub fn at_of(&self, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.at(done);
    }

    /// Tells a program that reads it how far the work is.
    fn tell(&self) {
        if *LINES {
            let all = self.0.length().filter(|&all| all > 0).map_or_else(|| "?".to_owned(), |all| all.to_string());
            eprintln!("progress: {} of {all} {}", self.0.position(), self.0.message());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        shown().pop();
    }
}

/// Does `act` under a bar of steps whose number shows meanwhile: `act` tells how many are done, of how many.
pub fn growing<T>(what: &'static str, act: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
    let bar = bar(0, what);
    act(&mut |done, all| bar.at_of(done, all))
}

/// Does `act`, which is one step.
pub fn during<T>(what: impl Into<String>, act: impl FnOnce() -> T) -> T {
    let _bar = bar(1, what);
    act()
}

/// Does `act`, which is one step of a program that may print to the terminal itself: no display, but now and then a line.
/// `far` knows how far it is, if anybody does.
pub fn beside_program<T>(what: String, far: impl Fn() -> Option<String> + Send, act: impl FnOnce() -> T) -> T {
    let bar = Bar::hidden(what.clone());
    if !io::stderr().is_terminal() {
        return act();
    }
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (begin, mut pause) = (Instant::now(), FIRST_WORD);
            while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let far = far().map_or_else(String::new, |far| format!(": {far}"));
                eprintln!("note: {what}: running for {:.0} s{far}", begin.elapsed().as_secs_f64());
                pause *= 2;
            }
        });
        let result = act();
        drop((over, bar));
        result
    })
}

/// Does something to the terminal while no display is in the way.
pub fn aside<T>(act: impl FnOnce() -> T) -> T {
    let innermost = shown().last().cloned();
    match innermost {
        Some(bar) => bar.suspend(act),
        None => act(),
    }
}

/// Whether another program reads standard error line by line.
pub fn is_read_by_a_program() -> bool {
    *LINES
}

/// Says a line on standard error.
pub fn say(line: impl std::fmt::Display) {
    aside(|| eprintln!("{line}"));
}

/// Clears what is shown for good: how far the work was.
pub fn stop() -> Option<String> {
    let shown = shown();
    let far = shown.first().map(|bar| match (bar.position(), bar.message(), bar.length()) {
        (_, what, Some(1)) => format!("{what}: not finished"),
        (done, what, Some(all)) => format!("{done} of {all} {what} done, {} remaining", all.saturating_sub(done)),
        (done, what, None) => format!("{done} {what} done"),
    });
    shown.iter().for_each(ProgressBar::finish_and_clear);
    far
}
