#include "client/cli/script.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/script_inputs.h"
#include "common/file.h"
#include "common/json_guard.h"

enum { SCRIPT_BYTES_MAX = 64 << 20, LINE_BYTES_MAX = 1 << 20, LINES_MAX = 1 << 20 };

void script_close(struct script *s)
{
    for (size_t i = 0; i < s->count; i++)
        cJSON_Delete(s->lines[i].json);
    free(s->lines);
    *s = (struct script){0};
}

static enum err check_line(struct script_line *line, struct fault *fault)
{
    bool timed = false;
    if (!cJSON_IsObject(line->json))
        return fault_set(fault, ERR_MALFORMED, "script line %u: must be a JSON object",
                         line->number);
    const cJSON *item;
    cJSON_ArrayForEach(item, line->json)
    {
        if (strcmp(item->string, "t_s") == 0) {
            line->t_s = cJSON_IsNumber(item) ? item->valuedouble : -1;
            if (!(line->t_s >= 0 && line->t_s <= 1e9))
                return fault_set(fault, ERR_MALFORMED,
                                 "script line %u: t_s: must be seconds from 0", line->number);
            timed = true;
        } else {
            struct fault inner = {0};
            enum err e = script_inputs_check(item, &inner);
            if (e) return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
        }
    }
    if (timed) return ERR_OK;
    return fault_set(fault, ERR_MALFORMED, "script line %u: t_s is missing", line->number);
}

static int by_time(const void *a, const void *b)
{
    const struct script_line *x = a, *y = b;
    if (x->t_s < y->t_s) return -1;
    if (x->t_s > y->t_s) return 1;
    return x->number < y->number ? -1 : 1;
}

static bool is_blank(const char *text, size_t size)
{
    return strspn(text, " \t\r\n") >= size;
}

static enum err add_line(struct script *s, const char *text, size_t size, uint32_t number,
                         struct fault *fault)
{
    struct json_limits limits = json_limits_for(LINE_BYTES_MAX);
    struct script_line line = {.number = number};
    struct fault inner = {0};
    if (is_blank(text, size)) return ERR_OK;
    struct script_line *grown = realloc(s->lines, (s->count + 1) * sizeof *grown);
    if (!grown) return fault_set(fault, ERR_MEMORY, "no memory for the script");
    s->lines = grown;
    enum err e = json_parse(text, size, &limits, &line.json, &inner);
    if (e) return fault_set(fault, e, "script line %u: %.300s", number, inner.line);
    s->lines[s->count++] = line;
    return check_line(&s->lines[s->count - 1], fault);
}

enum err script_open(const char *path, struct script *out, struct fault *fault)
{
    uint8_t *bytes;
    size_t size;
    struct script s = {0};
    uint32_t number = 0;
    enum err e = file_read(path, SCRIPT_BYTES_MAX, &bytes, &size, fault);
    if (e) return e;
    const char *text = (const char *)bytes;
    for (size_t at = 0; e == ERR_OK && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        if (++number > LINES_MAX)
            e = fault_set(fault, ERR_LIMIT, "%s has more than %d lines", path, LINES_MAX);
        else
            e = add_line(&s, text + at, length, number, fault);
        at += length + 1;
    }
    free(bytes);
    if (e) {
        script_close(&s);
        return e;
    }
    if (s.count > 1) qsort(s.lines, s.count, sizeof *s.lines, by_time);
    *out = s;
    return ERR_OK;
}

_Bool script_needs_catalogue(const struct script_line *line)
{
    return cJSON_GetObjectItemCaseSensitive(line->json, "face") ||
           cJSON_GetObjectItemCaseSensitive(line->json, "customise");
}

enum err script_send(const struct script_line *line, const struct script_sender *to,
                     struct fault *fault)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, line->json)
    {
        uint32_t sequence = 0;
        struct fault inner = {0};
        if (strcmp(item->string, "t_s") == 0) continue;
        enum err e = script_inputs_send(to->client, item, &sequence, &inner);
        if (e) return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
        to->on_sent(to->owner, sequence, item);
    }
    return ERR_OK;
}
