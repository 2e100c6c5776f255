/* Bandwidth of a loop over three arrays, in MB/s of simulated time by three clocks: triad ELEMENTS ROUNDS parallel|serial. Pages are first
 * touched by the threads that use them, or all by the first thread. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static double of_day(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return now.tv_sec + 1e-6 * now.tv_usec;
}

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void fill(double *a, double *b, double *c, long from, long to)
{
    for (long i = from; i < to; i++) {
        a[i] = 0;
        b[i] = i;
        c[i] = 1;
    }
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    const long elements = atol(words[1]);
    const int rounds = atoi(words[2]), serial = strcmp(words[3], "serial") == 0;
    double *a, *b, *c;
    if (posix_memalign((void **)&a, 4096, elements * sizeof *a) || posix_memalign((void **)&b, 4096, elements * sizeof *b)
        || posix_memalign((void **)&c, 4096, elements * sizeof *c))
        return 3;
    if (serial)
        fill(a, b, c, 0, elements);
    else {
#pragma omp parallel
        {
            const long share = (elements + omp_get_num_threads() - 1) / omp_get_num_threads();
            const long from = share * omp_get_thread_num(), to = from + share;
            fill(a, b, c, from, to < elements ? to : elements);
        }
    }
    double best[3] = { 1e9, 1e9, 1e9 };
    for (int round = 0; round < rounds; round++) {
        const double begun[3] = { monotonic(), of_day(), omp_get_wtime() };
#pragma omp parallel for
        for (long i = 0; i < elements; i++)
            a[i] = b[i] + 3 * c[i];
        const double ended[3] = { monotonic(), of_day(), omp_get_wtime() };
        for (int clock = 0; clock < 3; clock++)
            if (ended[clock] - begun[clock] < best[clock])
                best[clock] = ended[clock] - begun[clock];
    }
    for (long i = 0; i < elements; i++)
        if (a[i] != i + 3)
            return 1;
    const double bytes = 3e-6 * sizeof *a * elements;
    printf("triad %.0f %.0f %.0f\n", bytes / best[0], bytes / best[1], bytes / best[2]);
    return 0;
}
