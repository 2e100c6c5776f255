/* Loops of the program's own that wait: by atomic and by volatile loads, with a bound, for a thread that sleeps. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 6 };
static struct { atomic_long word; char apart[120]; } arrived, sense;
static volatile long flag;
static atomic_long go;
static long tries;
static int sleeps;

static void *meet(void *argument)
{
    long own = (long)argument;
    for (long round = 1; round <= ROUNDS; round++) {
        for (volatile int i = 0; i < 2000 * own; i++) {}
        if (atomic_fetch_add(&arrived.word, 1) % THREADS == THREADS - 1) {
            atomic_store(&sense.word, round);
        } else {
            while (atomic_load(&sense.word) != round) {}
        }
    }
    return NULL;
}

static void *change(void *unused)
{
    if (sleeps) usleep(3000000);
    for (volatile int i = 0; i < 200000; i++) {}
    atomic_store(&go, 1);
    for (volatile int i = 0; i < 20000; i++) {}
    flag = 1;
    return unused;
}

int main(int words, char **values)
{
    pthread_t threads[THREADS];
    if (words > 1 && strcmp(values[1], "meet") == 0) {
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, meet, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        printf("%ld met\n", atomic_load(&sense.word));
        return 0;
    }
    sleeps = words > 1 && strcmp(values[1], "sleep") == 0;
    pthread_create(&threads[0], NULL, change, NULL);
    /* A loop that gives up must do so after as many looks as it says. */
    for (tries = 0; tries < 100; tries++) {
        if (atomic_load(&go)) break;
    }
    long bounded = 0;
    for (long left = 500; left > 0 && !atomic_load_explicit(&go, memory_order_acquire); left--) bounded++;
    while (!atomic_load(&go)) {}
    while (sleeps && !flag) {}
    pthread_join(threads[0], NULL);
    printf("%ld tries, %ld looks\n", tries, bounded);
    return 0;
}
