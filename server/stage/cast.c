#include "server/stage/cast.h"

#include <stdio.h>
#include <string.h>

#include "common/check.h"

static struct cast_entry *find(struct cast *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->entries[i].name, name) == 0) return &c->entries[i];
    return NULL;
}

enum err cast_reserve(struct cast *c, const char *name, uint32_t *number, uint32_t *version,
                      struct fault *fault)
{
    if (!name[0]) return fault_set(fault, ERR_USAGE, "a character needs a name");
    if (strlen(name) >= SESSION_NAME_MAX)
        return fault_set(fault, ERR_LIMIT, "the character's name is longer than %d bytes: %.40s…",
                         SESSION_NAME_MAX - 1, name);
    struct cast_entry *e = find(c, name);
    if (!e && c->count == CAST_MAX)
        return fault_set(fault, ERR_LIMIT, "there are %d characters already", CAST_MAX);
    if (!e) {
        e = &c->entries[c->count++];
        *e = (struct cast_entry){.number = (uint32_t)c->count};
        memcpy(e->name, name, strlen(name) + 1);
    }
    *number = e->number;
    *version = ++e->versions;
    return ERR_OK;
}

enum err cast_put(struct cast *c, struct role *role)
{
    CHECK(role->number >= 1);
    CHECK(role->number <= c->count);
    struct cast_entry *e = &c->entries[role->number - 1];
    CHECK(strcmp(e->name, role->name) == 0);
    if (e->role && e->role != role && e->role->version > role->version) {
        role_unref(role);
        return ERR_STALE;
    }
    role_unref(e->role);
    e->role = role;
    return ERR_OK;
}

enum err cast_find(const struct cast *c, const char *name, struct role **out, struct fault *fault)
{
    char list[256];
    size_t used = 0;
    list[0] = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct cast_entry *e = &c->entries[i];
        if (!e->role) continue;
        if (!name || !name[0] || strcmp(e->name, name) == 0) {
            *out = e->role;
            return ERR_OK;
        }
        if (used < sizeof list - 1) {
            int length =
                snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", e->name);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    if (!name || !name[0]) return fault_set(fault, ERR_NOT_FOUND, "no character is served yet");
    return fault_set(fault, ERR_NOT_FOUND, "no character \"%.60s\"; there are: %s", name, list);
}

void cast_retire(struct cast *c, const char *name)
{
    struct cast_entry *e = find(c, name);
    if (!e) return;
    role_unref(e->role);
    e->role = NULL;
}

void cast_clear(struct cast *c)
{
    for (size_t i = 0; i < c->count; i++)
        role_unref(c->entries[i].role);
    *c = (struct cast){0};
}
