#include "proto/hello.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_guard.h"
#include "proto/messages.h"

static const struct {
    const char *name;
    uint32_t bit;
} capabilities[] = {{"zstd", HELLO_CAN_ZSTD},         {"lod", HELLO_CAN_LOD},
                    {"textures", HELLO_CAN_TEXTURES}, {"applied", HELLO_CAN_APPLIED},
                    {"resume", HELLO_CAN_RESUME},     {"costs", HELLO_CAN_COSTS}};
enum { CAPABILITY_COUNT = sizeof capabilities / sizeof capabilities[0] };

// ---- JSON in: one reader that remembers the first fault ----

struct hello_json {
    const cJSON *object;
    struct fault *fault;
    enum err failed;
};

static void json_bad(struct hello_json *j, enum err e, const char *name, const char *what)
{
    if (!j->failed) j->failed = fault_set(j->fault, e, "%s: %s", name, what);
}

static const cJSON *json_member(const struct hello_json *j, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->object, name);
    return item && !cJSON_IsNull(item) ? item : NULL;
}

static void json_text(struct hello_json *j, const char *name, char *out, size_t capacity)
{
    const cJSON *item = json_member(j, name);
    if (!item) return;
    if (!cJSON_IsString(item)) {
        json_bad(j, ERR_MALFORMED, name, "must be a text");
    } else if (strlen(item->valuestring) >= capacity) {
        json_bad(j, ERR_LIMIT, name, "is too long");
    } else {
        memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
    }
}

// Whole numbers up to 2^53 survive JSON's doubles exactly.
static uint64_t json_number(struct hello_json *j, const char *name, uint64_t otherwise,
                            uint64_t max)
{
    const cJSON *item = json_member(j, name);
    if (!item) return otherwise;
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0 && value <= (double)max) || value != floor(value)) {
        json_bad(j, ERR_MALFORMED, name, "must be a whole number in its range");
        return otherwise;
    }
    return (uint64_t)value;
}

static bool json_bool(struct hello_json *j, const char *name, bool otherwise)
{
    const cJSON *item = json_member(j, name);
    if (!item) return otherwise;
    if (!cJSON_IsBool(item)) json_bad(j, ERR_MALFORMED, name, "must be true or false");
    return cJSON_IsTrue(item);
}

static uint32_t json_capabilities(struct hello_json *j)
{
    const cJSON *list = json_member(j, "capabilities"), *item;
    uint32_t bits = 0;
    if (list && !cJSON_IsArray(list))
        json_bad(j, ERR_MALFORMED, "capabilities", "must be an array");
    cJSON_ArrayForEach(item, list)
    {
        for (size_t i = 0; i < CAPABILITY_COUNT && cJSON_IsString(item); i++)
            if (strcmp(item->valuestring, capabilities[i].name) == 0) bits |= capabilities[i].bit;
    }
    return bits; // unknown ones are of a later version: skipped
}

static void json_quality_members(struct hello_json *j, struct hello_quality *q)
{
    q->bits = (uint32_t)json_number(j, "bits", q->bits, 16);
    if (q->bits && q->bits < 10) json_bad(j, ERR_MALFORMED, "bits", "must be 10 to 16");
    q->rate_hz = (uint32_t)json_number(j, "rate_hz", q->rate_hz, 1000);
    q->detail = (uint32_t)json_number(j, "detail", q->detail, 3);
    q->characters_max = (uint32_t)json_number(j, "characters_max", q->characters_max, 65535);
    q->raw = json_bool(j, "raw", q->raw);
}

static void json_quality(struct hello_json *j, struct hello_quality *q)
{
    struct hello_json inner = {json_member(j, "quality"), j->fault, j->failed};
    if (!inner.object) return;
    if (!cJSON_IsObject(inner.object)) json_bad(j, ERR_MALFORMED, "quality", "must be an object");
    json_quality_members(&inner, q);
    if (!j->failed) j->failed = inner.failed;
}

// ---- JSON out ----

static void out_text(cJSON *object, const char *name, const char *text)
{
    if (text[0]) cJSON_AddStringToObject(object, name, text);
}

static void out_number(cJSON *object, const char *name, uint64_t value)
{
    if (value) cJSON_AddNumberToObject(object, name, (double)value);
}

static void out_quality_members(cJSON *object, const struct hello_quality *q)
{
    out_number(object, "bits", q->bits);
    out_number(object, "rate_hz", q->rate_hz);
    out_number(object, "detail", q->detail);
    out_number(object, "characters_max", q->characters_max);
    if (q->raw) cJSON_AddTrueToObject(object, "raw");
}

static void out_capabilities(cJSON *object, uint32_t bits)
{
    cJSON *list = cJSON_AddArrayToObject(object, "capabilities");
    for (size_t i = 0; list && i < CAPABILITY_COUNT; i++)
        if (bits & capabilities[i].bit)
            cJSON_AddItemToArray(list, cJSON_CreateString(capabilities[i].name));
}

// Prints and frees `object`; the envelope is the caller's.
static void out_payload(struct wire_writer *w, cJSON *object, const uint16_t version[2],
                        const char *more, size_t more_bytes)
{
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!text || !wire_is_utf8((const uint8_t *)text, strlen(text))) w->failed = true;
    size_t length = text ? strlen(text) : 0;
    wire_put_u32(w, HELLO_MAGIC);
    wire_put_u16(w, version[0]);
    wire_put_u16(w, version[1]);
    wire_put_u32(w, (uint32_t)length);
    wire_put_u32(w, (uint32_t)more_bytes);
    wire_put_bytes(w, text, length);
    wire_put_align4(w);
    wire_put_bytes(w, more, more_bytes);
    wire_put_align4(w);
    free(text);
}

static enum err out_end(struct wire_writer *w, size_t begun_at)
{
    messages_end(w, begun_at);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

enum err hello_encode(struct wire_writer *w, const struct hello *hello)
{
    if (hello->recipe_bytes > HELLO_RECIPE_MAX) return ERR_LIMIT;
    cJSON *o = cJSON_CreateObject();
    out_text(o, "client", hello->client);
    out_text(o, "role", hello->role);
    out_text(o, "token", hello->token);
    out_text(o, "ticket", hello->ticket);
    out_text(o, "resume", hello->resume);
    out_text(o, "scene", hello->scene);
    out_text(o, "character", hello->character);
    out_text(o, "name", hello->name);
    out_quality_members(cJSON_AddObjectToObject(o, "quality"), &hello->quality);
    out_capabilities(o, hello->capabilities);
    out_number(o, "last_frame", hello->last_frame);
    size_t at = messages_begin(w, MESSAGE_HELLO);
    out_payload(w, o, (const uint16_t[2]){hello->major, hello->minor}, hello->recipe,
                hello->recipe_bytes);
    return out_end(w, at);
}

// The fixed prefix; *json is the caller's to delete. `more` borrows from the payload.
static enum err hello_open(const uint8_t *payload, size_t size_bytes, uint16_t version[2],
                           cJSON **json, struct wire_reader *more, struct fault *fault)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    uint32_t magic = wire_u32(&r);
    version[0] = wire_u16(&r);
    version[1] = wire_u16(&r);
    if (r.failed) return fault_set(fault, ERR_TRUNCATED, "the message ends early");
    if (magic != HELLO_MAGIC)
        return fault_set(fault, ERR_MALFORMED, "this is no peer of the sinew protocol");
    if (version[0] != MESSAGES_MAJOR)
        return fault_set(fault, ERR_VERSION,
                         "protocol version %u.%u is not spoken here: %d.%d is; update %s",
                         version[0], version[1], MESSAGES_MAJOR, MESSAGES_MINOR,
                         version[0] < MESSAGES_MAJOR ? "the peer" : "this side");
    uint32_t json_bytes = wire_u32(&r), more_bytes = wire_u32(&r);
    const uint8_t *text = wire_bytes(&r, json_bytes);
    wire_align4(&r);
    const uint8_t *rest = wire_bytes(&r, more_bytes);
    if (!text || !rest) return fault_set(fault, ERR_TRUNCATED, "the message ends early");
    if (!wire_is_utf8(text, json_bytes)) // the JSON parser would let it through, into logs
        return fault_set(fault, ERR_MALFORMED, "the JSON part is not UTF-8");
    *more = wire_read(rest, more_bytes);
    const struct json_limits limits = {.bytes_max = 65536, .depth_max = 8, .values_max = 2048};
    enum err e = json_parse((const char *)text, json_bytes, &limits, json, fault);
    if (e) return e;
    if (cJSON_IsObject(*json)) return ERR_OK;
    cJSON_Delete(*json);
    *json = NULL;
    return fault_set(fault, ERR_MALFORMED, "the JSON part must be an object");
}

enum err hello_decode(const uint8_t *payload, size_t size_bytes, struct hello *out,
                      struct fault *fault)
{
    struct hello h = {.role = "player"};
    uint16_t version[2];
    cJSON *json = NULL;
    struct wire_reader more;
    enum err e = hello_open(payload, size_bytes, version, &json, &more, fault);
    if (e) return e;
    struct hello_json j = {json, fault, ERR_OK};
    h.major = version[0];
    h.minor = version[1];
    json_text(&j, "client", h.client, sizeof h.client);
    json_text(&j, "role", h.role, sizeof h.role);
    if (!h.role[0]) memcpy(h.role, "player", sizeof "player"); // empty is as good as absent
    json_text(&j, "token", h.token, sizeof h.token);
    json_text(&j, "ticket", h.ticket, sizeof h.ticket);
    json_text(&j, "resume", h.resume, sizeof h.resume);
    json_text(&j, "scene", h.scene, sizeof h.scene);
    json_text(&j, "character", h.character, sizeof h.character);
    json_text(&j, "name", h.name, sizeof h.name);
    json_quality(&j, &h.quality);
    h.capabilities = json_capabilities(&j);
    h.last_frame = (uint32_t)json_number(&j, "last_frame", 0, UINT32_MAX);
    cJSON_Delete(json);
    h.recipe_bytes = wire_left(&more);
    h.recipe = h.recipe_bytes ? (const char *)more.at : NULL;
    if (!j.failed && h.recipe_bytes > HELLO_RECIPE_MAX)
        return fault_set(fault, ERR_LIMIT, "a recipe has at most %d bytes", HELLO_RECIPE_MAX);
    if (!j.failed) *out = h;
    return j.failed;
}

static enum err bindings_check(const char *text, size_t size_bytes, struct fault *fault)
{
    if (size_bytes == 0) return ERR_OK;
    if (!wire_is_utf8((const uint8_t *)text, size_bytes))
        return fault_set(fault, ERR_MALFORMED, "the bindings are not UTF-8");
    struct json_limits limits = json_limits_for(messages_row(MESSAGE_WELCOME)->size_max_bytes);
    cJSON *json = NULL;
    enum err e = json_parse(text, size_bytes, &limits, &json, fault);
    cJSON_Delete(json);
    return e;
}

enum err hello_encode_welcome(struct wire_writer *w, const struct hello_welcome *welcome)
{
    enum err e = bindings_check(welcome->bindings, welcome->bindings_bytes, NULL);
    if (e) return e;
    cJSON *o = cJSON_CreateObject();
    out_text(o, "server", welcome->server);
    out_text(o, "session", welcome->session);
    out_text(o, "resume", welcome->resume);
    out_number(o, "resume_s", welcome->resume_s);
    out_text(o, "scene", welcome->scene);
    out_number(o, "scene_id", welcome->scene_id);
    out_text(o, "character", welcome->character);
    out_number(o, "actor", welcome->actor);
    out_number(o, "tick_hz", welcome->tick_hz);
    out_quality_members(cJSON_AddObjectToObject(o, "quality"), &welcome->quality);
    out_capabilities(o, welcome->capabilities);
    out_number(o, "heartbeat_ms", welcome->heartbeat_ms);
    out_number(o, "ack_hz", welcome->ack_hz);
    out_number(o, "tick", welcome->tick);
    out_number(o, "server_time_us", welcome->server_time_us);
    if (welcome->resumed) cJSON_AddTrueToObject(o, "resumed");
    size_t at = messages_begin(w, MESSAGE_WELCOME);
    out_payload(w, o, (const uint16_t[2]){welcome->major, welcome->minor}, welcome->bindings,
                welcome->bindings_bytes);
    return out_end(w, at);
}

enum err hello_decode_welcome(const uint8_t *payload, size_t size_bytes, struct hello_welcome *out,
                              struct fault *fault)
{
    struct hello_welcome h = {0};
    uint16_t version[2];
    cJSON *json = NULL;
    struct wire_reader more;
    enum err e = hello_open(payload, size_bytes, version, &json, &more, fault);
    if (e) return e;
    const uint64_t whole_max = UINT64_C(1) << 53;
    struct hello_json j = {json, fault, ERR_OK};
    h.major = version[0];
    h.minor = version[1];
    json_text(&j, "server", h.server, sizeof h.server);
    json_text(&j, "session", h.session, sizeof h.session);
    json_text(&j, "resume", h.resume, sizeof h.resume);
    h.resume_s = (uint32_t)json_number(&j, "resume_s", 0, UINT32_MAX);
    json_text(&j, "scene", h.scene, sizeof h.scene);
    h.scene_id = (uint32_t)json_number(&j, "scene_id", 0, UINT32_MAX);
    json_text(&j, "character", h.character, sizeof h.character);
    h.actor = (uint32_t)json_number(&j, "actor", 0, UINT32_MAX);
    h.tick_hz = (uint32_t)json_number(&j, "tick_hz", 0, 1000);
    json_quality(&j, &h.quality);
    h.capabilities = json_capabilities(&j);
    h.heartbeat_ms = (uint32_t)json_number(&j, "heartbeat_ms", 0, UINT32_MAX);
    h.ack_hz = (uint32_t)json_number(&j, "ack_hz", 0, 1000);
    h.tick = json_number(&j, "tick", 0, whole_max);
    h.server_time_us = json_number(&j, "server_time_us", 0, whole_max);
    h.resumed = json_bool(&j, "resumed", false);
    cJSON_Delete(json);
    if (j.failed) return j.failed;
    h.bindings_bytes = wire_left(&more);
    h.bindings = h.bindings_bytes ? (const char *)more.at : NULL;
    e = bindings_check(h.bindings, h.bindings_bytes, fault);
    if (!e) *out = h;
    return e;
}

enum err hello_encode_settings(struct wire_writer *w, const struct hello_quality *quality)
{
    cJSON *o = cJSON_CreateObject();
    out_quality_members(o, quality);
    if (!quality->raw) cJSON_AddFalseToObject(o, "raw"); // a setting must be able to end it
    char *text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    if (!text) return ERR_MEMORY;
    size_t at = messages_begin(w, MESSAGE_SETTINGS);
    wire_put_bytes(w, text, strlen(text));
    free(text);
    return out_end(w, at);
}

enum err hello_decode_settings(const uint8_t *payload, size_t size_bytes,
                               struct hello_quality *inout, struct fault *fault)
{
    const struct json_limits limits = {.bytes_max = 4096, .depth_max = 8, .values_max = 256};
    cJSON *json = NULL;
    if (!wire_is_utf8(payload, size_bytes))
        return fault_set(fault, ERR_MALFORMED, "the settings are not UTF-8");
    enum err e = json_parse((const char *)payload, size_bytes, &limits, &json, fault);
    if (e) return e;
    struct hello_quality q = *inout;
    struct hello_json j = {json, fault, ERR_OK};
    if (!cJSON_IsObject(json)) json_bad(&j, ERR_MALFORMED, "settings", "must be an object");
    json_quality_members(&j, &q);
    cJSON_Delete(json);
    if (!j.failed) *inout = q;
    return j.failed;
}
