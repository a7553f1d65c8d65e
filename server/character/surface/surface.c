#include "server/character/surface/surface.h"

#include "common/check.h"
#include "server/character/pose/driver.h"

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t surface_bytes(const struct model *m, const struct face_map *map,
                     const struct correct_map *correct)
{
    return (correct ? correct_bytes(m, correct) : 0) + face_bytes(map) +
           padded(m->nodes_count * roots_count(m) * sizeof(struct xform)) +
           m->slots_count * sizeof(struct skeleton_slot) +
           skeleton_dual_count(m) * sizeof(struct skeleton_dual_slot);
}

static void begin_correct(struct surface_frame *f, struct arena *scratch)
{
    const struct surface_job *job = &f->job;
    bool weighs = job->correct->any && job->driver_weights;
    bool bent = weighs && job->customise && job->customise->bent;
    if (bent) customise_swap(job->customise, job->pose.locals);
    if (weighs)
        f->pose_refused = !driver_weights(job->model, job->pose.locals, job->driver_weights);
    if (bent) customise_swap(job->customise, job->pose.locals);
    f->correct = correct_begin(job->model, job->correct, weighs ? job->driver_weights : NULL,
                               job->extras && job->extras->applied, scratch);
    f->correct.skinning = job->skinning;
    f->correct.level = job->level;
    f->correct.palette = f->palette;
    f->correct.dual_palette = f->dual_palette;
    f->correct.out = job->out;
}

struct surface_frame surface_begin(const struct surface_job *job, struct arena *scratch)
{
    const struct model *m = job->model;
    CHECK(job->tangents_out == NULL || m->tangents_count == m->blocks_count);
    struct skeleton_roots roots = {.root_count = job->roots ? roots_count(m) : 1,
                                   .gains = job->roots ? job->roots->gains : NULL,
                                   .apart = job->skinning == MODEL_DQ};
    struct xform *model_from_node =
        ARENA_ARRAY(scratch, struct xform, m->nodes_count * roots.root_count);
    struct surface_frame f = {.job = *job, .model_from_node = model_from_node};
    roots.model_from_node = model_from_node;
    if (job->roots)
        roots_model_from_nodes(m, job->roots, model_from_node);
    else
        skeleton_model_from_nodes(m, job->pose.locals, model_from_node);
    if (job->skinning == MODEL_DQ || (job->correct && m->dual_lanes_count > 0)) {
        struct skeleton_dual_slot *palette =
            ARENA_ARRAY(scratch, struct skeleton_dual_slot, skeleton_dual_count(m));
        skeleton_dual_palette_roots(m, &roots, palette);
        f.dual_palette = palette;
    }
    if (job->skinning != MODEL_DQ) {
        struct skeleton_slot *palette = ARENA_ARRAY(scratch, struct skeleton_slot, m->slots_count);
        skeleton_palette_roots(m, &roots, palette);
        f.palette = palette;
    }
    f.face = face_begin(m, job->map, job->pose.weights, scratch);
    f.face.level = job->level;
    if (job->correct) begin_correct(&f, scratch);
    return f;
}

struct share {
    size_t first, count;
};

static struct share share_of(size_t total, size_t part, size_t part_count)
{
    CHECK(part < part_count);
    size_t first = total * part / part_count;
    return (struct share){first, total * (part + 1) / part_count - first};
}

void surface_face(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = share_of(f->job.map->turns.row_count, part, part_count);
    face_move(&f->face, s.first, s.count);
}

void surface_turn(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = share_of(f->job.map->turns.group_count, part, part_count);
    face_turn_normals(&f->face, s.first, s.count);
}

void surface_skin(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = share_of(f->job.model->blocks_count, part, part_count);
    size_t end = s.first + s.count;
    struct skin_job skin = {
        .model = f->job.model,
        .level = f->job.level,
        .skinning = f->job.skinning,
        .palette = f->palette,
        .dual_palette = f->dual_palette,
    };
    // Runs of blocks whose base-space content lies in one piece: all of the model's own, or a
    // stretch of the face's copies.
    for (size_t first = s.first, next; first < end; first = next) {
        skin.rest = face_block(&f->face, first);
        for (next = first + 1; next < end; next++)
            if (face_block(&f->face, next) != skin.rest + (next - first)) break;
        skin.block_first = first;
        skin.block_count = next - first;
        skin.out = f->job.out + first;
        if (skin_is_apart(&skin))
            skin_apart(&skin);
        else
            skin_run(&skin);
        if (f->job.tangents_out) skin_tangents(&skin, skin.out, f->job.tangents_out + first);
    }
}

static struct share row_share(const struct surface_frame *f, size_t part, size_t part_count)
{
    return share_of(f->job.correct->turns.row_count, part, part_count);
}

void surface_keep(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = row_share(f, part, part_count);
    correct_keep(&f->correct, s.first, s.count);
}

void surface_extras(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = share_of(f->job.model->blocks_count, part, part_count);
    if (!f->job.extras) return;
    if (f->job.extras->whole && part > 0) return;
    if (f->job.extras->whole) s = (struct share){0, f->job.model->blocks_count};
    extras_apply(f->job.extras, f->job.out, s.first, s.count);
}

void surface_correct(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = row_share(f, part, part_count);
    correct_lay(&f->correct, s.first, s.count);
    correct_compare(&f->correct, s.first, s.count);
}

void surface_settle(const struct surface_frame *f, size_t part, size_t part_count)
{
    struct share s = share_of(f->job.correct->turns.group_count, part, part_count);
    correct_turn_normals(&f->correct, s.first, s.count);
}

void surface_run(const struct surface_job *job, struct arena *scratch)
{
    size_t mark = arena_mark(scratch);
    struct surface_frame f = surface_begin(job, scratch);
    surface_face(&f, 0, 1);
    surface_turn(&f, 0, 1);
    surface_skin(&f, 0, 1);
    if (job->correct) {
        surface_keep(&f, 0, 1);
        surface_extras(&f, 0, 1);
        surface_correct(&f, 0, 1);
        surface_settle(&f, 0, 1);
    }
    arena_rewind(scratch, mark);
}

void surface_gather(const struct model *m, const struct surface_block *blocks, float *positions,
                    float *normals)
{
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct surface_block *block = &blocks[lane / MODEL_LANES];
        for (size_t r = 0; r < 3; r++) {
            positions[3 * v + r] = block->position[r][place];
            if (normals) normals[3 * v + r] = block->normal[r][place];
        }
    }
}
