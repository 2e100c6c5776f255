//! Simulated servers, measured by the suite `fit` and described from their records and from what an operating system would announce:
//! structure, times and rates of the original are found again.

use bench::{Layout, ListOrder, Plan, Settings, SimulatedPlatform, Suite, SuiteScope, computer_of_server};
use experiments::fitting::{Described, describe_server};
use experiments::{ExperimentError, parallel};
use machine::Description;
use machine::description::{Frames, HomeKind, Replacement};
use record::{ComputerRow, Record, Unit};
use units::{Bytes, CpuId, NodeId};

/// The records of those plans of the suite that `keeps` keeps, with lists in this order, and what an operating system would announce.
fn records(
    description: &Description,
    scope: &SuiteScope,
    order: ListOrder,
    keeps: impl Fn(&Plan) -> bool,
) -> (ComputerRow, Vec<Record>) {
    let layout = Layout::simulated(description).expect("a layout");
    let mut plans = Suite::Fit.plans(&layout, scope).expect("possible");
    plans.retain(keeps);
    let run = |plan: &Plan| {
        let platform = SimulatedPlatform::new(description.clone(), sim::Options::default()).expect("a machine");
        plan.run(&mut platform.in_order(order)).map_err(ExperimentError::from)
    };
    let outcomes = parallel::collected(&plans, run, |_| ()).expect("measured");
    let records = outcomes.into_iter().map(|outcome| outcome.record).collect();
    (computer_of_server(description).expect("a server"), records)
}

/// The records of the suite on a machine, few and short.
fn measured(description: &Description) -> (ComputerRow, Vec<Record>) {
    let settings = Settings { iterations: 1, latency_lines: 256, bandwidth_lines: 1024, ..Settings::simulated() };
    let l2 = description.coherent_cache().size;
    let settings = Settings { array: Bytes(4 * l2.0), ..settings };
    let scope = SuiteScope { largest_area: Bytes(4 * l2.0), areas_per_octave: 1, ..SuiteScope::whole(settings) };
    records(description, &scope, ListOrder::Ascending, |_| true)
}

fn described(machine: &str) -> (Description, Described) {
    let original = experiments::variant::resolve(machine).unwrap_or_else(|error| panic!("{error}")).description;
    let (computer, records) = measured(&original);
    let described =
        describe_server("mine.toml", &computer, &records).unwrap_or_else(|error| panic!("{machine}: {error}"));
    (original, described)
}

/// The same of one core alone, and without what lies farther than its node: the rest stays as the family has it. Lists in random order, up
/// to `largest`, so many an octave.
fn described_near(machine: &str, largest: Bytes, areas_per_octave: u32) -> Described {
    let (computer, records) = measured_near(machine, largest, areas_per_octave);
    describe_server("mine.toml", &computer, &records).unwrap_or_else(|error| panic!("{machine}: {error}"))
}

fn measured_near(machine: &str, largest: Bytes, areas_per_octave: u32) -> (ComputerRow, Vec<Record>) {
    let original = experiments::variant::resolve(machine).unwrap_or_else(|error| panic!("{error}")).description;
    let settings = Settings { iterations: 1, array: largest, stride: Bytes(256), ..Settings::simulated() };
    let scope = SuiteScope { largest_area: largest, areas_per_octave, ..SuiteScope::whole(settings) };
    let is_near = |plan: &Plan| {
        let placement = &plan.placement;
        placement.home == NodeId(0) && placement.locals == [CpuId(0)] && placement.remotes.is_empty()
    };
    records(&original, &scope, ListOrder::Random, is_near)
}

/// The structure is the original's, times agree within 5 %, rates within 10 %, and what the cores of a node read of another socket's
/// memory within `remote_pct`.
fn recovered(machine: &str, remote_pct: f64) {
    let (original, Described { description, compared, notes, text }) = described(machine);
    let shape = |machine: &Description| {
        let caches: Vec<_> = machine.cache_levels().map(|level| (level.size, level.ways, level.line)).collect();
        let (server, slice) = (machine.server.clone().expect("a server"), machine.l3_slice.clone().expect("a server"));
        let clusters = (server.sockets, server.nodes_per_socket, server.clusters_per_socket);
        let slices = (slice.kind, slice.size, slice.ways);
        let directory = machine.home.as_ref().map(|home| home.kind);
        let cores = (machine.topology.processors, machine.processor.threads);
        (caches, clusters, slices, directory, cores, machine.topology.nodes())
    };
    assert_eq!(shape(&description), shape(&original), "{machine}\n{text}");
    assert!(compared.len() >= 8, "{compared:#?}");
    for row in &compared {
        let remote = row.name == "a node's cores read memory of another socket";
        let error = row.error_pct().expect("simulated").abs();
        let most = if row.unit == Unit::Nanoseconds {
            5.0
        } else if remote {
            remote_pct
        } else {
            10.0
        };
        assert!(error <= most, "{machine}: {} off by {error:.1} %\n{compared:#?}\n{text}", row.name);
    }
    assert!(notes.iter().any(|note| note.starts_with("classes of pairs")), "{notes:?}");
    // Latency constants, beside the figures that follow from them.
    let cycles = |machine: &Description| (machine.l1.hit_cycles, machine.coherent_cache().hit_cycles);
    assert_eq!(cycles(&description), cycles(&original), "{machine}");
}

#[test]
fn skylake_is_recovered_with_its_directory() {
    recovered("xeon-8180-2s", 10.0);
}

#[test]
fn haswell_is_recovered_without_a_directory() {
    recovered("xeon-e5-2699v3-2s", 10.0);
}

#[test]
fn rome_is_recovered_with_its_core_clusters() {
    recovered("epyc-7702-2s", 10.0);
}

#[test]
fn hardware_threads_are_recovered() {
    recovered("xeon-6252n-2s+smt=2", 10.0);
}

/// Machines whose constants are not those of their families, so that no default is right.
#[test]
fn constants_that_no_family_has_are_recovered() {
    recovered(
        "xeon-8180-2s+l3_slice.lookup_cycles=21+l3_slice.snoop_cycles=33+memory.access_cycles=190+memory.line_cycles=14\
         +socket_link.latency_ns=34+home.response_cycles=16+l1.hit_cycles=5+l2.hit_cycles=13+l2.tag_check_cycles=13",
        // Neither the occupancy of links nor requests under way decide it, which leaves positions on the die that nothing shows.
        20.0,
    );
}

#[test]
fn core_clusters_with_other_constants_are_recovered() {
    recovered(
        "epyc-7702-2s+server.gateway_cycles=30+l3_slice.lookup_cycles=22+memory.access_cycles=140+socket_link.latency_ns=70\
         +processor.outstanding_misses=10",
        10.0,
    );
}

/// Lists that have room in the third-level cache, and of which others leave a part there, tell what these bring in.
#[test]
fn what_others_bring_in_is_recovered() {
    let machine = "xeon-8180-2s+l3_slice.replacement=random+l3_slice.others_mb_per_s=20000";
    let described = described_near(machine, Bytes::from_mib(4), 2);
    let slice = described.description.l3_slice.as_ref().expect("a server");
    assert!((12_000..33_000).contains(&slice.others_mb_per_s), "{}", described.text);
    assert!(described.notes.iter().any(|note| note.contains("GB/s into it")), "{:?}", described.notes);
}

/// Beside neighbours, lists that have room in the second-level cache and are found in the third-level one in part tell what threads of
/// others bring in.
#[test]
fn what_others_bring_into_private_caches_is_recovered() {
    let machine = "xeon-8180-2s+l2.replacement=random+l2.others_mb_per_s=20000";
    let (computer, mut records) = measured_near(machine, Bytes::from_mib(4), 2);
    let of_others = |records: &[Record]| {
        let described = describe_server("mine.toml", &computer, records).unwrap_or_else(|error| panic!("{error}"));
        let rate = described.description.l2.as_ref().map_or(0, |l2| l2.others_mb_per_s);
        (rate, described)
    };
    assert_eq!(of_others(&records).0, 0, "without neighbours");
    // A quick sample among slow ones tells of neighbours.
    let list = records
        .iter_mut()
        .find(|record| record.experiment == "area-read" && record.conditions.window == Some(Bytes::from_mib(4)))
        .expect("a list");
    list.min = list.median / 2.1;
    let (rate, described) = of_others(&records);
    // The least samples here have lines of others, too, so that a part of what these cost counts as the caches' own time.
    assert!((8_000..40_000).contains(&rate), "{rate}: {}", described.text);
    assert_eq!(described.description.l2.as_ref().map(|l2| l2.replacement), Some(Replacement::Random));
    assert!(described.notes.iter().any(|note| note.contains("threads of others")), "{:?}", described.notes);
}

/// Pages whose frames meet in sets leave lines out of a cache that they would fit in, as a policy does: the two are told apart together.
#[test]
fn pages_that_meet_in_a_cache_and_its_policy_are_recovered() {
    let machine = "epyc-7702-2s+memory.frames=scattered+l2.replacement=random";
    let Described { description, text, .. } = described_near(machine, Bytes::from_mib(2), 2);
    let found = (description.memory.frames, description.l2.as_ref().map(|l2| l2.replacement));
    assert_eq!(found, (Frames::Scattered, Some(Replacement::Random)), "{text}");
}

/// Lists in random order over far more pages than there are translations tell how long a page table is walked.
#[test]
fn walks_of_the_page_table_are_recovered() {
    let machine = "xeon-e5-2699v3-2s+tlb.miss_ns=45+tlb.large_page_kib=0";
    let described = described_near(machine, Bytes::from_mib(16), 1);
    let walk = described.description.tlb.miss.as_ns();
    assert!((42.0..48.0).contains(&walk), "{walk} ns\n{}", described.text);
    assert!(described.text.contains("calibrated: list of 16 MiB"), "{}", described.text);
}

/// One switch of the original, and no other change, changes what is found of its homes.
#[test]
fn the_penalty_of_lines_homed_at_their_reader_tells_how_homes_find_copies() {
    let (_, described) = described("xeon-e5-2699v3-2s+cod");
    assert_eq!(described.description.home.map(|home| home.kind), Some(HomeKind::Directory), "{}", described.text);
}
