#include "server/model/model_file.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/check.h"
#include "common/file.h"
#include "server/model/container.h"
#include "server/model/validate.h"

struct model_file {
    struct model model;
    uint8_t *bytes;
    size_t size_bytes;
    bool is_mapped;
    uint64_t hash;
    atomic_int references;
};

static void release(struct model_file *f)
{
    if (f->is_mapped)
        (void)munmap(f->bytes, f->size_bytes);
    else
        free(f->bytes);
    free(f);
}

static enum err finish(struct model_file *f, struct model_file **out, struct fault *fault)
{
    enum err e = container_read(f->bytes, f->size_bytes, &f->model, fault);
    if (e == ERR_OK) e = validate_model(&f->model, fault);
    if (e != ERR_OK) {
        release(f);
        return e;
    }
    // Header and table hold the checksums of everything else.
    f->hash = XXH3_64bits(f->bytes, f->size_bytes < 4096 ? f->size_bytes : 4096);
    atomic_init(&f->references, 1);
    *out = f;
    return ERR_OK;
}

static bool map_whole(int fd, struct model_file *f)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) return false;
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) return false;
    f->bytes = bytes;
    f->size_bytes = (size_t)st.st_size;
    f->is_mapped = true;
    return true;
}

enum err model_file_open(const char *path, struct model_file **out, struct fault *fault)
{
    struct model_file *f = calloc(1, sizeof *f);
    if (!f) return fault_set(fault, ERR_MEMORY, "no memory to open %s", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool mapped = fd >= 0 && map_whole(fd, f);
    if (fd >= 0) (void)close(fd);
    if (!mapped) {
        free(f);
        return fault_set(fault, ERR_IO, "cannot map %s: is it there, readable and not empty?",
                         path);
    }
    return finish(f, out, fault);
}

enum err model_file_from_bytes(const uint8_t *bytes, size_t size_bytes, struct model_file **out,
                               struct fault *fault)
{
    size_t aligned = (size_bytes + CONTAINER_ALIGNMENT) & ~(size_t)(CONTAINER_ALIGNMENT - 1);
    struct model_file *f = calloc(1, sizeof *f);
    if (f) f->bytes = aligned_alloc(CONTAINER_ALIGNMENT, aligned);
    if (!f || !f->bytes) {
        free(f);
        return fault_set(fault, ERR_MEMORY, "no memory for a model of %zu bytes", size_bytes);
    }
    if (size_bytes) memcpy(f->bytes, bytes, size_bytes);
    f->size_bytes = size_bytes;
    return finish(f, out, fault);
}

const struct model *model_file_model(const struct model_file *f)
{
    return &f->model;
}

const uint8_t *model_file_bytes(const struct model_file *f, size_t *size_bytes)
{
    *size_bytes = f->size_bytes;
    return f->bytes;
}

uint64_t model_file_hash(const struct model_file *f)
{
    return f->hash;
}

struct model_file *model_file_ref(struct model_file *f)
{
    CHECK(atomic_fetch_add(&f->references, 1) > 0);
    return f;
}

void model_file_unref(struct model_file *f)
{
    if (!f) return;
    int before = atomic_fetch_sub(&f->references, 1);
    CHECK(before > 0);
    if (before == 1) release(f);
}
