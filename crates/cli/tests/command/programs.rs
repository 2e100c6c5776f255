//! Programs in C, C++ and Fortran, built by the wrapper as their authors would build them, on this computer and on simulated
//! machines. Where a compiler or a build system is not installed, its tests say so and end.

use std::fs;
use std::path::Path;

use crate::common;
use crate::common::programs::{Built, CCNUMA, compilers, complaints, figure, installed, printed, programs, run};

/// Runs a program here and simulated with several numbers of threads, and twice to see equal bytes.
#[track_caller]
fn holds(built: &Built, words: impl Fn(&str) -> Vec<String>) {
    for threads in ["1", "3", "8"] {
        let words = words(threads);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let expected = format!("{threads} threads: right");
        assert_eq!(built.natively(threads, &words).lines().next(), Some(expected.as_str()), "on this computer");
        let (text, record) = built.simulated("-m arctic --cpus 16", threads, &words);
        assert_eq!(text, expected);
        let again = built.simulated("-m arctic --cpus 16", threads, &words);
        assert_eq!((text, record), again, "a second run differs");
    }
}

#[test]
fn every_construct_of_openmp_works_as_gcc_compiles_it() {
    let built = Built::new("cc", "constructs.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
    holds(&built, |_| Vec::new());
    // More threads than processors take turns.
    assert_eq!(built.simulated("-m arctic --cpus 4", "8", &[]).0, "8 threads: right");
}

#[test]
fn every_construct_of_openmp_works_as_clang_compiles_it() {
    if installed("clang") {
        let built = Built::by("clang", "constructs.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        holds(&built, |_| Vec::new());
    }
}

#[test]
fn what_newer_versions_of_openmp_have_works() {
    for compiler in compilers() {
        let built = Built::by(compiler, "modern.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        holds(&built, |_| Vec::new());
        let variables = [("OMP_NUM_THREADS", "4"), ("OMP_MAX_TASK_PRIORITY", "5")];
        let simulated = [CCNUMA, "sim", "-m", "arctic", "--cpus", "16", "--", "./program"];
        let ordered = printed(&run(built.folder.path(), &simulated, &variables));
        assert!(ordered.starts_with("4 threads: right\n"), "{compiler}, by priority: {ordered}");
    }
}

#[test]
fn teams_shrink_and_grow_and_end_with_the_threads_that_have_them() {
    for (compiler, flag) in [("gcc", "-O2"), ("clang", "-O2"), ("clang", "-fnoopenmp-use-tls")] {
        if !installed(compiler) {
            continue;
        }
        let built = Built::by(compiler, "teams.c", &[flag, "-O2", "-Wall", "-Werror", "-fopenmp", "-pthread"]);
        holds(&built, |_| Vec::new());
        assert_eq!(built.natively("3", &["counted"]), "3 threads: right\n", "{compiler}");
    }
}

#[test]
fn constructs_are_cancelled_if_the_environment_says_so() {
    for compiler in compilers() {
        let built = Built::by(compiler, "cancellation.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        for threads in ["1", "4", "12"] {
            for (wanted, told) in [("true", "on"), ("false", "off")] {
                let variables = [("OMP_NUM_THREADS", threads), ("OMP_CANCELLATION", wanted)];
                let expected = format!("{threads} threads, cancellation {told}: right\n");
                assert_eq!(printed(&run(built.folder.path(), &["./program"], &variables)), expected, "{compiler}");
                let simulated = [CCNUMA, "sim", "-m", "arctic", "--cpus", "16", "--", "./program"];
                let first = printed(&run(built.folder.path(), &simulated, &variables));
                assert!(first.starts_with(&expected), "{compiler}: {first}");
                assert_eq!(first, printed(&run(built.folder.path(), &simulated, &variables)), "a second run differs");
            }
        }
    }
}

/// References to arrays whose addresses go nowhere are counted to the last where the compiler announces them, and atomic ones once.
#[test]
fn references_to_local_arrays_are_seen() {
    for (compiler, flag, arrays) in [("gcc", "-O3", 0), ("clang", "-O3", 2), ("clang", "--ccnuma-no-locals", 0)] {
        if !installed(compiler) {
            continue;
        }
        let built = Built::by(compiler, "local_arrays.c", &["-O3", flag]);
        for (options, atomic) in [("", 4), ("--no-caches", 0)] {
            let options = format!("-m arctic --cpus 1 {options}");
            let references = |rounds| figure(&built.simulated(&options, "1", &[rounds]).1, "references");
            let found = references("3000") - references("1000");
            assert_eq!(found, f64::from(2000 * (arrays + atomic)), "{compiler} {flag} {options}");
        }
    }
}

/// Clang tells of every block, as gcc does: a loop without a reference takes as long.
#[test]
fn instructions_are_counted_alike_as_gcc_and_clang_compile_them() {
    if !installed("gcc") || !installed("clang") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = "int main(int argc, char **argv)\n{\ndouble x = argc, y = 0.5;\n\
        for (long i = 0; i < 1000000; i++) { double t = x * y - 0.25 * x; y = x * 0.5 + y * t; x = t + 0.125; }\n\
        return x + y > 1e9;\n}\n";
    fs::write(folder.path().join("loop.c"), source).expect("written");
    let built = Built { folder };
    let times = ["gcc", "clang"].map(|compiler| {
        let named = format!("--ccnuma-compiler={compiler}");
        printed(&run(built.folder.path(), &[CCNUMA, "cc", &named, "-O2", "loop.c", "-o", "program"], &[]));
        ["", "--no-caches"].map(|options| {
            let record = built.simulated(&format!("-m arctic --cpus 1 {options}"), "1", &[]).1;
            figure(&record, "time_ns")
        })
    });
    let all = times.as_flattened();
    assert!(all.iter().all(|&time| time > 1e6 && (time / all[0] - 1.0).abs() < 0.2), "{times:?}");
}

#[test]
fn threads_of_the_cxx_library_work() {
    for compiler in ["g++", "clang++"] {
        if installed(compiler) {
            let named = format!("--ccnuma-compiler={compiler}");
            let built = Built::new("cxx", "standard.cc", &[&named, "-std=c++17", "-O2", "-Wall", "-pthread"]);
            holds(&built, |threads| vec![threads.to_owned()]);
        }
    }
}

#[test]
fn fortran_works() {
    if installed("gfortran") {
        let built = Built::new("fc", "relaxation.f90", &["-O2", "-fopenmp"]);
        holds(&built, |_| Vec::new());
    }
}

#[test]
fn a_program_in_c_misses_as_the_same_one_built_in() {
    let built = Built::new("cc", "radix.c", &["-O2", "-pthread"]);
    for cpus in ["2", "8"] {
        let machine = format!("-m arctic+placement=first-touch --cpus {cpus}");
        let (text, own) = built.simulated(&machine, "1", &[cpus, "131072"]);
        assert_eq!(text, "131072 keys in order");
        let folder = built.folder.path();
        let words: Vec<&str> = [CCNUMA, "sim"].into_iter().chain(machine.split_whitespace()).collect();
        let words = [&words[..], &["radix", "--keys", "131072", "--json"]].concat();
        let theirs = printed(&run(folder, &words, &[]));
        for name in ["primary_misses", "secondary_misses"] {
            let (ours, theirs) = (figure(&own, name), figure(&theirs, name));
            let differs = (ours / theirs - 1.0).abs();
            assert!(
                differs < 0.05,
                "{cpus} processors, {name}: {ours} of the program in C, {theirs} of the one built in"
            );
        }
    }
}

#[test]
fn makefiles_need_only_the_compilers_name() {
    if !installed("make") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let makefile = "CFLAGS = -O2 -fopenmp -MMD\nLDFLAGS = -static -fopenmp\nLDLIBS = -lgomp -lm\nprogram: constructs.o\n\
        \t$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@\n";
    fs::write(folder.path().join("Makefile"), makefile).expect("written");
    fs::copy(programs().join("constructs.c"), folder.path().join("constructs.c")).expect("copied");
    let cc = format!("CC={CCNUMA} cc");
    let output = run(folder.path(), &["make", &cc], &[]);
    printed(&output);
    let said = common::said(&output.stderr);
    assert!(said.contains("-static is left out: the runtime is a shared library"), "{said}");
    assert!(folder.path().join("constructs.d").exists(), "no list of dependencies was made");
    let built = Built { folder };
    assert_eq!(built.simulated("-m arctic --cpus 4", "4", &[]).0, "4 threads: right");
}

#[test]
fn cmake_finds_compilers_and_openmp() {
    if !installed("cmake") || !installed("gfortran") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let project = format!(
        "cmake_minimum_required(VERSION 3.10)\nproject(tried C CXX Fortran)\nfind_package(OpenMP REQUIRED COMPONENTS C Fortran)\n\
         find_package(Threads REQUIRED)\ninclude(CheckCSourceCompiles)\n\
         check_c_source_compiles(\"#include <pthread.h>\\nint main(void) {{ return pthread_self() == 0; }}\" SELF)\n\
         add_executable(program {0}/constructs.c)\ntarget_link_libraries(program OpenMP::OpenMP_C)\n\
         add_executable(standard {0}/standard.cc)\nset_property(TARGET standard PROPERTY CXX_STANDARD 17)\n\
         target_link_libraries(standard Threads::Threads)\n\
         add_executable(relaxation {0}/relaxation.f90)\ntarget_link_libraries(relaxation OpenMP::OpenMP_Fortran)\n",
        programs().display()
    );
    fs::write(folder.path().join("CMakeLists.txt"), project).expect("written");
    let compilers =
        [("CC", "cc"), ("CXX", "cxx"), ("FC", "fc")].map(|(variable, name)| (variable, format!("{CCNUMA} {name}")));
    let variables: Vec<(&str, &str)> = compilers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let said = printed(&run(folder.path(), &["cmake", "-DCMAKE_BUILD_TYPE=Release", "."], &variables));
    assert!(said.contains("The C compiler identification is GNU"), "{said}");
    printed(&run(folder.path(), &["cmake", "--build", "."], &[]));
    let built = Built { folder };
    assert_eq!(built.simulated("-m arctic --cpus 4", "4", &[]).0, "4 threads: right");
    for name in ["standard", "relaxation"] {
        let words = [CCNUMA, "sim", "-m", "arctic", "--cpus", "16", "--", &format!("./{name}")];
        let text = printed(&run(built.folder.path(), &words, &[("OMP_NUM_THREADS", "4")]));
        assert!(text.starts_with("4 threads: right\n"), "{text}");
    }
}

#[test]
fn meson_finds_compilers_and_threads() {
    if !installed("meson") || !installed("ninja") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let project = "project('tried', 'c', 'cpp', default_options: ['cpp_std=c++17', 'buildtype=release'])\n\
        executable('program', 'constructs.c', dependencies: dependency('openmp'))\n\
        executable('standard', 'standard.cc', dependencies: dependency('threads'))\n";
    fs::write(folder.path().join("meson.build"), project).expect("written");
    for name in ["constructs.c", "standard.cc"] {
        fs::copy(programs().join(name), folder.path().join(name)).expect("copied");
    }
    let compilers = [("CC", "cc"), ("CXX", "cxx")].map(|(variable, name)| (variable, format!("{CCNUMA} {name}")));
    let variables: Vec<(&str, &str)> = compilers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    printed(&run(folder.path(), &["meson", "setup", "build"], &variables));
    printed(&run(folder.path(), &["ninja", "-C", "build"], &[]));
    for name in ["program", "standard"] {
        let path = format!("./build/{name}");
        let words = [CCNUMA, "sim", "-m", "arctic", "--cpus", "16", "--", &path];
        let text = printed(&run(folder.path(), &words, &[("OMP_NUM_THREADS", "4")]));
        assert!(text.starts_with("4 threads: right\n"), "{text}");
    }
}

#[test]
fn links_named_after_compilers_are_compilers() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(CCNUMA, folder.path().join("ccnuma-cc")).expect("a link");
    let said = printed(&run(folder.path(), &["./ccnuma-cc", "--version"], &[]));
    assert!(said.contains("Free Software Foundation") || said.contains("clang version"), "{said}");
    let source = programs().join("radix.c");
    let words = ["./ccnuma-cc", "-shared", "-fPIC", source.to_str().expect("UTF-8"), "-o", "library.so"];
    printed(&run(folder.path(), &words, &[]));
    assert!(folder.path().join("library.so").exists());
}

#[test]
fn a_command_that_is_copied_has_all_that_programs_are_built_with() {
    let command = Path::new(CCNUMA);
    // Where links can be made: copies are long, and a file that was just written may be too busy to be started.
    let folder = tempfile::tempdir_in(command.parent().expect("a folder")).expect("a folder");
    let library = command.parent().expect("a folder").join("deps").join(frontend::wrapped::LIBRARY);
    for part in [command, &library] {
        let there = folder.path().join(part.file_name().expect("a name"));
        fs::hard_link(part, &there).or_else(|_| fs::copy(part, &there).map(drop)).expect("copied");
    }
    let source = "#include <ccnuma.h>\n#include <stdio.h>\nint main(void)\n{\nccnuma_roi_begin();\nputs(\"measured\");\n\
        ccnuma_roi_end();\nreturn 0;\n}\n";
    fs::write(folder.path().join("measured.c"), source).expect("written");
    let words = ["./ccnuma", "cc", "--ccnuma-verbose", "measured.c", "-o", "program"];
    let path = folder.path().to_str().expect("UTF-8");
    let sources = programs().ancestors().nth(3).expect("the workspace").to_str().expect("UTF-8").to_owned();
    // A cache, and a home that nothing can be written to.
    for (name, home) in [("XDG_CACHE_HOME", path), ("HOME", "/dev/null")] {
        let variables = [("XDG_CACHE_HOME", ""), ("TMPDIR", path), (name, home)];
        let output = run(folder.path(), &words, &variables);
        printed(&output);
        let told = common::said(&output.stderr);
        assert!(told.contains(&format!("-I {path}/ccnuma")) && !told.contains(&sources), "{told}");
        let simulated =
            printed(&run(folder.path(), &["./ccnuma", "sim", "-m", "origin2000-r12k-300-8p", "--", "./program"], &[]));
        assert!(simulated.starts_with("measured\n"), "{simulated}");
    }
}

/// As in the compilers' own runtimes: all of gcc's threads change one word and look at another, each of clang's has two of its own
/// that one other thread looks at.
#[test]
fn threads_of_gcc_meet_at_a_counter_and_those_of_clang_in_a_tree() {
    const THREADS: f64 = 64.0;
    const BARRIERS: f64 = 40.0;
    let measured = |compiler: &str| {
        let built = Built::by(compiler, "barriers.c", &["-O2", "-fopenmp"]);
        let run = || built.simulated("-m origin2000-r10k-195-64p", "64", &[]);
        let (text, record) = run();
        assert_eq!(text, "64 threads: right", "{compiler}");
        assert_eq!((text, record.clone()), run(), "a second run differs");
        let of = |name: &str| figure(&record, name);
        (of("secondary_misses") / BARRIERS / THREADS, of("refusals") / BARRIERS, of("time_ns") / BARRIERS)
    };
    let (misses, refusals, time) = measured("gcc");
    assert!((1.9..2.2).contains(&misses) && refusals > THREADS, "{misses} misses a thread, {refusals} refusals");
    if installed("clang") {
        let (tree_misses, tree_refusals, tree_time) = measured("clang");
        assert!((3.7..4.1).contains(&tree_misses), "{tree_misses} misses a thread: two words, written and read");
        assert!(tree_refusals < refusals / 20.0 && tree_time < time / 3.0, "{tree_refusals} refusals, {tree_time} ns");
    }
}

#[test]
fn threads_go_where_the_environment_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = "#define _GNU_SOURCE\n#include <omp.h>\n#include <sched.h>\n#include <stdio.h>\nint main(void)\n{\n\
        int where[8];\n#pragma omp parallel\nwhere[omp_get_thread_num()] = sched_getcpu();\n\
        for (int i = 0; i < omp_get_max_threads(); i++) printf(\"%d \", where[i]);\n\
        printf(\"of %d\\n\", omp_get_num_places());\nreturn 0;\n}\n";
    fs::write(folder.path().join("where.c"), source).expect("written");
    printed(&run(folder.path(), &[CCNUMA, "cc", "-fopenmp", "where.c", "-o", "program"], &[]));
    let places = |variables: &[(&str, &str)]| {
        let words = [CCNUMA, "sim", "-m", "arctic", "--cpus", "16", "--", "./program"];
        printed(&run(folder.path(), &words, variables)).lines().next().unwrap_or_default().to_owned()
    };
    let four = ("OMP_NUM_THREADS", "4");
    assert_eq!(places(&[four]), "0 1 2 3 of 0");
    assert_eq!(places(&[four, ("OMP_PROC_BIND", "spread")]), "0 4 8 12 of 16");
    assert_eq!(places(&[four, ("OMP_PROC_BIND", "close"), ("OMP_PLACES", "sockets")]), "0 2 4 6 of 8");
    assert_eq!(places(&[four, ("OMP_PLACES", "{0},{3},{9},{5}")]), "0 3 9 5 of 4");
}

#[test]
fn tasks_are_over_when_their_events_are_fulfilled() {
    for compiler in compilers() {
        let built = Built::by(compiler, "detached.c", &["-O2", "-fopenmp"]);
        holds(&built, |_| Vec::new());
    }
}

#[test]
fn openmp_tells_its_settings_and_where_threads_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = "#include <omp.h>\n#include <stdio.h>\nint main(void)\n{\nchar text[64];\n\
        omp_set_affinity_format(\"%0.3n of %N on %A\");\n#pragma omp parallel\n#pragma omp critical\n{ }\n\
        size_t length = omp_capture_affinity(text, sizeof text, \"level %L%%\");\n\
        printf(\"%s %zu\\n\", text, length);\nlength = omp_get_affinity_format(text, 6);\nprintf(\"%s %zu\\n\", text, length);\n\
        return 0;\n}\n";
    fs::write(folder.path().join("told.c"), source).expect("written");
    printed(&run(folder.path(), &[CCNUMA, "cc", "-fopenmp", "told.c", "-o", "program"], &[]));
    let variables = [
        ("OMP_NUM_THREADS", "2"),
        ("OMP_PLACES", "{0,1},{4}"),
        ("OMP_DISPLAY_ENV", "true"),
        ("OMP_DISPLAY_AFFINITY", "true"),
    ];
    let words = [CCNUMA, "sim", "-m", "arctic", "--cpus", "16", "--", "./program"];
    let output = run(folder.path(), &words, &variables);
    let told = printed(&output);
    assert!(told.starts_with("level 0% 8\n%0.3n 17\n"), "{told}");
    // Lines that OpenMP displays are the program's own, and not wrapped.
    let errors = String::from_utf8_lossy(&output.stderr);
    for line in ["  OMP_NUM_THREADS = '2'", "  OMP_PLACES = '{0-1},{4}'", "000 of 2 on 0-1", "001 of 2 on 4"] {
        assert!(errors.lines().any(|told| told == line), "{line}: {errors}");
    }
}

#[test]
fn what_cannot_be_built_is_refused() {
    common::refused("cc --ccnuma-fast a.c", &["--ccnuma-fast", "no such flag", "--ccnuma-no-blocks"]);
    common::refused("cc -m32 -c a.c", &["-m32", "only 64-bit programs", "accepted: -m64"]);
    common::refused(
        "fc --ccnuma-compiler=no-such-one a.f90",
        &["--ccnuma-compiler", "no-such-one", "cannot be started"],
    );
}

/// The findings about a program on eight processors of a small machine.
fn findings(built: &Built, arguments: &[&str]) -> Vec<serde_json::Value> {
    let words = [&[CCNUMA, "diagnose", "-m", "flash-scaled-8p", "--json", "--", "./program"], arguments].concat();
    let output = run(built.folder.path(), &words, &[]);
    // The program's own line is on standard error, beside the records, once: trials are not seen.
    let beside = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(beside.lines().filter(|line| *line == "right").count(), 1, "{beside}");
    printed(&output).lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

#[test]
fn remedies_of_own_programs_are_tried() {
    let built = Built::new("cc", "faults.c", &["-g", "-O1", "-pthread"]);
    for (argument, class, object) in
        [("sharing", "cache-line false sharing", "counters"), ("misplaced", "node-level false sharing", "heap")]
    {
        let found = findings(&built, &[argument]);
        let first = found.first().expect("a finding");
        assert_eq!(first["class"], class, "{argument}: {found:?}");
        assert!(first["object"].as_str().is_some_and(|name| name.contains(object)), "{first}");
        let (cost, gain) = (first["cost_pct"].as_f64().unwrap_or_default(), first["gain_pct"].as_f64());
        assert!(cost > 5.0 && gain.is_some_and(|gain| gain > 5.0), "{first}");
    }
}

#[test]
fn counters_are_read_while_own_programs_run() {
    let built = Built::new("cc", "faults.c", &["-g", "-O1", "-pthread"]);
    let words = [CCNUMA, "run", "-m", "arctic", "-s", "20us", "-o", "trace", "--json=rows", "--", "./program"];
    let output = run(built.folder.path(), &words, &[]);
    assert_eq!(printed(&output), "right\n", "the program's output is its own");
    // Threads of the program are shown, and not all for which the machine has room.
    let told = complaints(&output);
    assert!(told.contains("arctic") && told.contains("\nt8 ") && !told.contains("\nt9 "), "{told}");
    let words = [CCNUMA, "info", "trace"];
    let told = printed(&run(built.folder.path(), &words, &[]));
    assert!(told.contains("arctic") && told.contains("ticks, 0.02 ms/tick"), "{told}");
}

#[test]
fn an_own_program_cannot_have_more_processors_than_there_are() {
    let built = Built::new("cc", "faults.c", &["-O1", "-pthread"]);
    let program = built.folder.path().join("program");
    common::refused(&format!("sim -m arctic --cpus 999 -- {}", program.display()), &["999", "arctic"]);
}
