//! Tests of what a description says of the network: virtual channels, packets, and another kind than the inherited one.

use units::Bytes;

use super::{loaded, refusal};
use crate::description::{parse, resolve_changed};

/// A link has a virtual channel for each virtual network and each class of the routes.
#[test]
fn too_few_virtual_channels_are_refused() {
    let with = |base: &str, kind: &str, channels: &str| {
        let changes =
            [("topology.kind", kind), ("topology.nodes_per_router", "1"), ("router.virtual_channels", channels)];
        let found = resolve_changed(base, "m", "changed", &changes);
        found.map(|found| found.description.router.virtual_channels).map_err(|error| error.to_string())
    };
    for base in ["flash-8p", "origin2000-r12k-300-16p"] {
        for (kind, needed) in [("origin", 2), ("mesh", 2), ("ring", 4)] {
            // FLASH's families have no hypercube to go back to.
            if base.starts_with("flash") && kind == "origin" {
                continue;
            }
            assert_eq!(with(base, kind, &needed.to_string()), Ok(needed));
            let refused = with(base, kind, &(needed - 1).to_string()).expect_err("too few");
            assert!(refused.starts_with("router.virtual_channels = "), "{refused}");
            assert!(refused.ends_with(&format!("accepted: a whole number from {needed} to 8")), "{refused}");
        }
        // There are no channels, and a ring of three has no dateline.
        assert_eq!((with(base, "crossbar", "1"), with(base, "ideal", "1")), (Ok(1), Ok(1)));
    }
    assert_eq!(with("flash-3p", "ring", "2"), Ok(2));
    let dateline = refusal(
        "inherit = \"flash-8p\"\n[topology]\nkind = \"ring\"\nnodes_per_router = 1\n[router]\nvirtual_channels = 3\n",
    );
    assert_eq!(
        dateline,
        "my.toml:6: router.virtual_channels = 3: the controller's protocol uses 2 virtual networks, each with a channel \
         before and one after the dateline; accepted: a whole number from 4 to 8"
    );
}

/// The packets of a message follow from its bytes: one for the header, and as many as the payload fills.
#[test]
fn packets_follow_from_bytes() {
    let mut arctic = loaded("arctic");
    let packets = [0, 1, 16, 17, 128].map(|payload| arctic.link.packets(Bytes(payload)));
    assert_eq!((packets, arctic.data_packets()), ([1, 2, 2, 3, 9], 9));
    arctic.link.micropacket = Bytes(64);
    assert_eq!(arctic.data_packets(), 3);
}

/// A file that chooses another kind leaves the tables of the inherited kind behind, and only those.
#[test]
fn the_tables_of_an_inherited_kind_are_left_behind() {
    let meshed = parse("my.toml", "inherit = \"arctic\"\n[topology]\nkind = \"mesh\"\n").expect("a mesh");
    assert!(meshed.description.hypercube.is_none() && meshed.description.mesh.is_some());
    assert!(meshed.origins.keys().all(|key| !key.starts_with("hypercube.") && !key.starts_with("ring.")));
    assert_eq!(meshed.origins["mesh.columns"].file, "machines/r10000.toml");
    let written = parse("written.toml", &meshed.to_toml()).expect("what was written").description;
    assert_eq!(written.mesh, meshed.description.mesh);
    assert_eq!(
        refusal("inherit = \"arctic\"\n[topology]\nkind = \"mesh\"\n[hypercube]\nexpress_links = true"),
        "my.toml:5: hypercube.express_links = true: no effect with topology.kind = \"mesh\"; accepted: \
         [hypercube] with topology.kind = \"origin\""
    );
    assert!(
        refusal("inherit = \"arctic\"\n[mesh]\ncolumns = 4").starts_with("my.toml:3: mesh.columns = 4: no effect with")
    );
}

/// Lines and buffers that the packets of an SCI ring do not fit, and rings that cannot be, are refused where they are given.
#[test]
fn impossible_sci_rings_are_refused() {
    let cases = [
        ("sci-ring-8p", "[topology]\nprocessors = 0", "my.toml:3: topology.processors = 0: it is less than 1;"),
        (
            "sci-ring-8p",
            "[sci_ring]\ninput_packets = 0",
            "my.toml:3: sci_ring.input_packets = 0: it is less than 1; accepted: a whole number from 1 to 1024",
        ),
        (
            "sci-ring-8p",
            "[sci_ring]\noutput_packets = 0.5",
            "my.toml:3: sci_ring.output_packets = 0.5: a float is not accepted here; accepted: a whole number from 1 to 1024",
        ),
        (
            "sci-ring-8p",
            "[l2]\nline_bytes = 128\nfill_block_bytes = 128",
            "my.toml:3: l2.line_bytes = 128: a data packet of sci_ring.data_symbols = 40, 8 of them header, cannot carry a \
             line of 128 B; accepted: at most 64 bytes",
        ),
        (
            "sci-ring-8p",
            "[sci_ring]\necho_symbols = 9",
            "my.toml:3: sci_ring.echo_symbols = 9: an echo must not be longer than the shortest packet, 8 symbols; \
             accepted: at most 8",
        ),
        (
            "sci-ring-8p",
            "[sci_ring]\nwire_ns = 3",
            "my.toml:3: sci_ring.wire_ns = 3: not a whole number of symbols of 2 ns; accepted: a multiple of 2 ns",
        ),
        (
            "sci-ring-8p",
            "[sci_ring]\nwire_ns = 0\nstripper_ns = 0",
            "my.toml:3: sci_ring.wire_ns = 0: wire and stripper of a node take 0 symbols together; accepted: 1 to 4096",
        ),
        (
            "sci-rings-2x4",
            "[sci_ring]\nrings = 3",
            "my.toml:3: sci_ring.rings = 3: 8 nodes cannot be divided evenly among the rings; accepted: a divisor of 8",
        ),
        (
            "sci-rings-2x4",
            "[sci_ring]\nswitch_ns = 3",
            "my.toml:3: sci_ring.switch_ns = 3: not a whole number of symbols of 2 ns; accepted: a multiple of 2 ns",
        ),
        (
            "flash-8p",
            "[topology]\nkind = \"sci-ring\"\n[sci_ring]\ntransmission = \"several\"",
            "my.toml:5: sci_ring.transmission = \"several\": packets may be reordered, which controller.kind = \
             \"magic\" does not allow; accepted: \"one\" or \"one-of-each\"",
        ),
        ("flash-8p", "[sci_ring]\nsymbol_ns = 2", "my.toml:3: sci_ring.symbol_ns = 2: no effect with topology.kind"),
    ];
    for (base, text, expected) in cases {
        let message = refusal(&format!("inherit = \"{base}\"\n{text}"));
        assert!(message.starts_with(expected), "{message}\nis not\n{expected}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
