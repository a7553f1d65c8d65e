#include "server/model/face_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/model/lookup.h"

// Names of one meaning stand in one row. Then what may stand for a row that a model lacks.
enum { NAMES_MAX = 5, SHARES_MAX = 6 };
static const struct row {
    const char *names[NAMES_MAX]; // the first: ARKit's where it has one; its second spelling (_L,
                                  // _R) need not be listed
} rows[] = {
    {{"browDownLeft", "BrowLowererLeft"}},
    {{"browDownRight", "BrowLowererRight"}},
    {{"browInnerUp", "BrowUp"}},
    {{"browOuterUpLeft"}},
    {{"browOuterUpRight"}},
    {{"cheekPuff", "CheekPuffSuck"}},
    {{"cheekSquintLeft"}},
    {{"cheekSquintRight"}},
    {{"eyeBlinkLeft", "EyeClosedLeft", "blinkLeft", "Blink_L"}},
    {{"eyeBlinkRight", "EyeClosedRight", "blinkRight", "Blink_R"}},
    {{"eyeLookDownLeft"}},
    {{"eyeLookDownRight"}},
    {{"eyeLookInLeft"}},
    {{"eyeLookInRight"}},
    {{"eyeLookOutLeft"}},
    {{"eyeLookOutRight"}},
    {{"eyeLookUpLeft"}},
    {{"eyeLookUpRight"}},
    {{"eyeSquintLeft"}},
    {{"eyeSquintRight"}},
    {{"eyeWideLeft"}},
    {{"eyeWideRight"}},
    {{"jawForward"}},
    {{"jawLeft"}},
    {{"jawOpen"}},
    {{"jawRight"}},
    {{"mouthClose", "MouthClosed"}},
    {{"mouthDimpleLeft"}},
    {{"mouthDimpleRight"}},
    {{"mouthFrownLeft", "MouthSadLeft"}},
    {{"mouthFrownRight", "MouthSadRight"}},
    {{"mouthFunnel", "LipFunnel"}},
    {{"mouthLeft"}},
    {{"mouthLowerDownLeft"}},
    {{"mouthLowerDownRight"}},
    {{"mouthPressLeft"}},
    {{"mouthPressRight"}},
    {{"mouthPucker", "LipPucker"}},
    {{"mouthRight"}},
    {{"mouthRollLower", "LipSuckLower"}},
    {{"mouthRollUpper", "LipSuckUpper"}},
    {{"mouthShrugLower", "MouthRaiserLower"}},
    {{"mouthShrugUpper", "MouthRaiserUpper"}},
    {{"mouthSmileLeft", "MouthCornerPullLeft"}},
    {{"mouthSmileRight", "MouthCornerPullRight"}},
    {{"mouthStretchLeft"}},
    {{"mouthStretchRight"}},
    {{"mouthUpperUpLeft"}},
    {{"mouthUpperUpRight"}},
    {{"noseSneerLeft"}},
    {{"noseSneerRight"}},
    {{"tongueOut"}},
    // VRM 1.0, 0.x, visemes
    {{"happy", "Joy"}},
    {{"angry"}},
    {{"sad", "Sorrow"}},
    {{"relaxed", "Fun"}},
    {{"surprised"}},
    {{"neutral", "sil"}},
    {{"blink", "EyesClosed", "EyeClosed"}},
    {{"lookUp"}},
    {{"lookDown"}},
    {{"lookLeft"}},
    {{"lookRight"}},
    {{"aa", "A"}},
    {{"ih", "I"}},
    {{"ou", "U"}},
    {{"ee", "E"}},
    {{"oh", "O"}},
    {{"PP"}},
    {{"FF"}},
    {{"TH"}},
    {{"DD"}},
    {{"kk"}},
    {{"CH"}},
    {{"SS"}},
    {{"nn"}},
    {{"RR"}},
    // Unified Expressions finer or coarser than ARKit
    {{"BrowPinchLeft"}},
    {{"BrowPinchRight"}},
    {{"BrowInnerUpLeft"}},
    {{"BrowInnerUpRight"}},
    {{"BrowUpLeft"}},
    {{"BrowUpRight"}},
    {{"CheekPuffLeft"}},
    {{"CheekPuffRight"}},
    {{"MouthCornerSlantLeft"}},
    {{"MouthCornerSlantRight"}},
    {{"LipPuckerUpperLeft"}},
    {{"LipPuckerUpperRight"}},
    {{"LipPuckerLowerLeft"}},
    {{"LipPuckerLowerRight"}},
    {{"LipFunnelUpperLeft"}},
    {{"LipFunnelUpperRight"}},
    {{"LipFunnelLowerLeft"}},
    {{"LipFunnelLowerRight"}},
    {{"LipSuckUpperLeft"}},
    {{"LipSuckUpperRight"}},
    {{"LipSuckLowerLeft"}},
    {{"LipSuckLowerRight"}},
    {{"MouthUpperLeft"}},
    {{"MouthUpperRight"}},
    {{"MouthLowerLeft"}},
    {{"MouthLowerRight"}},
};

// The first whose parts a model has, all of them, stands for the row of `name`.
static const struct stand_in {
    const char *name;
    struct {
        const char *name;
        float share;
    } parts[SHARES_MAX];
} stand_ins[] = {
    {"blink", {{"eyeBlinkLeft", 1}, {"eyeBlinkRight", 1}}},
    {"eyeBlinkLeft", {{"blink", 0.5F}}},
    {"eyeBlinkRight", {{"blink", 0.5F}}},
    {"lookUp", {{"eyeLookUpLeft", 1}, {"eyeLookUpRight", 1}}},
    {"lookDown", {{"eyeLookDownLeft", 1}, {"eyeLookDownRight", 1}}},
    {"lookLeft", {{"eyeLookOutLeft", 1}, {"eyeLookInRight", 1}}},
    {"lookRight", {{"eyeLookInLeft", 1}, {"eyeLookOutRight", 1}}},
    {"eyeLookUpLeft", {{"lookUp", 0.5F}}},
    {"eyeLookUpRight", {{"lookUp", 0.5F}}},
    {"eyeLookDownLeft", {{"lookDown", 0.5F}}},
    {"eyeLookDownRight", {{"lookDown", 0.5F}}},
    {"eyeLookOutLeft", {{"lookLeft", 0.5F}}},
    {"eyeLookInRight", {{"lookLeft", 0.5F}}},
    {"eyeLookInLeft", {{"lookRight", 0.5F}}},
    {"eyeLookOutRight", {{"lookRight", 0.5F}}},
    {"happy",
     {{"mouthSmileLeft", 1},
      {"mouthSmileRight", 1},
      {"cheekSquintLeft", 0.5F},
      {"cheekSquintRight", 0.5F}}},
    {"angry",
     {{"browDownLeft", 1},
      {"browDownRight", 1},
      {"noseSneerLeft", 0.4F},
      {"noseSneerRight", 0.4F},
      {"mouthFrownLeft", 0.4F},
      {"mouthFrownRight", 0.4F}}},
    {"sad", {{"browInnerUp", 0.9F}, {"mouthFrownLeft", 0.8F}, {"mouthFrownRight", 0.8F}}},
    {"relaxed",
     {{"eyeBlinkLeft", 0.4F},
      {"eyeBlinkRight", 0.4F},
      {"mouthSmileLeft", 0.4F},
      {"mouthSmileRight", 0.4F}}},
    {"surprised",
     {{"eyeWideLeft", 0.9F}, {"eyeWideRight", 0.9F}, {"browInnerUp", 0.8F}, {"jawOpen", 0.4F}}},
    {"mouthSmileLeft", {{"happy", 0.5F}}},
    {"mouthSmileRight", {{"happy", 0.5F}}},
    {"mouthFrownLeft", {{"sad", 0.5F}}},
    {"mouthFrownRight", {{"sad", 0.5F}}},
    {"browDownLeft", {{"angry", 0.5F}}},
    {"browDownRight", {{"angry", 0.5F}}},
    {"aa", {{"jawOpen", 0.6F}}},
    {"ih", {{"jawOpen", 0.2F}, {"mouthStretchLeft", 0.4F}, {"mouthStretchRight", 0.4F}}},
    {"ou", {{"mouthPucker", 0.8F}, {"jawOpen", 0.15F}}},
    {"ee", {{"mouthSmileLeft", 0.4F}, {"mouthSmileRight", 0.4F}, {"jawOpen", 0.2F}}},
    {"oh", {{"mouthFunnel", 0.6F}, {"jawOpen", 0.4F}}},
    {"jawOpen", {{"aa", 1}}},
    {"mouthPucker", {{"ou", 1}}},
    {"mouthFunnel", {{"oh", 0.6F}}},
    {"mouthStretchLeft", {{"ih", 0.5F}}},
    {"mouthStretchRight", {{"ih", 0.5F}}},
    {"PP",
     {{"mouthPressLeft", 0.6F},
      {"mouthPressRight", 0.6F},
      {"mouthRollLower", 0.3F},
      {"mouthRollUpper", 0.3F}}},
    {"FF", {{"mouthRollLower", 0.6F}, {"mouthUpperUpLeft", 0.3F}, {"mouthUpperUpRight", 0.3F}}},
    {"TH", {{"jawOpen", 0.15F}, {"tongueOut", 0.3F}}},
    {"TH", {{"jawOpen", 0.2F}}},
    {"DD",
     {{"jawOpen", 0.12F},
      {"mouthUpperUpLeft", 0.2F},
      {"mouthUpperUpRight", 0.2F},
      {"mouthLowerDownLeft", 0.2F},
      {"mouthLowerDownRight", 0.2F}}},
    {"kk", {{"jawOpen", 0.2F}, {"mouthStretchLeft", 0.15F}, {"mouthStretchRight", 0.15F}}},
    {"CH", {{"mouthFunnel", 0.6F}, {"jawOpen", 0.1F}}},
    {"SS", {{"mouthStretchLeft", 0.4F}, {"mouthStretchRight", 0.4F}, {"jawOpen", 0.05F}}},
    {"nn", {{"jawOpen", 0.12F}}},
    {"RR", {{"mouthFunnel", 0.35F}, {"jawOpen", 0.12F}}},
    {"BrowPinchLeft", {{"browDownLeft", 0.5F}}},
    {"BrowPinchRight", {{"browDownRight", 0.5F}}},
    {"BrowInnerUpLeft", {{"browInnerUp", 0.5F}}},
    {"BrowInnerUpRight", {{"browInnerUp", 0.5F}}},
    {"browInnerUp", {{"browInnerUp_L", 1}, {"browInnerUp_R", 1}}},
    {"BrowUpLeft", {{"browInnerUp", 0.5F}, {"browOuterUpLeft", 1}}},
    {"BrowUpRight", {{"browInnerUp", 0.5F}, {"browOuterUpRight", 1}}},
    {"CheekPuffLeft", {{"cheekPuff", 0.5F}}},
    {"CheekPuffRight", {{"cheekPuff", 0.5F}}},
    {"cheekPuff", {{"cheekPuff_L", 1}, {"cheekPuff_R", 1}}},
    {"MouthCornerSlantLeft", {{"mouthSmileLeft", 0.3F}}},
    {"MouthCornerSlantRight", {{"mouthSmileRight", 0.3F}}},
    {"LipPuckerUpperLeft", {{"mouthPucker", 0.25F}}},
    {"LipPuckerUpperRight", {{"mouthPucker", 0.25F}}},
    {"LipPuckerLowerLeft", {{"mouthPucker", 0.25F}}},
    {"LipPuckerLowerRight", {{"mouthPucker", 0.25F}}},
    {"LipFunnelUpperLeft", {{"mouthFunnel", 0.25F}}},
    {"LipFunnelUpperRight", {{"mouthFunnel", 0.25F}}},
    {"LipFunnelLowerLeft", {{"mouthFunnel", 0.25F}}},
    {"LipFunnelLowerRight", {{"mouthFunnel", 0.25F}}},
    {"LipSuckUpperLeft", {{"mouthRollUpper", 0.5F}}},
    {"LipSuckUpperRight", {{"mouthRollUpper", 0.5F}}},
    {"LipSuckLowerLeft", {{"mouthRollLower", 0.5F}}},
    {"LipSuckLowerRight", {{"mouthRollLower", 0.5F}}},
    {"MouthUpperLeft", {{"mouthLeft", 0.5F}}},
    {"MouthLowerLeft", {{"mouthLeft", 0.5F}}},
    {"MouthUpperRight", {{"mouthRight", 0.5F}}},
    {"MouthLowerRight", {{"mouthRight", 0.5F}}},
};

enum {
    ROW_COUNT = sizeof rows / sizeof rows[0],
    FOR_COUNT = sizeof stand_ins / sizeof stand_ins[0]
};

static const char *without_prefix(const char *name)
{
    static const char *const prefixes[] = {"viseme_", "vrc.v_"};
    if (name[0] != 'v' && name[0] != 'V') return name; // most names, asked about very often
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncasecmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return name;
}

static bool names_one(const char *a, const char *b)
{
    a = without_prefix(a);
    b = without_prefix(b);
    return strcasecmp(a, b) == 0 || lookup_same_shape(a, b);
}

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        for (int k = 0; k < NAMES_MAX && rows[i].names[k]; k++)
            if (names_one(rows[i].names[k], name)) return &rows[i];
    return NULL;
}

// `name` is the table's own.
static bool is_of_row(const struct row *row, const char *name)
{
    for (int k = 0; k < NAMES_MAX && row->names[k]; k++)
        if (strcmp(row->names[k], name) == 0) return true;
    return false;
}

// The model's own thing of exactly this name, else of a name that is the same to people.
static bool find_own(const struct model *m, const char *name, bool exactly, uint32_t *id)
{
    for (uint32_t i = 0; i < m->expressions_count; i++) {
        const char *own = model_text(m, m->expressions[i].name);
        if (exactly ? strcmp(own, name) == 0 : names_one(own, name)) {
            *id = (uint32_t)m->shapes_count + i;
            return true;
        }
    }
    for (uint32_t i = 0; i < m->shapes_count; i++) {
        const char *own = model_text(m, m->shapes[i].name);
        if (exactly ? strcmp(own, name) == 0 : *own && names_one(own, name)) {
            *id = i;
            return true;
        }
    }
    return false;
}

// By name, or by another name of its row.
static bool find_meaning(const struct model *m, const char *name, const struct row *row,
                         uint32_t *id)
{
    if (find_own(m, name, true, id) || find_own(m, name, false, id)) return true;
    for (int k = 0; row && k < NAMES_MAX && row->names[k]; k++)
        if (find_own(m, row->names[k], false, id)) return true;
    return false;
}

static bool stand_in(const struct model *m, const struct stand_in *s, struct face_parts *out)
{
    struct face_parts found = {0};
    for (int k = 0; k < SHARES_MAX && s->parts[k].name; k++) {
        uint32_t id;
        const char *name = s->parts[k].name;
        if (!find_meaning(m, name, row_of(name), &id)) return false;
        found.parts[found.count++] = (struct face_part){id, s->parts[k].share};
    }
    *out = found;
    return true;
}

static bool find_any(const struct model *m, const char *name, const struct row *row,
                     struct face_parts *out)
{
    uint32_t id;
    if (find_meaning(m, name, row, &id)) {
        *out = (struct face_parts){1, {{id, 1}}};
        return true;
    }
    for (size_t i = 0; row && i < FOR_COUNT; i++)
        if (is_of_row(row, stand_ins[i].name) && stand_in(m, &stand_ins[i], out)) return true;
    return false;
}

enum err face_names_find(const struct model *m, const char *name, const char *where,
                         struct face_parts *out, struct fault *fault)
{
    uint32_t id, same = 0;
    for (uint32_t i = 0; i < m->expressions_count; i++)
        if (strcmp(model_text(m, m->expressions[i].name), name) == 0) {
            *out = (struct face_parts){1, {{(uint32_t)m->shapes_count + i, 1}}};
            return ERR_OK;
        }
    for (uint32_t i = 0; i < m->shapes_count; i++)
        same += strcmp(model_text(m, m->shapes[i].name), name) == 0;
    if (same == 0 && name[0] != '#' && find_any(m, name, row_of(name), out)) return ERR_OK;
    enum err e = lookup_name(m, LOOKUP_SHAPE, name, where, &id, fault);
    if (e == ERR_OK) *out = (struct face_parts){1, {{id, 1}}};
    return e;
}

const char *face_names_next(const struct model *m, uint32_t *at, struct face_parts *out)
{
    if (m->shapes_count + m->expressions_count == 0) return NULL;
    while (*at < ROW_COUNT * NAMES_MAX) {
        const struct row *row = &rows[*at / NAMES_MAX];
        const char *name = row->names[*at % NAMES_MAX];
        uint32_t own;
        (*at)++;
        if (name && !find_own(m, name, true, &own) && find_any(m, name, row, out)) return name;
    }
    return NULL;
}
