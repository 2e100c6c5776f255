/* What a barrier costs: threads that do nothing but meet. With "condition", at a barrier of a mutex and a condition variable; with
   "lock", each takes one mutex in turn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ccnuma_roi_begin(void);
void ccnuma_roi_end(void);

enum { MOST = 64, ROUNDS = 20 };
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int threads, here, way;
static long generation, counted;

static void meet(void)
{
    pthread_mutex_lock(&mutex);
    long before = generation;
    if (++here == threads) {
        here = 0;
        generation++;
        pthread_cond_broadcast(&all_here);
    } else {
        while (generation == before) pthread_cond_wait(&all_here, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static void *work(void *unused)
{
    for (int round = -4; round < ROUNDS; round++) {
        if (round == 0) {
            pthread_barrier_wait(&barrier);
            ccnuma_roi_begin();
        }
        if (way == 0) pthread_barrier_wait(&barrier);
        if (way == 1) meet();
        if (way == 2) {
            pthread_mutex_lock(&mutex);
            counted++;
            pthread_mutex_unlock(&mutex);
        }
    }
    ccnuma_roi_end();
    return unused;
}

int main(int words, char **values)
{
    pthread_t others[MOST];
    threads = words > 1 ? atoi(values[1]) : 4;
    if (words > 2) way = strcmp(values[2], "lock") == 0 ? 2 : 1;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++) pthread_create(&others[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    printf("met\n");
    return 0;
}
