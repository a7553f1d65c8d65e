#include "tests/proto/animation.h"

// Encoding and decoding take no memory once set up: 1,000 frames with malloc trapped. Sanitizers
// own malloc, so the trap exists only without them.

int testing_failures;

#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#else
#define SANITIZED 0
#endif

#if SANITIZED || defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
int main(void)
{
    printf("skipped: malloc cannot be trapped in this build\n");
    return TESTING_SKIPPED;
}
#else

static size_t taken; // since the last look

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    taken++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    taken++;
    return __libc_calloc(count, size);
}
void *realloc(void *p, size_t size)
{
    taken++;
    return __libc_realloc(p, size);
}

enum { RING = 40, ALONG = 50, SMALL = 100, VERTICES = RING * ALONG };

static void a_thousand_frames_take_no_memory(void)
{
    struct animation a = animation_make(RING, ALONG);
    struct surface_packer *packer = NULL;
    EXPECT(surface_packer_create(VERTICES, &packer) == ERR_OK);
    struct surface_anchors sent, received;
    surface_anchors_init(&sent, aligned_alloc(16, surface_anchors_bytes(VERTICES)), VERTICES);
    surface_anchors_init(&received, aligned_alloc(16, surface_anchors_bytes(VERTICES)), VERTICES);
    struct surface_row *rows = aligned_alloc(16, a.block_count * 16 * sizeof *rows);
    uint8_t *out = malloc(surface_encode_bound(VERTICES));
    static const float low[3] = {-2, -2, -2}, high[3] = {3, 3, 3};
    struct surface_quantise_job q = {.level = simd_best(),
                                     .blocks = a.blocks,
                                     .block_count = a.block_count,
                                     .grid = surface_grid_fit(low, high, 14, 0),
                                     .rows = rows};
    taken = 0;
    for (uint32_t frame = 1; frame <= 1000; frame++) {
        animation_frame(&a, RING, (float)frame / 60);
        EXPECT(surface_quantise(&q));
        uint32_t anchor = (frame - 1) / 5 * 5;
        // Small surfaces between large ones: a workspace that shrinks would show.
        size_t count = frame > 200 && frame < 600 ? SMALL : VERTICES;
        if (count != VERTICES || frame == 600) anchor = 0;
        struct surface_encode_job e = {.level = q.level,
                                       .lane_rows = rows,
                                       .lanes = a.lanes,
                                       .vertex_count = count,
                                       .predictors = a.predictors,
                                       .anchor = surface_anchors_find(&sent, anchor),
                                       .current = surface_anchors_spare(&sent),
                                       .out = out,
                                       .capacity_bytes = surface_encode_bound(VERTICES)};
        surface_encode(&e, packer);
        struct surface_decode_job d = {.level = q.level,
                                       .payload = out,
                                       .size_bytes = e.size_bytes,
                                       .vertex_count = count,
                                       .bits = 14,
                                       .predictors = a.predictors,
                                       .anchor = surface_anchors_find(&received, anchor),
                                       .rows = surface_anchors_spare(&received)};
        EXPECT(surface_decode(&d, packer) == ERR_OK);
        EXPECT(memcmp(d.rows, e.current, count * sizeof *rows) == 0);
        if (frame % 5 == 0 && count == VERTICES) {
            surface_anchors_keep(&sent, frame);
            surface_anchors_keep(&received, frame);
        }
    }
    EXPECT(taken == 0);
    free(malloc(1));
    EXPECT(taken > 0); // the trap works
    surface_packer_destroy(packer);
    animation_free(&a);
    free(sent.rows);
    free(received.rows);
    free(rows);
    free(out);
}

int main(void)
{
    RUN(a_thousand_frames_take_no_memory);
    TESTING_MAIN_END;
}
#endif
