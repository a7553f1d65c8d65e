#include <inttypes.h>

#include "proto/frame_message.h"
#include "proto/inbox.h"
#include "proto/surface_message.h"
#include "tests/proto/animation.h"

// A short stream as a client receives it (SURFACE, then frames of every kind), kept in
// golden/stream.bin with a hash of every decoded frame in golden/stream.txt. The C decoder, at
// every SIMD level, and its TypeScript twin (twin.mjs) must come to those hashes.
// `test_proto_stream --write` makes both files anew.

int testing_failures;

enum { RING = 17, ALONG = 13, VERTICES = RING * ALONG, FRAMES = 10, STREAM_BYTES = 1 << 17 };
static const char stream_path[] = "tests/proto/golden/stream.bin";
static const char hashes_path[] = "tests/proto/golden/stream.txt";

static uint32_t fnv(uint32_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

static uint32_t hash_rows(const struct surface_row *rows)
{
    uint32_t hash = 2166136261u;
    for (int i = 0; i < VERTICES; i++) {
        int8_t normal[2] = {(int8_t)rows[i].normal[0], (int8_t)rows[i].normal[1]};
        hash = fnv(hash, rows[i].position, 6);
        hash = fnv(hash, normal, 2);
    }
    return hash;
}

// ---- writing ----

static void put_surface(struct wire_writer *w, struct animation *a)
{
    static const struct surface_part part = {0, 0,        0, UINT32_MAX, SURFACE_TRIANGLES,
                                             0, VERTICES, 0, 0,          0};
    struct surface_part parts[1] = {part};
    parts[0].index_count = a->index_count;
    const struct surface_message_source source = {.model = 1,
                                                  .version = 1,
                                                  .unit_m = 1,
                                                  .lod_count = 1,
                                                  .lods = {{.vertex_count = VERTICES,
                                                            .index_count = a->index_count,
                                                            .part_count = 1,
                                                            .parts = parts,
                                                            .indices = a->indices,
                                                            .vertices = a->order,
                                                            .predictors = a->predictors}}};
    size_t at = messages_begin(w, MESSAGE_SURFACE), size = 0;
    if (surface_message_encode(&source, w->at, (size_t)(w->end - w->at), &size)) abort();
    w->at += size;
    messages_end(w, at);
}

static int write_stream(void)
{
    static uint8_t stream[STREAM_BYTES], payload[VERTICES * SURFACE_RAW_VERTEX_BYTES + 4096];
    static _Alignas(16) struct surface_row rows[VERTICES + 16], memory[5 * VERTICES];
    struct animation a = animation_make(RING, ALONG);
    struct surface_packer *packer = NULL;
    if (surface_packer_create(VERTICES, &packer)) return 1;
    struct surface_anchors anchors;
    surface_anchors_init(&anchors, memory, VERTICES);
    struct wire_writer w = wire_write(stream, sizeof stream);
    put_surface(&w, &a);
    static const float low[3] = {-1, -0.5f, -0.5f}, high[3] = {2, 2, 0.5f};
    struct surface_quantise_job q = {.blocks = a.blocks,
                                     .block_count = a.block_count,
                                     .grid = surface_grid_fit(low, high, 14, 0),
                                     .rows = rows};
    for (uint32_t frame = 1; frame <= FRAMES; frame++) {
        bool raw = frame == 9, still = frame == 8, key = frame == 1 || frame == 6;
        bool keep = frame == 1 || frame == 4 || frame == 6 || frame == 7;
        uint32_t anchor = key || raw ? 0 : frame < 5 ? 1 : frame < 6 ? 4 : frame < 8 ? 6 : 7;
        animation_frame(&a, RING, (float)(still ? frame - 1 : frame) / 20);
        if (!surface_quantise(&q)) return 1;
        struct surface_encode_job job = {.lane_rows = rows,
                                         .lanes = a.lanes,
                                         .vertex_count = VERTICES,
                                         .predictors = a.predictors,
                                         .anchor = surface_anchors_find(&anchors, anchor),
                                         .current = surface_anchors_spare(&anchors),
                                         .out = payload,
                                         .capacity_bytes = sizeof payload};
        if (!raw) surface_encode(&job, packer);
        if (raw) surface_encode_raw(a.blocks, a.lanes, VERTICES, payload);
        if (raw) job.size_bytes = VERTICES * SURFACE_RAW_VERTEX_BYTES;
        struct frame_message f = {.actor = 9,
                                  .model = 1,
                                  .model_version = 1,
                                  .tick = frame,
                                  .frame = frame,
                                  .anchor = anchor,
                                  .rotation = {0, 0, 0, 1},
                                  .scale = 1,
                                  .step = q.grid.step,
                                  .vertex_count = VERTICES,
                                  .payload_bytes = (uint32_t)job.size_bytes,
                                  .payload = payload};
        f.codec = raw ? SURFACE_CODEC_RAW : SURFACE_CODEC_GRID;
        f.bits = raw ? 0 : 14;
        f.flags = (uint8_t)((key || raw ? FRAME_KEY : 0) | (keep ? FRAME_ANCHOR : 0) |
                            (still ? FRAME_STILL : 0));
        memcpy(f.origin, q.grid.origin, sizeof f.origin);
        if (job.still != still || frame_message_encode(&w, &f)) return 1;
        if (keep) surface_anchors_keep(&anchors, frame);
    }
    FILE *out = fopen(stream_path, "wb");
    if (!out || w.failed || fwrite(stream, 1, wire_size(&w), out) != wire_size(&w)) return 1;
    fclose(out);
    surface_packer_destroy(packer);
    animation_free(&a);
    return 0;
}

// ---- reading, as a client does ----

struct client {
    enum simd_level level;
    struct surface_packer *packer;
    struct surface_anchors anchors;
    _Alignas(16) struct surface_row memory[5 * VERTICES];
    uint16_t predictors[VERTICES * SURFACE_PREDICTORS_WIDTH];
    char hashes[4096]; // one line a frame
};

static void take_surface(struct client *c, const struct message *m)
{
    struct surface_message s;
    EXPECT(surface_message_decode(m->payload, m->size_bytes, &s) == ERR_OK);
    EXPECT(s.lods[0].vertex_count == VERTICES);
    const struct surface_section *p = surface_message_find(&s, SURFACE_PREDICTORS, 0, 0);
    EXPECT(p && surface_message_unpack(&s, p, c->predictors) == ERR_OK);
}

static void take_frame(struct client *c, const struct message *m,
                       const struct surface_normals *table)
{
    struct frame_message f;
    static float positions[VERTICES * 3];
    static int16_t normals[VERTICES * 4];
    static struct surface_row rows[VERTICES];
    EXPECT(frame_message_decode(m->payload, m->size_bytes, &f) == ERR_OK);
    uint32_t hash = 0;
    if (f.codec == SURFACE_CODEC_RAW) {
        EXPECT(surface_decode_raw_check(f.payload, f.payload_bytes, VERTICES) == ERR_OK);
        hash = fnv(2166136261u, f.payload, f.payload_bytes);
        size_t n = strlen(c->hashes);
        snprintf(c->hashes + n, sizeof c->hashes - n, "%" PRIu32 " %08" PRIx32 "\n", f.frame, hash);
        return;
    }
    const struct surface_row *anchor = surface_anchors_find(&c->anchors, f.anchor);
    EXPECT(f.flags & FRAME_KEY || anchor);
    const struct surface_decode_job job = {
        c->level, f.payload,     f.payload_bytes, VERTICES,
        f.bits,   c->predictors, anchor,          surface_anchors_spare(&c->anchors)};
    if (f.flags & FRAME_STILL)
        memcpy(job.rows, anchor, sizeof rows);
    else
        EXPECT(surface_decode(&job, c->packer) == ERR_OK);
    memcpy(rows, job.rows, sizeof rows);
    if (f.flags & FRAME_ANCHOR) surface_anchors_keep(&c->anchors, f.frame);
    struct surface_grid grid = {{f.origin[0], f.origin[1], f.origin[2]}, f.step, f.bits};
    const struct surface_view view = {positions, 12, SURFACE_FLOAT3, normals, 8, SURFACE_INT16_4};
    surface_view_write(&view, rows, VERTICES, &grid, table);
    size_t n = strlen(c->hashes);
    snprintf(c->hashes + n, sizeof c->hashes - n,
             "%" PRIu32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", f.frame, hash_rows(rows),
             fnv(2166136261u, positions, sizeof positions),
             fnv(2166136261u, normals, sizeof normals));
}

static void receive(struct client *c, enum simd_level level)
{
    static uint32_t memory[INBOX_BYTES / 4];
    static uint8_t bytes[4096];
    static struct surface_normals table;
    surface_normals_build(&table);
    memset(c, 0, sizeof *c);
    c->level = level;
    EXPECT(surface_packer_create(VERTICES, &c->packer) == ERR_OK);
    surface_anchors_init(&c->anchors, c->memory, VERTICES);
    struct inbox in;
    inbox_init(&in, memory, sizeof memory, MESSAGES_FROM_SERVER);
    FILE *f = fopen(stream_path, "rb");
    size_t n = 0;
    while (f && (n = fread(bytes, 1, sizeof bytes, f)) > 0) {
        for (size_t at = 0; at < n;) {
            at += inbox_put(&in, bytes + at, n - at);
            struct message m;
            enum err e;
            while ((e = inbox_next(&in, &m)) == ERR_OK) {
                if (m.type == MESSAGE_SURFACE) take_surface(c, &m);
                if (m.type == MESSAGE_FRAME) take_frame(c, &m, &table);
            }
            EXPECT(e == ERR_TRUNCATED);
        }
    }
    EXPECT(f != NULL && inbox_at_boundary(&in));
    if (f) fclose(f);
    surface_packer_destroy(c->packer);
}

static void every_decoder_comes_to_the_kept_hashes(void)
{
    static struct client c;
    static char kept[4096];
    FILE *f = fopen(hashes_path, "rb");
    EXPECT(f != NULL);
    if (!f) return;
    kept[fread(kept, 1, sizeof kept - 1, f)] = 0;
    fclose(f);
    for (enum simd_level level = SIMD_PLAIN; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has(level)) continue;
        receive(&c, level);
        EXPECT(strcmp(kept, c.hashes) == 0);
    }
}

int main(int argc, char **argv)
{
    static struct client c;
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        if (write_stream()) return 1;
        receive(&c, SIMD_PLAIN);
        FILE *f = fopen(hashes_path, "wb");
        if (!f || fputs(c.hashes, f) < 0) return 1;
        return fclose(f) != 0 || testing_failures != 0;
    }
    RUN(every_decoder_comes_to_the_kept_hashes);
    TESTING_MAIN_END;
}
