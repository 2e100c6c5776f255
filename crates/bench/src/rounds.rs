//! Trials of several plans, a sample each in turn, so that what drifts meanwhile falls on all of them alike.

use units::Bytes;

use crate::{BenchError, Experiment, Platform, Trial};

/// Restart searches are long, and each is a sample of many measurements: more of them than this tell little.
const MOST_SEARCHES: u32 = 3;

/// Arrays larger than this take as long as searches.
const LARGE: Bytes = Bytes::from_mib(64);

/// A trial that failed.
#[derive(Debug)]
pub struct Failed {
    /// Its number among the trials.
    pub trial: usize,
    /// Why it got no further.
    pub error: BenchError,
}

/// How many samples `rounds` rounds take of a trial.
fn wanted(trial: &Trial, rounds: u32) -> u32 {
    match trial.plan().experiment {
        // It has rounds of its own, over chunks of one region.
        Experiment::RegionRead => 1,
        experiment if experiment.is_restart() => rounds.min(MOST_SEARCHES),
        Experiment::AreaRead | Experiment::P3Ru | Experiment::P3Rmw if trial.plan().settings.array > LARGE => {
            rounds.min(MOST_SEARCHES)
        }
        _ => rounds,
    }
}

/// How many samples `rounds` rounds take of all trials together.
pub fn samples_of(trials: &[Trial], rounds: u32) -> u64 {
    trials.iter().map(|trial| u64::from(wanted(trial, rounds))).sum()
}

/// Takes `rounds` samples of each trial, one of each in turn. A trial that fails is left out from then on; what the others
/// measured is not lost. After each sample `go_on` is asked whether to go on, and told how many rounds are complete, and which trial it
/// was.
///
/// The trials that failed, and whether all rounds were completed.
pub fn interleaved(
    trials: &mut [Trial],
    platform: &mut dyn Platform,
    rounds: u32,
    mut go_on: impl FnMut(u32, usize, &Trial) -> bool,
) -> (Vec<Failed>, bool) {
    let mut failed: Vec<Failed> = Vec::new();
    for round in 0..rounds {
        for (number, trial) in trials.iter_mut().enumerate() {
            if round >= wanted(trial, rounds) || failed.iter().any(|failed| failed.trial == number) {
                continue;
            }
            if let Err(error) = trial.samples(platform, 1) {
                failed.push(Failed { trial: number, error });
            }
            if !go_on(round, number, trial) {
                return (failed, false);
            }
        }
    }
    (failed, true)
}
