#include "server/stream/bucket.h"
#include "server/stream/tally.h"
#include "server/stream/tickets.h"
#include "tests/testing.h"

int testing_failures;

static const uint64_t second = 1000000000u;

static void a_ticket_is_good_once_and_for_thirty_seconds(void)
{
    struct tickets t;
    struct auth_identity who = {.scopes = AUTH_VIEW, .name = "someone"}, got = {0};
    char text[SECRET_TEXT_BYTES], late[SECRET_TEXT_BYTES];
    EXPECT(tickets_create(&t, 8));
    EXPECT(tickets_issue(&t, &who, second, text));
    EXPECT(tickets_issue(&t, &who, second, late));
    EXPECT(strlen(text) == 43);
    EXPECT(strcmp(text, late) != 0);
    EXPECT(tickets_take(&t, text, 2 * second, &got));
    EXPECT(got.scopes == AUTH_VIEW && strcmp(got.name, "someone") == 0);
    EXPECT(!tickets_take(&t, text, 2 * second, &got));  // used
    EXPECT(!tickets_take(&t, late, 31 * second, &got)); // too old
    EXPECT(!tickets_take(&t, "", second, &got));
    tickets_free(&t);
}

static void a_full_table_gives_nothing_out(void)
{
    struct tickets t;
    struct auth_identity who = {.scopes = AUTH_VIEW};
    char text[SECRET_TEXT_BYTES];
    EXPECT(tickets_create(&t, 2));
    EXPECT(tickets_issue(&t, &who, second, text));
    EXPECT(tickets_issue(&t, &who, second, text));
    EXPECT(!tickets_issue(&t, &who, second, text));
    EXPECT(tickets_issue(&t, &who, 40 * second, text)); // the old ones are over
    tickets_free(&t);
}

static void secrets_use_the_whole_alphabet(void)
{
    char text[SECRET_TEXT_BYTES];
    bool seen[128] = {0};
    size_t kinds = 0;
    for (int i = 0; i < 200; i++) {
        EXPECT(secret_make(text));
        for (size_t k = 0; k < 43; k++)
            seen[(unsigned char)text[k]] = true;
    }
    for (int i = 0; i < 128; i++)
        kinds += seen[i];
    EXPECT(kinds == 64);
    EXPECT(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == 43);
}

static void a_bucket_gives_its_burst_and_then_its_rate(void)
{
    struct bucket b;
    int taken = 0;
    bucket_init(&b, 10, 5, 0);
    for (int i = 0; i < 100; i++)
        taken += bucket_take(&b, 1, 0);
    EXPECT(taken == 10);
    for (uint64_t t = 0; t < 2 * second; t += second / 100)
        taken += bucket_take(&b, 1, t);
    EXPECT(taken >= 19 && taken <= 20);
    EXPECT(!bucket_take(&b, 11, 100 * second)); // never more than the burst
}

static void a_tally_knows_its_percentiles(void)
{
    static struct tally t;
    for (int i = 1; i <= 1000; i++)
        tally_add(&t, i * 1e-4);
    struct tally_percentiles p = tally_percentiles(&t);
    EXPECT_NEAR(p.p50_s, 0.05, 0.001);
    EXPECT_NEAR(p.p99_s, 0.099, 0.001);
    EXPECT_NEAR(p.max_s, 0.1, 1e-6);
    uint64_t sum = 0;
    for (int i = 0; i <= TALLY_BUCKETS; i++)
        sum += t.counts[i];
    EXPECT(sum == 1000);
    EXPECT(t.counts[0] == 5); // up to half a millisecond
    tally_add(&t, -1);
    tally_add(&t, (double)NAN);
    EXPECT(t.counts[0] == 7);
}

int main(void)
{
    RUN(a_ticket_is_good_once_and_for_thirty_seconds);
    RUN(a_full_table_gives_nothing_out);
    RUN(secrets_use_the_whole_alphabet);
    RUN(a_bucket_gives_its_burst_and_then_its_rate);
    RUN(a_tally_knows_its_percentiles);
    TESTING_MAIN_END;
}
