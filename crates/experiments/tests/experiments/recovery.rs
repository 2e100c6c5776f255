//! Fits to measurements of simulated machines find what the machines' descriptions hold.

use bench::{Layout, Settings, SimulatedPlatform};
use experiments::fitting::{Analysis, Model, Surroundings, analyse, jobs};
use experiments::{System, parallel};
use units::Bytes;

/// How far a recovered parameter may be from the held one, in percent.
const MOST_PCT: f64 = 10.0;

/// Measures what `model` needs of a simulated machine, and fits it.
fn fitted(name: &str, model: Model) -> Analysis {
    let description = machine::load(name).expect("a machine");
    let layout = Layout::simulated(&description).expect("a layout");
    let surroundings = Surroundings { largest_area: Bytes::from_mib(64), ..Surroundings::simulated(&description) };
    let jobs = jobs(model, &layout, &surroundings, &Settings::simulated());
    let mut records = Vec::new();
    let work = |job: &experiments::fitting::Job| {
        let mut platform = SimulatedPlatform::new(description.clone(), sim::Options::default()).expect("simulable");
        job.run(&mut platform, &surroundings)
    };
    let keep = |_, record: Result<record::Record, _>| -> Result<(), bench::BenchError> {
        records.push(record?);
        Ok(())
    };
    parallel::in_order(&jobs, work, |_| (), keep).expect("all jobs run");
    let system = System::new(description, &bench::SuiteScope::whole(Settings::simulated())).expect("usable");
    analyse(model, &records, Some(&system), None).expect("a fit")
}

/// Every parameter with these symbols is found, and is what the description holds.
fn recovers(analysis: &Analysis, symbols: &[&str]) {
    for symbol in symbols {
        let of_symbol: Vec<_> = analysis.parameters.iter().filter(|parameter| parameter.symbol == *symbol).collect();
        assert!(!of_symbol.is_empty(), "no {symbol}");
        for parameter in of_symbol {
            let deviation = parameter.deviation_pct();
            assert!(deviation.is_some_and(|pct| pct.abs() <= MOST_PCT), "{deviation:?}: {parameter:?}");
        }
    }
}

#[test]
fn hub_router_and_memory_are_recovered_from_latencies() {
    for machine in ["dresden", "bootleg", "arctic"] {
        let analysis = fitted(machine, Model::Remote);
        recovers(&analysis, &["local", "penalty", "delay", "1 / bandwidth"]);
    }
}

#[test]
fn caches_and_translations_are_recovered_from_a_p3_diagram() {
    for machine in ["dresden", "bootleg"] {
        let analysis = fitted(machine, Model::Caches);
        recovers(&analysis, &["C1", "b1", "a1", "C2", "b2", "a2", "s_p", "e", "t_tlb"]);
    }
}

#[test]
fn the_reach_of_the_translation_buffer_is_recovered_from_random_windows() {
    recovers(&fitted("dresden", Model::Seidl), &["64 s_p"]);
}
