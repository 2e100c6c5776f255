/* Threads themselves: results, their own storage, keys, once, exits from deep within, detached ones, and main that leaves first. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
enum { THREADS = 5 };

static __thread int own = 7;
static __thread char text[64];
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made, destroyed;
static volatile int detached_done;

static void make(void) { made++; pthread_yield(); }
static void destroy(void *value) { destroyed += *(int *)value; free(value); }

static void *__attribute__((noinline)) deep(int depth, long result) {
    char room[256];
    memset(room, depth, sizeof room);
    if (depth == 0) pthread_exit((void *)result);
    void *inner = deep(depth - 1, result);
    return room[depth] ? inner : NULL;
}

static void *work(void *argument) {
    long number = (long)argument;
    CHECK(own == 7);
    own = (int)number;
    errno = 100 + (int)number;
    snprintf(text, sizeof text, "thread %ld", number);
    pthread_once(&once, make);
    CHECK(made == 1);
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    sched_yield();
    for (int i = 0; i < 1000; i++) CHECK(own == number && errno == 100 + number);
    char expected[64];
    snprintf(expected, sizeof expected, "thread %ld", number);
    CHECK(strcmp(text, expected) == 0 && pthread_getspecific(key) == value);
    CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
    if (number % 2) return deep(20, number);
    return (void *)number;
}

static void *alone(void *unused) {
    usleep(500);
    detached_done = 1;
    return unused;
}

int main(void) {
    pthread_t threads[THREADS], detached;
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) == 8);
    pthread_key_create(&key, destroy);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (long i = 0; i < THREADS; i++) {
        void *result;
        CHECK(pthread_join(threads[i], &result) == 0 && result == (void *)i);
    }
    CHECK(destroyed == THREADS);
    CHECK(own == 7);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    CHECK(pthread_create(&detached, &attributes, alone, NULL) == 0);
    CHECK(pthread_join(detached, NULL) == EINVAL);
    while (!detached_done) sched_yield();
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(6, &set);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0 && sched_getcpu() == 6);
    printf("threads work\n");
    pthread_exit(NULL);
}
