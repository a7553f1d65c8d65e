#include <math.h>
#include <string.h>

#include "common/check.h"
#include "common/vector.h"
#include "server/character/surface/skin.h"
#include "server/character/surface/skin_kernel.h"

bool skin_is_apart(const struct skin_job *job)
{
    return job->skinning == MODEL_DQ && job->model->roots_count > 1;
}

static void normal_of(double linear[3][3], const double rest[3], double out[3])
{
    double cofactor[3][3], square = 0;
    for (int c = 0; c < 3; c++)
        vector_cross(linear[(c + 1) % 3], linear[(c + 2) % 3], cofactor[c]);
    double det = vector_dot(linear[0], cofactor[0]);
    for (int r = 0; r < 3; r++) {
        out[r] = cofactor[0][r] * rest[0] + cofactor[1][r] * rest[1] + cofactor[2][r] * rest[2];
        out[r] *= det < 0 ? -1 : 1;
        square += out[r] * out[r];
    }
    for (int r = 0; r < 3; r++)
        out[r] = square < (double)SKIN_NORMAL_VANISHED ? rest[r] : out[r] / sqrt(square);
}

void skin_apart(const struct skin_job *job)
{
    const struct model *m = job->model;
    CHECK(job->dual_palette);
    for (size_t b = 0; b < job->block_count; b++) {
        const struct model_rest_block *rest = &job->rest[b];
        for (uint32_t place = 0; place < MODEL_LANES; place++) {
            uint32_t lane = (uint32_t)((job->block_first + b) * MODEL_LANES) + place;
            double x[3], n[3], position[3], linear[3][3], normal[3];
            for (int r = 0; r < 3; r++) {
                x[r] = (double)rest->position[r][place];
                n[r] = (double)rest->normal[r][place];
            }
            skin_dual_point(m, job->dual_palette, lane, x, position, linear);
            normal_of(linear, n, normal);
            for (int r = 0; r < 3; r++) {
                job->out[b].position[r][place] = (float)position[r];
                job->out[b].normal[r][place] = (float)normal[r];
            }
        }
    }
}
