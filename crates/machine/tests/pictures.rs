//! Drawings of machines, as they were last looked at: a change of how something is drawn is a difference to be reviewed.
//!
//! `INSTA_UPDATE=always cargo test -p ccnuma-machine --test pictures` takes the new ones; look at each in a browser before it is
//! committed.

use machine::Topology;

fn drawn(name: &str) -> Vec<u8> {
    let description = machine::load(name).unwrap_or_else(|error| panic!("{error}"));
    machine::drawing::svg(&Topology::new(&description)).into_bytes()
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
