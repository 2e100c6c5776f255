//! The directory states that STREAM's requests find, with prefetch and without: Prestor 2001 Figure 6.3.

use protocol::origin::DirectoryState;
use units::Duration;
use workloads::{Settings, Workload};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Looks, Measurement, ProgramRun, Subject};
use crate::{Outcome, variant};

/// A row without and with prefetch; a column for each directory state, in percent of all requests for lines, and one for the
/// time of the whole run. What the text says of both is a row of its own.
pub struct DirectoryStates;

/// A secondary cache half as large as one of the arrays, which the benchmark demands to be larger than it, and its ten rounds.
const CACHE_MIB: u64 = 1;
const WORDS: u64 = 262_144;
const ROUNDS: u64 = 10;
/// Lines that compiled code asks ahead for. The thesis does not say; a miss takes about as long as three lines' work.
const PREFETCH: u64 = 4;
/// From one sample to the next, 10 ms: the table needs the end alone, and what is counted from it.
const LOOKS: Looks = Looks { interval: Duration(10_000_000_000), metrics: &["uown"] };
/// The row of what the text says of both.
const BOTH: &str = "with over without";

fn reading(
    scene: &Scene<'_>,
    prefetch: u64,
    read: impl Fn(&Outcome) -> Option<f64> + Send + Sync + 'static,
) -> Result<Formula, ExperimentError> {
    let settings = Settings::default().with("words", WORDS).with("rounds", ROUNDS);
    let workload = Workload::new("stream", &settings.with("prefetch", prefetch))?;
    let machine = variant::with(scene.system()?.name(), "l2.size_mib", CACHE_MIB);
    let machine = scene.systems.get(&machine)?.name().to_owned();
    let subject = Subject::Profile(ProgramRun::new(workload, 1), LOOKS);
    Ok(Formula::reading(Measurement { machine, subject }, read))
}

/// The counters of a Hub's directory mode that count requests that found a state; busy states are counted together.
const fn counters(state: DirectoryState) -> &'static [&'static str] {
    match state {
        DirectoryState::Unowned => &["diruown"],
        DirectoryState::Poisoned => &["dirpois"],
        DirectoryState::Shared => &["dirshrd"],
        DirectoryState::Exclusive => &["direxclown", "direxcl"],
        DirectoryState::BusyShared | DirectoryState::BusyExclusive | DirectoryState::Wait => &["dirbusy"],
    }
}

/// The part of all requests for lines that found a state, in percent.
fn share(state: DirectoryState) -> impl Fn(&Outcome) -> Option<f64> + Send + Sync + 'static {
    move |outcome| match outcome {
        Outcome::Profile(profile) => {
            let found =
                |counters: &[&str]| counters.iter().map(|name| profile.timeline.total_of_all(name)).sum::<f64>();
            let all = found(&["diruown", "dirshrd", "direxclown", "direxcl", "dirbusy", "dirpois"]);
            (all > 0.0).then(|| found(counters(state)) / all * 100.0)
        }
        _ => None,
    }
}

impl Shape for DirectoryStates {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let state = DirectoryState::ALL.into_iter().find(|state| column.split(' ').next() == Some(state.mnemonic()));
        let of = |prefetch: u64| match state {
            Some(state) => reading(scene, prefetch, share(state)).map(Some),
            None if column.starts_with("time") => {
                let time = |outcome: &Outcome| match outcome {
                    Outcome::Profile(profile) => Some(profile.row.time_ns),
                    _ => None,
                };
                reading(scene, prefetch, time).map(Some)
            }
            None => Ok(None),
        };
        match row {
            "without prefetch" => of(0),
            "with prefetch" => of(PREFETCH),
            BOTH => Ok(of(PREFETCH)?.zip(of(0)?).map(|(with, without)| with.over(without))),
            _ => Ok(None),
        }
    }
}
