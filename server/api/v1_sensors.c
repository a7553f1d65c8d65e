#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "common/json_guard.h"
#include "proto/sensor_json.h"
#include "server/api/api_internal.h"
#include "server/api/v1.h"

// Sensors of a running session: a UDP port that speaks for it, and calibration of who wears them.

static const char *session_of(struct http_exchange *x)
{
    return http_exchange_param(x, "session");
}

static const struct auth_identity *who_asks(struct http_exchange *x)
{
    return http_exchange_data(x);
}

static const struct conn_address *peer_of(struct http_exchange *x)
{
    return conn_peer(http_exchange_conn(x));
}

static void refuse(struct http_exchange *x, enum hub_lease result, const struct fault *fault)
{
    switch (result) {
    case HUB_LEASE_OFF:
        http_answer_problem(x, 409, "osc-off", "This server takes no UDP input",
                            "Start it with --osc 127.0.0.1:39539-39550.");
        break;
    case HUB_LEASE_UNKNOWN:
        http_answer_problem(x, 404, "no-such-session", "There is no such session",
                            "WELCOME names it; it ends half a minute after its connection.");
        break;
    case HUB_LEASE_DENIED:
        http_answer_problem(x, 403, "not-your-session", "Another opened this session",
                            "Ask with the token that opened it.");
        break;
    default:
        http_answer_problem(x, 409, fault->code == ERR_BUSY ? "no-free-port" : "refused",
                            "That cannot be done now", fault->line);
        break;
    }
}

static cJSON *describe(const struct hub_sensing *s)
{
    cJSON *root = cJSON_CreateObject(), *messages = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "host", s->host);
    cJSON_AddNumberToObject(root, "port", s->port);
    cJSON_AddStringToObject(root, "source", s->source);
    for (int p = 0; p < OSC_PROTOCOLS; p++) {
        cJSON *row = cJSON_AddObjectToObject(messages, osc_protocol_name((enum osc_protocol)p));
        for (int r = 0; r < OSC_RESULTS; r++)
            cJSON_AddNumberToObject(row, osc_result_name((enum osc_result)r),
                                    (double)s->messages[p][r]);
    }
    cJSON_AddItemToObject(root, "messages", messages);
    return root;
}

static void answer(struct http_exchange *x, int status, const struct hub_sensing *s)
{
    cJSON *root = describe(s);
    http_answer_header(x, "Cache-Control", "no-store");
    http_answer_json(x, status, root);
    cJSON_Delete(root);
}

void v1_osc_open(struct http_exchange *x, void *api)
{
    struct api *a = api;
    struct hub_sensing sensing;
    struct fault fault = {0};
    enum hub_lease result =
        hub_lease_open(a->options.hub, session_of(x), who_asks(x), peer_of(x), &sensing, &fault);
    if (result == HUB_LEASE_OK)
        answer(x, sensing.made ? 201 : 200, &sensing);
    else
        refuse(x, result, &fault);
}

void v1_osc_state(struct http_exchange *x, void *api)
{
    struct api *a = api;
    struct hub_sensing sensing;
    struct fault fault = {0};
    enum hub_lease result =
        hub_lease_tell(a->options.hub, session_of(x), who_asks(x), peer_of(x), &sensing);
    if (result != HUB_LEASE_OK)
        refuse(x, result, &fault);
    else if (sensing.port == 0)
        http_answer_problem(x, 404, "no-lease", "This session has no UDP port",
                            "POST here to get one.");
    else
        answer(x, 200, &sensing);
}

void v1_osc_close(struct http_exchange *x, void *api)
{
    struct api *a = api;
    struct fault fault = {0};
    enum hub_lease result = hub_lease_close(a->options.hub, session_of(x), who_asks(x), peer_of(x));
    if (result == HUB_LEASE_OK)
        http_answer_empty(x, 204);
    else
        refuse(x, result, &fault);
}

// {"hands": "world" | "scaled", "forget": true}; without a body: calibrate now.
static enum err read_requests(struct http_exchange *x, uint16_t *out, struct fault *fault)
{
    size_t size = 0;
    const uint8_t *body = http_exchange_body(x, &size);
    struct json_limits limits = json_limits_for(4096);
    struct input_sensor message = {0};
    cJSON *json = NULL;
    *out = INPUT_CALIBRATE;
    if (size == 0) return ERR_OK;
    enum err e = json_parse((const char *)body, size, &limits, &json, fault);
    if (e == ERR_OK) e = sensor_json_read(json, &message, fault);
    cJSON_Delete(json);
    if (e == ERR_OK && (message.device_count > 0 || message.hand_count > 0))
        e = fault_set(fault, ERR_MALFORMED, "devices and fingers come over the stream");
    if (e == ERR_OK)
        *out =
            message.requests & INPUT_FORGET ? message.requests : message.requests | INPUT_CALIBRATE;
    return e;
}

void v1_calibrate(struct http_exchange *x, void *api)
{
    struct api *a = api;
    struct fault fault = {0};
    uint16_t requests;
    if (read_requests(x, &requests, &fault) != ERR_OK) {
        http_answer_problem(x, 400, "bad-request", "That is no calibration", fault.line);
        return;
    }
    enum hub_lease result =
        hub_calibrate(a->options.hub, session_of(x), who_asks(x), peer_of(x), requests, &fault);
    if (result == HUB_LEASE_OK)
        http_answer_empty(x, 202);
    else
        refuse(x, result, &fault);
}
