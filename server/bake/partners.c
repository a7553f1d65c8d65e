#include "server/bake/partners.h"

#include <stdio.h>
#include <string.h>

static bool swap_word(const char *name, const char *from, const char *to, char *out,
                      size_t out_bytes)
{
    const char *at = strstr(name, from);
    if (!at) return false;
    int n = snprintf(out, out_bytes, "%.*s%s%s", (int)(at - name), name, to, at + strlen(from));
    return n > 0 && (size_t)n < out_bytes;
}

static bool swap_ending(const char *name, const char *from, const char *to, char *out,
                        size_t out_bytes)
{
    size_t n = strlen(name), k = strlen(from);
    if (n <= k || strcmp(name + n - k, from) != 0) return false;
    int written = snprintf(out, out_bytes, "%.*s%s", (int)(n - k), name, to);
    return written > 0 && (size_t)written < out_bytes;
}

static uint32_t node_called(const struct model *m, const char *name)
{
    for (uint32_t i = 0; i < m->nodes_count; i++)
        if (strcmp(model_text(m, m->nodes[i].name), name) == 0) return i;
    return UINT32_MAX;
}

// The VRM humanoid says which joint is which, whatever they are called.
static uint32_t bone_across(const struct model *m, uint32_t node)
{
    char other[64];
    for (size_t i = 0; i < m->bones_count; i++) {
        const char *bone = model_text(m, m->bones[i].bone);
        if (m->bones[i].node != node || (!swap_word(bone, "left", "right", other, sizeof other) &&
                                         !swap_word(bone, "right", "left", other, sizeof other)))
            continue;
        for (size_t n = 0; n < m->bones_count; n++)
            if (strcmp(model_text(m, m->bones[n].bone), other) == 0) return m->bones[n].node;
    }
    return UINT32_MAX;
}

static bool swap_beginning(const char *name, const char *from, const char *to, char *out,
                           size_t out_bytes)
{
    size_t k = strlen(from);
    if (strncmp(name, from, k) != 0) return false;
    int written = snprintf(out, out_bytes, "%s%s", to, name + k);
    return written > 0 && (size_t)written < out_bytes;
}

static uint32_t partner_of(const struct model *m, uint32_t node)
{
    static const struct {
        bool (*swap)(const char *, const char *, const char *, char *, size_t);
        const char *sides[2];
    } ways[] = {
        {swap_word, {"Left", "Right"}}, {swap_word, {"left", "right"}},
        {swap_word, {"LEFT", "RIGHT"}}, {swap_ending, {"_L", "_R"}},
        {swap_ending, {"_l", "_r"}},    {swap_ending, {".L", ".R"}},
        {swap_ending, {".l", ".r"}},    {swap_ending, {"-L", "-R"}},
        {swap_ending, {"-l", "-r"}},    {swap_ending, {" L", " R"}},
        {swap_word, {"_L_", "_R_"}},    {swap_word, {"_l_", "_r_"}},
        {swap_word, {".L.", ".R."}},    {swap_word, {" L ", " R "}},
        {swap_beginning, {"L_", "R_"}}, {swap_beginning, {"l_", "r_"}},
    };
    const char *name = model_text(m, m->nodes[node].name);
    char other[256];
    uint32_t bone = bone_across(m, node);
    if (bone != UINT32_MAX) return bone;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        for (int side = 0; side < 2; side++)
            if (ways[i].swap(name, ways[i].sides[side], ways[i].sides[!side], other,
                             sizeof other) &&
                node_called(m, other) != UINT32_MAX)
                return node_called(m, other);
    return node; // on the middle
}

enum err mirror_partners(struct builder *b, const uint32_t **out)
{
    const struct model *m = &b->model;
    uint32_t *partners = BUILDER_ARRAY(b, uint32_t, m->nodes_count);
    if (!partners) return builder_no_memory(b);
    for (uint32_t i = 0; i < m->nodes_count; i++)
        partners[i] = partner_of(m, i);
    for (uint32_t i = 0; i < m->nodes_count; i++) // several may name one: it keeps to its own
        if (partners[partners[i]] != i) partners[i] = i;
    *out = partners;
    return ERR_OK;
}
