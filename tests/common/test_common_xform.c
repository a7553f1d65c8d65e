#include "common/xform.h"
#include "tests/testing.h"
int testing_failures;

static double random_unit(void)
{
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

static struct trs random_trs(void)
{
    struct trs t = {
        .translation = {(float)random_unit(), (float)random_unit(), (float)random_unit()},
        .rotation = {(float)random_unit(), (float)random_unit(), (float)random_unit(),
                     (float)random_unit()},
        .scale = {1.5f + (float)random_unit(), 1.5f + (float)random_unit(),
                  1.5f + (float)random_unit()},
    };
    t.rotation = quat_normalise(t.rotation);
    return t;
}

static double difference(const struct xform *a, const struct xform *b)
{
    double worst = 0;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            worst = fmax(worst, fabs(a->col[c][r] - b->col[c][r]));
    return worst;
}

static void a_quarter_turn_about_z_carries_x_to_y(void)
{
    struct trs t = {{1, 2, 3}, {0, 0, (float)M_SQRT1_2, (float)M_SQRT1_2}, {2, 2, 2}};
    struct xform m = xform_from_trs(&t);
    double out[3];
    xform_point(&m, (double[3]){1, 0, 0}, out);
    EXPECT_NEAR(out[0], 1, 1e-7);
    EXPECT_NEAR(out[1], 4, 1e-7);
    EXPECT_NEAR(out[2], 3, 1e-7);
}

static void splitting_and_joining_is_the_identity(void)
{
    for (int i = 0; i < 500; i++) {
        struct trs t = random_trs();
        if (i & 1) t.scale.y = -t.scale.y; // a mirror comes back as another mirror, same matrix
        struct xform m = xform_from_trs(&t), again;
        struct trs split;
        EXPECT(xform_to_trs(&m, &split));
        again = xform_from_trs(&split);
        EXPECT_NEAR(difference(&m, &again), 0, 1e-6);
    }
}

static void a_sheared_matrix_is_reported(void)
{
    struct xform m = xform_identity();
    m.col[1][0] = 0.5;
    struct trs split;
    EXPECT(!xform_to_trs(&m, &split));
}

static void inverse_undoes_and_refuses_the_singular(void)
{
    struct xform id = xform_identity();
    for (int i = 0; i < 500; i++) {
        struct trs t = random_trs();
        struct xform m = xform_from_trs(&t), inverse, product;
        EXPECT(xform_invert(&m, &inverse));
        product = xform_mul(&m, &inverse);
        EXPECT_NEAR(difference(&product, &id), 0, 1e-12);
    }
    struct xform flat = {{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 0}}}, out = id;
    EXPECT(!xform_invert(&flat, &out));
    EXPECT(difference(&out, &id) == 0);
    flat.col[0][0] = (double)NAN;
    EXPECT(!xform_invert(&flat, &out));
}

static void bad_quaternions_become_no_turn(void)
{
    struct quat q = quat_normalise((struct quat){0, 0, 0, 0});
    EXPECT(q.w == 1);
    q = quat_normalise((struct quat){NAN, 0, 0, 1});
    EXPECT(q.w == 1 && q.x == 0);
    q = quat_normalise((struct quat){0, 3e30f, 0, 4e30f});
    EXPECT_NEAR(q.y, 0.6, 1e-7);
}

int main(void)
{
    RUN(a_quarter_turn_about_z_carries_x_to_y);
    RUN(splitting_and_joining_is_the_identity);
    RUN(a_sheared_matrix_is_reported);
    RUN(inverse_undoes_and_refuses_the_singular);
    RUN(bad_quaternions_become_no_turn);
    TESTING_MAIN_END;
}
