//! What programs are compiled and linked with, so that the runtime sees all they do: the one list of it.

/// The name of the runtime's shared library.
pub const LIBRARY: &str = "libccnuma_frontend.so";

/// A symbol that every program built with the wrapper has, and no other.
pub const BUILT_WITH: &str = "ccnuma_built_with";

/// The instrumentation that the wrapper asks for and the runtime answers, the symbol's value: another when programs have to be built
/// again.
pub const INSTRUMENTATION: u64 = 0x1_0000;

/// What every compilation adds: calls at every reference, none moved out of a loop that waits for another thread, volatile ones
/// told from others.
pub const GCC_FLAGS: &[&str] = &["-fsanitize=thread", "-fno-ipa-reference", "--param", "tsan-distinguish-volatile=1"];

/// The same for clang, which by default merges references and leaves out those that races cannot happen on.
pub const CLANG_FLAGS: &[&str] = &[
    "-fsanitize=thread",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
    "-mllvm",
    "-tsan-distinguish-volatile=1",
];

/// Functions that calls from the program, and from what is linked into it statically, do not reach: `--wrap=NAME` has them call
/// `__wrap_NAME`, which is the runtime's.
pub const SYMBOLS: &[&str] = &[
    // The beginning and the end.
    "__libc_start_main",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "abort",
    // Memory.
    "malloc",
    "free",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "strdup",
    "strndup",
    "mmap",
    "mmap64",
    "munmap",
    "memcpy",
    "memmove",
    "memset",
    "bzero",
    // Threads.
    "pthread_create",
    "pthread_join",
    "pthread_tryjoin_np",
    "pthread_detach",
    "pthread_exit",
    "pthread_self",
    "pthread_equal",
    "pthread_once",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_getspecific",
    "pthread_setspecific",
    "pthread_cancel",
    "pthread_setname_np",
    "pthread_getattr_np",
    "__cxa_guard_acquire",
    "__cxa_guard_release",
    "__cxa_guard_abort",
    // What they wait for each other with.
    "pthread_mutex_init",
    "pthread_mutex_destroy",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_mutex_unlock",
    "pthread_cond_init",
    "pthread_cond_destroy",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "pthread_barrier_init",
    "pthread_barrier_destroy",
    "pthread_barrier_wait",
    "pthread_rwlock_init",
    "pthread_rwlock_destroy",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockwrlock",
    "pthread_rwlock_unlock",
    "pthread_spin_init",
    "pthread_spin_destroy",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "sem_init",
    "sem_destroy",
    "sem_wait",
    "sem_trywait",
    "sem_timedwait",
    "sem_clockwait",
    "sem_post",
    "sem_getvalue",
    // Time and place.
    "clock_gettime",
    "gettimeofday",
    "time",
    "clock",
    "times",
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "sched_yield",
    "pthread_yield",
    "sched_getcpu",
    "getcpu",
    "sysconf",
    "get_nprocs",
    "get_nprocs_conf",
    // Memory on nodes.
    // What no simulated thread can do.
];
