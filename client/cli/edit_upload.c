#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/edit.h"

// Uploads as tus 1.0 has them: create, ask how far, append. What is half there is in checkout.json,
// so that the next command goes on with it.
enum { PIECE_BYTES = 1 << 20, TRIES = 8 };

static enum err create(struct edit *e, struct checkout *c, size_t size_bytes)
{
    char length[24];
    (void)snprintf(length, sizeof length, "%zu", size_bytes);
    const struct endpoint_ask ask = {
        .method = "POST",
        .target = "/v1/uploads",
        .more = {{"Tus-Resumable", "1.0.0"}, {"Upload-Length", length}}};
    struct fetch reply = {0};
    enum err err = endpoint_run(&e->at, &ask, &reply, e->fault);
    if (err) return err;
    bool told = fetch_header(&reply, "location", c->upload, sizeof c->upload);
    fetch_free(&reply);
    if (!told || strncmp(c->upload, "/v1/uploads/", 12) != 0)
        return fault_set(e->fault, ERR_MALFORMED, "%.100s did not say where to upload to",
                         e->at.url.origin);
    return checkout_save(c, e->fault);
}

// How much is there; ERR_NOT_FOUND: it has run out.
static enum err ask_offset(struct edit *e, const struct checkout *c, size_t *offset)
{
    const struct endpoint_ask ask = {
        .method = "HEAD", .target = c->upload, .more = {{"Tus-Resumable", "1.0.0"}}};
    struct fetch reply = {0};
    struct fault inner = {0};
    char text[24];
    enum err err = endpoint_run(&e->at, &ask, &reply, &inner);
    if (err == ERR_NOT_FOUND) return err; // no fault: the caller begins anew
    if (err) return fault_set(e->fault, err, "%s", inner.line);
    bool told = fetch_header(&reply, "upload-offset", text, sizeof text);
    fetch_free(&reply);
    if (!told) return fault_set(e->fault, ERR_MALFORMED, "the upload's state is not told");
    *offset = (size_t)strtoull(text, NULL, 10);
    return ERR_OK;
}

// One piece. ERR_STALE: the server is elsewhere (an answer was lost): ask again.
static enum err append(struct edit *e, const struct checkout *c, const uint8_t *bytes,
                       size_t size_bytes, size_t offset, struct fault *fault)
{
    char at[24];
    size_t left = size_bytes - offset;
    (void)snprintf(at, sizeof at, "%zu", offset);
    const struct endpoint_ask ask = {.method = "PATCH",
                                     .target = c->upload,
                                     .type = "application/offset+octet-stream",
                                     .body = bytes + offset,
                                     .body_bytes = left < PIECE_BYTES ? left : PIECE_BYTES,
                                     .more = {{"Tus-Resumable", "1.0.0"}, {"Upload-Offset", at}}};
    struct fetch reply = {0};
    enum err err = endpoint_run(&e->at, &ask, &reply, fault);
    fetch_free(&reply);
    return err;
}

enum err edit_upload(struct edit *e, struct checkout *c, const uint8_t *bytes, size_t size_bytes,
                     char id[64])
{
    char hash[17];
    size_t offset = 0;
    enum err err = ERR_OK;
    checkout_hash(bytes, size_bytes, hash);
    if (strcmp(hash, c->upload_of) != 0) c->upload[0] = '\0'; // of another file
    memcpy(c->upload_of, hash, sizeof hash);
    for (int tries = 0;;) {
        if (c->upload[0]) err = ask_offset(e, c, &offset);
        if (!c->upload[0] || err == ERR_NOT_FOUND) {
            err = create(e, c, size_bytes);
            offset = 0;
        }
        if (err) return err;
        while (err == ERR_OK && offset < size_bytes) {
            struct fault inner = {0};
            err = append(e, c, bytes, size_bytes, offset, &inner);
            if (err == ERR_OK)
                offset += size_bytes - offset < PIECE_BYTES ? size_bytes - offset : PIECE_BYTES;
            else if (err != ERR_STALE || ++tries >= TRIES)
                return fault_set(e->fault, err, "%.300s", inner.line);
        }
        if (err == ERR_OK) break;
    }
    (void)snprintf(id, 64, "%.63s", c->upload + strlen("/v1/uploads/"));
    return ERR_OK;
}
