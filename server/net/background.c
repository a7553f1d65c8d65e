#include "server/net/background.h"

#include <stdlib.h>

#include "common/check.h"

enum { THREADS_MAX = 64 };
enum job_state { JOB_IDLE, JOB_WAITING, JOB_RUNNING, JOB_DONE };

struct job_list {
    struct background_job *first, *last;
    size_t count;
};

struct background {
    uv_async_t wake; // closes last; the memory goes with it
    uv_mutex_t lock; // everything below
    uv_cond_t work;
    struct job_list waiting[BACKGROUND_CLASS_COUNT];
    struct job_list finished;
    size_t queue_max;
    int slow_running, slow_running_max;
    bool stopping;
    int thread_count;
    uv_thread_t threads[THREADS_MAX];
};

static void push(struct job_list *list, struct background_job *job)
{
    job->next_ = NULL;
    if (list->last)
        list->last->next_ = job;
    else
        list->first = job;
    list->last = job;
    list->count++;
}

static struct background_job *pop(struct job_list *list)
{
    struct background_job *job = list->first;
    if (!job) return NULL;
    list->first = job->next_;
    if (!list->first) list->last = NULL;
    list->count--;
    return job;
}

static bool unlink_job(struct job_list *list, const struct background_job *job)
{
    struct background_job *before = NULL;
    for (struct background_job *j = list->first; j; before = j, j = j->next_) {
        if (j != job) continue;
        if (before)
            before->next_ = j->next_;
        else
            list->first = j->next_;
        if (list->last == j) list->last = before;
        list->count--;
        return true;
    }
    return false;
}

// Under the lock. NULL: nothing that may start now.
static struct background_job *next_job(struct background *b, bool *slow)
{
    struct background_job *job = pop(&b->waiting[BACKGROUND_QUICK]);
    *slow = false;
    if (job || b->slow_running >= b->slow_running_max) return job;
    job = pop(&b->waiting[BACKGROUND_SLOW]);
    *slow = job != NULL;
    if (job) b->slow_running++;
    return job;
}

static void worker(void *argument)
{
    struct background *b = argument;
    uv_mutex_lock(&b->lock);
    for (;;) {
        bool slow;
        struct background_job *job = b->stopping ? NULL : next_job(b, &slow);
        if (!job && b->stopping) break;
        if (!job) {
            uv_cond_wait(&b->work, &b->lock);
            continue;
        }
        job->state_ = JOB_RUNNING;
        uv_mutex_unlock(&b->lock);
        job->run(job);
        uv_mutex_lock(&b->lock);
        if (slow) {
            b->slow_running--;
            uv_cond_signal(&b->work); // a slow job may have been held back
        }
        job->state_ = JOB_DONE;
        push(&b->finished, job);
        CHECK(uv_async_send(&b->wake) == 0);
    }
    uv_mutex_unlock(&b->lock);
}

// Sends coalesce: one wake-up may stand for many jobs. Only what is there now is taken, so that
// jobs which submit themselves again cannot hold the loop.
static void deliver(struct background *b)
{
    uv_mutex_lock(&b->lock);
    struct job_list list = b->finished;
    b->finished = (struct job_list){0};
    uv_mutex_unlock(&b->lock);
    for (struct background_job *job; (job = pop(&list)) != NULL;) {
        job->state_ = JOB_IDLE;
        job->done(job);
    }
}

static void on_wake(uv_async_t *handle)
{
    deliver(handle->data);
}

static void on_wake_closed(uv_handle_t *handle)
{
    struct background *b = handle->data;
    uv_cond_destroy(&b->work);
    uv_mutex_destroy(&b->lock);
    free(b);
}

static void stop_threads(struct background *b)
{
    uv_mutex_lock(&b->lock);
    b->stopping = true;
    uv_cond_broadcast(&b->work);
    uv_mutex_unlock(&b->lock);
    for (int i = 0; i < b->thread_count; i++)
        CHECK(uv_thread_join(&b->threads[i]) == 0);
    b->thread_count = 0;
}

struct background *background_create(uv_loop_t *loop, int thread_count, size_t queue_max)
{
    CHECK(thread_count >= 2 && thread_count <= THREADS_MAX);
    CHECK(queue_max > 0);
    struct background *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->queue_max = queue_max;
    b->slow_running_max = thread_count - 1;
    CHECK(uv_mutex_init(&b->lock) == 0);
    CHECK(uv_cond_init(&b->work) == 0);
    if (uv_async_init(loop, &b->wake, on_wake) != 0) {
        uv_cond_destroy(&b->work);
        uv_mutex_destroy(&b->lock);
        free(b);
        return NULL;
    }
    b->wake.data = b;
    for (; b->thread_count < thread_count; b->thread_count++)
        if (uv_thread_create(&b->threads[b->thread_count], worker, b) != 0) {
            stop_threads(b);
            uv_close((uv_handle_t *)&b->wake, on_wake_closed);
            return NULL;
        }
    return b;
}

void background_destroy(struct background *b)
{
    if (!b) return;
    stop_threads(b);
    for (int class = 0; class < BACKGROUND_CLASS_COUNT; class ++)
        for (struct background_job *job; (job = pop(&b->waiting[class])) != NULL;)
            push(&b->finished, job);
    deliver(b);
    uv_close((uv_handle_t *)&b->wake, on_wake_closed);
}

bool background_submit(struct background *b, enum background_class class,
                       struct background_job *job)
{
    CHECK(job->run && job->done);
    uv_mutex_lock(&b->lock);
    CHECK(job->state_ == JOB_IDLE);
    bool taken = !b->stopping && b->waiting[class].count < b->queue_max;
    if (taken) {
        job->state_ = JOB_WAITING;
        push(&b->waiting[class], job);
        uv_cond_signal(&b->work);
    }
    uv_mutex_unlock(&b->lock);
    return taken;
}

bool background_cancel(struct background *b, struct background_job *job)
{
    uv_mutex_lock(&b->lock);
    bool got = false;
    if (job->state_ == JOB_WAITING)
        for (int class = 0; class < BACKGROUND_CLASS_COUNT && !got; class ++)
            got = unlink_job(&b->waiting[class], job);
    if (got) job->state_ = JOB_IDLE;
    uv_mutex_unlock(&b->lock);
    return got;
}

void background_post(struct background *b, struct background_job *job)
{
    CHECK(job->done);
    uv_mutex_lock(&b->lock);
    job->state_ = JOB_DONE;
    push(&b->finished, job);
    CHECK(uv_async_send(&b->wake) == 0);
    uv_mutex_unlock(&b->lock);
}

size_t background_waiting(struct background *b, enum background_class class)
{
    uv_mutex_lock(&b->lock);
    size_t count = b->waiting[class].count;
    uv_mutex_unlock(&b->lock);
    return count;
}
