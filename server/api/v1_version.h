#pragma once
#include "server/api/errand.h"

// What makes versions: publishing a draft, restoring an old version, adding and replacing models.
// One at a time for a model, in the order in which they came; each looks at the model's state when
// its turn comes.
bool v1_version_turn(struct errand *e, void (*go)(struct library_waiter *w)); // true: now
struct errand *v1_version_waiter(struct library_waiter *w);                   // in `go`
bool v1_version_matches(struct errand *e); // If-Match against the model; false: answered
void v1_version_begin(struct errand *e, const char *kind, const char *message);
void v1_version_commit(struct errand *e, const char *report, const char *action, int status,
                       void (*apply)(struct errand *e));
void v1_version_push(struct errand *e); // in `apply`: e->edition is what streams show now
void v1_version_tell(struct errand *e); // in `apply`: what is served has changed
void v1_version_refuse(struct errand *e, const char *type);
// Background: the model at e->base_path.
MUST_CHECK enum err v1_version_open(struct errand *e, struct edition **out);
