#include "server/bake/vrm_read.h"

#include "server/bake/vrm_one_read.h"
#include "server/bake/vrm_spring_read.h"
#include "server/bake/vrm_zero_read.h"
#include "server/character/pose/humanoid.h"

bool vrm_settle(struct vrm_writer *w, size_t mark)
{
    struct doc *d = &w->src->doc;
    if (d->error == ERR_OK) return true;
    json_text_rewind(&w->text, mark);
    if (d->error == ERR_LIMIT || d->error == ERR_MEMORY) return false;
    scene_note(d->scene, NOTE_LEFT_OUT, 1, "VRM part, broken: %.200s", d->fault.line);
    d->error = ERR_OK;
    d->fault = (struct fault){0};
    return false;
}

void vrm_keep_bones(struct vrm_writer *w, const int32_t *nodes)
{
    struct doc *d = &w->src->doc;
    struct doc_at root = doc_root(d);
    struct scene_bone *bones = DOC_KEEP(d, &root, struct scene_bone, HUMANOID_BONE_COUNT);
    uint32_t count = 0;
    for (int32_t i = 0; bones && i < HUMANOID_BONE_COUNT; i++)
        if (nodes[i] != SCENE_NONE)
            bones[count++] = (struct scene_bone){humanoid_name(i), nodes[i]};
    d->scene->vrm.bones = bones;
    d->scene->vrm.bone_count = bones ? count : 0;
}

void vrm_copy_texts(struct vrm_writer *w, const struct doc_at *from, const char *const *keys,
                    uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct doc_at at = doc_member(from, keys[i]);
        if (at.value) json_text_string(&w->text, keys[i], doc_value_text(&w->src->doc, &at));
    }
}

bool vrm_read(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d), extensions = doc_member(&root, "extensions");
    struct doc_at one = doc_member(&extensions, "VRMC_vrm"), zero = doc_member(&extensions, "VRM"),
                  springs = doc_member(&extensions, "VRMC_springBone");
    struct vrm_writer w = {.src = src, .text = {.doc = d}};
    struct scene_vrm *vrm = &d->scene->vrm;
    vrm->json = "";
    if (one.value || springs.value || !zero.value)
        vrm->version = 2;
    else
        vrm->version = 1;
    json_text_open(&w.text, NULL, '{');
    size_t empty = json_text_mark(&w.text);
    if (vrm->version == 1) {
        vrm_zero_read(&w, &zero);
    } else {
        if (one.value) vrm_one_read(&w, &one);
        if (springs.value) vrm_spring_read(&w, &springs);
        vrm_spring_read_constraints(&w);
    }
    struct doc_at animation = doc_member(&extensions, "VRMC_vrm_animation");
    if (animation.value && !one.value && !zero.value) {
        vrm_one_read_bones(&w, &animation);
        vrm->is_animation = vrm->bone_count > 0;
    }
    bool anything = json_text_mark(&w.text) > empty || one.value || zero.value;
    json_text_close(&w.text, '}');
    if (anything && d->error == ERR_OK) vrm->json = doc_keep_text(d, &root, w.text.text);
    if (!anything) vrm->version = 0;
    return d->error == ERR_OK;
}
