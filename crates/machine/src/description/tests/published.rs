//! Machines that publications describe: built-in ones against what is written about them.

use std::collections::BTreeMap;

use units::{Bytes, Duration, Hertz};

use super::{keys_of, loaded};
use crate::description::{ControllerKind, Fill, LatencySpec, ProcessorModel, load, names, parse, resolve};

/// Prestor 2001, Table 4.5: processors, core, bus and Hub clocks, secondary cache.
#[test]
fn the_systems_of_the_thesis() {
    use ProcessorModel::{R10000, R12000};
    let table = [
        ("bitmap", 16, R10000, 195.0, 130.0, 4, 97.5),
        ("bootleg", 32, R10000, 250.0, 250.0, 4, 100.0),
        ("lego-oil", 32, R12000, 300.0, 200.0, 8, 100.0),
        ("arctic", 64, R12000, 300.0, 200.0, 8, 100.0),
        ("bwana", 16, R12000, 400.0, 266.0, 8, 100.0),
        ("stinger", 128, R12000, 300.0, 200.0, 8, 100.0),
    ];
    let all: Vec<_> = names().map(|(name, _)| name).collect();
    let (of_thesis, others) = all.split_at(table.len());
    assert_eq!(of_thesis, table.map(|row| row.0));
    assert_eq!(others[..2], ["dresden", "dsm-cluster"]);
    assert!(others[2..].iter().all(|name| name.starts_with("xeon-") || name.starts_with("epyc-")), "{others:?}");
    for (name, processors, model, core, bus, mib, hub) in table {
        let machine = loaded(name);
        assert_eq!(machine.topology.processors, processors, "{name}");
        assert_eq!(machine.processor.model, model, "{name}");
        assert_eq!(machine.processor.clock, Hertz::from_mhz(core), "{name}");
        let l2 = machine.l2.as_ref().expect("a secondary cache");
        assert_eq!(l2.bus_clock, Hertz::from_mhz(bus), "{name}");
        assert_eq!(l2.size, Bytes::from_mib(mib), "{name}");
        assert_eq!(machine.hub.as_ref().expect("a Hub").clock, Hertz::from_mhz(hub), "{name}");
        let preemptible = l2.fill == Fill::PreemptibleBlocks;
        assert_eq!(preemptible, model == R12000, "{name}: Prestor 4.2.3");
        assert_eq!(machine.bypasses_queues(), name != "stinger", "{name}: Prestor 4.3.2");
    }
}

/// The resolved Origins are those with which their tables were reproduced, however values are moved between the files.
#[test]
fn the_origins_resolve_to_what_they_always_did() {
    let pinned: toml::Table = include_str!("../../../tables/origins.toml").parse().expect("TOML");
    let values = |machine: &str| {
        let dotted = pinned[machine].as_table().expect("a machine").clone();
        let tables = dotted.into_iter().map(|(table, keys)| (table, keys.as_table().expect("dotted keys").clone()));
        tables.flat_map(|(table, keys)| keys.into_iter().map(move |(key, value)| (format!("{table}.{key}"), value)))
    };
    for machine in pinned.keys() {
        let mut expected: BTreeMap<_, _> = values("arctic").chain(values(machine)).collect();
        expected.insert("controller.kind".into(), "hub".into());
        let mut found = keys_of(&loaded(machine));
        // Scheduler, operating system and latencies of instructions were added later, and those tables do not depend on them.
        let later = ["os.", "scheduler.", "latency."];
        found.retain(|key, _| key.contains('.') && !later.iter().any(|table| key.starts_with(table)));
        assert_eq!(found, expected, "{machine}");
    }
    // The calibrations of the Origins, without regard to the order in which ancestors name them.
    let mut fitted = loaded("arctic").calibrated_on;
    fitted.sort();
    let tables = ["4.10", "4.13", "4.15", "4.16", "4.19", "4.6", "4.8", "6.1"].map(|table| format!("prestor/{table}"));
    let figures = ["4.4", "4.5", "4.6"].map(|figure| format!("prestor/figure-{figure} rows L1, L2"));
    let scheduler = ["flash/figure-4.2 rows average columns gang pinned over batch".to_owned()];
    assert_eq!(fitted, [&scheduler[..], &tables[..], &figures[..]].concat());
}

/// MIPS R10000 User's Manual 2.0, instruction latencies: every built-in machine has an R10000 or an R12000.
#[test]
fn operations_take_what_the_manual_says() {
    for name in ["arctic", "bitmap", "flash-64p", "origin2000-r10k-250-8p"] {
        let LatencySpec {
            multiply_cycles,
            multiply_long_cycles,
            divide_cycles,
            divide_long_cycles,
            float_add_cycles,
            float_multiply_cycles,
            float_divide_double_cycles,
            ..
        } = loaded(name).latency;
        assert_eq!(
            (multiply_cycles, multiply_long_cycles, divide_cycles, divide_long_cycles),
            (6, 10, 35, 67),
            "{name}"
        );
        assert_eq!((float_add_cycles, float_multiply_cycles, float_divide_double_cycles), (2, 2, 19), "{name}");
    }
    let changed = loaded("arctic").changed("slow", "latency.float_add_cycles", "4").expect("a latency");
    assert_eq!(changed.latency.float_add_cycles, 4);
    let refused =
        loaded("arctic").changed("slow", "latency.float_add_cycles", "1001").expect_err("too long").to_string();
    assert!(refused.contains("latency.float_add_cycles") && refused.contains("0 to 1000"), "{refused}");
}

/// FLASH dissertation, Table 2.1 and sections 2.4, 5.2.3 and 5.2.4.
#[test]
fn flash_is_what_the_dissertation_says() {
    for processors in 1..=64 {
        assert_eq!(loaded(&format!("flash-{processors}p")).topology.processors, processors);
    }
    let flash = resolve("flash-64p").expect("a built-in family");
    assert_eq!(flash.origins["l1.ways"].file, "machines/r10000.toml");
    let flash = flash.description;
    assert_eq!((flash.title.as_str(), flash.controller.kind), ("Stanford FLASH, 64 processors", ControllerKind::Magic));
    assert_eq!((flash.processor.model, flash.processor.clock), (ProcessorModel::R10000, Hertz::from_mhz(225.0)));
    let coherent = flash.coherent_cache();
    assert_eq!((coherent.size, coherent.line), (Bytes::from_mib(2), Bytes(128)));
    assert_eq!(flash.controller_clock(), Some(Hertz::from_mhz(75.0)));
    assert!(
        flash.hub.is_none() && flash.hypercube.is_none() && flash.double_mesh.is_some() && flash.handlers.is_some()
    );
    let (magic, directory) = (flash.magic.expect("MAGIC"), flash.directory.expect("a directory"));
    assert_eq!((magic.instruction_cache, magic.data_cache), (Bytes::from_kib(16), Bytes::from_mib(1)));
    // An instruction cache miss takes 87 processor cycles.
    assert_eq!(magic.instruction_miss_cycles * 225, 87 * 75);
    assert_eq!(flash.topology.node_memory.0 - directory.reserved.0, 224 << 20);
    // A lookup in the remote access cache takes 200 ns.
    assert_eq!(
        magic.clock.period() * u64::from(directory.remote_access_cache_check_cycles),
        Duration::from_ns(199.995)
    );
    let channel = flash.link.micropacket.0 as f64 / flash.link.micropacket_time.as_ns();
    assert_eq!(channel, 0.8, "GB/s");
    let whole = load("flash-0p").expect_err("no processor").to_string();
    assert!(whole.starts_with("topology.processors = 0: it is less than 1; accepted:"), "{whole}");
    assert_eq!(
        load("flash-65p").expect_err("too many").to_string(),
        "topology.processors = 65: at most 16 cluster routers can be connected; accepted: at most 64 with 4 \
         processors on a cluster router"
    );
}

/// The rule that metarouters disable the bypass holds for a machine of any name.
#[test]
fn routers_of_any_machine_with_metarouters_do_not_bypass() {
    let bypasses = |text: &str| {
        let machine = parse("mine.toml", &format!("inherit = \"arctic\"\n[topology]\n{text}"));
        machine.expect("a machine").description.bypasses_queues()
    };
    assert!(bypasses("processors = 64"));
    assert!(!bypasses("processors = 66"), "17 routers");
    assert!(!bypasses("nodes_per_router = 1\nprocessors = 34"), "17 routers");
    assert!(bypasses("processors = 128\nrouter_bypass = \"on\""));
    assert!(!bypasses("processors = 8\nrouter_bypass = \"off\""));
}
