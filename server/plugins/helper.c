#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/plugins/channel.h"
#include "server/plugins/vendor.h"

// The helper process of one plugin: sinew-plugin LIBRARY MEGABYTES, with the shared memory as file
// CHANNEL_FD. It dies with the server, and whatever the library does is done to it alone.

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

struct helper {
    struct channel_head *head;
    uint8_t *image, *state;
    struct image_layout layout;
    struct vendor vendor;
    struct sinew_plugin_joint *joints;
    void *self, *scratch;
    uint64_t state_bytes;
};

static void limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit l = {most, most};
    (void)setrlimit(what, &l);
}

static bool map(struct helper *h)
{
    struct stat info;
    if (fstat(CHANNEL_FD, &info) != 0 || (uint64_t)info.st_size < sizeof *h->head) return false;
    void *shared =
        mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, CHANNEL_FD, 0);
    if (shared == MAP_FAILED) return false;
    (void)close(CHANNEL_FD);
    h->head = shared;
    if (h->head->magic != CHANNEL_MAGIC || channel_bytes(&h->head->counts) > (uint64_t)info.st_size)
        return false;
    h->layout = image_lay(&h->head->counts);
    h->image = (uint8_t *)shared + channel_image_at();
    h->state = (uint8_t *)shared + channel_state_at(&h->head->counts);
    return true;
}

static enum err begin(struct helper *h, const char *path, struct fault *fault)
{
    const char *settings = (const char *)h->image + h->layout.settings;
    struct sinew_plugin_needs needs;
    h->joints = calloc(h->head->counts.joints + 1u, sizeof *h->joints);
    if (!h->joints) return fault_set(fault, ERR_MEMORY, "no memory");
    struct sinew_plugin_model model =
        image_view(&h->head->counts, h->image, h->head->metres_per_unit, h->joints);
    enum err e = vendor_open(path, &h->vendor, fault);
    if (e == ERR_OK) e = vendor_describe(h->vendor.plugin, settings, &model, &needs, fault);
    if (e != ERR_OK) return e;
    void *memory = aligned_alloc(64, (needs.memory_bytes + 127) & ~(uint64_t)63);
    h->scratch = aligned_alloc(64, (needs.scratch_bytes + 127) & ~(uint64_t)63);
    if (!memory || !h->scratch) return fault_set(fault, ERR_MEMORY, "no memory");
    memset(memory, 0, needs.memory_bytes);
    h->state_bytes = needs.state_bytes <= CHANNEL_STATE_MAX ? needs.state_bytes : 0;
    h->head->state_bytes = h->state_bytes;
    return vendor_create(h->vendor.plugin, settings, &model, memory, &h->self, fault);
}

static void answer(struct helper *h, int result)
{
    h->head->result = result;
    atomic_store(&h->head->answered, atomic_load(&h->head->asked));
    (void)sem_post(&h->head->reply);
}

static int step(struct helper *h)
{
    struct sinew_plugin_frame frame = {
        .struct_bytes = sizeof frame,
        .reset = h->head->reset,
        .dt_s = h->head->dt_s,
        .place = {h->head->place[0], h->head->place[1], h->head->place[2]},
        .yaw = h->head->yaw_rad,
        .model_from_joint = (const float *)(const void *)(h->image + h->layout.joints),
        .positions = (float *)(void *)(h->image + h->layout.positions),
        .normals = (float *)(void *)(h->image + h->layout.normals),
        .scratch = h->scratch};
    return h->vendor.plugin->step(h->self, &frame);
}

static int serve(struct helper *h)
{
    const struct sinew_plugin *p = h->vendor.plugin;
    bool keeps = h->state_bytes > 0;
    switch (h->head->command) {
    case CHANNEL_STEP:
        return step(h);
    case CHANNEL_SAVE:
        return keeps ? p->save(h->self, h->state) : SINEW_PLUGIN_FAILED;
    case CHANNEL_LOAD:
        return keeps ? p->load(h->self, h->state) : SINEW_PLUGIN_FAILED;
    default:
        return SINEW_PLUGIN_FAILED;
    }
}

int main(int argc, char **argv)
{
    struct helper h = {0};
    struct fault fault = {0};
    if (argc != 3 || !map(&h)) {
        (void)fprintf(stderr, "sinew-plugin: started by sinewd only\n");
        return 2;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
#ifndef SANITIZED // which reserves terabytes
    limit(RLIMIT_AS, (rlim_t)strtoul(argv[2], NULL, 10) << 20);
#endif
    if (begin(&h, argv[1], &fault) != ERR_OK) {
        memcpy(h.head->message, fault.line, sizeof h.head->message - 1);
        answer(&h, SINEW_PLUGIN_FAILED);
        return 1;
    }
    answer(&h, SINEW_PLUGIN_OK);
    for (;;) {
        while (sem_wait(&h.head->request) != 0)
            ;
        answer(&h, serve(&h));
    }
}
