//! Refusals: values that are wrong or contradict each other, each with its place and what is accepted.

use super::refusal;
use crate::description::parse;

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let cases = [
        (
            "[l2]\nsize_mob = 4",
            "my.toml:3: l2.size_mob = 4: unknown key, did you mean l2.size_mib?; accepted: l2.size_mib l2.ways",
        ),
        (
            "[hub]\nclock = 100",
            "my.toml:3: hub.clock = 100: the unit is missing from the key; did you mean hub.clock_mhz? accepted: a \
             number of MHz from 10 to 2000",
        ),
        (
            "[l1]\nsize_kib = \"32\"",
            "my.toml:3: l1.size_kib = \"32\": a string is not accepted here; accepted: a whole number from 1 to 65536 KiB",
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
        (
            "[processor]\noutstanding_misses = 4.0",
            "my.toml:3: processor.outstanding_misses = 4.0: a float is not accepted here",
        ),
        (
            "[processor]\nmodel = \"R8000\"",
            "my.toml:3: processor.model = \"R8000\": it is not one of the alternatives; accepted: \"R10000\" or \
             \"R12000\" or \"windowed\" or \"blocking\"",
        ),
        ("[tlb]\n\n# why\npage_kib = -16", "my.toml:5: tlb.page_kib = -16: it is less than 1; accepted:"),
        ("[tlb]\nmiss_ns = [300]", "my.toml:3: tlb.miss_ns = [300]: an array not only of strings is not accepted here"),
        ("[topology]\nrouter = true", "my.toml:3: topology.router = true: unknown key"),
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
            "my.toml:2: calibrated_on = \"4.6\": a string is not accepted here; accepted: an array",
        ),
        ("title = 1", "my.toml:2: title = 1: an integer is not accepted here; accepted: a string"),
        ("clock_mhz = 3", "my.toml:2: clock_mhz = 3: unknown key"),
        ("[hub]\n\"a\\nb\" = 5", "my.toml:3: hub.\"a\\nb\" = 5: unknown key; accepted: hub.clock_mhz"),
        (
            "[huub]\nclock_mhz = 5",
            "my.toml:3: huub.clock_mhz = 5: unknown key, did you mean hub.clock_mhz?; accepted: the tables topology processor",
        ),
    ];
    for (text, expected) in cases {
        let message = refusal(&format!("inherit = \"arctic\"\n{text}"));
        assert!(message.starts_with(expected), "{message}\nis not\n{expected}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_table_of_another_kind_is_refused_and_says_which_kind_reads_it() {
    let of = |ancestor: &str, text: &str| match parse("my.toml", &format!("inherit = \"{ancestor}\"\n{text}")) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        of("arctic", "[magic]\nclock_mhz = 75"),
        "my.toml:3: magic.clock_mhz = 75: no effect with controller.kind = \"hub\"; accepted: [magic] with \
         controller.kind = \"magic\""
    );
    assert_eq!(
        of("flash-8p", "[hypercube]\nexpress_links = true"),
        "my.toml:3: hypercube.express_links = true: no effect with topology.kind = \"flash\"; accepted: \
         [hypercube] with topology.kind = \"origin\""
    );
    assert!(of("flash-8p", "[hub]\ncrossbar_cycles = 1").contains("[hub] with controller.kind = \"hub\""));
    assert!(of("flash-8p", "[directory]\nreserved_mib = 256").contains("no memory of the node is left"));
    assert!(of("flash-8p", "[handlers]\ncode_base_bytes = -1").contains("accepted: a whole number from 0 to"));
    assert!(
        of("flash-8p", "[directory]\nprotocol = 2").contains("an integer is not accepted here; accepted: a string")
    );
    let ports = of("arctic", "[topology]\nnodes_per_router = 3");
    assert!(
        ports.contains("nodes_per_router = 3: ") && ports.ends_with("accepted: a whole number from 1 to 2"),
        "{ports}"
    );
    // An empty table sets nothing.
    assert!(parse("my.toml", "inherit = \"arctic\"\n[magic]\n").is_ok());
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
        (
            "[processor]\noutstanding_misses = 129",
            "my.toml:3: processor.outstanding_misses = 129: it is more than 128;",
        ),
    ];
    for (text, expected) in cases {
        let message = of("arctic", text);
        assert!(message.starts_with(expected), "{message}\nis not\n{expected}");
    }
    assert!(
        of("flash-4p", "[memory]\ncontrollers = 2")
            .ends_with("MAGIC has one memory, and no part of its own for another; accepted: 1")
    );
    for (banks, told) in [
        (
            "reorders = false",
            "my.toml:3: banks.reorders = false: a controller that does not reorder collects no writes",
        ),
        (
            "reorders = false\nwrite_high_watermark = 1\nwrite_low_watermark = 0",
            "my.toml:3: banks.reorders = false: a controller that does not reorder keeps no rows",
        ),
        (
            "banks_per_channel = 6",
            "my.toml:3: banks.banks_per_channel = 6: banks with rows are in four groups of each of 2 ranks (banks.ranks); accepted: a multiple of 8",
        ),
        (
            "write_low_watermark = 40",
            "my.toml:3: banks.write_low_watermark = 40: no less than banks.write_high_watermark = 36; accepted: 0 to 35",
        ),
        ("activate_cycles = 200", "my.toml:3: banks.activate_cycles = 200: an access has memory.access_cycles = 124"),
        (
            "bank_cycles = 70",
            "my.toml:3: banks.bank_cycles = 70: a row is opened and closed within it, which takes 76 cycles; accepted: 76 or more",
        ),
    ] {
        let found = of("xeon-8180-2s", &format!("[banks]\n{banks}"));
        assert!(found.contains(told), "{banks}: {found}");
    }
    let in_order = of("smp-4p", "[banks]\nreorders = true");
    assert!(in_order.contains("banks.reorders = true: this kind of node serves the accesses of a channel in order"));
    assert!(of("arctic", "[memory]\ncontrollers = 4").contains("memory.controllers = 4: a Hub has one memory"));
    assert!(of("smp-4p", "[memory]\ncontrollers = 0").contains("memory.controllers = 0: "));
    let ideal = of("flash-4p", "[directory]\nideal = \"all-local\"\n[os]\nmigration = true");
    assert!(ideal.contains("os.migration = true: ideal protocols (directory.ideal) neither count"), "{ideal}");
    assert!(of("smp-4p", "[os]\nreplication = true").contains("os.replication = true: a machine on one bus"));
    assert!(of("flash-4p", "[topology]\nprocessors_per_node = 2").ends_with(
        "a MAGIC node has one processor; accepted: \
         1"
    ));
}
