//! Litmus tests on every registered protocol: those that guarantee sequential consistency have it, and the others show
//! their relaxation.

use verify::{Consistency, Litmus, Outcome, Property, Trace, protocols};

fn broken(protocol: &verify::Protocol, litmus: &Litmus) -> Option<Trace> {
    match protocol.run_litmus(litmus).expect("litmus tests are small").outcome {
        Outcome::Counterexample(trace) => Some(trace),
        Outcome::Ok => None,
    }
}

/// Independent reads need four processors: 900 thousand states for the Origin, left to `ccnuma verify --all`.
fn is_small(protocol: &verify::Protocol, litmus: &Litmus) -> bool {
    *litmus != Litmus::INDEPENDENT_READS || protocol.name != "origin"
}

#[test]
fn protocols_of_sequential_consistency_have_it() {
    for protocol in protocols().filter(|protocol| protocol.consistency == Consistency::Sequential) {
        for litmus in Litmus::ALL.iter().filter(|litmus| is_small(protocol, litmus)) {
            if let Some(trace) = broken(protocol, litmus) {
                panic!("{}: {}: {trace}", protocol.name, litmus.name);
            }
        }
    }
}

/// Acknowledgement to requester (FLASH dissertation, Section 5.2.3): a processor proceeds while others still read the
/// contents that it has overwritten. No other processor observes its store before all acknowledgements have arrived,
/// since the home stays pending: message passing and store buffering show the relaxed order, and independent readers
/// still agree. In store buffering, the processor on the home node waits as in the base protocol, which takes two steps
/// more.
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
