/* What an empty task costs, in nanoseconds: `all N`, every thread makes N of them; `one N`, a single thread does; `tree N`, each of
   two tasks makes two, N levels deep, and waits for them. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compilers leave out tasks that they see to be empty. */
static void nothing(void) { __asm__ volatile(""); }

static void tree(int levels)
{
    if (levels == 0) return;
#pragma omp task
    tree(levels - 1);
#pragma omp task
    tree(levels - 1);
#pragma omp taskwait
}

int main(int count, char **words)
{
    if (count != 3) return 2;
    const char *way = words[1];
    int tasks = atoi(words[2]);
    double start = 0, made = 0;
    /* The second time, threads and memory are there. */
    for (int round = 0; round < 2; round++) {
        start = omp_get_wtime();
        if (!strcmp(way, "all")) {
            made = tasks;
#pragma omp parallel
            for (int i = 0; i < tasks; i++) {
#pragma omp task
                nothing();
            }
        } else if (!strcmp(way, "one")) {
            made = tasks;
#pragma omp parallel
#pragma omp single
            for (int i = 0; i < tasks; i++) {
#pragma omp task
                nothing();
            }
        } else {
            made = (double)((2L << tasks) - 2);
#pragma omp parallel
#pragma omp single
            tree(tasks);
        }
    }
    printf("%.1f ns\n", (omp_get_wtime() - start) * 1e9 / made);
    return 0;
}
