//! The shape of the workspace: which crate may use which, no loops of imports between folders, a first line in every file
//! that says what it is, files of a size that can be read, and a map that names what exists.

mod imports;
mod loops;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates from the ground up; a crate may use those on lower floors and those that its line names beside it.
const FLOORS: &[&[(&str, &[&str])]] = &[
    &[("units", &[]), ("input", &["units"]), ("enclose", &[])],
    &[
        ("record", &[]),
        ("machine", &[]),
        ("protocol", &[]),
        ("engine", &[]),
        ("trace", &[]),
        ("references", &[]),
        ("symbols", &[]),
    ],
    &[("sim", &[]), ("verify", &[]), ("host", &[]), ("workloads", &[])],
    &[("bench", &[]), ("report", &[]), ("fit", &[]), ("profile", &[]), ("diagnose", &[]), ("execution", &["diagnose"])],
    &[("experiments", &[])],
    // The runtime of users' programs has the whole simulator in it, and leaves the record that experiments make.
    &[("frontend", &[])],
    &[("cli", &[])],
];

/// Edges that would go downward and still must not be: what explains the rule is in ARCHITECTURE.md.
const FORBIDDEN: &[(&str, &str)] = &[
    ("protocol", "engine"),
    ("protocol", "machine"),
    ("engine", "protocol"),
    ("verify", "engine"),
    ("verify", "machine"),
    ("report", "sim"),
    ("report", "machine"),
    ("report", "protocol"),
    ("report", "bench"),
    ("sim", "record"),
    ("workloads", "record"),
    ("workloads", "machine"),
    ("workloads", "protocol"),
    ("workloads", "engine"),
    ("report", "profile"),
    ("sim", "trace"),
    ("profile", "sim"),
    ("host", "trace"),
    ("host", "sim"),
    ("host", "protocol"),
    ("diagnose", "sim"),
    ("diagnose", "host"),
    ("diagnose", "machine"),
    ("diagnose", "workloads"),
    ("fit", "sim"),
    ("fit", "host"),
];

/// Crates in which files of different folders still import each other in loops.
const WITH_LOOPS: &[&str] = &[];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is there")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn floor_of(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.iter().any(|(member, _)| *member == name))
}

/// The crates of the workspace that `name` depends on, tests aside.
fn uses(name: &str) -> Vec<String> {
    let manifest: toml::Table = read(&root().join("crates").join(name).join("Cargo.toml")).parse().expect("TOML");
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    dependencies.keys().filter(|name| floor_of(name).is_some()).cloned().collect()
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("there are crates");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn arrows_run_downward_only() {
    for name in crates() {
        let floor = floor_of(&name).unwrap_or_else(|| panic!("crate {name} stands on no floor of this test"));
        let beside = FLOORS[floor].iter().find(|(member, _)| *member == name).map_or(&[][..], |(_, beside)| beside);
        for used in uses(&name) {
            let below = floor_of(&used).is_some_and(|other| other < floor);
            assert!(below || beside.contains(&used.as_str()), "{name} must not use {used}");
            let forbidden = FORBIDDEN.contains(&(name.as_str(), used.as_str()));
            assert!(!forbidden, "{name} must not know {used}");
        }
    }
}

#[test]
fn files_of_different_folders_do_not_import_each_other() {
    for name in crates() {
        let source = root().join("crates").join(&name).join("src");
        let files = ["lib.rs", "main.rs"].map(|file| source.join(file));
        let file = files.iter().find(|file| file.exists()).unwrap_or_else(|| panic!("crate {name} has no root"));
        let loops = loops::between_folders(&imports::imports(file));
        if WITH_LOOPS.contains(&name.as_str()) {
            assert!(!loops.is_empty(), "crate {name} has no loops any more: take it off the list");
        } else {
            assert!(loops.is_empty(), "crate {name} has {}", loops.join("\n"));
        }
    }
}

/// Every Rust file of the workspace.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = crates().iter().map(|name| root().join("crates").join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn every_file_says_what_it_is_and_can_be_read_in_one_sitting() {
    const MOST_LINES: usize = 600;
    let files = sources();
    assert!(files.len() > 50, "only {} files were found", files.len());
    for file in files {
        let text = read(&file);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 12, "{}: no first line", file.display());
        assert!(text.lines().count() <= MOST_LINES, "{}: {} lines", file.display(), text.lines().count());
    }
}

#[test]
fn nothing_below_the_command_prints_or_exits() {
    let library = |file: &PathBuf| {
        let inside = file.strip_prefix(root().join("crates")).expect("a crate's file");
        let mut parts = inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.next().is_some_and(|name| name != "cli") && parts.next().is_some_and(|folder| folder == "src")
    };
    for file in sources().into_iter().filter(library) {
        for (number, line) in read(&file).lines().enumerate() {
            let code = line.trim_start();
            let speaks = ["println!(", "eprintln!(", "print!(", "eprint!(", "process::exit(", "dbg!("];
            let found = speaks.iter().find(|call| !code.starts_with("//") && code.contains(**call));
            assert!(found.is_none(), "{}:{}: {code}", file.display(), number + 1);
        }
    }
}

#[test]
fn the_map_names_what_exists() {
    let map = read(&root().join("ARCHITECTURE.md"));
    // Paths stand between backticks and have a slash or an extension.
    let quoted = map.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        let known = text.starts_with("crates/") || [".rs", ".md", ".toml", "/"].iter().any(|end| text.ends_with(end));
        known && !text.contains([' ', '*', '<', '{', '(']) && !text.starts_with('/')
    };
    let paths: Vec<&str> = quoted.filter(is_path).collect();
    assert!(paths.len() >= 20, "the map names only {} paths", paths.len());
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
    for name in crates() {
        assert!(map.contains(&format!("`crates/{name}`")), "ARCHITECTURE.md does not name crates/{name}");
    }
}

#[test]
fn the_readme_begins_with_what_to_type() {
    let readme = read(&root().join("README.md"));
    let block = readme.split("```").nth(1).expect("a block of commands");
    let commands: Vec<&str> = block.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(commands, ["cargo run --release -- bench", "cargo test --workspace"]);
    let checks = read(&root().join(".ci/run"));
    assert!(checks.contains(commands[1]), "the tests that the README names are not those that .ci/run runs");
}
