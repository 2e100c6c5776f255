//! Litmus tests on every registered protocol: what promises sequential consistency has it, and what relaxes it shows how.

use verify::{Consistency, Litmus, Outcome, Property, Trace, protocols};

fn broken(protocol: &verify::Protocol, litmus: &Litmus) -> Option<Trace> {
    match protocol.run_litmus(litmus).expect("litmus tests are small").outcome {
        Outcome::Counterexample(trace) => Some(trace),
        Outcome::Ok => None,
    }
}

/// Independent reads take four processors: 900 thousand states for the Origin, so it is left to `ccnuma verify --all`.
fn is_small(protocol: &verify::Protocol, litmus: &Litmus) -> bool {
    *litmus != Litmus::INDEPENDENT_READS || protocol.name != "origin"
}

#[test]
fn what_promises_sequential_consistency_has_it() {
    for protocol in protocols().filter(|protocol| protocol.consistency == Consistency::Sequential) {
        for litmus in Litmus::ALL.iter().filter(|litmus| is_small(protocol, litmus)) {
            if let Some(trace) = broken(protocol, litmus) {
                panic!("{}: {}: {trace}", protocol.name, litmus.name);
            }
        }
    }
}

/// FLASH dissertation, Section 5.2.3: with acknowledgement to requester, a processor goes on while others still read what it
/// has overwritten. Nobody else sees its store before that is over, since the home stays pending: so messages passed and
/// stores buffered show the relaxed order, and independent readers still agree. Of the two that buffer stores, the one at the
/// home waits as ever, which takes two steps more.
#[test]
fn acknowledgement_to_requester_shows_its_relaxed_order() {
    let relaxed: Vec<_> = protocols().filter(|protocol| protocol.consistency == Consistency::Relaxed).collect();
    assert!(relaxed.iter().all(|protocol| protocol.name.ends_with("/IR")) && relaxed.len() == 3);
    for protocol in relaxed {
        for (litmus, steps) in [(Litmus::MESSAGE_PASSING, 14), (Litmus::STORE_BUFFERING, 16)] {
            let trace = broken(protocol, &litmus).unwrap_or_else(|| panic!("{}: {}", protocol.name, litmus.name));
            assert_eq!(trace.violation.property, Property::SequentialConsistency, "{trace}");
            assert_eq!(trace.steps.len(), steps, "{trace}");
        }
        assert!(broken(protocol, &Litmus::INDEPENDENT_READS).is_none(), "{}", protocol.name);
    }
}
