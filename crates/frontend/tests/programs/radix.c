/* The sort by digits of the built-in workloads, in C: the same steps, the same places of the same data. */
#include <ccnuma.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, PAGE = 16384, MOST = 64 };

typedef struct {
    uint32_t key, record;
} Key;

static size_t keys = 65536;
static unsigned radix = 1024, bits = 20, threads = 8;
static Key *from, *to;
static uint64_t *counts[MOST], *sums[MOST];
static pthread_barrier_t barrier;

/* Any number that looks drawn at random. */
static uint32_t draw(uint64_t record)
{
    uint64_t x = (record + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 33) & ((1u << bits) - 1);
}

/* The first of a thread's share of so many. */
static size_t first(size_t total, unsigned thread)
{
    return total * thread / threads;
}

static void *sort(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument, digits = radix;
    size_t begin = first(keys, me), end = first(keys, me + 1);
    Key *source = from, *target = to;
    uint64_t *own = counts[me];
    /* Pages lie with those who use them first. */
    memset(own, 0, digits * sizeof *own);
    sums[me][0] = 0;
    for (size_t i = begin; i < end; i++) {
        source[i].key = draw(i);
        source[i].record = (uint32_t)i;
    }
    for (size_t i = begin; i < end; i += PAGE / sizeof *target) target[i].key = 0;
    pthread_barrier_wait(&barrier);
    ccnuma_roi_begin();
    for (unsigned shift = 0; shift < bits; shift += (unsigned)__builtin_ctz(digits)) {
        for (unsigned digit = 0; digit < digits; digit++) own[digit] = 0;
        for (size_t i = begin; i < end; i++) own[source[i].key >> shift & (digits - 1)]++;
        pthread_barrier_wait(&barrier);
        uint64_t sum = 0;
        for (size_t digit = first(digits, me); digit < first(digits, me + 1); digit++)
            for (unsigned thread = 0; thread < threads; thread++) {
                uint64_t count = counts[thread][digit];
                counts[thread][digit] = sum;
                sum += count;
            }
        sums[me][0] = sum;
        pthread_barrier_wait(&barrier);
        uint64_t before = 0;
        for (unsigned thread = 0; thread < threads; thread++) {
            for (size_t digit = first(digits, thread); digit < first(digits, thread + 1); digit++) own[digit] += before;
            before += sums[thread][0];
        }
        for (size_t i = begin; i < end; i++) {
            Key key = source[i];
            target[own[key.key >> shift & (digits - 1)]++] = key;
        }
        pthread_barrier_wait(&barrier);
        Key *other = source;
        source = target;
        target = other;
    }
    ccnuma_roi_end();
    return source;
}

static void *room(size_t bytes)
{
    void *block;
    if (posix_memalign(&block, PAGE, (bytes + PAGE - 1) / PAGE * PAGE) != 0) abort();
    return block;
}

int main(int count, char **words)
{
    pthread_t others[MOST];
    if (count > 1) threads = (unsigned)atoi(words[1]);
    if (count > 2) keys = (size_t)atol(words[2]);
    from = room(keys * sizeof *from);
    to = room(keys * sizeof *to);
    for (unsigned thread = 0; thread < threads; thread++) {
        counts[thread] = room(radix * sizeof(uint64_t));
        sums[thread] = room(LINE);
    }
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned thread = 1; thread < threads; thread++) pthread_create(&others[thread], NULL, sort, (void *)(uintptr_t)thread);
    Key *sorted = sort(NULL);
    for (unsigned thread = 1; thread < threads; thread++) pthread_join(others[thread], NULL);
    for (size_t i = 1; i < keys; i++) {
        int ascends = sorted[i - 1].key < sorted[i].key;
        int stable = sorted[i - 1].key == sorted[i].key && sorted[i - 1].record < sorted[i].record;
        if (!ascends && !stable) {
            printf("wrong at %zu\n", i);
            return 1;
        }
    }
    printf("%zu keys in order\n", keys);
    return 0;
}
