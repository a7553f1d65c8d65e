#include "tests/support/vr_take.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/character/pose/rotation.h"

static const double DEVICE_ABOVE_HEAD = 0.08, DEVICE_BEFORE_HEAD = 0.10, WRIST_BEHIND_GRIP = 0.09;

struct device {
    double place[3], turn[4]; // OpenXR axes
    bool there;
};
struct instant {
    double time_s;
    struct device devices[3]; // head, left, right
};

static double number(const cJSON *at, const char *name, int index)
{
    const cJSON *item = name ? cJSON_GetObjectItem(at, name) : cJSON_GetArrayItem(at, index);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

// ---- the Quest session

static void read_device(const cJSON *at, struct device *out)
{
    const cJSON *place = cJSON_GetObjectItem(at, "position"),
                *turn = cJSON_GetObjectItem(at, "rotation");
    *out = (struct device){.there = cJSON_IsArray(place) && cJSON_IsArray(turn)};
    for (int i = 0; out->there && i < 4; i++) {
        if (i < 3) out->place[i] = number(place, NULL, i);
        out->turn[i] = number(turn, NULL, i);
    }
}

static size_t read_lines(char *text, struct instant *out, size_t most)
{
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line && count < most; line = strtok(NULL, "\n")) {
        cJSON *json = cJSON_Parse(line);
        const cJSON *hands = cJSON_GetObjectItem(json, "hands");
        if (json) {
            struct instant *i = &out[count++];
            i->time_s = number(json, "t_s", 0);
            read_device(cJSON_GetObjectItem(json, "head"), &i->devices[0]);
            read_device(cJSON_GetObjectItem(hands, "left"), &i->devices[1]);
            read_device(cJSON_GetObjectItem(hands, "right"), &i->devices[2]);
        }
        cJSON_Delete(json);
    }
    return count;
}

// ---- A-Frame

static void euler_yxz(double x, double y, double z, double out[4])
{
    double h = 3.14159265358979323846 / 360;
    double qx[4] = {sin(x * h), 0, 0, cos(x * h)}, qy[4] = {0, sin(y * h), 0, cos(y * h)};
    double qz[4] = {0, 0, sin(z * h), cos(z * h)};
    rotation_mul(qy, qx, out);
    rotation_mul(out, qz, out);
}

static void read_pose(const cJSON *pose, struct device *out)
{
    static const char *const axes[] = {"x", "y", "z"};
    const cJSON *place = cJSON_GetObjectItem(pose, "position"),
                *turn = cJSON_GetObjectItem(pose, "rotation");
    for (int i = 0; i < 3; i++)
        out->place[i] = number(place, axes[i], 0);
    euler_yxz(number(turn, "x", 0), number(turn, "y", 0), number(turn, "z", 0), out->turn);
    out->there = true;
}

// The camera's times count; a controller tells what it told last, and nothing before and after.
static size_t read_tracks(const char *text, struct instant *out, size_t most)
{
    static const char *const names[] = {"camera", "left", "right"};
    cJSON *json = cJSON_Parse(text);
    const cJSON *next[3];
    size_t count = 0;
    for (int d = 0; d < 3; d++) {
        const cJSON *track = cJSON_GetObjectItem(cJSON_GetObjectItem(json, names[d]), "poses");
        next[d] = track ? track->child : NULL;
    }
    const cJSON *held[3] = {NULL, NULL, NULL};
    for (; next[0] && count < most; next[0] = next[0]->next) {
        struct instant *i = &out[count++];
        double now = number(next[0], "timestamp", 0);
        *i = (struct instant){.time_s = now / 1000};
        read_pose(next[0], &i->devices[0]);
        for (int d = 1; d < 3; d++) {
            while (next[d] && number(next[d], "timestamp", 0) <= now) {
                held[d] = next[d];
                next[d] = next[d]->next;
            }
            if (held[d] && next[d]) read_pose(held[d], &i->devices[d]);
        }
    }
    cJSON_Delete(json);
    return count;
}

// ---- as targets

// Both look along -Z; the body looks along +Z.
static void half_turn(struct device *d)
{
    d->place[0] = -d->place[0];
    d->place[2] = -d->place[2];
    d->turn[0] = -d->turn[0];
    d->turn[2] = -d->turn[2];
}

static void target_of(const struct device *from, enum human_part part, struct body_target *to)
{
    // A grip's -Y points along the forearm to the fingers, its +X to the wearer's right: the hand's
    // x and y in the grip's axes, after half a turn about +Y.
    static const double hand_axes[2][3][3] = {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}},
                                              {{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}}};
    struct device d = *from;
    if (!d.there) return;
    half_turn(&d);
    rotation_unit(d.turn);
    double offset[3] = {0, -DEVICE_ABOVE_HEAD, -DEVICE_BEFORE_HEAD}, turned[3];
    memcpy(to->rotation, d.turn, sizeof d.turn);
    if (part != HUMAN_HEAD) {
        double basis[3][3], grip[4];
        memcpy(basis, hand_axes[part - HUMAN_HAND_L], sizeof basis);
        xform_rotation(basis, grip);
        rotation_mul(d.turn, grip, to->rotation);
        offset[0] = part == HUMAN_HAND_L ? -WRIST_BEHIND_GRIP : WRIST_BEHIND_GRIP;
        offset[1] = offset[2] = 0;
    }
    rotation_apply(to->rotation, offset, turned);
    for (int r = 0; r < 3; r++)
        to->position[r] = d.place[r] + turned[r];
    to->flags = BODY_POSITION | BODY_ROTATION | BODY_TRACKED;
}

static void make_frames(struct vr_take *t, const struct instant *instants, const struct human *h)
{
    double high = 0;
    for (size_t i = 0; i < t->frames; i++)
        high = fmax(high, instants[i].devices[0].place[1]);
    double scale = (h->head_height + DEVICE_ABOVE_HEAD) / high;
    for (size_t i = 0; i < t->frames; i++) {
        struct body_frame *f = &t->items[i];
        f->dt_s = i > 0 ? instants[i].time_s - instants[i - 1].time_s : 1.0 / 90;
        for (int d = 0; d < 3; d++) {
            struct device device = instants[i].devices[d];
            for (int r = 0; r < 3; r++)
                device.place[r] *= scale;
            target_of(&device, (enum human_part)d, &f->parts[d]);
        }
    }
}

bool vr_take_open(struct vr_take *t, const char *path, const struct human *h)
{
    enum { MOST = 20000 };
    uint8_t *bytes;
    size_t size;
    struct fault fault;
    *t = (struct vr_take){0};
    if (file_read(path, (size_t)64 << 20, &bytes, &size, &fault) != ERR_OK) return false;
    struct instant *instants = calloc(MOST, sizeof *instants);
    t->items = calloc(MOST, sizeof *t->items);
    if (instants && t->items) {
        bool lines = strlen(path) > 6 && strcmp(path + strlen(path) - 6, ".jsonl") == 0;
        t->frames = lines ? read_lines((char *)bytes, instants, MOST)
                          : read_tracks((const char *)bytes, instants, MOST);
        if (t->frames > 0) make_frames(t, instants, h);
    }
    free(instants);
    free(bytes);
    return t->frames > 0;
}

void vr_take_close(struct vr_take *t)
{
    free(t->items);
    *t = (struct vr_take){0};
}
