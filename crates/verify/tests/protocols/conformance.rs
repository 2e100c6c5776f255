//! Conformance of every registered protocol: every property holds, and every planted fault is found, by the property
//! that it violates.

use verify::{Config, Fault, Outcome, Protocol, Trace, protocols};

fn counterexample(protocol: &Protocol, fault: &Fault) -> Trace {
    let config = Config { mutation: Some(fault.name), ..fault.config.clone() };
    match protocol.run(&config).expect("the configuration is good").outcome {
        Outcome::Counterexample(trace) => trace,
        Outcome::Ok => panic!("{}: {} is not found", protocol.name, fault.name),
    }
}

#[test]
fn every_planted_fault_is_found_with_a_trace() {
    for protocol in protocols() {
        for fault in (protocol.faults)() {
            let trace = counterexample(protocol, &fault);
            let text = trace.to_string();
            println!("{} {}: {text}", protocol.name, fault.name);
            assert!(text.starts_with(trace.violation.property.name()), "{text}");
            assert_eq!(text.lines().count(), trace.steps.len() + 2, "a line a step, the heading and the initial state");
            assert!(trace.steps.iter().all(|step| !step.step.is_empty()), "{text}");
            assert_eq!(trace.violation.property, fault.breaks, "{} {}: {trace}", protocol.name, fault.name);
        }
    }
}

#[test]
fn every_protocol_has_every_property_in_its_smallest_configuration() {
    for protocol in protocols() {
        let configurations = (protocol.configurations)();
        let config = configurations.first().unwrap_or_else(|| panic!("{} is not explored", protocol.name));
        let run = protocol.run(config).expect("the configuration is good");
        assert!(run.states > 1, "{}", protocol.name);
        if let Outcome::Counterexample(trace) = &run.outcome {
            panic!("{}: {trace}", protocol.name);
        }
    }
}

#[test]
fn every_protocol_has_transition_tables() {
    for protocol in verify::protocols() {
        let rows = protocol.transitions.lines().filter(|line| line.starts_with("| "));
        assert!(protocol.transitions.starts_with("# Transitions of ") && rows.count() > 20, "{}", protocol.name);
    }
}

#[test]
fn names_are_unique_and_faults_known_by_them() {
    let names: std::collections::BTreeSet<_> = protocols().map(|protocol| protocol.name).collect();
    assert_eq!(names.len(), protocols().count());
    for protocol in protocols() {
        let faults = (protocol.faults)();
        assert!(!faults.is_empty(), "{} has no planted fault", protocol.name);
        for fault in &faults {
            assert_eq!(protocol.fault(fault.name).as_ref(), Ok(fault), "{}", protocol.name);
        }
        let unknown = protocol.fault("no-such-fault").map_err(|error| error.to_string());
        assert!(unknown.is_err_and(|text| text.contains(faults[0].name)), "{}", protocol.name);
    }
}
