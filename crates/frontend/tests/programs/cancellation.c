/* Constructs of OpenMP that are cancelled, as OMP_CANCELLATION says: with it no thread does more than it has begun, without it all is
   done. What comes after is not disturbed. Prints what is wrong, and fails if anything is. */
#include <omp.h>
#include <stdio.h>

enum { N = 400, ROUNDS = 70 };

static int wrong, on, threads;

static void expect(const char *what, int holds, long found)
{
    if (!holds) {
        printf("%s: %ld\n", what, found);
        wrong = 1;
    }
}

/* Of so many pieces of work, each of which cancels all others, at least one is done, and at most one by each thread. */
static void expect_few(const char *what, long done, long all)
{
    expect(what, on ? done >= 1 && done <= threads : done == all, done);
}

static void loops(void)
{
    long fixed = 0, asked = 0, whole = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            fixed++;
#pragma omp cancel for
        }
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            asked++;
#pragma omp cancel for if (i >= 0)
        }
#pragma omp for schedule(dynamic) reduction(+ : whole)
        for (int i = 0; i < N; i++) {
            whole++;
#pragma omp cancellation point for
        }
    }
    expect_few("a loop", fixed, N);
    expect_few("a loop whose iterations are asked for", asked, N);
    expect("the loop after", whole == N, whole);
}

static void sections(void)
{
    long done = 0;
#pragma omp parallel
#pragma omp sections
    {
#pragma omp section
        {
#pragma omp atomic
            done++;
#pragma omp cancel sections
        }
#pragma omp section
        {
#pragma omp atomic
            done++;
#pragma omp cancel sections
        }
    }
    expect("sections", on && threads == 1 ? done == 1 : done >= 1 && done <= 2, done);
}

/* Thread 0 ends the region; the others wait for it, at a barrier, or in a loop that it never comes to. */
static void regions(void)
{
    long after = 0, looped = 0;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        after++;
    }
    expect("after a barrier", after == (on ? 0 : threads), after);
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            looped++;
        }
#pragma omp atomic
        after++;
    }
    expect("after a loop", after == (on ? 0 : 2 * threads) && looped <= N, after);
    long together = 0;
    after = 0;
#pragma omp parallel
    {
#pragma omp atomic
        together++;
#pragma omp barrier
        /* Some may still be on their way from there. */
        if (omp_get_thread_num() == threads - 1) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        after++;
    }
    expect("before a barrier", together == threads, together);
    expect("after two barriers", after == (on ? 0 : threads), after);
}

static void tasks(void)
{
    long begun = 0, others = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < N; i++) {
#pragma omp task
            {
#pragma omp atomic
                begun++;
#pragma omp cancel taskgroup
            }
        }
        for (int i = 0; i < N; i++) {
#pragma omp task
            {
#pragma omp atomic
                others++;
            }
        }
    }
    expect_few("a group of tasks", begun, N);
    expect("the tasks after", others == N, others);
}

int main(void)
{
    on = omp_get_cancellation();
    threads = omp_get_max_threads();
    /* More often than constructs of a region are kept apart. */
    for (int round = 0; round < ROUNDS; round++) {
        loops();
        sections();
        regions();
    }
    tasks();
    printf("%d threads, cancellation %s: %s\n", threads, on ? "on" : "off", wrong ? "wrong" : "right");
    return wrong;
}
