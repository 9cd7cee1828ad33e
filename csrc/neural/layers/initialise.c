/*
 * The six initialisers. Fans are explicit: no shape convention is guessed. In element order:
 *
 *   XavierUniform    U(-a, a), a = sqrt(6 / (fan_in + fan_out))     one uniform each
 *   XavierNormal     N(0, s), s = sqrt(2 / (fan_in + fan_out))      one normal each
 *   KaimingUniform   U(-a, a), a = sqrt(6 / fan_in)                 one uniform each
 *   KaimingNormal    N(0, s), s = sqrt(2 / fan_in)                  one normal each
 *   Orthogonal       scale times a matrix with orthonormal columns, or rows where there are fewer
 * rows; Haar; one normal each for a max x min matrix, row-major TruncatedNormal  mean +
 * standard_deviation z, |z| <= bound      see random/truncated.c
 *
 * X. Glorot, Y. Bengio, AISTATS 2010; K. He, X. Zhang, S. Ren, J. Sun, ICCV 2015; A. M. Saxe,
 * J. L. McClelland, S. Ganguli, ICLR 2014.
 */
#include "neural/layers/initialise.h"

#include <math.h>

#include "neural/layers/orthogonal.h"
#include "random/distributions.h"

/* ------------------------------------------------- checks */

static hm_status check_nonnegative(hm_context *ctx, const char *argument, double x)
{
    hm_status st = hm_check_scalar_finite(ctx, argument, x);
    if (st == HMATH_OK && !(x >= 0.0))
        st = hm_fail_domain(ctx, argument, HM_SCALAR, x, ">= 0");
    return st;
}

static hm_status check_positive(hm_context *ctx, const char *argument, double x)
{
    hm_status st = hm_check_scalar_finite(ctx, argument, x);
    if (st == HMATH_OK && !(x > 0.0))
        st = hm_fail_domain(ctx, argument, HM_SCALAR, x, "> 0");
    return st;
}

static hm_status check_method(hm_context *ctx, const hm_initializer *method)
{
    hm_status st = HMATH_OK;
    if (method->method == HM_ORTHOGONAL)
        return hm_check_scalar_finite(ctx, "method.scale", method->scale);
    if (method->method == HM_TRUNCATED_NORMAL &&
        (st = hm_check_scalar_finite(ctx, "method.mean", method->mean)) == HMATH_OK &&
        (st = check_nonnegative(ctx, "method.standard_deviation", method->standard_deviation)) ==
            HMATH_OK)
        st = check_positive(ctx, "method.bound", method->bound);
    return st;
}

static hm_status check_fan(hm_context *ctx, const char *argument, int64_t fan)
{
    return fan > 0 ? HMATH_OK : hm_fail_domain_int(ctx, argument, HM_SCALAR, fan, "> 0");
}

/* An orthogonal matrix has at least one row and one column; other weights may be empty. */
static hm_status check_shape(hm_context *ctx, const hm_initializer *method, const hm_ints *shape,
                             hm_shape *out)
{
    const bool orthogonal = method->method == HM_ORTHOGONAL;
    for (int64_t i = 0; orthogonal && i < shape->length; i++)
        if (shape->data[i] < 1)
            return hm_fail_domain_int(ctx, "shape", i, shape->data[i], "> 0");
    hm_status st = hm_shape_from_extents(ctx, "shape", shape->length, shape->data, out);
    if (st == HMATH_OK && orthogonal)
        st = hm_check_rank(ctx, "shape", out, 2);
    return st;
}

/* ------------------------------------------------- distributions */

/* a (2u - 1): 2u - 1 is exact, so that one rounding is left. */
static void to_interval(void *user, double *part, int64_t first, int64_t count)
{
    const double a = *(const double *)user;
    (void)first;
    for (int64_t i = 0; i < count; i++)
        part[i] = a * (2.0 * part[i] - 1.0);
}

static void draw_uniform(const hm_context *ctx, hm_stream *s, double a, hm_tensor *out)
{
    hm_draw_uniforms_for(ctx, s, out->data, out->size, to_interval, &a);
}

static void draw_normal(const hm_context *ctx, hm_stream *s, double deviation, hm_tensor *out)
{
    hm_draw_normals(ctx, s, out->data, out->size);
    for (int64_t i = 0; i < out->size; i++)
        out->data[i] *= deviation;
}

static hm_status draw_truncated(hm_context *ctx, hm_stream *s, const hm_initializer *method,
                                hm_tensor *out)
{
    int spoiled = 0;
    hm_draw_truncated_normals(ctx, s, method->bound, out->data, out->size);
    for (int64_t i = 0; i < out->size; i++) {
        out->data[i] = method->mean + method->standard_deviation * out->data[i];
        spoiled |= !isfinite(out->data[i]);
    }
    return spoiled ? hm_fail_overflow(ctx) : HMATH_OK;
}

/* (rows x columns), row-major, into (columns x rows); `factor` on the way. */
static int transpose(const double *from, int64_t rows, int64_t columns, double factor, double *to)
{
    enum { TILE = 16 };
    int spoiled = 0;
    for (int64_t top = 0; top < rows; top += TILE)
        for (int64_t left = 0; left < columns; left += TILE)
            for (int64_t i = top; i < rows && i < top + TILE; i++)
                for (int64_t j = left; j < columns && j < left + TILE; j++) {
                    const double x = factor * from[i * columns + j];
                    to[j * rows + i] = x;
                    spoiled |= !isfinite(x);
                }
    return spoiled;
}

static int multiply(const double *from, int64_t n, double factor, double *to)
{
    int spoiled = 0;
    for (int64_t i = 0; i < n; i++) {
        to[i] = factor * from[i];
        spoiled |= !isfinite(to[i]);
    }
    return spoiled;
}

static hm_status draw_orthogonal(hm_context *ctx, hm_stream *s, double scale, hm_tensor *out)
{
    const int64_t rows = out->shape.extent[0], columns = out->shape.extent[1];
    const int64_t longer = rows > columns ? rows : columns, shorter = rows + columns - longer;
    double *q = NULL; /* (shorter, longer): the matrix column by column */
    hm_status st = hm_scratch_create(ctx, (size_t)out->size, sizeof *q, &q);
    if (st != HMATH_OK)
        return st;
    hm_draw_normals(ctx, s, out->data, out->size);
    transpose(out->data, longer, shorter, 1.0, q);
    if ((st = hm_orthonormalise(ctx, q, longer, shorter)) == HMATH_OK) {
        const int spoiled = rows >= columns ? transpose(q, shorter, longer, scale, out->data)
                                            : multiply(q, out->size, scale, out->data);
        st = spoiled ? hm_fail_overflow(ctx) : HMATH_OK;
    }
    hm_scratch_release(ctx, q);
    return st;
}

static hm_status draw(hm_context *ctx, hm_stream *s, const hm_initializer *method, int64_t fan_in,
                      int64_t fan_out, hm_tensor *out)
{
    const double in = (double)fan_in, both = (double)fan_in + (double)fan_out;
    switch (method->method) {
    case HM_XAVIER_UNIFORM: draw_uniform(ctx, s, sqrt(6.0 / both), out); break;
    case HM_XAVIER_NORMAL: draw_normal(ctx, s, sqrt(2.0 / both), out); break;
    case HM_KAIMING_UNIFORM: draw_uniform(ctx, s, sqrt(6.0 / in), out); break;
    case HM_KAIMING_NORMAL: draw_normal(ctx, s, sqrt(2.0 / in), out); break;
    case HM_ORTHOGONAL: return draw_orthogonal(ctx, s, method->scale, out);
    case HM_TRUNCATED_NORMAL: return draw_truncated(ctx, s, method, out);
    }
    return HMATH_OK;
}

/* ------------------------------------------------- */

hm_status hm_initialize_weights(hm_context *ctx, const hm_initializer *method, int64_t fan_in,
                                int64_t fan_out, const hm_ints *shape, const hm_rng *rng,
                                hm_initialised *out)
{
    hm_status st;
    hm_shape extents;
    if ((st = check_method(ctx, method)) != HMATH_OK ||
        (st = check_fan(ctx, "fan_in", fan_in)) != HMATH_OK ||
        (st = check_fan(ctx, "fan_out", fan_out)) != HMATH_OK ||
        (st = check_shape(ctx, method, shape, &extents)) != HMATH_OK)
        return st;

    hm_tensor *weights = NULL;
    hm_rng *next = NULL;
    hm_stream s;
    hm_stream_copy(&s, &rng->stream);
    if ((st = hm_tensor_create(ctx, &extents, &weights)) != HMATH_OK ||
        (st = draw(ctx, &s, method, fan_in, fan_out, weights)) != HMATH_OK ||
        (st = hm_rng_create(ctx, &s, &next)) != HMATH_OK)
        goto done;
    atomic_store_explicit(&weights->known_finite, true, memory_order_relaxed);
    *out = (hm_initialised){weights, next};
    weights = NULL;
done:
    hm_release(weights);
    return st;
}
