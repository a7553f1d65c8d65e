#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "server/character/pose/body.h"

// A recorded headset and two controllers, as targets for a body: from the Quest session (JSON
// lines) or an A-Frame recording (JSON). Device places are scaled so that the highest head is that
// of the body; wrists and the head's joint are where people's are, seen from the devices.
struct vr_take {
    size_t frames;
    struct body_frame *items;
};

bool vr_take_open(struct vr_take *t, const char *path, const struct human *h);
void vr_take_close(struct vr_take *t);
