#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// Live Link Face over UDP, version 6: ARKit's 52 blendshapes and nine angles of head and eyes. A
// community's reading of a closed format, so everything is guarded by the length.
enum { LIVE_LINK_BLENDS = 52, LIVE_LINK_VALUES = 61 };

bool live_link_is(const uint8_t *bytes, size_t size_bytes); // rather than OSC
// Values as sent. ERR_NOT_FOUND: a whole packet without a face; ERR_TRUNCATED, ERR_MALFORMED.
MUST_CHECK enum err live_link_read(const uint8_t *bytes, size_t size_bytes,
                                   float out[LIVE_LINK_VALUES]);
const char *live_link_name(size_t blend); // ARKit's, "eyeBlinkLeft"
