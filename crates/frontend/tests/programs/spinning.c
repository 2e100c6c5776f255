/* Loops that wait for a word of another thread: plain, volatile, atomic, and a handwritten barrier. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 10 };
static int plain;
static volatile int flag;
static atomic_int ready, arrived, sense;
static long checks;

static void *work(void *argument) {
    long number = (long)argument;
    while (!*(volatile int *)&plain) {}
    while (!flag) {}
    while (!atomic_load_explicit(&ready, memory_order_acquire)) {}
    for (int round = 0; round < ROUNDS; round++) {
        int mine = !atomic_load(&sense);
        if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
            atomic_store(&arrived, 0);
            checks++;
            atomic_store(&sense, mine);
        } else {
            while (atomic_load(&sense) != mine) {}
        }
        for (volatile int i = 0; i < 100 * number; i++) {}
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (volatile int i = 0; i < 20000; i++) {}
    *(volatile int *)&plain = 1;
    for (volatile int i = 0; i < 20000; i++) {}
    flag = 1;
    for (volatile int i = 0; i < 20000; i++) {}
    atomic_store_explicit(&ready, 1, memory_order_release);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%ld rounds\n", checks);
    return checks != ROUNDS;
}
