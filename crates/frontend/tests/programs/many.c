/* More threads than processors: they take turns, sleep, wait for each other in every way, and all end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static volatile int flag;
static int next, threads;
static long sum;

static void *work(void *argument) {
    long number = (long)argument;
    for (int round = 0; round < 3; round++) {
        for (volatile int i = 0; i < 300; i++) {}
        pthread_barrier_wait(&barrier);
    }
    usleep(100 + 10 * (int)number);
    pthread_mutex_lock(&lock);
    while (next != number) pthread_cond_wait(&turn, &lock);
    next++;
    sum += number;
    pthread_cond_broadcast(&turn);
    pthread_mutex_unlock(&lock);
    while (!flag) {}
    return argument;
}

int main(int count, char **words) {
    threads = count > 1 ? atoi(words[1]) : 20;
    pthread_t *all = malloc(threads * sizeof *all);
    pthread_barrier_init(&barrier, NULL, threads);
    for (long i = 0; i < threads; i++) CHECK(pthread_create(&all[i], NULL, work, (void *)i) == 0);
    pthread_mutex_lock(&lock);
    while (next != threads) pthread_cond_wait(&turn, &lock);
    pthread_mutex_unlock(&lock);
    flag = 1;
    for (long i = 0; i < threads; i++) CHECK(pthread_join(all[i], NULL) == 0);
    printf("sum %ld\n", sum);
    return 0;
}
