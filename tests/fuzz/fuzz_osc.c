// UDP input: datagrams of any bytes, as they come. Whatever was committed keeps the promises that
// the pose stage relies on.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/character/input/live_link.h"
#include "server/character/input/osc_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_turn(const float q[4])
{
    float norm2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    CHECK(norm2 > 0.99F && norm2 < 1.01F);
}

static void check_said(const struct osc_said *said)
{
    for (int i = 0; i < HUMANOID_BONE_COUNT; i++) {
        if (!said->bones.given[i]) continue;
        check_turn(said->bones.rotation[i]);
        for (int r = 0; r < 3; r++)
            CHECK(fabsf(said->bones.position[i][r]) <= 1000);
    }
    if (said->bones.rooted) check_turn(said->bones.root_rotation);
    for (uint32_t i = 0; i < INPUT_DEVICE_COUNT; i++) {
        const struct input_device *d = &said->devices[i];
        if (!(said->device_set & 1U << i)) continue;
        CHECK(d->id == i);
        if (d->flags & INPUT_ROTATION_VALID) check_turn(d->rotation);
        for (int r = 0; r < 3; r++)
            CHECK(fabsf(d->position[r]) <= 1000);
    }
    CHECK(said->blend_count <= OSC_BLENDS_MAX);
    for (uint32_t i = 0; i < said->blend_count; i++) {
        CHECK(said->blends[i].name[0] && memchr(said->blends[i].name, 0, INPUT_NAME_MAX));
        CHECK(fabsf(said->blends[i].value) <= 2);
    }
}

// u8 milliseconds, u16 size, then a datagram; again and again.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct osc_source *s = malloc(sizeof *s);
    uint64_t now_ns = 1000000000;
    CHECK(s);
    osc_source_start(s);
    while (size >= 3) {
        size_t n = (size_t)data[1] << 8 | data[2];
        now_ns += (uint64_t)data[0] * 1000000;
        data += 3;
        size -= 3;
        if (n > size) n = size;
        uint8_t *exact = malloc(n + !n);
        CHECK(exact);
        memcpy(exact, data, n);
        (void)osc_source_take(s, exact, n, now_ns);
        free(exact);
        data += n;
        size -= n;
        (void)osc_source_commit(s, now_ns, 16666667);
        check_said(&s->said);
    }
    (void)osc_source_commit(s, now_ns + 1000000000, 16666667);
    check_said(&s->said);
    free(s);
    return 0;
}
