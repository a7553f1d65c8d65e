#pragma once
#include "proto/appearance_message.h"
#include "proto/frame_message.h"
#include "proto/hello.h"
#include "proto/input_messages.h"
#include "proto/messages.h"
#include "proto/pose_message.h"
#include "proto/session_messages.h"
#include "proto/stream_codes.h"
#include "proto/surface/codec.h"
#include "proto/surface_message.h"
#include "tests/testing.h"

// One sample of every message with every field in use: what the golden bytes are made from. The
// bytes are the public contract; a change of theirs is a change of protocol.

static inline struct hello sample_hello(void)
{
    return (struct hello){.major = MESSAGES_MAJOR,
                          .minor = MESSAGES_MINOR,
                          .client = "sinew 0.1.0",
                          .role = "player",
                          .token = "Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm8",
                          .scene = "lobby",
                          .character = "Fox",
                          .name = "Ann",
                          .quality = {14, 60, 0, 16, false},
                          .capabilities = HELLO_CAN_ZSTD | HELLO_CAN_LOD | HELLO_CAN_APPLIED,
                          .last_frame = 77};
}
static inline struct hello_welcome sample_welcome(void)
{
    static const char bindings[] = "{\"key:KeyE\":\"wave\",\"mouse:button0\":\"goto\"}";
    return (struct hello_welcome){.major = MESSAGES_MAJOR,
                                  .minor = MESSAGES_MINOR,
                                  .server = "sinewd 0.1.0",
                                  .session = "s-17",
                                  .resume = "cmVzdW1lcmVzdW1lcmVzdW1lcmVzdW1lcmVzdW1lcmU",
                                  .resume_s = 30,
                                  .scene = "lobby",
                                  .scene_id = 3,
                                  .character = "Fox",
                                  .actor = 9,
                                  .tick_hz = 60,
                                  .quality = {14, 60, 0, 16, false},
                                  .capabilities = HELLO_CAN_ZSTD | HELLO_CAN_RESUME,
                                  .heartbeat_ms = 5000,
                                  .ack_hz = 10,
                                  .tick = 123456789,
                                  .server_time_us = UINT64_C(9876543210),
                                  .resumed = true,
                                  .bindings = bindings,
                                  .bindings_bytes = sizeof bindings - 1};
}
static inline struct session_note sample_note(void)
{
    return (struct session_note){.code = STREAM_RESTART,
                                 .message_type = 0,
                                 .fatal = 1,
                                 .subject = 5,
                                 .retry_ms = 1500,
                                 .text = "back soon — bis gleich"};
}
static inline struct session_ack sample_ack(void)
{
    return (struct session_ack){.client_time_us = 1000000,
                                .offset_us = -250,
                                .rtt_us = 800,
                                .queue_count = 2,
                                .entry_count = 2,
                                .entries = {{9, 41, 999000, 999800}, {10, 40, 998000, 0}}};
}
static inline struct session_want sample_want(void)
{
    struct session_want want = {.hash_count = 2};
    for (int i = 0; i < 2 * SESSION_HASH_BYTES; i++)
        want.hashes[i / SESSION_HASH_BYTES][i % SESSION_HASH_BYTES] = (uint8_t)(i * 7);
    return want;
}
static inline struct input_control sample_control(void)
{
    static const char gesture[] = "{\"hand\":\"left\"}";
    return (struct input_control){
        .head = {11, 5000000},
        .fields = INPUT_MOVE | INPUT_LOOK | INPUT_TRIGGERS | INPUT_GOTO | INPUT_VIEW,
        .move = {0.25f, 1},
        .look = {-0.5f, 0},
        .triggers = {0, 0.75f},
        .go_to = {12.5f, -3},
        .view = {0.6f, 0, -0.8f},
        .event_count = 3,
        .root_count = 1,
        .muscle_count = 1,
        .events = {{7, INPUT_PRESS, "jump", 0, NULL},
                   {8, INPUT_RELEASE, "jump", 0, NULL},
                   {9, INPUT_GESTURE, "wave", sizeof gesture - 1, gesture}},
        .roots = {{"tail", "swing", INPUT_ROOT_SPEED | INPUT_ROOT_WEIGHT, 1.5f, 0.5f, 0}},
        .muscles = {{"biceps_l", 0.625f}}};
}
static inline struct input_sensor sample_sensor(void)
{
    struct input_sensor s = {
        .head = {12, 5016000},
        .sample_time_us = 5015000,
        .device_count = 2,
        .hand_count = 2,
        .devices = {{INPUT_DEVICE_head,
                     INPUT_POSITION_VALID | INPUT_ROTATION_VALID | INPUT_TRACKED,
                     {0, 1.7f, 0},
                     {0, 0, 0, 1},
                     {0},
                     {0}},
                    {INPUT_DEVICE_hand_l,
                     INPUT_POSITION_VALID | INPUT_VELOCITY_VALID,
                     {-0.25f, 1, -0.5f},
                     {0},
                     {0, 0.5f, 0},
                     {0}}},
        .hands = {{.side = 0, .fields = INPUT_HAND_CURL, .curl = {0, 1, 0.5f, 0.25f, 0}},
                  {.side = 1, .fields = INPUT_HAND_JOINTS_SET}}};
    for (int i = 0; i < INPUT_HAND_JOINTS; i++)
        s.hands[1].rotation[i][3] = 1;
    return s;
}
static inline struct input_values sample_values(void)
{
    return (struct input_values){
        .head = {13, 5020000}, .value_count = 3, .values = {{0, 0.5f}, {17, -1}, {51, 1}}};
}
static inline struct input_place sample_place(void)
{
    return (struct input_place){.head = {15, 5050000},
                                .fields =
                                    INPUT_PLACE_POSITION | INPUT_PLACE_YAW | INPUT_PLACE_SCALE,
                                .position = {1, 0, -2},
                                .yaw_rad = 1.5f,
                                .scale = 1.25f};
}
static inline void sample_pose(struct pose_message *pose)
{
    *pose = (struct pose_message){
        .head = {14, 5030000}, .clip = "Walk", .time_s = 0.5f, .joint_count = 2};
    pose->joints[0] = (struct pose_joint){.name = "humanoid:hips",
                                          .fields = POSE_ROTATION | POSE_TRANSLATION,
                                          .rotation = {0, 0.5f, 0, 0.75f},
                                          .translation = {0, 1, 0},
                                          .scale = {1, 1, 1}};
    pose->joints[1] = (struct pose_joint){
        .name = "#12", .fields = POSE_SCALE, .rotation = {0, 0, 0, 1}, .scale = {1, 2, 1}};
}
static inline struct frame_message sample_frame(void)
{
    static const uint8_t payload[] = {0, 0x08, 0, 0, 2, 4, 6, 8};
    return (struct frame_message){.scene = 3,
                                  .actor = 9,
                                  .model = 2,
                                  .model_version = 5,
                                  .tick = 123456800,
                                  .server_time_us = UINT64_C(9876600000),
                                  .input_sequence = 15,
                                  .frame = 42,
                                  .anchor = 40,
                                  .codec = SURFACE_CODEC_GRID,
                                  .bits = 14,
                                  .lod = 1,
                                  .flags = FRAME_ANCHOR,
                                  .translation = {1, 0, -2},
                                  .rotation = {0, 0, 0, 1},
                                  .scale = 1.25f,
                                  .origin = {-1, 0, -1},
                                  .step = 0.000125f,
                                  .vertex_count = 4,
                                  .payload_bytes = sizeof payload,
                                  .payload = payload};
}

// A folded quad strip of two parts, with one coarser detail.
static inline struct surface_message_source sample_surface(void)
{
    static const struct surface_part parts[2] = {
        {4, 1, 0, 0, SURFACE_TRIANGLES, 0, 4, 0, 6, 0},
        {4, 1, 1, UINT32_MAX, SURFACE_LINES, 4, 2, 6, 2, 0}};
    static const struct surface_part coarse_parts[2] = {
        {4, 1, 0, 0, SURFACE_TRIANGLES, 0, 4, 0, 3, 0},
        {4, 1, 1, UINT32_MAX, SURFACE_LINES, 4, 2, 3, 2, 0}};
    static const uint32_t indices[8] = {0, 1, 2, 2, 1, 3, 4, 5}, coarse[5] = {0, 1, 2, 3, 4};
    static const uint32_t vertices[6] = {1, 0, 2, 3, 5, 4}, coarse_vertices[5] = {0, 1, 3, 4, 5};
    static uint16_t predictors[6 * 8], coarse_predictors[5 * 8]; // filled alike on every call
    static const float uvs[12] = {0, 0, 1, 0, 0, 1, 1, 1, 0.5f, 0.25f, -2, 3};
    static const uint8_t colors[24] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 128};
    if (surface_predictors_make(indices, 6, NULL, 6, predictors) ||
        surface_predictors_make(coarse, 3, NULL, 5, coarse_predictors))
        abort();
    return (struct surface_message_source){
        .model = 2,
        .version = 5,
        .unit_m = 0.01f,
        .box_min = {-1, 0, -1},
        .box_max = {1, 2, 1},
        .hash = UINT64_C(0x1122334455667788),
        .lod_count = 2,
        .lods = {{6, 8, 2, 0, parts, indices, vertices, predictors},
                 {5, 5, 2, 0.125f, coarse_parts, coarse, coarse_vertices, coarse_predictors}},
        .uv_set_count = 1,
        .color_set_count = 1,
        .uvs = {uvs},
        .colors = {colors}};
}
static inline struct appearance_material sample_material(void)
{
    struct appearance_material m = {.name = "fur",
                                    .alpha = APPEARANCE_MASK,
                                    .flags = APPEARANCE_DOUBLE_SIDED,
                                    .base_color = {1, 0.5f, 0.25f, 1},
                                    .emissive = {0, 0, 0.5f},
                                    .metallic = 0,
                                    .roughness = 0.75f,
                                    .alpha_cutoff = 0.5f};
    m.textures[APPEARANCE_BASE_COLOR] =
        (struct appearance_texture){.hash = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                                    .size_bytes = 4321,
                                    .wrap_s = APPEARANCE_CLAMP,
                                    .scale = {1, 1},
                                    .strength = 1};
    return m;
}
static inline struct appearance_chunk sample_chunk(void)
{
    static const uint8_t bytes[] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0};
    return (struct appearance_chunk){
        .hash = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        .total_bytes = 4321,
        .first_byte = 100,
        .mime = APPEARANCE_PNG,
        .size_bytes = sizeof bytes,
        .bytes = bytes};
}
