/*
 * Standard normals given |z| <= bound, by rejection.
 *
 * bound >= 1: normals, drawn again until they fit, which at least 68 % do. Smaller bounds: z
 * uniform on
 * [-bound, bound), accepted with probability e^(-z^2/2), which is at least 61 %; candidate z takes
 * one uniform and its acceptance a second one, always. So every bound ends, however small.
 *
 * While k values are missing, k candidates are drawn at once: all of them would have been drawn one
 * by one too, so that the stream ends where single draws leave it.
 *
 * C. P. Robert, "Simulation of truncated normal variables", Statistics and Computing 5 (1995).
 */
#include <math.h>

#include "random/distributions.h"

enum { BATCH = 256 };

/* Keeps the values within the bound, in order, and says how many. */
static int64_t keep_within(double bound, double *values, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const double z = values[i];
        values[kept] = z;
        kept += fabs(z) <= bound;
    }
    return kept;
}

static int64_t draw_from_uniforms(const hm_context *ctx, hm_stream *s, double bound, double *out,
                                  int64_t candidates)
{
    double uniforms[2 * BATCH], z[BATCH], density[BATCH];
    int64_t kept = 0;
    for (int64_t done = 0; done < candidates; done += BATCH) {
        const int64_t count = candidates - done < BATCH ? candidates - done : BATCH;
        hm_draw_uniforms(ctx, s, uniforms, 2 * count);
        for (int64_t i = 0; i < count; i++)
            z[i] = bound * (2.0 * uniforms[2 * i] - 1.0);
        hm_context_kernels(ctx)->random->bell(z, density, count);
        for (int64_t i = 0; i < count; i++) {
            out[kept] = z[i]; /* never beyond the candidates, so within `out` */
            kept += uniforms[2 * i + 1] < density[i];
        }
    }
    return kept;
}

void hm_draw_truncated_normals(const hm_context *ctx, hm_stream *s, double bound, double *out,
                               int64_t n)
{
    while (n > 0) {
        int64_t kept;
        if (bound >= 1.0) {
            hm_draw_normals(ctx, s, out, n);
            kept = keep_within(bound, out, n);
        } else {
            kept = draw_from_uniforms(ctx, s, bound, out, n);
        }
        out += kept;
        n -= kept;
    }
}
