//! Screens fit the terminal: every subcommand in a quick form, at 80 and at 100 columns, without a line that is longer, and
//! without escape sequences where there is no terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common;
use tempfile::TempDir;

/// Quick forms of all subcommands that print tables, in an order in which each has the files that it takes.
const SCREENS: &[&str] = &[
    "machines",
    "topology",
    "topology -m arctic --routes",
    "topology -m flash-8p --check-deadlock",
    "bench --quick --seconds 1",
    "bench --quick --suite cores --iterations 1",
    "bench --quick --suite bandwidth --iterations 1",
    "bench -m smp-2p --iterations 1 --home 0 --local 0 lmbench-read bw-read",
    "bench -m origin2000-r10k-195-4p --suite local --iterations 1",
    "bench -m smp-8p --suite cores --iterations 1",
    "fit -m origin2000-r10k-195-4p --model remote",
    "verify mesi --caches 2 --stats",
    "verify mesi --litmus message-passing",
    "verify sci --transitions",
    "verify server/skylake --transitions",
    "verify --random cluster/r-numa+mig-rep --seeds 1 --nodes 2 --references 50 --stats",
    "sim --list",
    "sim -m arctic -m flash-scaled-16p migratory --cpus 1,4 --stats --causes",
    "sim -m flash-scaled-16p fft --points 1024 --cpus 1,2,4,8 --barrier ideal,tree --placement first-touch,round-robin",
    "sim -m sci-ring-4p uniform --stats",
    "sim -m dsm-cluster-2x2+r-numa uniform --stats",
    "diagnose -m flash-scaled-16p fft --points 1024 --cpus 4",
    "diagnose -- ./prog",
    "reproduce",
    "reproduce prestor/figure-6.2",
    "reproduce prestor/4.6 --iterations 1",
    "sar 50ms 2",
    "sar 50ms 2 --all",
    "sar --list",
    "run -s 10ms -o prog.arrows -- ./prog",
    "run -m flash-8p -s 50us -o simulated.arrows -- fft --points 1024",
    "run -m arctic --list",
    "info prog.arrows --counters",
    "dump prog.arrows",
    "dump simulated.arrows --all",
];

/// A folder with a program.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("prog");
    fs::write(&program, "#!/bin/sh\nsleep 0.2\n").expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
    folder
}

fn shown(directory: &Path, line: &str, columns: usize) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccnuma"));
    command.args(line.split_whitespace()).current_dir(directory).env("COLUMNS", columns.to_string());
    command.output().unwrap_or_else(|error| panic!("cannot run ccnuma {line}: {error}"))
}

/// The table that a command prints; what `run` tells about a program is on standard error.
fn text(directory: &Path, line: &str, columns: usize) -> String {
    let output = shown(directory, line, columns);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {errors}");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let text = if printed.is_empty() { errors.into_owned() } else { printed };
    assert!(!text.trim().is_empty(), "ccnuma {line} printed nothing");
    assert!(!text.contains('\x1b'), "ccnuma {line} prints escape sequences into a pipe");
    text
}

#[track_caller]
fn fits(line: &str, columns: usize, text: &str) {
    for row in text.lines() {
        let length = row.chars().count();
        assert!(length <= columns, "ccnuma {line}: {length} characters at {columns} columns:\n{row}\nin\n{text}");
    }
}

#[test]
fn every_screen_fits_80_and_100_columns() {
    for columns in [80, 100] {
        let folder = folder();
        for line in SCREENS {
            fits(line, columns, &text(folder.path(), line, columns));
            // Traces of the first pass are replaced.
            let _gone = fs::remove_file(folder.path().join("prog.arrows.old"));
        }
    }
}

/// Errors are wrapped as tables are, and stay one line where a program reads lines.
#[test]
fn errors_fit_the_terminal_too() {
    let folder = folder();
    let line = "reproduce prester";
    let whole = |output: &Output| String::from_utf8(output.stderr.clone()).expect("UTF-8");
    let errors = [80, 100].map(|columns| {
        let refused = shown(folder.path(), line, columns);
        assert_eq!(refused.status.code(), Some(2));
        fits(line, columns, &whole(&refused));
        common::said(&refused.stderr)
    });
    assert!(errors[0].starts_with("error: prester: unknown table or figure; accepted: prestor/"), "{}", errors[0]);
    assert!(errors[0] == errors[1] && errors[0].lines().count() == 1, "{errors:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccnuma"));
    let read = command.args(line.split(' ')).env("CCNUMA_PROGRESS", "lines").output().expect("it runs");
    assert_eq!(whole(&read), errors[0]);
}

#[test]
fn help_fits_80_columns_where_it_is_wrapped() {
    // Examples are shown as they are typed, and may be longer.
    let folder = folder();
    let help = text(folder.path(), "sim --help", 100);
    let options = help.lines().filter(|line| line.trim_start().starts_with("--"));
    assert!(options.count() > 20, "{help}");
}

/// Whatever is left out of a table is named, shown by `--wide`, and can be selected.
#[test]
fn columns_that_are_left_out_can_be_had() {
    let folder = folder();
    let line = "sim -m flash-scaled-16p migratory --cpus 4";
    let narrow = text(folder.path(), line, 80);
    assert!(narrow.contains("columns not shown: ") && narrow.contains("writebacks"), "{narrow}");
    let first = narrow.lines().take_while(|line| !line.contains("columns not shown")).collect::<Vec<_>>().join("\n");
    assert!(!first.contains("writebacks"), "{narrow}");
    let wide = text(folder.path(), &format!("{line} --wide"), 80);
    assert!(wide.contains("writebacks") && !wide.contains("columns not shown"), "{wide}");
    assert!(wide.lines().any(|line| line.len() > 120), "{wide}");
    let chosen = text(folder.path(), &format!("{line} --columns writebacks,time"), 80);
    assert!(chosen.contains("writebacks") && !chosen.contains("L2 misses  "), "{chosen}");
    fits(line, 80, &chosen);
}

#[test]
fn transition_tables_are_printed_in_columns() {
    let folder = folder();
    let tables = text(folder.path(), "verify origin --transitions", 100);
    let rows: Vec<&str> = tables.lines().filter(|line| line.starts_with("SHRD")).collect();
    let cells =
        |row: &str| row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ");
    assert!(rows.iter().any(|row| cells(row) == "SHRD, UPGRD, Invalidate, UPACK INVAL, EXCL"), "{tables}");
    assert!(tables.starts_with("Transitions of the Origin's home\n") && !tables.contains(['|', '#', '`']), "{tables}");
    assert!(!tables.contains("Generated"), "how it came into the repository concerns nobody here: {tables}");
}

/// A column that no table has is refused where the tables are known before anything runs, and else noted beside the result.
#[test]
fn unknown_columns_are_told() {
    for line in ["machines --columns foo", "sim --list --columns foo"] {
        common::refused(line, &["--columns foo: no table has this column; accepted: "]);
    }
    common::refused(
        "machines --columns machine,foo",
        &["accepted: machine, cpus, processor, clock, l2-bus, l2, description"],
    );
    for line in ["sim -m smp-4p private --rounds 1", "bench -m smp-2p --iterations 1 lmbench-read"] {
        let output = common::ccnuma(&format!("{line} --columns foo"));
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {errors}");
        assert!(errors.contains("note: --columns foo: no table has this column; accepted: "), "{line}: {errors}");
    }
    // That of a table below the first.
    let known = common::ccnuma("sim -m smp-4p private --rounds 1 --columns read-local,time");
    assert!(known.stderr.is_empty(), "{}", common::said(&known.stderr));
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let folder = folder();
    let coloured = shown(folder.path(), "bench -m smp-4p --suite cores --iterations 1 --color always", 80);
    assert!(String::from_utf8_lossy(&coloured.stdout).contains("\x1b[38;5;"), "a heat map has background colours");
    for when in ["auto", "never"] {
        let plain = shown(folder.path(), &format!("bench -m smp-4p --suite cores --iterations 1 --color {when}"), 80);
        let printed = String::from_utf8_lossy(&plain.stdout).into_owned();
        assert!(!printed.contains('\x1b') && printed.contains('▁'), "blocks stand for colours: {printed}");
    }
    let refused = shown(folder.path(), "sim --color always --nonsense", 80);
    assert!(String::from_utf8_lossy(&refused.stderr).starts_with("\x1b[1;31merror:\x1b[0m "));
}

#[test]
fn measurements_become_heat_maps_in_a_page() {
    let folder = folder();
    text(folder.path(), "bench -m smp-4p --suite cores --iterations 1 --json=cores.jsonl", 80);
    text(folder.path(), "report cores.jsonl -o cores.html", 80);
    let page = fs::read_to_string(folder.path().join("cores.html")).expect("a page");
    for part in ["<svg", "requester CPU", "owner CPU", "prefers-color-scheme: dark"] {
        assert!(page.contains(part), "no {part} in the page");
    }
    let nothing = shown(folder.path(), "report cores.html -o other.html", 80);
    assert_eq!(nothing.status.code(), Some(2), "a page is neither a trace nor records");
}
