//! The random tester on clusters of SMPs, with caches of pages and pages that move.

use sim::random::RandomTest;
use sim::{Fault, Mode};
use units::Duration;

use super::{is_found, passes};

/// Clusters of SMPs in every form: caches of the device, protocols of the bus, networks, sizes, bare timings.
#[test]
fn clusters_survive() {
    let inclusive = [("cluster.cache", "inclusive")];
    let infinite = [("cluster.cache", "infinite"), ("bus.protocol", "moesi")];
    let moesi = [&inclusive[..], &[("bus.protocol", "moesi"), ("cluster.cache_ways", "2")]].concat();
    let pairs = [&moesi[..], &[("topology.processors_per_node", "2")]].concat();
    let single = [&inclusive[..], &[("topology.processors_per_node", "1"), ("bus.outstanding", "1")]].concat();
    let crossbar = [&moesi[..], &[("topology.kind", "crossbar"), ("crossbar.latency_ns", "100")]].concat();
    let bare = [
        ("bus.snoop_cycles", "1"),
        ("bus.arbitration_cycles", "0"),
        ("cluster.request_cycles", "0"),
        ("cluster.receive_cycles", "0"),
        ("cluster.directory_cycles", "0"),
        ("cluster.send_cycles", "0"),
    ];
    let late = [("cluster.early_grant", "false")];
    let writes = [("cluster.cache", "write-inclusive"), ("cluster.cache_kib", "8")];
    let owned_writes = [&writes[..], &[("bus.protocol", "moesi"), ("cluster.early_grant", "false")]].concat();
    let cases: [(u16, &[(&str, &str)]); 14] = [
        (4, &[]),
        (8, &[]),
        (16, &late),
        (16, &bare),
        (64, &[]),
        (16, &inclusive),
        (16, &writes),
        (32, &owned_writes),
        (32, &moesi),
        (4, &pairs),
        (6, &single),
        (32, &crossbar),
        (16, &infinite),
        (8, &[("topology.memory_nodes", "1"), ("cluster.cache", "inclusive"), ("memory.controllers", "2")]),
    ];
    for (processors, changes) in cases {
        let (name, most) = (format!("dash-{processors}p"), 8000 / u32::from(processors).max(8));
        let description = machine::resolve_changed("dash-64p", &name, "", &changes_to(processors, changes)).unwrap();
        for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 5000.0)] {
            let test =
                RandomTest { delay: Duration::from_ns(delay), references: most, lines: 512, ..RandomTest::new(seed) };
            let ahead = passes(&test, &description.description);
            let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, &description.description);
            assert!(ahead == step, "{name} {changes:?}, seed {seed}, delay {delay} ns");
            let (read, taken) = (ahead.sent("READ"), ahead.sent("FWD_READX"));
            assert!(
                processors == 4 && changes.is_empty() || read > 50 && taken > 20,
                "{name} {changes:?}: {read}, {taken}"
            );
        }
    }
}

/// Clusters whose devices relocate pages into caches of a few pages, while all processors use them.
#[test]
fn clusters_that_relocate_pages_survive() {
    let few = [("page_cache.size_kib", "16"), ("page_cache.threshold", "2"), ("cluster.cache_kib", "16")];
    let free = [("page_cache.trap_ns", "0"), ("page_cache.flush_ns", "0"), ("page_cache.shootdown_ns", "0")];
    let cases = [
        ("dsm-cluster-2x2", few.to_vec()),
        ("dsm-cluster", few.to_vec()),
        ("dsm-cluster", [&few[..], &free[..]].concat()),
        ("dsm-cluster-4x4", [&few[..], &[("bus.protocol", "mesi"), ("cluster.early_grant", "true")]].concat()),
        ("dsm-cluster-16x2", [&few[..], &[("cluster.cache", "remote-access")]].concat()),
        ("dsm-cluster-8x1", vec![("page_cache.size_kib", "4194304"), ("page_cache.threshold", "3")]),
    ];
    for (base, changes) in &cases {
        let description = machine::resolve_changed(base, base, "", changes).unwrap().description;
        for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 5000.0)] {
            let references = 24_000 / description.topology.processors;
            let test = RandomTest { delay: Duration::from_ns(delay), references, lines: 2048, ..RandomTest::new(seed) };
            let ahead = passes(&test, &description);
            let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, &description);
            assert!(ahead == step, "{base} {changes:?}, seed {seed}, delay {delay} ns");
            let of = |count: fn(sim::PageStatistics) -> u64| -> u64 {
                ahead.nodes.iter().filter_map(|node| node.pages).map(count).sum()
            };
            let (relocated, evicted) = (of(|pages| pages.relocations), of(|pages| pages.evictions));
            assert!(relocated > 10, "{base} {changes:?}, seed {seed}: {relocated} relocated, {evicted} evicted");
            let few = changes.contains(&("page_cache.size_kib", "16"));
            assert_eq!(evicted > 0, few, "{base} {changes:?}, seed {seed}: {relocated} relocated, {evicted} evicted");
        }
    }
}

/// Clusters whose homes count misses and move and copy pages, while all processors use them, with and without page caches.
#[test]
fn clusters_that_move_pages_survive() {
    let counted = [("miss_counters.threshold", "2"), ("miss_counters.reset_misses", "10"), ("os.page_fault_ns", "900")];
    let caches = [
        ("page_cache.size_kib", "16"),
        ("page_cache.threshold", "2"),
        ("cluster.cache_kib", "16"),
        ("miss_counters.relocation_delay_misses", "20"),
    ];
    let both = [("os.migration", "true"), ("os.replication", "true")];
    let cases = [
        ("dsm-cluster", [&counted[..], &both[..1]].concat(), (true, false, false)),
        ("dsm-cluster", [&counted[..], &both[1..]].concat(), (false, true, false)),
        ("dsm-cluster", [&counted[..], &both].concat(), (true, true, false)),
        ("dsm-cluster", [&counted[..], &both, &caches].concat(), (true, true, true)),
        ("dsm-cluster-2x2", [&counted[..], &both, &caches].concat(), (true, true, true)),
        ("dsm-cluster-16x4", [&counted[..], &both, &[("cluster.cache", "infinite")]].concat(), (true, true, false)),
        ("dash-16p", [&counted[..], &both].concat(), (true, true, false)),
    ];
    for (base, changes, wanted) in &cases {
        let description = machine::resolve_changed(base, base, "", changes).unwrap().description;
        for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 5000.0)] {
            let references = 24_000 / description.topology.processors;
            let test = RandomTest { delay: Duration::from_ns(delay), references, lines: 512, ..RandomTest::new(seed) };
            let ahead = passes(&test, &description);
            let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, &description);
            assert!(ahead == step, "{base} {changes:?}, seed {seed}, delay {delay} ns");
            let relocated: u64 = ahead.nodes.iter().filter_map(|node| node.pages).map(|pages| pages.relocations).sum();
            let paging = &ahead.paging;
            let found = (paging.migrations > 5, paging.replications > 2 && paging.collapses > 0, relocated > 2);
            assert_eq!(found, *wanted, "{base} {changes:?}, seed {seed}: {relocated} relocated, {paging:?}");
        }
    }
}

/// Changes of a description, with its number of processors.
fn changes_to<'a>(processors: u16, changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let counts = ["4", "6", "8", "16", "32", "64"];
    let count = counts.into_iter().find(|count| count.parse() == Ok(processors)).unwrap();
    [&[("topology.processors", count)], changes].concat()
}

#[test]
fn planted_faults_of_clusters_are_found() {
    for fault in [Fault::KeptCopy, Fault::StaleData, Fault::LostAcknowledgement, Fault::ForgottenSharer] {
        is_found(fault, &machine::load("dash-16p").unwrap());
    }
    let pages = [("page_cache.size_kib", "16"), ("page_cache.threshold", "2"), ("cluster.cache_kib", "16")];
    let relocating = machine::resolve_changed("dsm-cluster", "dsm-cluster", "", &pages).unwrap().description;
    for fault in [Fault::KeptCopy, Fault::StaleData, Fault::ForgottenFlush] {
        is_found(fault, &relocating);
    }
    let moves = [("miss_counters.threshold", "3"), ("os.migration", "true"), ("os.replication", "true")];
    let moving = machine::resolve_changed("dsm-cluster", "dsm-cluster", "", &moves).unwrap().description;
    let everywhere = [Fault::KeptCopy, Fault::StaleData, Fault::ForgottenSharer];
    for fault in everywhere.into_iter().chain([Fault::ForgottenFlush, Fault::ForgottenPoison, Fault::StaleTranslation])
    {
        is_found(fault, &moving);
    }
}
