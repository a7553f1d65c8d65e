#include "tests/stage/trap.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_bool is_armed;
static atomic_uint_fast64_t counted;
static atomic_int_fast64_t live;

static void took(const volatile void *p)
{
    if (!p) return;
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    if (atomic_load_explicit(&is_armed, memory_order_relaxed)) atomic_fetch_add(&counted, 1);
}

static void gave(const volatile void *p)
{
    if (!p) return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    if (atomic_load_explicit(&is_armed, memory_order_relaxed)) atomic_fetch_add(&counted, 1);
}

void trap_arm(bool armed)
{
    if (armed) atomic_store(&counted, 0);
    atomic_store(&is_armed, armed);
}

uint64_t trap_count(void)
{
    return atomic_load(&counted);
}

int64_t trap_live(void)
{
    return atomic_load(&live);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRAP_HOOKS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRAP_HOOKS 1
#endif

#ifdef TRAP_HOOKS
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));

static void on_malloc(const volatile void *p, size_t size)
{
    (void)size;
    took(p);
}

void trap_start(void)
{
    (void)__sanitizer_install_malloc_and_free_hooks(on_malloc, gave);
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *p, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
void free(void *p);

void trap_start(void)
{
}

void *malloc(size_t size)
{
    void *p = __libc_malloc(size);
    took(p);
    return p;
}

void *calloc(size_t count, size_t size)
{
    void *p = __libc_calloc(count, size);
    took(p);
    return p;
}

void *realloc(void *p, size_t size)
{
    void *q = __libc_realloc(p, size);
    gave(p);
    took(q);
    return q;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *p = __libc_memalign(alignment, size);
    took(p);
    return p;
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = __libc_memalign(alignment, size);
    took(*out);
    return *out ? 0 : 12;
}

void free(void *p)
{
    gave(p);
    __libc_free(p);
}
#endif
