//! A new sharing set, added from outside: one file that implements it, and one line that registers it.

use protocol::msi::{Insertion, SetWork, SharingSet, Site, Variant};
use units::{LineAddr, NodeId};
use verify::{Config, Litmus, Outcome, Protocol, msi_protocol};

/// Interval representation: the first and the last sharer, between which every node counts as one. The dissertation has
/// no such set.
#[derive(Clone, Copy, Debug)]
struct Interval;

/// Ends of the interval, both inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Ends(Option<(u16, u16)>);

impl SharingSet for Interval {
    type Header = Ends;
    type Store = ();

    fn store(&self) {}

    fn replacement_hints(&self) -> bool {
        false
    }

    fn is_empty(&self, header: &Ends) -> bool {
        header.0.is_none()
    }

    fn insert(
        &self,
        _: &Site,
        _: LineAddr,
        header: &mut Ends,
        (): &mut (),
        node: NodeId,
        _: &mut SetWork,
    ) -> Insertion {
        let (first, last) = header.0.unwrap_or((node.0, node.0));
        header.0 = Some((first.min(node.0), last.max(node.0)));
        Insertion::Done
    }

    fn drain(
        &self,
        _: &Site,
        header: &mut Ends,
        (): &mut (),
        work: &mut SetWork,
        mut visit: impl FnMut(NodeId, &SetWork),
    ) {
        for node in header.0.take().map(|(first, last)| first..=last).into_iter().flatten() {
            work.walked += 1;
            visit(NodeId(node), work);
        }
    }

    fn snapshot(&self, _: &Site, header: &Ends, (): &(), visit: impl FnMut(NodeId)) -> u8 {
        header.0.map(|(first, last)| first..=last).into_iter().flatten().map(NodeId).for_each(visit);
        0
    }

    fn restore(&self, _: &Site, _: LineAddr, (): &mut (), _: u8, nodes: &[NodeId]) -> Ends {
        let numbers = || nodes.iter().map(|node| node.0);
        Ends(numbers().min().zip(numbers().max()))
    }

    /// Position between two nodes depends on the number.
    fn class(&self, _: &Site, node: NodeId) -> u16 {
        node.0
    }
}

const BASE: Variant = Variant { clustering: None, acknowledge_requester: false };

const INTERVAL: Protocol = msi_protocol!("interval", "first and last sharer", Interval, BASE, false);

#[test]
fn it_is_explored_tested_and_counted_like_the_others() {
    let mut configurations = (INTERVAL.configurations)();
    configurations.retain(|config| config.caches <= 3);
    assert!(configurations.len() > 2);
    for config in &configurations {
        let run = INTERVAL.run(config).expect("the configuration is good");
        assert_eq!(run.outcome, Outcome::Ok, "{config:?}");
        assert!(run.states > 1000, "{config:?}");
    }
    for litmus in &Litmus::ALL {
        assert_eq!(INTERVAL.run_litmus(litmus).expect("litmus tests are small").outcome, Outcome::Ok, "{litmus:?}");
    }
}

#[test]
fn its_planted_faults_are_found() {
    let faults = (INTERVAL.faults)();
    // The set is a superset, so an upgrade can be granted to a copy that is gone.
    assert!(faults.iter().any(|fault| fault.name == "upgrade-nothing"));
    assert!(!faults.iter().any(|fault| fault.name == "leak-entries"), "it has no store");
    for fault in faults {
        let run = INTERVAL.run(&Config { mutation: Some(fault.name), ..fault.config }).expect("good");
        let Outcome::Counterexample(trace) = run.outcome else { panic!("{} is not found", fault.name) };
        assert_eq!(trace.violation.property, fault.breaks, "{}: {trace}", fault.name);
    }
}
