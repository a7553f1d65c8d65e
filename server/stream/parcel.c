#include "server/stream/parcel.h"

#include <string.h>

#include "common/check.h"
#include "proto/messages.h"
#include "server/stage/cast.h"

_Static_assert(sizeof(struct chunk) <= FRAME_LENT_BYTES, "a chunk fits into what a frame lends");
_Static_assert(sizeof(((struct parcel_shelf *)0)->rows) / sizeof(struct parcel_row) == CAST_MAX,
               "a row for every character");

static void on_frame_done(struct chunk *chunk)
{
    frame_unref(chunk->owner); // may free the frame and the chunk with it
}

struct chunk *parcel_of_frame(struct frame *f)
{
    struct chunk *chunk = (struct chunk *)(void *)f->lent;
    if (chunk->refs > 0) return chunk_ref(chunk);
    // Slots are whole multiples of 64 bytes, so the padding lies in the frame's own memory; nobody
    // reads it before a chunk says that it is there.
    union {
        const uint8_t *read;
        uint8_t *write;
    } payload = {.read = f->payload};
    memset(payload.write + f->size_bytes, 0, messages_padding(f->size_bytes));
    *chunk = (struct chunk){.bytes = f->payload,
                            .size_bytes = f->size_bytes + messages_padding(f->size_bytes),
                            .refs = 1,
                            .on_free = on_frame_done,
                            .owner = frame_ref(f)};
    return chunk;
}

// A copy with `head_bytes` of room before it and zero padding behind.
static struct chunk *copy_padded(const void *bytes, size_t size_bytes, size_t head_bytes)
{
    size_t whole = head_bytes + size_bytes;
    struct chunk *chunk = chunk_copy(NULL, whole + messages_padding(whole));
    if (!chunk) return NULL;
    uint8_t *out = chunk_writable(chunk);
    memset(out, 0, head_bytes);
    memcpy(out + head_bytes, bytes, size_bytes);
    memset(out + whole, 0, messages_padding(whole));
    return chunk;
}

static void clear_row(struct parcel_row *row)
{
    chunk_release(row->surface);
    chunk_release(row->catalogue);
    *row = (struct parcel_row){0};
}

const struct parcel_row *parcel_of_role(struct parcel_shelf *shelf, const struct role *role)
{
    CHECK(role->number >= 1 && role->number <= CAST_MAX);
    struct parcel_row *row = &shelf->rows[role->number - 1];
    if (row->role == role && row->version == role->version) return row;
    struct parcel_row made = {.role = role, .version = role->version};
    made.surface = copy_padded(role->surface, role->surface_bytes, 0);
    made.catalogue =
        copy_padded(role->catalogue_json, role->catalogue_bytes, PARCEL_CATALOGUE_HEAD_BYTES);
    made.catalogue_bytes = PARCEL_CATALOGUE_HEAD_BYTES + role->catalogue_bytes;
    if (!made.surface || !made.catalogue) {
        clear_row(&made);
        return NULL;
    }
    clear_row(row);
    *row = made;
    return row;
}

void parcel_clear(struct parcel_shelf *shelf)
{
    for (size_t i = 0; i < CAST_MAX; i++)
        clear_row(&shelf->rows[i]);
}

struct chunk *parcel_appearance(const struct role *role, uint32_t actor,
                                const struct face_state *face, size_t *size_bytes)
{
    struct chunk *chunk = copy_padded(role->appearance, role->appearance_bytes, 0);
    if (!chunk) return NULL;
    *size_bytes = role->appearance_bytes;
    role_appearance_head(role, actor, chunk_writable(chunk));
    if (face && role_appearance_told(role, face, actor, chunk_writable(chunk),
                                     role->appearance_bytes, size_bytes) != ERR_OK) {
        chunk_release(chunk);
        return NULL;
    }
    return chunk;
}
