/*
 * Standard normals in pairs, from two uniforms: with r = sqrt(-2 log(1 - u1)) and t = 2 pi u2,
 * r cos t is returned at once and r sin t the next time. 1 - u1 lies in (0, 1], so that the
 * logarithm is finite, and |z| <= sqrt(106 log 2) < 8.6.
 *
 * G. E. P. Box, M. E. Muller, "A Note on the Generation of Random Normal Deviates", Ann. Math.
 * Stat. 29 (1958).
 */
#include "random/distributions.h"

static void turn(void *user, double *uniforms, int64_t first, int64_t count)
{
    const hm_kernels *const *kernels = user;
    (void)first;
    (*kernels)->random->box_muller(uniforms, count / 2);
}

static void draw_pairs(const hm_context *ctx, hm_stream *s, double *out, int64_t pairs)
{
    const hm_kernels *kernels = hm_context_kernels(ctx);
    hm_draw_uniforms_for(ctx, s, out, 2 * pairs, turn, &kernels);
}

void hm_draw_normals(const hm_context *ctx, hm_stream *s, double *out, int64_t n)
{
    if (n > 0 && s->has_pending) {
        *out++ = s->pending;
        n--;
        s->has_pending = false;
        s->pending = 0.0;
    }
    draw_pairs(ctx, s, out, n / 2);
    if (n % 2) {
        double pair[2];
        draw_pairs(ctx, s, pair, 1);
        out[n - 1] = pair[0];
        s->pending = pair[1];
        s->has_pending = true;
    }
}
