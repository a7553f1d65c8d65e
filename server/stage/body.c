#include "server/stage/body.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/driver.h"

static bool contains_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == word[i])
            i++;
        if (i == length) return true;
    }
    return false;
}

int32_t body_default_clip(const struct model *m)
{
    static const char *const words[] = {"idle", "stand", "breath"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        for (size_t i = 0; i < m->clips_count; i++)
            if (m->clips[i].duration_s > 0 &&
                contains_word(model_text(m, m->clips[i].name), words[w]))
                return (int32_t)i;
    return m->clips_count > 0 ? 0 : MODEL_NONE;
}

enum err body_create(const struct body_options *options, struct body *out)
{
    const struct model *m = options->model;
    const size_t padding = 16 * 64; // every block of the arena begins on 64 bytes
    struct body b = {.options = *options, .change = 1};
    size_t cursor_bytes = options->default_clip == MODEL_NONE
                              ? 0
                              : clip_cursor_bytes(m, (uint32_t)options->default_clip);
    size_t weight_count = options->correct ? driver_weight_count(m) : 0;
    bool extras = options->correct && m->extras_count > 0 && !options->without_extras;
    size_t node_count = extras ? m->nodes_count : 0;
    size_t state_bytes = extras ? extras_bytes(m) : 0; // twice: what is kept, what is shown
    bool springs = m->spring_joints_count > 0 && !options->without_springs;
    bool roots = m->roots_count > 0;
    size_t bytes = (roots ? roots_pose_bytes(m) + 2 * pose_bytes(m) : 0) + 2 * state_bytes +
                   (extras ? body_plugins_bytes(m) + m->extras_count * sizeof(uint64_t) : 0) +
                   (springs ? springs_bytes(m) : 0) + node_count * sizeof(struct xform) +
                   pose_bytes(m) + motion_bytes(m) + weight_count * sizeof(double) + cursor_bytes +
                   face_state_bytes(m) + m->blocks_count * sizeof(struct surface_block) +
                   surface_bytes(m, options->map, options->correct) + padding;
    if (!arena_create(&b.arena, bytes)) return ERR_MEMORY;
    b.pose = pose_take(m, &b.arena);
    b.motion = motion_take(m, &b.arena);
    b.motion.ground = options->ground;
    if (cursor_bytes) b.cursor = clip_cursor_take(m, (uint32_t)options->default_clip, &b.arena);
    b.face = face_state_take(m, &b.arena);
    b.driver_weights = ARENA_ARRAY(&b.arena, double, weight_count);
    for (size_t i = 0; i < weight_count; i++)
        b.driver_weights[i] = 0;
    b.nodes = ARENA_ARRAY(&b.arena, struct xform, node_count);
    if (roots) {
        b.roots = roots_pose_take(m, &b.arena);
        b.fading = pose_take(m, &b.arena);
        b.sensed = pose_take(m, &b.arena);
    }
    for (size_t i = 0; i < MODEL_ROOTS_MAX; i++)
        root_motion_start(&b.motions[i]);
    if (springs) b.springs = springs_take(m, &b.arena);
    if (extras) b.extras = extras_take(m, arena_take(&b.arena, 2 * state_bytes));
    if (extras) b.extras.spent_ns = ARENA_ARRAY(&b.arena, _Atomic uint64_t, m->extras_count);
    for (size_t i = 0; extras && i < m->extras_count; i++)
        atomic_init(&b.extras.spent_ns[i], 0);
    b.extras.clock_ns = extras ? options->clock_ns : NULL;
    body_plugins_open(&b);
    b.blocks = ARENA_ARRAY(&b.arena, struct surface_block, m->blocks_count);
    b.scratch_mark = arena_mark(&b.arena);
    b.state.clip = MODEL_NONE;
    b.state.scale = 1;
    *out = b;
    return ERR_OK;
}

void body_destroy(struct body *b)
{
    body_plugins_close(b);
    arena_destroy(&b->arena);
    *b = (struct body){0};
}

static void lay_joints(const struct body_state *s, struct pose pose)
{
    for (uint32_t i = 0; i < s->joint_count; i++) {
        const struct body_joint *j = &s->joints[i];
        struct trs *local = &pose.locals[j->node];
        if (j->fields & POSE_ROTATION) local->rotation = j->local.rotation;
        if (j->fields & POSE_TRANSLATION) local->translation = j->local.translation;
        if (j->fields & POSE_SCALE) local->scale = j->local.scale;
    }
}

static bool swings_at_all(const struct body *b)
{
    return b->extras.model || b->springs.model;
}

static bool roots_move(const struct body *b)
{
    for (size_t i = 0; b->rooted && i < b->options.model->roots_count; i++)
        if (root_motion_is_moving(&b->motions[i])) return true;
    return false;
}

// Sensors are attached, and no POSE stands.
static bool body_senses(const struct body *b)
{
    return b->sensors.live && !b->state.posed;
}

// Sensors drive some of the roots; the others go on with the character's own motion.
static bool senses_by_root(const struct body *b)
{
    for (size_t r = 0; r < b->options.model->roots_count; r++)
        if (b->options.model->roots[r].sensed) return true;
    return false;
}

// Every root's pose from the character's own motion, the sensors' and what it was given, and what
// drivers read.
static void pose_roots(struct body *b, double age_s)
{
    bool senses = body_senses(b) && senses_by_root(b);
    const struct model *m = b->options.model;
    double dt_s = age_s - b->roots_age_s;
    for (size_t r = 0; r < m->roots_count; r++) {
        struct root_motion *motion = &b->motions[r];
        root_motion_advance(motion, dt_s);
        pose_copy(m, senses && m->roots[r].sensed ? b->sensed : b->pose, b->roots.poses[r]);
        root_motion_sample(&b->roots.mirror, motion, b->roots.poses[r], b->fading);
        b->roots.gains[r] = roots_eased_value(&motion->weight);
    }
    roots_settle(m, &b->roots, b->pose);
}

// Springs turn joints of the merged pose: every root's turn with them.
static void turn_roots(struct body *b)
{
    const struct model *m = b->options.model;
    for (size_t i = 0; i < m->spring_joints_count; i++)
        for (size_t r = 0; r < m->roots_count; r++) {
            uint32_t node = m->spring_joints[i].node;
            b->roots.poses[r].locals[node].rotation = b->pose.locals[node].rotation;
        }
}

static bool is_at(double here, float told)
{
    return fabs((double)(float)here - (double)told) == 0;
}

// PLACE sets where it stands; else it goes on from where it went.
static void advance_motion(struct body *b, double age_s, bool news)
{
    struct body_state *s = &b->state;
    struct locomotion *l = &b->motion.way;
    double scale = fmax((double)s->scale, 1e-9);
    if (!is_at(l->position[0], s->position[0]) || !is_at(l->position[1], s->position[2]) ||
        !is_at(motion_height(&b->motion, scale), s->position[1]) || !is_at(l->yaw, s->yaw_rad) ||
        !b->motion.started)
        motion_place(&b->motion, b->options.model, s->position, s->yaw_rad, scale);
    motion_advance(&b->motion, b->options.model, &b->control, news, age_s, scale);
    s->position[0] = (float)l->position[0];
    s->position[1] = (float)motion_height(&b->motion, scale);
    s->position[2] = (float)l->position[1];
    s->yaw_rad = (float)l->yaw;
    pose_copy(b->options.model, b->motion.shown, b->pose);
}

// What shows while control does not drive.
static void told_pose(struct body *b, int32_t clip, double time_s)
{
    const struct model *m = b->options.model;
    const struct body_state *s = &b->state;
    pose_rest(m, b->pose);
    if (clip != MODEL_NONE)
        clip_sample(m, (uint32_t)clip, time_s, s->posed ? (struct clip_cursor){0} : b->cursor,
                    b->pose);
    if (s->posed) lay_joints(s, b->pose);
}

static double told_time(const struct body *b, int32_t clip, double at_s)
{
    if (b->state.posed) return (double)b->state.time_s;
    return clip == MODEL_NONE ? 0 : clip_time(&b->options.model->clips[clip], at_s);
}

// The gaze that a client steers: as far aside as its stick goes.
static void look(struct body *b)
{
    const float *to = b->control.look;
    b->face.looks = to[0] != 0 || to[1] != 0;
    b->face.yaw = -90 * (double)to[0];
    b->face.pitch = -90 * (double)to[1];
}

static void sense(struct body *b, double at_s)
{
    bool by_root = senses_by_root(b);
    body_sensors_pose(&b->sensors, b->options.puppet, b->options.model, at_s,
                      (double)b->state.scale, by_root ? b->sensed : b->pose);
    b->rooted = b->rooted || by_root;
}

// The pose at one instant of the tick at `tick_s`, and what swings.
static void pose_at(struct body *b, double at_s, double tick_s, bool keep)
{
    const struct model *m = b->options.model;
    const struct body_state *s = &b->state;
    int32_t clip = s->posed ? s->clip : b->options.default_clip;
    bool drives = b->control.live;
    if (!drives || !b->motion.started) told_pose(b, clip, told_time(b, clip, at_s));
    if (drives && !b->motion.started) pose_copy(m, b->pose, b->motion.shown);
    if (drives) {
        double dt_s = at_s - b->motion.age_s;
        advance_motion(b, at_s, at_s >= tick_s);
        b->state.posed = false; // the newest drives; a POSE takes over again
        body_carry(b, dt_s);
    } else {
        body_carry_to(b, tick_s - at_s);
    }
    if (body_senses(b)) sense(b, at_s);
    look(b);
    if (body_senses(b))
        b->face.looks |= body_sensors_look(&b->sensors, &b->face.yaw, &b->face.pitch);
    face_state_weights(&b->face, b->pose, at_s - b->face_age_s, b->faceless);
    b->face_age_s = at_s;
    if (b->rooted) pose_roots(b, at_s);
    b->roots_age_s = at_s;
    face_state_bones(&b->face, b->pose.locals);
    for (size_t r = 0; b->rooted && r < m->roots_count; r++)
        customise_lay(&b->face.customise, b->roots.poses[r].locals);
    if (b->springs.model) body_swing_springs(b, at_s);
    if (b->rooted && b->springs.model) turn_roots(b);
    if (b->extras.model) body_swing_extras(b, at_s, keep);
    b->posed_age_s = at_s;
}

bool body_pose(struct body *b, double age_s)
{
    const struct model *m = b->options.model;
    const struct body_state *s = &b->state;
    int32_t clip = s->posed ? s->clip : b->options.default_clip;
    double time_s = told_time(b, clip, age_s), at_s;
    bool same = b->shown_change == b->change && b->shown_time_s == time_s;
    bool swings = b->extras.moving || b->springs.moving || roots_move(b) ||
                  b->face.customise.moving || (swings_at_all(b) && body_is_carried(b));
    bool drives = b->control.live, senses = body_senses(b), whole = true;
    if (b->surface && same && !swings && !drives && !senses) {
        b->posed_age_s = b->extras_age_s = b->roots_age_s = b->face_age_s = age_s;
        b->way.slope_s = b->way.dt_s = 0;
        if (b->springs.model) springs_wait(&b->springs, age_s);
        return b->stale;
    }
    // A pose that was told, by POSE or sensors, holds since then; where it was before nobody knows.
    bool between = (drives || !s->posed) && !senses && (m->extras_count || m->spring_joints_count);
    if (between) age_s = body_nearest_instant(age_s, &whole);
    if (!drives) body_carry(b, age_s - b->posed_age_s);
    for (bool first = b->shown_change == 0; between && !first;) {
        if (!body_next_instant(b->posed_age_s, age_s, &at_s)) break;
        pose_at(b, at_s, age_s, true);
    }
    pose_at(b, age_s, age_s, whole);
    b->shown_change = b->change;
    b->shown_time_s = time_s;
    b->stale = true;
    return true;
}

void body_begin(struct body *b)
{
    struct surface_job job = {.model = b->options.model,
                              .map = b->options.map,
                              .correct = b->options.correct,
                              .extras = b->extras.model ? &b->extras : NULL,
                              .driver_weights =
                                  b->options.without_correctives ? NULL : b->driver_weights,
                              .customise = &b->face.customise,
                              .pose = b->pose,
                              .roots = b->rooted ? &b->roots : NULL,
                              .skinning = b->options.skinning,
                              .level = b->options.level,
                              .out = b->blocks};
    arena_rewind(&b->arena, b->scratch_mark);
    b->frame = surface_begin(&job, &b->arena);
    b->refused += b->frame.pose_refused;
    b->surface++;
    b->stale = false;
}

bool body_has_memory(const struct body *b)
{
    return swings_at_all(b) || b->rooted || b->control.live || b->sensors.live ||
           b->face.customise.moving;
}

bool body_has_face(const struct body *b)
{
    return b->frame.face.any;
}

void body_face(struct body *b, size_t part, size_t part_count)
{
    surface_face(&b->frame, part, part_count);
}

void body_turn(struct body *b, size_t part, size_t part_count)
{
    surface_turn(&b->frame, part, part_count);
}

void body_skin(struct body *b, size_t part, size_t part_count)
{
    surface_skin(&b->frame, part, part_count);
}

bool body_has_correctives(const struct body *b)
{
    return b->frame.job.correct && !b->frame.correct.still;
}

void body_keep(struct body *b, size_t part, size_t part_count)
{
    surface_keep(&b->frame, part, part_count);
}

void body_extras(struct body *b, size_t part, size_t part_count)
{
    surface_extras(&b->frame, part, part_count);
}

void body_correct(struct body *b, size_t part, size_t part_count)
{
    surface_correct(&b->frame, part, part_count);
}

void body_settle(struct body *b, size_t part, size_t part_count)
{
    surface_settle(&b->frame, part, part_count);
}

void body_run(struct body *b)
{
    body_begin(b);
    if (body_has_face(b)) {
        body_face(b, 0, 1);
        body_turn(b, 0, 1);
    }
    body_skin(b, 0, 1);
    if (body_has_correctives(b)) {
        body_keep(b, 0, 1);
        body_extras(b, 0, 1);
        body_correct(b, 0, 1);
        body_settle(b, 0, 1);
    }
}

void body_placement(const struct body *b, float translation[3], float rotation[4], float *scale)
{
    double half = (double)b->state.yaw_rad / 2;
    memcpy(translation, b->state.position, 3 * sizeof *translation);
    rotation[0] = rotation[2] = 0;
    rotation[1] = (float)sin(half);
    rotation[3] = (float)cos(half);
    *scale = b->state.scale;
}
