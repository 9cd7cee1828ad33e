#include "neural/precision/gradients.h"

#include <math.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

static hm_wide norm(const hm_context *ctx, const hm_doubles *g)
{
    return hm_wide_root(hm_sum_row_threads(ctx, HM_ROW_SQUARES, g->data, NULL, g->length));
}

hm_status hm_gradient_norm(hm_context *ctx, const hm_doubles *gradient, double *out)
{
    hm_status st;
    if ((st = hm_check_vector(ctx, "gradient", gradient)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, "gradient", gradient)) != HMATH_OK)
        return st;
    double length = hm_wide_round(norm(ctx, gradient));
    if (!isfinite(length))
        return hm_fail_overflow(ctx);
    *out = length;
    return HMATH_OK;
}

/* g_i * factor, its exponent applied in two steps, since one power of two may not reach. */
typedef struct scaling {
    const double *g;
    double *out;
    int64_t n;
    double fraction, first, second;
} scaling;

enum { CHUNK = 1 << 16 };

static void scale_chunk(void *task, int64_t chunk)
{
    const scaling *s = task;
    int64_t end = (chunk + 1) * CHUNK < s->n ? (chunk + 1) * CHUNK : s->n;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        s->out[i] = s->g[i] * s->fraction * s->first * s->second;
}

/*
 * factor <= 1, so nothing overflows; where g_i * factor is subnormal it is off by one unit at most. Its
 * power of two, down to that of the smallest double over the largest (2^-2098), is applied in two
 * steps: both are doubles, if subnormal ones, and a large g_i is still normal after the first.
 */
static void scale(const hm_context *ctx, const hm_doubles *g, hm_wide factor, double *out)
{
    const int64_t least = -1049;
    int64_t first = factor.exponent > least ? factor.exponent : least;
    int64_t second = factor.exponent - first;
    scaling task = {
        .g = g->data,
        .out = out,
        .n = g->length,
        .fraction = factor.value,
        .first = ldexp(1, (int)first),
        .second = ldexp(1, (int)(second > 2 * least ? second : 2 * least)),
    };
    hm_parallel_for(ctx, (g->length + CHUNK - 1) / CHUNK, scale_chunk, &task);
}

hm_status hm_clip_gradients(hm_context *ctx, double maximum, const hm_doubles *gradient,
                            hm_value **out)
{
    hm_status st = hm_check_scalar_finite(ctx, "maximum", maximum);
    if (st != HMATH_OK)
        return st;
    if (!(maximum > 0))
        return hm_fail_domain(ctx, "maximum", HM_SCALAR, maximum, "> 0");
    if ((st = hm_check_vector(ctx, "gradient", gradient)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, "gradient", gradient)) != HMATH_OK)
        return st;

    hm_wide length = norm(ctx, gradient), bound = hm_wide_of(maximum);
    if (!hm_wide_less(bound, length)) { /* immutable, so the same gradient serves */
        *out = hm_retain(gradient->source);
        return HMATH_OK;
    }
    double *data;
    if ((st = hm_result_like(ctx, gradient->source, gradient->length, out, &data)) != HMATH_OK)
        return st;
    scale(ctx, gradient, hm_wide_divide(bound, length), data);
    return HMATH_OK;
}
