//! Where pages come to lie under each policy, and what that makes of programs.

use experiments::{ExperimentError, Simulated, Simulation, variant};
use sim::{Mode, Options};
use units::NodeId;
use workloads::{Settings, Workload};

fn workload(program: &str, settings: &[(&str, u64)]) -> Workload {
    let settings = settings.iter().fold(Settings::default(), |all, &(name, value)| all.with(name, value));
    Workload::new(program, &settings).expect("a program")
}

fn simulation(machine: &str, program: Workload, cpus: Option<u16>, mode: Mode) -> Result<Simulation, ExperimentError> {
    let description = variant::load(machine).expect("a machine");
    Simulation::new(description, program, cpus, Options { mode, check_loads: true, seed: 7, ..Options::default() })
}

fn run(machine: &str, program: Workload, mode: Mode) -> Simulated {
    let simulated = simulation(machine, program, None, mode).expect("it can run").run().expect("it runs");
    assert_eq!(simulated.wrong, None, "{machine}");
    simulated
}

/// The pages of each node, as the homes of all regions tell.
fn pages(simulated: &Simulated) -> Vec<u64> {
    let mut pages = vec![0; simulated.paging.placed.len()];
    simulated.homes.iter().flatten().flatten().for_each(|node| pages[node.index()] += 1);
    pages
}

#[test]
fn the_initialisers_of_fft_touch_first_where_it_wants_its_pages() {
    for machine in ["origin2000-r12k-300-8p", "flash-4p"] {
        let program = workload("fft", &[("points", 1 << 16)]);
        let planned = run(machine, program, Mode::LookAhead);
        let touched = run(&variant::with_placement(machine, "first-touch"), program, Mode::LookAhead);
        assert_eq!(planned.paging.faults, 0);
        assert!(touched.paging.faults > 64, "{:?}", touched.paging);
        let both = planned.homes.iter().flatten().zip(touched.homes.iter().flatten());
        let differ = both.clone().filter(|(planned, touched)| touched.is_some() && planned != touched).count();
        assert_eq!(differ, 0, "of {} pages on {machine}", both.count());
        assert!(touched.row.time_ns > planned.row.time_ns, "faults cost time");
    }
}

#[test]
fn each_policy_spreads_pages_as_it_says() {
    let program = workload("private", &[("lines", 1024)]);
    let spread = |placement: &str| {
        let simulated = run(&variant::with_placement("flash-4p", placement), program, Mode::LookAhead);
        assert_eq!(simulated.paging.placed, pages(&simulated), "{placement}");
        simulated.paging.placed
    };
    // 128 KiB of each of four processors are eight pages.
    assert_eq!(spread("planned"), [8, 8, 8, 8]);
    assert_eq!(spread("first-touch"), [8, 8, 8, 8]);
    assert_eq!(spread("round-robin"), [8, 8, 8, 8]);
    assert_eq!(spread("fixed=2"), [0, 0, 32, 0]);
    assert_eq!(spread("mld"), [8, 8, 8, 8]);
    assert_eq!(spread("mld=1"), [8, 8, 8, 8], "all four hang on one router");
    // Three processors that go round four nodes at the same pace meet another node at every turn.
    let time = |machine| {
        let simulation = simulation(machine, program, Some(3), Mode::LookAhead).expect("it can run");
        simulation.run().expect("it runs").row.time_ns
    };
    assert!(time("flash-4p+placement=round-robin") > time("flash-4p+placement=first-touch"), "most of it is remote");
}

#[test]
fn a_full_node_spills_to_the_nearest() {
    // Memory aggregation (FLASH dissertation, 3.2.2): one processor, more than its node holds.
    let machine = "flash-16p+topology.node_memory_mib=64+directory.remote_access_cache_mib=8";
    let program = workload("private", &[("lines", 40 << 13)]);
    let alone = |placement| {
        let machine = variant::with_placement(machine, placement);
        simulation(&machine, program, Some(1), Mode::LookAhead)
    };
    let refused = alone("planned").expect_err("node 0 holds 32 MiB").to_string();
    assert!(refused.contains("private needs 40 MiB on node 0"), "{refused}");
    let spilled = alone("first-touch").expect("the machine has room").run().expect("it runs");
    let placed = &spilled.paging.placed;
    assert_eq!((placed[0], placed[1], placed[2]), (2048, 512, 0), "32 MiB, and 8 MiB on the nearest: {placed:?}");
    assert_eq!(spilled.paging.spilled, 512);
    let too_much = workload("private", &[("lines", 33 * 8192)]);
    let whole = simulation(&variant::with_placement(machine, "first-touch"), too_much, None, Mode::LookAhead);
    let message = whole.expect_err("too much for all").to_string();
    assert!(message.contains("private needs 528 MiB") && message.contains("up to 512 MiB"), "{message}");
}

#[test]
fn without_colours_pages_of_several_nodes_compete_for_the_cache() {
    // Every node's memory begins at the same place of the cache.
    let program = workload("uniform", &[("lines", 2048), ("references", 20_000), ("writes", 0)]);
    let misses = |machine: &str| run(machine, program, Mode::LookAhead).row.secondary_misses;
    let machine = "flash-16p+l2.size_mib=4";
    let (coloured, plain) = (misses(machine), misses(&variant::with(machine, "os.page_colouring", false)));
    assert!(plain > coloured * 11 / 10, "{plain} without colours, {coloured} with");
}

#[test]
fn domains_are_placed_where_they_are_asked_for() {
    let machine = "origin2000-r12k-300-32p+placement=mld+os.domain_topology=cube+os.domain_affinity_node=13";
    let program = workload("private", &[("lines", 512)]);
    let simulated = simulation(machine, program, Some(8), Mode::LookAhead).expect("it can run").run().expect("it runs");
    let homes: Vec<_> = simulated.homes.iter().flatten().flatten().copied().collect();
    assert!(homes.contains(&NodeId(13)) && homes.contains(&NodeId(12)), "{homes:?}");
    let cpus: Vec<_> = simulated.row.processors.iter().flatten().map(|each| each.cpu.0 / 2).collect();
    assert_eq!(cpus.len(), 8);
    assert!(cpus.iter().all(|&node| homes.contains(&NodeId(node))), "threads run where their memory is");
}

/// The first toucher of a page must not depend on how far a processor runs ahead.
#[test]
fn running_ahead_changes_no_placement() {
    let programs = [
        workload("uniform", &[("lines", 1024), ("references", 300), ("writes", 30)]),
        workload("fft", &[("points", 1 << 12)]),
        workload("hot-spot", &[("references", 300)]),
    ];
    for machine in ["origin2000-r12k-300-8p", "flash-5p"] {
        for (program, placement) in programs.iter().zip(["round-robin", "first-touch", "mld=1"]) {
            let machine = variant::with_placement(machine, placement);
            let [ahead, in_step] = [Mode::LookAhead, Mode::LockStep].map(|mode| run(&machine, *program, mode));
            assert_eq!(ahead.row, in_step.row, "{} on {machine}", program.name());
            assert_eq!((ahead.paging, ahead.homes), (in_step.paging, in_step.homes), "{machine}");
        }
    }
}
