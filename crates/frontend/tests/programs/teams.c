/* Teams that shrink and grow again, threads that have teams of their own and end, groups whose tasks wait for others, regions of one
   thread with tasks. With an argument, threads that are left over are counted. Prints what is wrong, and fails if anything is. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 60, OTHERS = 20 };

static int wrong;
static int own = 1000;
#pragma omp threadprivate(own)

static void expect(const char *what, long found, long expected)
{
    if (found != expected) {
        printf("%s: %ld, not %ld\n", what, found, expected);
        wrong = 1;
    }
}

/* Who is late from a large team's last barrier finds a small team there. */
static void sizes(int threads)
{
    for (int round = 0; round < ROUNDS; round++) {
        int large = 0, small = 0, early = 0;
#pragma omp parallel num_threads(threads)
        {
#pragma omp atomic
            large++;
        }
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            small++;
#pragma omp barrier
            int seen;
#pragma omp atomic read
            seen = small;
            if (seen < omp_get_num_threads()) {
#pragma omp atomic
                early++;
            }
#pragma omp barrier
#pragma omp task
            {
#pragma omp atomic
                small += 10;
            }
        }
        expect("a large team", large, threads);
        expect("a small team", small, 22);
        expect("threads that did not wait", early, 0);
    }
}

/* A task of the group depends on one from before it, which nobody else may come to do. */
static void groups(void)
{
    int done = 0, threads = 0;
#pragma omp parallel reduction(+ : done, threads)
    {
        int value = 0, seen = 0;
        threads++;
#pragma omp task depend(out : value) shared(value)
        value = 5;
#pragma omp taskgroup
        {
#pragma omp task depend(in : value) shared(value, seen)
            seen = value;
        }
        done += seen;
    }
    expect("groups", done, 5L * threads);
}

/* A region of one thread ends when its tasks have, whoever ends them. */
static void alone(void)
{
    int done = 0;
#pragma omp parallel if (wrong > 1)
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(done)
        done++;
#pragma omp task firstprivate(event)
        omp_fulfill_event(event);
    }
    expect("a detached task", done, 1);
#pragma omp parallel if (wrong > 1)
    {
#pragma omp task shared(done)
        done += 10;
    }
    expect("a task", done, 11);
}

/* Threads have variables of their own, also in regions within regions. */
static void kept(void)
{
    int right = 0, threads = 0;
    own = 7;
#pragma omp parallel reduction(+ : right, threads)
    {
        int number = omp_get_thread_num();
        threads++;
        own = number;
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        own += 100;
        right += own == number + 100;
    }
    expect("threadprivate", right, threads);
    expect("of the first", own, 100);
}

static void *has_a_team(void *threads)
{
    int count = 0;
#pragma omp parallel num_threads(3) reduction(+ : count)
    count++;
    *(int *)threads = count;
    return NULL;
}

/* Threads of this process, as the kernel knows them. */
static int alive(void)
{
    char line[256];
    int threads = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "Threads:", 8) == 0) threads = atoi(line + 8);
    if (status) fclose(status);
    return threads;
}

static void others(int counted)
{
    int before = counted ? alive() : 0;
    for (int other = 0; other < OTHERS; other++) {
        pthread_t thread;
        int threads = 0;
        expect("pthread_create", pthread_create(&thread, NULL, has_a_team, &threads), 0);
        pthread_join(thread, NULL);
        expect("a thread's team", threads, 3);
    }
    /* They end when they get to it. */
    for (int tries = 0; counted && alive() > before && tries < 10000; tries++) usleep(1000);
    if (counted) expect("threads left over", alive() - before, 0);
}

int main(int words, char **unused)
{
    (void)unused;
    sizes(8);
    groups();
    alone();
    kept();
    others(words > 1);
    printf("%d threads: %s\n", omp_get_max_threads(), wrong ? "wrong" : "right");
    return wrong;
}
