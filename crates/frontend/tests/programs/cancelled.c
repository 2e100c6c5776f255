// Threads that are cancelled at every kind of cancellation point, with handlers of every kind, and those that do not heed it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none, ready;
static pthread_key_t key;
static volatile long counter;
static volatile int order[16], ordered, cancelled;

static void note(void *what) { order[ordered++] = (int)(long)what; }
static void unlock(void *held) { pthread_mutex_unlock(held); }

static void *waits_for_signal(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(note, (void *)1);
    pthread_cleanup_push(unlock, &lock);
    pthread_cleanup_push(note, (void *)2);
    sem_post(&ready);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return unused;
}

static void *waits_for_post(void *unused) {
    pthread_cleanup_push(note, (void *)3);
    pthread_cleanup_pop(1);
    sem_post(&ready);
    sem_wait(&none);
    return unused;
}

static void *sleeps(void *unused) {
    sem_post(&ready);
    sleep(1000);
    return unused;
}

static void *waits_for_thread(void *other) {
    sem_post(&ready);
    pthread_join((pthread_t)other, NULL);
    return NULL;
}

static void *writes(void *unused) {
    int nowhere[2];
    CHECK(pipe(nowhere) == 0);
    for (char byte = 0;; byte++) {
        CHECK(write(nowhere[1], &byte, 1) == 1 && read(nowhere[0], &byte, 1) == 1);
        if (counter++ == 0) sem_post(&ready);
    }
    return unused;
}

static void *tests(void *unused) {
    sem_post(&ready);
    for (;;) {
        counter++;
        pthread_testcancel();
    }
    return unused;
}

static void *any_time(void *unused) {
    int before;
    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before) == 0 && before == PTHREAD_CANCEL_DEFERRED);
    pthread_cleanup_push(note, (void *)4);
    sem_post(&ready);
    for (;;)
        counter++;
    pthread_cleanup_pop(0);
    return unused;
}

static void *not_now(void *unused) {
    int before;
    CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0 && before == PTHREAD_CANCEL_ENABLE);
    CHECK(pthread_setcancelstate(7, NULL) == EINVAL);
    sem_post(&ready);
    while (!cancelled) usleep(100);
    usleep(2000);
    pthread_testcancel();
    note((void *)5);
    CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
    pthread_testcancel();
    note((void *)6);
    return unused;
}

static void *itself(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    sem_post(&ready);
    pthread_setspecific(key, (void *)7);
    pthread_cancel(pthread_self());
    note((void *)8);
    return unused;
}

static void leaves(void) {
    pthread_cleanup_push(note, (void *)9);
    pthread_exit((void *)10);
    pthread_cleanup_pop(0);
}

static void *exits(void *unused) {
    sem_post(&ready);
    pthread_cleanup_push(note, (void *)11);
    leaves();
    pthread_cleanup_pop(0);
    return unused;
}

static void *returns(void *value) {
    sem_post(&ready);
    return value;
}

static void *ended_as(void *(*body)(void *), void *argument, int cancel) {
    pthread_t thread;
    void *result = NULL;
    cancelled = 0;
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    sem_wait(&ready);
    usleep(100);
    CHECK(!cancel || pthread_cancel(thread) == 0);
    cancelled = 1;
    CHECK(pthread_join(thread, &result) == 0);
    return result;
}

static void in_order(const char *expected) {
    char found[64] = "";
    for (int i = 0; i < ordered; i++)
        sprintf(found + strlen(found), "%d ", order[i]);
    if (strcmp(found, expected) != 0) {
        printf("handlers %sinstead of %s\n", found, expected);
        exit(1);
    }
    ordered = 0;
}

int main(void) {
    sem_init(&none, 0, 0);
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, note);
    CHECK(ended_as(waits_for_signal, NULL, 1) == PTHREAD_CANCELED);
    in_order("2 1 ");
    CHECK(pthread_mutex_trylock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);
    CHECK(ended_as(waits_for_post, NULL, 1) == PTHREAD_CANCELED);
    in_order("3 ");
    time_t start = time(NULL);
    CHECK(ended_as(sleeps, NULL, 1) == PTHREAD_CANCELED && time(NULL) - start < 100);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, sleeps, NULL) == 0);
    sem_wait(&ready);
    CHECK(ended_as(waits_for_thread, (void *)other, 1) == PTHREAD_CANCELED);
    CHECK(pthread_cancel(other) == 0 && pthread_join(other, NULL) == 0);
    CHECK(ended_as(writes, NULL, 1) == PTHREAD_CANCELED && counter > 0);
    CHECK(ended_as(tests, NULL, 1) == PTHREAD_CANCELED);
    CHECK(ended_as(any_time, NULL, 1) == PTHREAD_CANCELED);
    in_order("4 ");
    CHECK(ended_as(not_now, NULL, 1) == PTHREAD_CANCELED);
    in_order("5 ");
    CHECK(ended_as(itself, NULL, 0) == PTHREAD_CANCELED);
    in_order("7 ");
    CHECK(ended_as(exits, NULL, 0) == (void *)10);
    in_order("9 11 ");
    CHECK(ended_as(returns, (void *)12, 1) == (void *)12);
    puts("threads are cancelled");
    return 0;
}
