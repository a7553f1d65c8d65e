#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "server/character/pose/body_prior.h"

// Makes the body prior from recorded motion. Deterministic: the same files, the same table.

// The clips that it is made from, below a folder with the shared motion data: files whose licence
// allows it (CMU's data base and AnimatedDrawings').
extern const char *const body_teachers[];
extern const size_t body_teacher_count;

// From all teachers but `without` (an index, or body_teacher_count for all). NULL when a file is
// missing; freed with body_teach_free.
struct body_prior *body_teach(const char *folder, size_t without);
void body_teach_free(struct body_prior *p);

// The prior for a clip under test, in memory that stands until the next call: made without the clip
// where it is one of the teachers (told by its content), else the committed one. `said` tells
// which.
const struct body_prior *body_teach_for(const char *path, const char **said);
