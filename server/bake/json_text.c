#include "server/bake/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json_text *t, const char *bytes, size_t count)
{
    if (t->doc->error != ERR_OK) return;
    if (t->capacity - t->length <= count) {
        size_t capacity = (t->capacity + count) * 2 + 1024;
        struct doc_at root = doc_root(t->doc);
        char *larger = DOC_SCRATCH(t->doc, &root, char, capacity);
        if (!larger) return;
        if (t->length) memcpy(larger, t->text, t->length);
        t->text = larger;
        t->capacity = capacity;
    }
    memcpy(t->text + t->length, bytes, count);
    t->length += count;
    t->text[t->length] = 0;
}

static void put_quoted(struct json_text *t, const char *text)
{
    put(t, "\"", 1);
    for (const char *c = text; *c; c++) {
        char escape[8];
        if (*c == '"' || *c == '\\')
            (void)snprintf(escape, sizeof escape, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*c);
        else
            (void)snprintf(escape, sizeof escape, "%c", *c);
        put(t, escape, strlen(escape));
    }
    put(t, "\"", 1);
}

static void begin(struct json_text *t, const char *key)
{
    char last = '[';
    if (t->length) last = t->text[t->length - 1];
    if (last != '{' && last != '[') put(t, ",", 1);
    if (!key) return;
    put_quoted(t, key);
    put(t, ":", 1);
}

void json_text_open(struct json_text *t, const char *key, char bracket)
{
    begin(t, key);
    put(t, &bracket, 1);
}

void json_text_close(struct json_text *t, char bracket)
{
    put(t, &bracket, 1);
}

void json_text_string(struct json_text *t, const char *key, const char *value)
{
    struct doc_at root = doc_root(t->doc);
    begin(t, key);
    put_quoted(t, doc_keep_text(t->doc, &root, value)); // mends what is not UTF-8
}

static void put_number(struct json_text *t, double value)
{
    char number[32];
    if (value == 0) value = 0;                    // no "-0"
    for (int digits = 6; digits <= 9; digits++) { // as few as say the same float
        (void)snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtof(number, NULL) == (float)value) break;
    }
    put(t, number, strlen(number));
}

void json_text_number(struct json_text *t, const char *key, double value)
{
    begin(t, key);
    put_number(t, value);
}

void json_text_numbers(struct json_text *t, const char *key, const float *values, uint32_t count)
{
    json_text_open(t, key, '[');
    for (uint32_t i = 0; i < count; i++)
        json_text_number(t, NULL, (double)values[i]);
    json_text_close(t, ']');
}

void json_text_bool(struct json_text *t, const char *key, bool value)
{
    begin(t, key);
    put(t, value ? "true" : "false", value ? 4 : 5);
}

size_t json_text_mark(const struct json_text *t)
{
    return t->length;
}

void json_text_rewind(struct json_text *t, size_t mark)
{
    t->length = mark;
    if (t->text) t->text[mark] = 0;
}
