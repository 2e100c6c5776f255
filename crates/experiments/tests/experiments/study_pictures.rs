//! Diagrams of the studies whose runs take hours, drawn from invented runs: each is checked for text that is cut off or covered,
//! and compared with what was last looked at. Nothing here is a figure of any machine.
//!
//! `INSTA_UPDATE=always cargo test --workspace --test experiments study_pictures` takes the new ones; look at each in a browser before it is
//! committed.

#[path = "../../../report/tests/pictures/check.rs"]
mod check;

use std::collections::BTreeMap;
use std::hash::Hasher;

use bench::{Settings, SuiteScope};
use experiments::{Finished, Reproduction};
use record::{ControllerCacheStatistics, ControllerStatistics, ProcessorStatistics, SimulationRow};
use sim::Options;
use twox_hash::XxHash64;
use units::{CpuId, NodeId};

/// The drawn figures over programs of the FLASH dissertation, all with more runs than a test can make.
const STUDIES: [&str; 15] = [
    "flash/figure-3.1",
    "flash/figure-3.5",
    "flash/figure-3.6",
    "flash/figure-4.5",
    "flash/figure-5.14",
    "flash/figure-5.17",
    "flash/figure-5.18",
    "flash/figure-5.19",
    "flash/figure-5.21",
    "flash/figure-5.25",
    "flash/figure-5.26",
    "flash/figure-6.7",
    "flash/figure-6.8",
    "flash/study-sharing",
    "flash/study-ideal",
];

/// Runs that have not happened: times and counts follow from what a run is one of, within a factor of three.
struct Invented;

impl Finished for Invented {
    fn known(&self, identity: &str) -> Option<SimulationRow> {
        let mut hasher = XxHash64::default();
        hasher.write(identity.as_bytes());
        let share = |bits: u32| (hasher.finish() >> bits & 0xff) as f64 / 255.0;
        let count = |bits: u32| 1_000_000 + (9e6 * share(bits)) as u64;
        let time_ns = 1e8 * (1.0 + 2.0 * share(40));
        let processor = ProcessorStatistics {
            cpu: CpuId(0),
            time_ns,
            spent_ns: BTreeMap::new(),
            misses: BTreeMap::new(),
            references: 1_000_000_000,
            secondary_misses: count(0),
            local_misses: Some(count(8)),
            local_remote_action_misses: Some(0),
            remote_misses: Some(count(16)),
            unloaded_ns: Some(time_ns * 0.1),
            wait_ns: Some(time_ns * share(40)),
            communication_ns: Some(time_ns * share(48)),
            coherence_ns: Some(time_ns * share(56)),
            mix: None,
        };
        let cache =
            |bits: u32| ControllerCacheStatistics { accesses: 10_000_000, misses: count(bits), stalled_ns: 0.0 };
        let controller = |bits: u32| ControllerStatistics {
            node: NodeId(0),
            occupancy_ns: 0.1 * time_ns,
            utilisation_pct: 10.0,
            queued_ns: 0.0,
            bus_ns: 0.0,
            memory_ns: 0.0,
            instruction_cache: None,
            data_cache: None,
            remote_access_cache: Some(cache(bits)),
            handlers: BTreeMap::new(),
            sent: BTreeMap::new(),
            invalidations: Vec::new(),
            pages: None,
            link: None,
            switch: None,
        };
        Some(SimulationRow {
            cpus: 63,
            time_ns,
            mean_time_ns: 0.9 * time_ns,
            run_ns: 1.1 * time_ns,
            references: 1_000_000_000,
            miss_latency_ns: Some(800.0 + 1000.0 * share(16)),
            occupancy_ns: time_ns * (2.0 + 8.0 * share(24)),
            secondary_misses: count(0),
            utilisation_pct: 5.0 + 60.0 * share(24),
            max_utilisation_pct: 50.0 + 50.0 * share(32),
            invalidations: vec![1000, 500, 100],
            processors: Some(vec![processor]),
            controllers: Some([24, 32, 48].map(controller).to_vec()),
            ..SimulationRow::default()
        })
    }

    fn note(&self, _row: &SimulationRow) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn every_study_is_drawn_without_covered_text() {
    let mut drawn = 0;
    for study in STUDIES {
        let reproduction = Reproduction::prepare(study, SuiteScope::whole(Settings::simulated())).expect("a study");
        let deliver = |_| Ok::<(), std::convert::Infallible>(());
        let Ok((outcomes, failed)) = reproduction.run(Options::default(), &Invented, |_| (), deliver);
        assert!(failed.is_empty(), "{study}: {:?}", failed.first().map(|failed| failed.error.to_string()));
        for (name, plot) in reproduction.plots(&outcomes) {
            let svg = plot.svg().unwrap_or_else(|error| panic!("{name}: {error}"));
            check::checked(&name, &svg);
            insta::assert_binary_snapshot!(&format!("{}.svg", name.replace('.', "-")), svg.into_bytes());
            drawn += 1;
        }
    }
    assert!(drawn >= STUDIES.len(), "{drawn} diagrams");
}
