#pragma once
#include "server/bake/doc.h"

// Writes JSON text piece by piece, always the same text for the same pieces. Commas come by
// themselves; a mark lets a part that turns out broken be taken back.
struct json_text {
    struct doc *doc; // budget; a failure stops the writing
    char *text;
    size_t length, capacity;
};

void json_text_open(struct json_text *t, const char *key, char bracket); // '{' or '['; key or NULL
void json_text_close(struct json_text *t, char bracket);                 // '}' or ']'
void json_text_string(struct json_text *t, const char *key, const char *value);
void json_text_number(struct json_text *t, const char *key, double value);
void json_text_numbers(struct json_text *t, const char *key, const float *values, uint32_t count);
void json_text_bool(struct json_text *t, const char *key, bool value);
size_t json_text_mark(const struct json_text *t);
void json_text_rewind(struct json_text *t, size_t mark);
