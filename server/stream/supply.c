#include "server/stream/supply.h"

#include "common/check.h"
#include "proto/appearance_message.h"

bool supply_put(struct supply *s, uint8_t type, uint64_t tag, struct chunk *chunk,
                size_t payload_bytes)
{
    if (!chunk || s->count == SUPPLY_ITEMS_MAX) {
        chunk_release(chunk);
        s->failed = true;
        return false;
    }
    s->items[(s->first + s->count++) % SUPPLY_ITEMS_MAX] = (struct supply_item){
        .type = type, .tag = tag, .chunk = chunk, .payload_bytes = payload_bytes};
    return true;
}

static struct supply_want *want_at(struct supply *s, size_t i)
{
    return &s->wants[(s->want_first + i) % SUPPLY_WANTS_MAX];
}

bool supply_want(struct supply *s, const struct role *role, const struct role_texture *texture)
{
    for (size_t i = 0; i < s->want_count; i++)
        if (want_at(s, i)->texture == texture) return true;
    if (s->want_count == SUPPLY_WANTS_MAX) return false;
    // A reference is a count inside the role: nothing of what it describes changes.
    union {
        const struct role *shared;
        struct role *counted;
    } r = {.shared = role};
    *want_at(s, s->want_count++) =
        (struct supply_want){.role = role_ref(r.counted), .texture = texture};
    return true;
}

static void drop_want(struct supply *s)
{
    role_unref(want_at(s, 0)->role);
    s->want_first = (s->want_first + 1) % SUPPLY_WANTS_MAX;
    s->want_count--;
    s->want_at = 0;
}

// The next stretch of the first texture: a copy, so that the envelope, its head and its padding
// lie in one piece. One is in flight at a time.
static void feed_texture(struct supply *s, struct link *l)
{
    const struct role_texture *t = want_at(s, 0)->texture;
    size_t left = t->size_bytes - s->want_at;
    struct appearance_chunk part = {.total_bytes = (uint32_t)t->size_bytes,
                                    .first_byte = (uint32_t)s->want_at,
                                    .mime = t->mime,
                                    .bytes = t->bytes + s->want_at};
    part.size_bytes =
        (uint32_t)(left < APPEARANCE_CHUNK_BYTES_MAX ? left : APPEARANCE_CHUNK_BYTES_MAX);
    for (size_t i = 0; i < sizeof part.hash; i++)
        part.hash[i] = t->hash[i];
    struct chunk *chunk = chunk_copy(NULL, part.size_bytes + 64);
    if (!chunk) {
        s->failed = true;
        return;
    }
    struct wire_writer w = wire_write(chunk_writable(chunk), part.size_bytes + 64);
    CHECK(appearance_encode_chunk(&w, &part) == ERR_OK);
    struct conn_piece piece = {.tag = SUPPLY_TAG_TEXTURE};
    if (link_envelope(l, chunk, wire_size(&w), &piece)) {
        s->want_in_flight = conn_send_bulk(l->conn, &piece);
        if (s->want_in_flight) s->want_at += part.size_bytes;
        if (s->want_at == t->size_bytes) drop_want(s);
    }
    chunk_release(chunk);
}

static void feed_item(struct supply *s, struct link *l)
{
    struct supply_item *item = &s->items[s->first];
    struct conn_piece piece;
    CHECK(link_piece(l, item->type, item->chunk, 0, item->payload_bytes, item->piece, &piece));
    struct conn_piece next;
    bool last =
        !link_piece(l, item->type, item->chunk, 0, item->payload_bytes, item->piece + 1, &next);
    if (last) piece.tag = item->tag;
    if (!conn_send_bulk(l->conn, &piece)) return;
    item->piece++;
    if (!last) return;
    chunk_release(item->chunk);
    s->first = (s->first + 1) % SUPPLY_ITEMS_MAX;
    s->count--;
}

void supply_feed(struct supply *s, struct link *l)
{
    if (l->closing) return;
    while (s->count > 0 && conn_bulk_room(l->conn) > 0)
        feed_item(s, l);
    if (s->count == 0 && s->want_count > 0 && !s->want_in_flight && conn_bulk_room(l->conn) > 0)
        feed_texture(s, l);
}

void supply_on_sent(struct supply *s, uint64_t tag)
{
    if ((tag & SUPPLY_TAG_KIND) == SUPPLY_TAG_TEXTURE) s->want_in_flight = false;
}

void supply_clear(struct supply *s)
{
    for (; s->count > 0; s->count--) {
        chunk_release(s->items[s->first].chunk);
        s->first = (s->first + 1) % SUPPLY_ITEMS_MAX;
    }
    while (s->want_count > 0)
        drop_want(s);
    s->want_in_flight = false;
}
