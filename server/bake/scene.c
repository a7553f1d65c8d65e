#include "server/bake/scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/bake/utf8.h"

enum { NOTES_MAX = 200 };

static bool notes_grow(struct scene *s)
{
    uint32_t capacity = s->notes.capacity ? s->notes.capacity * 2 : 8;
    struct note *items = POOL_ARRAY(&s->pool, struct note, capacity);
    if (!items) return false;
    if (s->notes.count) memcpy(items, s->notes.items, s->notes.count * sizeof *items);
    s->notes.items = items;
    s->notes.capacity = capacity;
    return true;
}

void scene_note(struct scene *s, enum note_kind kind, uint32_t count, const char *format, ...)
{
    struct note note = {.kind = kind, .count = count};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(note.text, sizeof note.text, format, args);
    va_end(args);
    utf8_mend(note.text); // cutting may have split a character
    for (char *c = note.text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    if (s->notes.count >= NOTES_MAX - 1)
        note = (struct note){NOTE_LEFT_OUT, count, "more notes like these"};
    for (uint32_t i = 0; i < s->notes.count; i++) {
        struct note *known = &s->notes.items[i];
        if (known->kind != note.kind || strcmp(known->text, note.text) != 0) continue;
        known->count = count > UINT32_MAX - known->count ? UINT32_MAX : known->count + count;
        return;
    }
    if (s->notes.count == s->notes.capacity && !notes_grow(s)) return;
    s->notes.items[s->notes.count++] = note;
}

void scene_free(struct scene *s)
{
    pool_free(&s->pool);
    *s = (struct scene){0};
}
