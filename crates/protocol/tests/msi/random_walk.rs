//! Random walks on a FLASH of 64 nodes, too large to explore: every protocol of the catalogue, with messages delivered
//! at once or in any order, and stores that are exhausted.

use proptest::prelude::*;
use protocol::msi::catalogue::{Named, Sizes, Visitor, names, resolve};
use protocol::msi::{Access, SharingSet, Site};
use units::NodeId;

use crate::machine::Machine;

const LINES: usize = 4;
/// Sizes with few store entries for the lines of a home, so that they are reclaimed.
const SIZES: Sizes = Sizes { nodes: 64, links: 40, vectors: 2 };

/// One choice of the processors and the network.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Access { line: usize, node: u16, access: Access },
    Evict { line: usize, node: u16 },
    Deliver { pick: usize },
}

/// Accesses and evictions; `deliveries` out of ten choices deliver one message each.
fn choices(deliveries: u32) -> impl Strategy<Value = Vec<Choice>> {
    // Stores are rare, so that more nodes share a line than the threshold of clustered invalidation.
    let kind = prop_oneof![40 => Just(Access::Load), 1 => Just(Access::Store)];
    let access = (0..LINES, 0..SIZES.nodes, kind);
    let own = prop_oneof![
        3 => access.prop_map(|(line, node, access)| Choice::Access { line, node, access }),
        1 => (0..LINES, 0..SIZES.nodes).prop_map(|(line, node)| Choice::Evict { line, node }),
    ];
    let deliver = any::<usize>().prop_map(|pick| Choice::Deliver { pick });
    let choice = prop_oneof![10 - deliveries => own, deliveries => deliver];
    prop::collection::vec(choice, 1..2500)
}

/// A run of these choices on a machine. With `at_once`, all messages are delivered after each choice.
struct Walk<'a> {
    choices: &'a [Choice],
    at_once: bool,
}

impl Visitor for Walk<'_> {
    /// Number of lines reclaimed.
    type Output = u32;

    fn visit<S: SharingSet>(self, set: S, named: Named) -> u32 {
        let site = Site { home: NodeId(17), nodes: SIZES.nodes };
        let mut machine = Machine::with_lines(set, site, named.variant, LINES);
        machine.remote_access_cache = named.remote_access_cache;
        for &choice in self.choices {
            match choice {
                Choice::Access { line, node, access } => {
                    machine.begin(line, node, access);
                }
                Choice::Evict { line, node } => machine.begin_eviction(line, node),
                Choice::Deliver { pick } if !machine.network.is_empty() => {
                    machine.deliver_index(pick % machine.network.len());
                }
                Choice::Deliver { .. } => {}
            }
            if self.at_once {
                machine.settle();
                machine.check();
            }
        }
        machine.settle();
        machine.check();
        machine.reclaimed
    }
}

fn walk(name: &str, choices: &[Choice], at_once: bool) -> u32 {
    resolve(name, SIZES, Walk { choices, at_once }).expect("it is listed")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_protocol_gives_every_load_the_last_store(at_once in choices(0), in_any_order in choices(7)) {
        for name in names() {
            walk(name, &at_once, true);
            walk(name, &in_any_order, false);
            if !name.ends_with("/IC") {
                walk(&format!("{name}/IC"), &in_any_order, false);
            }
        }
    }
}

/// Loads of every line by every node exhaust link stores and vector stores.
#[test]
fn an_exhausted_store_reclaims_lines() {
    let loads = (0..SIZES.nodes).flat_map(|node| (0..LINES).map(move |line| (line, node)));
    let choices: Vec<_> = loads.map(|(line, node)| Choice::Access { line, node, access: Access::Load }).collect();
    for name in names() {
        let reclaims = name.starts_with("dynamic-pointer") || name.starts_with("hybrid");
        assert_eq!(walk(name, &choices, true) > 0, reclaims, "{name}");
    }
}
