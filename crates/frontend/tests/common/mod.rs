//! Programs of the tests: built as users' are, and run on small simulated machines.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use ccnuma_frontend::launch::Launch;
use ccnuma_frontend::request::{Answer, Request};
use ccnuma_frontend::wrapped::{GCC_FLAGS, LIBRARY, SYMBOLS};

/// The folder of the runtime's shared library: cargo puts it beside the tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test runs");
    let folder = test.parent().expect("in a folder").to_path_buf();
    assert!(folder.join(LIBRARY).is_file(), "{LIBRARY} is not in {}", folder.display());
    folder
}

/// Compiles a C program of `programs` as `ccnuma cc` does, into a folder that cargo keeps for tests.
pub fn build(name: &str) -> PathBuf {
    build_with(name, &[])
}

/// The same with calls at the beginnings of blocks, as `ccnuma cc` asks for where the compiler has them.
pub fn build_with_blocks(name: &str) -> PathBuf {
    build_with(name, &["-fsanitize-coverage=trace-pc"])
}

/// The same for a program with OpenMP.
pub fn build_with_openmp(name: &str) -> PathBuf {
    build_with(name, &["-fopenmp"])
}

fn build_with(name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
    // Tests run at the same time, and a program that runs cannot be written.
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    let unique = format!("{name}-{}-{}", std::process::id(), BUILT.fetch_add(1, Ordering::Relaxed));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
    let object = program.with_extension("o");
    let run = |command: &mut Command| {
        let output = command.output().expect("gcc is installed");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new("gcc")
        .args(["-O2", "-g", "-fno-pie", concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include"), "-c", "-o"])
        .arg(&object)
        .arg(&source)
        .args(GCC_FLAGS)
        .args(flags));
    let folder = libraries();
    let wraps = SYMBOLS.iter().map(|symbol| format!("-Wl,--wrap={symbol}"));
    let mut link = Command::new("gcc");
    link.args(["-no-pie", "-o"]).arg(&program).arg(&object).args(wraps);
    link.arg("-L").arg(&folder).arg("-lccnuma_frontend").arg(format!("-Wl,-rpath,{}", folder.display())).arg("-lm");
    run(&mut link);
    program
}

/// The request: the program on all eight processors of a small Origin.
pub fn request() -> Request {
    let machine = machine::load("origin2000-r12k-300-8p").expect("a machine").to_toml();
    Request {
        program: String::new(),
        machine,
        cpus: None,
        barrier: "own".to_owned(),
        locks: "own".to_owned(),
        scheduler: "none".to_owned(),
        seed: 0,
        causes: false,
        lock_step: false,
        no_caches: false,
        host_time: false,
        instructions: 2,
        spin_limit_ms: 1000,
        stack: 1 << 20,
        record: None,
        profile: None,
        relocation: Default::default(),
        progress: None,
        answer: PathBuf::new(),
    }
}

/// Runs a program: what came of it, and what it printed.
pub fn run(program: &Path, arguments: &[&str], request: Request) -> (Answer, String) {
    let command: Vec<OsString> =
        std::iter::once(program.into()).chain(arguments.iter().map(|&word| word.into())).collect();
    let launch = Launch::new(&command).expect("it was built for it");
    let (answer, printed) = launch.run_captured(request).expect("it runs");
    (answer, String::from_utf8(printed).expect("text"))
}

/// Runs a program that finds its own results right: it ends with status zero, twice with the same record.
pub fn run_right(name: &str, arguments: &[&str]) -> (Answer, String) {
    let program = build(name);
    let (mut answer, printed) = run(&program, arguments, request());
    assert_eq!((answer.error.as_deref(), answer.status), (None, 0), "{name}: {printed}");
    let (again, printed_again) = run(&program, arguments, request());
    assert_eq!((&answer.row, &printed), (&again.row, &printed_again), "{name}: equal runs are equal");
    answer.speed = None;
    (answer, printed)
}

/// The error of a program that goes wrong.
pub fn error_of(name: &str, arguments: &[&str]) -> String {
    let (answer, printed) = run(&build(name), arguments, request());
    assert!(answer.row.is_none(), "{name} leaves no record: {printed}");
    answer.error.unwrap_or_else(|| panic!("{name} goes wrong: {printed}"))
}
