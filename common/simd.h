#pragma once
#include <stdbool.h>

// Which kernel family this machine runs; chosen once at start, the plain one always exists.
// SINEW_SIMD=plain|avx2|avx512|neon lowers the choice (never raises it): for tests and benches.
enum simd_level { SIMD_PLAIN, SIMD_NEON, SIMD_AVX2, SIMD_AVX512, SIMD_LEVEL_COUNT };

bool simd_has(enum simd_level level); // built in and supported by this processor
enum simd_level simd_best(void);      // reads the environment each call; call once, keep it
const char *simd_name(enum simd_level level);
