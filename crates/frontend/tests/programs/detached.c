// Tasks that are over when an event is fulfilled: by a later task, by themselves, and by a thread that is no part of the team.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static volatile int done;

static void *fulfils(void *event) {
    usleep(200);
    CHECK(!done);
    done = 1;
    omp_fulfill_event((omp_event_handle_t)event);
    return NULL;
}

int main(void) {
    int value = 0, after = 0, own = 0;
    omp_event_handle_t event;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task detach(event) depend(out : value) shared(value)
        value = 1;
#pragma omp task depend(in : value) shared(value, after)
        after = value + done;
        pthread_t other;
        CHECK(pthread_create(&other, NULL, fulfils, (void *)event) == 0);
#pragma omp taskwait
        CHECK(value == 1 && done == 1 && after == 2);
        CHECK(pthread_join(other, NULL) == 0);

        omp_event_handle_t first;
#pragma omp taskgroup
        {
#pragma omp task detach(first) shared(own)
            own += 1;
#pragma omp task firstprivate(first)
            omp_fulfill_event(first);
        }
        CHECK(own == 1);

        omp_event_handle_t itself;
#pragma omp task detach(itself) shared(own)
        {
            own += 10;
            omp_fulfill_event(itself);
        }
    }
    CHECK(own == 11);
    printf("%d threads: right\n", omp_get_max_threads());
    return 0;
}
