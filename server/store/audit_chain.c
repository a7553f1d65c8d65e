#include <cjson/cJSON.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/check.h"
#include "server/store/rows.h"
#include "server/store/store_own.h"

// hash = SHA-256(previous hash as 64 hex digits, then the entry's bytes).

static void put_text(cJSON *entry, const char *key, const char *text)
{
    if (text && *text) (void)cJSON_AddStringToObject(entry, key, text);
}

static char *print_entry(const struct store_audit *a)
{
    char when[40];
    int64_t now = store_now_ms();
    time_t s = (time_t)(now / 1000);
    struct tm t;
    cJSON *entry = cJSON_CreateObject();
    if (!entry || !gmtime_r(&s, &t)) return NULL;
    size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &t);
    (void)snprintf(when + n, sizeof when - n, ".%03dZ", (int)(now % 1000));
    put_text(entry, "time", when);
    put_text(entry, "actor", a->actor);
    if (a->token) (void)cJSON_AddNumberToObject(entry, "token", (double)a->token);
    put_text(entry, "address", a->address);
    put_text(entry, "action", a->action);
    put_text(entry, "model", a->model);
    put_text(entry, "item", a->item);
    if (a->base) (void)cJSON_AddNumberToObject(entry, "base", a->base);
    if (a->number) (void)cJSON_AddNumberToObject(entry, "new", a->number);
    put_text(entry, "sha256", a->sha256);
    put_text(entry, "result", a->result);
    char *text = cJSON_PrintUnformatted(entry);
    cJSON_Delete(entry);
    return text;
}

static void chain(const char *before, const char *entry, char out[STORE_HASH_BYTES])
{
    uint8_t hash[32];
    mbedtls_sha256_context sha;
    mbedtls_sha256_init(&sha);
    CHECK(mbedtls_sha256_starts_ret(&sha, 0) == 0);
    CHECK(mbedtls_sha256_update_ret(&sha, (const uint8_t *)before, strlen(before)) == 0);
    CHECK(mbedtls_sha256_update_ret(&sha, (const uint8_t *)entry, strlen(entry)) == 0);
    CHECK(mbedtls_sha256_finish_ret(&sha, hash) == 0);
    mbedtls_sha256_free(&sha);
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

enum err audit_chain_add(sqlite3 *db, const struct store_audit *a, struct fault *fault)
{
    char before[STORE_HASH_BYTES], hash[STORE_HASH_BYTES];
    sqlite3_stmt *last = NULL;
    (void)snprintf(before, sizeof before, "%064d", 0);
    enum err e =
        rows_prepare(db, "SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1", &last, fault, "");
    if (e == ERR_OK && rows_next(last, &e, fault)) rows_text(last, 0, before, sizeof before);
    (void)sqlite3_finalize(last);
    if (e != ERR_OK) return e;
    char *entry = print_entry(a);
    if (!entry) return fault_set(fault, ERR_MEMORY, "no memory for the audit");
    chain(before, entry, hash);
    e = rows_run(db, "INSERT INTO audit (entry, hash) VALUES (?, ?)", fault, "ss", entry, hash);
    cJSON_free(entry);
    return e;
}
