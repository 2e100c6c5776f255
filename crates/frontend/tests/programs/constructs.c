/* Every construct of OpenMP that has an answer, one after another; prints what is wrong, and fails if anything is. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1200, MANY = 200 };

static int wrong;
static int a[N];
static int own;
#pragma omp threadprivate(own)

static void expect(const char *what, long found, long expected)
{
    if (found != expected) {
        printf("%s: %ld, not %ld\n", what, found, expected);
        wrong = 1;
    }
}

static long sum_of_a(void)
{
    long sum = 0;
    for (int i = 0; i < N; i++) {
        sum += a[i];
        a[i] = 0;
    }
    return sum;
}

static void loops(void)
{
    const long all = (long)N * (N - 1) / 2;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) a[i] += i;
    expect("static", sum_of_a(), all);
#pragma omp parallel for schedule(static, 7)
    for (int i = N - 1; i >= 0; i--) a[i] += i;
    expect("static in chunks, downward", sum_of_a(), all);
#pragma omp parallel for schedule(dynamic, 5)
    for (int i = 0; i < N; i++) a[i] += i;
    expect("dynamic", sum_of_a(), all);
#pragma omp parallel for schedule(guided, 3)
    for (long i = N - 1; i >= 0; i -= 1) a[i] += (int)i;
    expect("guided, downward", sum_of_a(), all);
#pragma omp parallel for schedule(dynamic)
    for (unsigned long long i = 0; i < N; i++) a[i] += (int)i;
    expect("unsigned", sum_of_a(), all);
#pragma omp parallel for schedule(monotonic: dynamic, 4)
    for (int i = 0; i < N; i++) a[i] += i;
    expect("monotonic", sum_of_a(), all);
    const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int kind = 0; kind < 4; kind++) {
        omp_set_schedule(kinds[kind], 9);
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < N; i++) a[i] += i;
        expect("runtime", sum_of_a(), all);
    }
    int last = -1, first = 5;
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) lastprivate(last) firstprivate(first) reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        last = i + first;
        sum += i;
    }
    expect("lastprivate", last, N - 1 + 5);
    expect("reduction", sum, all);
    long product = 1, most = 0;
#pragma omp parallel for collapse(2) reduction(max : most) reduction(* : product)
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++) {
            if (i * j > most) most = i * j;
            product *= i + j == 0 ? 3 : 1;
        }
    expect("collapse, maximum", most, 19 * 29);
    expect("product", product, 3);
    int next = 0, in_order = 1;
#pragma omp parallel for ordered schedule(dynamic, 3)
    for (int i = 0; i < 100; i++) {
        a[i] = i;
#pragma omp ordered
        in_order &= next++ == i;
    }
    expect("ordered, dynamic", in_order && next == 100, 1);
    next = 0;
#pragma omp parallel for ordered schedule(static, 2)
    for (int i = 99; i >= 0; i--) {
#pragma omp ordered
        in_order &= next++ == 99 - i;
    }
    expect("ordered, static", in_order && next == 100, 1);
    sum_of_a();
}

static void sharing(void)
{
    int threads = 0, singles = 0, masters = 0, sections = 0, copies = 0, kept = 0, named = 0;
    long racy = 0;
    double real = 0;
#pragma omp parallel
    own = omp_get_thread_num() + 1;
#pragma omp parallel
    {
        int mine = -1;
#pragma omp atomic
        threads++;
        /* One thread may be many ahead of another. */
        for (int i = 0; i < MANY; i++) {
#pragma omp single nowait
            {
#pragma omp atomic
                singles++;
            }
#pragma omp for schedule(dynamic) nowait
            for (int j = 0; j < 3; j++) {
#pragma omp atomic
                racy += j;
            }
        }
#pragma omp barrier
#pragma omp master
        masters++;
#pragma omp sections reduction(+ : sections)
        {
#pragma omp section
            sections += 1;
#pragma omp section
            sections += 10;
#pragma omp section
            sections += 100;
        }
#pragma omp single copyprivate(mine)
        mine = 42;
#pragma omp critical
        copies += mine == 42;
#pragma omp critical(other)
        named++;
#pragma omp atomic
        kept += own == omp_get_thread_num() + 1;
#pragma omp atomic
        real += 0.5;
    }
#pragma omp parallel sections
    {
#pragma omp section
        sections += 1000;
    }
    expect("single", singles, MANY);
    expect("loops one after another", racy, 3L * MANY);
    expect("master", masters, 1);
    expect("sections", sections, 1111);
    expect("copyprivate", copies, threads);
    expect("critical with a name", named, threads);
    expect("threadprivate", kept, threads);
    expect("atomic", (long)(2 * real), threads);
    expect("threads", threads, omp_get_max_threads());
}

static long fibonacci(int n)
{
    long x, y;
    if (n < 2) return n;
#pragma omp task shared(x) if (n > 4)
    x = fibonacci(n - 1);
#pragma omp task shared(y) final(n < 6)
    y = fibonacci(n - 2);
#pragma omp taskwait
    return x + y;
}

static void tasks(void)
{
    long f = 0, ended = 0, grouped = 0, looped = 0;
    unsigned long long far = 0;
    int x = 0, y = 0, z = 0, ex = 0, ey = 0, ez = 0, at_once = 0;
#pragma omp parallel
#pragma omp single
    f = fibonacci(13);
    expect("tasks", f, 233);
#pragma omp parallel
#pragma omp single nowait
    for (int i = 0; i < 2000; i++) {
#pragma omp task untied
#pragma omp atomic
        ended += i;
    }
    expect("tasks at the end of a region", ended, 2000L * 1999 / 2);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 25; i++) {
#pragma omp task depend(inout : x)
            x = (x * 2 + 1) % 10007;
#pragma omp task depend(in : x) depend(out : y)
            y = x + i;
#pragma omp task depend(in : y) depend(inout : z)
            z = (z * 3 + y) % 10007;
        }
#pragma omp task depend(in : z) if (0)
        at_once = z;
#pragma omp taskgroup
        {
            for (int i = 0; i < 50; i++) {
#pragma omp task
                {
#pragma omp task
#pragma omp atomic
                    grouped++;
                }
            }
        }
        expect("taskgroup", grouped, 50);
#pragma omp taskloop grainsize(10)
        for (int i = 0; i < 300; i++) {
#pragma omp atomic
            looped += i;
        }
#pragma omp taskloop num_tasks(7)
        for (unsigned long long i = 300; i > 0; i -= 3) {
#pragma omp atomic
            far += i;
        }
    }
    for (int i = 0; i < 25; i++) {
        ex = (ex * 2 + 1) % 10007;
        ey = ex + i;
        ez = (ez * 3 + ey) % 10007;
    }
    expect("dependences", x == ex && y == ey && z == ez && at_once == ez, 1);
    expect("taskloop", looped, 300 * 299 / 2);
    expect("taskloop, downward", (long)far, 3L * 100 * 101 / 2);
}

static void questions(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    int count = 0, inner = 0, levels = 0, depth = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    expect("outside", omp_in_parallel() || omp_get_level() || omp_get_thread_num() || omp_get_num_threads() != 1, 0);
#pragma omp parallel
    {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&lock)) {
        }
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        depth += omp_test_nest_lock(&nest) == 3;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        int outer = omp_get_thread_num();
        int alone = 0, known = 0;
        /* Regions within regions have one thread. */
#pragma omp parallel reduction(+ : alone, known)
        {
            alone++;
            known += omp_get_level() == 2 && omp_get_ancestor_thread_num(1) == outer && omp_get_team_size(2) == 1;
#pragma omp for
            for (int i = 0; i < 10; i++) known += 10;
        }
#pragma omp atomic
        inner += alone;
#pragma omp atomic
        levels += known;
    }
    int threads = omp_get_max_threads();
    expect("locks", count, 2L * threads);
    expect("locks that nest", depth, threads);
    expect("regions within regions", inner, threads);
    expect("levels", levels, 101L * threads);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    int fewer = 0;
#pragma omp parallel num_threads(2)
#pragma omp atomic
    fewer++;
    expect("num_threads", fewer, threads >= 2 ? 2 : fewer);
    int alone = 0;
#pragma omp parallel if (threads < 0)
    alone += omp_get_num_threads();
    expect("if", alone, 1);
    omp_set_num_threads(3);
    fewer = 0;
#pragma omp parallel
#pragma omp atomic
    fewer++;
    expect("omp_set_num_threads", fewer, 3);
    omp_set_num_threads(threads);
    double start = omp_get_wtime();
    for (volatile int i = 0; i < 1000; i++) {
    }
    expect("time", omp_get_wtime() > start && omp_get_wtick() > 0, 1);
}

/* Memory by what it is to be like, and devices, of which there is one. */
static void memory(void)
{
    omp_alloctrait_t traits[] = {
        {omp_atk_alignment, 256}, {omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 3, traits);
    char *first = omp_alloc(4000, small);
    expect("alignment", (long)((size_t)first % 256), 0);
    expect("a pool that is used up", omp_alloc(200, small) == NULL, 1);
    omp_free(first, small);
    char *second = omp_alloc(200, small);
    expect("a pool that is free again", second != NULL, 1);
    omp_free(second, small);
    omp_destroy_allocator(small);
    long sum = 0;
    int own_copy = 5;
#pragma omp parallel firstprivate(own_copy) allocate(omp_default_mem_alloc : own_copy) reduction(+ : sum)
    {
        own_copy += omp_get_thread_num();
        sum += own_copy;
    }
    int threads = omp_get_max_threads();
    expect("variables of an allocator", sum, 5L * threads + (long)threads * (threads - 1) / 2);
    long there = 0;
#pragma omp target map(tofrom : there)
    there = omp_is_initial_device() + 6;
    expect("the host", there, 7);
}

int main(void)
{
    loops();
    sharing();
    tasks();
    questions();
    memory();
    printf("%d threads: %s\n", omp_get_max_threads(), wrong ? "wrong" : "right");
    return wrong;
}
