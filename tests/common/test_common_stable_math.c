#include "common/stable_math.h"
#include "tests/testing.h"
int testing_failures;

static double relative(double got, double want)
{
    return fabs(got - want) / fmax(fabs(want), 1e-300);
}

static void agrees_with_libm(void)
{
    double worst_exp = 0, worst_log = 0, worst_atan = 0;
    for (int i = 0; i <= 200000; i++) {
        double t = i / 200000.0;
        worst_exp = fmax(worst_exp, relative(stable_exp(-700 * t * t), exp(-700 * t * t)));
        double x = exp(1400 * (t - 0.5));
        if (fabs(x - 1) > 1e-3) worst_log = fmax(worst_log, relative(stable_log(x), log(x)));
        double a = M_PI * t;
        worst_atan = fmax(worst_atan, fabs(stable_atan2(sin(a), cos(a)) - atan2(sin(a), cos(a))));
    }
    printf("  exp %.2g, log %.2g (relative), atan2 %.2g\n", worst_exp, worst_log, worst_atan);
    EXPECT(worst_exp < 1e-15 && worst_log < 1e-15 && worst_atan < 1e-15);
}

static void sines_agree_with_libm(void)
{
    double worst = 0;
    for (int i = -200000; i <= 200000; i++) {
        double x = i * 1e-3 + 1e-5 * (i % 7), s, c;
        stable_sincos(x, &s, &c);
        worst = fmax(worst, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    }
    printf("  sine and cosine %.2g\n", worst);
    EXPECT(worst < 4e-16);
}

static void the_ends_are_right(void)
{
    EXPECT(stable_exp(0) == 1 && stable_exp(-1000) == 0 && isinf(stable_exp(710)));
    EXPECT(isnan(stable_exp((double)NAN)));
    EXPECT(stable_log(1) == 0);
    EXPECT_NEAR(stable_log(5e-324), log(5e-324), 1e-12);
    EXPECT(stable_atan2(0, 0) == 0 && stable_atan2(0, 1) == 0);
    EXPECT_NEAR(stable_atan2(0, -1), M_PI, 1e-15);
    EXPECT_NEAR(stable_atan2(1, 0), M_PI / 2, 1e-15);
}

int main(void)
{
    RUN(agrees_with_libm);
    RUN(sines_agree_with_libm);
    RUN(the_ends_are_right);
    TESTING_MAIN_END;
}
