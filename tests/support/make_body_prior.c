// make_body_prior MOCAP_FOLDER > server/character/pose/body_prior_table.c
// Writes the committed body prior, made from the clips of body_teach.c.
#include <stdio.h>

#include "tests/support/body_teach.h"
#include "tests/testing.h"
int testing_failures;

static const char mit[] =
    "// Copyright (c) Meta Platforms, Inc. and affiliates.\n//\n"
    "// Permission is hereby granted, free of charge, to any person obtaining a copy of this\n"
    "// software and associated documentation files (the \"Software\"), to deal in the Software\n"
    "// without restriction, including without limitation the rights to use, copy, modify, merge,\n"
    "// publish, distribute, sublicense, and/or sell copies of the Software, and to permit "
    "persons\n"
    "// to whom the Software is furnished to do so, subject to the following conditions:\n//\n"
    "// The above copyright notice and this permission notice shall be included in all copies or\n"
    "// substantial portions of the Software.\n//\n"
    "// THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED,\n"
    "// INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR\n"
    "// PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE\n"
    "// FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR\n"
    "// OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER\n"
    "// DEALINGS IN THE SOFTWARE.\n";

static void print_centers(const struct body_prior *p)
{
    size_t count = (size_t)p->center_count * BODY_PRIOR_WIDTH;
    printf("static const int16_t centers[%zu] = {", count);
    for (size_t i = 0; i < count; i++)
        printf("%s%d,", i % BODY_PRIOR_WIDTH == 0 ? "\n" : "", p->centers[i]);
    printf("\n};\n");
}

static void print_weights(const struct body_prior *p)
{
    size_t count = (1 + BODY_FEATURES + (size_t)p->center_count) * BODY_GUESS_NUMBERS;
    printf("static const float weights[%zu] = {", count);
    for (size_t i = 0; i < count; i++)
        printf("%s%.6ef,", i % 10 == 0 ? "\n" : "", (double)p->weights[i]);
    printf("\n};\n");
}

int main(int argc, char **argv)
{
    struct body_prior *p = argc == 2 ? body_teach(argv[1], body_teacher_count) : NULL;
    if (!p) {
        fprintf(stderr, "usage: make_body_prior MOCAP_FOLDER, which holds cmu/ and fair/\n");
        return argc == 2 ? 1 : 2;
    }
    printf("// Made by tests/support/make_body_prior.c; not to be edited.\n//\n"
           "// Learned from recorded motion whose licences allow it:\n");
    for (size_t i = 0; i < body_teacher_count; i++)
        printf("//   %s\n", body_teachers[i]);
    printf("// cmu/: the CMU Graphics Lab Motion Capture Database (mocap.cs.cmu.edu, created with\n"
           "// funding from NSF EIA-0196217), free for research and commercial use without\n"
           "// restrictions; BVH conversion by B. Hahne (cgspeed), who places none either.\n"
           "// fair/: from AnimatedDrawings, under the MIT licence:\n//\n");
    printf("%s", mit);
    printf("#include \"server/character/pose/body_prior.h\"\n\n// clang-format off\n");
    print_centers(p);
    print_weights(p);
    printf("// clang-format on\n\n"
           "const struct body_prior *body_prior_standard(void)\n{\n"
           "    static const struct body_prior prior = {%u, centers, weights};\n"
           "    return &prior;\n}\n",
           p->center_count);
    body_teach_free(p);
    return 0;
}
