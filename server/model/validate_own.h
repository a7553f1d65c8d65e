#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// What the files of validate share. Private to server/model/validate*.c.

// ERR_MALFORMED with one line that names the table's entry.
enum err validate_bad(struct fault *f, const char *table, size_t entry, const char *what);
// Whether first .. first + count lies inside a table of `total`.
bool validate_range(uint64_t first, uint64_t count, uint64_t total);
// One pass without branches: a float is infinite or NaN when its exponent is all ones.
bool validate_finite(const void *floats, size_t bytes);

// Drivers, their solves, examples and corrections. Blocks and nodes have been checked.
enum err validate_drivers(const struct model *m, struct fault *f);
enum err validate_extras(const struct model *m, struct fault *f);
// A collider of `table`: node, shape and numbers.
enum err validate_collider(const struct model *m, const char *table,
                           const struct model_spring_collider *c, size_t i, struct fault *f);
enum err validate_springs(const struct model *m, struct fault *f);
enum err validate_roots(const struct model *m, struct fault *f);
enum err validate_controls(const struct model *m, struct fault *f);
enum err validate_face(const struct model *m, struct fault *f); // after materials and shapes
