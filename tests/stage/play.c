#include "tests/stage/play.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/messages.h"
#include "proto/pose_message.h"
#include "server/bake/bake.h"
#include "server/bake/compile.h"
#include "server/bake/import.h"
#include "tests/support/sample.h"

static struct model_file *files[2];

static struct model_file *make_sample(void)
{
    size_t text_bytes, size = 0;
    char *text = sample_gltf(&text_bytes);
    struct import_limits limits = import_limits_default();
    struct compile_settings settings = {.source_name = "sample.gltf"};
    struct scene scene = {0};
    struct fault fault = {0};
    uint8_t *bytes = NULL;
    struct model_file *file = NULL;
    enum err e = import_bytes((const uint8_t *)text, text_bytes, NULL, &limits, &scene, &fault);
    if (e == ERR_OK) e = compile_scene(&scene, &settings, &bytes, &size, &fault);
    if (e == ERR_OK) e = model_file_from_bytes(bytes, size, &file, &fault);
    if (e != ERR_OK) printf("  %s\n", fault.line);
    scene_free(&scene);
    free(text);
    free(bytes);
    return file;
}

static struct model_file *make_pup(void)
{
    struct bake_result baked = {0};
    struct fault fault = {0};
    struct model_file *file = NULL;
    enum err e = bake_run("tests/assets/characters/pup.glb", NULL, &baked, &fault);
    if (e == ERR_OK) e = model_file_from_bytes(baked.bytes, baked.size_bytes, &file, &fault);
    if (e != ERR_OK) printf("  %s\n", fault.line);
    bake_free(&baked);
    return file;
}

struct model_file *play_model_file(enum play_model model)
{
    if (!files[model]) files[model] = model == PLAY_PUP ? make_pup() : make_sample();
    return files[model];
}

void play_forget_models(void)
{
    for (int i = 0; i < 2; i++) {
        model_file_unref(files[i]);
        files[i] = NULL;
    }
}

bool play_serve(struct play *p, const char *name, enum play_model model)
{
    struct role_options options = {.name = name, .level = simd_best()};
    struct fault fault = {0};
    struct role *role;
    struct model_file *file = play_model_file(model);
    if (!file) return false;
    enum err e =
        cast_reserve(stage_cast(p->stage), name, &options.number, &options.version, &fault);
    if (e == ERR_OK) e = role_build(file, &options, &role, &fault);
    if (e == ERR_OK) e = stage_serve(p->stage, role);
    if (e != ERR_OK) printf("  %s: %s\n", err_name(e), fault.line);
    return e == ERR_OK;
}

bool play_open(struct play *p, uint32_t workers, enum play_model model,
               const struct stage_limits *limits)
{
    struct stage_options options = {.tick_hz = 60, .worker_count = workers, .level = simd_best()};
    struct fault fault = {0};
    if (limits) options.limits = *limits;
    *p = (struct play){.now_ns = 1000};
    if (stage_create(&options, &p->stage, &fault) != ERR_OK) {
        printf("  %s\n", fault.line);
        return false;
    }
    ticker_init(&p->ticker, 60, p->now_ns);
    return play_serve(p, model == PLAY_PUP ? "pup" : "sample", model);
}

void play_close(struct play *p)
{
    stage_destroy(p->stage);
    p->stage = NULL;
}

void play_tick(struct play *p)
{
    struct ticker_tick tick;
    p->now_ns += ticker_wait_ns(&p->ticker, p->now_ns);
    CHECK(ticker_due(&p->ticker, p->now_ns, &tick));
    stage_tick(p->stage, &tick);
    ticker_done(&p->ticker, &tick, p->now_ns, p->now_ns, 0);
}

void play_halt(struct play *p, uint32_t ticks)
{
    p->now_ns += ticker_wait_ns(&p->ticker, p->now_ns) + UINT64_C(1000000000) * ticks / 60 + 1000;
    play_tick(p);
}

static void forget_actor(struct player_actor *a)
{
    for (int i = 0; i < SURFACE_LODS_MAX; i++) {
        free(a->lods[i].vertices);
        free(a->lods[i].predictors);
        free(a->lods[i].memory);
        free(a->lods[i].rows);
    }
    free(a->raw);
    *a = (struct player_actor){0};
}

static void *unpack(const struct surface_message *m, enum surface_section_kind kind, uint32_t lod)
{
    const struct surface_section *s = surface_message_find(m, kind, lod, 0);
    CHECK(s);
    void *out = malloc(s->unpacked_bytes + 16);
    CHECK(out);
    CHECK(surface_message_unpack(m, s, out) == ERR_OK);
    return out;
}

static void learn_surface(struct player_actor *a, const struct role *role)
{
    struct surface_message m;
    uint32_t number = a->number;
    forget_actor(a);
    a->number = number;
    CHECK(surface_message_decode(role->surface, role->surface_bytes, &m) == ERR_OK);
    a->model = m.model;
    a->version = m.version;
    a->lod_count = m.lod_count;
    for (uint32_t i = 0; i < m.lod_count; i++) {
        struct player_lod *lod = &a->lods[i];
        lod->vertex_count = m.lods[i].vertex_count;
        lod->vertices = unpack(&m, SURFACE_VERTICES, i);
        lod->predictors = unpack(&m, SURFACE_PREDICTORS, i);
        free(unpack(&m, SURFACE_INDICES, i)); // checked on the way
        free(unpack(&m, SURFACE_PARTS, i));
        size_t anchors_bytes = surface_anchors_bytes(lod->vertex_count);
        lod->memory = aligned_alloc(64, (anchors_bytes + 63) / 64 * 64);
        lod->rows =
            aligned_alloc(64, (lod->vertex_count * sizeof(struct surface_row) + 63) / 64 * 64);
        CHECK(lod->memory && lod->rows);
        surface_anchors_init(&lod->anchors, lod->memory, lod->vertex_count);
    }
    a->raw = calloc(a->lods[0].vertex_count, SURFACE_RAW_VERTEX_BYTES);
    CHECK(a->raw);
}

static struct player_actor *find_actor(struct player *p, uint32_t number)
{
    for (int i = 0; i < PLAYER_ACTORS_MAX; i++)
        if (p->actors[i].number == number) return &p->actors[i];
    return NULL;
}

void player_take_events(struct player *p)
{
    struct view_event event;
    while (view_next_event(p->view, &event)) {
        struct player_actor *a = find_actor(p, event.actor.actor);
        if (event.kind == VIEW_LEFT) {
            CHECK(a);
            forget_actor(a);
            p->left++;
            continue;
        }
        *(event.kind == VIEW_ENTERED ? &p->entered : &p->changed) += 1;
        if (!a) a = find_actor(p, 0);
        CHECK(a);
        a->number = event.actor.actor;
        if (a->version != event.actor.model_version || a->model != event.actor.model)
            learn_surface(a, event.role);
    }
}

static void decode(struct player *p, struct player_actor *a, const struct frame *f)
{
    struct frame_message head;
    CHECK(frame_message_decode(f->payload, f->size_bytes, &head) == ERR_OK);
    struct player_lod *lod = &a->lods[head.lod];
    CHECK(head.lod < a->lod_count);
    CHECK(head.vertex_count == lod->vertex_count);
    CHECK(head.model == a->model);
    CHECK(head.model_version == a->version);
    const struct surface_row *anchor = surface_anchors_find(&lod->anchors, head.anchor);
    struct surface_row *rows = surface_anchors_spare(&lod->anchors);
    a->head = head;
    a->frames++;
    a->keys += (head.flags & FRAME_KEY) != 0;
    a->stills += (head.flags & FRAME_STILL) != 0;
    a->bytes += (uint32_t)f->size_bytes;
    if (head.codec == SURFACE_CODEC_RAW) {
        CHECK(surface_decode_raw_check(head.payload, head.payload_bytes, head.vertex_count) ==
              ERR_OK);
        memcpy(a->raw, head.payload, head.payload_bytes);
        return;
    }
    if (!anchor && head.anchor) {
        p->undecodable++;
        return;
    }
    if (head.flags & FRAME_STILL) {
        CHECK(head.payload_bytes == 0);
        memcpy(rows, anchor, lod->vertex_count * sizeof *rows);
    } else {
        struct surface_decode_job job = {.level = simd_best(),
                                         .payload = head.payload,
                                         .size_bytes = head.payload_bytes,
                                         .vertex_count = lod->vertex_count,
                                         .bits = head.bits,
                                         .predictors = lod->predictors,
                                         .anchor = anchor,
                                         .rows = rows};
        CHECK(surface_decode(&job, p->packer) == ERR_OK);
    }
    memcpy(lod->rows, rows, lod->vertex_count * sizeof *rows);
    lod->frame = head.frame;
    if (head.flags & FRAME_ANCHOR) surface_anchors_keep(&lod->anchors, head.frame);
}

static void hash_bytes(uint64_t *hash, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ bytes[i]) * 0x100000001b3u;
}

void player_take(struct player *p)
{
    player_take_events(p);
    for (size_t i = 0; i < view_count(p->view); i++) {
        struct frame *f = view_frame(p->view, i);
        if (!f) continue;
        struct player_actor *a = find_actor(p, view_actor(p->view, i));
        CHECK(a);
        decode(p, a, f);
        hash_bytes(&p->hash, f->payload, f->size_bytes);
        view_sent(p->view, i, f);
        CHECK(view_frame(p->view, i) == NULL);
    }
}

bool player_join(struct player *out, struct play *p, const struct stage_join *join)
{
    struct fault fault = {0};
    struct stage_join with = *join;
    *out = (struct player){.play = p, .hash = 0xcbf29ce484222325u};
    if (with.settings.bits == 0) with.settings.bits = SURFACE_BITS_DEFAULT;
    if (stage_join(p->stage, &with, &out->view, &fault) != ERR_OK) return false;
    CHECK(surface_packer_create(1 << 16, &out->packer) == ERR_OK);
    view_set_ready(out->view, true);
    player_take_events(out);
    return true;
}

void player_leave(struct player *p)
{
    stage_leave(p->play->stage, p->view);
    for (int i = 0; i < PLAYER_ACTORS_MAX; i++)
        forget_actor(&p->actors[i]);
    surface_packer_destroy(p->packer);
    *p = (struct player){0};
}

struct player_actor *player_own(struct player *p)
{
    uint32_t number = view_own_actor(p->view);
    return number ? find_actor(p, number) : NULL;
}

void player_positions(const struct player_actor *a, float *out)
{
    const struct player_lod *lod = &a->lods[0];
    const struct frame_message *h = &a->head;
    double yaw = 2 * atan2((double)h->rotation[1], (double)h->rotation[3]);
    double c = cos(yaw), s = sin(yaw);
    for (size_t i = 0; i < lod->vertex_count; i++) {
        double x[3];
        for (size_t k = 0; k < 3; k++) {
            float at = h->codec == SURFACE_CODEC_RAW
                           ? a->raw[6 * i + k]
                           : h->origin[k] + h->step * (float)lod->rows[i].position[k];
            x[k] = (double)at * (double)h->scale;
        }
        float *to = out + 3 * (size_t)lod->vertices[i];
        to[0] = (float)(c * x[0] + s * x[2] + (double)h->translation[0]);
        to[1] = (float)(x[1] + (double)h->translation[1]);
        to[2] = (float)(c * x[2] - s * x[0] + (double)h->translation[2]);
    }
}

static enum err send(struct player *p, const uint8_t *bytes, const struct wire_writer *w)
{
    struct message m;
    struct fault fault = {0};
    size_t used;
    CHECK(!w->failed);
    CHECK(messages_read(bytes, wire_size(w), MESSAGES_FROM_CLIENT, &m, &used, NULL) == ERR_OK);
    return stage_input(p->play->stage, view_own_id(p->view), m.type, m.payload, m.size_bytes,
                       &fault);
}

enum err player_pose(struct player *p, const char *clip, float time_s)
{
    static struct pose_message message;
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    message = (struct pose_message){.head = {.sequence = ++p->sequence}, .time_s = time_s};
    snprintf(message.clip, sizeof message.clip, "%s", clip);
    CHECK(pose_message_encode(&w, &message) == ERR_OK);
    return send(p, bytes, &w);
}

enum err player_place(struct player *p, float x, float y, float z, float yaw_rad, float scale)
{
    uint8_t bytes[256];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct input_place place = {.head = {.sequence = ++p->sequence},
                                .fields =
                                    INPUT_PLACE_POSITION | INPUT_PLACE_YAW | INPUT_PLACE_SCALE,
                                .position = {x, y, z},
                                .yaw_rad = yaw_rad,
                                .scale = scale};
    CHECK(input_encode_place(&w, &place) == ERR_OK);
    return send(p, bytes, &w);
}

enum err player_move(struct player *p, float right, float ahead)
{
    static struct input_control control;
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    control = (struct input_control){
        .head = {.sequence = ++p->sequence}, .fields = INPUT_MOVE, .move = {right, ahead}};
    CHECK(input_encode_control(&w, &control) == ERR_OK);
    return send(p, bytes, &w);
}

enum err player_face(struct player *p, uint16_t shape, float weight)
{
    static struct input_values values;
    uint8_t bytes[256];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    values = (struct input_values){
        .head = {.sequence = ++p->sequence}, .value_count = 1, .values = {{shape, weight}}};
    CHECK(input_encode_values(&w, MESSAGE_FACE, &values) == ERR_OK);
    return send(p, bytes, &w);
}

void play_body(const struct model *model, const struct face_map *map, struct body *out)
{
    struct body_options options = {.model = model,
                                   .map = map,
                                   .default_clip = body_default_clip(model),
                                   .skinning = MODEL_LBS,
                                   .level = simd_best()};
    CHECK(body_create(&options, out) == ERR_OK);
}
