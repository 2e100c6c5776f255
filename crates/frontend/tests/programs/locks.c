/* Every kind of lock, held by several threads: no increment is lost, and errors are those of the standard. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 40
#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;
static pthread_barrier_t barrier;
static long counts[6];
static int serial, readers, most_readers;

static void *work(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&plain); counts[0]++; pthread_mutex_unlock(&plain);
        pthread_mutex_lock(&recursive); pthread_mutex_lock(&recursive); counts[1]++;
        pthread_mutex_unlock(&recursive); pthread_mutex_unlock(&recursive);
        CHECK(pthread_mutex_lock(&checking) == 0);
        CHECK(pthread_mutex_lock(&checking) == EDEADLK);
        counts[2]++;
        CHECK(pthread_mutex_unlock(&checking) == 0);
        pthread_spin_lock(&spin); counts[3]++; pthread_spin_unlock(&spin);
        sem_wait(&semaphore); counts[4]++; sem_post(&semaphore);
        pthread_mutex_lock(&adaptive); counts[5]++; pthread_mutex_unlock(&adaptive);
        if (round % 8 == 0) {
            pthread_rwlock_wrlock(&shared); CHECK(readers == 0); pthread_rwlock_unlock(&shared);
        } else {
            pthread_rwlock_rdlock(&shared);
            int now = __sync_add_and_fetch(&readers, 1);
            if (now > most_readers) most_readers = now;
            CHECK(pthread_rwlock_trywrlock(&shared) == EBUSY);
            usleep(50);
            __sync_sub_and_fetch(&readers, 1);
            pthread_rwlock_unlock(&shared);
        }
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) __sync_add_and_fetch(&serial, 1);
    }
    return unused;
}

static void *try(void *unused) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 1000000;
    if (soon.tv_nsec >= 1000000000) { soon.tv_nsec -= 1000000000; soon.tv_sec++; }
    CHECK(pthread_mutex_trylock(&plain) == EBUSY);
    CHECK(pthread_mutex_unlock(&checking) == EPERM);
    CHECK(pthread_mutex_timedlock(&plain, &soon) == ETIMEDOUT);
    CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    CHECK(sem_timedwait(&semaphore, &soon) == -1 && errno == ETIMEDOUT);
    CHECK(pthread_rwlock_timedrdlock(&shared, &soon) == ETIMEDOUT);
    CHECK(pthread_spin_trylock(&spin) == EBUSY);
    return unused;
}

int main(int words, char **unused) {
    (void)unused;
    pthread_t threads[THREADS];
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&semaphore, 0, 1);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 6; i++) CHECK(counts[i] == THREADS * ROUNDS);
    CHECK(serial == ROUNDS);
    /* On a simulated machine readers meet in every run alike. */
    CHECK(words == 1 || most_readers > 1);
    pthread_mutex_lock(&plain);
    pthread_mutex_lock(&checking);
    pthread_rwlock_wrlock(&shared);
    pthread_spin_lock(&spin);
    sem_wait(&semaphore);
    CHECK(pthread_create(&threads[0], NULL, try, NULL) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0);
    printf("locks hold\n");
    return 0;
}
