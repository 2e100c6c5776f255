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
        "my.toml:5: hypercube.express_links = true: nothing reads it with topology.kind = \"mesh\"; accepted: \
         [hypercube] with topology.kind = \"origin\""
    );
    assert!(
        refusal("inherit = \"arctic\"\n[mesh]\ncolumns = 4")
            .starts_with("my.toml:3: mesh.columns = 4: nothing reads it with")
    );
}
