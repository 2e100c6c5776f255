//! Examples of the README and of the manual: every command line in them is understood, and cheap ones run, among them all that the
//! manual shows behind a `$`. The output of simulated ones is compared with what is shown, to the last character.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{self, ccnuma_in};
use tempfile::TempDir;

/// A text that shows command lines.
struct Document {
    /// Its path in the repository.
    name: String,
    text: String,
}

/// The README, and the chapters of the manual that are not generated.
fn documents() -> Vec<Document> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    chapters(&root.join("manual/src"), &mut paths);
    let read = |path: PathBuf| Document {
        name: path.strip_prefix(&root).unwrap_or(&path).display().to_string(),
        text: fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    };
    paths.into_iter().map(read).collect()
}

fn chapters(folder: &Path, paths: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("read").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && path.file_name().is_none_or(|name| name != "reference") {
            chapters(&path, paths);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            paths.push(path);
        }
    }
}

/// Treatment of an example here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It runs, in the order of this list.
    Runs,
    /// It runs and finds a failure: exit code 1.
    Finds,
    /// It is understood; why it is not run, unless somebody asks for it (`cargo test --test command readme -- --ignored`).
    Long(&'static str),
    /// It is understood; what of the reader's, or which rights, it would take to run it.
    Lacks(&'static str),
    /// It names a command, and is none that anybody would type.
    Named,
}

use How::{Finds, Lacks, Long, Named, Runs};

const HOST: &str = "measures this computer, for seconds to minutes";
const MINUTES: &str = "takes minutes";
const SLOW: &str = "takes tens of seconds as tests are compiled";

/// Every example, but for those behind a `$`, which run in any case.
const EXAMPLES: &[(&str, How)] = &[
    ("topology", Runs),
    ("machines", Runs),
    ("machines show arctic", Runs),
    ("machines show xeon-8180-2s", Runs),
    ("topology -m epyc-7702-2s --svg rome.svg", Runs),
    ("topology -m stinger --svg stinger.svg", Runs),
    ("topology -m sci-rings-4x16", Runs),
    ("bench -m arctic --home 1 --local 2 --remote 0 --state CEXM lmbench-read", Runs),
    ("sim --list", Runs),
    ("sim -m arctic migratory", Runs),
    ("reproduce", Runs),
    ("help cc", Runs),
    ("sweep study.toml", Runs),
    ("sweep study.toml --merge", Runs),
    ("sweep study.toml --shard 2/8", Runs),
    ("sweep study.toml --list --csv | tail -n +2 | cut -d, -f1 > keys.txt", Named),
    ("sim --json=study.sweep/results.jsonl --resume", Named),
    ("sweep", Named),
    ("help sweep", Runs),
    ("schema", Runs),
    ("run -- ./prog", Runs),
    ("--version", Runs),
    ("completions bash", Runs),
    ("man ~/.local/share/man/man1", Lacks("a shell, which knows where ~ is")),
    ("cc -O2 -fopenmp stream.c -o stream", Runs),
    ("sar 1", Lacks("it goes on until it is interrupted")),
    ("diagnose -- ./prog", Runs),
    ("bench", Long(HOST)),
    ("bench --quick", Long(HOST)),
    ("bench --suite hierarchy --pages 2M", Lacks("huge pages that root has set aside")),
    ("bench --suite cores --json=cores.jsonl", Long(HOST)),
    ("fit --machine-out mine.toml", Long(HOST)),
    ("bench -m mine.toml", Long(HOST)),
    ("bench --suite fit --json=mine.jsonl", Long(HOST)),
    ("fit mine.jsonl --machine-out mine.toml", Long(HOST)),
    ("bench -m mine.toml --against mine.jsonl", Long(HOST)),
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
    ("reproduce lai", Long(MINUTES)),
    ("reproduce lai --quick", Long(SLOW)),
    ("reproduce lai/figure-5 --json=lai.jsonl --resume", Long(MINUTES)),
    ("reproduce prestor/figure-6.5 --svg plots", Long(SLOW)),
    ("reproduce prestor/4.13", Long(SLOW)),
    ("reproduce prestor --svg plots", Long(MINUTES)),
    ("sim -m flash-scaled-16p swim --side 192 --placement first-touch,round-robin,fixed=0", Long(SLOW)),
    (
        "sim -m bwana private --cpus 8 --distance 2 --rounds 8 --lines 131072 --placement planned,planned+migration",
        Long(SLOW),
    ),
    ("sim -m flash-scaled-16p swim --scheduler none,batch/pinned,gang/cache-affinity", Long(SLOW)),
    ("sim -m arctic ocean --barrier ideal,llsc,at-memory,tree", Long(SLOW)),
    ("sim -m arctic water --locks llsc,at-memory", Long(SLOW)),
    ("sim -m arctic fft --vary router.bypass_cycles=4,8,16", Long(SLOW)),
    ("sar 1 --screen", Lacks("a terminal")),
    ("sar 1 --rtprio --runon 0", Lacks("the right to come before others")),
    ("cc -O2 -pthread fft.c -o fft -lm", Lacks("a program of the reader's")),
    ("sim -m arctic --cpus 16 -- ./fft -p16 -m20", Lacks("a program of the reader's")),
    ("sim -m flash-64p FILE", Named),
    ("diagnose -m MACHINE -- ./fft", Named),
    ("run -m MACHINE -- ./fft", Named),
    ("shims ~/shims; PATH=~/shims:$PATH make", Lacks("a makefile of the reader's")),
    ("diagnose -m flash-16p --cpus 2 -- ./prog", Lacks("a program of the reader's")),
    ("advise -m xeon-6252n-2s fft --points 4096 --cpus 8", Runs),
    ("advise -m mine.toml -- ./prog", Lacks("a program of the reader's")),
    ("verify origin --caches 2 --mutation skip-wait", Finds),
    ("verify origin --transitions", Runs),
    ("cc -g -O2 -pthread", Named),
    ("help COMMAND", Named),
    ("report", Named),
    ("sim --stats", Named),
    ("fit", Named),
    ("sim", Named),
    ("sar", Named),
    ("run", Named),
    ("cc", Named),
    ("diagnose", Named),
    ("advise", Named),
    ("fit --machine-out", Named),
    ("sim -m", Named),
];

/// The command lines without the command's name: words between backticks, and lines of blocks.
fn command_lines() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let add = |text: &str, found: &mut BTreeSet<String>| {
        if let Some(line) = text.trim().strip_prefix("ccnuma ") {
            let line = line.split(" #").next().unwrap_or(line);
            found.insert(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    };
    for document in documents() {
        for (number, part) in document.text.split("```").enumerate() {
            match number % 2 {
                0 => part.split('`').skip(1).step_by(2).for_each(|quoted| add(quoted, &mut found)),
                // Lines after `$` are sessions, which are run.
                _ => part.lines().for_each(|line| add(line, &mut found)),
            }
        }
    }
    found
}

/// An example behind a `$`.
struct Session {
    line: String,
    /// Its output, of which a line `...` stands for any; none if the text does not show it.
    printed: Vec<String>,
}

/// The examples behind a `$`.
fn sessions(document: &Document) -> Vec<Session> {
    let mut found: Vec<Session> = Vec::new();
    for block in document.text.split("```").skip(1).step_by(2) {
        let mut inside = false;
        // The first line of a block names its language.
        for line in block.lines().skip(1) {
            if let Some(command) = line.strip_prefix("$ ") {
                inside = command.starts_with("ccnuma ");
                if let Some(line) = command.strip_prefix("ccnuma ") {
                    found.push(Session { line: line.trim().to_owned(), printed: Vec::new() });
                }
            } else if let Some(session) = found.last_mut().filter(|_| inside) {
                session.printed.push(line.trim_end().to_owned());
            }
        }
    }
    for session in &mut found {
        while session.printed.last().is_some_and(String::is_empty) {
            session.printed.pop();
        }
    }
    found
}

/// Whether a session prints the same on every computer.
fn is_simulated(session: &Session) -> bool {
    session.line.contains("-m ")
}

/// A folder with what the examples take: a program, one to be compiled, and a study.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("prog");
    fs::write(&program, "#!/bin/sh\nsleep 0.8\n").expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let source =
        "#include <omp.h>\nint main(void) {\n#pragma omp parallel\n  { (void)omp_get_thread_num(); }\n  return 0;\n}\n";
    fs::write(folder.path().join("stream.c"), source).expect("written");
    let study = "[[sim]]\nmachines = \"flash-4p\"\nprograms = \"migratory\"\ncpus = [1, 4]\n";
    fs::write(folder.path().join("study.toml"), study).expect("written");
    folder
}

#[track_caller]
fn runs_well(folder: &Path, line: &str) -> String {
    ends_with(0, folder, line)
}

#[track_caller]
fn ends_with(code: i32, folder: &Path, line: &str) -> String {
    let output = ccnuma_in(folder, line);
    let errors = common::said(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "ccnuma {line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn every_example_is_listed_here() {
    let here: BTreeSet<String> = EXAMPLES.iter().map(|(line, _)| (*line).to_owned()).collect();
    let there = command_lines();
    let new: Vec<_> = there.difference(&here).collect();
    assert!(new.is_empty(), "README or manual have examples that this test does not know: {new:?}");
    let gone: Vec<_> = here.difference(&there).collect();
    assert!(gone.is_empty(), "this test has examples that neither README nor manual have: {gone:?}");
}

/// Flags and their values are checked before help is given.
#[test]
fn every_example_is_understood() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = EXAMPLES.iter().filter(|(_, how)| *how != Named).map(|(line, _)| (*line).to_owned());
    let shown = documents().iter().flat_map(sessions).map(|session| session.line).collect::<Vec<_>>();
    for line in lines.chain(shown) {
        // Arguments that follow are for the compiler, or ask for help already.
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
    for (line, _) in EXAMPLES.iter().filter(|(_, how)| *how == Finds) {
        ends_with(1, folder.path(), line);
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
fn agrees(line: &str, expected: &[String], printed: &str) {
    let mut found = printed.lines().map(str::trim_end);
    let mut skips = false;
    for wanted in expected {
        if wanted.trim() == "..." {
            skips = true;
            continue;
        }
        let next = if skips { found.find(|line| line == wanted) } else { found.next() };
        assert_eq!(next, Some(wanted.as_str()), "ccnuma {line} prints\n{printed}");
        skips = false;
    }
    assert!(skips || found.all(str::is_empty), "ccnuma {line} prints more:\n{printed}");
}

/// The sessions of a document one after the other in a folder of their own, for later ones read what earlier ones wrote.
fn runs_through(document: &Document) {
    let folder = folder();
    for session in sessions(document) {
        // Measurements of this computer that are shown take a minute: see below.
        if session.printed.is_empty() || is_simulated(&session) {
            let printed = runs_well(folder.path(), &session.line);
            if !session.printed.is_empty() {
                agrees(&session.line, &session.printed, &printed);
            }
        }
    }
}

/// Examples of simulated machines print the same on every computer.
#[test]
fn what_is_shown_runs_and_prints_what_is_shown() {
    let documents = documents();
    assert!(
        documents.iter().flat_map(sessions).any(|session| !session.printed.is_empty()),
        "nothing shows what it prints"
    );
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(document) = documents.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(said) = std::panic::catch_unwind(|| runs_through(document)) {
                        let why = said.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().expect("whole").push(format!("{}: {why}", document.name));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("whole");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A session on another computer has other figures and other rows: titles and headings are compared.
#[test]
#[ignore = "measures this computer for a minute"]
fn what_examples_print_of_this_computer_looks_as_it_is_shown() {
    let folder = folder();
    for session in documents().iter().flat_map(sessions).filter(|session| !is_simulated(session)) {
        let printed = runs_well(folder.path(), &session.line);
        for wanted in session.printed.iter().take(2) {
            assert!(printed.contains(wanted.as_str()), "ccnuma {} prints\n{printed}", session.line);
        }
    }
}
