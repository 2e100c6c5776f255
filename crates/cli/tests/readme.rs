//! The README's examples: every command line in it is understood, and cheap ones run. The output of simulated ones is compared with the
//! README's, to the last character.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::ccnuma_in;
use tempfile::TempDir;

const README: &str = include_str!("../../../README.md");

/// What becomes of an example here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It runs, in the order of this list.
    Runs,
    /// It is understood; why it is not run, unless somebody asks for it (`cargo test --test readme -- --ignored`).
    Long(&'static str),
    /// It is understood; what of the reader's, or which rights, it would take to run it.
    Lacks(&'static str),
    /// It names a command, and is none that anybody would type.
    Named,
}

use How::{Lacks, Long, Named, Runs};

const HOST: &str = "measures this computer, for seconds to minutes";
const MINUTES: &str = "takes minutes";
const SLOW: &str = "takes tens of seconds as tests are compiled";

/// Every example, but for those that the README shows with what they print.
const EXAMPLES: &[(&str, How)] = &[
    ("topology", Runs),
    ("machines", Runs),
    ("machines show arctic", Runs),
    ("topology -m stinger --svg stinger.svg", Runs),
    ("topology -m sci-rings-4x16", Runs),
    ("bench -m arctic --home 1 --local 2 --remote 0 --state CEXM lmbench-read", Runs),
    ("sim --list", Runs),
    ("sim -m arctic migratory", Runs),
    ("reproduce", Runs),
    ("help cc", Runs),
    ("schema", Runs),
    ("run -- ./prog", Lacks("a folder without the trace of the example that follows")),
    ("cc -O2 -fopenmp stream.c -o stream", Runs),
    ("sar --list", Runs),
    ("sar 1", Lacks("it goes on until it is interrupted")),
    ("run -s 10ms -o prog.arrows -- ./prog", Runs),
    ("info prog.arrows --counters", Runs),
    ("dump prog.arrows --thread t0 --metric cpu,cpuid --from 0.5s --to 2s", Runs),
    ("dump prog.arrows --perfetto prog.pftrace", Runs),
    ("dump prog.arrows --all --parquet prog.parquet", Runs),
    ("report prog.arrows", Runs),
    ("diagnose -- ./prog", Runs),
    ("bench", Long(HOST)),
    ("bench --quick", Long(HOST)),
    ("bench --suite hierarchy --pages 2M", Lacks("huge pages that root has set aside")),
    ("bench --suite cores --json=cores.jsonl", Long(HOST)),
    ("fit --machine-out mine.toml", Long(HOST)),
    ("bench -m mine.toml", Long(HOST)),
    ("bench --suite all --json=all.jsonl", Long(HOST)),
    ("bench -m stinger --suite remote", Long(MINUTES)),
    ("verify origin", Long(SLOW)),
    ("verify --all", Long(MINUTES)),
    ("verify --random hybrid/RAC --nodes 64 --seeds 50", Long(MINUTES)),
    ("verify --random", Long(MINUTES)),
    ("reproduce seidl", Long(MINUTES)),
    ("reproduce flash", Long("takes hours")),
    ("reproduce flash/sharing --svg plots", Long(MINUTES)),
    ("reproduce flash/ideal", Long(MINUTES)),
    ("reproduce flash/5.3 --quick", Long(MINUTES)),
    ("reproduce flash --json=flash.jsonl --resume", Long("takes hours")),
    ("reproduce servers", Long(MINUTES)),
    ("bench -m xeon-8180-2s --suite mlc", Long(MINUTES)),
    ("bench --suite mlc", Long(HOST)),
    ("reproduce hexsel/2", Long(SLOW)),
    ("reproduce hexsel --quick", Long(MINUTES)),
    ("reproduce hexsel --svg plots", Long(MINUTES)),
    ("reproduce lai --quick", Long(SLOW)),
    ("reproduce lai/figure-5 --json=lai.jsonl --resume", Long(MINUTES)),
    ("reproduce prestor/figure-6.5 --svg plots", Long(SLOW)),
    ("reproduce prestor/4.13", Long(SLOW)),
    ("reproduce prestor --svg plots", Long(MINUTES)),
    ("reproduce prestor", Long(MINUTES)),
    ("sim -m flash-scaled-16p swim --side 192 --placement first-touch,round-robin,fixed=0", Long(SLOW)),
    (
        "sim -m bwana private --cpus 8 --distance 2 --rounds 8 --lines 131072 --placement planned,planned+migration",
        Long(SLOW),
    ),
    ("sim -m flash-scaled-16p swim --scheduler none,batch/pinned,gang/cache-affinity", Long(SLOW)),
    ("sim -m arctic ocean --barrier ideal,llsc,at-memory,tree", Long(SLOW)),
    ("sim -m arctic water --locks llsc,at-memory", Long(SLOW)),
    ("sim -m arctic fft --vary router.bypass_cycles=4,8,16", Long(SLOW)),
    ("report -m flash-scaled-16p art -o art.html", Long(SLOW)),
    ("sar 1 --screen", Lacks("a terminal")),
    ("sar 1 --rtprio --runon 0", Lacks("the right to come before others")),
    ("cc -O2 -pthread fft.c -o fft -lm", Lacks("a program of the reader's")),
    ("sim -m arctic --cpus 16 -- ./fft -p16 -m20", Lacks("a program of the reader's")),
    ("sim -m flash-64p FILE", Named),
    ("diagnose -m MACHINE -- ./fft", Named),
    ("run -m MACHINE -- ./fft", Named),
    ("shims ~/shims; PATH=~/shims:$PATH make", Lacks("a makefile of the reader's")),
    ("fit", Named),
    ("sim", Named),
    ("sim --causes", Named),
    ("sar", Named),
    ("run", Named),
    ("cc", Named),
    ("diagnose", Named),
];

/// The README's command lines without the command's name: words between backticks, and lines of blocks.
fn command_lines() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let add = |text: &str, found: &mut BTreeSet<String>| {
        if let Some(line) = text.trim().strip_prefix("ccnuma ") {
            let line = line.split(" #").next().unwrap_or(line);
            found.insert(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    };
    for (number, part) in README.split("```").enumerate() {
        match number % 2 {
            0 => part.split('`').skip(1).step_by(2).for_each(|quoted| add(quoted, &mut found)),
            // What stands after `$` is compared with what it prints.
            _ => part.lines().for_each(|line| add(line, &mut found)),
        }
    }
    found
}

/// The examples with what they print: command line and lines, of which `...` stands for any.
fn sessions() -> Vec<(String, Vec<&'static str>)> {
    let blocks = README.split("```").skip(1).step_by(2);
    let session = |block: &'static str| {
        let (first, rest) = block.trim_start_matches('\n').split_once('\n')?;
        let printed = rest.trim_end_matches('\n').lines().map(str::trim_end).collect();
        Some((first.strip_prefix("$ ccnuma ")?.to_owned(), printed))
    };
    blocks.filter_map(session).collect()
}

/// A folder with what the examples take: a program, and one to be compiled.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("prog");
    fs::write(&program, "#!/bin/sh\nsleep 0.8\n").expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let source =
        "#include <omp.h>\nint main(void) {\n#pragma omp parallel\n  { (void)omp_get_thread_num(); }\n  return 0;\n}\n";
    fs::write(folder.path().join("stream.c"), source).expect("written");
    folder
}

#[track_caller]
fn runs_well(folder: &Path, line: &str) -> String {
    let output = ccnuma_in(folder, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn every_example_is_listed_here() {
    let here: BTreeSet<String> = EXAMPLES.iter().map(|(line, _)| (*line).to_owned()).collect();
    let there = command_lines();
    let new: Vec<_> = there.difference(&here).collect();
    assert!(new.is_empty(), "the README has examples that this test does not know: {new:?}");
    let gone: Vec<_> = here.difference(&there).collect();
    assert!(gone.is_empty(), "this test has examples that the README has not: {gone:?}");
}

/// Flags and their values are checked before help is given.
#[test]
fn every_example_is_understood() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = EXAMPLES.iter().filter(|(_, how)| *how != Named).map(|(line, _)| (*line).to_owned());
    for line in lines.chain(sessions().into_iter().map(|(line, _)| line)) {
        // What follows is for the compiler, or asks for help already.
        if line.starts_with("cc ") || line.starts_with("help ") {
            continue;
        }
        let asks = match line.split_once(" -- ") {
            Some((before, program)) => format!("{before} --help -- {program}"),
            None => format!("{line} --help"),
        };
        runs_well(folder.path(), &asks);
    }
}

#[test]
fn cheap_examples_run() {
    let folder = folder();
    for (line, _) in EXAMPLES.iter().filter(|(_, how)| *how == Runs) {
        if line.starts_with("cc ") && std::process::Command::new("gcc").arg("--version").output().is_err() {
            eprintln!("SKIPPED: ccnuma {line}: gcc is not installed");
            continue;
        }
        runs_well(folder.path(), line);
    }
}

#[test]
#[ignore = "takes hours: every example that the reader of the README can run"]
fn long_examples_run() {
    let folder = folder();
    for (line, how) in EXAMPLES {
        if let Long(why) = how {
            eprintln!("ccnuma {line} ({why})");
            runs_well(folder.path(), line);
        }
    }
}

/// Asserts that lines were printed, one after the other but for what `...` stands for.
#[track_caller]
fn agrees(line: &str, expected: &[&str], printed: &str) {
    let mut found = printed.lines().map(str::trim_end);
    let mut skips = false;
    for wanted in expected {
        if wanted.trim() == "..." {
            skips = true;
            continue;
        }
        let next = if skips { found.find(|line| line == wanted) } else { found.next() };
        assert_eq!(next, Some(*wanted), "ccnuma {line} prints\n{printed}");
        skips = false;
    }
    assert!(skips || found.all(str::is_empty), "ccnuma {line} prints more:\n{printed}");
}

/// Examples of simulated machines print the same on every computer.
#[test]
fn what_simulated_examples_print_is_what_the_readme_says() {
    let folder = folder();
    let mut compared = 0;
    for (line, expected) in sessions().into_iter().filter(|(line, _)| line.contains("-m ")) {
        agrees(&line, &expected, &runs_well(folder.path(), &line));
        compared += 1;
    }
    assert!(compared > 0, "the README shows nothing");
}

/// A session on another computer has other figures and other rows: titles and headings are compared.
#[test]
#[ignore = "measures this computer for a minute"]
fn what_examples_print_of_this_computer_looks_as_the_readme_says() {
    let folder = folder();
    for (line, expected) in sessions().into_iter().filter(|(line, _)| !line.contains("-m ")) {
        let printed = runs_well(folder.path(), &line);
        for wanted in expected.iter().take(2) {
            assert!(printed.contains(wanted.trim_end()), "ccnuma {line} prints\n{printed}");
        }
    }
}
