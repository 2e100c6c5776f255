//! Descriptions as text: names of keys, lossless writing, damage.

use std::collections::BTreeMap;

use proptest::prelude::*;
use units::{Bytes, Duration, Hertz, Length};

use super::{keys_of, loaded};
use crate::description::{names, parse, resolve, resolve_changed, rules};

#[test]
fn every_key_ends_in_its_unit_and_has_its_own_name() {
    let rules = rules();
    for (at, rule) in rules.iter().enumerate() {
        assert!(rule.key.ends_with(rule.suffix), "{} does not end in {}", rule.key, rule.suffix);
        assert!(!rules[..at].iter().any(|other| other.key == rule.key), "{} is there twice", rule.key);
    }
}

/// The extremes of every key with a range or alternatives are spelled as in a file.
#[test]
fn extremes_are_what_a_file_would_say() {
    let all: BTreeMap<_, _> = super::super::extremes().collect();
    assert_eq!(all["tlb.entries"], ["1", "4096"]);
    assert_eq!(all["l2.size_mib"], ["0.03125", "64"]);
    assert_eq!(all["link.micropacket_ns"], ["0.1", "1000"]);
    assert_eq!(all["l2.fill"], ["\"whole-line\"", "\"preemptible-blocks\""]);
    assert!(!all.contains_key("directory.protocol") && !all.contains_key("name"));
    assert!(all.len() > 150, "{}", all.len());
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
        assert!(resolved.to_toml().contains("# machines/irix.toml:"));
        // The comment of a value stands behind its place.
        assert!(resolved.to_toml().contains(": calibrated (FLASH 4.2.2"));
    }
}

/// A table that a machine may lack is written even if it has all of its defaults.
#[test]
fn tables_of_defaults_survive_being_written() {
    for key in [("page_cache.size_kib", "2456"), ("miss_counters.threshold", "800"), ("page_cache.size_kib", "4")] {
        let resolved = resolve_changed("dsm-cluster", "own", "own", &[key]).expect("a machine");
        let read = parse("elsewhere.toml", &resolved.description.to_toml()).expect("what was written can be read");
        assert_eq!(read.description, resolved.description, "{key:?}");
    }
    let without = resolve_changed("dsm-cluster", "own", "own", &[("page_cache.threshold", "8")]);
    assert!(without.expect_err("incomplete").to_string().contains("page_cache.size_kib"));
}

proptest! {
    /// A machine with any values of its keys is equal after writing and reading.
    #[test]
    fn any_machine_survives_being_written(
        mhz in 50.0f64..10_000.0,
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
            super::super::quoted(&title), 1 << l1_kib,
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
