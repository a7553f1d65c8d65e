#include "server/api/authority.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "server/stream/secret.h"

_Static_assert((int)STORE_TOKEN_HASH_BYTES == (int)SECRET_HASH_BYTES, "one kind of hash");

static uint32_t scopes_of(const char *scope)
{
    static const struct {
        const char *name;
        uint32_t scopes;
    } all[] = {{"viewer", AUTH_VIEW},
               {"modeller", AUTH_VIEW | AUTH_MODEL},
               {"admin", AUTH_VIEW | AUTH_MODEL | AUTH_ADMIN},
               {"ops", AUTH_OPS}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, scope) == 0) return all[i].scopes;
    return 0;
}

static bool is_good(const struct store_token *t)
{
    int64_t now_ms = (int64_t)(clock_wall_ns() / 1000000u);
    return t->revoked_ms == 0 && (t->expires_ms == 0 || now_ms < t->expires_ms);
}

bool authority_find(void *authority, const char *token, struct auth_identity *out)
{
    const struct authority *a = authority;
    uint8_t hash[SECRET_HASH_BYTES];
    size_t count = 0;
    const struct store_token *found = NULL;
    if (!a->store || strlen(token) >= AUTH_TOKEN_BYTES) return false;
    const struct store_token *list = store_tokens(a->store, &count);
    secret_hash(token, hash);
    for (size_t i = 0; i < count; i++)
        if (secret_equal(list[i].hash, hash)) found = &list[i];
    if (!found || !is_good(found)) return false;
    *out = (struct auth_identity){.scopes = scopes_of(found->scope), .token = found->id};
    (void)snprintf(out->name, sizeof out->name, "%s", found->name);
    return true;
}

static bool lists(const char *models, const char *model)
{
    size_t n = strlen(model);
    if (!*models) return true;
    for (const char *at = models; *at;) {
        size_t length = strcspn(at, "\n");
        if (length == n && memcmp(at, model, n) == 0) return true;
        at += length + (at[length] == '\n');
    }
    return false;
}

bool authority_may(void *authority, const struct auth_identity *who, const char *model)
{
    const struct authority *a = authority;
    size_t count = 0;
    const struct store_token *list = a->store ? store_tokens(a->store, &count) : NULL;
    if (who->token == 0) return true; // no token: what it may is in its scopes
    for (size_t i = 0; i < count; i++)
        if (list[i].id == who->token) return is_good(&list[i]) && lists(list[i].models, model);
    return false;
}
