//! Names and inheritance: what a name stands for, and what a machine has from its ancestors.

use std::fs;

use super::{loaded, refusal};
use crate::description::{load, parse, resolve};

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
        "machine = \"artic\": unknown machine, did you mean arctic?; accepted: bitmap bootleg lego-oil arctic bwana \
         stinger dresden dsm-cluster, origin2000-r10k-195-Np origin2000-r10k-250-Np origin2000-r12k-300-Np \
         origin2000-r12k-400-Np with an even N from 2 to 512, flash-Np flash-scaled-Np with any N from 1 to 64, \
         flash-ring-Np flash-mesh-Np flash-crossbar-Np flash-uncontended-Np with any N from 1 to 4096 (above 64 \
         with a protocol that represents so many nodes), sci-ring-Np sci-ring-33-Np with any N from 1 to 4096, \
         sci-rings-RxN with any R rings of N nodes, up to 4096 in all, smp-Np with any N from 1 to 256, dash-Np \
         with any multiple N of 4 from 4 to 256, dsm-cluster-NxP with N nodes of P processors, up to 64 nodes, or \
         the path of a .toml file"
    );
    assert!(message("zzz").starts_with("machine = \"zzz\": unknown machine; accepted:"));
    assert!(message("origin2000-r12k-300-+8p").contains("unknown machine"));
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
            "{b}:1: inherit = \"a.toml\": circular inheritance ({a} -> {b} -> {a}); accepted: a machine that does not \
             inherit this one"
        )
    );
    let unknown = refusal("inherit = \"artic\"");
    assert!(unknown.starts_with("my.toml:1: inherit = \"artic\": unknown machine, did you mean arctic?"));
    let unreadable = refusal("inherit = \"none.toml\"");
    assert!(unreadable.starts_with("my.toml:1: inherit = \"none.toml\": none.toml cannot be read: "), "{unreadable}");
    assert!(refusal("inherit = 3").starts_with("my.toml:1: inherit = 3: an integer is not accepted here; accepted:"));
}

/// The calibrations of an ancestor apply to its heirs as well.
#[test]
fn calibrations_add_up_along_the_inheritance() {
    let own = parse("my.toml", "inherit = \"arctic\"\ncalibrated_on = [\"prestor/9.9\"]").expect("a machine");
    let mut expected = loaded("arctic").calibrated_on;
    expected.push("prestor/9.9".into());
    assert_eq!(own.description.calibrated_on, expected);
}

/// A change by name has no line to cite.
#[test]
fn changes_are_told_as_they_were_given() {
    let changed = |changes: &[(&str, &str)]| super::super::resolve_changed("arctic", "arctic+x", "x", changes);
    let refusal = |key, value| changed(&[(key, value)]).expect_err(key).to_string();
    assert!(refusal("nosuch.key", "1").starts_with("nosuch.key = 1: unknown key"));
    assert!(refusal("tlb.entries", "many").starts_with("tlb.entries = \"many\": a string is not accepted here"));
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
