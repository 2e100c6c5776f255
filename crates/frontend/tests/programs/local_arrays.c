// References to arrays whose addresses go nowhere, and atomic ones, as many as the program is told: 2 to arrays and 3 atomic ones
// a round, for whoever sees all of them.
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic int word;
static _Atomic long sum;

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    double values[64];
    for (int i = 0; i < 64; i++)
        values[i] = i;
    double total = 0;
    for (int i = 0; i < rounds; i++) {
        total += values[i * 7 & 63];
        values[i & 63] = total;
    }
    for (int i = 0; i < rounds; i++) {
        atomic_store_explicit(&word, i, memory_order_release);
        total += atomic_load_explicit(&word, memory_order_acquire);
        sum++;
    }
    return total < 0;
}
