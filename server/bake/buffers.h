#pragma once
#include "server/bake/source.h"

// The tables /buffers and /bufferViews, and the bytes behind them, loaded when first used: a
// missing file that nothing needs does no harm.
bool buffers_open(struct source *src);
bool buffers_view(struct source *src, int32_t view, const uint8_t **bytes, size_t *size_bytes);
