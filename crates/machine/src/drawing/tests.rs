//! Tests that a picture shows every part of the machine once, in a well-formed document.

use std::collections::HashMap;

use roxmltree::Document;

use super::canvas::stroke;
use super::svg;
use crate::{LinkClass, Topology, load};

fn topology(processors: u32) -> Topology {
    named(&format!("origin2000-r12k-300-{processors}p"))
}

fn named(name: &str) -> Topology {
    match load(name) {
        Ok(description) => Topology::new(&description),
        Err(error) => panic!("{error}"),
    }
}

fn parsed(picture: &str) -> Document<'_> {
    match Document::parse(picture) {
        Ok(document) => document,
        Err(error) => panic!("{error}"),
    }
}

/// The number of occurrences of each text in a picture.
fn texts(document: &Document<'_>) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for text in document.descendants().filter(|element| element.has_tag_name("text")) {
        *counts.entry(text.text().unwrap_or_default().to_string()).or_default() += 1;
    }
    counts
}

/// Every node of `machine` has its name in the picture once, and the last one, which is the legend's example, once more.
fn nodes_are_named(machine: &Topology, texts: &HashMap<String, usize>) {
    let last = machine.nodes().len() - 1;
    for (at, node) in machine.nodes().iter().enumerate() {
        let count = texts.get(&format!("n{}", node.id)).copied().unwrap_or(0);
        assert_eq!(count, 1 + usize::from(at == last), "{}: {:?}", machine.name(), node.id);
    }
}

#[test]
fn every_size_is_a_document_of_finite_numbers_inside_its_page() {
    let origins = (2..=512).step_by(2).map(topology);
    for machine in origins.chain((1..=64).map(|processors| named(&format!("flash-{processors}p")))) {
        let (picture, name) = (svg(&machine), machine.name());
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{name}");
        let document = parsed(&picture);
        let root = document.root_element();
        let view = root.attribute("viewBox").unwrap_or_default();
        let view: Vec<f64> = view.split(' ').filter_map(|number| number.parse().ok()).collect();
        let [left, top, width, height] = view[..] else { panic!("{name}: no view box") };
        let number = |element: roxmltree::Node<'_, '_>, name| -> f64 {
            element.attribute(name).and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
        };
        for element in root.descendants().filter(|element| element.has_tag_name("text")) {
            let (x, y) = (number(element, "x"), number(element, "y"));
            assert!(x >= left && x <= left + width && y >= top && y <= top + height, "{name}: {x} {y}");
        }
    }
}

#[test]
fn every_router_node_and_processor_is_drawn_once() {
    for processors in [2, 8, 12, 30, 32, 44, 64, 100, 128] {
        let machine = topology(processors);
        let picture = svg(&machine);
        let texts = texts(&parsed(&picture));
        let count = |text: String| texts.get(&text).copied().unwrap_or(0);
        let (last, meta) = (machine.nodes().len() - 1, machine.routers().iter().position(|r| r.is_metarouter()));
        for (at, node) in machine.nodes().iter().enumerate() {
            // The legend's example is the last node and its router.
            assert_eq!(count(format!("n{}", node.id)), 1 + usize::from(at == last), "{processors}P: {:?}", node.id);
            let cpus: Vec<_> = machine.cpus_of(node.id).map(|cpu| cpu.to_string()).collect();
            assert_eq!(count(format!("cpu {}", cpus.join(" "))), 1, "{processors}P: {:?}", node.id);
        }
        for (at, router) in machine.routers().iter().enumerate() {
            let example = router.id == machine.nodes()[last].router || Some(at) == meta;
            let name = format!("{}/r{}", router.module, router.slot);
            assert_eq!(count(name.clone()), 1 + usize::from(example), "{processors}P: {name}");
        }
    }
}

#[test]
fn every_link_without_metarouter_is_one_line_of_its_class() {
    for processors in [8, 12, 16, 32, 44, 64] {
        let machine = topology(processors);
        let picture = svg(&machine);
        let document = parsed(&picture);
        for class in [
            LinkClass::Node,
            LinkClass::Backplane,
            LinkClass::ModuleCable,
            LinkClass::RackCable,
            LinkClass::CubeCable,
            LinkClass::Express,
        ] {
            let links = machine.links().iter().filter(|link| link.class == class).count();
            let (colour, _, dashes) = stroke(class);
            let lines = document.descendants().filter(|element| {
                element.has_tag_name("path")
                    && element.attribute("stroke") == Some(colour)
                    && element.attribute("stroke-dasharray").unwrap_or_default() == dashes
            });
            let in_legend = usize::from(links > 0);
            assert_eq!(lines.count(), links + in_legend, "{processors}P: {class}");
        }
    }
}

#[test]
fn every_part_of_flash_is_drawn_once() {
    for processors in [1u32, 3, 8, 16, 17, 45, 64] {
        let machine = named(&format!("flash-{processors}p"));
        let picture = svg(&machine);
        let document = parsed(&picture);
        let texts = texts(&document);
        let count = |text: String| texts.get(&text).copied().unwrap_or(0);
        // The legend's examples are the last node, its router, and a mesh router of each network.
        let last = machine.nodes().len() - 1;
        nodes_are_named(&machine, &texts);
        let first_mesh = machine.routers().iter().position(|router| router.is_mesh());
        for (at, router) in machine.routers().iter().enumerate() {
            let mesh = first_mesh.is_some_and(|first| (first..first + 2).contains(&at));
            let example = mesh || router.id == machine.nodes()[last].router;
            let name = format!("{}/r{}", router.module, router.slot);
            assert_eq!(count(name.clone()), 1 + usize::from(example), "{processors}P: {name}");
        }
        let classes: std::collections::BTreeSet<_> = machine.links().iter().map(|link| link.class).collect();
        for class in classes {
            let links = machine.links().iter().filter(|link| link.class == class).count();
            let (colour, width, _) = stroke(class);
            let lines = document.descendants().filter(|element| {
                element.has_tag_name("path")
                    && element.attribute("stroke") == Some(colour)
                    && element.attribute("stroke-width") == Some(width.to_string().as_str())
            });
            assert_eq!(lines.count(), links + 1, "{processors}P: {class}, once more in the legend");
        }
        for metacube in 0..processors.div_ceil(16) {
            let expected = usize::from(processors > 4);
            assert_eq!(count(format!("metacube {metacube}")), expected, "{processors}P: {metacube}");
        }
    }
}

#[test]
fn every_part_of_the_other_interconnects_is_drawn_once() {
    for (kind, on_router) in [
        ("ring", "1"),
        ("ring", "4"),
        ("mesh", "1"),
        ("mesh", "2"),
        ("sci-ring", "1"),
        ("crossbar", "1"),
        ("ideal", "1"),
    ] {
        for base in ["flash-1p", "flash-8p", "flash-21p"] {
            let changes = [("topology.kind", kind), ("topology.nodes_per_router", on_router)];
            let machine = crate::resolve_changed(base, "changed", "changed", &changes).expect("a machine");
            let machine = Topology::new(&machine.description);
            let picture = svg(&machine);
            let document = parsed(&picture);
            let texts = texts(&document);
            let count = |text: String| texts.get(&text).copied().unwrap_or(0);
            // The legend's examples are the last node and its router.
            let last = machine.nodes().len() - 1;
            nodes_are_named(&machine, &texts);
            for router in machine.routers() {
                let example = router.id == machine.nodes()[last].router;
                let name = format!("{}/r{}", router.module, router.slot);
                assert_eq!(count(name.clone()), 1 + usize::from(example), "{base} {kind}: {name}");
            }
            let classes: std::collections::BTreeSet<_> = machine.links().iter().map(|link| link.class).collect();
            let lines = document.descendants().filter(|element| element.has_tag_name("path")).count();
            assert_eq!(lines, machine.links().len() + classes.len(), "{base} {kind}: each link, and its class once");
        }
    }
}

#[test]
fn every_part_of_joined_rings_is_drawn_once() {
    for (rings, on_ring) in [(2, 1), (4, 4), (3, 8)] {
        let machine = named(&format!("sci-rings-{rings}x{on_ring}"));
        let picture = svg(&machine);
        let document = parsed(&picture);
        let texts = texts(&document);
        let count = |text: String| texts.get(&text).copied().unwrap_or(0);
        // The legend's examples are the last node, its link interface, and the first switch.
        let last = machine.nodes().len() - 1;
        nodes_are_named(&machine, &texts);
        for (at, router) in machine.routers().iter().enumerate() {
            let name = format!("{}/r{}", router.module, router.slot);
            assert_eq!(count(name.clone()), 1 + usize::from(at == last || at == last + 1), "{rings}: {name}");
        }
        let classes: std::collections::BTreeSet<_> = machine.links().iter().map(|link| link.class).collect();
        let lines = document.descendants().filter(|element| element.has_tag_name("path")).count();
        assert_eq!((lines, classes.len()), (machine.links().len() + 3, 3), "{rings} of {on_ring}");
    }
}

#[test]
fn tiles_say_which_nodes_they_stand_for() {
    let picture = svg(&topology(148));
    let texts = texts(&parsed(&picture));
    for text in ["cube 4", "modules 17 to 19", "nodes 64 to 73", "cpus 128 to 147", "21/r5"] {
        assert_eq!(texts.get(text), Some(&1), "{text}");
    }
    assert!(!texts.contains_key("21/r6"), "the last cube has five corners");
}

#[test]
fn a_name_cannot_break_the_document() {
    let mut description = load("bitmap").expect("bitmap is built in");
    description.name = "a<b> & \"c\"".into();
    let picture = svg(&Topology::new(&description));
    assert_eq!(texts(&parsed(&picture)).get("a<b> & \"c\""), Some(&1));
}
