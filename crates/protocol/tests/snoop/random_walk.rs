//! Random walks on a wide bus: sixteen caches, any operation at any time, the bus granted to any cache, and a cluster
//! that issues recalls.

use proptest::prelude::*;
use protocol::snoop::{Operation, Recall, Rights};

use crate::world::World;

const CACHES: usize = 16;

#[derive(Clone, Copy, Debug)]
enum Choice {
    Begin(usize, Operation),
    Bus(usize),
    DeviceBus,
    Grant,
    Recall(Recall),
    StoreOutside,
}

fn choice() -> impl Strategy<Value = Choice> {
    let operation = prop_oneof![4 => Just(Operation::Load), 2 => Just(Operation::Store), 1 => Just(Operation::Evict)];
    prop_oneof![
        6 => (0..CACHES, operation).prop_map(|(cpu, operation)| Choice::Begin(cpu, operation)),
        12 => (0..CACHES).prop_map(Choice::Bus),
        2 => Just(Choice::DeviceBus),
        3 => Just(Choice::Grant),
        1 => prop_oneof![Just(Recall::Share), Just(Recall::Take)].prop_map(Choice::Recall),
        1 => Just(Choice::StoreOutside),
    ]
}

proptest! {
    #[test]
    fn a_wide_bus_stays_coherent(choices in prop::collection::vec(choice(), 1..3000), remote: bool) {
        let mut world = if remote { World::remote(CACHES) } else { World::new(CACHES) };
        for choice in choices {
            match choice {
                Choice::Begin(cpu, operation) => { world.begin(cpu, operation); }
                Choice::Bus(cpu) => { world.bus(Some(cpu)); }
                Choice::DeviceBus => { world.bus(None); }
                Choice::Grant => { world.grant(); }
                Choice::Recall(recall) => { world.device.recall(recall); }
                Choice::StoreOutside if world.device.rights == Rights::None => {
                    world.outside = world.outside.next();
                    world.stores += 1;
                }
                Choice::StoreOutside => {}
            }
        }
        // Without new operations, every request completes.
        world.bus(None);
        for _ in 0..3 * CACHES {
            (0..CACHES).for_each(|cpu| { world.bus(Some(cpu)); });
            world.grant();
        }
        prop_assert!(world.caches.iter().all(|cache| cache.request.is_none()), "{:?}", world.caches);
    }
}
