//! Random walks on machines too large to explore: many nodes, coarse vectors, every access, arbitrary reordering.

use proptest::prelude::*;
use protocol::origin::{Geometry, Message};
use protocol::{Access, Agent};

use crate::world::World;

const ACCESSES: [Access; 6] = [
    Access::Load,
    Access::Store,
    Access::InstructionFetch,
    Access::ReadPrefetch,
    Access::WritePrefetch,
    Access::UncachedRead,
];

/// One choice of the scheduler; the state determines which of the possible steps it selects.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Access { cpu: u16, access: usize },
    Evict { cpu: u16 },
    Deliver { pick: usize, nearly_full: bool },
    Retry { pick: usize },
    ServeDeferred { pick: usize },
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        3 => (any::<u16>(), 0..ACCESSES.len()).prop_map(|(cpu, access)| Choice::Access { cpu, access }),
        1 => any::<u16>().prop_map(|cpu| Choice::Evict { cpu }),
        9 => (any::<usize>(), any::<bool>()).prop_map(|(pick, nearly_full)| Choice::Deliver { pick, nearly_full }),
        2 => any::<usize>().prop_map(|pick| Choice::Retry { pick }),
        2 => any::<usize>().prop_map(|pick| Choice::ServeDeferred { pick }),
    ]
}

/// Participating processors: few, so that they contend, and far apart, so that vectors become coarse.
fn participants(geometry: Geometry) -> Vec<u16> {
    let last = geometry.processors() - 1;
    let mut picked = vec![0, 1, 2, 5, last / 2, last - 1, last];
    picked.retain(|&cpu| cpu <= last);
    picked.sort_unstable();
    picked.dedup();
    picked
}

fn walk(world: &mut World, choices: &[Choice]) {
    let processors = participants(world.geometry);
    let pick_cpu = |cpu: u16| processors[usize::from(cpu) % processors.len()];
    for &choice in choices {
        match choice {
            Choice::Access { cpu, access } => {
                world.access(pick_cpu(cpu), ACCESSES[access]);
            }
            Choice::Evict { cpu } => {
                world.evict(pick_cpu(cpu));
            }
            Choice::Deliver { pick, nearly_full } if !world.network.is_empty() => {
                world.nearly_full = nearly_full;
                world.deliver_index(pick % world.network.len());
            }
            Choice::Retry { pick } => {
                let nacked: Vec<u16> = processors.iter().copied().filter(|&cpu| world.is_nacked(cpu)).collect();
                if !nacked.is_empty() {
                    world.retry(nacked[pick % nacked.len()]);
                }
            }
            Choice::ServeDeferred { pick } => {
                world.serve_deferred(processors[pick % processors.len()]);
            }
            Choice::Deliver { .. } => {}
        }
        world.check_copies();
        assert!(world.network.iter().all(has_a_valid_destination));
    }
    world.settle();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_walk_stays_coherent_and_settles(
        nodes in prop::sample::select(vec![1u16, 2, 64, 65, 130, 512]),
        choices in prop::collection::vec(choice(), 0..300),
    ) {
        walk(&mut World::new(Geometry::origin(nodes)), &choices);
    }

    #[test]
    fn walks_with_one_processor_a_node_too(choices in prop::collection::vec(choice(), 0..300)) {
        walk(&mut World::new(Geometry { processors_per_node: 1, ..Geometry::origin(70) }), &choices);
    }
}

/// The type of a message determines its kind of destination.
fn has_a_valid_destination(message: &Message) -> bool {
    use protocol::origin::MessageClass as C;
    match (message.kind.class(), message.to) {
        (C::Request | C::Revision, Agent::Home(_)) | (C::Reply, Agent::Processor(_)) => true,
        (C::Intervention, Agent::Interface(_)) => message.kind == protocol::origin::MessageKind::Invalidate,
        (C::Intervention, Agent::Processor(_)) => message.kind != protocol::origin::MessageKind::Invalidate,
        _ => false,
    }
}

impl World {
    fn is_nacked(&self, cpu: u16) -> bool {
        matches!(self.cache(cpu).pending, protocol::origin::Pending::Request(request) if request.nacked)
    }
}
