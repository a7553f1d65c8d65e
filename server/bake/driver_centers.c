// Which examples stand at one pose: each gets its center.
#include <math.h>

#include "server/bake/drivers.h"
#include "server/character/pose/driver.h"

static const double SAME_ANGLE_RAD = 5e-4;
static const double SAME_PLACE = 1e-5; // of the box diagonal: distances, and deltas of duplicates

static struct driver_sample sample_of(const struct model_driver_joint *j, const struct trs *locals)
{
    return driver_read(&locals[j->node]);
}

bool driver_joint_agrees(const struct driver_bake *k, const struct model_driver_joint *j,
                         const struct trs *a, const struct trs *b)
{
    struct driver_sample x = sample_of(j, a), y = sample_of(j, b);
    struct model_driver_joint plain = *j;
    plain.per_unit = 1;
    plain.read = j->read == MODEL_READ_TRANSFORM ? MODEL_READ_ROTATION : j->read;
    double moved = 0, place[3];
    for (int r = 0; r < 3; r++)
        place[r] = x.translation[r] - y.translation[r];
    if (j->read == MODEL_READ_TRANSFORM || j->read == MODEL_READ_TRANSLATION)
        moved = sqrt(place[0] * place[0] + place[1] * place[1] + place[2] * place[2]);
    double turned = j->read == MODEL_READ_TRANSLATION
                        ? 0
                        : sqrt(driver_distance(&plain, MODEL_KERNEL_LINEAR, &x, &y));
    return turned <= SAME_ANGLE_RAD && moved <= SAME_PLACE * k->diagonal;
}

static bool poses_agree(const struct driver_bake *k, const struct driver_plan *d,
                        const struct trs *a, const struct trs *b)
{
    for (uint32_t j = 0; j < d->joint_count; j++)
        if (!driver_joint_agrees(k, &d->joints[j], a, b)) return false;
    return true;
}

// Largest difference of two sparse sets.
static double delta_difference(const struct delta_set *a, const struct delta_set *b)
{
    double worst = 0;
    for (uint32_t i = 0, j = 0; i < a->count || j < b->count;) {
        uint32_t va = i < a->count ? a->vertices[i] : UINT32_MAX;
        uint32_t vb = j < b->count ? b->vertices[j] : UINT32_MAX;
        double sum = 0;
        for (int r = 0; r < 3; r++) {
            double d = (va <= vb ? a->deltas[i][r] : 0) - (vb <= va ? b->deltas[j][r] : 0);
            sum += d * d;
        }
        worst = fmax(worst, sqrt(sum));
        i += va <= vb;
        j += vb <= va;
    }
    return worst;
}

// Gives every example its center: 0 at the base pose, that of its duplicate, or one of its own.
enum err driver_centers_assign(struct driver_bake *k, struct driver_plan *d, uint32_t *center_count)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < d->example_count; i++) {
        struct example_plan *e = &d->examples[i];
        bool at_base = poses_agree(k, d, e->locals, k->b->model.base_pose);
        e->center = at_base ? 0 : count;
        for (uint32_t n = 0; n < i && !e->merged; n++) {
            struct example_plan *other = &d->examples[n];
            if (other->merged ||
                !(at_base ? other->center == 0 : poses_agree(k, d, e->locals, other->locals)))
                continue;
            if (delta_difference(&e->d, &other->d) > SAME_PLACE * k->diagonal)
                return fault_set(
                    k->fault, ERR_MALFORMED,
                    "%s: examples \"%.60s\" and \"%.60s\" of driver \"%.60s\" stand at "
                    "one pose with different surfaces: keep one, or change a pose",
                    e->path, other->name, e->name, d->name);
            e->merged = true;
            e->center = other->center;
            scene_note(k->b->scene, NOTE_REPAIRED, 1,
                       "driver \"%.50s\": example \"%.50s\" is the same as \"%.50s\": merged",
                       d->name, e->name, other->name);
        }
        count += !e->merged && !at_base;
    }
    *center_count = count;
    return ERR_OK;
}
