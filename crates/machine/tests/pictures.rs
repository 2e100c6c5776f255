//! Drawings of machines. Each is checked for text that is cut off or covered, and compared with what was last looked at: a change of
//! how something is drawn is a difference to be reviewed.
//!
//! `INSTA_UPDATE=always cargo test --workspace --test pictures` takes the new ones; look at each in a browser before it is
//! committed.

#[path = "../../report/tests/pictures/check.rs"]
mod check;

use machine::Topology;
use machine::drawing::{Load, loaded_svg, svg};

fn topology(name: &str) -> Topology {
    Topology::new(&machine::load(name).unwrap_or_else(|error| panic!("{error}")))
}

fn drawn(name: &str) -> Vec<u8> {
    let drawing = svg(&topology(name));
    check::checked(name, &drawing);
    drawing.into_bytes()
}

#[test]
fn an_origin_of_a_few_nodes() {
    insta::assert_binary_snapshot!("bitmap.svg", drawn("bitmap"));
}

#[test]
fn an_origin_of_a_hypercube() {
    insta::assert_binary_snapshot!("arctic.svg", drawn("arctic"));
}

#[test]
fn an_origin_with_metarouters() {
    insta::assert_binary_snapshot!("stinger.svg", drawn("stinger"));
}

#[test]
fn a_flash_with_two_networks() {
    insta::assert_binary_snapshot!("flash.svg", drawn("flash-16p"));
}

/// A family with another interconnect.
fn changed(base: &str, kind: &str, changes: &[(&str, &str)]) -> Topology {
    let changes = [&[("topology.kind", kind)], changes].concat();
    let name = format!("{base}+topology.kind={kind}");
    let resolved = machine::resolve_changed(base, &name, kind, &changes).unwrap_or_else(|error| panic!("{error}"));
    Topology::new(&resolved.description)
}

fn drawn_with(base: &str, kind: &str, changes: &[(&str, &str)]) -> Vec<u8> {
    let drawing = svg(&changed(base, kind, changes));
    check::checked(&format!("{base} {kind} {changes:?}"), &drawing);
    drawing.into_bytes()
}

#[test]
fn servers() {
    insta::assert_binary_snapshot!("haswell.svg", drawn("xeon-e5-2699v3-2s"));
    insta::assert_binary_snapshot!("skylake.svg", drawn("xeon-8180-2s"));
    insta::assert_binary_snapshot!("rome.svg", drawn("epyc-7702-2s"));
}

#[test]
fn a_ring() {
    insta::assert_binary_snapshot!("ring.svg", drawn("flash-ring-8p"));
}

#[test]
fn an_sci_ring() {
    insta::assert_binary_snapshot!("sci-ring.svg", drawn("sci-ring-8p"));
}

#[test]
fn a_mesh() {
    insta::assert_binary_snapshot!("mesh.svg", drawn_with("origin2000-r12k-300-48p", "mesh", &[]));
}

#[test]
fn a_crossbar() {
    insta::assert_binary_snapshot!("crossbar.svg", drawn("flash-crossbar-12p"));
}

#[test]
fn other_interconnects_of_any_size_have_room() {
    let on_router = |number| [("topology.nodes_per_router", number)];
    for processors in [1, 2, 3, 4, 5, 9, 17, 33, 64] {
        let base = format!("flash-{processors}p");
        for nodes in ["1", "2", "3", "4"] {
            drawn_with(&base, "ring", &on_router(nodes));
        }
        for nodes in ["1", "2"] {
            drawn_with(&base, "mesh", &on_router(nodes));
        }
        drawn_with(&base, "crossbar", &[]);
        drawn_with(&base, "ideal", &[]);
    }
    for kind in ["ring", "mesh"] {
        drawn_with("origin2000-r12k-300-512p", kind, &[]);
    }
    drawn_with("origin2000-r12k-300-510p", "crossbar", &[]);
}

#[test]
fn a_machine_in_the_colours_of_its_load() {
    let machine = topology("bitmap");
    let nodes = machine.nodes().iter().zip(0u32..).map(|(node, number)| (node.id, f64::from(number) * 25.0)).collect();
    let links = machine.links().iter().zip(0u32..).map(|(link, number)| (link.id, f64::from(number) * 7.0)).collect();
    let drawing = loaded_svg(&machine, Load { nodes, links });
    check::checked("load", &drawing);
    insta::assert_binary_snapshot!("load.svg", drawing.into_bytes());
}

#[test]
fn a_long_name_is_not_cut_off() {
    let mut description = machine::load("flash-1p").expect("built in");
    description.name = "flash-1p+processor.outstanding_misses=1+placement=round-robin+MMM".to_owned();
    check::checked("a long name", &svg(&Topology::new(&description)));
}

#[test]
fn machines_of_any_size_have_room() {
    for processors in [2, 4, 6, 12, 24, 34, 48, 64, 66, 96, 128, 130, 192, 256, 320, 512] {
        drawn(&format!("origin2000-r12k-300-{processors}p"));
    }
    for processors in [1, 4, 5, 16, 17, 33, 64] {
        drawn(&format!("flash-{processors}p"));
    }
}
