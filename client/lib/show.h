#pragma once
#include <stdint.h>

// sinew_update: picks for each actor what is to be seen now, interpolates, and writes the
// application's vertex buffers. Under the client's lock, on the application's thread.
struct sinew_client;
struct actor;
struct sinew_actor;

int show_update(struct sinew_client *c, uint64_t now_us); // how many actors changed
void show_describe(const struct sinew_client *c, const struct actor *a, struct sinew_actor *out);
int show_gather(const struct sinew_client *c, const struct actor *a, float *positions,
                float *normals);
