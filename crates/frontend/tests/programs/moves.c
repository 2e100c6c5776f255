// Pages that are asked to move once they have been placed: by move_pages, by mbind, and by migrate_pages.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 8
#define PAGE (64 << 10)  // no page of a simulated machine is larger

long move_pages(int process, unsigned long count, void **pages, const int *nodes, int *status, int flags);
long mbind(void *start, unsigned long bytes, int mode, const unsigned long *mask, unsigned long bits, unsigned flags);
long migrate_pages(int process, unsigned long bits, const unsigned long *from, const unsigned long *to);

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static char *memory;
static void *pages[PAGES];
static int status[PAGES];

static void all_on(int node) {
    CHECK(move_pages(0, PAGES, pages, NULL, status, 0) == 0);
    for (int i = 0; i < PAGES; i++)
        if (status[i] != node) {
            printf("page %d: on %d instead of %d\n", i, status[i], node);
            exit(1);
        }
}

static void holds(void) {
    for (long i = 0; i < PAGES * (long)PAGE; i += 64)
        CHECK(memory[i] == (char)(i / 64));
}

int main(int argc, char **argv) {
    (void)argv;
    char *room = mmap(NULL, (PAGES + 1) * (long)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = room + PAGE - (long)room % PAGE;
    int wanted[PAGES];
    for (int i = 0; i < PAGES; i++) {
        pages[i] = memory + i * (long)PAGE;
        wanted[i] = 2;
    }
    CHECK(move_pages(0, PAGES, pages, wanted, status, 2) == 0 && status[0] == -ENOENT);
    for (long i = 0; i < PAGES * (long)PAGE; i += 64)
        memory[i] = (char)(i / 64);
    if (argc > 1) {  // the machine cannot
        CHECK(move_pages(0, PAGES, pages, wanted, status, 2) == 0 && status[0] == -EBUSY);
        holds();
        puts("pages stay");
        return 0;
    }
    CHECK(move_pages(0, PAGES, pages, wanted, status, 2) == 0);
    for (int i = 0; i < PAGES; i++)
        CHECK(status[i] == 2);
    all_on(2);
    holds();
    unsigned long one = 1ul << 1, two = 1ul << 2, three = 1ul << 3;
    CHECK(mbind(memory, PAGES * (long)PAGE, 2, &three, 64, 2) == 0);
    all_on(3);
    holds();
    CHECK(mbind(memory, PAGES * (long)PAGE, 2, &one, 64, 0) == 0);  // those that are placed stay
    all_on(3);
    CHECK(migrate_pages(0, 64, &three, &two) == 0);
    all_on(2);
    holds();
    wanted[0] = 99;
    CHECK(move_pages(0, 1, pages, wanted, status, 2) == -1 && errno == ENODEV);
    puts("pages move");
    return 0;
}
