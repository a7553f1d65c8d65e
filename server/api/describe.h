#pragma once
#include <cjson/cJSON.h>

#include "server/api/library.h"

// What the modellers' endpoint says of things, as README.md lists it. The caller's to delete.
void describe_time(int64_t ms, char out[32]);
cJSON *describe_model(const struct library_model *m);
cJSON *describe_version(const struct store_version *v, const char *report); // report: JSON or NULL
// What stands at that place (edit.h). `g`: who holds it, or NULL.
cJSON *describe_item(const struct library_model *m, const struct edition *e, int32_t place,
                     const struct library_grant *g, int64_t now_ms);
cJSON *describe_grant(const struct store_grant *g, const char *tag, bool own);
cJSON *describe_draft(const struct store_grant *g, const struct store_draft *d);
cJSON *describe_held(const struct store_grant *g); // {"name", "since", "expires"}
