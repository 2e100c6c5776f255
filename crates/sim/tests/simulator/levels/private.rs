//! Tests of references to private data: stores that go around the caches, and counts.

use sim::Thread;
use units::{Duration, PhysicalAddr};

use super::{machine, run, time_of};

/// A store to private data that no cache has goes to memory and leaves the line there; one that hits stays in the caches.
#[test]
fn a_private_store_that_misses_goes_around_the_caches() {
    let machine = machine("sci-ring-2p", "");
    let counted = |program: fn(&mut Thread<'_>, PhysicalAddr)| run(&machine, 1 << 20, program).counters;
    let stored = counted(|thread, base| {
        thread.store_private(base);
        thread.store_private(base);
    });
    assert_eq!((stored.secondary_misses, stored.private_misses), (2, [0, 2]), "the first store brings no line");
    let loaded = counted(|thread, base| {
        thread.store_private(base);
        thread.load_private(base);
        thread.store_private(base);
        thread.store_private(base);
    });
    assert_eq!(
        (loaded.secondary_misses, loaded.private_misses),
        (3, [1, 2]),
        "the line of the load is stored to once more"
    );
    let shared = counted(|thread, base| {
        thread.store(base);
        thread.store_private(base);
    });
    assert_eq!((shared.secondary_misses, shared.private_misses), (1, [0, 0]));
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

/// Primary hit time and tag check, then an access to memory and a word on its bus: 10 + 30 + 120 + 10 ns.
#[test]
fn a_store_around_the_caches_takes_an_access_and_a_word() {
    let description = machine("sci-ring-2p", "");
    let alone = time_of(&description, |_, _| (), |thread, base| thread.store_private(base));
    assert_eq!(alone, Duration::from_ns(170.0));
    // Memory reads a tag and gives its whole line, which crosses to the cache, where the store is done.
    let through = time_of(&description, |_, _| (), |thread, base| thread.store(base));
    assert!(through > alone, "{through}");
    let none = machine("sci-ring-2p", "[l2]\nallocate_on_private_write_miss = true\n");
    assert_eq!(time_of(&none, |_, _| (), |thread, base| thread.store_private(base)), through);
}
