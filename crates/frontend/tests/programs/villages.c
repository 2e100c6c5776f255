/* Villages in a tree, after the manner of the Health program of the Barcelona OpenMP Tasks Suite: in each step a village is a task,
   which makes one for each village below it, waits for them, takes in the patients that they send, and treats those it has.
   Prints how long the steps took, and fails if the outcome is not that of one thread. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BELOW = 4, BEDS = 120, STEPS = 3 };

struct village {
    struct village *below[BELOW];
    unsigned random;
    int level;
    int bed[BEDS];
    int sent;
    long treated;
};

/* In a region, the thread that founds a village is the first to touch its memory. */
static struct village *found(int level, unsigned number)
{
    struct village *village = calloc(1, sizeof *village);
    village->level = level;
    village->random = number * 2654435761u;
    for (int i = 0; level > 0 && i < BELOW; i++) {
#pragma omp task
        village->below[i] = found(level - 1, number * BELOW + i);
    }
#pragma omp taskwait
    return village;
}

/* Some get well, some are sent to the village above, and new ones fall ill. */
static void treat(struct village *village, int coming)
{
    village->sent = 0;
    for (int i = 0; i < BEDS; i++) {
        /* A long way to a random number, as work: Marsaglia's shifts, which no compiler makes one step of. */
        for (int j = 0; j < 24; j++) {
            village->random ^= village->random << 13;
            village->random ^= village->random >> 17;
            village->random ^= village->random << 5;
        }
        unsigned chance = village->random >> 24;
        if (village->bed[i] > 0) {
            village->bed[i]--;
            village->treated += village->bed[i] == 0;
            if (chance < 16) {
                village->sent++;
                village->bed[i] = 0;
            }
        } else if (coming > 0) {
            coming--;
            village->bed[i] = 2 + chance % 5;
        } else if (chance < 100) {
            village->bed[i] = 1 + chance % 7;
        }
    }
}

static void step(struct village *village)
{
    for (int i = 0; village->level > 0 && i < BELOW; i++) {
        struct village *below = village->below[i];
#pragma omp task firstprivate(below)
        step(below);
    }
#pragma omp taskwait
    int coming = 0;
    for (int i = 0; village->level > 0 && i < BELOW; i++) coming += village->below[i]->sent;
    treat(village, coming);
}

static long treated(const struct village *village)
{
    long sum = village->treated;
    for (int i = 0; village->level > 0 && i < BELOW; i++) sum += treated(village->below[i]);
    return sum;
}

int main(int count, char **words)
{
    int levels = count > 1 ? atoi(words[1]) : 4;
    struct village *alone = found(levels, 1), *shared = NULL;
#pragma omp parallel
#pragma omp single
    shared = found(levels, 1);
    /* Outside of a region tasks are done as they come. */
    for (int i = 0; i < STEPS; i++) step(alone);
    double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < STEPS; i++) step(shared);
    printf("%.0f us\n", (omp_get_wtime() - start) * 1e6);
    return treated(alone) != treated(shared) || treated(shared) == 0;
}
