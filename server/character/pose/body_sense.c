#include "server/character/pose/body_sense.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/rotation.h"

static const double LAG_S[BODY_LAGS] = {0.12, 0.4, 1.5};
static const double BODY_LAG_S = 0.35;
static const double HEAD_JOINT_M = 1.56; // of the body that features and guesses are told for

static double share_of(double dt_s, double lag_s)
{
    return 1 - stable_exp(-dt_s / lag_s);
}

static void follow(const double *now, size_t count, double share, double *mean)
{
    for (size_t i = 0; i < count; i++)
        mean[i] += share * (now[i] - mean[i]);
}

// The head's heading: its forward, which its up stands in for where it looks up or down.
static void find_heading(const double turn[4], double out[2])
{
    static const double z[3] = {0, 0, 1}, y[3] = {0, 1, 0};
    double front[3], up[3];
    rotation_apply(turn, z, front);
    rotation_apply(turn, y, up);
    double sine = front[0] - front[1] * up[0], cosine = front[2] - front[1] * up[2];
    double size = sqrt(sine * sine + cosine * cosine);
    if (!(size > 1e-6)) return; // keeps what it was
    out[0] = sine / size;
    out[1] = cosine / size;
}

static void yaw_turn(const double heading[2], double out[4])
{
    double w = sqrt(fmax((1 + heading[1]) / 2, 0));
    out[0] = out[2] = 0;
    out[1] = w > 1e-6 ? heading[0] / (2 * w) : 1;
    out[3] = w > 1e-6 ? w : 0;
    rotation_unit(out);
}

// The body faces where the head does, more slowly, and square to the hands where they are apart.
static void find_ahead(struct body_sense *s, double dt_s, bool started, struct body_sense_memory *m)
{
    double across[2] = {s->hands[0][0] - s->hands[1][0], s->hands[0][2] - s->hands[1][2]};
    double apart = sqrt(across[0] * across[0] + across[1] * across[1]) * s->unit;
    double weight = apart > 1e-6 ? 0.5 * fmin(apart / 0.4, 1) : 0;
    double hands[2] = {-across[1] * s->unit, across[0] * s->unit};
    double front = apart > 1e-6 ? (hands[0] * s->heading[0] + hands[1] * s->heading[1]) / apart : 0;
    weight *= fmax(front, 0); // crossed arms face nowhere
    double want[2];
    for (int i = 0; i < 2; i++)
        want[i] = s->heading[i] + (apart > 1e-6 ? weight * hands[i] / apart : 0);
    if (!started) memcpy(m->ahead, want, sizeof want);
    follow(want, 2, share_of(dt_s, BODY_LAG_S), m->ahead);
    double size = sqrt(m->ahead[0] * m->ahead[0] + m->ahead[1] * m->ahead[1]);
    for (int i = 0; i < 2; i++)
        s->ahead[i] = size > 1e-6 ? m->ahead[i] / size : s->heading[i];
}

static double *put(double *at, const struct body_sense *s, const double v[3], double scale)
{
    double local[3];
    rotation_apply_inverse(s->frame, v, local);
    for (int r = 0; r < 3; r++)
        *at++ = scale * local[r];
    return at;
}

static double *put_axis(double *at, const struct body_sense *s, const double turn[4], int axis)
{
    double v[3] = {axis == 0, axis == 1, axis == 2}, out[3];
    rotation_apply(turn, v, out);
    return put(at, s, out, 1);
}

static void find_features(struct body_sense *s, double from_head[2][3],
                          const struct body_sense_memory *m)
{
    double *f = s->features, v[3];
    *f++ = s->head[1] * s->unit - HEAD_JOINT_M;
    f = put_axis(f, s, s->head_turn, 1);
    f = put_axis(f, s, s->head_turn, 2);
    for (int i = 0; i < 2; i++)
        f = put(f, s, from_head[i], s->unit);
    for (int i = 0; i < 2; i++) {
        f = put_axis(f, s, s->hand_turns[i], 0);
        f = put_axis(f, s, s->hand_turns[i], 1);
    }
    for (int k = 0; k < 2; k++) {
        for (int r = 0; r < 3; r++)
            v[r] = s->head[r] - m->head[k][r];
        f = put(f, s, v, s->unit / (k ? 0.4 : 0.12));
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            for (int r = 0; r < 3; r++)
                v[r] = from_head[i][r] - m->hands[k][i][r];
            f = put(f, s, v, s->unit / (k ? 0.4 : 0.12));
        }
    *f++ = (s->head[1] - m->head[2][1]) * s->unit;
    // How far the heading has turned since: sine of the angle.
    *f++ = s->heading[0] * m->heading[1][1] - s->heading[1] * m->heading[1][0];
    *f = s->heading[0] * s->ahead[1] - s->heading[1] * s->ahead[0];
}

void body_sense(const struct human *h, const double head[3], const double head_turn[4],
                double hands[2][3], double hand_turns[2][4], double dt_s, bool started,
                struct body_sense_memory *m, struct body_sense *s)
{
    double from_head[2][3];
    memset(s, 0, sizeof *s);
    memcpy(s->head, head, sizeof s->head);
    memcpy(s->head_turn, head_turn, sizeof s->head_turn);
    memcpy(s->hands, hands, sizeof s->hands);
    memcpy(s->hand_turns, hand_turns, sizeof s->hand_turns);
    s->unit = HEAD_JOINT_M / h->head_height;
    s->heading[1] = 1;
    if (started) memcpy(s->heading, m->heading[0], sizeof s->heading);
    find_heading(head_turn, s->heading);
    yaw_turn(s->heading, s->frame);
    for (int i = 0; i < 2; i++)
        for (int r = 0; r < 3; r++)
            from_head[i][r] = hands[i][r] - head[r];
    for (int k = 0; k < BODY_LAGS; k++) {
        double share = started ? share_of(dt_s, LAG_S[k]) : 1;
        follow(head, 3, share, m->head[k]);
        follow(&from_head[0][0], 6, share, &m->hands[k][0][0]);
        follow(s->heading, 2, k == 0 ? 1 : share, m->heading[k]);
    }
    find_ahead(s, dt_s, started, m);
    find_features(s, from_head, m);
}

static const double *mirror_place(const double *in, double **out)
{
    *(*out)++ = -in[0];
    *(*out)++ = in[1];
    *(*out)++ = in[2];
    return in + 3;
}

static const double *mirror_pair(const double *in, int vectors, const double signs[][3],
                                 double **out)
{
    for (int side = 1; side >= 0; side--)
        for (int v = 0; v < vectors; v++)
            for (int r = 0; r < 3; r++)
                *(*out)++ = signs[v][r] * in[3 * (side * vectors + v) + r];
    return in + 6 * vectors;
}

void body_sense_mirror(const double in[BODY_FEATURES], double out[BODY_FEATURES])
{
    static const double place[1][3] = {{-1, 1, 1}};
    static const double axes[2][3] = {{1, -1, -1}, {-1, 1, 1}};
    *out++ = *in++;
    in = mirror_place(in, &out);
    in = mirror_place(in, &out);
    in = mirror_pair(in, 1, place, &out);
    in = mirror_pair(in, 2, axes, &out);
    in = mirror_place(in, &out);
    in = mirror_place(in, &out);
    in = mirror_pair(in, 1, place, &out);
    in = mirror_pair(in, 1, place, &out);
    *out++ = *in++;
    *out++ = -*in++;
    *out = -*in;
}
