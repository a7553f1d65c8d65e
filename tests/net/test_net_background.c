#include <stdatomic.h>
#include <unistd.h>

#include "server/net/background.h"
#include "tests/testing.h"

int testing_failures;

static uv_loop_t loop;
static uv_thread_t loop_thread;
static atomic_int ran;
static int done_count, wrong_thread;

struct task {
    struct background_job job;
    unsigned sleep_us;
    int done;
    bool did_run;
    struct background *again; // submits itself once more
};

static void run(struct background_job *job)
{
    struct task *t = job->owner;
    if (t->sleep_us) (void)usleep(t->sleep_us);
    t->did_run = true;
    (void)atomic_fetch_add(&ran, 1);
}

static void on_done(struct background_job *job)
{
    struct task *t = job->owner;
    uv_thread_t self = uv_thread_self();
    if (!uv_thread_equal(&self, &loop_thread)) wrong_thread++;
    t->done++;
    done_count++;
    if (t->again && t->done == 1) EXPECT(background_submit(t->again, BACKGROUND_QUICK, &t->job));
}

static struct task task(unsigned sleep_us)
{
    return (struct task){.job = {.run = run, .done = on_done}, .sleep_us = sleep_us};
}

static void run_until(int count)
{
    for (int i = 0; i < 5000 && done_count < count; i++) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        (void)usleep(500);
    }
    EXPECT(done_count == count);
}

static struct background *fresh(int threads, size_t queue_max)
{
    atomic_store(&ran, 0);
    done_count = 0;
    return background_create(&loop, threads, queue_max);
}

static void finish(struct background *b)
{
    background_destroy(b);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static void every_job_comes_back_once_on_the_loop(void)
{
    static struct task tasks[500];
    struct background *b = fresh(4, 500);
    for (int i = 0; i < 500; i++) {
        tasks[i] = task(0);
        tasks[i].job.owner = &tasks[i];
        EXPECT(background_submit(b, i % 3 ? BACKGROUND_QUICK : BACKGROUND_SLOW, &tasks[i].job));
    }
    run_until(500);
    for (int i = 0; i < 500; i++)
        EXPECT(tasks[i].done == 1 && tasks[i].did_run);
    EXPECT(wrong_thread == 0);
    finish(b);
}

static void a_full_queue_refuses(void)
{
    static struct task tasks[8];
    struct background *b = fresh(2, 4);
    int taken = 0;
    for (int i = 0; i < 8; i++) {
        tasks[i] = task(50000);
        tasks[i].job.owner = &tasks[i];
        if (background_submit(b, BACKGROUND_SLOW, &tasks[i].job)) taken++;
    }
    EXPECT(taken >= 4 && taken <= 5); // one may have started
    run_until(taken);
    finish(b);
}

static void slow_jobs_leave_a_thread_for_quick_ones(void)
{
    static struct task slow[3], quick;
    struct background *b = fresh(2, 8);
    for (int i = 0; i < 3; i++) {
        slow[i] = task(150000);
        slow[i].job.owner = &slow[i];
        EXPECT(background_submit(b, BACKGROUND_SLOW, &slow[i].job));
    }
    quick = task(0);
    quick.job.owner = &quick;
    EXPECT(background_submit(b, BACKGROUND_QUICK, &quick.job));
    run_until(1);
    EXPECT(quick.done == 1);
    run_until(4);
    finish(b);
}

static void a_waiting_job_can_be_taken_back(void)
{
    static struct task first, second;
    struct background *b = fresh(2, 8);
    first = task(100000);
    second = task(0);
    first.job.owner = &first;
    second.job.owner = &second;
    EXPECT(background_submit(b, BACKGROUND_SLOW, &first.job));
    (void)usleep(20000);
    EXPECT(background_submit(b, BACKGROUND_SLOW, &second.job));
    EXPECT(background_waiting(b, BACKGROUND_SLOW) == 1);
    EXPECT(background_cancel(b, &second.job));
    EXPECT(!background_cancel(b, &first.job)); // runs
    run_until(1);
    EXPECT(second.done == 0 && !second.did_run);
    finish(b);
}

static void a_job_may_submit_itself_again(void)
{
    static struct task t;
    struct background *b = fresh(2, 8);
    t = task(0);
    t.job.owner = &t;
    t.again = b;
    EXPECT(background_submit(b, BACKGROUND_QUICK, &t.job));
    run_until(2);
    finish(b);
}

struct poster {
    struct background *b;
    struct task tasks[50];
};

static void post_all(void *argument)
{
    struct poster *p = argument;
    for (int i = 0; i < 50; i++)
        background_post(p->b, &p->tasks[i].job);
}

static void another_thread_can_post_its_answer(void)
{
    static struct poster p;
    uv_thread_t thread;
    p.b = fresh(2, 8);
    for (int i = 0; i < 50; i++) {
        p.tasks[i] = task(0);
        p.tasks[i].job.owner = &p.tasks[i];
    }
    EXPECT(uv_thread_create(&thread, post_all, &p) == 0);
    run_until(50);
    EXPECT(uv_thread_join(&thread) == 0);
    EXPECT(wrong_thread == 0);
    finish(p.b);
}

static void the_end_gives_every_job_back(void)
{
    static struct task tasks[6];
    struct background *b = fresh(2, 8);
    for (int i = 0; i < 6; i++) {
        tasks[i] = task(50000);
        tasks[i].job.owner = &tasks[i];
        EXPECT(background_submit(b, BACKGROUND_QUICK, &tasks[i].job));
    }
    (void)usleep(10000);
    finish(b);
    for (int i = 0; i < 6; i++)
        EXPECT(tasks[i].done == 1);
    EXPECT(atomic_load(&ran) < 6);
}

int main(void)
{
    loop_thread = uv_thread_self();
    if (uv_loop_init(&loop) != 0) return 1;
    RUN(every_job_comes_back_once_on_the_loop);
    RUN(a_full_queue_refuses);
    RUN(slow_jobs_leave_a_thread_for_quick_ones);
    RUN(a_waiting_job_can_be_taken_back);
    RUN(a_job_may_submit_itself_again);
    RUN(another_thread_can_post_its_answer);
    RUN(the_end_gives_every_job_back);
    EXPECT(uv_loop_close(&loop) == 0);
    TESTING_MAIN_END;
}
