#pragma once
#include "client/lib/include/sinew/sinew.h"

// Figures as JSON or as lines for people, on standard output.
struct cJSON;
void report_percentiles(struct cJSON *object, const char *name, const struct sinew_percentiles *p);
struct cJSON *report_stats(const struct sinew_stats *s); // the caller's to cJSON_Delete
void report_lines(const struct sinew_stats *s);
// Text from a server, fit for a terminal: control characters become '?'. In place.
void report_clean(char *text);
void report_print(struct cJSON *object); // and deletes it
