#include "server/stream/tickets.h"

#include <stdlib.h>
#include <string.h>

struct ticket_row {
    uint64_t expires_ns; // 0: free
    uint8_t hash[SECRET_HASH_BYTES];
    struct auth_identity identity;
};

bool tickets_create(struct tickets *t, size_t capacity)
{
    *t = (struct tickets){.rows = calloc(capacity, sizeof *t->rows), .capacity = capacity};
    return t->rows != NULL;
}

void tickets_free(struct tickets *t)
{
    free(t->rows);
    *t = (struct tickets){0};
}

bool tickets_issue(struct tickets *t, const struct auth_identity *identity, uint64_t now_ns,
                   char out[SECRET_TEXT_BYTES])
{
    struct ticket_row *row = NULL;
    for (size_t i = 0; i < t->capacity && !row; i++)
        if (t->rows[i].expires_ns <= now_ns) row = &t->rows[i];
    if (!row || !secret_make(out)) return false;
    secret_hash(out, row->hash);
    row->expires_ns = now_ns + (uint64_t)TICKETS_LIFE_MS * 1000000u;
    row->identity = *identity;
    t->issued++;
    return true;
}

bool tickets_take(struct tickets *t, const char *text, uint64_t now_ns, struct auth_identity *out)
{
    uint8_t hash[SECRET_HASH_BYTES];
    secret_hash(text, hash);
    for (size_t i = 0; i < t->capacity; i++) {
        struct ticket_row *row = &t->rows[i];
        if (row->expires_ns == 0 || !secret_equal(row->hash, hash)) continue;
        bool good = row->expires_ns > now_ns;
        *out = row->identity;
        *row = (struct ticket_row){0};
        if (!good) break;
        t->used++;
        return true;
    }
    t->refused++;
    return false;
}
