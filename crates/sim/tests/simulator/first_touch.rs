//! The directive by which pages that one thread has initialised move to the nodes that touch them next.

use sim::{Mode, Options, Program, Simulator, Thread};
use units::{CpuId, NodeId, VirtualAddr};

/// Pages of each processor.
const PAGES: usize = 3;

/// The machine called `name` with changed keys.
fn machine(name: &str, changes: &[(&str, &str)]) -> machine::Description {
    machine::resolve_changed(name, name, "", changes).expect("a machine").description
}

/// One page in two threads' turns: all by the first thread, and then each by the thread of its own processor.
fn program(cpu: u16, start: VirtualAddr, (page, cpus): (u64, u16)) -> Program {
    Box::new(move |thread: &mut Thread<'_>| {
        let own = |cpu: u16, number: usize| start.offset((usize::from(cpu) * PAGES + number) as u64 * page);
        if cpu == 0 {
            (0..cpus).for_each(|cpu| (0..PAGES).for_each(|number| thread.store(own(cpu, number))));
        }
        thread.barrier();
        thread.measure(true);
        // Interrupts need a moment.
        thread.work(100_000);
        for round in 0..4 {
            (0..PAGES).for_each(|number| {
                thread.load(own(cpu, number));
                thread.store(own(cpu, number).offset(8 + 128 * round));
            });
        }
        thread.measure(false);
    })
}

#[test]
fn pages_move_to_the_first_touch_of_the_measured_part() {
    let again = ("os.touch_again", "true");
    for name in ["dsm-cluster-4x2", "flash-8p", "origin2000-r12k-300-8p"] {
        let run = |changes: &[(&str, &str)], mode| {
            let changes = [&[("os.placement", "first-touch")], changes].concat();
            let description = machine(name, &changes);
            let options = Options { check_loads: true, mode, ..Options::default() };
            let mut simulator = Simulator::new(&description, options).expect("it can be");
            let (page, cpus) = (description.tlb.page.0, description.topology.processors as u16);
            let start = simulator.map(&vec![None; PAGES * usize::from(cpus)]).expect("there is room");
            let programs = (0..cpus).map(|cpu| (CpuId(cpu), program(cpu, start, (page, cpus)))).collect();
            let reports = simulator.run(programs).expect("it runs");
            simulator.check_coherence().expect("coherent");
            let ends: Vec<_> = reports.iter().map(|report| report.finished).collect();
            (simulator.paging().clone(), ends)
        };
        let (before, _) = run(&[], Mode::LookAhead);
        assert_eq!((before.migrations, before.placed.iter().skip(1).sum::<u64>()), (0, 0), "{name}: all on node 0");
        let (after, ends) = run(&[again], Mode::LookAhead);
        let each = after.placed[0];
        assert!(after.placed.iter().all(|&pages| pages == each), "{name}: {:?}", after.placed);
        let nodes = after.placed.len() as u64;
        assert_eq!(after.migrations, each * (nodes - 1), "{name}: {after:?}");
        assert_eq!(run(&[again], Mode::LockStep), (after, ends), "{name}");
    }
}

/// The directive as a call of a program, where nothing is measured.
#[test]
fn a_program_gives_the_directive_itself() {
    let description = machine("dsm-cluster-2x2", &[("os.placement", "first-touch")]);
    let mut simulator =
        Simulator::new(&description, Options { check_loads: true, ..Options::default() }).expect("fine");
    let page = simulator.map(&[None]).expect("there is room");
    assert!(simulator.let_pages_move());
    let body = move |thread: &mut Thread<'_>| {
        thread.store(page);
        assert_eq!(thread.home_of(page), Some(NodeId(0)));
        thread.migrate(vec![CpuId(2)]);
        thread.load(page);
        assert_eq!(thread.home_of(page), Some(NodeId(0)), "no directive yet");
        thread.touch_again();
        thread.work(100_000);
        thread.load(page);
        assert_eq!(thread.home_of(page), Some(NodeId(1)));
        thread.migrate(vec![CpuId(0)]);
        thread.load(page);
        assert_eq!(thread.home_of(page), Some(NodeId(1)), "once");
    };
    simulator.run_process(vec![CpuId(0), CpuId(2)], None, Box::new(body)).expect("it runs");
    simulator.check_coherence().expect("coherent");
}

#[test]
fn machines_that_move_no_pages_refuse_it() {
    let refused = machine::resolve_changed("sci-ring-4p", "x", "", &[("os.touch_again", "true")]);
    let message = refused.expect_err("refused").to_string();
    assert!(
        message.contains("os.touch_again = true: SCI controllers neither count references nor copy pages"),
        "{message}"
    );
}
