//! Random walks on clusters of eight and sixteen nodes of four processors: any access, eviction or replacement at any
//! time, the bus granted to any requester, messages in any order, and every load checked.

use proptest::prelude::*;
use protocol::Access;

use crate::world::World;

const PER_NODE: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Choice {
    Begin(u16, Option<Access>),
    Bus(u16),
    DeviceBus(u16),
    Replace(u16),
    Deliver(u16),
}

fn choice() -> impl Strategy<Value = Choice> {
    let access = prop_oneof![4 => Just(Some(Access::Load)), 2 => Just(Some(Access::Store)), 1 => Just(None::<Access>)];
    prop_oneof![
        4 => (any::<u16>(), access).prop_map(|(cpu, access)| Choice::Begin(cpu, access)),
        12 => any::<u16>().prop_map(Choice::Bus),
        6 => any::<u16>().prop_map(Choice::DeviceBus),
        1 => any::<u16>().prop_map(Choice::Replace),
        12 => any::<u16>().prop_map(Choice::Deliver),
    ]
}

fn walk<const OWNED: bool>(nodes: usize, early_grant: bool, choices: &[Choice]) {
    let mut world = World::<OWNED>::new(nodes, PER_NODE, early_grant);
    let cpu = |any: u16| usize::from(any) % (nodes * PER_NODE);
    for &choice in choices {
        match choice {
            Choice::Begin(any, access) => {
                world.begin(cpu(any), access);
            }
            Choice::Bus(any) => {
                world.bus(cpu(any));
            }
            Choice::DeviceBus(any) => {
                world.device_bus(usize::from(any) % nodes);
            }
            Choice::Replace(any) => {
                world.replace(usize::from(any) % nodes);
            }
            Choice::Deliver(any) if !world.network.is_empty() => {
                world.deliver(usize::from(any) % world.network.len());
            }
            Choice::Deliver(_) => {}
        }
    }
    // Without new accesses, every request completes.
    world.settle();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn clusters_of_eight_nodes_stay_coherent(choices in prop::collection::vec(choice(), 1..6000), early: bool, owned: bool) {
        if owned { walk::<true>(8, early, &choices) } else { walk::<false>(8, early, &choices) }
    }

    #[test]
    fn clusters_of_sixteen_nodes_stay_coherent(choices in prop::collection::vec(choice(), 1..6000), early: bool, owned: bool) {
        if owned { walk::<true>(16, early, &choices) } else { walk::<false>(16, early, &choices) }
    }
}
