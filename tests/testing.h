#pragma once
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The smallest test runner that does: functions are sentences, EXPECT keeps going, the process
// exits 1 on any failure and 77 when it was skipped.
extern int testing_failures;
enum { TESTING_SKIPPED = 77 };

#define EXPECT(c)                                                                                  \
    ((c) ? (void)0                                                                                 \
         : (void)(testing_failures++, printf("  %s:%d: EXPECT(%s)\n", __FILE__, __LINE__, #c)))
#define EXPECT_NEAR(a, b, tol)                                                                     \
    do {                                                                                           \
        double a_ = (double)(a), b_ = (double)(b);                                                 \
        if (!(fabs(a_ - b_) <= (tol))) {                                                           \
            testing_failures++;                                                                    \
            printf("  %s:%d: %s = %.9g, expected %.9g +- %.2g\n", __FILE__, __LINE__, #a, a_, b_,  \
                   (double)(tol));                                                                 \
        }                                                                                          \
    } while (0)
#define RUN(fn)                                                                                    \
    do {                                                                                           \
        int before_ = testing_failures;                                                            \
        fn();                                                                                      \
        printf("%s %s\n", testing_failures == before_ ? "ok  " : "FAIL", #fn);                     \
        fflush(stdout);                                                                            \
    } while (0)
#define TESTING_MAIN_END return testing_failures != 0

// The folder of real test data, or NULL (then the caller prints a line and skips).
static inline const char *testing_data(void)
{
    const char *folder = getenv("SINEW_TEST_DATA");
    if (!folder) folder = "../shared/data";
    char probe[1024];
    snprintf(probe, sizeof probe, "%s/SOURCES.tsv", folder);
    FILE *f = fopen(probe, "rb");
    if (!f) return NULL;
    fclose(f);
    return folder;
}
