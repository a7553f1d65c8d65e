#include <string.h>

#include "common/check.h"
#include "server/http/http_internal.h"

// What the viewer's page may do: its own scripts, WebAssembly without eval, its own sockets.
// Workers take theirs from the answer that brings their script, so every file carries it.
static const char viewer_policy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src "
    "'self'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// If-None-Match: "*" or a list of entity tags; the weak mark does not matter here (RFC
// 9110 13.1.2).
static bool tag_matches(const char *header, const char *etag)
{
    // The quotes are part of the tag: no longer one contains it.
    return strcmp(header, "*") == 0 || strstr(header, etag) != NULL;
}

bool http_assets_answer(struct http_exchange *x, const char *path)
{
    static const char *const coding_names[] = {NULL, "gzip", "br"};
    const struct http_static *assets = x->server->options.assets;
    const struct static_file *f = assets ? static_find(assets, path) : NULL;
    if (!f) return false;
    enum static_coding coding = static_choose(f, http_exchange_header(x, "accept-encoding"));
    CHECK(f->body[coding]);
    http_answer_header(x, "ETag", f->etag[coding]);
    http_answer_header(x, "Vary", "Accept-Encoding");
    http_answer_header(x, "Cache-Control",
                       f->immutable ? "public, max-age=31536000, immutable" : "no-cache");
    http_answer_header(x, "Content-Security-Policy", viewer_policy);
    if (coding_names[coding]) http_answer_header(x, "Content-Encoding", coding_names[coding]);
    const char *known = http_exchange_header(x, "if-none-match");
    if (known && tag_matches(known, f->etag[coding]))
        http_answer_empty(x, 304);
    else
        http_answer_chunk(x, 200, f->content_type, chunk_ref(f->body[coding]));
    return true;
}
