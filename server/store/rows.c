#include "server/store/rows.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/check.h"

enum err rows_fault(sqlite3 *db, struct fault *fault)
{
    int code = sqlite3_errcode(db);
    if (code == SQLITE_FULL)
        return fault_set(fault, ERR_LIMIT, "the disk of the data folder is full: free some space");
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return fault_set(fault, ERR_BUSY, "the store is held by another program: try again");
    return fault_set(fault, ERR_IO, "the store cannot be used: %s", sqlite3_errmsg(db));
}

static int bind_one(sqlite3_stmt *stmt, int at, char kind, va_list *values)
{
    const char *text;
    switch (kind) {
    case 's':
        text = va_arg(*values, const char *);
        return sqlite3_bind_text(stmt, at, text ? text : "", -1, SQLITE_TRANSIENT);
    case 'i':
        return sqlite3_bind_int64(stmt, at, va_arg(*values, int64_t));
    case 'u':
        return sqlite3_bind_int64(stmt, at, (int64_t)va_arg(*values, uint64_t));
    case 'n':
        return sqlite3_bind_int64(stmt, at, va_arg(*values, uint32_t));
    case 'd':
        return sqlite3_bind_double(stmt, at, va_arg(*values, double));
    case 'h':
        return sqlite3_bind_blob(stmt, at, va_arg(*values, const uint8_t *), 32, SQLITE_TRANSIENT);
    default:
        CHECK(kind == 0); // rows.h lists them all
        return SQLITE_MISUSE;
    }
}

static enum err prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct fault *fault,
                        const char *format, va_list *values)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    for (int i = 0; code == SQLITE_OK && format[i]; i++)
        code = bind_one(stmt, i + 1, format[i], values);
    if (code == SQLITE_OK) {
        *out = stmt;
        return ERR_OK;
    }
    enum err e = rows_fault(db, fault);
    (void)sqlite3_finalize(stmt);
    return e;
}

enum err rows_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct fault *fault,
                      const char *format, ...)
{
    va_list values;
    va_start(values, format);
    enum err e = prepare(db, sql, out, fault, format, &values);
    va_end(values);
    return e;
}

enum err rows_run(sqlite3 *db, const char *sql, struct fault *fault, const char *format, ...)
{
    sqlite3_stmt *stmt = NULL;
    va_list values;
    va_start(values, format);
    enum err e = prepare(db, sql, &stmt, fault, format, &values);
    va_end(values);
    if (e != ERR_OK) return e;
    int code = sqlite3_step(stmt);
    if (code != SQLITE_DONE && code != SQLITE_ROW) e = rows_fault(db, fault);
    (void)sqlite3_finalize(stmt);
    return e;
}

_Bool rows_next(sqlite3_stmt *stmt, enum err *e, struct fault *fault)
{
    if (*e != ERR_OK) return 0;
    int code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) return 1;
    if (code != SQLITE_DONE) *e = rows_fault(sqlite3_db_handle(stmt), fault);
    return 0;
}

void rows_text(sqlite3_stmt *stmt, int column, char *out, size_t out_bytes)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);
    (void)snprintf(out, out_bytes, "%s", text ? (const char *)text : "");
}

int64_t rows_one(sqlite3 *db, const char *sql, int64_t otherwise)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = otherwise;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return value;
}
