//! Programs of users' own, and what is told of them: the measured part, their input, their waits, and how they end.

use crate::common::programs::{Built, CCNUMA, compilers, complaints, figure, installed, printed, run};
use std::fs;

/// A part before a loop, a loop in parallel, and a part after it; how long the serial parts are is told.
const PARTS: &str = "#include <stdio.h>\n#include <stdlib.h>\nstatic double all[4096];\n\
    static void alone(long rounds) { for (long r = 0; r < rounds; r++) for (int i = 0; i < 4096; i++) all[i] += r; }\n\
    int main(int count, char **words)\n{\nalone(atol(words[1]));\nfor (int round = 0; round < 3; round++) {\n\
    _Pragma(\"omp parallel for\")\nfor (int i = 0; i < 4096; i++) for (int j = 0; j < 20; j++) all[i] += j;\nalone(1);\n}\n\
    alone(atol(words[1]));\nprintf(\"%g\\n\", all[1]);\nreturn 0;\n}\n";

#[test]
fn from_the_first_parallel_section_to_the_last_is_measured_with_any_number_of_threads() {
    for compiler in compilers() {
        let named = format!("--ccnuma-compiler={compiler}");
        let built = Built::from_text("cc", "parts.c", PARTS, &[&named, "-O2", "-fopenmp"]);
        for threads in ["1", "4"] {
            let times = |serial: &str| {
                let output = built.tried("-m arctic --cpus 4", &[serial], &[("OMP_NUM_THREADS", threads)]);
                printed(&output);
                let record = built.record();
                let parsed: serde_json::Value = serde_json::from_str(&record).expect("a record");
                assert_eq!(parsed["measured"], "sections", "{compiler} {threads}");
                assert!(complaints(&output).contains("measured from the first to the last parallel section: "));
                (figure(&record, "time_ns"), figure(&record, "run_ns"))
            };
            let ((short, short_run), (long, long_run)) = (times("10"), times("200"));
            assert!((long / short - 1.0).abs() < 0.05, "{compiler} {threads}: {short} and {long} ns are measured");
            assert!(long_run > 3.0 * short_run && short_run > short, "{compiler} {threads}: {short_run}, {long_run}");
        }
    }
}

#[test]
fn runs_of_which_not_the_same_is_measured_are_compared_whole() {
    let source = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic long all[8][32768];\n\
        static void *work(void *number)\n{\nlong *own = all[(long)number];\n\
        for (int r = 0; r < 4; r++) for (int i = 0; i < 32768; i++) own[i]++;\nreturn 0;\n}\n\
        int main(int count, char **words)\n{\npthread_t thread[8];\nlong threads = atol(getenv(\"THREADS\"));\n\
        for (long i = 1; i < threads; i++) pthread_create(&thread[i], 0, work, (void *)i);\nwork(0);\n\
        for (long i = 1; i < threads; i++) pthread_join(thread[i], 0);\nreturn 0;\n}\n";
    let built = Built::from_text("cc", "work.c", source, &["-O2", "-pthread"]);
    let measured = |threads: &str| {
        let output = built.tried("-m arctic --cpus 4", &[], &[("THREADS", threads)]);
        printed(&output);
        let parsed: serde_json::Value = serde_json::from_str(&built.record()).expect("a record");
        (parsed["measured"].as_str().map(str::to_owned), complaints(&output))
    };
    let (one, told) = measured("1");
    assert_eq!(one.as_deref(), Some("whole"));
    assert!(told.contains("measured as a whole (no parallel section)"), "{told}");
    assert_eq!(measured("4").0.as_deref(), Some("sections"));
}

#[test]
fn tasks_that_are_done_while_waiting_are_work() {
    let source = "#include <stdio.h>\nstatic double value[64];\nint main(void)\n{\n\
        _Pragma(\"omp parallel\")\n_Pragma(\"omp single nowait\")\nfor (int t = 0; t < 64; t++) {\n_Pragma(\"omp task firstprivate(t)\")\n\
        { double v = t; for (int i = 0; i < 20000; i++) v = v * 0.5 + 1; value[t] = v; }\n}\n\
        printf(\"%g\\n\", value[63]);\nreturn 0;\n}\n";
    for compiler in compilers() {
        let named = format!("--ccnuma-compiler={compiler}");
        let built = Built::from_text("cc", "tasks.c", source, &[&named, "-O2", "-fopenmp"]);
        printed(&built.tried("-m arctic --cpus 4", &[], &[("OMP_NUM_THREADS", "4")]));
        let record: serde_json::Value = serde_json::from_str(&built.record()).expect("a record");
        let spent = record["spent_ns"].as_object().expect("times");
        let of = |name: &str| spent.get(name).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        let all: f64 = spent.values().filter_map(serde_json::Value::as_f64).sum();
        assert!(of("busy") > 0.7 * all && of("barrier") < 0.2 * all, "{compiler}: {spent:?}");
    }
}

#[test]
fn every_run_reads_standard_input_from_its_beginning() {
    let source = "#include <stdio.h>\nint main(void)\n{\nint one, two;\nif (scanf(\"%d %d\", &one, &two) != 2) return 4;\n\
        printf(\"read %d and %d\\n\", one, two);\nreturn 0;\n}\n";
    let built = Built::from_text("cc", "reads.c", source, &["-O2"]);
    let folder = built.folder.path();
    fs::write(folder.join("numbers"), "skipped\n17 4\n").expect("written");
    let counted = |line: &str| printed(&run(folder, &["bash", "-c", line], &[])).matches("read 17 and 4").count();
    let sweep = format!("{CCNUMA} sim -m origin2000-r12k-300-4p --cpus 1,2,4 -- ./program");
    // The first line is somebody else's, who has read it.
    assert_eq!(counted(&format!("{{ read first; {sweep}; }} < numbers")), 3, "a file");
    assert_eq!(counted(&format!("(printf '17 '; sleep 0.2; echo 4) | {sweep}")), 3, "a pipe");
    assert_eq!(counted(&format!("echo 17 4 | {CCNUMA} sim -m bitmap -- ./program")), 1, "a single run");
    let told =
        printed(&run(folder, &["bash", "-c", &format!("echo 17 4 | {CCNUMA} diagnose -m bitmap -- ./program")], &[]));
    assert_eq!(told.matches("read 17 and 4").count(), 1, "{told}");
}

/// Threads that wait for one another in the host's kernel.
const KERNEL: &str = r#"#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int there[2], back[2], listening;
static void *echo(void *none)
{
    char byte;
    while (read(there[0], &byte, 1) == 1) write(back[1], &byte, 1);
    close(back[1]);
    return none;
}
static void *client(void *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = (in_port_t)(long)port };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&at, sizeof at)) abort();
    char text[6];
    for (int i = 0; i < 10; i++) {
        send(server, "hello", 5, 0);
        recv(server, text, 5, MSG_WAITALL);
    }
    close(server);
    return 0;
}
static void *spin(void *none) { for (;;); return none; }
static void *fill(void *end)
{
    static char much[1 << 20];
    write((int)(long)end, much, sizeof much);
    return 0;
}
static volatile int handled;
static void handler(int signal) { handled += signal; }
int main(int count, char **words)
{
    pthread_t thread;
    char text[4096];
    if (pipe(there) || pipe(back)) return 1;
    if (!strcmp(words[1], "pipe")) {
        pthread_create(&thread, 0, echo, 0);
        for (int i = 0; i < 20; i++) {
            char byte = 'a' + i, got;
            write(there[1], &byte, 1);
            if (read(back[0], &got, 1) != 1 || got != byte) return 2;
        }
        close(there[1]);
        pthread_join(thread, 0);
        return read(back[0], text, 1) != 0;
    } else if (!strcmp(words[1], "pair")) {
        int pair[2];
        long sum = 0, got;
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        pthread_create(&thread, 0, fill, (void *)(long)pair[0]);
        struct pollfd asked = { pair[1], POLLIN, 0 };
        while (sum < 1 << 20 && poll(&asked, 1, -1) == 1 && (got = read(pair[1], text, sizeof text)) > 0) sum += got;
        pthread_join(thread, 0);
        return sum != 1 << 20 || poll(&asked, 1, 5) != 0;
    } else if (!strcmp(words[1], "net")) {
        struct sockaddr_in at = { .sin_family = AF_INET };
        socklen_t length = sizeof at;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listening = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(listening, (struct sockaddr *)&at, sizeof at) || listen(listening, 4)) return 1;
        getsockname(listening, (struct sockaddr *)&at, &length);
        pthread_create(&thread, 0, client, (void *)(long)at.sin_port);
        int peer = accept(listening, 0, 0);
        long got;
        while ((got = recv(peer, text, sizeof text, 0)) > 0) send(peer, text, got, 0);
        pthread_join(thread, 0);
        return got != 0;
    } else if (!strcmp(words[1], "raise")) {
        struct sigaction act = { .sa_handler = handler };
        sigaction(SIGUSR1, &act, 0);
        signal(SIGUSR2, handler);
        raise(SIGUSR1);
        kill(getpid(), SIGUSR2);
        pthread_kill(pthread_self(), SIGUSR1);
        return handled != 2 * SIGUSR1 + SIGUSR2;
    } else if (!strcmp(words[1], "spin")) {
        pthread_create(&thread, 0, spin, 0);
        usleep(50);
        return 0;
    } else if (!strcmp(words[1], "silent")) {
        return read(there[0], text, 1) != 1;
    } else if (!strcmp(words[1], "unhandled")) {
        raise(SIGUSR1);
    } else if (!strcmp(words[1], "endless")) {
        pthread_create(&thread, 0, spin, 0);
        pthread_join(thread, 0);
    } else if (!strcmp(words[1], "stream")) {
        return !fgets(text, sizeof text, fdopen(there[0], "r"));
    }
    return 9;
}
"#;

#[test]
fn threads_that_wait_in_the_kernel_wait_in_simulated_time() {
    let built = Built::from_text("cc", "kernel.c", KERNEL, &["-O2", "-pthread"]);
    for way in ["pipe", "pair", "net", "raise", "spin"] {
        printed(&run(built.folder.path(), &["./program", way], &[]));
        let output = built.tried("-m arctic --cpus 4", &[way], &[]);
        assert_eq!(output.status.code(), Some(0), "{way}: {}", complaints(&output));
        let first = built.record();
        // The host's network has a time of its own.
        if way != "net" {
            printed(&built.tried("-m arctic --cpus 4", &[way], &[]));
            assert_eq!(built.record(), first, "{way}: a second run differs");
        }
    }
}

#[test]
fn waiting_for_what_never_comes_ends_and_is_named() {
    let built = Built::from_text("cc", "kernel.c", KERNEL, &["-O2", "-g", "-pthread"]);
    for (way, told) in [
        ("silent", "deadlock: all threads wait: thread 0 in read called at main (kernel.c:"),
        ("unhandled", "the program raised signal 10, for which it has no handler"),
        ("endless", "thread 1 in an endless loop called at spin (kernel.c:"),
        ("stream", "the program called fdopen for a pipe or a socket"),
    ] {
        let output = built.tried("-m arctic --cpus 4 --spin-limit 5", &[way], &[]);
        let text = complaints(&output);
        assert_eq!(output.status.code(), Some(1), "{way}: {text}");
        assert!(text.contains(told), "{way}: {text}");
    }
}

#[test]
fn what_the_host_has_is_simulated_or_said() {
    let source = r#"#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <x86intrin.h>
static volatile double value;
static void *bound(void *none)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    return none;
}
int main(void)
{
    pthread_t thread;
    struct timespec from, to;
    struct rusage used;
    unsigned cpu;
    double load;
    clock_gettime(CLOCK_MONOTONIC, &from);
    unsigned long long begin = __rdtsc();
    for (int i = 0; i < 20000; i++) value += 0.5;
    unsigned long long cycles = __rdtscp(&cpu) - begin;
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
    getrusage(RUSAGE_SELF, &used);
    printf("%.2f cycles a ns, processor %u, ", cycles / ns, cpu);
    printf("%s, ", used.ru_utime.tv_sec == 0 && used.ru_utime.tv_usec * 1e3 < to.tv_sec * 1e9 + to.tv_nsec + 1e5 ? "simulated" : "host");
    printf("load %g\n", getloadavg(&load, 1) == 1 ? load : -1);
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file) fclose(file);
    pthread_create(&thread, 0, bound, 0);
    pthread_join(thread, 0);
    return 0;
}
"#;
    let built = Built::from_text("cc", "host.c", source, &["-O2", "-pthread"]);
    let output = built.tried("-m origin2000-r12k-300-8p", &[], &[]);
    let text = printed(&output);
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("0.30 cycles a ns, processor 0, simulated, load 1"), "{text}{}", complaints(&output));
    let told = complaints(&output);
    assert!(told.contains("/proc/cpuinfo, read by the program, describes this computer"), "{told}");
    assert!(told.contains("bound to processors on which others run"), "{told}");
    let record = built.record();
    let long = "x".repeat(50_000);
    printed(&built.tried("-m origin2000-r12k-300-8p", &[], &[("LONGER", &long)]));
    assert_eq!(built.record(), record, "a larger environment moves something");
}

#[test]
fn links_named_as_compilers_build_for_simulation() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = printed(&run(folder.path(), &[CCNUMA, "shims", "shims"], &[]));
    let path = format!("{}:{}", folder.path().join("shims").display(), std::env::var("PATH").expect("a path"));
    fs::write(folder.path().join("hello.c"), "#include <stdio.h>\nint main(void)\n{\nputs(\"hello\");\nreturn 0;\n}\n")
        .expect("written");
    for compiler in compilers() {
        assert!(made.contains(&format!("shims/{compiler} builds by ")), "{made}");
        let variables = [("PATH", path.as_str())];
        printed(&run(folder.path(), &[&format!("shims/{compiler}"), "-O2", "hello.c", "-o", "program"], &variables));
        let simulated = printed(&run(folder.path(), &[CCNUMA, "sim", "-m", "bitmap", "--", "./program"], &variables));
        assert!(simulated.starts_with("hello\n"), "{compiler}: {simulated}");
    }
    if installed("make") {
        let makefile = "ifeq ($(CC),gcc)\nhello: hello.c\n\t$(CC) -O2 $< -o $@\nelse\nhello:\n\tfalse\nendif\n";
        fs::write(folder.path().join("Makefile"), makefile).expect("written");
        printed(&run(folder.path(), &["make", "CC=gcc"], &[("PATH", &path)]));
        let words = [CCNUMA, "sim", "-m", "bitmap", "--", "./hello"];
        assert!(printed(&run(folder.path(), &words, &[])).starts_with("hello\n"));
    }
    let refused = run(folder.path(), &[CCNUMA, "shims", "shims", "rustc"], &[]);
    let told = complaints(&refused);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("rustc: not known as a compiler's name; accepted: cc, gcc"), "{told}");
}
