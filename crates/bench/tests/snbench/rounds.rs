//! Samples on a machine that is disturbed: taken again, reported, and never lost.

use bench::rounds::{interleaved, samples_of};
use bench::{Experiment, Layout, Placement, Plan, Platform, PlatformError, Settings, State, Trial};
use record::Warning;
use units::{Bytes, CpuId, NodeId};

use crate::mock::{Mock, row};

fn layout() -> Layout {
    row(2, Bytes::from_kib(16))
}

fn plan(experiment: Experiment, home: u16) -> Plan {
    let settings = Settings { lines: Some(8), iterations: 4, ..Settings::simulated() };
    Plan::new(experiment, State::Uown, Placement::new(NodeId(home), CpuId(0), None), settings)
}

#[test]
fn a_disturbed_sample_is_taken_again_and_counted() {
    let mut platform = Mock::new(layout());
    platform.disturbed = 2;
    let outcome = plan(Experiment::LmbenchRead, 0).run(&mut platform).expect("a valid plan");
    assert_eq!((outcome.record.n, outcome.record.conditions.repeated), (4, 2));
    assert_eq!(outcome.warnings, []);
}

#[test]
fn samples_that_stay_disturbed_are_kept_and_said_to_be() {
    let mut platform = Mock::new(layout());
    platform.disturbed = u32::MAX;
    let outcome = plan(Experiment::LmbenchRead, 0).run(&mut platform).expect("a valid plan");
    // Each of four samples was tried as often as there are samples, and twice more.
    assert_eq!((outcome.record.n, outcome.record.conditions.repeated), (4, 24));
    let [Warning::Disturbed { kept: 4, n: 4, disturbance }] = &outcome.warnings[..] else {
        panic!("{:?}", outcome.warnings)
    };
    assert_eq!(disturbance.switches, 4);
}

#[test]
fn trials_take_turns() {
    let mut platform = Mock::new(layout());
    let plans = [plan(Experiment::LmbenchRead, 0), plan(Experiment::LmbenchRdex, 1)];
    let mut trials: Vec<Trial> =
        plans.iter().map(|plan| Trial::new(plan, platform.layout()).expect("a valid plan")).collect();
    assert_eq!(samples_of(&trials, 3), 6);
    let mut asked = 0;
    // Interrupted after the third sample: the first trial has two by then, the second one.
    let (failed, complete) = interleaved(&mut trials, &mut platform, 3, |_, _, _| {
        asked += 1;
        asked < 3
    });
    assert!(failed.is_empty() && !complete);
    let taken: Vec<usize> = trials.iter().map(Trial::taken).collect();
    assert_eq!(taken, [2, 1]);
    assert_eq!(trials.remove(0).outcome(platform.layout()).record.n, 2);
}

/// A machine that has no room on node 1.
struct Full(Mock);

impl Platform for Full {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }
    fn choose_pages(&mut self, pages: Option<host::memory::PageKind>) -> Result<(), PlatformError> {
        self.0.choose_pages(pages)
    }
    fn allocate_across(&mut self, parts: &[(NodeId, Bytes)]) -> Result<bench::Region, PlatformError> {
        let (home, size) = parts[0];
        match home {
            NodeId(1) => Err(PlatformError::OutOfMemory { home, size, reason: "it is full".into() }),
            _ => self.0.allocate_across(parts),
        }
    }
    fn arrange(&mut self, tasks: &[bench::Task]) -> Result<(), PlatformError> {
        self.0.arrange(tasks)
    }
    fn conditions(&self) -> record::Conditions {
        self.0.conditions()
    }
    fn release_all(&mut self) {
        self.0.release_all();
    }
    fn run(&mut self, phase: bench::Phase<'_>) -> Result<Vec<bench::Measurement>, PlatformError> {
        self.0.run(phase)
    }
}

#[test]
fn a_trial_that_fails_leaves_the_others_alone() {
    let mut platform = Full(Mock::new(layout()));
    let plans = [plan(Experiment::LmbenchRead, 1), plan(Experiment::LmbenchRead, 0)];
    let mut trials: Vec<Trial> =
        plans.iter().map(|plan| Trial::new(plan, platform.layout()).expect("a valid plan")).collect();
    let (failed, complete) = interleaved(&mut trials, &mut platform, 3, |_, _, _| true);
    assert!(complete);
    assert_eq!(failed.iter().map(|failed| failed.trial).collect::<Vec<_>>(), [0]);
    assert!(failed[0].error.to_string().contains("it is full"), "{}", failed[0].error);
    assert_eq!((trials[0].taken(), trials[1].taken()), (0, 3));
}

#[test]
fn what_was_displaced_is_found_missing_by_the_check() {
    let mut platform = Mock::new(layout());
    let settings = Settings { lines: Some(16), check: true, ..Settings::simulated() };
    for state in [State::Cexh, State::Cexm, State::Dexd] {
        let placement = Placement::new(NodeId(0), CpuId(0), Some(CpuId(2)));
        let plan = Plan::new(Experiment::LmbenchRead, state, placement, settings.clone());
        let outcome = plan.run(&mut platform).expect("a valid plan");
        let share = if state == State::Cexm {
            "0 % of the lines were in the cache of CPU 2"
        } else {
            "100 % of the lines were in the cache of CPU 2"
        };
        let found = outcome.record.conditions.check.as_deref().unwrap_or_default();
        assert!(found.starts_with(share), "{state}: {found}");
        assert_eq!(outcome.warnings, [], "{state}");
    }
}
