#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Customised faces and bodies (method B): what parameters do to weights and bones, the correction
// meshes' weights, and pull-back. In double, without libm. Its owner calls, in this order,
//
//   customise_mix        parameters' shares of shapes; then what is laid over by others
//   customise_advance    pull-back: what part of each bone's customisation stands
//   customise_correct    combinations, corrections, in-betweens: weights of the channels
//   (drivers read the pose)
//   customise_bones      moves the bones of a pose; what drivers read is kept in `before`
//
// Values hold until they are set again. It starts settled: a share is where its shapes want it.
struct customise {
    const struct model *model;
    float *values;      // [parameter] inside its range
    bool *told;         // [parameter] somebody has set it: else a material is as the file has it
    double *shares;     // [face bone] that stands of its customisation, 0 .. 1
    double *wanted;     // [face bone] where the newest weights want its share
    struct trs *before; // [face bone] its local transform before customise_bones
    uint64_t looks;     // rises when a parameter of kind appearance is set
    bool started;       // shares have been settled once
    bool moving;        // a share is on its way
    bool bent;          // customise_bones has moved a bone of the last pose

    // private
    struct customise_offset *offsets; // [face bone] whole
    double *dials;                    // [dial]
};
size_t customise_bytes(const struct model *m);
struct customise customise_take(const struct model *m, struct arena *a); // all at default

// value: any finite number; kept inside the parameter's range.
void customise_set(struct customise *c, uint32_t parameter, float value);

// How far a piecewise-linear hat stands at x: 1 at `at`, 0 at `before` and `after`; 1 beyond an
// end (before = at, or at = after).
double customise_hat(double before, double at, double after, double x);

void customise_mix(const struct customise *c, float *weights);
// dt_s: seconds since the last call, in which shares went to where the weights of then wanted them:
// so the way is the same at every tick rate. The first call settles.
void customise_advance(struct customise *c, const float *weights, double dt_s);
void customise_correct(struct customise *c, float *weights);
void customise_bones(struct customise *c, struct trs *locals);
// The same offsets on another pose of the same frame: several roots have one each.
void customise_lay(const struct customise *c, struct trs *locals);
// What drivers read: puts the bones of `locals` back, and forward again.
void customise_swap(const struct customise *c, struct trs *locals);
