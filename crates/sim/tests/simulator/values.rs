//! Loads whose addresses are computed from what was loaded before.

use machine::Description;
use sim::{Mode, Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, NodeId, PhysicalAddr};

const LINES: u64 = 512;

fn machine(name: &str, changes: &[(&str, &str)]) -> Description {
    machine::resolve_changed(name, name, "", changes).unwrap_or_else(|error| panic!("{error}")).description
}

/// Nanoseconds that each of [`LINES`] loads of lines in no cache takes. `back` gives for each load how many loads ago the value was
/// loaded that its address is computed from.
fn each(description: &Description, back: fn(u64) -> u8) -> f64 {
    let once = |mode| {
        let options = Options { mode, check_loads: true, ..Options::default() };
        let mut simulator = Simulator::new(description, options).unwrap();
        let line = description.coherent_cache().line.0;
        let base = simulator.allocate(NodeId(0), Bytes(LINES * line)).unwrap();
        let body = move |thread: &mut Thread<'_>| {
            (0..LINES).for_each(|load| {
                let at = PhysicalAddr(base.0 + load * 197 % LINES * line);
                thread.instructions(3);
                thread.load_after(at, back(load));
            });
        };
        let reports = simulator.run(vec![(CpuId(0), Box::new(body) as Program)]).unwrap();
        simulator.check_coherence().unwrap();
        reports
    };
    let ahead = once(Mode::LookAhead);
    assert_eq!(ahead, once(Mode::LockStep));
    ahead[0].time.as_ns() / LINES as f64
}

/// Out of order: a list is walked at the latency of memory, several lists side by side, and pointers of an array at once.
#[test]
fn lists_are_walked_one_element_after_another() {
    let no_prefetcher = [("prefetch", "none")];
    for (name, changes, overlap) in [
        ("xeon-8180-2s", &no_prefetcher[..], 4.0),
        ("epyc-7702-2s", &no_prefetcher, 4.0),
        ("origin2000-r12k-300-2p", &[], 2.0),
    ] {
        let description = machine(name, changes);
        let [known, list, four] = [|_| 0, |_| 1, |_| 4].map(|back| each(&description, back));
        assert!(list > overlap * known, "{name}: {list} and {known} ns");
        assert!((3.6..4.6).contains(&(list / four)) || four < 1.1 * known, "{name}: {list} and {four} ns");
    }
    // With one line in two, or more, from caches, elements wait for half of the loads alone; others have opened some of their rows.
    let description = machine("xeon-8180-2s", &[]);
    let [list, halves] = [|_| 1, |load| if load % 2 == 0 { 2 } else { 1 }].map(|back| each(&description, back));
    assert!((1.8..2.3).contains(&(list / halves)), "a load of each pair waits for the other: {list} and {halves} ns");
}

/// References wait for as many misses as there are fill buffers; miss registers beyond are for what a prefetcher requests.
#[test]
fn references_have_the_misses_of_the_fill_buffers() {
    let [four, buffers, sixteen] = [("4", "0"), ("16", "4"), ("16", "0")].map(|(misses, buffers)| {
        let changes =
            [("processor.outstanding_misses", misses), ("processor.fill_buffers", buffers), ("prefetch", "none")];
        each(&machine("xeon-8180-2s", &changes), |_| 0)
    });
    assert_eq!(buffers.to_bits(), four.to_bits(), "{buffers} and {four} ns");
    assert!(four > 3.0 * sixteen, "{four} and {sixteen} ns");
}

/// Loads that wait for their addresses have no miss registers, so that others use all of them.
#[test]
fn waiting_loads_leave_miss_registers_to_others() {
    let description = machine("xeon-8180-2s", &[("processor.outstanding_misses", "4"), ("prefetch", "none")]);
    let known = each(&description, |_| 0);
    // The first four of eight loads have known addresses, and each of the others follows one of them.
    let pairs = each(&description, |load| if load % 8 < 4 { 0 } else { 4 });
    assert!(pairs < 1.2 * known, "{pairs} and {known} ns");
}

/// In order, everything waits with a load whose address is not there.
#[test]
fn processors_in_order_wait_for_addresses() {
    for name in ["smp-4p", "dsm-cluster-2x2", "dash-4p"] {
        let description = machine(name, &[]);
        let [known, list, four] = [|_| 0, |_| 1, |_| 4].map(|back| each(&description, back));
        assert!(list >= 0.99 * four && four >= 0.99 * known, "{name}: {known}, {four} and {list} ns");
    }
}
