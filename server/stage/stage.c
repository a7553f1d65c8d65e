#include "server/stage/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/character/input/recipe.h"
#include "server/stage/stage_own.h"

enum { SEAT_SCRATCH_BYTES = 256 * 1024 };

static void default_limit(uint32_t *limit, uint32_t value)
{
    if (*limit == 0) *limit = value;
}

// Lists of a tick: every actor at every quality and detail at once, whatever comes.
static bool take_lists(struct stage *s)
{
    size_t actors = s->options.limits.actors_max, seats = s->options.worker_count + 1;
    size_t pairs = actors * CODER_QUALITIES;
    s->lists.items = calloc(actors, sizeof *s->lists.items);
    s->lists.pairs = calloc(pairs, sizeof *s->lists.pairs);
    s->lists.jobs = calloc(pairs * SURFACE_LODS_MAX, sizeof *s->lists.jobs);
    s->lists.boxes = calloc(pairs + 64 * seats, sizeof *s->lists.boxes);
    s->near = calloc(s->options.limits.actors_per_scene_max, sizeof *s->near);
    return s->lists.items && s->lists.pairs && s->lists.jobs && s->lists.boxes && s->near;
}

enum err stage_create(const struct stage_options *options, struct stage **out, struct fault *fault)
{
    struct stage *s = calloc(1, sizeof *s);
    if (!s) return fault_set(fault, ERR_MEMORY, "no memory for the stage");
    s->options = *options;
    struct stage_limits *l = &s->options.limits;
    default_limit(&l->scenes_max, 256);
    default_limit(&l->actors_max, 256);
    default_limit(&l->actors_per_scene_max, 64);
    default_limit(&l->views_max, 1024);
    enum err e = workers_create(options->worker_count, SEAT_SCRATCH_BYTES, &s->workers);
    if (e == ERR_OK && (!take_lists(s) || !slots_create(&s->actors, l->actors_max))) e = ERR_MEMORY;
    if (e != ERR_OK) {
        stage_destroy(s);
        return fault_set(fault, e, "the stage cannot start: %s", err_text(e));
    }
    *out = s;
    return ERR_OK;
}

static void actor_leave(struct actor *a);

void stage_destroy(struct stage *s)
{
    if (!s) return;
    CHECK(s->views == NULL);
    for (size_t i = 0; s->actors.slots && i < s->actors.capacity; i++)
        if (slots_at(&s->actors, i)) actor_leave(slots_at(&s->actors, i));
    CHECK(s->scenes == NULL);
    for (size_t i = 0; s->workers && i < workers_seat_count(s->workers); i++)
        surface_packer_destroy(workers_own(s->workers, i));
    workers_destroy(s->workers);
    cast_clear(&s->cast);
    slots_free(&s->actors);
    free(s->lists.items);
    free(s->lists.pairs);
    free(s->lists.jobs);
    free(s->lists.boxes);
    free(s->near);
    free(s);
}

struct cast *stage_cast(struct stage *s)
{
    return &s->cast;
}

struct workers *stage_workers(struct stage *s)
{
    return s->workers;
}

// Every seat needs a packer that can take the largest surface.
static enum err grow_packers(struct stage *s, size_t vertices)
{
    if (vertices <= s->packer_vertices) return ERR_OK;
    for (size_t i = 0; i < workers_seat_count(s->workers); i++) {
        struct surface_packer *larger;
        enum err e = surface_packer_create(vertices, &larger);
        if (e != ERR_OK) return e; // the seats before have larger ones already: no harm
        surface_packer_destroy(workers_own(s->workers, i));
        workers_set_own(s->workers, i, larger);
    }
    s->packer_vertices = vertices;
    return ERR_OK;
}

// ---- scenes -------------------------------------------------------------------------------

static enum err scene_enter(struct stage *s, const char *name, struct scene **out,
                            struct fault *fault)
{
    if (name && strlen(name) >= SESSION_NAME_MAX)
        return fault_set(fault, ERR_LIMIT, "a scene's name has at most %d bytes",
                         SESSION_NAME_MAX - 1);
    for (struct scene *at = s->scenes; name && name[0] && at; at = at->next)
        if (strcmp(at->name, name) == 0) {
            *out = at;
            return ERR_OK;
        }
    if (s->scene_count >= s->options.limits.scenes_max)
        return fault_set(fault, ERR_LIMIT, "there are %u scenes already", s->scene_count);
    struct scene *scene = calloc(1, sizeof *scene);
    struct actor **actors = calloc(s->options.limits.actors_per_scene_max, sizeof(struct actor *));
    if (!scene || !actors) {
        free(scene);
        free(actors);
        return fault_set(fault, ERR_MEMORY, "no memory for a scene");
    }
    if (name) memcpy(scene->name, name, strlen(name) + 1);
    scene->actors = actors;
    scene->number = ++s->next_scene;
    scene->next = s->scenes;
    s->scenes = scene;
    s->scene_count++;
    *out = scene;
    return ERR_OK;
}

static void scene_close_if_empty(struct stage *s, struct scene *scene)
{
    if (scene->actor_count > 0 || scene->view_count > 0) return;
    struct scene **at = &s->scenes;
    while (*at != scene)
        at = &(*at)->next;
    *at = scene->next;
    s->scene_count--;
    free(scene->actors);
    free(scene);
}

// ---- actors -------------------------------------------------------------------------------

enum err actor_watch(struct actor *a, size_t quality)
{
    bool raw = quality == CODER_QUALITIES - 1, made = a->coders[quality] == NULL;
    uint8_t bits = raw ? 0 : (uint8_t)(SURFACE_BITS_MIN + quality);
    enum err e = made ? coder_create(a->role, bits, raw, &a->coders[quality]) : ERR_OK;
    if (e != ERR_OK) return e;
    struct coder *c = a->coders[quality];
    e = coder_reserve(c, c->viewers + 1);
    if (e == ERR_OK)
        c->viewers++;
    else if (made) {
        coder_destroy(c);
        a->coders[quality] = NULL;
    }
    return e;
}

void actor_unwatch(struct actor *a, size_t quality)
{
    struct coder *c = a->coders[quality];
    CHECK(c && c->viewers > 0);
    if (--c->viewers > 0) return;
    coder_destroy(c);
    a->coders[quality] = NULL;
}

static struct body_options body_options_for(const struct stage *s, const struct role *r)
{
    return (struct body_options){.model = r->model,
                                 .map = &r->map,
                                 .correct = &r->correct,
                                 .puppet = &r->puppet,
                                 .default_clip = r->default_clip,
                                 .skinning = (enum model_skinning)r->model->info->skinning,
                                 .level = s->options.level,
                                 .plugins = s->options.plugins,
                                 .clock_ns = s->options.clock_ns};
}

// Views of the scene get memory to watch the newcomer; all of them or none.
static enum err watch_by_all(struct actor *a)
{
    for (struct view *v = a->stage->views; v; v = v->next) {
        if (v->scene != a->scene) continue;
        enum err e = actor_watch(a, view_quality(&v->settings));
        if (e == ERR_OK) continue;
        for (struct view *u = a->stage->views; u != v; u = u->next)
            if (u->scene == a->scene) actor_unwatch(a, view_quality(&u->settings));
        return e;
    }
    return ERR_OK;
}

// Where the n-th newcomer of a shared scene stands: on a spiral, an arm's length apart.
static void free_spot(const struct scene *scene, const struct role *r, float out[3])
{
    const struct model_info *info = r->model->info;
    float width = fmaxf(info->box_max[0] - info->box_min[0], info->box_max[2] - info->box_min[2]);
    memset(out, 0, 3 * sizeof *out);
    if (!scene->name[0] || !(width > 0)) return;
    for (int n = 0; n < 256; n++) {
        float radius = width * 1.2f * sqrtf((float)n), angle = 2.39996f * (float)n;
        float x = radius * cosf(angle), z = -radius * sinf(angle), nearest = INFINITY;
        for (size_t i = 0; i < scene->actor_count; i++) {
            const struct actor *a = scene->actors[i];
            float scale = a->role->model->info->unit_m / info->unit_m;
            nearest = fminf(nearest, hypotf(a->body.state.position[0] * scale - x,
                                            a->body.state.position[2] * scale - z));
        }
        out[0] = x;
        out[2] = z;
        if (nearest >= width) return;
    }
}

static enum err actor_enter(struct stage *s, struct scene *scene, struct role *role,
                            struct actor **out, struct fault *fault)
{
    if (scene->actor_count >= s->options.limits.actors_per_scene_max)
        return fault_set(fault, ERR_LIMIT, "the scene is full: %zu characters", scene->actor_count);
    if (s->actors.used >= s->options.limits.actors_max)
        return fault_set(fault, ERR_LIMIT, "the server is full: %zu characters", s->actors.used);
    struct actor *a = calloc(1, sizeof *a);
    if (!a) return fault_set(fault, ERR_MEMORY, "no memory for a character");
    struct body_options options = body_options_for(s, role);
    enum err e = body_create(&options, &a->body);
    a->stage = s;
    a->scene = scene;
    a->role = role;
    if (e == ERR_OK) e = watch_by_all(a);
    if (e != ERR_OK) {
        body_destroy(&a->body);
        free(a);
        return fault_set(fault, e, "no memory for a character");
    }
    role_ref(role);
    a->number = ++s->next_actor;
    a->first_tick = s->ticked ? s->tick + 1 : 0;
    a->id = slots_add(&s->actors, a);
    CHECK(a->id != 0);
    free_spot(scene, role, a->body.state.position);
    scene->actors[scene->actor_count++] = a;
    *out = a;
    return ERR_OK;
}

static void actor_leave(struct actor *a)
{
    struct stage *s = a->stage;
    struct scene *scene = a->scene;
    for (struct view *v = s->views; v; v = v->next)
        if (v->scene == scene) view_forget(v, a);
    for (size_t q = 0; q < CODER_QUALITIES; q++)
        coder_destroy(a->coders[q]);
    size_t at = 0;
    while (scene->actors[at] != a)
        at++;
    memmove(&scene->actors[at], &scene->actors[at + 1],
            (scene->actor_count - at - 1) * sizeof(struct actor *));
    scene->actor_count--;
    CHECK(slots_remove(&s->actors, a->id) == a);
    body_destroy(&a->body);
    role_unref(a->role);
    free(a);
    scene_close_if_empty(s, scene);
}

// ---- a new version of a character ---------------------------------------------------------

struct change { // what an actor will be made of
    struct actor *actor;
    struct body body;
    struct coder *coders[CODER_QUALITIES];
};

static void drop_change(struct change *c)
{
    for (size_t q = 0; q < CODER_QUALITIES; q++)
        coder_destroy(c->coders[q]);
    body_destroy(&c->body);
}

static enum err prepare_change(struct stage *s, struct role *role, struct change *c)
{
    struct body_options options = body_options_for(s, role);
    enum err e = body_create(&options, &c->body);
    if (c->actor->role->version == role->version) return e; // its coders go on
    for (size_t q = 0; e == ERR_OK && q < CODER_QUALITIES; q++) {
        const struct coder *old = c->actor->coders[q];
        if (!old) continue;
        e = coder_create(role, old->bits, old->raw, &c->coders[q]);
        if (e == ERR_OK) e = coder_reserve(c->coders[q], old->viewers);
        if (e == ERR_OK) c->coders[q]->viewers = old->viewers;
    }
    return e;
}

static void make_change(struct stage *s, struct role *role, struct change *c)
{
    struct actor *a = c->actor;
    body_inherit(&c->body, &a->body);
    body_destroy(&a->body);
    a->body = c->body;
    bool follow = a->role->version == role->version;
    for (size_t q = 0; follow && q < CODER_QUALITIES; q++)
        if (a->coders[q]) coder_follow(a->coders[q], role);
    for (size_t q = 0; !follow && q < CODER_QUALITIES; q++) {
        uint32_t frames[SURFACE_LODS_MAX] = {0}; // numbers go on: they never repeat for an actor
        for (int i = 0; a->coders[q] && i < SURFACE_LODS_MAX; i++)
            frames[i] = a->coders[q]->lines[i].frame;
        coder_destroy(a->coders[q]);
        a->coders[q] = c->coders[q];
        for (int i = 0; a->coders[q] && i < SURFACE_LODS_MAX; i++)
            a->coders[q]->lines[i].frame = frames[i];
    }
    role_unref(a->role);
    a->role = role_ref(role);
    for (struct view *v = s->views; v && !follow; v = v->next)
        if (v->scene == a->scene) view_actor_changed(v, a);
}

enum err stage_serve(struct stage *s, struct role *role)
{
    size_t count = 0;
    struct change *changes = calloc(s->actors.used + 1, sizeof *changes);
    enum err e = changes ? grow_packers(s, role->details[0].vertex_count) : ERR_MEMORY;
    const struct role *stands = s->cast.entries[role->number - 1].role;
    if (e == ERR_OK && stands && stands->version > role->version) e = ERR_STALE;
    for (size_t i = 0; e == ERR_OK && i < s->actors.capacity; i++) {
        struct actor *a = slots_at(&s->actors, i);
        if (!a || a->role->number != role->number || a->private_role) continue;
        changes[count].actor = a;
        e = prepare_change(s, role, &changes[count++]);
    }
    for (size_t i = 0; i < count; i++) {
        if (e == ERR_OK)
            make_change(s, role, &changes[i]);
        else
            drop_change(&changes[i]);
    }
    free(changes);
    if (e == ERR_OK) return cast_put(&s->cast, role);
    role_unref(role);
    return e;
}

enum err stage_show(struct stage *s, uint64_t id, struct role *role)
{
    struct actor *a = slots_find(&s->actors, id);
    if (!a) return ERR_NOT_FOUND;
    bool is_private = role != NULL;
    if (!role) role = s->cast.entries[a->role->number - 1].role;
    if (!role) { // retired in the meantime: what is shown stays
        a->private_role = false;
        return ERR_OK;
    }
    CHECK(role->number == a->role->number);
    struct change change = {.actor = a};
    enum err e = a->role == role ? ERR_OK : grow_packers(s, role->details[0].vertex_count);
    if (e == ERR_OK && a->role != role) {
        e = prepare_change(s, role, &change);
        if (e == ERR_OK)
            make_change(s, role, &change);
        else
            drop_change(&change);
    }
    if (e == ERR_OK) a->private_role = is_private;
    return e;
}

// ---- sessions -----------------------------------------------------------------------------

static void unlink_view(struct view *v)
{
    struct stage *s = v->stage;
    if (v->before)
        v->before->next = v->next;
    else
        s->views = v->next;
    if (v->next) v->next->before = v->before;
    s->view_count--;
    v->scene->view_count--;
}

static enum err watch_all(struct view *v)
{
    for (size_t i = 0; i < v->scene->actor_count; i++) {
        enum err e = actor_watch(v->scene->actors[i], view_quality(&v->settings));
        if (e == ERR_OK) continue;
        while (i-- > 0)
            actor_unwatch(v->scene->actors[i], view_quality(&v->settings));
        return e;
    }
    return ERR_OK;
}

// Links the view into its scene and gives it an actor of its own when it wants one.
static enum err enter(struct view *v, struct role *role, const char *name, struct fault *fault)
{
    struct stage *s = v->stage;
    enum err e = watch_all(v);
    if (e != ERR_OK) return fault_set(fault, e, "no memory for a session");
    v->next = s->views;
    if (v->next) v->next->before = v;
    s->views = v;
    s->view_count++;
    v->scene->view_count++;
    if (!role) return ERR_OK;
    e = actor_enter(s, v->scene, role, &v->own, fault); // watched by this view too
    if (e == ERR_OK) {
        v->own->controller = v;
        (void)snprintf(v->own->name, sizeof v->own->name, "%s", name ? name : "");
        return ERR_OK;
    }
    unlink_view(v);
    for (size_t i = 0; i < v->scene->actor_count; i++)
        actor_unwatch(v->scene->actors[i], view_quality(&v->settings));
    return e;
}

enum err stage_join(struct stage *s, const struct stage_join *join, struct view **out,
                    struct fault *fault)
{
    struct role *role = NULL;
    struct scene *scene;
    enum err e = ERR_OK;
    if (join->controls) e = cast_find(&s->cast, join->character, &role, fault);
    if (e != ERR_OK) return e;
    if (s->view_count >= s->options.limits.views_max)
        return fault_set(fault, ERR_LIMIT, "the server is full: %u sessions", s->view_count);
    struct view *v = calloc(1, sizeof *v);
    if (!v) return fault_set(fault, ERR_MEMORY, "no memory for a session");
    e = scene_enter(s, join->scene, &scene, fault);
    if (e != ERR_OK) {
        free(v);
        return e;
    }
    *v = (struct view){.stage = s,
                       .scene = scene,
                       .settings = join->settings,
                       .first_tick = s->ticked ? s->tick + 1 : 0};
    e = enter(v, role, join->name, fault);
    if (e != ERR_OK) {
        free(v);
        scene_close_if_empty(s, scene);
        return e;
    }
    view_refresh(v);
    *out = v;
    return ERR_OK;
}

void stage_leave(struct stage *s, struct view *v)
{
    if (!v) return;
    CHECK(v->stage == s);
    struct scene *scene = v->scene;
    unlink_view(v);
    for (size_t i = 0; i < scene->actor_count; i++)
        actor_unwatch(scene->actors[i], view_quality(&v->settings));
    struct actor *own = v->own;
    free(v);
    if (own)
        actor_leave(own); // closes the scene too when it was the last
    else
        scene_close_if_empty(s, scene);
}

enum err stage_add_ambient(struct stage *s, const char *scene_name, const char *character,
                           const float position[3], uint64_t *id, struct fault *fault)
{
    struct role *role;
    struct scene *scene;
    struct actor *a;
    enum err e = cast_find(&s->cast, character, &role, fault);
    if (e == ERR_OK) e = scene_enter(s, scene_name, &scene, fault);
    if (e != ERR_OK) return e;
    e = actor_enter(s, scene, role, &a, fault);
    if (e != ERR_OK) {
        scene_close_if_empty(s, scene);
        return e;
    }
    if (position) memcpy(a->body.state.position, position, sizeof a->body.state.position);
    *id = a->id;
    return ERR_OK;
}

void stage_remove_ambient(struct stage *s, uint64_t id)
{
    struct actor *a = slots_find(&s->actors, id);
    if (a && !a->controller) actor_leave(a);
}

// ---- inputs -------------------------------------------------------------------------------

enum err stage_input(struct stage *s, uint64_t id, uint8_t type, const uint8_t *payload,
                     size_t size_bytes, struct fault *fault)
{
    struct input_head head;
    struct actor *a = slots_find(&s->actors, id);
    if (!a) return fault_set(fault, ERR_NOT_FOUND, "this session controls no character");
    enum err e = input_decode_head(payload, size_bytes, &head);
    if (e != ERR_OK) return fault_set(fault, e, "%s", err_text(e));
    if (head.sequence <= a->sequence_newest)
        return fault_set(fault, ERR_STALE, "input %u came after %u", head.sequence,
                         a->sequence_newest);
    a->sequence_newest = head.sequence;
    uint64_t pressed = a->body.control.pressed;
    e = input_apply(&s->desk, &a->body, type, payload, size_bytes, fault);
    if (e != ERR_OK) return e;
    s->counts.inputs++;
    s->counts.presses += a->body.control.pressed - pressed;
    // More between two ticks than anybody sends: the newest is logged in the last one's place.
    if (a->pending_count == PENDING_MAX) a->pending_count--;
    a->pending[a->pending_count++] = head.sequence;
    return ERR_OK;
}

enum err stage_recipe(struct stage *s, uint64_t id, const char *text, size_t size_bytes,
                      struct fault *fault)
{
    struct actor *a = slots_find(&s->actors, id);
    if (!a) return fault_set(fault, ERR_NOT_FOUND, "this session controls no character");
    enum err e = recipe_apply(text, size_bytes, a->role->name, &a->body.face.customise, fault);
    if (e == ERR_OK) a->body.change++;
    return e;
}

size_t stage_applied(struct stage *s, uint64_t id, struct session_applied_entry *out,
                     size_t capacity)
{
    struct actor *a = slots_find(&s->actors, id);
    size_t count = 0;
    if (!a) return 0;
    if (a->applied_written - a->applied_read > APPLIED_MAX)
        a->applied_read = a->applied_written - APPLIED_MAX; // nobody asked for long
    while (count < capacity && count < SESSION_APPLIED_MAX && a->applied_read < a->applied_written)
        out[count++] = a->applied[a->applied_read++ % APPLIED_MAX];
    return count;
}

// ---- what there is ------------------------------------------------------------------------

void stage_snapshot(const struct stage *s, struct stage_snapshot *out)
{
    *out = s->counts;
    out->scenes = s->scene_count;
    out->actors = (uint32_t)s->actors.used;
    out->views = s->view_count;
    out->roles = 0;
    for (size_t i = 0; i < s->cast.count; i++)
        out->roles += s->cast.entries[i].role != NULL;
    if (!s->options.plugins) return;
    struct plugin_counts counts;
    plugin_host_counts(s->options.plugins, &counts);
    out->plugins = counts.open;
    out->plugins_off = counts.off;
    out->plugin_steps = counts.steps;
    out->plugin_ns = counts.spent_ns;
    out->plugin_overruns = counts.overruns;
    out->plugin_skipped = counts.skipped;
    out->plugin_faults = counts.faults;
    out->plugin_deaths = counts.deaths;
}

bool stage_scene_at(const struct stage *s, size_t index, struct stage_scene_info *out)
{
    const struct scene *scene = s->scenes;
    while (scene && index-- > 0)
        scene = scene->next;
    if (!scene) return false;
    *out = (struct stage_scene_info){.number = scene->number,
                                     .name = scene->name,
                                     .actors = (uint32_t)scene->actor_count,
                                     .views = (uint32_t)scene->view_count};
    return true;
}
