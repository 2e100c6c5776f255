/* Barriers one after another; no thread may be ahead of another by more than one. */
#include <ccnuma.h>
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 40, MOST = 64 };

/* How far each thread is, on a line of its own. */
static struct {
    volatile int round;
    char apart[124];
} at[MOST];

int main(void)
{
    int wrong = 0, threads = 0;
#pragma omp parallel reduction(+ : wrong, threads)
    {
        int own = omp_get_thread_num(), count = omp_get_num_threads();
        threads++;
        ccnuma_roi_begin();
        for (int round = 1; round <= ROUNDS; round++) {
#pragma omp barrier
        }
        ccnuma_roi_end();
        for (int round = 1; round <= 4; round++) {
            at[own].round = round;
#pragma omp barrier
            for (int other = 0; other < count; other++) wrong += at[other].round != round;
#pragma omp barrier
        }
    }
    printf("%d threads: %s\n", threads, wrong ? "wrong" : "right");
    return wrong != 0;
}
