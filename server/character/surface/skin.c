#include "server/character/surface/skin.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/surface/skin_kernel.h"

struct kernel {
    void (*linear)(const struct skin_blocks *b);
    void (*dual)(const struct skin_blocks *b);
};

static const struct kernel kernels[SIMD_LEVEL_COUNT] = {
    [SIMD_PLAIN] = {skin_linear_plain, skin_dual_plain},
#if defined(__x86_64__)
    [SIMD_AVX2] = {skin_linear_avx2, skin_dual_avx2},
    [SIMD_AVX512] = {skin_linear_avx512, skin_dual_avx512},
#elif defined(__aarch64__)
    [SIMD_NEON] = {skin_linear_neon, skin_dual_neon},
#endif
};

void skin_run(const struct skin_job *job)
{
    const struct model *m = job->model;
    CHECK((unsigned)job->level < SIMD_LEVEL_COUNT && kernels[job->level].linear);
    CHECK(job->block_first <= m->blocks_count);
    CHECK(job->block_count <= m->blocks_count - job->block_first);
    struct skin_blocks b = {
        .count = job->block_count,
        .blocks = m->blocks + job->block_first,
        .rest = job->rest,
        .out = job->out,
        .block_slots = m->block_slots,
        .weights = m->weights,
        .palette = job->palette,
        .dual_palette = job->dual_palette,
    };
    if (b.count == 0) return;
    if (job->skinning == MODEL_DQ) {
        CHECK(b.dual_palette);
        kernels[job->level].dual(&b);
    } else {
        CHECK(b.palette);
        kernels[job->level].linear(&b);
    }
}

static double lane_weight(const struct model *m, const struct model_block *block, uint32_t k,
                          uint32_t place)
{
    if (block->influence_count == 1) return 1;
    return (double)m->weights[block->weight_first + k * MODEL_LANES + place];
}

void skin_linear_part(const struct model *m, const struct skeleton_slot *palette, uint32_t lane,
                      double linear[3][3])
{
    CHECK(lane / MODEL_LANES < m->blocks_count);
    const struct model_block *block = &m->blocks[lane / MODEL_LANES];
    memset(linear, 0, sizeof(double[3][3]));
    for (uint32_t k = 0; k < block->influence_count; k++) {
        const struct skeleton_slot *s = &palette[m->block_slots[block->slot_first + k]];
        double w = lane_weight(m, block, k, lane % MODEL_LANES);
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                linear[c][r] += w * (double)s->col[c][r];
    }
}

// Column c of R H: the column of H turned by unit q.
static void turn_column(const double q[4], const double v[3], double out[3])
{
    double half[3];
    for (int r = 0; r < 3; r++) {
        int a = (r + 1) % 3, b = (r + 2) % 3;
        half[r] = q[a] * v[b] - q[b] * v[a] + q[3] * v[r];
    }
    for (int r = 0; r < 3; r++) {
        int a = (r + 1) % 3, b = (r + 2) % 3;
        out[r] = v[r] + 2 * (q[a] * half[b] - q[b] * half[a]);
    }
}

// One root's blend over its influences of a lane; false when it has none there.
struct dual_blend {
    double weight, gain, rotation[4], dual[4], stretch[6];
};
// `palette` may be the second half: what the first root makes of the same influences.
static bool blend_root(const struct model *m, const struct skeleton_dual_slot *palette,
                       uint32_t lane, uint32_t root, struct dual_blend *out)
{
    const struct model_block *block = &m->blocks[lane / MODEL_LANES];
    const uint16_t *slots = m->block_slots + block->slot_first;
    uint32_t place = lane % MODEL_LANES, heaviest = 0;
    double most = 0;
    *out = (struct dual_blend){0};
    for (uint32_t k = 0; k < block->influence_count; k++) {
        double w = lane_weight(m, block, k, place);
        if (m->slots[slots[k]].root != root || !(w > most)) continue;
        heaviest = k;
        most = w;
    }
    if (!(most > 0)) return false;
    const float *align = palette[slots[heaviest]].rotation;
    out->gain = (double)palette[slots[heaviest]].gain; // a root's slots have one
    for (uint32_t k = 0; k < block->influence_count; k++) {
        const struct skeleton_dual_slot *s = &palette[slots[k]];
        double w = lane_weight(m, block, k, place), cosine = 0;
        if (m->slots[slots[k]].root != root) continue;
        for (int e = 0; e < 4; e++)
            cosine += (double)align[e] * (double)s->rotation[e];
        double signed_w = cosine < 0 ? -w : w;
        for (int e = 0; e < 4; e++) {
            out->rotation[e] += signed_w * (double)s->rotation[e];
            out->dual[e] += signed_w * (double)s->dual[e];
        }
        for (int e = 0; e < 6; e++)
            out->stretch[e] += w * (double)s->stretch[e];
        out->weight += w;
    }
    double n = sqrt(out->rotation[0] * out->rotation[0] + out->rotation[1] * out->rotation[1] +
                    out->rotation[2] * out->rotation[2] + out->rotation[3] * out->rotation[3]);
    for (int e = 0; e < 4; e++) {
        out->rotation[e] /= n;
        out->dual[e] /= n;
    }
    if (m->roots_count == 0) out->weight = 1; // as the bake left it, to rounding
    for (int e = 0; e < 6; e++)
        out->stretch[e] /= out->weight;
    return true;
}

// R H of one blend, columns.
static void blend_linear(const struct dual_blend *d, double linear[3][3])
{
    const double *h = d->stretch;
    double columns[3][3] = {{h[0], h[3], h[4]}, {h[3], h[1], h[5]}, {h[4], h[5], h[2]}};
    for (int c = 0; c < 3; c++)
        turn_column(d->rotation, columns[c], linear[c]);
}

// Adds `share` of where one blend carries x.
static void add_blend(const struct dual_blend *d, double share, const double x[3],
                      double position[3], double linear[3][3])
{
    double l[3][3], t[3], w = share * d->weight;
    const double *q = d->rotation, *e = d->dual; // t = 2 (vector part of dual * conj(rotation))
    blend_linear(d, l);
    for (int r = 0; r < 3; r++) {
        int a = (r + 1) % 3, b = (r + 2) % 3;
        t[r] = 2 * (e[r] * q[3] - e[3] * q[r] - (e[a] * q[b] - e[b] * q[a]));
    }
    for (int r = 0; r < 3; r++) {
        position[r] += w * (l[0][r] * x[0] + l[1][r] * x[1] + l[2][r] * x[2] + t[r]);
        for (int c = 0; c < 3; c++)
            linear[c][r] += w * l[c][r];
    }
}

void skin_dual_point(const struct model *m, const struct skeleton_dual_slot *palette, uint32_t lane,
                     const double x[3], double position[3], double linear[3][3])
{
    uint32_t root_count = m->roots_count > 1 ? (uint32_t)m->roots_count : 1;
    CHECK(lane / MODEL_LANES < m->blocks_count);
    memset(linear, 0, sizeof(double[3][3]));
    memset(position, 0, sizeof(double[3]));
    for (uint32_t root = 0; root < root_count; root++) {
        struct dual_blend own, first;
        if (!blend_root(m, palette, lane, root, &own)) continue;
        add_blend(&own, own.gain, x, position, linear);
        if (own.gain < 1 && blend_root(m, palette + m->slots_count, lane, root, &first))
            add_blend(&first, 1 - own.gain, x, position, linear);
    }
}

void skin_dual_linear_part(const struct model *m, const struct skeleton_dual_slot *palette,
                           uint32_t lane, double linear[3][3])
{
    double position[3];
    skin_dual_point(m, palette, lane, (const double[3]){0}, position, linear);
}

static void tangent_lane(double linear[3][3], const struct surface_block *skinned,
                         const struct model_tangent_block *base, uint32_t place,
                         struct surface_tangent_block *out)
{
    double t[3] = {0}, n[3], along = 0, length2 = 0;
    for (int r = 0; r < 3; r++) {
        n[r] = (double)skinned->normal[r][place];
        for (int c = 0; c < 3; c++)
            t[r] += linear[c][r] * (double)base->direction[c][place];
        along += n[r] * t[r];
    }
    for (int r = 0; r < 3; r++) {
        t[r] -= along * n[r];
        length2 += t[r] * t[r];
    }
    // A mirror turns the handedness of normal, tangent, bitangent.
    const double *x = linear[0], *y = linear[1], *z = linear[2];
    double det = x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) +
                 x[2] * (y[0] * z[1] - y[1] * z[0]);
    out->sign[place] = det < 0 ? -base->sign[place] : base->sign[place];
    double s = length2 > 0 ? 1 / sqrt(length2) : 0;
    for (int r = 0; r < 3; r++)
        out->direction[r][place] = (float)(t[r] * s);
}

void skin_tangents(const struct skin_job *job, const struct surface_block *skinned,
                   struct surface_tangent_block *out)
{
    const struct model *m = job->model;
    CHECK(m->tangents_count == m->blocks_count);
    for (size_t i = 0; i < job->block_count; i++) {
        size_t block = job->block_first + i;
        for (uint32_t place = 0; place < MODEL_LANES; place++) {
            uint32_t lane = (uint32_t)(block * MODEL_LANES) + place;
            double linear[3][3];
            if (job->skinning == MODEL_DQ)
                skin_dual_linear_part(m, job->dual_palette, lane, linear);
            else
                skin_linear_part(m, job->palette, lane, linear);
            tangent_lane(linear, &skinned[i], &m->tangents[block], place, &out[i]);
        }
    }
}
