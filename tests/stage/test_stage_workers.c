#include <stdatomic.h>

#include "server/stage/workers.h"
#include "tests/testing.h"
int testing_failures;

enum { PARTS = 257 };
static struct {
    int plain[PARTS]; // written without atomics: each by one part
    atomic_size_t seats[8];
    int input;
} task;

static void count_part(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    (void)owner;
    EXPECT(part_count == PARTS);
    int *scratch =
        arena_take(&seat->scratch, sizeof *scratch); // fails unless each part begins anew
    *scratch = task.input;
    task.plain[part] += *scratch;
    atomic_fetch_add(&task.seats[seat->index], 1);
}

static void run_with(size_t worker_count)
{
    struct workers *w;
    EXPECT(workers_create(worker_count, 64, &w) == ERR_OK);
    EXPECT(workers_seat_count(w) == worker_count + 1);
    memset(&task, 0, sizeof task);
    int expected = 0;
    for (int run = 0; run < 500; run++) {
        task.input = run; // unsynchronised on purpose: the fork must publish it
        expected += run;
        workers_run(w, PARTS, count_part, NULL);
        for (int i = 0; i < PARTS; i++)
            if (task.plain[i] != expected) {
                EXPECT(task.plain[i] == expected);
                run = 500;
                break;
            }
    }
    size_t sum = 0;
    for (size_t i = 0; i < 8; i++)
        sum += atomic_load(&task.seats[i]);
    EXPECT(sum == (size_t)PARTS * 500);
    for (size_t i = worker_count + 1; i < 8; i++)
        EXPECT(atomic_load(&task.seats[i]) == 0);
    workers_destroy(w);
}

static void every_part_runs_once_with_any_number_of_workers(void)
{
    static const size_t counts[] = {0, 1, 2, 5};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        run_with(counts[i]);
}

static void count_nothing(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    (void)part_count;
    (void)seat;
    atomic_fetch_add((atomic_int *)owner, (int)part + 1);
}

static void short_runs_follow_each_other(void)
{
    struct workers *w;
    atomic_int total = 0;
    EXPECT(workers_create(3, 0, &w) == ERR_OK);
    for (int run = 0; run < 20000; run++)
        workers_run(w, 2, count_nothing, &total);
    workers_run(w, 0, count_nothing, &total);
    workers_run(w, 1, count_nothing, &total);
    EXPECT(atomic_load(&total) == 20000 * 3 + 1);
    workers_destroy(w);
}

static void too_many_workers_are_refused(void)
{
    struct workers *w = NULL;
    EXPECT(workers_create(WORKERS_MAX + 1, 64, &w) == ERR_LIMIT);
    EXPECT(w == NULL);
    workers_destroy(NULL);
}

static void a_seat_keeps_what_it_is_given(void)
{
    struct workers *w;
    int thing;
    EXPECT(workers_create(1, 64, &w) == ERR_OK);
    EXPECT(workers_own(w, 1) == NULL);
    workers_set_own(w, 1, &thing);
    EXPECT(workers_own(w, 1) == &thing);
    EXPECT(workers_own(w, 0) == NULL);
    (void)workers_cpu_ns(w);
    workers_destroy(w);
}

int main(void)
{
    RUN(every_part_runs_once_with_any_number_of_workers);
    RUN(short_runs_follow_each_other);
    RUN(too_many_workers_are_refused);
    RUN(a_seat_keeps_what_it_is_given);
    TESTING_MAIN_END;
}
