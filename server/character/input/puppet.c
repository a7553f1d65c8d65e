#include "server/character/input/puppet.h"

#include <stdio.h>

enum err puppet_of_model(const struct model *m, struct puppet *out)
{
    struct fault fault = {0};
    *out = (struct puppet){0};
    enum err e = human_of_model(m, &out->human, &fault);
    if (e == ERR_MEMORY) return e;
    out->is_human = e == ERR_OK;
    if (out->is_human) return digits_of_model(m, &out->human, &out->digits);
    (void)snprintf(out->why, sizeof out->why, "%.159s", fault.line);
    return ERR_OK;
}
