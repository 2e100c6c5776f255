/* What goes wrong, one way for each argument. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int *volatile nowhere;
static volatile int zero, forever;

static void *__attribute__((noinline)) cross(void *first) {
    pthread_mutex_t *mine = first ? &one : &two, *other = first ? &two : &one;
    pthread_mutex_lock(mine);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(other);
    return NULL;
}
static void *crash(void *unused) { *nowhere = 1; return unused; }
static void *divide(void *unused) { return (void *)(long)(100 / zero); }
static int __attribute__((noinline)) recurse(int depth) {
    volatile char room[512];
    room[0] = (char)depth;
    return recurse(depth + 1) + room[0];
}
static void *overflow(void *unused) { zero = recurse(0); return unused; }
static void *forks(void *unused) { fork(); return unused; }
static void *runs(void *unused) { execl("/bin/true", "true", (char *)NULL); return unused; }
static void *systems(void *unused) { zero = system("true"); return unused; }
static void *clones(void *unused) { syscall(SYS_fork); return unused; }
static void *aborts(void *unused) { abort(); return unused; }
static void *sleeper(void *unused) { pthread_mutex_lock(&one); pthread_mutex_lock(&one); return unused; }
static void *spins(void *unused) { while (!forever) {} return unused; }
static void handler(int unused) { (void)unused; }
static void *signals(void *unused) { signal(SIGUSR1, handler); return unused; }

int main(int count, char **words) {
    struct { const char *name; void *(*act)(void *); } ways[] = {
        {"crash", crash}, {"divide", divide}, {"overflow", overflow}, {"fork", forks}, {"exec", runs}, {"system", systems},
        {"syscall", clones}, {"abort", aborts}, {"lock", sleeper}, {"spin", spins}, {"signal", signals},
    };
    pthread_t threads[2];
    if (count < 2) return 9;
    if (strcmp(words[1], "status") == 0) return 256 + 3; // A parent sees eight bits of it.
    if (strcmp(words[1], "cross") == 0) {
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&threads[0], NULL, cross, NULL);
        pthread_create(&threads[1], NULL, cross, &one);
        pthread_join(threads[0], NULL);
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(words[1], ways[i].name) == 0) {
            pthread_create(&threads[0], NULL, ways[i].act, NULL);
            pthread_join(threads[0], NULL);
            return 0;
        }
    }
    return 8;
}
