//! The random tester on SCI rings, one or several.

use sim::random::RandomTest;
use sim::{Fault, Mode};
use units::Duration;

use super::{is_found, passes};

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
