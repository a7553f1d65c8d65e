#include "server/cli/model_arg.h"

#include <string.h>

#include "server/bake/bake.h"

enum err model_arg_open(const char *path, struct model_file **out, struct fault *fault)
{
    size_t length = strlen(path);
    if (length > 6 && strcmp(path + length - 6, ".sinew") == 0)
        return model_file_open(path, out, fault);
    struct bake_result baked = {0};
    enum err e = bake_run(path, NULL, &baked, fault);
    if (e == ERR_OK) e = model_file_from_bytes(baked.bytes, baked.size_bytes, out, fault);
    bake_free(&baked);
    return e;
}
