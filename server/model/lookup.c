#include "server/model/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static const char *const nouns[] = {"joint or node", "clip",      "shape",
                                    "material",      "parameter", "root"};

static size_t item_count(const struct model *m, enum lookup_kind kind)
{
    switch (kind) {
    case LOOKUP_NODE:
        return m->nodes_count;
    case LOOKUP_CLIP:
        return m->clips_count;
    case LOOKUP_SHAPE:
        return m->shapes_count;
    case LOOKUP_PARAMETER:
        return m->parameters_count;
    case LOOKUP_ROOT:
        return m->roots_count;
    default:
        return m->materials_count;
    }
}

static const char *item_name(const struct model *m, enum lookup_kind kind, size_t i)
{
    switch (kind) {
    case LOOKUP_NODE:
        return model_text(m, m->nodes[i].name);
    case LOOKUP_CLIP:
        return model_text(m, m->clips[i].name);
    case LOOKUP_SHAPE:
        return model_text(m, m->shapes[i].name);
    case LOOKUP_PARAMETER:
        return model_text(m, m->parameters[i].name);
    case LOOKUP_ROOT:
        return model_text(m, m->roots[i].name);
    default:
        return model_text(m, m->materials[i].name);
    }
}

// The N that `#N` takes: the glTF index, which only nodes number differently.
static uint32_t item_number(const struct model *m, enum lookup_kind kind, size_t i)
{
    return kind == LOOKUP_NODE ? m->nodes[i].source : (uint32_t)i;
}

static bool ends_with(const char *text, size_t length, const char *ending)
{
    size_t n = strlen(ending);
    return length >= n && memcmp(text + length - n, ending, n) == 0;
}

// "eyeBlinkLeft" and "eyeBlink_L" have one stem and one side.
static size_t split_side(const char *name, char *side)
{
    static const struct {
        const char *ending;
        char side;
    } endings[] = {{"Left", 'l'}, {"_L", 'l'}, {"Right", 'r'}, {"_R", 'r'}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (ends_with(name, length, endings[i].ending)) {
            *side = endings[i].side;
            return length - strlen(endings[i].ending);
        }
    *side = 0;
    return length;
}

bool lookup_same_shape(const char *a, const char *b)
{
    char side_a, side_b;
    size_t stem_a = split_side(a, &side_a), stem_b = split_side(b, &side_b);
    return side_a && side_a == side_b && stem_a == stem_b && memcmp(a, b, stem_a) == 0;
}

static bool exact(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

struct matches {
    uint32_t count, first;
};

static struct matches find(const struct model *m, enum lookup_kind kind, const char *name,
                           bool (*same)(const char *, const char *))
{
    struct matches found = {0};
    for (size_t i = 0; i < item_count(m, kind); i++)
        if (same(item_name(m, kind, i), name) && found.count++ == 0) found.first = (uint32_t)i;
    return found;
}

static void append(char *line, size_t line_bytes, const char *text)
{
    size_t used = strlen(line);
    (void)snprintf(line + used, line_bytes - used, "%s", text);
}

static void append_item(char *line, size_t line_bytes, const struct model *m, enum lookup_kind kind,
                        size_t i)
{
    char item[80];
    const char *name = item_name(m, kind, i);
    if (*name)
        (void)snprintf(item, sizeof item, "%s%.64s", *line ? ", " : "", name);
    else
        (void)snprintf(item, sizeof item, "%s#%u", *line ? ", " : "", item_number(m, kind, i));
    append(line, line_bytes, item);
}

enum { LIST_BYTES = 230 }; // leaves room in a fault's line for the rest of the sentence

static enum err not_found(const struct model *m, enum lookup_kind kind, const char *name,
                          const char *where, struct fault *fault)
{
    char list[LIST_BYTES + 90] = "";
    size_t i = 0, count = item_count(m, kind);
    for (; i < count && strlen(list) < LIST_BYTES - 40; i++)
        append_item(list, sizeof list, m, kind, i);
    if (count == 0)
        return fault_set(fault, ERR_NOT_FOUND, "%s: no %s \"%.60s\": the model has none", where,
                         nouns[kind], name);
    return fault_set(fault, ERR_NOT_FOUND, "%s: no %s \"%.60s\"; there are: %s%s", where,
                     nouns[kind], name, list, i < count ? ", ..." : "");
}

static enum err ambiguous(const struct model *m, enum lookup_kind kind, const char *name,
                          const char *where, struct fault *fault)
{
    char list[LIST_BYTES] = "";
    for (size_t i = 0; i < item_count(m, kind) && strlen(list) < LIST_BYTES - 20; i++) {
        char number[16];
        if (strcmp(item_name(m, kind, i), name) != 0) continue;
        (void)snprintf(number, sizeof number, "%s#%u", *list ? ", " : "", item_number(m, kind, i));
        append(list, sizeof list, number);
    }
    return fault_set(fault, ERR_AMBIGUOUS, "%s: several %ss are called \"%.60s\": say which by %s",
                     where, nouns[kind], name, list);
}

static bool parse_number(const char *text, uint32_t *out)
{
    char *end = NULL;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || value > UINT32_MAX) return false;
    *out = (uint32_t)value;
    return true;
}

static bool find_number(const struct model *m, enum lookup_kind kind, const char *name,
                        uint32_t *out)
{
    uint32_t number;
    if (name[0] != '#' || !parse_number(name + 1, &number)) return false;
    for (size_t i = 0; i < item_count(m, kind); i++)
        if (item_number(m, kind, i) == number) {
            *out = (uint32_t)i;
            return true;
        }
    return false;
}

// The VRM bone's node, or MODEL_NONE.
static int32_t find_bone(const struct model *m, const char *vrm_bone)
{
    for (size_t i = 0; i < m->bones_count; i++)
        if (strcmp(model_text(m, m->bones[i].bone), vrm_bone) == 0)
            return (int32_t)m->bones[i].node;
    return MODEL_NONE;
}

enum err lookup_name(const struct model *m, enum lookup_kind kind, const char *name,
                     const char *where, uint32_t *out, struct fault *fault)
{
    static const char humanoid[] = "humanoid:";
    struct matches found = find(m, kind, name, exact);
    if (found.count == 0 && find_number(m, kind, name, out)) return ERR_OK;
    if (found.count == 0 && kind == LOOKUP_NODE &&
        strncmp(name, humanoid, sizeof humanoid - 1) == 0) {
        int32_t node = find_bone(m, name + sizeof humanoid - 1);
        if (node == MODEL_NONE)
            return fault_set(fault, ERR_NOT_FOUND, "%s: no VRM bone \"%.60s\" in this model", where,
                             name + sizeof humanoid - 1);
        *out = (uint32_t)node;
        return ERR_OK;
    }
    if (found.count == 0 && kind == LOOKUP_SHAPE) found = find(m, kind, name, lookup_same_shape);
    if (found.count == 0) return not_found(m, kind, name, where, fault);
    if (found.count > 1) return ambiguous(m, kind, name, where, fault);
    *out = found.first;
    return ERR_OK;
}
