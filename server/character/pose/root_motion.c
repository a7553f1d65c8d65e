#include "server/character/pose/root_motion.h"

#include <math.h>

#include "server/character/pose/blend.h"
#include "server/character/pose/clip.h"

double roots_eased_value(const struct roots_eased *e)
{
    double u = e->share, s = u * u * (3 - 2 * u);
    return u >= 1 ? e->to : e->from + s * (e->to - e->from);
}

void roots_ease_to(struct roots_eased *e, double value)
{
    if (value == e->to) return;
    *e = (struct roots_eased){roots_eased_value(e), value, 0};
}

static void ease(struct roots_eased *e, double dt_s)
{
    e->share = fmin(1, e->share + dt_s / ROOTS_EASE_S);
}

void root_motion_start(struct root_motion *r)
{
    *r = (struct root_motion){.clip = MODEL_NONE,
                              .before = MODEL_NONE,
                              .fade = 1,
                              .speed = {1, 1, 1},
                              .weight = {1, 1, 1},
                              .offset_s = {0, 0, 1}};
}

static void fade_from_here(struct root_motion *r)
{
    r->set = true;
    r->before = r->clip;
    r->before_mirrored = r->mirrored;
    r->before_played_s = r->played_s;
    r->fade = 0;
}

void root_motion_clip(struct root_motion *r, int32_t clip)
{
    r->set = true;
    if (clip == r->clip) return;
    fade_from_here(r);
    r->clip = clip;
    r->played_s = 0;
}

void root_motion_mirror(struct root_motion *r, bool mirrored)
{
    r->set = true;
    if (mirrored == r->mirrored) return;
    fade_from_here(r);
    r->mirrored = mirrored;
}

void root_motion_advance(struct root_motion *r, double dt_s)
{
    if (!r->set || !(dt_s > 0)) return;
    double before = roots_eased_value(&r->speed);
    ease(&r->speed, dt_s);
    ease(&r->weight, dt_s);
    ease(&r->offset_s, dt_s);
    double played = dt_s * (before + roots_eased_value(&r->speed)) / 2;
    r->played_s += played;
    r->before_played_s += played;
    r->fade = fmin(1, r->fade + dt_s / ROOTS_EASE_S);
}

bool root_motion_is_moving(const struct root_motion *r)
{
    return r->set && (r->fade < 1 || r->weight.share < 1 || r->offset_s.share < 1 ||
                      r->speed.share < 1 || (r->clip != MODEL_NONE && r->speed.to != 0));
}

static void sample(const struct mirror *mirror, int32_t clip, bool mirrored, double time_s,
                   struct pose out)
{
    const struct model *m = mirror->model;
    if (clip != MODEL_NONE) {
        pose_rest(m, out);
        clip_sample(m, (uint32_t)clip, clip_time(&m->clips[clip], fmax(0, time_s)),
                    (struct clip_cursor){0}, out);
    }
    if (mirrored) mirror_pose(mirror, out.locals, out.locals);
}

void root_motion_sample(const struct mirror *mirror, const struct root_motion *r, struct pose out,
                        struct pose other)
{
    const struct model *m = mirror->model;
    if (!r->set) return;
    double offset = roots_eased_value(&r->offset_s);
    pose_copy(m, out, other);
    sample(mirror, r->clip, r->mirrored, r->played_s + offset, out);
    if (r->fade >= 1) return;
    sample(mirror, r->before, r->before_mirrored, r->before_played_s + offset, other);
    float share = (float)(r->fade * r->fade * (3 - 2 * r->fade));
    struct blend_layer layers[2] = {{.pose = other, .weight = 1 - share},
                                    {.pose = out, .weight = share}};
    blend_layers(m, layers, 2, out);
}
