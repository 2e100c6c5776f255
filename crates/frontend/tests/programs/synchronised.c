/* Threads that meet, lock, signal and wait, by POSIX and by OpenMP alike: what is counted must come out whatever the mechanism is. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, ROUNDS = 24 };
#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static int threads;
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER, all_here = PTHREAD_COND_INITIALIZER;
static long counted, nested, serial, turn, here, generation;
static struct { volatile long round; char apart[120]; } at[MOST];

/* A barrier of the program's own, of a mutex and a condition variable. */
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

static void *work(void *argument)
{
    long own = (long)argument;
    for (long round = 1; round <= ROUNDS; round++) {
        at[own].round = round;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) __sync_fetch_and_add(&serial, 1);
        for (int other = 0; other < threads; other++) CHECK(at[other].round == round);
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        nested++;
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&recursive);
        meet();
        /* One after the other, each let go by the one before. */
        pthread_mutex_lock(&mutex);
        while (turn % threads != own) pthread_cond_wait(&turned, &mutex);
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&barrier);
        /* Nothing in between: whoever is let go early is back before the others have gone. */
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* A queue of one place: whoever takes from it is signalled. */
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static long place, taken;

static void *take(void *unused)
{
    for (int i = 0; i < 40; i++) {
        pthread_mutex_lock(&mutex);
        while (!place) pthread_cond_wait(&filled, &mutex);
        taken += place;
        place = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(int words, char **values)
{
    pthread_t others[MOST];
    threads = words > 1 ? atoi(values[1]) : 6;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++) CHECK(pthread_create(&others[i], NULL, work, (void *)i) == 0);
    work((void *)0);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    pthread_barrier_destroy(&barrier);
    CHECK(counted == (long)threads * ROUNDS && nested == counted && turn == counted && serial == ROUNDS);
    CHECK(pthread_create(&others[0], NULL, take, NULL) == 0);
    for (int i = 1; i <= 40; i++) {
        pthread_mutex_lock(&mutex);
        while (place) pthread_cond_wait(&emptied, &mutex);
        place = i;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(others[0], NULL);
    CHECK(taken == 820 && pthread_mutex_destroy(&mutex) == 0);
    if (words > 2) {
        /* What tickets cannot do. */
        pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
        CHECK(pthread_mutex_trylock(&one) == 0);
        CHECK(pthread_mutex_unlock(&one) == 0);
    }
    printf("%d threads are synchronised\n", threads);
    return 0;
}
