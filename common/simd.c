#include "common/simd.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static const char *const names[SIMD_LEVEL_COUNT] = {"plain", "neon", "avx2", "avx512"};

bool simd_has(enum simd_level level)
{
    switch (level) {
    case SIMD_PLAIN:
        return true;
#if defined(__x86_64__)
    case SIMD_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case SIMD_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
    case SIMD_NEON:
        return true;
#endif
    default:
        return false;
    }
}

enum simd_level simd_best(void)
{
    int cap = SIMD_LEVEL_COUNT - 1;
    const char *wanted = getenv("SINEW_SIMD"); // NOLINT(concurrency-mt-unsafe): before threads
    for (int i = 0; wanted && i < SIMD_LEVEL_COUNT; i++)
        if (strcmp(wanted, names[i]) == 0) cap = i;
    while (cap > SIMD_PLAIN && !simd_has((enum simd_level)cap))
        cap--;
    return (enum simd_level)cap;
}

const char *simd_name(enum simd_level level)
{
    CHECK((unsigned)level < SIMD_LEVEL_COUNT);
    return names[level];
}
