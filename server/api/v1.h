#pragma once
#include "server/http/exchange.h"

// Handlers of the modellers' endpoint; README.md says what each asks and answers.
void v1_models(struct http_exchange *x, void *api);
void v1_model(struct http_exchange *x, void *api);
void v1_versions(struct http_exchange *x, void *api);
void v1_version(struct http_exchange *x, void *api);
void v1_version_file(struct http_exchange *x, void *api);
void v1_examples(struct http_exchange *x, void *api);
void v1_roots(struct http_exchange *x, void *api);
void v1_corrections(struct http_exchange *x, void *api);
void v1_item(struct http_exchange *x, void *api);
void v1_surface(struct http_exchange *x, void *api);
void v1_grants(struct http_exchange *x, void *api);
void v1_audit(struct http_exchange *x, void *api);

void v1_edit(struct http_exchange *x, void *api);
void v1_release(struct http_exchange *x, void *api);
void v1_new_example(struct http_exchange *x, void *api);
void v1_put_surface(struct http_exchange *x, void *api);
void v1_patch_surface(struct http_exchange *x, void *api);
void v1_put_pose(struct http_exchange *x, void *api);
void v1_mirror(struct http_exchange *x, void *api);
void v1_remove(struct http_exchange *x, void *api);

void v1_publish(struct http_exchange *x, void *api);
void v1_restore(struct http_exchange *x, void *api);
void v1_add_model(struct http_exchange *x, void *api);
void v1_replace_model(struct http_exchange *x, void *api);
void v1_retire_model(struct http_exchange *x, void *api);

void v1_osc_open(struct http_exchange *x, void *api);
void v1_osc_state(struct http_exchange *x, void *api);
void v1_osc_close(struct http_exchange *x, void *api);
void v1_calibrate(struct http_exchange *x, void *api);

void v1_upload_create(struct http_exchange *x, void *api);
void v1_upload_head(struct http_exchange *x, void *api);
void v1_upload_append(struct http_exchange *x, void *api);
void v1_upload_delete(struct http_exchange *x, void *api);
