//! Programs that a compiler makes here, with and without what debuggers want, and files that are no programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use symbols::{Lacking, Symbols, SymbolsError};

const SOURCE: &str = "double field[100]; long b = 7;
static long counter;
long bump(long by) {
    counter += by;
    return counter;
}
int main(void) { field[3] = 1; return (int)bump(0); }
";

/// The program compiled so; nothing where there is no compiler.
fn compiled(folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, SOURCE).expect("writable");
    let done = Command::new("gcc").args(["-O0", "-no-pie"]).args(flags).arg("-o").arg(&program).arg(&source).status();
    if done.is_ok_and(|status| status.success()) {
        return Some(program);
    }
    eprintln!("skipped: there is no gcc here");
    None
}

#[test]
fn variables_functions_and_lines_have_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled(folder.path(), &["-g"]) else { return };
    let symbols = Symbols::of(&program).expect("a program");
    assert_eq!(symbols.lacking(), None);
    let field = symbols.variables().iter().find(|variable| variable.name == "field").expect("by name");
    assert_eq!(field.bytes, 800);
    assert_eq!(
        symbols.variable(field.start + 799).map(|(found, offset)| (found.name.as_str(), offset)),
        Some(("field", 799))
    );
    assert!(symbols.variable(field.start + 800).is_none_or(|(found, _)| found.name != "field"));
    assert!(symbols.variables().iter().any(|variable| variable.name == "counter" && variable.bytes == 8));
    assert!(
        symbols.variables().iter().any(|variable| variable.name == "b"),
        "a name that looks like one of C++'s types"
    );
    // Some address is in line 4 of bump.
    let text = 0x40_0000..0x41_0000;
    let bump = text.map(|address| symbols.place(address)).find(|place| place.line == Some(4)).expect("a line");
    assert_eq!(bump.function.as_deref(), Some("bump"));
    assert!(bump.file.is_some_and(|file| file.ends_with("program.c")));
}

#[test]
fn what_is_made_part_of_others_is_told_with_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("inlined.c"), folder.path().join("inlined"));
    let text = "static inline __attribute__((always_inline)) long at(volatile long *from, long i)\n{ return from[i]; }\n\
        __attribute__((noinline)) long sum(volatile long *from)\n{\n    return at(from, 1);\n}\n\
        int main(void) { long all[2] = { 0, 0 }; return (int)sum(all); }\n";
    std::fs::write(&source, text).expect("writable");
    let done = Command::new("gcc").args(["-O2", "-g", "-no-pie", "-o"]).arg(&program).arg(&source).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no gcc here");
        return;
    }
    let symbols = Symbols::of(&program).expect("a program");
    let mut places = (0x40_0000..0x41_0000).map(|address| symbols.place(address));
    let place = places.find(|place| place.line == Some(2)).expect("the load");
    assert_eq!(place.function.as_deref(), Some("at"));
    let callers: Vec<_> = place.callers.iter().map(|caller| (caller.function.as_deref(), caller.line)).collect();
    assert_eq!(callers, [(Some("sum"), Some(5))]);
}

#[test]
fn without_debug_information_there_are_names_and_without_symbols_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled(folder.path(), &[]) else { return };
    let symbols = Symbols::of(&program).expect("a program");
    assert_eq!(symbols.lacking(), Some(Lacking::Lines));
    let mut places = (0x40_0000..0x41_0000).map(|address| symbols.place(address));
    assert!(places.any(|place| place.function.as_deref() == Some("bump") && place.line.is_none()));
    let Some(program) = compiled(folder.path(), &["-s"]) else { return };
    let symbols = Symbols::of(&program).expect("a program");
    assert_eq!(symbols.lacking(), Some(Lacking::Names));
    assert!(symbols.variables().is_empty() && symbols.variable(0x40_4000).is_none());
    assert_eq!(symbols.place(0x40_1000).line, None);
}

#[test]
fn what_is_no_program_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    assert!(matches!(Symbols::of(&missing), Err(SymbolsError::Unreadable { .. })));
    let text = folder.path().join("text");
    std::fs::write(&text, "#!/bin/sh\n").expect("writable");
    let refused = Symbols::of(&text).map(drop).expect_err("no program").to_string();
    assert!(refused.contains("text") && refused.contains("no program"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A program cut or spoilt anywhere is refused or read, and never ends the reader.
    #[test]
    fn damaged_programs_do_no_harm(cut in 0.0..1.0f64, spoilt in proptest::collection::vec((0.0..1.0f64, any::<u8>()), 0..20)) {
        let mut bytes = std::fs::read(std::env::current_exe().expect("this program")).expect("readable");
        bytes.truncate(1 << 16);
        bytes.truncate((bytes.len() as f64 * cut) as usize);
        for (place, byte) in spoilt {
            let place = (bytes.len() as f64 * place) as usize;
            if let Some(at) = bytes.get_mut(place) {
                *at = byte;
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("program");
        std::fs::write(&file, bytes).expect("writable");
        if let Ok(symbols) = Symbols::of(&file) {
            let _ = (symbols.place(0x1000), symbols.variable(0x1000), symbols.lacking());
        }
    }
}
