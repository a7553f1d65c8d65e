#pragma once
#include <sqlite3.h>
#include <stdint.h>

#include "common/err.h"

// SQLite with values bound by a format, for the files of the store: s text (NULL: ""), i int64_t,
// u uint64_t, n uint32_t, d double, h 32 bytes. Codes become ERR_*: ERR_LIMIT where the disk is
// full.
MUST_CHECK enum err rows_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out,
                                 struct fault *fault, const char *format, ...);
// Runs a statement that gives no rows.
MUST_CHECK enum err rows_run(sqlite3 *db, const char *sql, struct fault *fault, const char *format,
                             ...);
// The next row; false at the end or on an error (*e tells).
_Bool rows_next(sqlite3_stmt *stmt, enum err *e, struct fault *fault);
enum err rows_fault(sqlite3 *db, struct fault *fault);
void rows_text(sqlite3_stmt *stmt, int column, char *out, size_t out_bytes); // cut to fit
int64_t rows_one(sqlite3 *db, const char *sql, int64_t otherwise);
