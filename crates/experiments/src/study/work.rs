//! Runs of a study that are left, done by this process, beside whatever other processes do.

use std::thread;
use std::time::Duration;

use super::Study;
use super::run::{Executed, StudyRun};
use super::store::{Claimed, Store, StoreError};
use crate::parallel;

/// Progress of a process's runs, each with the run.
pub enum Told<'a> {
    /// It begins.
    Begins(&'a StudyRun),
    /// It is over, and its records are kept.
    Ended(&'a StudyRun, &'a Executed),
    /// It failed.
    Failed(&'a StudyRun, &'a str),
    /// It was done before, or another process has done it.
    DoneElsewhere(&'a StudyRun),
}

/// Counts of the runs that a process was to do, by their outcomes.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many it has run.
    pub ran: usize,
    /// How many of them found their results wrong.
    pub wrong: usize,
    /// Those that failed, by their places, with the reason.
    pub failed: Vec<(usize, String)>,
    /// How many other processes are at.
    pub elsewhere: usize,
}

/// The outcome of one.
enum Attempt {
    Ran { wrong: bool },
    Failed(String),
    Done,
    Busy,
}

/// The pause before claims of others are looked at again: at first, and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Does the runs of `study` at `places` that are left, those that take longest first. Runs that other processes have claimed are
/// waited for if `wait` says so, and taken over from processes that have ended.
///
/// # Errors
/// When the directory of results cannot be used.
pub fn work_off(
    study: &Study,
    store: &Store,
    places: &[usize],
    wait: bool,
    told: impl Fn(Told<'_>) + Sync,
) -> Result<Tally, StoreError> {
    let mut tally = Tally::default();
    let (mut left, mut pause, mut rounds) = (places.to_vec(), PAUSES[0], 0);
    loop {
        let mut busy = Vec::new();
        let cost = |&place: &usize| study.runs[place].cost();
        let work = |&place: &usize| attempt(&study.runs[place], store, &told);
        let deliver = |index: usize, attempt: Result<Attempt, StoreError>| {
            match attempt? {
                Attempt::Ran { wrong } => {
                    tally.ran += 1;
                    tally.wrong += usize::from(wrong);
                }
                Attempt::Failed(reason) => tally.failed.push((left[index], reason)),
                Attempt::Done => {}
                Attempt::Busy => busy.push(left[index]),
            }
            Ok::<_, StoreError>(())
        };
        parallel::longest_first(&left, cost, work, |_| {}, deliver)?;
        rounds += 1;
        // A claim may be one for the moment in which somebody looks at it: one more round tells.
        if busy.is_empty() || !wait && rounds > 1 {
            tally.elsewhere = busy.len();
            return Ok(tally);
        }
        pause = if busy.len() < left.len() { PAUSES[0] } else { (pause * 2).min(PAUSES[1]) };
        thread::sleep(pause);
        left = busy;
    }
}

fn attempt(run: &StudyRun, store: &Store, told: &(impl Fn(Told<'_>) + Sync)) -> Result<Attempt, StoreError> {
    let claim = match store.claim(run.key)? {
        Claimed::Ours(claim) => claim,
        Claimed::Theirs => return Ok(Attempt::Busy),
        Claimed::Done => {
            told(Told::DoneElsewhere(run));
            return Ok(Attempt::Done);
        }
    };
    told(Told::Begins(run));
    match run.execute() {
        Ok(executed) => {
            store.keep(claim, &executed.records)?;
            told(Told::Ended(run, &executed));
            Ok(Attempt::Ran { wrong: executed.wrong.is_some() })
        }
        Err(error) => {
            let reason = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            told(Told::Failed(run, &reason));
            Ok(Attempt::Failed(reason))
        }
    }
}
