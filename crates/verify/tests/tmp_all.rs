//! Temporary: states.
use verify::{Outcome, protocols};
#[test]
#[ignore]
fn all() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for protocol in protocols().filter(|p| p.name != "origin" && p.name.contains(&only)) {
        for config in (protocol.configurations)() {
            let run = protocol.run(&config).unwrap();
            println!("{:22} {} {}: {} states {} transitions depth {} {:.2} s", protocol.name, config.caches, config.lines, run.states, run.transitions, run.depth, run.time.as_secs_f64());
            if let Outcome::Counterexample(trace) = run.outcome { println!("{trace}"); break; }
        }
    }
}
#[test]
#[ignore]
fn fault_all() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for protocol in protocols().filter(|p| p.name != "origin" && p.name.contains(&only)) {
        for fault in (protocol.faults)() {
            let config = verify::Config { mutation: Some(fault.name), ..fault.config.clone() };
            let run = protocol.run(&config).unwrap();
            match run.outcome { Outcome::Counterexample(trace) => println!("{:22} {:32} {} {} {} in {} ({:.2} s)", protocol.name, fault.name, if trace.violation.property == fault.breaks {"OK"} else {"DIFF"}, trace.violation.property.name(), trace.violation.detail, trace.steps.len(), run.time.as_secs_f64()),
            Outcome::Ok => println!("{:22} {:32} NOT FOUND", protocol.name, fault.name) }
        }
    }
}
