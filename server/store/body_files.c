#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/check.h"
#include "common/file.h"
#include "server/store/store_own.h"

// FOLDER/bodies/<two digits>/<64 digits>.

static const char digits[] = "0123456789abcdef";

static void hash_text(const uint8_t *bytes, size_t size_bytes, char out[STORE_HASH_BYTES])
{
    uint8_t hash[32];
    CHECK(mbedtls_sha256_ret(bytes, size_bytes, hash, 0) == 0);
    for (size_t i = 0; i < sizeof hash; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[64] = '\0';
}

void body_files_path(const char *folder, const char *sha256, char *out, size_t out_bytes)
{
    (void)snprintf(out, out_bytes, "%s/bodies/%.2s/%s", folder, sha256, sha256);
}

enum err body_files_make_folder(const char *path, struct fault *fault)
{
    if (mkdir(path, 0750) == 0 || errno == EEXIST) return ERR_OK;
    return file_fault(fault, "make", path);
}

static enum err disk_fault(struct fault *fault, const char *verb, const char *path)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return fault_set(fault, ERR_LIMIT, "the disk of the data folder is full: free some space");
    return file_fault(fault, verb, path);
}

static enum err write_all(int fd, const uint8_t *bytes, size_t size_bytes, const char *path,
                          struct fault *fault)
{
    for (size_t at = 0; at < size_bytes;) {
        ssize_t n = write(fd, bytes + at, size_bytes - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return disk_fault(fault, "write", path);
        at += (size_t)n;
    }
    return ERR_OK;
}

enum err body_files_sync_folder(const char *path, struct fault *fault)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return file_fault(fault, "open", path);
    enum err e = fsync(fd) == 0 ? ERR_OK : disk_fault(fault, "sync", path);
    (void)close(fd);
    return e;
}

static enum err write_new(const char *place, const char *path, const uint8_t *bytes,
                          size_t size_bytes, struct fault *fault)
{
    char part[STORE_PATH_BYTES + 128];
    (void)snprintf(part, sizeof part, "%s.part", path);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0) return disk_fault(fault, "make", part);
    enum err e = write_all(fd, bytes, size_bytes, part, fault);
    if (e == ERR_OK && fsync(fd) != 0) e = disk_fault(fault, "sync", part);
    if (close(fd) != 0 && e == ERR_OK) e = disk_fault(fault, "close", part);
    if (e == ERR_OK && rename(part, path) != 0) e = disk_fault(fault, "rename", part);
    if (e != ERR_OK) {
        (void)unlink(part);
        return e;
    }
    e = body_files_sync_folder(place, fault);
    if (e != ERR_OK) (void)unlink(path);
    return e;
}

enum err body_files_put(const char *folder, const uint8_t *bytes, size_t size_bytes,
                        char sha256[STORE_HASH_BYTES], struct fault *fault)
{
    char bodies[STORE_PATH_BYTES + 16], place[STORE_PATH_BYTES + 32], path[STORE_PATH_BYTES + 96];
    struct stat st;
    hash_text(bytes, size_bytes, sha256);
    (void)snprintf(bodies, sizeof bodies, "%s/bodies", folder);
    (void)snprintf(place, sizeof place, "%s/%.2s", bodies, sha256);
    body_files_path(folder, sha256, path, sizeof path);
    if (stat(path, &st) == 0 && (uint64_t)st.st_size == size_bytes) return ERR_OK;
    bool is_new = stat(place, &st) != 0;
    enum err e = body_files_make_folder(place, fault);
    if (e == ERR_OK && is_new) e = body_files_sync_folder(bodies, fault);
    return e == ERR_OK ? write_new(place, path, bytes, size_bytes, fault) : e;
}

static void sweep_place(const char *place, bool (*is_named)(const char *, void *), void *owner)
{
    char path[STORE_PATH_BYTES + 512];
    DIR *dir = opendir(place);
    for (struct dirent *d;
         dir && (d = readdir(dir));) { // NOLINT(concurrency-mt-unsafe): a stream of our own
        if (d->d_name[0] == '.' || (strlen(d->d_name) == 64 && is_named(d->d_name, owner)))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", place, d->d_name);
        (void)unlink(path);
    }
    if (dir) (void)closedir(dir);
}

void body_files_sweep(const char *folder, bool (*is_named)(const char *, void *), void *owner)
{
    char place[STORE_PATH_BYTES + 32];
    for (int i = 0; i < 256; i++) {
        (void)snprintf(place, sizeof place, "%s/bodies/%02x", folder, (unsigned)i);
        sweep_place(place, is_named, owner);
    }
}

bool body_files_disk_full(const char *folder)
{
    struct statvfs st;
    if (statvfs(folder, &st) != 0 || st.f_blocks == 0) return false;
    return (double)st.f_bavail < 0.05 * (double)st.f_blocks;
}
