#include "common/slots.h"

#include <stdlib.h>

#include "common/check.h"

struct slot {
    void *item;          // NULL: free
    uint32_t generation; // of the id that is, or was last, given out
    uint32_t next_free;  // index + 1; 0: none
};

bool slots_create(struct slots *s, size_t capacity)
{
    CHECK(capacity > 0);
    CHECK(capacity < UINT32_MAX);
    *s = (struct slots){.slots = calloc(capacity, sizeof(struct slot)), .capacity = capacity};
    if (!s->slots) return false;
    for (size_t i = 0; i < capacity; i++)
        s->slots[i].next_free = i + 1 < capacity ? (uint32_t)(i + 2) : 0;
    s->free_head = 1;
    return true;
}

void slots_free(struct slots *s)
{
    free(s->slots);
    *s = (struct slots){0};
}

uint64_t slots_add(struct slots *s, void *item)
{
    CHECK(item);
    if (s->free_head == 0) return 0;
    uint32_t index = s->free_head - 1;
    struct slot *slot = &s->slots[index];
    CHECK(!slot->item);
    s->free_head = slot->next_free;
    slot->item = item;
    slot->generation++;
    s->used++;
    return (uint64_t)slot->generation << 32 | (index + 1);
}

static struct slot *find(const struct slots *s, uint64_t id)
{
    uint32_t place = (uint32_t)id;
    if (place == 0 || place > s->capacity) return NULL;
    struct slot *slot = &s->slots[place - 1];
    return slot->item && slot->generation == (uint32_t)(id >> 32) ? slot : NULL;
}

void *slots_find(const struct slots *s, uint64_t id)
{
    struct slot *slot = find(s, id);
    return slot ? slot->item : NULL;
}

void *slots_remove(struct slots *s, uint64_t id)
{
    struct slot *slot = find(s, id);
    if (!slot) return NULL;
    void *item = slot->item;
    slot->item = NULL;
    slot->next_free = s->free_head;
    s->free_head = (uint32_t)id;
    CHECK(s->used > 0);
    s->used--;
    return item;
}

void *slots_at(const struct slots *s, size_t index)
{
    CHECK(index < s->capacity);
    return s->slots[index].item;
}
