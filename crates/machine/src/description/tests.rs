//! Tests of descriptions: the built-in ones, rejected ones with their messages, and lossless writing.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use units::{Bytes, Duration, Hertz, Length};

use super::{ControllerKind, Description, Fill, LatencySpec, ProcessorModel, load, names, parse, resolve, rules};

pub(super) fn loaded(name: &str) -> Description {
    match load(name) {
        Ok(description) => description,
        Err(error) => panic!("{error}"),
    }
}

/// The message for `text`, a file called `my.toml`.
pub(super) fn refusal(text: &str) -> String {
    match parse("my.toml", text) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    }
}

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
    let (of_thesis, others): (Vec<_>, Vec<_>) = names().map(|(name, _)| name).partition(|name| name != "dresden");
    assert_eq!(of_thesis, table.map(|row| row.0));
    assert_eq!(others, ["dresden"]);
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

#[test]
fn parametric_names_stand_for_families_of_any_size() {
    for (parametric, named) in [
        ("origin2000-r10k-195-16p", "bitmap"),
        ("origin2000-r12k-300-64p", "arctic"),
        ("origin2000-r12k-400-16p", "bwana"),
        ("origin2000-r12k-300-128p", "stinger"),
    ] {
        let (mut found, named) = (loaded(parametric), loaded(named));
        assert_eq!(found.name, parametric);
        (found.name, found.title) = (named.name.clone(), named.title.clone());
        assert_eq!(found, named);
    }
    assert_eq!(loaded("origin2000-r10k-250-512p").topology.processors, 512);
    for family in ["flash-scaled", "flash-ring", "flash-mesh", "flash-crossbar", "flash-uncontended"] {
        for processors in [1, 2, 7, 36, 64] {
            let machine = loaded(&format!("{family}-{processors}p"));
            assert_eq!(machine.topology.processors, processors, "{family}");
            assert!(machine.title.starts_with("Stanford FLASH "), "{}", machine.title);
            assert_eq!(crate::Topology::new(&machine).nodes().len(), processors as usize);
        }
    }
}

#[test]
fn names_that_stand_for_nothing_are_refused() {
    let message = |name: &str| load(name).expect_err("no such machine").to_string();
    assert_eq!(
        message("artic"),
        "machine = \"artic\": there is no such machine, did you mean arctic?; accepted: bitmap bootleg lego-oil arctic \
         bwana stinger dresden, origin2000-r10k-195-Np origin2000-r10k-250-Np origin2000-r12k-300-Np \
         origin2000-r12k-400-Np with an even N from 2 to 512, flash-Np flash-scaled-Np with any N from 1 to 64, \
         flash-ring-Np flash-mesh-Np flash-crossbar-Np flash-uncontended-Np with any N from 1 to 4096 (above 64 with a \
         protocol that represents so many nodes), smp-Np with any N from 1 to 256, or the path of a .toml file"
    );
    assert!(message("zzz").starts_with("machine = \"zzz\": there is no such machine; accepted:"));
    assert!(message("origin2000-r12k-300-+8p").contains("there is no such machine"));
    assert_eq!(
        message("origin2000-r12k-300-65p"),
        "topology.processors = 65: it is not a multiple of processors_per_node = 2; \
         accepted: a multiple of 2 from 2 to 512"
    );
    assert_eq!(
        message("origin2000-r12k-300-514p"),
        "topology.processors = 514: at most 128 routers can be connected; accepted: at most 512 with 4 processors on a \
         router"
    );
    assert_eq!(
        message("origin2000-r12k-300"),
        "machines/origin2000-r12k-300.toml:1: topology.processors is missing, here and in what is inherited; \
         accepted: a whole number from 1 to 4096"
    );
    assert!(message("no/such/file.toml").starts_with("no/such/file.toml: cannot be read: "));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let cases = [
        (
            "[l2]\nsize_mob = 4",
            "my.toml:3: l2.size_mob = 4: there is no such key, did you mean l2.size_mib?; accepted: l2.size_mib l2.ways",
        ),
        (
            "[hub]\nclock = 100",
            "my.toml:3: hub.clock = 100: the unit is missing from the key; did you mean hub.clock_mhz? accepted: a \
             number of MHz from 10 to 2000",
        ),
        (
            "[l1]\nsize_kib = \"32\"",
            "my.toml:3: l1.size_kib = \"32\": a string cannot stand here; accepted: a whole number from 1 to 65536 KiB",
        ),
        (
            "[l1]\nsize_kib = 33",
            "my.toml:3: l1.size_kib = 33: 33 KiB cannot be divided into a power of two of sets of 2 lines of 32 B; accepted: what",
        ),
        (
            "[l1]\nsize_kib = 0",
            "my.toml:3: l1.size_kib = 0: it is less than 1; accepted: a whole number from 1 to 65536 KiB",
        ),
        ("[processor]\nclock_mhz = nan", "my.toml:3: processor.clock_mhz = nan: it is not a number; accepted:"),
        ("[processor]\noutstanding_misses = 4.0", "my.toml:3: processor.outstanding_misses = 4.0: a float cannot"),
        (
            "[processor]\nmodel = \"R8000\"",
            "my.toml:3: processor.model = \"R8000\": it is not one of the alternatives; accepted: \"R10000\" or \
             \"R12000\" or \"windowed\" or \"blocking\"",
        ),
        ("[tlb]\n\n# why\npage_kib = -16", "my.toml:5: tlb.page_kib = -16: it is less than 1; accepted:"),
        ("[tlb]\nmiss_ns = [300]", "my.toml:3: tlb.miss_ns = [300]: an array not only of strings cannot stand here"),
        ("[topology]\nrouter = true", "my.toml:3: topology.router = true: there is no such key"),
        ("[topology]\nprocessors = 7", "my.toml:3: topology.processors = 7: it is not a multiple of"),
        (
            "[topology]\nnodes_per_router = 1\nprocessors = 300",
            "my.toml:4: topology.processors = 300: at most 128 routers can be connected; accepted: at most 256 with",
        ),
        (
            "[l1]\nsize_kib = 16384",
            "my.toml:3: l1.size_kib = 16384: the primary cache is larger than the secondary (8 MiB); accepted: at most \
             l2.size_mib = 8 MiB",
        ),
        ("[l2]\nways = 3", "my.toml:3: l2.ways = 3: 8 MiB cannot be divided into a power of two of sets of 3 lines"),
        ("[l2]\nways = 33", "my.toml:3: l2.ways = 33: it is more than 32; accepted:"),
        ("[l2]\nfill_block_bytes = 256", "my.toml:3: l2.fill_block_bytes = 256: the block is larger than the line"),
        ("[l1]\nline_bytes = 256", "my.toml:3: l1.line_bytes = 256: the primary line is larger than the secondary"),
        ("[cache]", "my.toml:2: cache = "),
        ("[l2]\nsize_mib = 4 MiB", "my.toml:3: not valid TOML: "),
        ("[l2]\nways = 2\nways = 2", "my.toml:4: not valid TOML: "),
        (
            "calibrated_on = \"4.6\"",
            "my.toml:2: calibrated_on = \"4.6\": a string cannot stand here; accepted: an array",
        ),
        ("title = 1", "my.toml:2: title = 1: an integer cannot stand here; accepted: a string"),
        ("clock_mhz = 3", "my.toml:2: clock_mhz = 3: there is no such key"),
        ("[hub]\n\"a\\nb\" = 5", "my.toml:3: hub.\"a\\nb\" = 5: there is no such key; accepted: hub.clock_mhz"),
        (
            "[huub]\nclock_mhz = 5",
            "my.toml:3: huub.clock_mhz = 5: there is no such key, did you mean hub.clock_mhz?; accepted: the tables topology processor",
        ),
    ];
    for (text, expected) in cases {
        let message = refusal(&format!("inherit = \"arctic\"\n{text}"));
        assert!(message.starts_with(expected), "{message}\nis not\n{expected}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn an_inherited_key_is_reported_where_it_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("base.toml"), "inherit = \"arctic\"\n\n[memory]\naccess_cycles = -1\n").expect("written");
    fs::write(path("top.toml"), "inherit = \"base.toml\"\n").expect("written");
    let message = load(&path("top.toml")).expect_err("base.toml is wrong").to_string();
    assert!(message.starts_with(&format!("{}:4: memory.access_cycles = -1: ", path("base.toml"))), "{message}");
    fs::write(path("base.toml"), "inherit = \"arctic\"\n[memory]\naccess_cycles = 7\n").expect("written");
    let top = resolve(&path("top.toml")).expect("both are right");
    assert_eq!((top.description.name.as_str(), top.description.memory.access_cycles), ("top", 7));
    assert_eq!(top.origins["memory.access_cycles"].to_string(), format!("{}:3", path("base.toml")));
    assert_eq!(top.origins["topology.processors"].file, "machines/arctic.toml");
    assert_eq!(top.origins["link.micropacket_ns"].file, "machines/origin2000.toml");
}

#[test]
fn inheritance_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("a.toml"), "title = \"a\"\ninherit = \"b.toml\"\n").expect("written");
    fs::write(path("b.toml"), "inherit = \"a.toml\"\n").expect("written");
    let message = load(&path("a.toml")).expect_err("a circle").to_string();
    let (a, b) = (path("a.toml"), path("b.toml"));
    assert_eq!(
        message,
        format!(
            "{b}:1: inherit = \"a.toml\": the inheritance goes in a circle ({a} -> {b} -> {a}); accepted: a machine that \
             does not inherit this one"
        )
    );
    let unknown = refusal("inherit = \"artic\"");
    assert!(unknown.starts_with("my.toml:1: inherit = \"artic\": there is no such machine, did you mean arctic?"));
    let unreadable = refusal("inherit = \"none.toml\"");
    assert!(unreadable.starts_with("my.toml:1: inherit = \"none.toml\": none.toml cannot be read: "), "{unreadable}");
    assert!(refusal("inherit = 3").starts_with("my.toml:1: inherit = 3: an integer cannot stand here; accepted:"));
}

/// The calibrations of an ancestor apply to its heirs as well.
#[test]
fn calibrations_add_up_along_the_inheritance() {
    let own = parse("my.toml", "inherit = \"arctic\"\ncalibrated_on = [\"prestor/9.9\"]").expect("a machine");
    let mut expected = loaded("arctic").calibrated_on;
    expected.push("prestor/9.9".into());
    assert_eq!(own.description.calibrated_on, expected);
}

#[test]
fn every_key_ends_in_its_unit_and_has_its_own_name() {
    let rules = rules();
    for (at, rule) in rules.iter().enumerate() {
        assert!(rule.key.ends_with(rule.suffix), "{} does not end in {}", rule.key, rule.suffix);
        assert!(!rules[..at].iter().any(|other| other.key == rule.key), "{} is there twice", rule.key);
    }
}

/// The values of a description by their keys, as in a file.
fn keys_of(description: &Description) -> BTreeMap<String, toml::Value> {
    let file: toml::Table = description.to_toml().parse().expect("what was written is TOML");
    let mut keys = BTreeMap::new();
    for (key, value) in file {
        match value {
            toml::Value::Table(table) => {
                keys.extend(table.into_iter().map(|(of, value)| (format!("{key}.{of}"), value)))
            }
            value => drop(keys.insert(key, value)),
        }
    }
    keys
}

/// The resolved Origins are those with which their tables were reproduced, however values are moved between the files.
#[test]
fn the_origins_resolve_to_what_they_always_did() {
    let pinned: toml::Table = include_str!("../../tables/origins.toml").parse().expect("TOML");
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

#[test]
fn a_table_of_another_kind_is_refused_and_says_which_kind_reads_it() {
    let of = |ancestor: &str, text: &str| match parse("my.toml", &format!("inherit = \"{ancestor}\"\n{text}")) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        of("arctic", "[magic]\nclock_mhz = 75"),
        "my.toml:3: magic.clock_mhz = 75: nothing reads it with controller.kind = \"hub\"; accepted: [magic] with \
         controller.kind = \"magic\""
    );
    assert_eq!(
        of("flash-8p", "[hypercube]\nexpress_links = true"),
        "my.toml:3: hypercube.express_links = true: nothing reads it with topology.kind = \"flash\"; accepted: \
         [hypercube] with topology.kind = \"origin\""
    );
    assert!(of("flash-8p", "[hub]\ncrossbar_cycles = 1").contains("[hub] with controller.kind = \"hub\""));
    assert!(of("flash-8p", "[directory]\nreserved_mib = 256").contains("it leaves nothing of the node's memory"));
    assert!(of("flash-8p", "[handlers]\ncode_base_bytes = -1").contains("accepted: a whole number from 0 to"));
    assert!(of("flash-8p", "[directory]\nprotocol = 2").contains("an integer cannot stand here; accepted: a string"));
    let ports = of("arctic", "[topology]\nnodes_per_router = 3");
    assert!(
        ports.contains("nodes_per_router = 3: ") && ports.ends_with("accepted: a whole number from 1 to 2"),
        "{ports}"
    );
    // An empty table sets nothing.
    assert!(parse("my.toml", "inherit = \"arctic\"\n[magic]\n").is_ok());
}

#[test]
fn built_in_machines_survive_being_written() {
    for name in names().map(|(name, _)| name).chain(["flash-1p".into(), "flash-64p".into()]) {
        let resolved = resolve(&name).expect("a built-in machine");
        for text in [resolved.to_toml(), resolved.description.to_toml()] {
            let read = parse("elsewhere.toml", &text).expect("what was written can be read");
            assert_eq!(read.description, resolved.description);
        }
        for key in keys_of(&resolved.description).keys().filter(|key| *key != "name") {
            assert!(resolved.origins.contains_key(key), "{name}: no origin of {key}");
        }
        assert!(resolved.to_toml().contains("# machines/r10000.toml:"));
    }
}

proptest! {
    /// A machine with any values of its keys is equal after writing and reading.
    #[test]
    fn any_machine_survives_being_written(
        mhz in 50.0f64..5000.0,
        ns in 0.0f64..1000.0,
        metres in 0.0f64..5.0,
        inches in 0.0f64..197.0,
        l1_kib in 0u32..=10,
        misses in 1u32..=8,
        bypass in proptest::sample::select(&["on", "off", "without-metarouters"][..]),
        title in "[ -~\n\t\"\\\\é]{0,30}",
    ) {
        let text = format!(
            "inherit = \"arctic\"\ntitle = {}\n[processor]\nclock_mhz = {mhz:?}\noutstanding_misses = {misses}\n\
             [tlb]\nmiss_ns = {ns:?}\n[hypercube]\nbackplane_m = {metres:?}\nrack_cable_inches = {inches:?}\n\
             [topology]\nrouter_bypass = \"{bypass}\"\n[l1]\nsize_kib = {}\n",
            super::quoted(&title), 1 << l1_kib,
        );
        let machine = parse("any.toml", &text).map_err(|error| TestCaseError::fail(error.to_string()))?.description;
        prop_assert_eq!(&machine.title, &title);
        prop_assert_eq!(machine.processor.clock, Hertz::from_mhz(mhz));
        prop_assert_eq!(machine.tlb.miss, Duration::from_ns(ns));
        prop_assert_eq!(machine.hypercube.as_ref().map(|cables| cables.backplane), Some(Length::from_metres(metres)));
        prop_assert_eq!(machine.hypercube.as_ref().map(|cables| cables.rack_cable), Some(Length::from_inches(inches)));
        prop_assert_eq!(machine.l1.size, Bytes::from_kib(1 << l1_kib));
        let again = parse("again.toml", &machine.to_toml()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(again.description, machine);
    }

    /// A damaged file is either a machine or an error of one line that begins with the place.
    #[test]
    fn damage_is_reported_in_one_line(at: prop::sample::Index, damage in "[ -~\n]{1,3}") {
        let mut text = loaded("arctic").to_toml();
        let at = at.index(text.len());
        text.replace_range(at..(at + damage.len()).min(text.len()), &damage);
        if let Err(error) = parse("damaged.toml", &text) {
            let message = error.to_string();
            prop_assert!(message.starts_with("damaged.toml:"), "{}", message);
            prop_assert_eq!(message.lines().count(), 1, "{}", message);
        }
    }
}

#[test]
fn a_cache_may_have_a_part_of_a_mebibyte_that_its_sets_divide() {
    let scaled = crate::load("flash-scaled-64p").expect("a family");
    assert_eq!(
        (scaled.coherent_cache().size, scaled.tlb.page),
        (units::Bytes::from_kib(64), units::Bytes::from_kib(1))
    );
    assert!(scaled.to_toml().contains("size_mib = 0.0625"));
    for (size, problem) in [
        ("0.1", "not a whole number of bytes"),
        ("0.046875", "l2.ways = 2: 48 KiB cannot be divided"),
        ("0.001", "less than 0.03125"),
    ] {
        let text = format!("title = \"t\"\ninherit = \"flash-scaled-64p\"\n[l2]\nsize_mib = {size}");
        let error = crate::parse("mine.toml", &text).expect_err(size).to_string();
        assert!(error.contains(problem), "{error}");
    }
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

/// A value that the machine cannot have, or with which it could not run, is rejected with its place.
#[test]
fn what_cannot_run_is_refused_at_load() {
    let of = |ancestor: &str, text: &str| match parse("my.toml", &format!("inherit = \"{ancestor}\"\n{text}")) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    };
    let cases = [
        ("[router]\nbuffer_bytes = 16", "my.toml:3: router.buffer_bytes = 16: a line of 128 B with its header"),
        ("[link]\nmicropacket_bytes = 256", "machines/origin2000.toml:"),
        ("[memory]\nrefresh_interval_ns = 100", "my.toml:3: memory.refresh_interval_ns = 100: a refresh of"),
        ("[os]\nfixed_node = 32", "my.toml:3: os.fixed_node = 32: the machine has nodes 0 to 31; accepted: a whole"),
        ("[os]\ndomain_affinity_node = 99", "my.toml:3: os.domain_affinity_node = 99: the machine has nodes 0 to 31;"),
        (
            "[tlb]\npages_per_entry = 3",
            "my.toml:3: tlb.pages_per_entry = 3: it is not a power of two; accepted: 1, 2, 4",
        ),
        ("[tlb]\nentries = 4097", "my.toml:3: tlb.entries = 4097: it is more than 4096;"),
        ("[processor]\noutstanding_misses = 65", "my.toml:3: processor.outstanding_misses = 65: it is more than 64;"),
    ];
    for (text, expected) in cases {
        let message = of("arctic", text);
        assert!(message.starts_with(expected), "{message}\nis not\n{expected}");
    }
    assert!(of("flash-4p", "[os]\nmigration = true").contains("os.migration = true: only the Hub"));
    assert!(of("flash-4p", "[topology]\nprocessors_per_node = 2").ends_with("MAGIC serves one processor; accepted: 1"));
}

/// A change by name has no line to cite.
#[test]
fn changes_are_told_as_they_were_given() {
    let changed = |changes: &[(&str, &str)]| super::resolve_changed("arctic", "arctic+x", "x", changes);
    let refusal = |key, value| changed(&[(key, value)]).expect_err(key).to_string();
    assert!(refusal("nosuch.key", "1").starts_with("nosuch.key = 1: there is no such key"));
    assert!(refusal("tlb.entries", "many").starts_with("tlb.entries = \"many\": a string cannot stand here"));
    assert!(refusal("l2.ways", "2 # two").starts_with("l2.ways = \"2 # two\""));
    assert!(refusal("os.fixed_node", "99").starts_with("os.fixed_node = 99: the machine has nodes 0 to 31"));
    let resolved = changed(&[("tlb.entries", "32"), ("tlb.entries", "16")]).expect("a machine");
    assert_eq!((resolved.description.tlb.entries, resolved.description.name.as_str()), (16, "arctic+x"));
    assert_eq!(resolved.description.title, format!("{}, x", loaded("arctic").title));
    assert!(resolved.to_toml().contains("# arctic+x\n"), "{}", resolved.to_toml());
    let again = resolved.description.changed("again", "tlb.entries", "8").expect("a machine");
    assert_eq!((again.tlb.entries, again.title), (8, resolved.description.title.clone()));
    assert_eq!(resolved.description.check(), Ok(()));
    let mut unfit = resolved.description;
    unfit.os.fixed_node = 40;
    assert!(unfit.check().expect_err("no such node").to_string().starts_with("os.fixed_node = 40: the machine has"));
}

/// The extremes of every key with a range or alternatives are spelled as in a file.
#[test]
fn extremes_are_what_a_file_would_say() {
    let all: BTreeMap<_, _> = super::extremes().collect();
    assert_eq!(all["tlb.entries"], ["1", "4096"]);
    assert_eq!(all["l2.size_mib"], ["0.03125", "64"]);
    assert_eq!(all["link.micropacket_ns"], ["0.1", "1000"]);
    assert_eq!(all["l2.fill"], ["\"whole-line\"", "\"preemptible-blocks\""]);
    assert!(!all.contains_key("directory.protocol") && !all.contains_key("name"));
    assert!(all.len() > 150, "{}", all.len());
}
