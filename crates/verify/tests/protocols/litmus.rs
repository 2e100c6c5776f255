//! Litmus tests on every registered protocol: those that guarantee sequential consistency have it, and the others show
//! their relaxation.

use protocol::Access;
use verify::{Consistency, Instruction, Litmus, Order, Outcome, Program, Property, Trace, protocols};

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

fn relaxed() -> impl Iterator<Item = &'static verify::Protocol> {
    protocols().filter(|protocol| protocol.consistency == Consistency::Relaxed)
}

/// Acknowledgement to requester (FLASH dissertation, Section 5.2.3): a processor proceeds while others still read the
/// contents that it has overwritten. No other processor observes its store before all acknowledgements have arrived,
/// since the home stays pending: message passing and store buffering show the relaxed order, and independent readers
/// still agree. In store buffering, the processor on the home node waits as in the base protocol, which takes two steps
/// more.
#[test]
fn acknowledgement_to_requester_shows_its_relaxed_order() {
    let relaxed: Vec<_> = relaxed().filter(|protocol| protocol.name.ends_with("/IR")).collect();
    assert_eq!(relaxed.len(), 3);
    for protocol in relaxed {
        for (litmus, steps) in [(Litmus::MESSAGE_PASSING, 14), (Litmus::STORE_BUFFERING, 16)] {
            let trace = broken(protocol, &litmus).unwrap_or_else(|| panic!("{}: {}", protocol.name, litmus.name));
            assert_eq!(trace.violation.property, Property::SequentialConsistency, "{trace}");
            assert_eq!(trace.steps.len(), steps, "{trace}");
        }
        assert!(broken(protocol, &Litmus::INDEPENDENT_READS).is_none(), "{}", protocol.name);
    }
}

/// Accesses to the lines 0 and 1.
const fn of(access: Access, line: usize) -> Instruction {
    Instruction { access, line }
}

/// Message passing between two nodes that are not the home, whose processor is idle. A line that the home alone has is
/// given away without an invalidation; here, the home goes on sharing what the reader has read.
const MESSAGE_PASSING_ELSEWHERE: Litmus = Litmus {
    name: "message-passing, home elsewhere",
    programs: &[IDLE, &[of(Access::Load, 0), of(Access::Load, 1), of(Access::Load, 0)], WRITER],
    evictions: false,
    order: Order::Sequential,
    allowed: Order::Sequential,
};
const IDLE: Program = &[];
const WRITER: Program = &[of(Access::Store, 0), of(Access::Store, 1)];

/// Writes ahead of acknowledgements, as in DASH: message passing and store buffering show the relaxed order. Nodes answer
/// others when all acknowledgements have arrived, so that independent readers still agree. Processors of one node would
/// not: they observe their neighbours' stores at once.
#[test]
fn writes_ahead_of_acknowledgements_show_their_relaxed_order() {
    let names: Vec<_> = relaxed().map(|protocol| protocol.name).filter(|name| !name.ends_with("/IR")).collect();
    assert_eq!(names, ["cluster/RC"]);
    let [early, waiting] = ["cluster/RC", "cluster/mesi"].map(|name| verify::protocol(name).expect("registered"));
    for litmus in [MESSAGE_PASSING_ELSEWHERE, Litmus::STORE_BUFFERING] {
        let trace = broken(&early, &litmus).unwrap_or_else(|| panic!("{}", litmus.name));
        assert_eq!(trace.violation.property, Property::SequentialConsistency, "{trace}");
        assert_eq!(broken(&waiting, &litmus), None, "{}", litmus.name);
    }
    assert_eq!(broken(&early, &Litmus::INDEPENDENT_READS), None);
}
