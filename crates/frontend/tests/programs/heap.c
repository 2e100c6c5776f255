/* The heap: blocks do not overlap, hold what they were given, are aligned as asked, and come back. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
enum { BLOCKS = 400 };
static unsigned char *blocks[BLOCKS];
static size_t sizes[BLOCKS];

static void *work(void *unused) {
    unsigned random = 12345;
    for (int step = 0; step < 6000; step++) {
        random = random * 1103515245 + 12345;
        int i = random / 65536 % BLOCKS;
        unsigned char mark = (unsigned char)i;
        for (size_t at = 0; at < sizes[i]; at += 97) CHECK(blocks[i][at] == mark);
        random = random * 1103515245 + 12345;
        size_t size = random / 65536 % (step % 50 == 0 ? 200000 : 700);
        if (step % 3 == 0) {
            blocks[i] = realloc(blocks[i], size + 1);
            CHECK(blocks[i] != NULL);
            for (size_t at = 0; at < sizes[i] && at < size + 1; at += 97) CHECK(blocks[i][at] == mark);
        } else {
            free(blocks[i]);
            blocks[i] = step % 3 == 1 ? malloc(size + 1) : aligned_alloc(256, size + 1);
            CHECK(blocks[i] != NULL && (step % 3 == 1 || (uintptr_t)blocks[i] % 256 == 0));
            CHECK(malloc_usable_size(blocks[i]) > size);
        }
        sizes[i] = size + 1;
        memset(blocks[i], mark, size + 1);
    }
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    int *zero = calloc(1000, sizeof *zero);
    for (int i = 0; i < 1000; i++) CHECK(zero[i] == 0);
    char *copy = strdup("a copy");
    CHECK(strcmp(copy, "a copy") == 0);
    void *place;
    CHECK(posix_memalign(&place, 4096, 100) == 0 && (uintptr_t)place % 4096 == 0);
    unsigned char *mapped = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED && mapped[99999] == 0);
    mapped[99999] = 1;
    CHECK(munmap(mapped, 100000) == 0);
    unsigned char *again = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(again[99999] == 0);
    char *line = NULL;
    size_t length = 0;
    FILE *file = tmpfile();
    CHECK(file != NULL);
    fputs("of the C library's own heap\n", file);
    rewind(file);
    CHECK(getline(&line, &length, file) > 0);
    free(line);
    fclose(file);
    free(NULL); free(zero); free(copy); free(place);
    printf("%p\n", malloc(100));
    return 0;
}
