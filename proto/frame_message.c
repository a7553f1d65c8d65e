#include "proto/frame_message.h"

#include <math.h>

#include "proto/surface/codec.h"
#include "proto/surface_message.h"

_Static_assert((FRAME_HEADER_BYTES + MESSAGES_HEADER_BYTES) % 16 == 0, "typed views need no copy");

void frame_message_encode_header(uint8_t out[FRAME_HEADER_BYTES], const struct frame_message *in)
{
    struct wire_writer w = wire_write(out, FRAME_HEADER_BYTES);
    wire_put_u32(&w, in->scene);
    wire_put_u32(&w, in->actor);
    wire_put_u32(&w, in->model);
    wire_put_u32(&w, in->model_version);
    wire_put_u64(&w, in->tick);
    wire_put_u64(&w, in->server_time_us);
    wire_put_u32(&w, in->input_sequence);
    wire_put_u32(&w, in->frame);
    wire_put_u32(&w, in->anchor);
    wire_put_u8(&w, in->codec);
    wire_put_u8(&w, in->bits);
    wire_put_u8(&w, in->lod);
    wire_put_u8(&w, in->flags);
    wire_put_floats(&w, in->translation, 3);
    wire_put_floats(&w, in->rotation, 4);
    wire_put_f32(&w, in->scale);
    wire_put_floats(&w, in->origin, 3);
    wire_put_f32(&w, in->step);
    wire_put_u32(&w, in->vertex_count);
    wire_put_u32(&w, in->payload_bytes);
}

enum err frame_message_encode(struct wire_writer *w, const struct frame_message *in)
{
    uint8_t header[FRAME_HEADER_BYTES];
    frame_message_encode_header(header, in);
    size_t at = messages_begin(w, MESSAGE_FRAME);
    wire_put_bytes(w, header, sizeof header);
    wire_put_bytes(w, in->payload, in->payload_bytes);
    messages_end(w, at);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

// What the fields promise each other; the codec's own bytes are the surface decoder's business.
static enum err frame_message_check(const struct frame_message *f)
{
    float norm = 0;
    if (!wire_finite(f->translation, 3) || !wire_finite(f->rotation, 4) ||
        !wire_finite(&f->scale, 1) || !wire_finite(f->origin, 3) || !wire_finite(&f->step, 1))
        return ERR_MALFORMED;
    for (int i = 0; i < 4; i++)
        norm += f->rotation[i] * f->rotation[i];
    if (!(norm > 0.98f && norm < 1.02f) || !(f->scale > 0)) return ERR_MALFORMED;
    if (f->actor == 0 || f->frame == 0) return ERR_MALFORMED;
    if (f->flags & FRAME_KEY ? f->anchor != 0 : f->anchor == 0) return ERR_MALFORMED;
    if (f->anchor && f->anchor == f->frame) return ERR_MALFORMED;
    if (f->flags & FRAME_STILL && (f->payload_bytes || f->flags & FRAME_KEY)) return ERR_MALFORMED;
    if (f->lod >= SURFACE_LODS_MAX) return ERR_LIMIT;
    if (f->vertex_count > SURFACE_VERTICES_MAX) return ERR_LIMIT;
    if (f->codec == SURFACE_CODEC_GRID &&
        (f->bits < SURFACE_BITS_MIN || f->bits > SURFACE_BITS_MAX || !(f->step > 0)))
        return ERR_MALFORMED;
    if (f->codec == SURFACE_CODEC_RAW && !(f->flags & (FRAME_KEY | FRAME_STILL)))
        return ERR_MALFORMED;
    return ERR_OK;
}

enum err frame_message_decode(const uint8_t *payload, size_t size_bytes, struct frame_message *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct frame_message f = {0};
    f.scene = wire_u32(&r);
    f.actor = wire_u32(&r);
    f.model = wire_u32(&r);
    f.model_version = wire_u32(&r);
    f.tick = wire_u64(&r);
    f.server_time_us = wire_u64(&r);
    f.input_sequence = wire_u32(&r);
    f.frame = wire_u32(&r);
    f.anchor = wire_u32(&r);
    f.codec = wire_u8(&r);
    f.bits = wire_u8(&r);
    f.lod = wire_u8(&r);
    f.flags = wire_u8(&r);
    wire_floats(&r, f.translation, 3);
    wire_floats(&r, f.rotation, 4);
    f.scale = wire_f32(&r);
    wire_floats(&r, f.origin, 3);
    f.step = wire_f32(&r);
    f.vertex_count = wire_u32(&r);
    f.payload_bytes = wire_u32(&r);
    f.payload = wire_bytes(&r, f.payload_bytes);
    if (r.failed) return ERR_TRUNCATED;
    enum err e = frame_message_check(&f);
    if (e) return e;
    *out = f;
    return ERR_OK;
}
