#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"

enum err file_fault(struct fault *fault, const char *verb, const char *path)
{
    char text[ERR_SYSTEM_BYTES];
    return fault_set(fault, ERR_IO, "cannot %s %s: %s", verb, path, err_system(errno, text));
}

static enum err read_all(int fd, uint8_t *bytes, size_t size_bytes, size_t *got_bytes)
{
    size_t got = 0;
    while (got < size_bytes) {
        ssize_t n = read(fd, bytes + got, size_bytes - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return ERR_IO;
        if (n == 0) break; // it shrank while we read
        got += (size_t)n;
    }
    *got_bytes = got;
    return ERR_OK;
}

static enum err read_open_file(int fd, const char *path, size_t max_bytes, uint8_t **bytes,
                               size_t *size_bytes, struct fault *fault)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return file_fault(fault, "read", path);
    if (!S_ISREG(st.st_mode))
        return fault_set(fault, ERR_IO, "cannot read %s: it is not a regular file", path);
    if ((uintmax_t)st.st_size > max_bytes)
        return fault_set(fault, ERR_LIMIT, "%s has %jd bytes, more than the %zu allowed", path,
                         (intmax_t)st.st_size, max_bytes);
    size_t size = (size_t)st.st_size;
    uint8_t *buffer = malloc(size + 1);
    if (!buffer) return fault_set(fault, ERR_MEMORY, "no memory for %zu bytes of %s", size, path);
    if (read_all(fd, buffer, size, &size) != ERR_OK) {
        free(buffer);
        return file_fault(fault, "read", path);
    }
    buffer[size] = 0;
    *bytes = buffer;
    *size_bytes = size;
    return ERR_OK;
}

enum err file_read(const char *path, size_t max_bytes, uint8_t **bytes, size_t *size_bytes,
                   struct fault *fault)
{
    // O_NONBLOCK: opening a FIFO must not hang; fstat then refuses it.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return file_fault(fault, "open", path);
    enum err e = read_open_file(fd, path, max_bytes, bytes, size_bytes, fault);
    (void)close(fd);
    return e;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t n = write(fd, bytes, size_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes += n;
        size_bytes -= (size_t)n;
    }
    return true;
}

bool file_is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

// O_NONBLOCK: opening a FIFO that nobody reads must not hang; writing to it may wait.
static enum err write_into(const char *path, const void *bytes, size_t size_bytes,
                           struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return file_fault(fault, "write", path);
    bool ok = fcntl(fd, F_SETFL, 0) == 0 && write_all(fd, bytes, size_bytes);
    enum err e = ok ? ERR_OK : file_fault(fault, "write", path);
    (void)close(fd);
    return e;
}

enum err file_write_atomic(const char *path, const void *bytes, size_t size_bytes,
                           struct fault *fault)
{
    if (file_is_special(path)) return write_into(path, bytes, size_bytes, fault);
    char temporary[4096];
    int length = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary)
        return fault_set(fault, ERR_LIMIT, "path is too long: %.200s", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return file_fault(fault, "write", path);
    bool ok = write_all(fd, bytes, size_bytes) && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    if (ok && rename(temporary, path) == 0) return ERR_OK;
    enum err e = file_fault(fault, "write", path);
    (void)unlink(temporary);
    return e;
}

static bool name_is_inside(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\') || strchr(name, ':')) return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0)) return false;
    }
    return true;
}

enum err file_beside(const char *beside, const char *name, char *out, size_t out_bytes)
{
    if (!name_is_inside(name)) return ERR_DENIED;
    const char *slash = strrchr(beside, '/');
    int folder_length = slash ? (int)(slash - beside) + 1 : 0;
    int length = snprintf(out, out_bytes, "%.*s%s", folder_length, beside, name);
    CHECK(length >= 0);
    return (size_t)length < out_bytes ? ERR_OK : ERR_LIMIT;
}
