#include "proto/inbox.h"

#include <string.h>

#include "common/check.h"

void inbox_init(struct inbox *in, void *bytes, size_t capacity_bytes, enum messages_from from)
{
    CHECK(capacity_bytes >= MESSAGES_HEADER_BYTES + MESSAGES_PIECE_BYTES);
    CHECK((uintptr_t)bytes % 4 == 0);
    *in = (struct inbox){.bytes = bytes, .capacity_bytes = capacity_bytes, .from = from};
}

size_t inbox_put(struct inbox *in, const void *bytes, size_t size_bytes)
{
    if (in->begin > 0) { // whole messages were handed out: what is left is less than one
        memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    size_t room = in->capacity_bytes - in->end;
    size_t taken = size_bytes < room ? size_bytes : room;
    if (taken) memcpy(in->bytes + in->end, bytes, taken);
    in->end += taken;
    return taken;
}

enum err inbox_next(struct inbox *in, struct message *out)
{
    for (;;) {
        size_t used = 0;
        struct message m;
        enum err e =
            messages_read(in->bytes + in->begin, in->end - in->begin, in->from, &m, &used, NULL);
        if (e && e != ERR_UNSUPPORTED) return e;
        in->begin += used;
        DCHECK(in->begin <= in->end);
        if (e == ERR_OK) {
            *out = m;
            return ERR_OK;
        }
        in->skipped_count++;
    }
}

bool inbox_at_boundary(const struct inbox *in)
{
    return in->begin == in->end;
}

enum err inbox_join(struct inbox_join *join, const struct message *piece, struct message *out)
{
    bool more = piece->flags & MESSAGES_MORE, continues = piece->flags & MESSAGES_CONTINUES;
    if (!continues && !more) {
        join->type = 0;
        *out = *piece;
        return ERR_OK;
    }
    if (continues && join->type != piece->type) return ERR_MALFORMED;
    size_t held = continues ? join->size_bytes : 0;
    // The limit bounds what is added before anything is: sizes cannot overflow.
    if (held + piece->size_bytes > messages_row(piece->type)->size_max_bytes) return ERR_LIMIT;
    if (piece->size_bytes > join->capacity_bytes || held > join->capacity_bytes - piece->size_bytes)
        return ERR_MEMORY;
    if (piece->size_bytes) memcpy(join->bytes + held, piece->payload, piece->size_bytes);
    join->size_bytes = held + piece->size_bytes;
    join->type = more ? piece->type : 0;
    if (more) return ERR_TRUNCATED;
    *out = (struct message){
        .type = piece->type, .payload = join->bytes, .size_bytes = join->size_bytes};
    return ERR_OK;
}
