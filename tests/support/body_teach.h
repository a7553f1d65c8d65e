#pragma once
#include "server/character/pose/body_prior.h"

// A prior made without the clip under test, in memory that stands until the next call; `said`
// tells which. The committed one where the clip was not among its teachers.
const struct body_prior *body_teach_without(const char *path, const char **said);
