//! This computer keeps the contract of a platform, and its figures are ordered as on any computer.

use bench::{Experiment, HostOptions, HostPlatform, Placement, Plan, Platform, Settings, State, conformance};
use units::{Bytes, CpuId, NodeId};

fn platform() -> HostPlatform {
    HostPlatform::new(HostOptions::default()).expect("the kernel tells what this computer is made of")
}

/// A node with memory and a processor, and that processor.
fn place(platform: &HostPlatform) -> (NodeId, CpuId) {
    let layout = platform.layout();
    let node = layout.nodes().find(|&node| layout.has_memory(node) && !layout.cpus_of(node).is_empty());
    let node = node.expect("some node has memory and a processor");
    (node, layout.cpus_of(node)[0])
}

#[test]
fn this_computer_keeps_the_contract() {
    conformance::check(&mut platform()).expect("the host keeps the contract");
}

#[test]
fn a_record_says_under_which_conditions_it_was_measured() {
    let mut platform = platform();
    let (home, local) = place(&platform);
    let settings = Settings { iterations: 3, ..Settings::simulated() };
    let plan = Plan::new(Experiment::LmbenchRead, State::Uown, Placement::new(home, local, None), settings);
    let record = plan.run(&mut platform).expect("a valid plan").record;
    let conditions = &record.conditions;
    assert_eq!(record.machine, "host");
    assert_eq!(conditions.pages_asked.as_deref(), Some("base"));
    assert_eq!(conditions.order.as_deref(), Some("random"));
    assert_eq!(conditions.stride, Some(platform.layout().line));
    assert_eq!(conditions.window, Some(Bytes(1024 * platform.layout().line.0)));
    assert_eq!(conditions.preparation.as_deref(), Some("in no cache"));
    assert!(conditions.pages_obtained.is_some(), "{conditions:?}");
    assert!(conditions.clock_mhz.is_none_or(|mhz| mhz > 100.0), "{conditions:?}");
}

#[test]
fn memory_of_an_array_beyond_the_computer_is_refused_with_the_numbers() {
    let mut platform = platform();
    let (home, local) = place(&platform);
    let settings = Settings { array: Bytes(1 << 50), stride: Bytes(64), ..Settings::simulated() };
    let plan = Plan::new(Experiment::AreaRead, State::Uown, Placement::new(home, local, None), settings);
    let error = plan.run(&mut platform).expect_err("a petabyte").to_string();
    assert!(error.contains(&format!("node {home}")) && error.contains("1024 TiB"), "{error}");
}
