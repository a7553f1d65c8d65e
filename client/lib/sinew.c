#include "client/lib/include/sinew/sinew.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/lib/session.h"
#include "client/lib/show.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/json_guard.h"
#include "common/tls_cert.h"

_Static_assert((int)SINEW_NAME_MAX == (int)SESSION_NAME_MAX, "names are copied whole");
_Static_assert((int)SINEW_TEXTURE_USE_COUNT == (int)APPEARANCE_USE_COUNT, "same order");

enum { DELAY_DEFAULT_MS = 200, CONNECT_DEFAULT_MS = 10000, POLL_STEP_MS = 200 };

// Hands a struct to callers that know fewer of its fields (or a few more) than this library.
#define GIVE(out, full)                                                                            \
    do {                                                                                           \
        size_t size_ = (out)->struct_size < sizeof(full) ? (out)->struct_size : sizeof(full);      \
        (full).struct_size = (out)->struct_size;                                                   \
        memcpy((out), &(full), size_);                                                             \
    } while (0)

// Takes a struct from such callers: what they do not know is zero.
#define TAKE(full, in)                                                                             \
    memcpy(&(full), (in), (in)->struct_size < sizeof(full) ? (in)->struct_size : sizeof(full))

const char *sinew_result_text(int result)
{
    switch (result) {
    case SINEW_OK:
        return "ok";
    case SINEW_ERR_USAGE:
        return "wrong usage";
    case SINEW_ERR_MEMORY:
        return "out of memory";
    case SINEW_ERR_NETWORK:
        return "no connection";
    case SINEW_ERR_TLS:
        return "the certificate or the TLS handshake was refused";
    case SINEW_ERR_PROTOCOL:
        return "the peer does not keep to the protocol";
    case SINEW_ERR_REFUSED:
        return "refused by the server";
    case SINEW_ERR_TIMEOUT:
        return "timed out";
    case SINEW_ERR_NOT_FOUND:
        return "not found";
    case SINEW_ERR_BUSY:
        return "the way out is full";
    case SINEW_ERR_STATE:
        return "not possible now";
    default:
        return "unknown result";
    }
}

const char *sinew_version(void)
{
    return SINEW_VERSION;
}

uint64_t sinew_now_us(void)
{
    return clock_ns() / 1000;
}

// ---- opening ----

void sinew_options_init(struct sinew_options *options, size_t struct_size)
{
    struct sinew_options full = {.own_thread = 1,
                                 .reconnect = 1,
                                 .decode = 1,
                                 .delay_max_ms = DELAY_DEFAULT_MS,
                                 .connect_timeout_ms = CONNECT_DEFAULT_MS,
                                 .memory_max_bytes = UINT64_C(1) << 30};
    full.struct_size = struct_size;
    memcpy(options, &full, struct_size < sizeof full ? struct_size : sizeof full);
}

static enum err check_options(const struct sinew_options *o, struct fault *fault)
{
    const char *const names[] = {o->scene, o->character, o->role, o->name};
    const char *const secrets[] = {o->token, o->ticket};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i] && strlen(names[i]) >= HELLO_NAME_MAX)
            return fault_set(fault, ERR_USAGE, "\"%.20s...\" is longer than %d bytes", names[i],
                             HELLO_NAME_MAX - 1);
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        if (secrets[i] && strlen(secrets[i]) >= HELLO_TOKEN_MAX)
            return fault_set(fault, ERR_USAGE, "the token or ticket is longer than %d bytes",
                             HELLO_TOKEN_MAX - 1);
    if (o->recipe && strlen(o->recipe) > HELLO_RECIPE_MAX)
        return fault_set(fault, ERR_USAGE, "the recipe is longer than %d bytes", HELLO_RECIPE_MAX);
    if (o->quality.bits && (o->quality.bits < 10 || o->quality.bits > 16))
        return fault_set(fault, ERR_USAGE, "quality.bits is 10 to 16, not %u", o->quality.bits);
    if (o->quality.detail > 3)
        return fault_set(fault, ERR_USAGE, "quality.detail is 0 to 3, not %u", o->quality.detail);
    if (o->position_format > SINEW_POSITION_UINT16_4 || o->normal_format > SINEW_NORMAL_NONE ||
        o->playout > SINEW_PLAY_EVERY)
        return fault_set(fault, ERR_USAGE, "an unknown format or playout");
    bool floats =
        o->position_format == SINEW_POSITION_FLOAT3 &&
        (o->normal_format == SINEW_NORMAL_FLOAT3 || o->normal_format == SINEW_NORMAL_NONE);
    if (o->quality.raw && !floats)
        return fault_set(fault, ERR_USAGE, "raw frames need float positions and normals");
    return ERR_OK;
}

static enum err open_tls(struct sinew_client *c, struct fault *fault)
{
    static const char *const native[] = {"sinew/1", NULL}, *const web[] = {"http/1.1", NULL};
    const struct sinew_options *o = &c->options;
    uint8_t pin[TLS_PIN_BYTES];
    if (!url_has_tls(&c->url)) return ERR_OK;
    if (o->pin && tls_cert_pin_parse(o->pin, pin) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "the pin is not the 64 hex digits of a SHA-256");
    const struct tls_client_options options = {
        .ca_path = o->ca_file || o->pin || o->insecure ? o->ca_file : net_system_ca(),
        .pin = o->pin ? pin : NULL,
        .insecure = o->insecure != 0,
        .alpn = c->url.scheme == URL_SINEW ? native : web};
    return tls_config_client(&options, &c->tls, fault);
}

// Copies every string of the options into one block.
static bool copy_strings(struct sinew_client *c)
{
    struct sinew_options *o = &c->options;
    const char **const texts[] = {&o->url,     &o->ca_file, &o->pin,   &o->token,
                                  &o->ticket,  &o->role,    &o->scene, &o->character,
                                  &o->program, &o->name,    &o->recipe};
    size_t count = sizeof texts / sizeof texts[0], size = 1;
    for (size_t i = 0; i < count; i++)
        size += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    c->texts = malloc(size);
    if (!c->texts) return false;
    char *at = c->texts;
    for (size_t i = 0; i < count; i++) {
        if (!*texts[i]) continue;
        size_t length = strlen(*texts[i]) + 1;
        memcpy(at, *texts[i], length);
        *texts[i] = at;
        at += length;
    }
    return true;
}

static void client_free(struct sinew_client *c)
{
    session_free(c);
    actors_free(c);
    textures_free(&c->textures);
    input_free(&c->input);
    events_free(&c->events);
    net_wake_free(&c->wake);
    net_lock_free(c->lock);
    tls_config_free(c->tls);
    free(c->bindings);
    free(c->bindings_new);
    free(c->catalogue);
    free(c->catalogue_new);
    free(c->texts);
    free(c);
}

// One round of the network: what is due, then a wait for more. Called without the lock.
static bool drive(struct sinew_client *c, uint32_t timeout_ms)
{
    net_lock_take(c->lock);
    if (c->session.phase == SESSION_RESOLVING) {
        struct net_addresses addresses = {0};
        struct fault fault = {0};
        net_lock_give(c->lock);
        enum err e = net_resolve(c->url.host, c->url.port, &addresses, &fault);
        net_lock_take(c->lock);
        session_resolved(c, e, &addresses, &fault, sinew_now_us());
    }
    uint64_t before = c->session.link.bytes_in, now_us = sinew_now_us();
    session_step(c, now_us);
    uint32_t due_ms = session_wait_ms(c, now_us);
    if (due_ms < timeout_ms) timeout_ms = due_ms;
    if (c->session.link.bytes_in != before) timeout_ms = 0;
    struct net_wait items[] = {
        {.socket = link_socket(&c->session.link), .want_write = link_wants_write(&c->session.link)},
        {.socket = c->wake.reads}};
    net_lock_give(c->lock);
    bool came = net_wait(items, 2, timeout_ms);
    if (items[1].ready) net_wake_drain(&c->wake);
    net_lock_take(c->lock);
    if (came) session_step(c, sinew_now_us());
    came = c->session.link.bytes_in != before;
    net_lock_give(c->lock);
    return came;
}

static void thread_run(void *owner)
{
    struct sinew_client *c = owner;
    for (;;) {
        net_lock_take(c->lock);
        bool stop = c->stop;
        net_lock_give(c->lock);
        if (stop) return;
        (void)drive(c, POLL_STEP_MS);
    }
}

static enum err client_start(struct sinew_client *c, struct fault *fault)
{
    enum err e = check_options(&c->options, fault);
    if (e) return e;
    if (!copy_strings(c)) return fault_set(fault, ERR_MEMORY, "no memory for a client");
    if (!c->options.url) return fault_set(fault, ERR_USAGE, "options.url is missing");
    e = url_parse(c->options.url, &c->url, fault);
    if (e == ERR_OK && c->url.scheme >= URL_HTTPS)
        e = fault_set(fault, ERR_USAGE, "a stream is at sinew://, wss:// or ws://, not http");
    if (e == ERR_OK) e = open_tls(c, fault);
    if (e) return e;
    if (!c->lock || !net_wake_create(&c->wake))
        return fault_set(fault, ERR_MEMORY, "no memory for a client");
    if (!net_random(&c->session.random, sizeof c->session.random)) c->session.random = 1;
    c->session.random |= 1;
    session_start(c, sinew_now_us());
    if (!c->options.own_thread) return ERR_OK;
    c->thread = net_thread_start(thread_run, c);
    return c->thread ? ERR_OK : fault_set(fault, ERR_MEMORY, "no thread is to be had");
}

static int give_why(int result, char *why, size_t why_bytes, const char *line)
{
    if (why && why_bytes > 0) (void)snprintf(why, why_bytes, "%s", line);
    return result;
}

int sinew_open(const struct sinew_options *options, struct sinew_client **out, char *why,
               size_t why_bytes)
{
    if (!options || !out || options->struct_size < sizeof(size_t))
        return give_why(SINEW_ERR_USAGE, why, why_bytes, "sinew_options_init was not called");
    struct fault fault = {0};
    struct sinew_client *c = calloc(1, sizeof *c);
    if (!c) return give_why(SINEW_ERR_MEMORY, why, why_bytes, "no memory for a client");
    sinew_options_init(&c->options, sizeof c->options);
    TAKE(c->options, options);
    link_init(&c->session.link);
    c->wake = (struct net_wake){NET_NONE, NET_NONE};
    c->lock = net_lock_create();
    c->simd = simd_best();
    playout_init(&c->playout, (uint64_t)c->options.delay_max_ms * 1000);
    enum err e = client_start(c, &fault);
    if (e == ERR_OK) {
        *out = c;
        return SINEW_OK;
    }
    client_free(c);
    int result = e == ERR_USAGE || e == ERR_LIMIT ? SINEW_ERR_USAGE
                 : e == ERR_MEMORY                ? SINEW_ERR_MEMORY
                                                  : SINEW_ERR_TLS;
    return give_why(result, why, why_bytes, fault.line[0] ? fault.line : err_text(e));
}

void sinew_close(struct sinew_client *c)
{
    if (!c) return;
    if (c->thread) {
        net_lock_take(c->lock);
        c->stop = true;
        net_lock_give(c->lock);
        net_wake_signal(&c->wake);
        net_thread_join(c->thread);
    }
    session_goodbye(c);
    client_free(c);
}

int sinew_wait_joined(struct sinew_client *c, uint32_t timeout_ms, char *why, size_t why_bytes)
{
    if (!c) return SINEW_ERR_USAGE;
    uint64_t until = sinew_now_us() + (uint64_t)timeout_ms * 1000;
    for (;;) {
        if (c->thread)
            (void)net_wait(NULL, 0, 5);
        else
            (void)drive(c, 20);
        net_lock_take(c->lock);
        enum session_phase phase = c->session.phase;
        struct session_reason reason = c->session.reason;
        net_lock_give(c->lock);
        if (phase == SESSION_JOINED) return SINEW_OK;
        if (phase == SESSION_ENDED) return give_why(reason.result, why, why_bytes, reason.text);
        if (sinew_now_us() > until)
            return give_why(SINEW_ERR_TIMEOUT, why, why_bytes,
                            reason.text[0] ? reason.text : "the server does not answer");
    }
}

int sinew_poll(struct sinew_client *c, uint32_t timeout_ms)
{
    if (!c || c->thread) return SINEW_ERR_USAGE;
    bool came = drive(c, timeout_ms);
    if (c->session.phase == SESSION_ENDED) return SINEW_ERR_STATE;
    return came ? SINEW_OK : SINEW_ERR_TIMEOUT;
}

int sinew_get_wait(struct sinew_client *c, struct sinew_wait *out)
{
    if (!c || !out || c->thread) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    struct sinew_wait full = {.socket = link_socket(&c->session.link),
                              .want_write = link_wants_write(&c->session.link),
                              .timeout_ms = session_wait_ms(c, sinew_now_us())};
    net_lock_give(c->lock);
    GIVE(out, full);
    return SINEW_OK;
}

int sinew_set_quality(struct sinew_client *c, const struct sinew_quality *quality)
{
    if (!c || !quality || quality->detail > 3 ||
        (quality->bits && (quality->bits < 10 || quality->bits > 16)))
        return SINEW_ERR_USAGE;
    const struct hello_quality q = {.bits = quality->bits,
                                    .rate_hz = quality->rate_hz,
                                    .detail = quality->detail,
                                    .characters_max = quality->characters_max,
                                    .raw = quality->raw != 0};
    uint8_t bytes[1024];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (hello_encode_settings(&w, &q) != ERR_OK) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    c->options.quality = *quality; // for the next connection too
    int r = c->session.phase != SESSION_JOINED      ? SINEW_OK
            : session_send(c, bytes, wire_size(&w)) ? SINEW_OK
                                                    : SINEW_ERR_BUSY;
    net_lock_give(c->lock);
    net_wake_signal(&c->wake);
    return r;
}

// ---- events, drawing ----

int sinew_next_event(struct sinew_client *c, struct sinew_event *out)
{
    struct event e;
    if (!c || !out || out->struct_size < sizeof(size_t)) return 0;
    net_lock_take(c->lock);
    bool any = events_pop(&c->events, &e);
    net_lock_give(c->lock);
    if (!any) return 0;
    struct sinew_event full = {.kind = e.kind,
                               .result = e.result,
                               .code = e.code,
                               .actor = e.actor,
                               .sequence = e.sequence,
                               .retry_ms = e.retry_ms,
                               .tick = e.tick,
                               .time_us = e.time_us};
    (void)snprintf(full.text, sizeof full.text, "%s", e.text ? e.text : "");
    free(e.text);
    GIVE(out, full);
    return 1;
}

int sinew_update(struct sinew_client *c)
{
    if (!c) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    int changed = show_update(c, sinew_now_us());
    net_lock_give(c->lock);
    return changed;
}

static int give_actor(struct sinew_client *c, const struct actor *a, struct sinew_actor *out)
{
    if (!a) return SINEW_ERR_NOT_FOUND;
    struct sinew_actor full;
    show_describe(c, a, &full);
    GIVE(out, full);
    return SINEW_OK;
}

int sinew_actor_at(struct sinew_client *c, size_t i, struct sinew_actor *out)
{
    if (!c || !out || out->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    int r = give_actor(c, i < c->actors.count ? c->actors.items[i] : NULL, out);
    net_lock_give(c->lock);
    return r;
}

int sinew_actor_get(struct sinew_client *c, uint32_t actor, struct sinew_actor *out)
{
    if (!c || !out || out->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    int r = give_actor(c, actors_find(&c->actors, actor), out);
    net_lock_give(c->lock);
    return r;
}

uint32_t sinew_own_actor(struct sinew_client *c)
{
    if (!c) return 0;
    net_lock_take(c->lock);
    uint32_t own = c->actors.own;
    net_lock_give(c->lock);
    return own;
}

int sinew_gather(struct sinew_client *c, uint32_t actor, float *positions, float *normals)
{
    if (!c || !positions) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    const struct actor *a = actors_find(&c->actors, actor);
    int r = a ? show_gather(c, a, positions, normals) : SINEW_ERR_NOT_FOUND;
    net_lock_give(c->lock);
    return r;
}

static void give_slot(const struct appearance_texture *from, struct sinew_texture_slot *to)
{
    memcpy(to->hash, from->hash, sizeof to->hash);
    to->uv_set = from->uv_set;
    to->wrap_s = from->wrap_s;
    to->wrap_t = from->wrap_t;
    to->nearest = from->filter;
    memcpy(to->offset, from->offset, sizeof to->offset);
    memcpy(to->scale, from->scale, sizeof to->scale);
    to->rotation_rad = from->rotation_rad;
    to->strength = from->strength;
}

int sinew_material_at(struct sinew_client *c, uint32_t actor, uint32_t material,
                      struct sinew_material *out)
{
    if (!c || !out || out->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    struct sinew_material full = {0};
    net_lock_take(c->lock);
    const struct actor *a = actors_find(&c->actors, actor);
    bool found = a && material < a->materials.count;
    if (found) {
        const struct appearance_material *m = &a->materials.items[material];
        memcpy(full.name, m->name, sizeof full.name);
        full.alpha = m->alpha;
        full.double_sided = (m->flags & APPEARANCE_DOUBLE_SIDED) != 0;
        full.unlit = (m->flags & APPEARANCE_UNLIT) != 0;
        memcpy(full.base_color, m->base_color, sizeof full.base_color);
        memcpy(full.emissive, m->emissive, sizeof full.emissive);
        full.metallic = m->metallic;
        full.roughness = m->roughness;
        full.alpha_cutoff = m->alpha_cutoff;
        for (int k = 0; k < SINEW_TEXTURE_USE_COUNT; k++)
            give_slot(&m->textures[k], &full.textures[k]);
    }
    net_lock_give(c->lock);
    if (!found) return SINEW_ERR_NOT_FOUND;
    GIVE(out, full);
    return SINEW_OK;
}

int sinew_texture_get(struct sinew_client *c, const uint8_t hash[16], struct sinew_texture *out)
{
    static const char *const mimes[] = {
        "application/octet-stream",  "image/png", "image/jpeg", "image/webp", "image/ktx2",
        "application/x-sinew-shares"};
    if (!c || !hash || !out || out->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    const struct texture *x = textures_find(&c->textures, hash);
    bool found = x && x->shown;
    struct sinew_texture full = {0};
    if (found) {
        full.mime = mimes[x->mime <= APPEARANCE_SHARES ? x->mime : 0];
        full.bytes = x->bytes;
        full.size_bytes = x->size_bytes;
    }
    net_lock_give(c->lock);
    if (!found) return SINEW_ERR_NOT_FOUND;
    GIVE(out, full);
    return SINEW_OK;
}

// ---- input ----

int sinew_send_pose(struct sinew_client *c, const struct sinew_pose *pose, uint32_t *sequence)
{
    if (!c || !pose || pose->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    struct sinew_pose full = {0};
    TAKE(full, pose);
    net_lock_take(c->lock);
    int r = input_pose(c, &full, sequence);
    net_lock_give(c->lock);
    net_wake_signal(&c->wake);
    return r;
}

int sinew_send_place(struct sinew_client *c, const struct sinew_place *place, uint32_t *sequence)
{
    if (!c || !place || place->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    struct sinew_place full = {0};
    TAKE(full, place);
    net_lock_take(c->lock);
    int r = input_place(c, &full, sequence);
    net_lock_give(c->lock);
    net_wake_signal(&c->wake);
    return r;
}

static int send_values(struct sinew_client *c, uint8_t type, const struct sinew_value *values,
                       size_t count, uint32_t *sequence)
{
    if (!c || (!values && count > 0)) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    int r = input_values(c, type, values, count, sequence);
    net_lock_give(c->lock);
    net_wake_signal(&c->wake);
    return r;
}

int sinew_send_face(struct sinew_client *c, const struct sinew_value *values, size_t count,
                    uint32_t *sequence)
{
    return send_values(c, MESSAGE_FACE, values, count, sequence);
}

int sinew_send_customise(struct sinew_client *c, const struct sinew_value *values, size_t count,
                         uint32_t *sequence)
{
    return send_values(c, MESSAGE_CUSTOMISE, values, count, sequence);
}

int sinew_send_control(struct sinew_client *c, const struct sinew_control *control,
                       uint32_t *sequence)
{
    if (!c || !control || control->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    struct sinew_control full = {0};
    TAKE(full, control);
    net_lock_take(c->lock);
    int r = input_control(c, &full, sequence);
    net_lock_give(c->lock);
    net_wake_signal(&c->wake);
    return r;
}

int sinew_send_sensor(struct sinew_client *c, const struct sinew_sensor *sensor, uint32_t *sequence)
{
    if (!c || !sensor || sensor->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    struct sinew_sensor full = {0};
    TAKE(full, sensor);
    net_lock_take(c->lock);
    int r = input_sensor(c, &full, sequence);
    net_lock_give(c->lock);
    net_wake_signal(&c->wake);
    return r;
}

const char *sinew_bindings(struct sinew_client *c)
{
    return c ? c->bindings : NULL;
}

const char *sinew_catalogue(struct sinew_client *c)
{
    return c ? c->catalogue : NULL;
}

static void shorten(char *text, size_t *length, const char *ending)
{
    size_t tail = strlen(ending);
    if (*length <= tail || strcmp(text + *length - tail, ending) != 0) return;
    *length -= tail - 1;
    text[*length] = 0;
}

// eyeBlinkLeft, eye_blink_left and eyeBlink_L are one name: no case, no separators, and a side at
// the end by its first letter.
static void fold_name(const char *name, char out[SINEW_NAME_MAX])
{
    size_t n = 0;
    for (; *name && n < SINEW_NAME_MAX - 1; name++)
        if (isalnum((unsigned char)*name)) out[n++] = (char)tolower((unsigned char)*name);
    out[n] = 0;
    shorten(out, &n, "left");
    shorten(out, &n, "right");
}

static int32_t find_alias(const cJSON *list, const char *name)
{
    char want[SINEW_NAME_MAX], have[SINEW_NAME_MAX];
    int32_t i = 0, found = -1;
    const cJSON *item;
    fold_name(name, want);
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item)) {
            fold_name(item->valuestring, have);
            if (want[0] && strcmp(want, have) == 0) {
                if (found >= 0) return -1; // two could be meant
                found = i;
            }
        }
        i++;
    }
    return found;
}

static int32_t find_name(const cJSON *list, const char *name)
{
    int32_t i = 0, count = (int32_t)cJSON_GetArraySize(list);
    const cJSON *item;
    if (name[0] == '#') {
        char *end;
        long index = strtol(name + 1, &end, 10);
        return name[1] && *end == 0 && index >= 0 && index < count ? (int32_t)index : -1;
    }
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) return i;
        i++;
    }
    return find_alias(list, name);
}

// The catalogue that has come, parsed, the caller's to delete; or NULL.
static cJSON *open_catalogue(struct sinew_client *c)
{
    cJSON *json = NULL;
    struct json_limits limits = json_limits_for(messages_row(MESSAGE_CATALOGUE)->size_max_bytes);
    net_lock_take(c->lock);
    const char *text = c->catalogue_fresh ? c->catalogue_new : c->catalogue;
    if (text && json_parse(text, strlen(text), &limits, &json, NULL) != ERR_OK) json = NULL;
    net_lock_give(c->lock);
    return json;
}

// As the server finds them: an expression of the name, a shape, else what the table of names says.
static size_t find_face(const cJSON *catalogue, const char *name, struct sinew_value *parts,
                        size_t capacity)
{
    const cJSON *shapes = cJSON_GetObjectItemCaseSensitive(catalogue, "shapes");
    const cJSON *expressions = cJSON_GetObjectItemCaseSensitive(catalogue, "expressions"), *item;
    int32_t count = (int32_t)cJSON_GetArraySize(shapes), id = -1, i = 0;
    cJSON_ArrayForEach(item, expressions)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) id = count + i;
        i++;
    }
    if (id < 0) id = find_name(shapes, name);
    if (capacity == 0) return 0;
    if (id >= 0 && id <= UINT16_MAX) {
        parts[0] = (struct sinew_value){.id = (uint16_t)id, .value = 1};
        return 1;
    }
    size_t found = 0;
    item = cJSON_GetObjectItem(cJSON_GetObjectItemCaseSensitive(catalogue, "face_names"), name);
    for (const cJSON *p = item ? item->child : NULL; p && found < capacity; p = p->next) {
        const cJSON *of = cJSON_GetArrayItem(p, 0), *share = cJSON_GetArrayItem(p, 1);
        if (!cJSON_IsNumber(of) || !cJSON_IsNumber(share)) continue;
        if (!(of->valuedouble >= 0 && of->valuedouble <= UINT16_MAX)) continue;
        parts[found++] = (struct sinew_value){.id = (uint16_t)of->valuedouble,
                                              .value = (float)share->valuedouble};
    }
    return found;
}

size_t sinew_face_parts(struct sinew_client *c, const char *name, struct sinew_value *parts,
                        size_t capacity)
{
    cJSON *json = c && name && parts ? open_catalogue(c) : NULL;
    size_t found = json ? find_face(json, name, parts, capacity) : 0;
    cJSON_Delete(json);
    return found;
}

int32_t sinew_shape_id(struct sinew_client *c, const char *name)
{
    struct sinew_value part;
    cJSON *json = c && name ? open_catalogue(c) : NULL;
    bool found = json && find_face(json, name, &part, 1) == 1 && part.value == 1;
    cJSON_Delete(json);
    return found ? part.id : -1;
}

int32_t sinew_parameter_id(struct sinew_client *c, const char *name)
{
    cJSON *json = c && name ? open_catalogue(c) : NULL;
    int32_t found =
        json ? find_name(cJSON_GetObjectItemCaseSensitive(json, "parameters"), name) : -1;
    cJSON_Delete(json);
    return found;
}

// ---- figures ----

static struct sinew_percentiles percentiles(const struct histogram *h)
{
    return (struct sinew_percentiles){.count = h->count,
                                      .p50_us = histogram_quantile(h, 0.5),
                                      .p90_us = histogram_quantile(h, 0.9),
                                      .p99_us = histogram_quantile(h, 0.99),
                                      .max_us = h->max_us};
}

static void fill_session_stats(const struct sinew_client *c, struct sinew_stats *out)
{
    const struct session *s = &c->session;
    uint64_t joined_us = s->joined_total_us;
    if (s->phase == SESSION_JOINED) joined_us += sinew_now_us() - s->joined_at_us;
    out->joined_s = (double)joined_us / 1e6;
    out->connection = s->phase == SESSION_JOINED    ? SINEW_JOINED
                      : s->phase == SESSION_WAITING ? SINEW_WAITING
                      : s->phase == SESSION_ENDED   ? SINEW_CLOSED
                                                    : SINEW_CONNECTING;
    out->bytes_in = s->link.bytes_in;
    out->bytes_out = s->link.bytes_out;
    out->tick_hz = s->welcome.tick_hz;
    out->granted = (struct sinew_quality){.bits = s->welcome.quality.bits,
                                          .rate_hz = s->welcome.quality.rate_hz,
                                          .detail = s->welcome.quality.detail,
                                          .characters_max = s->welcome.quality.characters_max,
                                          .raw = s->welcome.quality.raw};
}

int sinew_get_stats(struct sinew_client *c, struct sinew_stats *out)
{
    if (!c || !out || out->struct_size < sizeof(size_t)) return SINEW_ERR_USAGE;
    net_lock_take(c->lock);
    const struct figures *g = &c->figures;
    struct sinew_stats full = {
        .frames = g->frames,
        .frames_own = g->frames_own,
        .frames_key = g->frames_key,
        .frames_missed = g->frames_missed,
        .frames_undecoded = g->frames_undecoded,
        .frames_unshown = g->frames_unshown,
        .resyncs = g->resyncs,
        .vertex_bits = g->vertex_bits,
        .vertices = g->vertices,
        .events_lost = c->events.lost_count,
        .messages_skipped = g->messages_skipped + c->session.link.inbox.skipped_count,
        .reconnects = g->reconnects,
        .resumes = g->resumes,
        .age_us = percentiles(&g->age),
        .shown_age_us = percentiles(&g->shown_age),
        .latency_us = percentiles(&g->latency),
        .interval_us = percentiles(&g->interval),
        .rtt_us = percentiles(&g->rtt),
        .clock_offset_us = c->clock.offset_us,
        .clock_error_us = c->clock.known ? c->clock.rtt_us / 2 + 1 : 0,
        .delay_us = c->options.playout == SINEW_PLAY_SMOOTH ? (uint32_t)c->playout.delay_us : 0};
    fill_session_stats(c, &full);
    net_lock_give(c->lock);
    GIVE(out, full);
    return SINEW_OK;
}
