// OSC 1.0, the VMC protocol, VRChat's trackers and Live Link Face as bytes: what is taken, what is
// counted and thrown away, and when a pose of several datagrams is whole.
#include "server/character/input/live_link.h"
#include "server/character/input/osc_source.h"
#include "tests/character/osc_bytes.h"
#include "tests/testing.h"

int testing_failures;

#define MS 1000000UL
static const uint64_t TICK = 16666667;

static const float unit[4] = {0, 0, 0, 1};

struct seen {
    int count;
    char address[8][64];
    char types[8][OSC_ARGS_MAX + 1];
    float first;
    char text[64];
};

static void on_message(void *owner, const struct osc_message *m)
{
    struct seen *s = owner;
    if (s->count < 8) {
        snprintf(s->address[s->count], 64, "%s", m->address);
        for (size_t i = 0; i < m->arg_count; i++)
            s->types[s->count][i] = m->args[i].type;
    }
    for (size_t i = 0; i < m->arg_count; i++) {
        if (m->args[i].type == 'f') s->first = m->args[i].value.f;
        if (m->args[i].type == 's') snprintf(s->text, sizeof s->text, "%s", m->args[i].value.s);
    }
    s->count++;
}

static void a_message_of_the_standard_has_its_size(void)
{
    struct osc_bytes b = {0};
    const float none[3] = {0};
    osc_bone(&b, "Hips", none, unit);
    EXPECT(b.size == 68);
}

static void types_that_the_standard_has_are_read(void)
{
    // i, f, s, b, h, d, T, F; a blob of 3 bytes is padded
    static const uint8_t bytes[] = "/x\0\0,ifsbhdTF\0\0\0"
                                   "\0\0\0\7\x3f\xc0\0\0hey\0\0\0\0\3abc\0\0\0\0\0\0\0\0\2"
                                   "\x40\x04\0\0\0\0\0";
    struct osc_counts counts = {0};
    struct seen seen = {0};
    osc_read(bytes, sizeof bytes, on_message, &seen, &counts);
    EXPECT(counts.messages == 1 && counts.malformed == 0);
    EXPECT(strcmp(seen.types[0], "ifsbhdTF") == 0);
    EXPECT_NEAR(seen.first, 1.5, 0);
    EXPECT(strcmp(seen.text, "hey") == 0);
}

static void every_truncation_is_counted_and_nothing_is_read_past_the_end(void)
{
    struct osc_bytes b = {0};
    const float none[3] = {0};
    osc_bone(&b, "Hips", none, unit);
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *exact = malloc(n + !n);
        memcpy(exact, b.bytes, n);
        struct osc_counts counts = {0};
        struct seen seen = {0};
        osc_read(exact, n, on_message, &seen, &counts);
        EXPECT(seen.count == 0);
        EXPECT(counts.malformed == 1);
        free(exact);
    }
}

static void bundles_nest_and_a_bad_element_does_not_spoil_the_others(void)
{
    struct osc_bytes inner = {0}, outer = {0}, all = {0};
    osc_bundle(&inner);
    osc_element(&inner, "/a", ",f", (float[]){1}, 1);
    osc_bundle(&outer);
    osc_nest(&outer, inner.bytes, inner.size);
    osc_nest(&outer, (const uint8_t *)"nothing\0", 8);
    osc_element(&outer, "/b", ",f", (float[]){2}, 1);
    struct osc_counts counts = {0};
    struct seen seen = {0};
    osc_read(outer.bytes, outer.size, on_message, &seen, &counts);
    EXPECT(seen.count == 2 && counts.malformed == 1);
    EXPECT(strcmp(seen.address[0], "/a") == 0 && strcmp(seen.address[1], "/b") == 0);
    // Five deep: one more than is taken.
    for (int depth = 0; depth < 5; depth++) {
        struct osc_bytes next = {0};
        osc_bundle(&next);
        if (depth == 0)
            osc_element(&next, "/deep", ",f", (float[]){3}, 1);
        else
            osc_nest(&next, all.bytes, all.size);
        all = next;
    }
    seen = (struct seen){0};
    counts = (struct osc_counts){0};
    osc_read(all.bytes, all.size, on_message, &seen, &counts);
    EXPECT(seen.count == 0 && counts.malformed == 1);
}

static void take(struct osc_source *s, const struct osc_bytes *b, uint64_t now_ns)
{
    (void)osc_source_take(s, b->bytes, b->size, now_ns);
}

static void take_bone(struct osc_source *s, const char *name, float w, uint64_t now_ns)
{
    struct osc_bytes b = {0};
    const float q[4] = {0.6F * (1 - w), 0, 0, w}, none[3] = {0};
    osc_bone(&b, name, none, q);
    take(s, &b, now_ns);
}

static void take_time(struct osc_source *s, uint64_t now_ns)
{
    struct osc_bytes b = {0};
    osc_message(&b, "/VMC/Ext/T", ",f", (float[]){1}, 1);
    take(s, &b, now_ns);
}

static void a_pose_of_several_datagrams_is_committed_once(void)
{
    struct osc_source s;
    uint64_t now = 1000 * MS;
    osc_source_start(&s);
    take_bone(&s, "Hips", 1, now);
    take_bone(&s, "LeftUpperArm", 1, now + MS);
    EXPECT(osc_source_commit(&s, now + 2 * MS, TICK) == 0); // more may come
    take_bone(&s, "RightUpperArm", 1, now + 3 * MS);
    take_time(&s, now + 3 * MS);
    take_bone(&s, "Hips", 0.9F, now + 4 * MS); // of the next pose
    EXPECT(osc_source_commit(&s, now + 4 * MS, TICK) == OSC_NEW_BONES);
    EXPECT(s.said.bones.given[0] && s.said.bones.given[18] && s.said.bones.given[22]);
    EXPECT_NEAR(s.said.bones.rotation[0][3], 1, 1e-6);
    EXPECT(osc_source_commit(&s, now + 5 * MS, TICK) == 0);
    // Its boundary is lost: silence ends it.
    EXPECT(osc_source_commit(&s, now + 10 * MS, TICK) == OSC_NEW_BONES);
    EXPECT(s.said.bones.rotation[0][3] < 0.999F);
    // Neither boundary nor silence: a tick ends it.
    uint32_t news = 0;
    for (uint64_t t = 0; t <= 20; t += 2) {
        take_bone(&s, "Head", 1, now + (20 + t) * MS);
        if (t == 14) EXPECT(osc_source_commit(&s, now + (20 + t) * MS, TICK) == 0);
        if (t == 18) news = osc_source_commit(&s, now + (20 + t) * MS, TICK);
    }
    EXPECT(news == OSC_NEW_BONES);
}

static void what_is_not_loaded_holds_its_last_pose(void)
{
    struct osc_source s;
    struct osc_bytes b = {0};
    osc_source_start(&s);
    take_bone(&s, "Hips", 1, MS);
    EXPECT(osc_source_commit(&s, 20 * MS, TICK) == OSC_NEW_BONES);
    osc_int(&b, "/VMC/Ext/OK", 0);
    take(&s, &b, 21 * MS);
    take_bone(&s, "Hips", 0, 22 * MS);
    take_time(&s, 22 * MS);
    EXPECT(osc_source_commit(&s, 40 * MS, TICK) == 0);
    b = (struct osc_bytes){0};
    osc_int(&b, "/VMC/Ext/OK", 1);
    take(&s, &b, 41 * MS);
    EXPECT(osc_source_commit(&s, 60 * MS, TICK) == OSC_NEW_BONES);
}

static void bad_messages_are_counted_and_change_nothing(void)
{
    struct osc_source s, before;
    const float none[3] = {0}, zero[4] = {0}, nan_turn[4] = {0, NAN, 0, 1};
    const float far[3] = {1e9F, 0, 0};
    struct osc_bytes b = {0};
    osc_source_start(&s);
    osc_message(&b, "/VMC/Ext/Bone/Pos", ",fff", (float[]){0, 0, 0}, 3); // no name
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_bone(&b, "Hips", none, zero);
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_bone(&b, "Hips", none, nan_turn);
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_bone(&b, "Hips", far, unit);
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_int(&b, "/VMC/Ext/T", 3); // a float is asked for
    take(&s, &b, MS);
    EXPECT(s.counts[OSC_VMC][OSC_MALFORMED] == 5);
    b = (struct osc_bytes){0};
    osc_bone(&b, "LastBone", none, unit);
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_message(&b, "/VMC/Ext/Cam", ",f", (float[]){1}, 1);
    take(&s, &b, MS);
    EXPECT(s.counts[OSC_VMC][OSC_UNKNOWN] == 2);
    b = (struct osc_bytes){0};
    osc_message(&b, "/some/where", ",f", (float[]){1}, 1);
    take(&s, &b, MS);
    EXPECT(s.counts[OSC_OTHER][OSC_UNKNOWN] == 1);
    before = s;
    EXPECT(osc_source_commit(&s, 100 * MS, TICK) == 0);
    EXPECT(memcmp(&before.said, &s.said, sizeof s.said) == 0);
}

static void unity_is_mirrored_at_the_edge(void)
{
    struct osc_source s;
    struct osc_bytes b = {0};
    const float place[3] = {1, 2, 3}, turn[4] = {0.1F, 0.2F, 0.3F, 0.9273618F};
    osc_source_start(&s);
    osc_bone(&b, "Hips", place, turn);
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_device(&b, "/VMC/Ext/Hmd/Pos", "hmd", place, turn);
    take(&s, &b, MS);
    EXPECT(osc_source_commit(&s, 20 * MS, TICK) == (OSC_NEW_BONES | OSC_NEW_DEVICES));
    const float *p = s.said.bones.position[0], *q = s.said.bones.rotation[0];
    EXPECT(p[0] == -1 && p[1] == 2 && p[2] == 3); // a model that faces +Z: X
    EXPECT_NEAR(q[0], 0.1, 1e-6);
    EXPECT_NEAR(q[1], -0.2, 1e-6);
    EXPECT_NEAR(q[2], -0.3, 1e-6);
    const struct input_device *d = &s.said.devices[INPUT_DEVICE_head];
    EXPECT(d->position[0] == 1 && d->position[1] == 2 && d->position[2] == -3); // a device: Z
    EXPECT_NEAR(d->rotation[0], -0.1, 1e-6);
    EXPECT_NEAR(d->rotation[1], -0.2, 1e-6);
    EXPECT_NEAR(d->rotation[2], 0.3, 1e-6);
}

static void vrchat_turns_about_z_then_x_then_y(void)
{
    struct osc_source s;
    struct osc_bytes b = {0};
    osc_source_start(&s);
    osc_message(&b, "/tracking/trackers/3/position", ",fff", (float[]){0.5F, 1, 2}, 3);
    take(&s, &b, MS);
    b = (struct osc_bytes){0};
    osc_message(&b, "/tracking/trackers/3/rotation", ",fff", (float[]){90, 90, 0}, 3);
    take(&s, &b, MS);
    EXPECT(osc_source_commit(&s, 20 * MS, TICK) == OSC_NEW_DEVICES);
    const struct input_device *d = &s.said.devices[INPUT_DEVICE_tracker_3];
    EXPECT(d->flags == (INPUT_POSITION_VALID | INPUT_ROTATION_VALID | INPUT_TRACKED));
    EXPECT(d->position[2] == -2);
    // Unity: its forward (+Z) first about X by 90 degrees: down (-Y); about Y that stays. Its up
    // (+Y) goes to +Z, and that about Y by 90 degrees to +X. So in ours its back (+Z) points up,
    // and its up to +X.
    const float *q = d->rotation;
    float x = q[0], y = q[1], z = q[2], w = q[3];
    EXPECT_NEAR(2 * (y * z - w * x), 1, 1e-5); // Y of the turned Z axis
    EXPECT_NEAR(2 * (x * y - w * z), 1, 1e-5); // X of the turned Y axis
    // Half a second of silence: not tracked; ten: gone.
    EXPECT(osc_source_commit(&s, 600 * MS, TICK) == OSC_NEW_DEVICES);
    EXPECT(s.said.devices[INPUT_DEVICE_tracker_3].flags ==
           (INPUT_POSITION_VALID | INPUT_ROTATION_VALID));
    EXPECT(osc_source_commit(&s, 11000 * MS, TICK) == OSC_NEW_DEVICES);
    EXPECT(s.said.devices[INPUT_DEVICE_tracker_3].flags == 0);
}

static size_t face_packet(uint8_t out[512], const char *name, bool face)
{
    size_t n = 0, length = strlen(name);
    memcpy(out, "\6\0\0\0$1234abcd-0000-0000-0000-0123456789ab", 41);
    n = 41;
    out[n + 3] = (uint8_t)length;
    out[n] = out[n + 1] = out[n + 2] = 0;
    memcpy(out + n + 4, name, length);
    n += 4 + length;
    memset(out + n, 0, 16);
    n += 16;
    if (!face) return n;
    out[n++] = 61;
    for (int i = 0; i < 61; i++, n += 4) {
        float value = (float)i / 64;
        uint32_t bits;
        memcpy(&bits, &value, 4);
        for (int k = 0; k < 4; k++)
            out[n + (size_t)k] = (uint8_t)(bits >> (24 - 8 * k));
    }
    return n;
}

static void live_link_faces_are_read_by_their_length(void)
{
    uint8_t packet[512];
    float values[LIVE_LINK_VALUES] = {0};
    size_t n = face_packet(packet, "iPhone", true);
    EXPECT(live_link_read(packet, n, values) == ERR_OK);
    EXPECT_NEAR(values[17], 17.0 / 64, 0);
    EXPECT(strcmp(live_link_name(17), "jawOpen") == 0);
    EXPECT(strcmp(live_link_name(51), "tongueOut") == 0);
    for (size_t k = 0; k < n; k++) {
        uint8_t *exact = malloc(k + !k);
        memcpy(exact, packet, k);
        float kept[LIVE_LINK_VALUES] = {7};
        EXPECT(live_link_read(exact, k, kept) != ERR_OK);
        EXPECT(kept[0] == 7);
        free(exact);
    }
    EXPECT(live_link_read(packet, face_packet(packet, "iPhone", false), values) == ERR_NOT_FOUND);
    struct osc_source s;
    osc_source_start(&s);
    n = face_packet(packet, "iPhone", true);
    EXPECT(osc_source_take(&s, packet, n, MS));
    EXPECT(osc_source_commit(&s, MS, TICK) == OSC_NEW_BLENDS);
    EXPECT(s.said.blend_count == LIVE_LINK_BLENDS);
    EXPECT(strcmp(s.said.blends[0].name, "eyeBlinkLeft") == 0);
}

// A sender's stream with a third of its datagrams lost, some twice and out of order: two ticks
// after the last good pose the receiver has it.
static void it_converges_after_loss_and_reordering(void)
{
    static const char *const names[] = {"Hips", "Spine", "Chest", "Neck", "Head", "LeftUpperArm"};
    struct osc_source s;
    uint64_t now = 1000 * MS;
    unsigned random = 12345;
    osc_source_start(&s);
    for (int frame = 0; frame < 300; frame++, now += TICK) {
        bool last = frame == 299;
        float w = last ? 1 : (float)(frame % 10) / 10;
        for (int k = 0; k < 6; k++) {
            random = random * 1664525 + 1013904223;
            unsigned dice = random >> 24; // 0 .. 255
            int which = !last && dice % 5 == 0 ? (int)(dice % 6) : k;
            if (!last && dice < 77) continue;
            take_bone(&s, names[which], w, now + (uint64_t)k * 100000);
            if (!last && dice > 200) take_bone(&s, names[which], w, now + (uint64_t)k * 100000);
        }
        (void)osc_source_commit(&s, now + TICK, TICK);
    }
    (void)osc_source_commit(&s, now + TICK, TICK);
    static const int bones[] = {0, 1, 2, 4, 5, 18};
    for (int k = 0; k < 6; k++) {
        EXPECT(s.said.bones.given[bones[k]]);
        EXPECT_NEAR(s.said.bones.rotation[bones[k]][3], 1, 1e-6);
    }
}

int main(void)
{
    RUN(a_message_of_the_standard_has_its_size);
    RUN(types_that_the_standard_has_are_read);
    RUN(every_truncation_is_counted_and_nothing_is_read_past_the_end);
    RUN(bundles_nest_and_a_bad_element_does_not_spoil_the_others);
    RUN(a_pose_of_several_datagrams_is_committed_once);
    RUN(what_is_not_loaded_holds_its_last_pose);
    RUN(bad_messages_are_counted_and_change_nothing);
    RUN(unity_is_mirrored_at_the_edge);
    RUN(vrchat_turns_about_z_then_x_then_y);
    RUN(live_link_faces_are_read_by_their_length);
    RUN(it_converges_after_loss_and_reordering);
    TESTING_MAIN_END;
}
