#include "client/lib/events.h"

#include <stdlib.h>
#include <string.h>

static struct event *event_at(const struct events *e, size_t i)
{
    return &e->ring[(e->first + i) % e->capacity];
}

static _Bool grow(struct events *e)
{
    size_t capacity = e->capacity ? e->capacity * 2 : 16;
    if (capacity > EVENTS_MAX) return 0;
    struct event *ring = malloc(capacity * sizeof *ring);
    if (!ring) return 0;
    for (size_t i = 0; i < e->count; i++)
        ring[i] = *event_at(e, i);
    free(e->ring);
    e->ring = ring;
    e->capacity = capacity;
    e->first = 0;
    return 1;
}

static _Bool is_of_connection(enum sinew_event_kind kind)
{
    return kind == SINEW_EVENT_JOINED || kind == SINEW_EVENT_RESUMED || kind == SINEW_EVENT_LOST ||
           kind == SINEW_EVENT_CLOSED;
}

static void drop_one(struct events *e)
{
    size_t at = 0;
    while (at < e->count && is_of_connection(event_at(e, at)->kind))
        at++;
    if (at == e->count) at = 0;
    free(event_at(e, at)->text);
    for (size_t i = at; i > 0; i--)
        *event_at(e, i) = *event_at(e, i - 1);
    e->first = (e->first + 1) % e->capacity;
    e->count--;
    e->lost_count++;
}

void events_push(struct events *e, const struct event *event, const char *text)
{
    if (e->count == e->capacity && !grow(e)) {
        if (e->capacity == 0) {
            e->lost_count++;
            return;
        }
        drop_one(e);
    }
    struct event *to = event_at(e, e->count++);
    *to = *event;
    to->text = NULL;
    if (!text || !text[0]) return;
    size_t length = strlen(text);
    if (length >= SINEW_TEXT_MAX) length = SINEW_TEXT_MAX - 1;
    to->text = malloc(length + 1);
    if (!to->text) return;
    memcpy(to->text, text, length);
    to->text[length] = 0;
}

_Bool events_pop(struct events *e, struct event *out)
{
    if (e->count == 0) return 0;
    *out = *event_at(e, 0);
    e->first = (e->first + 1) % e->capacity;
    e->count--;
    return 1;
}

void events_free(struct events *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(event_at(e, i)->text);
    free(e->ring);
    *e = (struct events){0};
}
