// The grouped kernels, written once over a vector of lanes. A kernel file includes lanes.h, adds
// the operations that machines round each in their own way, and then includes this file once. Lanes
// are vertices; what all lanes of a block share, a slot's matrix elements, is broadcast from
// memory.
//
//   lanes_fma (a * b + c), lanes_fms (a * b - c)
//   lanes_rsqrt (full float precision for normal numbers)
//   lanes_sign_of (a with b's sign multiplied in)
#include "server/character/surface/skin_kernel.h"

struct lanes3 {
    lanes x, y, z;
};
struct lanes33 { // columns
    struct lanes3 x, y, z;
};

static inline struct lanes3 load3(const float row[3][MODEL_LANES], int place)
{
    return (struct lanes3){lanes_load(&row[0][place]), lanes_load(&row[1][place]),
                           lanes_load(&row[2][place])};
}

static inline lanes dot3(struct lanes3 a, struct lanes3 b)
{
    return lanes_fma(a.x, b.x, lanes_fma(a.y, b.y, lanes_mul(a.z, b.z)));
}

static inline struct lanes3 cross3(struct lanes3 a, struct lanes3 b)
{
    return (struct lanes3){lanes_fms(a.y, b.z, lanes_mul(a.z, b.y)),
                           lanes_fms(a.z, b.x, lanes_mul(a.x, b.z)),
                           lanes_fms(a.x, b.y, lanes_mul(a.y, b.x))};
}

static inline struct lanes3 scale3(struct lanes3 a, lanes s)
{
    return (struct lanes3){lanes_mul(a.x, s), lanes_mul(a.y, s), lanes_mul(a.z, s)};
}

static inline struct lanes3 add_scaled3(struct lanes3 sum, struct lanes3 a, lanes s)
{
    return (struct lanes3){lanes_fma(a.x, s, sum.x), lanes_fma(a.y, s, sum.y),
                           lanes_fma(a.z, s, sum.z)};
}

static inline struct lanes3 mul33(const struct lanes33 *m, struct lanes3 v)
{
    return add_scaled3(add_scaled3(scale3(m->z, v.z), m->y, v.y), m->x, v.x);
}

static inline struct lanes3 all3(const float v[3])
{
    return (struct lanes3){lanes_all(v[0]), lanes_all(v[1]), lanes_all(v[2])};
}

// v with the sign of the determinant, given by a column and its cofactors.
static inline struct lanes3 mirror3(struct lanes3 v, struct lanes3 column, struct lanes3 cofactors)
{
    lanes det = dot3(column, cofactors);
    lanes size = lanes_mul(dot3(column, column), dot3(cofactors, cofactors));
    lanes flat = lanes_mul(size, lanes_all(SKIN_FLAT));
    lanes sign = lanes_choose(lanes_above(lanes_mul(det, det), flat), det, lanes_all(1));
    return (struct lanes3){lanes_sign_of(v.x, sign), lanes_sign_of(v.y, sign),
                           lanes_sign_of(v.z, sign)};
}

static inline void store_position(struct surface_block *out, int place, struct lanes3 p)
{
    lanes_store(&out->position[0][place], p.x);
    lanes_store(&out->position[1][place], p.y);
    lanes_store(&out->position[2][place], p.z);
}

// Unit length; where `n` has vanished the base-space normal stands in.
static inline void store_normal(struct surface_block *out, int place, struct lanes3 n,
                                struct lanes3 base)
{
    lanes length2 = dot3(n, n), vanished = lanes_all(SKIN_NORMAL_VANISHED);
    struct lanes3 unit = scale3(n, lanes_rsqrt(length2));
    lanes_mask gone = lanes_above(vanished, length2);
    lanes_store(&out->normal[0][place], lanes_choose(gone, base.x, unit.x));
    lanes_store(&out->normal[1][place], lanes_choose(gone, base.y, unit.y));
    lanes_store(&out->normal[2][place], lanes_choose(gone, base.z, unit.z));
}

// One influence: matrix and cofactors are the palette's own.
static inline void linear_single(const struct skeleton_slot *s, const struct model_rest_block *rest,
                                 struct surface_block *out)
{
    for (int place = 0; place < MODEL_LANES; place += LANES_WIDTH) {
        struct lanes3 x = load3(rest->position, place), n = load3(rest->normal, place);
        struct lanes3 p = add_scaled3(all3(s->col[3]), all3(s->col[2]), x.z);
        p = add_scaled3(p, all3(s->col[1]), x.y);
        store_position(out, place, add_scaled3(p, all3(s->col[0]), x.x));
        struct lanes3 turned = scale3(all3(s->normal[2]), n.z);
        turned = add_scaled3(turned, all3(s->normal[1]), n.y);
        store_normal(out, place, add_scaled3(turned, all3(s->normal[0]), n.x), n);
    }
}

static inline void linear_blend(const struct skeleton_slot *palette, const uint16_t *slots,
                                uint32_t count, const float *weights,
                                const struct model_rest_block *rest, struct surface_block *out)
{
    for (int place = 0; place < MODEL_LANES; place += LANES_WIDTH) {
        const struct skeleton_slot *s = &palette[slots[0]];
        lanes w = lanes_load(weights + place);
        struct lanes33 l = {scale3(all3(s->col[0]), w), scale3(all3(s->col[1]), w),
                            scale3(all3(s->col[2]), w)};
        struct lanes3 p = scale3(all3(s->col[3]), w);
        for (uint32_t k = 1; k < count; k++) {
            s = &palette[slots[k]];
            w = lanes_load(weights + k * MODEL_LANES + place);
            l.x = add_scaled3(l.x, all3(s->col[0]), w);
            l.y = add_scaled3(l.y, all3(s->col[1]), w);
            l.z = add_scaled3(l.z, all3(s->col[2]), w);
            p = add_scaled3(p, all3(s->col[3]), w);
        }
        struct lanes3 x = load3(rest->position, place), n = load3(rest->normal, place);
        p = add_scaled3(add_scaled3(add_scaled3(p, l.z, x.z), l.y, x.y), l.x, x.x);
        store_position(out, place, p);
        struct lanes33 cofactor = {cross3(l.y, l.z), cross3(l.z, l.x), cross3(l.x, l.y)};
        struct lanes3 turned = mul33(&cofactor, n);
        store_normal(out, place, mirror3(turned, l.x, cofactor.x), n);
    }
}

static inline void linear_run(const struct skin_blocks *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct model_block *block = &b->blocks[i];
        const uint16_t *slots = b->block_slots + block->slot_first;
        if (block->influence_count == 1)
            linear_single(&b->palette[slots[0]], &b->rest[i], &b->out[i]);
        else
            linear_blend(b->palette, slots, block->influence_count,
                         b->weights + block->weight_first, &b->rest[i], &b->out[i]);
    }
}

struct lanes4 {
    lanes x, y, z, w;
};
struct dual { // what the dual-quaternion blend sums
    struct lanes4 rotation, dual;
    struct lanes3 diagonal, mixed; // H: xx yy zz, xy xz yz
};

static inline struct lanes4 add_scaled4(struct lanes4 sum, const float v[4], lanes s)
{
    return (struct lanes4){
        lanes_fma(lanes_all(v[0]), s, sum.x), lanes_fma(lanes_all(v[1]), s, sum.y),
        lanes_fma(lanes_all(v[2]), s, sum.z), lanes_fma(lanes_all(v[3]), s, sum.w)};
}

// The rotation each lane aligns signs to: that of its heaviest influence, the first of equals.
static inline struct lanes4 heaviest_rotation(const struct skeleton_dual_slot *palette,
                                              const uint16_t *slots, uint32_t count,
                                              const float *weights, int place)
{
    const float *q = palette[slots[0]].rotation;
    struct lanes4 best = {lanes_all(q[0]), lanes_all(q[1]), lanes_all(q[2]), lanes_all(q[3])};
    lanes most = lanes_load(weights + place);
    for (uint32_t k = 1; k < count; k++) {
        lanes w = lanes_load(weights + k * MODEL_LANES + place);
        q = palette[slots[k]].rotation;
        lanes_mask heavier = lanes_above(w, most);
        best.x = lanes_choose(heavier, lanes_all(q[0]), best.x);
        best.y = lanes_choose(heavier, lanes_all(q[1]), best.y);
        best.z = lanes_choose(heavier, lanes_all(q[2]), best.z);
        best.w = lanes_choose(heavier, lanes_all(q[3]), best.w);
        most = lanes_choose(heavier, w, most);
    }
    return best;
}

static inline struct dual dual_sum(const struct skeleton_dual_slot *palette, const uint16_t *slots,
                                   uint32_t count, const float *weights, int place)
{
    struct lanes4 align = heaviest_rotation(palette, slots, count, weights, place);
    lanes zero = lanes_all(0);
    struct dual sum = {
        {zero, zero, zero, zero}, {zero, zero, zero, zero}, {zero, zero, zero}, {zero, zero, zero}};
    for (uint32_t k = 0; k < count; k++) {
        const struct skeleton_dual_slot *s = &palette[slots[k]];
        lanes w = lanes_load(weights + k * MODEL_LANES + place);
        lanes cosine = lanes_mul(align.w, lanes_all(s->rotation[3]));
        cosine = lanes_fma(align.z, lanes_all(s->rotation[2]), cosine);
        cosine = lanes_fma(align.y, lanes_all(s->rotation[1]), cosine);
        cosine = lanes_fma(align.x, lanes_all(s->rotation[0]), cosine);
        lanes signed_w = lanes_sign_of(w, cosine);
        sum.rotation = add_scaled4(sum.rotation, s->rotation, signed_w);
        sum.dual = add_scaled4(sum.dual, s->dual, signed_w);
        sum.diagonal = add_scaled3(sum.diagonal, all3(s->stretch), w);
        sum.mixed = add_scaled3(sum.mixed, all3(s->stretch + 3), w);
    }
    lanes s =
        lanes_rsqrt(lanes_fma(sum.rotation.x, sum.rotation.x,
                              lanes_fma(sum.rotation.y, sum.rotation.y,
                                        lanes_fma(sum.rotation.z, sum.rotation.z,
                                                  lanes_mul(sum.rotation.w, sum.rotation.w)))));
    sum.rotation = (struct lanes4){lanes_mul(sum.rotation.x, s), lanes_mul(sum.rotation.y, s),
                                   lanes_mul(sum.rotation.z, s), lanes_mul(sum.rotation.w, s)};
    sum.dual = (struct lanes4){lanes_mul(sum.dual.x, s), lanes_mul(sum.dual.y, s),
                               lanes_mul(sum.dual.z, s), lanes_mul(sum.dual.w, s)};
    return sum;
}

// v turned by unit q: v + 2 u x (u x v + w v), u its vector part.
static inline struct lanes3 turn(struct lanes4 q, struct lanes3 v)
{
    struct lanes3 u = {q.x, q.y, q.z}, half = add_scaled3(cross3(u, v), v, q.w);
    return add_scaled3(v, cross3(u, half), lanes_all(2));
}

// t = 2 (w0 * ve - we * v0 + v0 x ve), vector and scalar parts of the real (0) and dual (e) sums.
static inline struct lanes3 translation(const struct dual *d)
{
    struct lanes3 v0 = {d->rotation.x, d->rotation.y, d->rotation.z};
    struct lanes3 ve = {d->dual.x, d->dual.y, d->dual.z};
    lanes minus_we = lanes_mul(d->dual.w, lanes_all(-1));
    struct lanes3 t = add_scaled3(cross3(v0, ve), ve, d->rotation.w);
    return scale3(add_scaled3(t, v0, minus_we), lanes_all(2));
}

static inline void dual_blend(const struct skeleton_dual_slot *palette, const uint16_t *slots,
                              uint32_t count, const float *weights,
                              const struct model_rest_block *rest, struct surface_block *out)
{
    for (int place = 0; place < MODEL_LANES; place += LANES_WIDTH) {
        struct dual d = dual_sum(palette, slots, count, weights, place);
        struct lanes3 g = d.diagonal, m = d.mixed;
        struct lanes33 h = {{g.x, m.x, m.y}, {m.x, g.y, m.z}, {m.y, m.z, g.z}};
        struct lanes3 x = load3(rest->position, place), n = load3(rest->normal, place);
        struct lanes3 moved = turn(d.rotation, mul33(&h, x));
        store_position(out, place, add_scaled3(translation(&d), moved, lanes_all(1)));
        struct lanes33 cofactor = {cross3(h.y, h.z), cross3(h.z, h.x), cross3(h.x, h.y)};
        struct lanes3 turned = mirror3(mul33(&cofactor, n), h.x, cofactor.x);
        store_normal(out, place, turn(d.rotation, turned), n);
    }
}

static inline void dual_run(const struct skin_blocks *b)
{
    static const float one[MODEL_LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < b->count; i++) {
        const struct model_block *block = &b->blocks[i];
        const float *weights = block->influence_count == 1 ? one : b->weights + block->weight_first;
        dual_blend(b->dual_palette, b->block_slots + block->slot_first, block->influence_count,
                   weights, &b->rest[i], &b->out[i]);
    }
}
