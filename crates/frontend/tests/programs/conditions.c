/* Condition variables: a queue between producers and consumers, waits that time out, and one that is signalled in time. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
enum { PRODUCERS = 3, CONSUMERS = 4, EACH = 40, ROOM = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], used, produced;
static long sum;

static void *produce(void *number) {
    for (int i = 0; i < EACH; i++) {
        pthread_mutex_lock(&lock);
        while (used == ROOM) pthread_cond_wait(&emptied, &lock);
        queue[used++] = (int)(long)number * EACH + i;
        produced++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (used == 0 && produced < PRODUCERS * EACH) pthread_cond_wait(&filled, &lock);
        if (used == 0) { pthread_cond_broadcast(&filled); pthread_mutex_unlock(&lock); return unused; }
        sum += queue[--used];
        pthread_cond_signal(&emptied);
        if (produced == PRODUCERS * EACH) pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
}

static void *late(void *unused) {
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&lock); used = 1; pthread_cond_signal(&filled); pthread_mutex_unlock(&lock);
    return unused;
}

static long nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int wait_for(clockid_t clock, long time) {
    pthread_condattr_t attributes;
    pthread_cond_t never;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, clock);
    pthread_cond_init(&never, &attributes);
    long until = nanoseconds(clock) + time;
    struct timespec deadline = {until / 1000000000L, until % 1000000000L};
    pthread_mutex_lock(&lock);
    int result = pthread_cond_timedwait(&never, &lock, &deadline);
    pthread_mutex_unlock(&lock);
    CHECK(nanoseconds(clock) >= until);
    return result;
}

int main(void) {
    pthread_t threads[PRODUCERS + CONSUMERS];
    for (long i = 0; i < PRODUCERS; i++) pthread_create(&threads[i], NULL, produce, (void *)i);
    for (int i = 0; i < CONSUMERS; i++) pthread_create(&threads[PRODUCERS + i], NULL, consume, NULL);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) pthread_join(threads[i], NULL);
    CHECK(sum == PRODUCERS * EACH * (PRODUCERS * EACH - 1L) / 2);
    CHECK(wait_for(CLOCK_REALTIME, 3000000) == ETIMEDOUT);
    CHECK(wait_for(CLOCK_MONOTONIC, 3000000) == ETIMEDOUT);
    pthread_create(&threads[0], NULL, late, NULL);
    long until = nanoseconds(CLOCK_REALTIME) + 100 * 1000000000L;
    struct timespec deadline = {until / 1000000000L, until % 1000000000L};
    pthread_mutex_lock(&lock);
    while (!used) CHECK(pthread_cond_timedwait(&filled, &lock, &deadline) == 0);
    pthread_mutex_unlock(&lock);
    CHECK(nanoseconds(CLOCK_REALTIME) < until);
    pthread_join(threads[0], NULL);
    printf("sum %ld\n", sum);
    return 0;
}
