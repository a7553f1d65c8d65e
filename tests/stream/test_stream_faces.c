// What a peer sends of faces and customisation: what does not fit is told in a line, the rest is
// used, the stream goes on, and nothing grows.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "proto/input_messages.h"
#include "proto/wire.h"
#include "tests/stream/world.h"
#include "tests/testing.h"

int testing_failures;

static struct world w;
static struct client c;

// Mira's face and one parameter of each kind. Ids are places in this list; her bones would follow.
static bool write_character(const char *folder, char path[256])
{
    static const char rig[] =
        "{\"sinew_rig\": 1, \"source\": \"mira.glb\", \"unit_m\": 1, \"face\": {\"parameters\": ["
        "{\"name\": \"nose_lift\", \"group\": \"nose\", \"kind\": \"shape\", \"range\": [-1, 1],"
        " \"joints\": {\"nose\": {\"translation\": [0, 0.004, 0.001]}}},"
        "{\"name\": \"skin_tone\", \"kind\": \"appearance\", \"material\": \"skin\","
        " \"property\": \"baseColorFactor\", \"from\": [1, 0.9, 0.8, 1], \"to\": [0.4, 0.2, 0.1, "
        "1]},"
        "{\"name\": \"smile\", \"kind\": \"expression\", \"shapes\": {\"mouthSmileLeft\": 1}}]}}";
    char command[512];
    snprintf(command, sizeof command, "cp tests/assets/characters/mira.glb %s/", folder);
    snprintf(path, 256, "%s/mira.rig.json", folder);
    return system(command) == 0 &&
           file_write_atomic(path, (const uint8_t *)rig, sizeof rig - 1, NULL) == ERR_OK;
}

static char folder[64];

static bool begin(const struct hello *hello)
{
    char path[256];
    snprintf(folder, sizeof folder, "/tmp/sinew-test-faces-XXXXXX");
    return mkdtemp(folder) && write_character(folder, path) && world_open(&w, path, NULL) &&
           world_join(&w, &c, CLIENT_WS, hello, 3);
}

static void end(void)
{
    char command[128];
    EXPECT(world_wait_frames(&w, &c, client_own(&c)->frame_count + 5, 3000));
    EXPECT(!c.eof && !c.got_bye);
    world_close(&w);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    EXPECT(system(command) == 0);
}

// Written by hand: encoders refuse what these tests send.
static void send_values(uint8_t type, const uint16_t *ids, const float *values, uint32_t count)
{
    static uint8_t bytes[65536];
    struct wire_writer out = wire_write(bytes, sizeof bytes);
    size_t begun = messages_begin(&out, type);
    wire_put_u32(&out, ++c.sequence);
    wire_put_u32(&out, 0);
    wire_put_u64(&out, 1);
    wire_put_u32(&out, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        wire_put_u16(&out, ids[i]);
        wire_put_u16(&out, 0);
        wire_put_u32(&out, bits);
    }
    messages_end(&out, begun);
    client_send(&c, bytes, wire_size(&out));
    c.note_count = 0;
    world_run(&w, 120);
}

static bool told(uint16_t code, uint8_t type, const char *part)
{
    const struct session_note *note = client_note(&c, code);
    if (!note) return false;
    printf("  \"%s\"\n", note->text);
    return note->message_type == type && !note->fatal && strstr(note->text, part);
}

static void positions_now(float *out, size_t count)
{
    world_run(&w, 200);
    EXPECT(client_positions(&c, client_own(&c)->actor, out, count));
}

static void what_a_character_lacks_is_told_and_the_rest_is_used(void)
{
    static float before[3 * 20000], after[3 * 20000];
    EXPECT(begin(NULL));
    size_t count = client_own(&c)->vertex_count;
    client_pose_clip(&c, "", 0);
    positions_now(before, count);
    send_values(MESSAGE_CUSTOMISE, (const uint16_t[]){0, 60000}, (const float[]){1, 1}, 2);
    EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_CUSTOMISE, "no parameter 60000"));
    positions_now(after, count);
    double most = 0;
    for (size_t i = 0; i < 3 * count; i++)
        most = fmax(most, fabs((double)(after[i] - before[i])));
    EXPECT(most > 0.002 && most < 0.02); // the nose, 4 mm up
    send_values(MESSAGE_FACE, (const uint16_t[]){59999}, (const float[]){1}, 1);
    EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_FACE, "no shape or expression 59999"));
    end();
}

static void a_value_that_is_no_number_is_refused_whole(void)
{
    static float before[3 * 20000], after[3 * 20000];
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    EXPECT(begin(NULL));
    size_t count = client_own(&c)->vertex_count;
    client_pose_clip(&c, "", 0);
    positions_now(before, count);
    for (int i = 0; i < 3; i++) {
        send_values(MESSAGE_FACE, (const uint16_t[]){3, 4}, (const float[]){1, bad[i]}, 2);
        EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_FACE, "none was used"));
        send_values(MESSAGE_CUSTOMISE, (const uint16_t[]){0, 1}, (const float[]){1, bad[i]}, 2);
        EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_CUSTOMISE, "none was used"));
    }
    positions_now(after, count);
    EXPECT(memcmp(before, after, 3 * count * sizeof(float)) == 0);
    end();
}

static void ten_thousand_parameters_are_told_once_and_nothing_grows(void)
{
    enum { MANY = 7600, ROUNDS = 30 }; // what one message can hold; the rest in a second one
    static uint16_t ids[MANY];
    static float values[MANY];
    EXPECT(begin(NULL));
    for (uint32_t i = 0; i < MANY; i++) {
        ids[i] = (uint16_t)i;
        values[i] = 0.5f;
    }
    send_values(MESSAGE_CUSTOMISE, ids, values, MANY);
    EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_CUSTOMISE, "more than 1024 values"));
    send_values(MESSAGE_CUSTOMISE, ids, values, 10000 - MANY);
    EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_CUSTOMISE, "more than 1024 values"));
    send_values(MESSAGE_CUSTOMISE, ids, values, INPUT_VALUES_MAX);
    EXPECT(told(STREAM_INPUT_LEFT_OUT, MESSAGE_CUSTOMISE, "were left out"));
    size_t resident = world_resident_bytes();
    for (int i = 0; i < ROUNDS; i++) {
        send_values(MESSAGE_CUSTOMISE, ids, values, MANY);
        EXPECT(c.note_count <= 2);
    }
    long grown = (long)world_resident_bytes() - (long)resident;
    printf("  resident %+ld kB after %d more\n", grown / 1024, ROUNDS);
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    grown = 0; // it keeps what was freed
#endif
#endif
    EXPECT(grown < 4 << 20);
    end();
}

static void a_recipe_of_anothers_is_told_and_what_fits_is_worn(void)
{
    static const struct {
        const char *recipe, *said;
    } cases[] = {
        {"{\"sinew_recipe\": 1, \"character\": \"bob\", \"parameters\": {\"horns\": 1, "
         "\"nose_lift\": 1}}",
         "\"bob\", not of \"mira.rig\": 1 of its 2 values fit"},
        {"{\"sinew_recipe\": 1, \"parameters\": {\"horns\": 1}}", "the first is \"horns\""},
        {"{\"sinew_recipe\": 1, \"parameters\": {\"nose_lift\": \"high\"}}", "1 of the recipe's 1"},
        {"{\"sinew_recipe\": 9, \"parameters\": {}}", "version 1"},
        {"[1, 2", "the recipe: "},
        {"{}", "this is no recipe"},
    };
    EXPECT(begin(NULL));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hello hello = {.recipe = cases[i].recipe, .recipe_bytes = strlen(cases[i].recipe)};
        world_remove(&w, &c);
        EXPECT(world_join(&w, &c, CLIENT_WS, &hello, 3));
        EXPECT(told(STREAM_RECIPE_UNFIT, 0, cases[i].said));
    }
    end();
}

int main(void)
{
    RUN(what_a_character_lacks_is_told_and_the_rest_is_used);
    RUN(a_value_that_is_no_number_is_refused_whole);
    RUN(ten_thousand_parameters_are_told_once_and_nothing_grows);
    RUN(a_recipe_of_anothers_is_told_and_what_fits_is_worn);
    TESTING_MAIN_END;
}
