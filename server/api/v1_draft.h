#pragma once
#include "server/api/errand.h"

// What the changes of items share: grants to fill and to end, and the way from a request to a
// draft.
MUST_CHECK bool v1_grant_fill(struct errand *e, struct store_grant *g); // false: no random bytes
// What held the item before goes, with its draft, before the new grant comes.
void v1_grant_end_old(struct errand *e, struct library_grant *g);
void v1_item_path(const struct errand *e, char *out, size_t out_bytes); // of an example

// From the state that If-Match names: the draft's, else the newest version's. False: answered.
bool v1_draft_begin(struct errand *e);
// For errand_work: e->steps become a model; then the draft is committed and answered.
enum err v1_draft_build(struct errand *e);
void v1_draft_made(struct errand *e);
