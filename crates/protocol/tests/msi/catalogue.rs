//! Names of protocols: every listed name is found, parsing is strict, and an error gives the accepted names.

use std::collections::BTreeSet;

use protocol::msi::catalogue::{Named, Sizes, TABLE_5_1, Visitor, names, resolve};
use protocol::msi::{Clustering, SharingSet, Variant};

const FLASH: Sizes = Sizes { nodes: 64, links: 1024, vectors: 64 };

/// Protocol that a name selects, and its sharing set as text.
struct Describe;

impl Visitor for Describe {
    type Output = (Named, String);

    fn visit<S: SharingSet>(self, set: S, named: Named) -> Self::Output {
        (named, format!("{set:?}"))
    }
}

fn describe(name: &str) -> (Named, String) {
    resolve(name, FLASH, Describe).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_listed_name_is_found_and_is_its_own() {
    let mut seen = BTreeSet::new();
    for name in names() {
        let (named, _) = describe(name);
        assert_eq!(named.name, name);
        assert!(seen.insert(name), "{name} is listed twice");
    }
    assert!(TABLE_5_1.iter().all(|name| seen.contains(name)));
}

#[test]
fn the_sets_are_those_of_flash() {
    let set = |name| describe(name).1;
    assert_eq!(
        set("hybrid"),
        "Hybrid { neighbourhood: 16, pointers: 5, vectors: 64, all_shared: 60 }",
        "FLASH dissertation, Section 5.2.2"
    );
    assert_eq!(set("dynamic-pointer"), "DynamicPointer { links: 1024, search: 16 }");
    assert_eq!(set("limited-pointer"), "LimitedPointer { pointers: 5, overflow: Evict }");
    assert_eq!(set("limited-pointer=3/B"), "LimitedPointer { pointers: 3, overflow: Broadcast }");
    assert_eq!(set("cv=8/LB"), "CoarseVector { coarseness: 8, local_bit: true, hints: false }");
    assert_eq!(set("broadcast"), "CoarseVector { coarseness: 64, local_bit: false, hints: false }");
    assert_eq!(set("bit-vector/RH"), "CoarseVector { coarseness: 1, local_bit: false, hints: true }");
}

#[test]
fn variants_go_with_every_base_in_any_order() {
    let all = Variant { clustering: Some(Clustering::FLASH), acknowledge_requester: true };
    for base in names().filter(|name| Variant::default() == describe(name).0.variant) {
        if describe(base).0.remote_access_cache {
            continue;
        }
        let (named, set) = describe(&format!("{base}/RAC/IC/IR"));
        assert_eq!((named.name.as_str(), named.variant), (format!("{base}/IC/IR/RAC").as_str(), all));
        assert!(named.remote_access_cache);
        assert_eq!((named.base, set), (describe(base).0.base, describe(base).1));
    }
    let (base, _) = describe("cv=4/IR");
    assert_eq!((base.base, base.number, base.variant.clustering), ("cv=N", 4, None));
    assert_eq!(describe("limited-pointer=5/RAC").0.name, "limited-pointer/RAC", "five is the default");
}

#[test]
fn the_error_for_a_wrong_name_gives_the_accepted_names() {
    let wrong = [
        "",
        "cv",
        "cv=",
        "cv=0",
        "cv=4097",
        "cv=+2",
        "cv=2 ",
        "cv=2/RH",
        "CV=2",
        "hybrid/",
        "hybrid/IC/IC",
        "hybrid/LB",
        "hybrid/RAC/RAC",
        "hybrid/IR/IR",
        "hybrid=2",
        "bit-vector/LB",
        "bit-vector/IC/RH",
        "limited-pointer=9",
        "limited-pointer/B/B",
        "limited-pointer=",
        "broadcast=4",
        "/IC",
        "dynamic",
        "hybrid/all-shared",
    ];
    for name in wrong {
        let error = resolve(name, FLASH, Describe).expect_err(name);
        assert_eq!(error.name, name);
        for word in ["cv=N (N from 1 to 4096)", "limited-pointer=N/B (N from 1 to 8, 5 if =N is left out)", "/RAC"] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
    let nearest = |name| resolve(name, FLASH, Describe).expect_err(name).nearest;
    assert_eq!(nearest("dynamic-ponter"), Some("dynamic-pointer"));
    assert_eq!(nearest("hybrid/CI"), Some("hybrid/IC"));
    assert_eq!(nearest("mesi"), None);
    // A number out of range is not misspelt.
    assert_eq!(nearest("cv=0"), None);
}
