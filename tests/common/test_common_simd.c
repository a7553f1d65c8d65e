#include <stdlib.h>

#include "common/simd.h"
#include "tests/testing.h"
int testing_failures;

static void plain_is_always_there(void)
{
    EXPECT(simd_has(SIMD_PLAIN));
    EXPECT(strcmp(simd_name(SIMD_PLAIN), "plain") == 0);
    EXPECT(strcmp(simd_name(SIMD_AVX512), "avx512") == 0);
}

static void the_environment_lowers_the_choice_and_never_raises_it(void)
{
    unsetenv("SINEW_SIMD");
    enum simd_level best = simd_best();
    EXPECT(simd_has(best));
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        setenv("SINEW_SIMD", simd_name((enum simd_level)level), 1);
        enum simd_level got = simd_best();
        EXPECT(simd_has(got));
        EXPECT((int)got <= level && got <= best);
        if (simd_has((enum simd_level)level) && level <= (int)best) EXPECT((int)got == level);
    }
    setenv("SINEW_SIMD", "something else", 1);
    EXPECT(simd_best() == best);
    unsetenv("SINEW_SIMD");
}

int main(void)
{
    RUN(plain_is_always_there);
    RUN(the_environment_lowers_the_choice_and_never_raises_it);
    TESTING_MAIN_END;
}
