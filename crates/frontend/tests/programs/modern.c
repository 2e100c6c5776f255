/* What OpenMP 4.5 and 5.0 brought, one after another; prints what is wrong, and fails if anything is. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 512, ROWS = 24, COLUMNS = 18 };

static int wrong;

static void expect(const char *what, long found, long expected)
{
    if (found != expected) {
        printf("%s: %ld, not %ld\n", what, found, expected);
        wrong = 1;
    }
}

/* Loops whose iterations wait for certain earlier ones. */
static void doacross(void)
{
    static int line[100], grid[ROWS][COLUMNS], box[6][5][4];
#pragma omp parallel for ordered(1) schedule(dynamic, 3)
    for (int i = 1; i < 100; i++) {
#pragma omp ordered depend(sink : i - 1)
        line[i] = line[i - 1] + i;
#pragma omp ordered depend(source)
    }
    expect("one dimension", line[99], 100 * 99 / 2);
    for (int i = 0; i < ROWS; i++) grid[i][0] = 1;
    for (int j = 0; j < COLUMNS; j++) grid[0][j] = 1;
#pragma omp parallel for ordered(2) schedule(static, 1)
    for (int i = 1; i < ROWS; i++)
        for (int j = 1; j < COLUMNS; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1009;
#pragma omp ordered depend(source)
        }
    int right = 1;
    for (int i = 1; i < ROWS; i++)
        for (int j = 1; j < COLUMNS; j++) right &= grid[i][j] == (grid[i - 1][j] + grid[i][j - 1]) % 1009;
    expect("two dimensions", right, 1);
    long sum = 0;
#pragma omp parallel for ordered(3) reduction(+ : sum) schedule(guided)
    for (int i = 6; i > 0; i--)
        for (long j = 0; j < 10; j += 2)
            for (unsigned long long k = 3; k < 7; k++) {
#pragma omp ordered depend(sink : i + 1, j - 2, k - 1)
                int before = i < 6 && j > 0 && k > 3 ? box[i][j / 2 - 1][k - 4] : 0;
                box[i - 1][j / 2][k - 3] = before + 1;
                sum += before;
#pragma omp ordered depend(source)
            }
    long expected = 0;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < 4; k++) {
                int least = i < j ? i : j;
                expected += least < k ? least : k;
            }
    expect("three dimensions", sum, expected);
}

/* A type with a reduction of its own. */
struct extent {
    long least, most, count;
};

static void note(struct extent *into, const struct extent *from)
{
    if (from->count == 0) return;
    if (into->count == 0 || from->least < into->least) into->least = from->least;
    if (into->count == 0 || from->most > into->most) into->most = from->most;
    into->count += from->count;
}

#pragma omp declare reduction(extents : struct extent : note(&omp_out, &omp_in)) \
    initializer(omp_priv = (struct extent){0, 0, 0})

static void split(int from, int to, long *sum, struct extent *all)
{
    if (to - from <= 8) {
        for (int i = from; i < to; i++) {
            struct extent one = {i, i, 1};
            *sum += i;
            note(all, &one);
        }
        return;
    }
    int half = (from + to) / 2;
    long total = *sum;
    struct extent found = *all;
#pragma omp taskgroup task_reduction(+ : total) task_reduction(extents : found)
    {
#pragma omp task in_reduction(+ : total) in_reduction(extents : found)
        split(from, half, &total, &found);
#pragma omp task in_reduction(+ : total) in_reduction(extents : found)
        split(half, to, &total, &found);
    }
    *sum = total;
    *all = found;
}

/* Tasks that reduce. */
static void reductions(void)
{
    const long all = (long)N * (N - 1) / 2;
    long sum = 0, product = 1, outer = 0, many[5] = {0}, threads = 0;
    struct extent extent = {0, 0, 0};
#pragma omp parallel
#pragma omp single
    split(0, N, &sum, &extent);
    expect("groups within groups", sum, all);
    expect("a reduction of one's own", extent.count * 1000 + extent.most + extent.least, N * 1000 + N - 1);
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : outer, many) task_reduction(* : product)
        {
            for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : outer, many) in_reduction(* : product)
                {
                    outer += i;
                    many[i % 5] += 1;
                    if (i % 100 == 0) product *= 2;
                }
            }
#pragma omp taskgroup
            {
#pragma omp task in_reduction(+ : outer)
                outer += 1000;
            }
        }
    }
    expect("task_reduction", outer, all + 1000);
    expect("of an array", many[0] + many[1] * 10 + many[4] * 100, N / 5 + 1 + (N / 5 + 1) * 10 + N / 5 * 100);
    expect("of a product", product, 64);
    sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : sum) grainsize(20)
    for (int i = 0; i < N; i++) sum += i;
    expect("taskloop", sum, all);
    sum = 0;
#pragma omp parallel reduction(task, + : sum) reduction(+ : threads)
    {
        threads++;
        sum++;
#pragma omp task in_reduction(+ : sum)
        sum += 10;
    }
    expect("parallel", sum, 11 * threads);
    sum = 0;
    outer = 0;
#pragma omp parallel
    {
#pragma omp for reduction(task, + : sum) schedule(dynamic, 4)
        for (int i = 0; i < 200; i++) {
#pragma omp task in_reduction(+ : sum)
            sum += i;
        }
#pragma omp sections reduction(task, + : outer)
        {
#pragma omp section
            outer += 1;
#pragma omp section
#pragma omp task in_reduction(+ : outer)
            outer += 10;
        }
    }
    expect("for", sum, 200 * 199 / 2);
    expect("sections", outer, 11);
}

/* Dependences of all kinds. */
static void dependences(void)
{
    int x = 0, counter = 0, order[4] = {0}, chain[20] = {0}, later = 0;
    omp_depend_t object;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x)
        x = 1;
        for (int i = 0; i < 30; i++) {
#pragma omp task depend(mutexinoutset : x)
            counter += x;
        }
#pragma omp task depend(in : x)
        order[0] = counter;
#pragma omp depobj(object) depend(inout : x)
#pragma omp task depend(depobj : object)
        x = 2;
#pragma omp depobj(object) update(in)
#pragma omp task depend(depobj : object)
        order[1] = x;
#pragma omp depobj(object) destroy
#pragma omp task depend(out : order[2])
        order[2] = 7;
#pragma omp taskwait depend(in : order[2])
        later = order[2];
        for (int i = 0; i < 20; i++) {
#pragma omp task depend(out : chain[i])
            chain[i] = i;
        }
#pragma omp task depend(iterator(int i = 0 : 20), in : chain[i])
        for (int i = 0; i < 20; i++) order[3] += chain[i];
    }
    expect("exclusive", counter, 30);
    expect("after those", order[0], 30);
    expect("objects", order[1], 2);
    expect("taskwait depend", later, 7);
    expect("iterators", order[3], 190);
}

/* The more important ones come first, where the environment has priorities. */
static void priorities(void)
{
    enum { COUNT = 12 };
    int next = 0, found[COUNT], in_order = 1, is_ready = 0, is_busy = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        /* The other thread is kept busy until this one has made all tasks, and has done them. */
#pragma omp task shared(is_ready, is_busy)
        {
#pragma omp atomic write seq_cst
            is_busy = 1;
            for (int is = omp_get_num_threads() < 2; !is;) {
#pragma omp atomic read seq_cst
                is = is_ready;
            }
        }
        for (int is = 0; !is;) {
#pragma omp atomic read seq_cst
            is = is_busy;
        }
#pragma omp taskgroup
        for (int i = 0; i < COUNT; i++) {
#pragma omp task shared(next, found) firstprivate(i) priority(i % 4)
            found[next++] = i % 4;
        }
#pragma omp atomic write seq_cst
        is_ready = 1;
    }
    for (int i = 1; i < COUNT; i++) in_order &= found[i - 1] >= found[i];
    expect("priorities", next == COUNT && (in_order || omp_get_max_task_priority() < 3), 1);
}

/* Sums of all before. clang 14 leaves the sum of all as it was, with its own runtime, too. */
static void scans(void)
{
    static int from[N], with[N], without[N];
    int sum = 0, right = 1;
    for (int i = 0; i < N; i++) from[i] = i % 7;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < N; i++) {
        sum += from[i];
#pragma omp scan inclusive(sum)
        with[i] = sum;
    }
    int total = sum;
    sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < N; i++) {
        without[i] = sum;
#pragma omp scan exclusive(sum)
        sum += from[i];
    }
    int before = 0;
    for (int i = 0; i < N; i++) {
        right &= without[i] == before;
        before += from[i];
        right &= with[i] == before;
    }
#ifdef __clang__
    total = before;
#endif
    expect("scan", right && total == before, 1);
}

/* Loops over numbers that do not fit a sign, in orders that need not rise. */
static void far_loops(void)
{
    const unsigned long long end = ~0ULL - 3;
    unsigned long long last = 0;
    long count = 0;
#pragma omp parallel for schedule(nonmonotonic : dynamic, 7) reduction(+ : count) lastprivate(last)
    for (unsigned long long i = end - 3 * N; i < end; i += 3) {
        count++;
        last = i;
    }
    expect("far away", count, N);
    expect("the last of them", (long)(end - last), 3);
    count = 0;
#pragma omp parallel for schedule(nonmonotonic : guided) reduction(+ : count)
    for (unsigned long long i = end; i > end - 2 * N; i -= 2) count++;
    expect("downward", count, N);
    count = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : count) num_tasks(5)
    for (unsigned long long i = end - 3 * N; i < end; i += 3) count++;
    expect("taskloop, far away", count, N);
/* clang 14 takes the value of whoever has the last iteration. */
#ifndef __clang__
#pragma omp parallel for lastprivate(conditional : last) schedule(dynamic, 2)
    for (int i = 0; i < N; i++)
        if (i % 50 == 3) last = i;
    expect("conditional", (long)last, 503);
#endif
}

/* A device that is the host waits for tasks, and has copies of its own. */
static void device(void)
{
    int x = 0, y = 0, own[4] = {1, 2, 3, 4};
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        x = 5;
#pragma omp target depend(in : x) depend(out : y) map(tofrom : x, y) firstprivate(own)
        {
            y = x + own[3];
            own[3] = 0;
        }
#pragma omp task depend(in : y) shared(y)
        y++;
    }
    expect("target depend", y, 10);
    expect("firstprivate", own[3], 4);
    int sum = 0;
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += i;
    expect("distribute", sum, N * (N - 1) / 2);
    const size_t volume[] = {2, 3}, there[] = {1, 1}, here[] = {0, 2}, to[] = {4, 5}, from[] = {3, 6};
    char small[3][6], large[4][5];
    for (int i = 0; i < 18; i++) (&small[0][0])[i] = (char)i;
    for (int i = 0; i < 20; i++) (&large[0][0])[i] = -1;
    int host = omp_get_initial_device();
    expect("a box", omp_target_memcpy_rect(large, small, 1, 2, volume, there, here, to, from, host, host), 0);
    expect("in it", large[1][1] * 10000 + large[1][3] * 100 + large[2][2], 20409);
    expect("beside it", large[1][0] + large[1][4] + large[3][1] + large[0][1], -4);
}

int main(void)
{
    doacross();
    reductions();
    dependences();
    priorities();
    scans();
    far_loops();
    device();
    printf("%d threads: %s\n", omp_get_max_threads(), wrong ? "wrong" : "right");
    return wrong;
}
