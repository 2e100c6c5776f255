//! Random walks on lists too long to explore: sixteen caches, any operation at any time, packets in any order.

use proptest::prelude::*;
use protocol::sci::Operation;

use crate::world::World;

const CACHES: usize = 16;

/// One choice of the scheduler.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Begin { cpu: usize, operation: Operation },
    Deliver { cpu: usize },
}

fn choice() -> impl Strategy<Value = Choice> {
    let operation = prop_oneof![6 => Just(Operation::Load), 1 => Just(Operation::Store), 3 => Just(Operation::Rollout)];
    prop_oneof![
        1 => (0..CACHES, operation).prop_map(|(cpu, operation)| Choice::Begin { cpu, operation }),
        4 => (0..CACHES).prop_map(|cpu| Choice::Deliver { cpu }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn long_lists_stay_coherent_and_come_to_rest(choices in prop::collection::vec(choice(), 1..4000)) {
        let mut world = World::new(CACHES);
        for choice in choices {
            match choice {
                Choice::Begin { cpu, operation } => world.begin(cpu, operation),
                Choice::Deliver { cpu } => world.deliver(cpu),
            };
        }
        // Without new operations, every transaction completes, in any order of service.
        for round in 0.. {
            prop_assert!(round < 10_000, "{:?}", world.caches);
            let busy = (0..CACHES).filter(|&cpu| world.deliver(cpu)).count();
            if busy == 0 {
                break;
            }
        }
        let list = world.list();
        prop_assert!(list.len() <= CACHES);
        for cpu in 0..CACHES {
            world.load(cpu);
        }
        prop_assert_eq!(world.list().len(), CACHES);
        (0..CACHES).rev().for_each(|cpu| world.roll_out(cpu));
        prop_assert!(world.list().is_empty());
    }
}
