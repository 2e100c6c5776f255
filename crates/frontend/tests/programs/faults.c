/* Two faults of memory, one at a time: counters of all threads in one line, and an array that one thread touches first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 2000, WORDS = 1 << 16, SWEEPS = 4 };

static volatile long counters[THREADS];
static long *array;
static long sums[THREADS * 32];

static void *count(void *argument)
{
    long number = (long)argument;
    for (int round = 0; round < ROUNDS; round++)
        counters[number]++;
    return NULL;
}

static void *sweep(void *argument)
{
    long number = (long)argument, sum = 0;
    const long *own = array + number * (WORDS / THREADS);
    for (int round = 0; round < SWEEPS; round++)
        for (int word = 0; word < WORDS / THREADS; word++)
            sum += own[word];
    sums[number * 32] = sum;
    return NULL;
}

int main(int count_of_words, char **words)
{
    int sharing = count_of_words > 1 && strcmp(words[1], "sharing") == 0;
    pthread_t threads[THREADS];
    array = malloc(WORDS * sizeof *array);
    for (int word = 0; word < WORDS; word++)
        array[word] = word;
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, sharing ? count : sweep, (void *)number);
    long sum = 0;
    for (int number = 0; number < THREADS; number++) {
        pthread_join(threads[number], NULL);
        sum += sharing ? counters[number] : sums[number * 32];
    }
    long right = sharing ? (long)THREADS * ROUNDS : (long)SWEEPS * WORDS / 2 * (WORDS - 1);
    puts(sum == right ? "right" : "wrong");
    return sum != right;
}
