#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Clip sampling as glTF 2.0 defines it: step; linear, for rotations slerp on the shortest arc;
// cubic Hermite with tangents scaled by the key interval. Rotations leave normalised. Times
// before the first key give the first key, times after the last give the last. The arithmetic is
// double and uses no libm, so that every machine gives the same bits.

// Remembers the key each track stood at, so that forward playback finds its key in O(1). It never
// changes a result, only how fast it is found: any content is safe, one cursor serves one clip
// best. One owner at a time; a clip may be sampled by many threads, each with its own cursor.
struct clip_cursor {
    uint32_t *keys; // one a track of the clip; NULL = search each time
};
size_t clip_cursor_bytes(const struct model *m, uint32_t clip);
struct clip_cursor clip_cursor_take(const struct model *m, uint32_t clip, struct arena *a);

// Writes into `out` what the clip animates at time_s (seconds; finite) and nothing else: begin
// with pose_rest, or with the pose that shows through where the clip is silent.
void clip_sample(const struct model *m, uint32_t clip, double time_s, struct clip_cursor cursor,
                 struct pose out);

// Where a playback stands: elapsed_s wrapped into the clip when it loops, else clamped.
double clip_time(const struct model_clip *clip, double elapsed_s);
