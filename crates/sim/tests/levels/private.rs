//! Tests of references to private data that take no lines into the coherent cache: what they cost, and counts.

use sim::Thread;
use units::{Duration, PhysicalAddr};

use crate::{machine, run, time_of};

/// Loads leave private lines in the primary cache alone, stores leave them nowhere; memory serves what the primary cache does not.
#[test]
fn private_data_are_the_primary_caches_alone() {
    let machine = machine("sci-ring-2p", "");
    let counted = |program: fn(&mut Thread<'_>, PhysicalAddr)| run(&machine, 1 << 20, program).counters;
    let stored = counted(|thread, base| {
        thread.store_private(base);
        thread.store_private(base);
        thread.load_private(base);
    });
    assert_eq!((stored.primary_misses, stored.private_misses), (3, [1, 2]), "stores bring no line");
    let loaded = counted(|thread, base| {
        thread.load_private(base);
        thread.load_private(base.offset(8));
        thread.store_private(base);
        thread.load_private(base);
    });
    assert_eq!((loaded.primary_misses, loaded.private_misses), (1, [1, 1]), "a store leaves the line of the load there");
    // Shared data in the same set of the primary cache, of 8 KB.
    let displaced = counted(|thread, base| {
        thread.load_private(base);
        thread.load(base.offset(8 << 10));
        thread.load_private(base);
    });
    assert_eq!((displaced.secondary_misses, displaced.private_misses), (3, [2, 0]));
    let shared = counted(|thread, base| {
        thread.store(base);
        thread.store_private(base);
    });
    assert_eq!((shared.secondary_misses, shared.private_misses), (1, [0, 0]), "a line that the coherent cache has is there");
}

/// Stores and private references are counted by the processor, misses or not, those of barriers and locks included.
#[test]
fn references_are_counted_by_their_kind() {
    let machine = machine("sci-ring-2p", "");
    let counters = run(&machine, 1 << 20, |thread, base| {
        thread.load(base);
        thread.store(base);
        thread.indivisible(Some(base), || ());
        for word in 0..10 {
            thread.load_private(base.offset(4096 + 8 * word));
            thread.store_private(base.offset(8192 + 8 * word));
        }
        thread.load_private(base.offset(4096));
    })
    .counters;
    assert_eq!((counters.references, counters.stores, counters.private_references), (25, 12, [11, 10]));
    assert_eq!(counters.shared_references(), [2, 2]);
}

/// Primary hit time and tag check, then a line of memory and its way to the primary cache: 10 + 30 + 120 + 80 + 16 ns; and in the
/// cycles of the nodes of DASH (Hexsel and Topham, Table 2) as many as any fill from local memory.
#[test]
fn private_data_cost_a_line_of_memory() {
    let description = machine("sci-ring-2p", "");
    let alone = |program: fn(&mut Thread<'_>, PhysicalAddr)| time_of(&description, |_, _| (), program);
    assert_eq!(alone(|thread, base| thread.store_private(base)), Duration::from_ns(256.0));
    assert_eq!(alone(|thread, base| thread.load_private(base)), Duration::from_ns(256.0));
    let hit = time_of(&description, |thread, base| thread.load_private(base), |thread, base| thread.load_private(base));
    assert_eq!(hit, Duration::from_ns(10.0));
    let slow = machine("sci-ring-33-2p", "");
    let cycles = time_of(&slow, |_, _| (), |thread, base| thread.store_private(base)).0 / slow.processor.clock.period().0;
    assert_eq!(cycles, 26);
    let taken = machine("sci-ring-2p", "[l2]\nallocate_private = true\n");
    let through = time_of(&taken, |_, _| (), |thread, base| thread.store(base));
    assert_eq!(time_of(&taken, |_, _| (), |thread, base| thread.store_private(base)), through);
}
