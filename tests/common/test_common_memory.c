#include <stdint.h>

#include "common/arena.h"
#include "common/pool.h"
#include "tests/testing.h"
int testing_failures;

static void arena_blocks_are_aligned_and_do_not_overlap(void)
{
    struct arena a;
    EXPECT(arena_create(&a, 1000));
    unsigned char *one = arena_take(&a, 1), *two = arena_take(&a, 65), *three = arena_take(&a, 0);
    EXPECT(((uintptr_t)one | (uintptr_t)two | (uintptr_t)three) % 64 == 0);
    EXPECT(two - one == 64 && three - two == 128);
    arena_rewind(&a, 0);
    EXPECT(arena_take(&a, 64) == one);
    EXPECT(a.high_water_bytes == 192);
    arena_destroy(&a);
    arena_destroy(&a);
}

static void pool_refuses_past_its_cap_and_on_overflow(void)
{
    struct pool p;
    pool_init(&p, 1024);
    EXPECT(pool_take(&p, 1024, 1) != NULL);
    EXPECT(pool_take(&p, 1, 1) == NULL);
    pool_raise_cap(&p, 2048);
    EXPECT(pool_take(&p, 1, 1) != NULL);
    EXPECT(pool_take(&p, SIZE_MAX / 2, 16) == NULL);
    EXPECT(pool_take(&p, 0, 16) != NULL);
    pool_free(&p);
    pool_free(&p);
}

static void pool_memory_is_zeroed_and_stays_valid_as_it_grows(void)
{
    struct pool p;
    pool_init(&p, 64u << 20);
    uint32_t *first = POOL_ARRAY(&p, uint32_t, 10);
    first[9] = 7;
    for (size_t n = 1; n < 200000; n = n * 3 + 1) {
        unsigned char *block = pool_take(&p, n, 1);
        EXPECT(block && block[0] == 0 && block[n - 1] == 0);
        if (block) memset(block, 0xAA, n);
    }
    EXPECT(first[9] == 7 && first[0] == 0);
    EXPECT(strcmp(pool_copy_text(&p, "abcdef", 3), "abc") == 0);
    pool_free(&p);
}

int main(void)
{
    RUN(arena_blocks_are_aligned_and_do_not_overlap);
    RUN(pool_refuses_past_its_cap_and_on_overflow);
    RUN(pool_memory_is_zeroed_and_stays_valid_as_it_grows);
    TESTING_MAIN_END;
}
