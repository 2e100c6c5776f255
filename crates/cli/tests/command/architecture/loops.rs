//! Loops of imports: files that each import all the others, directly or through them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::imports::Imports;

/// The loops between files of different folders, each as its files and the imports that tie them, a line each.
///
/// A loop inside one folder is between parts of one subject. One between folders means that neither can be read, or
/// changed, without the other.
pub fn between_folders(imports: &Imports) -> Vec<String> {
    let graph: DiGraphMap<&Path, ()> = imports.keys().map(|(from, to)| (from.as_path(), to.as_path())).collect();
    let loops = tarjan_scc(&graph).into_iter().map(BTreeSet::from_iter);
    let folders = |files: &BTreeSet<&Path>| files.iter().map(|file| folder(file)).collect::<BTreeSet<_>>().len();
    loops.filter(|files| folders(files) > 1).map(|files| described(&files, imports)).collect()
}

/// The folder of a file. The file of a module with submodules (`a/mod.rs`, or `a.rs` beside `a/`) is in theirs.
fn folder(file: &Path) -> PathBuf {
    let own = file.with_extension("");
    if own.is_dir() { own } else { file.parent().expect("a file in a folder").to_owned() }
}

fn described(files: &BTreeSet<&Path>, imports: &Imports) -> String {
    let mut text = format!("a loop of {} files:", files.len());
    for ((from, to), names) in imports {
        if files.contains(from.as_path()) && files.contains(to.as_path()) {
            let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            write!(text, "\n  {} -> {}: {names}", from.display(), to.display()).expect("text grows");
        }
    }
    text
}

/// Writes a crate of `files` into a folder and returns its loops.
fn of_crate(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let found = between_folders(&super::imports::imports(&folder.path().join("lib.rs")));
    found.into_iter().map(|text| text.replace(&format!("{}/", folder.path().display()), "")).collect()
}

const ROOT: (&str, &str) = ("lib.rs", "mod upper; mod lower;");

#[test]
fn a_loop_between_folders_is_found_with_the_names_that_tie_it() {
    let loops = of_crate(&[
        ROOT,
        ("upper/mod.rs", "use crate::lower::Lower; pub struct Upper(Lower);"),
        ("lower/mod.rs", "pub struct Lower; fn f() { crate::upper::Upper::new(); }"),
    ]);
    let expected = "a loop of 2 files:\n  lower/mod.rs -> upper/mod.rs: new\n  upper/mod.rs -> lower/mod.rs: Lower";
    assert_eq!(loops, [expected]);
}

#[test]
fn an_import_through_a_reexport_is_one_of_the_file_that_defines_the_name() {
    let lower = "pub use part::Part; pub use crate::upper::Upper; mod part;";
    let loops = |part: &str| {
        of_crate(&[
            ROOT,
            ("upper/mod.rs", "pub struct Upper; fn f(part: super::lower::Part) {}"),
            ("lower/mod.rs", lower),
            ("lower/part.rs", part),
        ])
    };
    assert_eq!(loops("pub struct Part;"), [""; 0], "a re-export alone is no import");
    let ties = "lower/part.rs -> upper/mod.rs: Upper\n  upper/mod.rs -> lower/part.rs: Part";
    assert_eq!(loops("use super::Upper; pub struct Part;"), [format!("a loop of 2 files:\n  {ties}")]);
}

#[test]
fn paths_in_macros_aliases_globs_and_inline_modules_are_imports() {
    let lower = ("lower/mod.rs", "use crate::upper::Upper; pub struct Lower; pub fn make() {}");
    let texts = [
        "fn f() { print!(\"{}\", crate::lower::make()); }",
        "use crate::lower as below; fn f() { below::make() }",
        "use crate::lower::*;",
        "use super::{lower::{self, Lower}};",
        "pub mod inner { fn f() { super::super::lower::make(); } }",
        "pub use crate::lower::Lower; fn f(lower: Lower) {}",
    ];
    for text in texts {
        let loops = of_crate(&[ROOT, ("upper/mod.rs", &format!("pub struct Upper; {text}")), lower]);
        assert_eq!(loops.len(), 1, "{text}: {loops:?}");
    }
}

#[test]
fn parts_of_one_folder_and_tests_may_tie_a_loop() {
    let texts = [
        "mod part; use part::Part; pub struct Whole(Part);",
        "mod part; pub struct Whole; #[cfg(test)] mod tests { use crate::lower::Lower; }",
        "mod part; pub struct Whole; /// [`Lower`](crate::lower::Lower)\n fn f(lower: u8) -> u8 { lower.lower }",
    ];
    for text in texts {
        let loops = of_crate(&[
            ROOT,
            ("upper/mod.rs", text),
            ("upper/part.rs", "use super::Whole; pub struct Part;"),
            ("lower/mod.rs", "use crate::upper::Whole; pub struct Lower;"),
        ]);
        assert_eq!(loops, [""; 0], "{text}");
    }
}
