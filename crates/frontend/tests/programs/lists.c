// Loads that follow one another: a list in random order, four parts of it side by side, and
// an array of pointers to the same elements.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 65536

struct element {
    struct element *next;
    long value;
    char rest[48];
};

static struct element *elements, *order[LENGTH];

static void build(void) {
    unsigned long random = 12345;
    elements = aligned_alloc(4096, LENGTH * sizeof *elements);
    for (int i = 0; i < LENGTH; i++) {
        order[i] = &elements[i];
    }
    for (int i = LENGTH - 1; i > 0; i--) {
        random = random * 6364136223846793005ul + 1442695040888963407ul;
        int other = (random >> 33) % (i + 1);
        struct element *kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < LENGTH; i++) {
        order[i]->next = order[(i + 1) % LENGTH];
        order[i]->value = i;
    }
}

static long list(void) {
    long sum = 0;
    struct element *at = order[0];
    for (int i = 0; i < LENGTH; i++) {
        sum += at->value;
        at = at->next;
    }
    return sum;
}

static long four(void) {
    long sum = 0;
    struct element *a = order[0], *b = order[LENGTH / 4], *c = order[LENGTH / 2], *d = order[LENGTH / 4 * 3];
    for (int i = 0; i < LENGTH / 4; i++) {
        sum += a->value + b->value + c->value + d->value;
        a = a->next, b = b->next, c = c->next, d = d->next;
    }
    return sum;
}

static long pointers(void) {
    long sum = 0;
    for (int i = 0; i < LENGTH; i++) {
        sum += order[i]->value;
    }
    return sum;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "list";
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    build();
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
        sum += !strcmp(name, "four") ? four() : !strcmp(name, "pointers") ? pointers() : list();
    }
    printf("%ld\n", sum);
    return 0;
}
