#include <string.h>

#include "common/check.h"
#include "server/stage/notes.h"
#include "server/stage/stage_own.h"

// One tick: inputs are already in the bodies; who sees what and in which form; surfaces; rows on
// the grids; frames. With many actors each is one piece of work; with few, each stage of each
// actor is cut into parts, with a join between the stages. Both give the same bits.
enum {
    IDLE_TICKS = 60,    // a viewer that takes nothing for so long does not hold anchors back
    PATIENCE_MAX = 2,   // as a power of two: ticks between key frames that nobody takes
    PARTS_PER_SEAT = 2, // of work in a phase: evens out what parts cost
    CATCH_UP_MAX = 30   // ticks that were missed and are posed all the same; more: it was a halt
};

struct tick_work {
    struct stage *s;
    size_t parts; // of each actor in the phase that runs
};

// ---- before the fork ----------------------------------------------------------------------

static void log_inputs(struct stage *s)
{
    for (size_t i = 0; i < s->actors.capacity; i++) {
        struct actor *a = slots_at(&s->actors, i);
        if (!a) continue;
        a->wanted = false;
        for (uint32_t k = 0; k < a->pending_count; k++)
            a->applied[a->applied_written++ % APPLIED_MAX] = (struct session_applied_entry){
                .tick = s->tick - s->missed, .sequence = a->pending[k]};
        a->pending_count = 0;
        a->sequence_used = a->sequence_newest;
        for (size_t q = 0; q < CODER_QUALITIES; q++)
            for (int d = 0; a->coders[q] && d < SURFACE_LODS_MAX; d++) {
                struct coder_line *line = &a->coders[q]->lines[d];
                line->demand = 0;
                line->absent = false;
                line->jumped = line->jumped || a->body.jumped;
            }
        a->body.jumped = false;
    }
}

static void grant_key(struct stage *s, struct view_entry *e)
{
    uint64_t gap = (uint64_t)VIEW_KEY_GAP_MS * s->options.tick_hz / 1000;
    if (!e->want_key || (e->key_tick && s->tick - e->key_tick < gap)) return;
    e->want_key = false;
    e->key_tick = s->tick;
    e->held_count = 0;
}

// Key forms are dear; who has left some lying gets the next one a little later.
static bool is_patient(const struct stage *s, struct view_entry *e)
{
    uint64_t wait = (uint64_t)1 << (e->unsent < PATIENCE_MAX ? e->unsent : PATIENCE_MAX);
    if (e->held_count > 0) return false;
    if (e->unsent > 0 && s->tick - e->asked_tick < wait) return true;
    if (e->unsent < PATIENCE_MAX) e->unsent++;
    e->asked_tick = s->tick;
    return false;
}

static void demand(struct stage *s, struct view *v)
{
    size_t quality = view_quality(&v->settings);
    if (v->ready) {
        v->ready_tick = s->tick;
        view_refresh(v);
    }
    if (s->tick - v->ready_tick > IDLE_TICKS) return;
    for (size_t i = 0; i < v->order_count; i++) {
        struct view_entry *e = &v->entries[v->order[i]];
        if (e->state != VIEW_ENTRY_SEEN) continue;
        struct coder *c = e->actor->coders[quality];
        if (v->ready) grant_key(s, e);
        if (!v->ready || e->hold || is_patient(s, e)) {
            c->lines[e->detail].absent = true;
            continue;
        }
        coder_demand(c, e->detail, e->held, e->held_count);
        e->actor->wanted = true;
    }
}

static void list_items(struct stage *s)
{
    struct tick_lists *l = &s->lists;
    l->item_count = 0;
    for (size_t i = 0; i < s->actors.capacity; i++) {
        struct actor *a = slots_at(&s->actors, i);
        if (a && (a->wanted || body_has_memory(&a->body)))
            l->items[l->item_count++] = (struct tick_item){.actor = a};
    }
}

// ---- surfaces -----------------------------------------------------------------------------

static bool pose_at(const struct stage *s, struct actor *a, uint64_t tick)
{
    uint64_t age = tick > a->first_tick ? tick - a->first_tick : 0;
    return body_pose(&a->body, (double)age / (double)s->options.tick_hz);
}

// Who has a memory is posed at missed ticks too, with the inputs that were waiting: what it looks
// like must not depend on how busy the machine was, and a replay knows nothing of that.
static void pose_item(struct stage *s, struct tick_item *item)
{
    struct actor *a = item->actor;
    for (uint64_t back = s->missed; back > 0 && body_has_memory(&a->body); back--) {
        body_missed_tick(&a->body);
        (void)pose_at(s, a, s->tick - back);
        notes_take_skips(a, s->tick - back);
    }
    body_before_tick(&a->body);
    bool changed = pose_at(s, a, s->tick);
    item->changed = changed && (a->wanted || body_has_plugins(&a->body));
}

static void run_whole(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    struct tick_work *w = owner;
    struct tick_item *item = &w->s->lists.items[part];
    (void)part_count;
    (void)seat;
    pose_item(w->s, item);
    if (item->changed) body_run(&item->actor->body);
}

static void run_begin(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    struct tick_work *w = owner;
    struct tick_item *item = &w->s->lists.items[part];
    (void)part_count;
    (void)seat;
    pose_item(w->s, item);
    if (item->changed) body_begin(&item->actor->body);
}

// One stage of one actor, for the actors that have it.
static void run_stage(void *owner, size_t part, bool (*has)(const struct body *),
                      void (*run)(struct body *, size_t, size_t))
{
    struct tick_work *w = owner;
    struct tick_item *item = &w->s->lists.items[part / w->parts];
    struct body *body = &item->actor->body;
    if (item->changed && (!has || has(body))) run(body, part % w->parts, w->parts);
}

#define STAGE(name, has, run)                                                                      \
    static void name(void *owner, size_t part, size_t part_count, struct workers_seat *seat)       \
    {                                                                                              \
        (void)part_count;                                                                          \
        (void)seat;                                                                                \
        run_stage(owner, part, has, run);                                                          \
    }
STAGE(run_face, body_has_face, body_face)
STAGE(run_turn, body_has_face, body_turn)
STAGE(run_skin, NULL, body_skin)
STAGE(run_keep, body_has_correctives, body_keep)
STAGE(run_extras, body_has_correctives, body_extras)
STAGE(run_correct, body_has_correctives, body_correct)
STAGE(run_settle, body_has_correctives, body_settle)
#undef STAGE

static size_t parts_for(const struct stage *s, size_t count)
{
    size_t seats = workers_seat_count(s->workers), wanted = PARTS_PER_SEAT * seats;
    if (seats == 1 || count == 0 || count >= wanted) return 1;
    return (wanted + count - 1) / count;
}

static bool any_item(const struct tick_lists *l, bool (*has)(const struct body *))
{
    for (size_t i = 0; i < l->item_count; i++)
        if (l->items[i].changed && has(&l->items[i].actor->body)) return true;
    return false;
}

static void evaluate(struct stage *s)
{
    struct tick_lists *l = &s->lists;
    struct tick_work w = {.s = s, .parts = parts_for(s, l->item_count)};
    if (w.parts == 1) {
        workers_run(s->workers, l->item_count, run_whole, &w);
    } else {
        size_t pieces = l->item_count * w.parts;
        workers_run(s->workers, l->item_count, run_begin, &w);
        bool face = any_item(l, body_has_face), correct = any_item(l, body_has_correctives);
        if (face) workers_run(s->workers, pieces, run_face, &w);
        if (face) workers_run(s->workers, pieces, run_turn, &w);
        workers_run(s->workers, pieces, run_skin, &w);
        if (correct) workers_run(s->workers, pieces, run_keep, &w);
        if (correct) workers_run(s->workers, pieces, run_extras, &w);
        if (correct) workers_run(s->workers, pieces, run_correct, &w);
        if (correct) workers_run(s->workers, pieces, run_settle, &w);
    }
    for (size_t i = 0; i < l->item_count; i++) {
        notes_take_skips(l->items[i].actor, s->tick);
        if (l->items[i].changed) {
            s->counts.evaluations++;
            s->counts.refused_poses += l->items[i].actor->body.frame.pose_refused;
        }
    }
}

// ---- grids --------------------------------------------------------------------------------

static bool is_demanded(const struct coder *c)
{
    for (int d = 0; d < SURFACE_LODS_MAX; d++)
        if (c->lines[d].demand) return true;
    return false;
}

static void list_pairs(struct stage *s)
{
    struct tick_lists *l = &s->lists;
    l->pair_count = 0;
    for (size_t i = 0; i < l->item_count; i++)
        for (size_t q = 0; q < CODER_QUALITIES; q++) {
            struct actor *a = l->items[i].actor;
            struct coder *c = a->coders[q];
            if (!c || c->raw || c->rows_surface == a->body.surface || !is_demanded(c)) continue;
            l->pairs[l->pair_count++] = (struct tick_pair){.actor = a, .coder = c};
        }
}

static void run_quantise(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    struct tick_work *w = owner;
    struct tick_pair *pair = &w->s->lists.pairs[part / w->parts];
    (void)part_count;
    (void)seat;
    coder_quantise(pair->coder, pair->actor->body.blocks, w->s->options.level, part % w->parts,
                   w->parts, &w->s->lists.boxes[part]);
}

static void quantise(struct stage *s)
{
    struct tick_lists *l = &s->lists;
    for (int round = 0; round < 2 && l->pair_count > 0; round++) {
        struct tick_work w = {.s = s, .parts = parts_for(s, l->pair_count)};
        size_t again = 0;
        workers_run(s->workers, l->pair_count * w.parts, run_quantise, &w);
        for (size_t i = 0; round == 0 && i < l->pair_count; i++) {
            struct tick_pair *pair = &l->pairs[i];
            if (!coder_settle(pair->coder, &l->boxes[i * w.parts], w.parts,
                              pair->actor->body.surface))
                continue;
            s->counts.grid_changes++;
            l->pairs[again++] = *pair;
        }
        l->pair_count = again;
    }
}

// ---- frames -------------------------------------------------------------------------------

static struct frame_message frame_head(const struct actor *a, const struct ticker_tick *tick)
{
    struct frame_message head = {.scene = a->scene->number,
                                 .actor = a->number,
                                 .model = a->role->number,
                                 .model_version = a->role->version,
                                 .tick = tick->number,
                                 .server_time_us = tick->deadline_ns / 1000,
                                 .input_sequence = a->sequence_used};
    body_placement(&a->body, head.translation, head.rotation, &head.scale);
    return head;
}

// Largest first, so that the last job to end is a short one.
static void add_job(struct tick_lists *l, struct tick_job job)
{
    uint32_t size = job.actor->role->details[job.detail].vertex_count;
    size_t at = l->job_count++;
    for (; at > 0; at--) {
        const struct tick_job *before = &l->jobs[at - 1];
        if (before->actor->role->details[before->detail].vertex_count >= size) break;
        l->jobs[at] = *before;
    }
    l->jobs[at] = job;
}

static void list_jobs(struct stage *s, const struct ticker_tick *tick)
{
    struct tick_lists *l = &s->lists;
    l->job_count = 0;
    for (size_t i = 0; i < l->item_count; i++) {
        struct actor *a = l->items[i].actor;
        struct frame_message head = frame_head(a, tick);
        for (size_t q = 0; q < CODER_QUALITIES; q++)
            for (uint32_t d = 0; a->coders[q] && d < a->role->detail_count; d++) {
                struct coder *c = a->coders[q];
                if (!c->lines[d].demand) continue;
                s->counts.dropped_frames += coder_prepare(c, d, &head);
                if (c->lines[d].form_count > 0) add_job(l, (struct tick_job){a, c, d});
            }
    }
}

static void run_encode(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    struct tick_work *w = owner;
    const struct tick_job *job = &w->s->lists.jobs[part];
    (void)part_count;
    coder_encode(job->coder, job->detail, job->actor->body.blocks, w->s->options.level, seat->own);
}

static void count_frames(struct stage *s)
{
    for (size_t i = 0; i < s->lists.job_count; i++) {
        const struct tick_job *job = &s->lists.jobs[i];
        const struct coder_line *line = &job->coder->lines[job->detail];
        for (uint32_t k = 0; k < line->form_count; k++) {
            const struct frame *f = line->forms[k];
            s->counts.encodings++;
            s->counts.key_encodings += (f->head.flags & FRAME_KEY) != 0;
            s->counts.still_frames += (f->head.flags & FRAME_STILL) != 0;
            s->counts.encoded_bytes += f->size_bytes;
        }
    }
}

void stage_tick(struct stage *s, const struct ticker_tick *tick)
{
    CHECK(!s->ticked || tick->number > s->tick);
    s->tick = tick->number;
    s->missed = s->ticked && tick->skipped <= CATCH_UP_MAX ? tick->skipped : 0;
    s->ticked = true;
    log_inputs(s);
    if (s->options.plugins) plugin_host_tend(s->options.plugins, tick->deadline_ns);
    for (struct view *v = s->views; v; v = v->next)
        demand(s, v);
    list_items(s);
    evaluate(s);
    list_pairs(s);
    quantise(s);
    list_jobs(s, tick);
    struct tick_work w = {.s = s, .parts = 1};
    workers_run(s->workers, s->lists.job_count, run_encode, &w);
    count_frames(s);
}
