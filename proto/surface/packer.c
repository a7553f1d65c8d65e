#define ZSTD_STATIC_LINKING_ONLY // static workspaces: contexts that cannot allocate in a frame
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/check.h"
#include "proto/surface/kernels.h"

enum { PACK_LEVEL = 1 };

void surface_packer_destroy(struct surface_packer *p)
{
    if (!p) return;
    for (size_t i = 0; i < sizeof p->memory / sizeof p->memory[0]; i++)
        free(p->memory[i]);
    free(p);
}

enum err surface_packer_create(size_t vertices_max, struct surface_packer **out)
{
    struct surface_packer *p = calloc(1, sizeof *p);
    if (!p) return ERR_MEMORY;
    size_t compress_bytes = ZSTD_estimateCCtxSize(PACK_LEVEL);
    size_t decompress_bytes = ZSTD_estimateDCtxSize();
    p->vertices_max = vertices_max;
    p->memory[0] = calloc(vertices_max + 1, sizeof(struct surface_row));
    p->memory[1] = malloc(SURFACE_PLANES * (vertices_max + 1));
    p->memory[2] = malloc(compress_bytes);
    p->memory[3] = malloc(decompress_bytes);
    for (int i = 0; i < 4; i++) {
        if (p->memory[i]) continue;
        surface_packer_destroy(p);
        return ERR_MEMORY;
    }
    p->deltas = p->memory[0];
    p->planes = p->memory[1];
    ZSTD_CCtx *compressor = ZSTD_initStaticCCtx(p->memory[2], compress_bytes);
    p->decompressor = ZSTD_initStaticDCtx(p->memory[3], decompress_bytes);
    p->compressor = compressor;
    CHECK(compressor && p->decompressor); // the sizes came from zstd itself
    size_t set = ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, PACK_LEVEL);
    CHECK(!ZSTD_isError(set));
    // A static context begins with this off, and decoders ask for the size before anything else.
    set = ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, 1);
    CHECK(!ZSTD_isError(set));
    *out = p;
    return ERR_OK;
}

size_t surface_packer_pack(struct surface_packer *p, const uint8_t *bytes, size_t size_bytes,
                           uint8_t *out, size_t capacity_bytes)
{
    size_t size = ZSTD_compress2(p->compressor, out, capacity_bytes, bytes, size_bytes);
    return ZSTD_isError(size) ? 0 : size;
}

bool surface_packer_unpack(struct surface_packer *p, const uint8_t *packed, size_t packed_bytes,
                           uint8_t *out, size_t size_bytes)
{
    if (ZSTD_getFrameContentSize(packed, packed_bytes) != size_bytes) return false;
    if (ZSTD_findFrameCompressedSize(packed, packed_bytes) != packed_bytes) return false;
    size_t got = ZSTD_decompressDCtx(p->decompressor, out, size_bytes, packed, packed_bytes);
    return !ZSTD_isError(got) && got == size_bytes;
}
