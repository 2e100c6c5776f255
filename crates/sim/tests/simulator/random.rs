//! Tests of the random tester on every protocol: it finds no fault in a sound machine and every planted one, and
//! look-ahead does not change its results.

use protocol::msi::catalogue;
use sim::random::{RandomReport, RandomTest};
use sim::{Fault, Mode};
use units::Duration;

/// FLASH with this number of processors, under a protocol.
fn flash(processors: u16, protocol: &str) -> machine::Description {
    let mut description = machine::load(&format!("flash-{processors}p")).unwrap();
    description.directory.as_mut().unwrap().protocol = protocol.to_owned();
    description
}

/// The listed protocols, and combinations of variants that no list has.
fn protocols() -> impl Iterator<Item = &'static str> {
    catalogue::names().chain(["cv=4/LB/IC/RAC", "limited-pointer=2/IR/RAC", "hybrid/IC/IR/RAC", "broadcast/IC"])
}

fn passes(test: &RandomTest, description: &machine::Description) -> RandomReport {
    test.run(description).unwrap_or_else(|failure| panic!("{}: {failure}", protocol_of(description)))
}

fn protocol_of(description: &machine::Description) -> &str {
    description.directory.as_ref().map_or("origin", |directory| &directory.protocol)
}

#[test]
fn every_protocol_of_flash_survives() {
    for (number, protocol) in (0..).zip(protocols()) {
        for (processors, delay) in [(8, 5000.0), (32, 0.0), (33, 1000.0)] {
            let test = RandomTest { delay: Duration::from_ns(delay), references: 500, ..RandomTest::new(number) };
            passes(&test, &flash(processors, protocol));
        }
    }
}

#[test]
fn the_largest_flash_survives() {
    for protocol in catalogue::TABLE_5_1 {
        let report = passes(&RandomTest { references: 300, lines: 4096, ..RandomTest::new(64) }, &flash(64, protocol));
        let lines = report.observed.lines;
        assert!(report.references() > 64 * 300 && lines > 1000, "{protocol}: {lines} lines");
    }
}

#[test]
fn the_origins_survive() {
    for (machine, references) in [("bitmap", 2000), ("origin2000-r12k-300-64p", 500), ("origin2000-r12k-300-256p", 100)]
    {
        for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 5000.0)] {
            let test = RandomTest { delay: Duration::from_ns(delay), references, ..RandomTest::new(seed) };
            passes(&test, &machine::load(machine).unwrap());
        }
    }
}

#[test]
fn snooping_buses_survive() {
    for (processors, changes) in [
        (1, &[][..]),
        (4, &[]),
        (4, &[("bus.outstanding", "1")]),
        (16, &[("bus.outstanding", "64"), ("banks.channels", "1"), ("banks.banks_per_channel", "1")]),
        (64, &[("bus.snoop_cycles", "1"), ("bus.arbitration_cycles", "0")]),
    ] {
        let name = format!("smp-{processors}p");
        let description = machine::resolve_changed(&name, &name, "", changes).unwrap().description;
        for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 50.0)] {
            let test = RandomTest { delay: Duration::from_ns(delay), references: 500, ..RandomTest::new(seed) };
            let ahead = passes(&test, &description);
            assert!(ahead == passes(&RandomTest { mode: Mode::LockStep, ..test }, &description), "{name}, seed {seed}");
            assert!(processors == 1 || ahead.invalidations() > 100, "{name}: {} invalidations", ahead.invalidations());
        }
    }
}

/// The tester causes the rare cases that it is for: contention, exhausted pointer stores, lines kept and displaced.
#[test]
fn it_comes_to_pass_what_is_rare_elsewhere() {
    for protocol in ["dynamic-pointer/RAC", "hybrid/RAC"] {
        let report = passes(&RandomTest { references: 400, ..RandomTest::new(0) }, &flash(64, protocol));
        assert!(report.reclamations() > 0, "{protocol} reclaims");
        assert!(report.refusals() > 1000 && report.writebacks() > 1000 && report.invalidations() > 1000, "{protocol}");
        let caches = || report.nodes.iter().filter_map(|node| node.remote_access_cache);
        let (accesses, misses) = caches().fold((0, 0), |sum, cache| (sum.0 + cache.accesses, sum.1 + cache.misses));
        assert!(accesses > misses && misses > 0, "{protocol}: {misses} of {accesses} miss in remote access caches");
        let (_, most) = report.observed.worst.unwrap();
        assert!(most > 100, "{protocol}: no line is missed on more than {most} times");
        assert!(report.observed.stores > 5000 && report.observed.loads > 5000, "{protocol}: hits are compared, too");
    }
}

/// The operating system moves and copies the pages under the programs, on FLASH by shootdowns and on the Origin by bus errors.
#[test]
fn machines_that_move_pages_survive() {
    let pages = [
        ("os.migration", "true"),
        ("os.migration_threshold", "3"),
        ("os.migration_limit", "1000"),
        ("os.replication", "true"),
        ("os.coverage_radius", "0"),
        ("os.page_fault_ns", "900"),
        ("tlb.page_kib", "4"),
    ];
    for (seed, base, protocol) in [
        (4, "flash-8p", Some("dynamic-pointer/RAC")),
        (1, "flash-16p", Some("hybrid/IR")),
        (2, "flash-16p", Some("bit-vector/RH")),
        (8, "flash-64p", Some("cv=2")),
        (3, "origin2000-r12k-300-16p", None),
    ] {
        let changes: Vec<_> = pages.into_iter().chain(protocol.map(|name| ("directory.protocol", name))).collect();
        let description = machine::resolve_changed(base, base, "changed", &changes).unwrap().description;
        let test = RandomTest { references: 400, ..RandomTest::new(seed) };
        let ahead = passes(&test, &description);
        // Random delays are drawn in the order of events, some of which look-ahead omits where pages move on the Origin.
        if protocol.is_some() || test.delay == Duration::ZERO {
            assert!(ahead == passes(&RandomTest { mode: Mode::LockStep, ..test }, &description), "{base}, seed {seed}");
        }
        assert!(
            ahead.paging.migrations > 5 && ahead.paging.replications > 10 && ahead.paging.collapses > 10,
            "{base}: {:?}",
            ahead.paging
        );
        let (stale, taken) = (ahead.paging.bus_errors > 0, ahead.paging.shootdowns > 0);
        assert_eq!((stale, taken), (protocol.is_none(), protocol.is_some()), "{base}: {:?}", ahead.paging);
    }
}

#[test]
fn running_ahead_changes_nothing() {
    for (number, protocol) in (100..).zip(protocols()) {
        for delay in [0.0, 3000.0] {
            let ahead = RandomTest { delay: Duration::from_ns(delay), references: 400, ..RandomTest::new(number) };
            let step = RandomTest { mode: Mode::LockStep, ..ahead };
            let description = flash(12, protocol);
            assert!(
                passes(&ahead, &description) == passes(&step, &description),
                "{protocol}, seed {number}, delay {delay} ns"
            );
        }
    }
}

/// Every planted fault is found, each on protocols where it can strike: a tester that finds none would prove nothing.
#[test]
fn planted_faults_are_found() {
    let everywhere = ["bit-vector", "cv=2/LB", "dynamic-pointer", "hybrid/RAC", "hybrid/IR", "limited-pointer"];
    let elsewhere = |fault: &Fault| {
        matches!(
            fault,
            Fault::LostEcho
                | Fault::DroppedPacket
                | Fault::ForgottenFlush
                | Fault::ForgottenPoison
                | Fault::StaleTranslation
        )
    };
    for &fault in Fault::ALL.iter().filter(|fault| !elsewhere(fault)) {
        let protocols: &[_] = match fault {
            // A list holds a node twice after a late hint; a missing link takes more than these tests to show.
            Fault::OvertakenHint => &["bit-vector/RH"],
            _ => &everywhere,
        };
        for protocol in protocols {
            is_found(fault, &flash(16, protocol));
        }
        if !matches!(fault, Fault::OvertakenHint | Fault::ForgottenSharer) {
            is_found(fault, &machine::load("origin2000-r12k-300-16p").unwrap());
        }
    }
}

#[test]
fn planted_faults_of_a_snooping_bus_are_found() {
    for fault in [Fault::KeptCopy, Fault::StaleData] {
        is_found(fault, &machine::load("smp-8p").unwrap());
    }
}

/// One of a few tests finds the planted fault, and none of them fails without it.
fn is_found(fault: Fault, description: &machine::Description) {
    let found = (0..6).find(|&seed| {
        let sound = RandomTest { references: 1000, lines: 512, ..RandomTest::new(seed) };
        passes(&sound, description);
        RandomTest { fault: Some(fault), ..sound }.run(description).is_err()
    });
    assert!(found.is_some(), "{}: {} is not found", protocol_of(description), fault.name());
}

#[test]
fn equal_tests_give_equal_reports() {
    let description = flash(16, "hybrid/RAC");
    let test = RandomTest::new(5);
    assert_eq!(passes(&test, &description), passes(&test, &description));
    assert_ne!(passes(&test, &description), passes(&RandomTest::new(6), &description));
}

/// Rings of SCI nodes in every form: pass-transmission options, buffers of one packet, other processors and networks, several
/// processors and memories a node.
#[test]
fn sci_rings_survive() {
    let tiny = [("sci_ring.output_packets", "1"), ("sci_ring.input_packets", "1")];
    let one = [&tiny[..], &[("sci_ring.transmission", "one")]].concat();
    let several = [&tiny[..], &[("sci_ring.transmission", "several"), ("sci_ring.active_buffers", "3")]].concat();
    let windowed = [
        ("processor.model", "windowed"),
        ("processor.instruction_window", "16"),
        ("processor.outstanding_misses", "4"),
        ("processor.outstanding_stores", "4"),
        ("processor.outstanding_upgrades", "4"),
        ("sci.rollout_first", "false"),
    ];
    let pairs = [("topology.processors_per_node", "2"), ("memory.controllers", "2")];
    let fours = [&one[..], &[("topology.processors_per_node", "4"), ("topology.memory_nodes", "1")]].concat();
    let cases: [(u16, &[(&str, &str)]); 13] = [
        (1, &[]),
        (2, &[]),
        (3, &one),
        (5, &tiny),
        (16, &several),
        (16, &windowed),
        (12, &[("topology.kind", "crossbar"), ("crossbar.latency_ns", "100"), ("sci.rollout_first", "false")]),
        (6, &[("topology.memory_nodes", "2")]),
        (33, &[("processor.clock_mhz", "200"), ("l2.hit_cycles", "7"), ("l2.tag_check_cycles", "15")]),
        (64, &several),
        (2, &pairs),
        (16, &pairs),
        (24, &fours),
    ];
    for (processors, changes) in cases {
        survives(&format!("sci-ring-{processors}p"), changes, 4000);
    }
}

/// A machine of SCI nodes passes, with the same results when processors run ahead, and when messages are delayed.
fn survives(name: &str, changes: &[(&str, &str)], references: u32) {
    let description = machine::resolve_changed(name, name, "", changes).unwrap().description;
    let processors = description.topology.processors;
    for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 30.0)] {
        let references = references / processors.max(8);
        let test = RandomTest { delay: Duration::from_ns(delay), references, lines: 256, ..RandomTest::new(seed) };
        let ahead = passes(&test, &description);
        let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, &description);
        assert!(ahead == step, "{name} {changes:?}, seed {seed}, delay {delay} ns");
        assert!(ahead.sent("STORE_AROUND") > 5, "{name} {changes:?}: {}", ahead.sent("STORE_AROUND"));
        let purged = ahead.invalidations();
        assert!(processors == 1 || purged > 20, "{name} {changes:?}: {purged} elements purged");
    }
}

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

/// Passes with look-ahead and without, with equal results, and with replacements of filter entries where there are any.
fn server_survives(name: &str, description: &machine::Description, references: u32) {
    for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 30.0)] {
        let test = RandomTest { delay: Duration::from_ns(delay), references, lines: 1024, ..RandomTest::new(seed) };
        let ahead = passes(&test, description);
        let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, description);
        assert!(ahead == step, "{name}, seed {seed}, delay {delay} ns");
        let invalidated = ahead.invalidations();
        assert!(invalidated > 20, "{name}: {invalidated} invalidations");
    }
}

/// Servers of every kind: directories, third-level caches, networks within and between sockets, and the tightest stores.
#[test]
fn servers_survive() {
    let tight = [("l3_slice.trackers", "1"), ("home.trackers", "1"), ("socket_link.credits", "1")];
    let divided = |cores| {
        let nodes =
            [("server.nodes_per_socket", "2"), ("server.clusters_per_socket", "2"), ("memory.controllers", "1")];
        [&nodes[..], &[("topology.processors_per_node", cores)]].concat()
    };
    let sub_numa = divided("14");
    let cluster_on_die =
        [&divided("9")[..], &[("home.kind", "directory"), ("home.entries", "64"), ("home.ways", "8")]].concat();
    let one_node =
        [("server.nodes_per_socket", "1"), ("topology.processors_per_node", "64"), ("memory.controllers", "4")];
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], u32);
    let cases: [Case<'_>; 12] = [
        ("xeon-8180-2s", &sub_numa, 80),
        ("xeon-e5-2699v3-2s", &cluster_on_die, 80),
        ("epyc-7702-2s", &one_node, 30),
        ("xeon-8180-2s", &[], 150),
        ("xeon-8180-2s", &tight, 60),
        ("xeon-8180-2s", &[("home.opportunistic_snoops", "true"), ("home.entries", "0")], 80),
        ("xeon-8180-2s", &[("home.at_slice", "false"), ("home.early_read", "false"), ("home.forwarding", "moesi")], 80),
        ("xeon-e5-2699v3-2s", &[], 150),
        ("xeon-e5-2699v3-2s", &[("home.kind", "early-snoop")], 150),
        ("xeon-e5-2699v3-2s", &[("home.kind", "directory"), ("home.entries", "64"), ("home.ways", "8")], 80),
        ("epyc-7702-2s", &[], 60),
        ("epyc-7702-2s", &tight, 30),
    ];
    for (name, changes, references) in cases {
        let description = machine::resolve_changed(name, name, "", changes).unwrap().description;
        server_survives(&format!("{name} {changes:?}"), &description, references);
    }
}

/// Servers whose snoop filters, inclusive caches and probe filters have sets of one line, for which requests wait.
#[test]
fn servers_with_room_for_one_line_survive() {
    let cases: [(&str, &[(&str, &str)]); 3] = [
        ("xeon-8180-2s", &[("l3_slice.filter_ways", "1"), ("l3_slice.ways", "1"), ("l3_slice.size_kib", "1024")]),
        ("xeon-e5-2699v3-2s", &[("l3_slice.ways", "1"), ("l3_slice.size_kib", "2048")]),
        ("epyc-7702-2s", &[("home.ways", "1")]),
    ];
    for (name, changes) in cases {
        let description = machine::resolve_changed(name, name, "", changes).unwrap().description;
        server_survives(&format!("{name} {changes:?}"), &description, 40);
    }
}

/// Eight sockets of 64 cores, with three links each.
#[test]
fn the_largest_servers_survive() {
    let mut description = machine::load("xeon-8180-2s").unwrap();
    let layout = [&["UU M . . U . M ."][..], &["C C C C C C C C"; 8]].concat();
    let server = description.server.as_mut().unwrap();
    (server.layout, server.sockets) = (layout.into_iter().map(str::to_owned).collect(), 8);
    description.socket_link.as_mut().unwrap().links = 3;
    let cores = machine::server::Package::new(description.server.as_ref().unwrap()).unwrap().cores.len() as u32;
    (description.topology.processors, description.topology.processors_per_node) = (8 * cores, cores);
    description.check().unwrap();
    assert_eq!(cores, 64);
    server_survives("8 x 64", &description, 12);
}

#[test]
fn planted_faults_of_servers_are_found() {
    for fault in [Fault::KeptCopy, Fault::StaleData, Fault::LostAcknowledgement] {
        for machine in ["xeon-8180-2s", "xeon-e5-2699v3-2s", "epyc-7702-2s"] {
            let description = machine::load(machine).unwrap();
            let found = (0..6).any(|seed| {
                let test = RandomTest { references: 100, lines: 256, fault: Some(fault), ..RandomTest::new(seed) };
                test.run(&description).is_err()
            });
            assert!(found, "{machine}: {} is not found", fault.name());
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

/// Rings that switches join, with every pass-transmission option, with buffers of one packet and without delay in switches.
#[test]
fn joined_sci_rings_survive() {
    let tiny = [("sci_ring.output_packets", "1"), ("sci_ring.input_packets", "1"), ("sci_ring.switch_ns", "0")];
    let several = [("sci_ring.transmission", "several"), ("sci_ring.active_buffers", "3")];
    for name in ["sci-rings-2x2", "sci-rings-2x8", "sci-rings-4x16"] {
        survives(name, &[], 4000);
        for transmission in ["one", "one-of-each"] {
            survives(name, &[&tiny[..], &[("sci_ring.transmission", transmission)]].concat(), 2500);
        }
        survives(name, &[&tiny[..], &several].concat(), 2500);
    }
    survives("sci-rings-16x1", &tiny, 2500);
    survives("sci-rings-16x16", &[], 4000);
}

#[test]
fn planted_faults_of_sharing_lists_are_found() {
    use Fault::{DroppedPacket, KeptCopy, LostAcknowledgement, LostEcho, StaleData};
    for fault in [KeptCopy, StaleData, LostAcknowledgement, LostEcho, DroppedPacket] {
        is_found(fault, &machine::load("sci-ring-8p").unwrap());
    }
}
