// Code whose blocks begin, end and flow into each other in every way that a compiler makes of C: the references of one thread,
// to its own memory only.
#include <setjmp.h>
#include <stdlib.h>

static long table[64];
static long sums[8];
static jmp_buf back;

// Arms that end alike, so that a compiler lets one run into another's end.
static long alike(int kind, long *at) {
    switch (kind & 7) {
    case 0: at[0] += 3; at[1] = at[0]; return at[1];
    case 1: at[2] += 5; at[1] = at[0]; return at[1];
    case 2: at[3] ^= 7; at[1] = at[0]; return at[1];
    case 3: at[0] = at[2] - at[3]; break;
    case 4: at[4]++;  // falls through
    case 5: at[5]++; break;
    default: at[6] += at[7];
    }
    at[1] = at[0];
    return at[1];
}

static long deep(long level) {
    table[level & 63] += level;
    return level < 2 ? table[0] : deep(level - 1) + deep(level - 2);
}

static void leave(long turn) {
    sums[1] += turn;
    if (turn % 3 == 0)
        longjmp(back, 1);
    sums[2] += turn;
}

static double mixed(const double *values, unsigned long count) {
    double sum = 0;
    for (unsigned long i = 0; i < count; i++)
        sum += values[i] > 0.5 ? values[i] / (double)count : -values[i];
    return sum;
}

static int order(const void *one, const void *other) {
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}

int main(void) {
    volatile long turn;
    double *values = malloc(1000 * sizeof *values);
    for (long i = 0; i < 1000; i++)
        values[i] = (double)(i * 7919 % 1000) / 1000;
    for (int i = 0; i < 4000; i++)
        sums[0] += alike(i, &table[i % 56]);
    sums[3] = deep(16);
    for (turn = 0; turn < 50; turn++)
        if (setjmp(back) == 0)
            leave(turn);
    sums[4] = (long)(mixed(values, 1000) * 1000);
    qsort(table, 64, sizeof *table, order);
    long (*chosen)(int, long *) = turn > 40 ? alike : NULL;
    sums[5] = chosen(3, table);
    free(values);
    return sums[0] == 0 || sums[3] == 0;
}
