#include "client/cli/checkout.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/json_guard.h"

enum { STATE_BYTES_MAX = 1 << 16 };
static const char state_name[] = "checkout.json";

// The one list of what checkout.json holds as text.
static const struct {
    const char *key;
    size_t at, bytes;
} texts[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, offsetof(struct checkout, name), sizeof(((struct checkout *)0)->name)               \
    }
    ROW(model),  ROW(item),    ROW(grant), ROW(fence),  ROW(expires),  ROW(etag),
    ROW(format), ROW(surface), ROW(taken), ROW(upload), ROW(upload_of)
#undef ROW
};
enum { TEXT_COUNT = sizeof texts / sizeof texts[0] };

enum err checkout_file(const struct checkout *c, const char *name, char out[CHECKOUT_PATH_BYTES],
                       struct fault *fault)
{
    int n = snprintf(out, CHECKOUT_PATH_BYTES, "%s/%s", c->folder, name);
    if (n > 0 && n < CHECKOUT_PATH_BYTES) return ERR_OK;
    return fault_set(fault, ERR_LIMIT, "the folder's name is too long");
}

bool checkout_is_at(const char *folder)
{
    char path[CHECKOUT_PATH_BYTES];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", folder, state_name);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static enum err read_state(const cJSON *json, const char *path, struct checkout *out,
                           struct fault *fault)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(json, "sinew_checkout");
    const cJSON *base = cJSON_GetObjectItemCaseSensitive(json, "base_version");
    bool fine = cJSON_IsNumber(version) && version->valueint == 1 && cJSON_IsNumber(base) &&
                base->valuedouble >= 0 && base->valuedouble < 4e9;
    for (size_t i = 0; fine && i < TEXT_COUNT; i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(json, texts[i].key);
        fine = cJSON_IsString(v) && strlen(v->valuestring) < texts[i].bytes;
        if (fine) (void)snprintf((char *)out + texts[i].at, texts[i].bytes, "%s", v->valuestring);
    }
    // The surface lies in the folder, whoever wrote this.
    fine = fine && out->model[0] && out->item[0] && !strchr(out->surface, '/');
    if (!fine)
        return fault_set(fault, ERR_MALFORMED, "%.200s is damaged: check the example out again",
                         path);
    out->base_version = (uint32_t)base->valuedouble;
    out->is_sending = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "is_sending"));
    return ERR_OK;
}

enum err checkout_load(const char *folder, struct checkout *out, struct fault *fault)
{
    char path[CHECKOUT_PATH_BYTES];
    struct json_limits limits = json_limits_for(STATE_BYTES_MAX);
    uint8_t *bytes = NULL;
    size_t size = 0;
    cJSON *json = NULL;
    if (!folder || !*folder) folder = ".";
    if (!checkout_is_at(folder))
        return fault_set(fault, ERR_NOT_FOUND,
                         "nothing is checked out in \"%.200s\": name the folder that 'sinew edit "
                         "URL checkout' made",
                         folder);
    *out = (struct checkout){0};
    if (strlen(folder) >= sizeof out->folder)
        return fault_set(fault, ERR_LIMIT, "the folder's name is too long");
    (void)snprintf(out->folder, sizeof out->folder, "%s", folder);
    enum err e = checkout_file(out, state_name, path, fault);
    if (e == ERR_OK) e = file_read(path, STATE_BYTES_MAX, &bytes, &size, fault);
    if (e) return e;
    if (json_parse((const char *)bytes, size, &limits, &json, NULL) != ERR_OK) json = NULL;
    free(bytes);
    e = read_state(json, path, out, fault);
    cJSON_Delete(json);
    return e;
}

enum err checkout_save(const struct checkout *c, struct fault *fault)
{
    char path[CHECKOUT_PATH_BYTES];
    enum err e = checkout_file(c, state_name, path, fault);
    if (e) return e;
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddNumberToObject(json, "sinew_checkout", 1);
    for (size_t i = 0; i < TEXT_COUNT; i++)
        (void)cJSON_AddStringToObject(json, texts[i].key, (const char *)c + texts[i].at);
    (void)cJSON_AddNumberToObject(json, "base_version", c->base_version);
    (void)cJSON_AddBoolToObject(json, "is_sending", c->is_sending);
    char *text = cJSON_Print(json);
    cJSON_Delete(json);
    e = text ? file_write_atomic(path, text, strlen(text), fault)
             : fault_set(fault, ERR_MEMORY, "no memory");
    cJSON_free(text);
    return e;
}

bool checkout_is_root(const char *item)
{
    return strncmp(item, "roots/", 6) == 0;
}

bool checkout_is_correction(const char *item)
{
    return strncmp(item, "corrections/", 12) == 0;
}

bool checkout_is_example(const char *item)
{
    return strcmp(item, "base") != 0 && !checkout_is_root(item) && !checkout_is_correction(item);
}

void checkout_name(const char *model, const char *item, char *out, size_t out_bytes)
{
    int n = snprintf(out, out_bytes, "%s-%s", model, item);
    if (n < 0) out[0] = '\0';
    for (char *c = out; *c; c++) // bytes beyond ASCII stay: they are names
        if ((unsigned char)*c < 0x20 || *c == 0x7f || strchr("/\\:*?\"<>| #", *c)) *c = '-';
    if (out[0] == '.' || out[0] == '-') out[0] = '_';
}

void checkout_hash(const void *bytes, size_t size_bytes, char out[17])
{
    uint64_t hash = 0xcbf29ce484222325u;
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    (void)snprintf(out, 17, "%016" PRIx64, hash);
}
