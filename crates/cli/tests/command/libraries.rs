//! Shared libraries of programs: their threads are simulated and their data are simulated memory, however they were built and whenever
//! they were loaded.

use std::fs;
use std::path::Path;

use crate::common::programs::{Built, CCNUMA, compilers, complaints, figure, printed, run};
use tempfile::TempDir;

/// A library whose threads add to a counter under a lock, and that adds up an array of its own.
const LIBRARY: &str = "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic long count;\n\
    static void *add(void *rounds)\n{\nfor (long i = 0; i < (long)rounds; i++) {\npthread_mutex_lock(&lock);\ncount++;\n\
    pthread_mutex_unlock(&lock);\n}\nreturn 0;\n}\n\
    long threads(long rounds)\n{\npthread_t thread[4];\n\
    for (int i = 0; i < 4; i++) if (pthread_create(&thread[i], 0, add, (void *)rounds)) return -1;\n\
    for (int i = 0; i < 4; i++) pthread_join(thread[i], 0);\nreturn count;\n}\n\
    static long values[10000];\n\
    long sum(long rounds)\n{\nlong all = 0;\nfor (long r = 0; r < rounds; r++)\n\
    for (int i = 0; i < 10000; i++) all += values[i]++;\nreturn all;\n}\n";

const PROGRAM: &str = "#include <stdio.h>\n#include <stdlib.h>\nlong threads(long), sum(long);\nint main(int count, char **words)\n{\n\
    if (count > 2) printf(\"%ld\\n\", sum(atol(words[2])));\nelse printf(\"%ld\\n\", threads(atol(words[1])));\nreturn 0;\n}\n";

const LOADER: &str = "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(int count, char **words)\n{\n\
    void *library = dlopen(\"./libparts.so\", RTLD_NOW);\nif (!library) return 3;\n\
    long (*act)(long) = (long (*)(long))dlsym(library, count > 2 ? \"sum\" : \"threads\");\n\
    printf(\"%ld\\n\", act(atol(words[count > 2 ? 2 : 1])));\nreturn 0;\n}\n";

/// A program with a library: `library` is how that is built, `whole` whether it is linked (else it is loaded).
fn built(library: &[&str], whole: bool) -> Built {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let write = |name: &str, text: &str| fs::write(at.join(name), text).expect("written");
    write("parts.c", LIBRARY);
    write("main.c", if whole { PROGRAM } else { LOADER });
    let words = [library, &["-O2", "-g", "-shared", "-fPIC", "-pthread", "parts.c", "-o", "libparts.so"]].concat();
    printed(&run(at, &words, &[]));
    let linked: &[&str] = if whole { &["-L.", "-lparts", "-Wl,-rpath,."] } else { &["-ldl"] };
    printed(&run(at, &[&[CCNUMA, "cc", "-O2", "main.c", "-o", "program", "-pthread"], linked].concat(), &[]));
    Built { folder }
}

/// The ways in which the library is built: by the wrapper with each compiler, and natively.
fn ways() -> Vec<Vec<String>> {
    let wrapped = |compiler| vec![CCNUMA.to_owned(), "cc".to_owned(), format!("--ccnuma-compiler={compiler}")];
    compilers().map(wrapped).chain([vec!["gcc".to_owned()]]).collect()
}

#[test]
fn threads_that_libraries_make_are_simulated() {
    for way in ways() {
        let words: Vec<&str> = way.iter().map(String::as_str).collect();
        for whole in [true, false] {
            let built = built(&words, whole);
            let run = || {
                let output = built.tried("-m arctic --cpus 8", &["100"], &[]);
                assert_eq!(printed(&output).lines().next(), Some("400"), "{way:?} {whole}: {}", complaints(&output));
                (complaints(&output), built.record())
            };
            let (complaints, record) = run();
            assert_eq!(figure(&record, "threads"), 5.0, "{way:?} {whole}");
            let is_native = way.len() == 1;
            let said = complaints.contains("references of libparts.so are not simulated: not built with `ccnuma cc`");
            assert_eq!(said, is_native, "{way:?} {whole}: {complaints}");
            assert_eq!(run().1, record, "{way:?} {whole}: a second run differs");
        }
    }
}

#[test]
fn data_of_libraries_are_simulated_memory() {
    for compiler in compilers() {
        let named = format!("--ccnuma-compiler={compiler}");
        for whole in [true, false] {
            let built = built(&[CCNUMA, "cc", &named], whole);
            let references = |rounds| {
                printed(&built.tried("-m arctic --cpus 2", &["0", rounds], &[]));
                (figure(&built.record(), "references"), figure(&built.record(), "secondary_misses"))
            };
            let (few, misses) = references("1");
            let more = references("3").0;
            assert_eq!(more - few, 40_000.0, "{compiler} {whole}: two rounds of 10000 loads and stores");
            assert!(misses > 80_000.0 / 128.0, "{compiler} {whole}: {misses} misses on 80 KB");
        }
    }
}

#[test]
fn what_libraries_lose_is_told_by_their_names() {
    let built = built(&[CCNUMA, "cc", "-g"], true);
    let words = [CCNUMA, "diagnose", "-m", "flash-scaled-8p", "--no-trials", "--json", "--", "./program", "300"];
    let run = || printed(&run(built.folder.path(), &words, &[]));
    let told = run();
    assert!(told.contains(" of libparts.so") && told.contains("parts.c:"), "{told}");
    assert_eq!(told, run(), "a second run differs: libraries are elsewhere in every run");
}

/// A folder in which a program is linked with a library whose constructor makes a thread.
fn with_early_thread() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at: &Path = folder.path();
    let source = "#include <pthread.h>\n#include <unistd.h>\nstatic void *wait(void *none) { pause(); return none; }\n\
        __attribute__((constructor)) static void begin(void) { pthread_t thread; pthread_create(&thread, 0, wait, 0); }\n\
        void nothing(void) {}\n";
    fs::write(at.join("early.c"), source).expect("written");
    fs::write(at.join("main.c"), "void nothing(void);\nint main(void)\n{\nnothing();\nreturn 0;\n}\n")
        .expect("written");
    printed(&run(at, &["gcc", "-shared", "-fPIC", "-pthread", "early.c", "-o", "libearly.so"], &[]));
    let words = [CCNUMA, "cc", "main.c", "-o", "program", "-L.", "-learly", "-Wl,-rpath,."];
    printed(&run(at, &words, &[]));
    folder
}

#[test]
fn threads_from_before_main_are_refused_by_name() {
    let built = Built { folder: with_early_thread() };
    let output = built.tried("-m arctic", &[], &[]);
    let told = complaints(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("made before main") && told.contains("libearly.so"), "{told}");
}

#[test]
fn threads_by_their_names_in_c11_are_simulated() {
    let source = "#include <stdio.h>\n#include <threads.h>\nstatic mtx_t lock;\nstatic cnd_t changed;\nstatic once_flag once = ONCE_FLAG_INIT;\n\
        static int count, begun;\nstatic tss_t key;\nstatic void begin(void) { begun++; }\n\
        static int add(void *number)\n{\ntss_set(key, number);\ncall_once(&once, begin);\n\
        for (int i = 0; i < 50; i++) {\nmtx_lock(&lock);\ncount++;\nmtx_unlock(&lock);\n}\n\
        cnd_signal(&changed);\nthrd_yield();\nreturn tss_get(key) == number ? (int)(long)number : -1;\n}\n\
        int main(void)\n{\nthrd_t thread[4];\nint sum = 0;\nif (mtx_init(&lock, mtx_plain | mtx_timed) || cnd_init(&changed)) return 1;\n\
        tss_create(&key, 0);\nfor (long i = 0; i < 4; i++) if (thrd_create(&thread[i], add, (void *)i) != thrd_success) return 1;\n\
        mtx_lock(&lock);\nwhile (count < 200) cnd_wait(&changed, &lock);\n\
        if (mtx_trylock(&lock) != thrd_busy) return 2;\nmtx_unlock(&lock);\n\
        for (int i = 0; i < 4; i++) { int result; thrd_join(thread[i], &result); sum += result; }\n\
        printf(\"%d %d %d\\n\", count, begun, sum);\nreturn 0;\n}\n";
    let built = Built::from_text("cc", "c11.c", source, &["-O2", "-std=c11", "-pthread"]);
    let output = built.tried("-m arctic --cpus 8", &[], &[]);
    assert_eq!(printed(&output).lines().next(), Some("200 1 6"), "{}", complaints(&output));
    assert_eq!(figure(&built.record(), "threads"), 5.0);
}
