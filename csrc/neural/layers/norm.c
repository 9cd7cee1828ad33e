/*
 * Normalisation by groups of elements that lie side by side: trailing axes, spatial axes, groups of
 * channels. A finite group always has a finite result, so what comes out of the kernels tells
 * whether the input was finite.
 */
#include <assert.h>
#include <stdio.h>

#include "neural/layers/check.h"
#include "neural/layers/layers.h"
#include "runtime/context.h"
#include "tensor/normalize.h"

typedef bool row_norm(const hm_context *ctx, const double *x, int64_t rows, int64_t n,
                      double epsilon, double *out);

static hm_status check_least_rank(hm_context *ctx, const hm_tensor *input, int32_t least)
{
    if (input->shape.rank >= least)
        return HMATH_OK;
    char expected[32], actual[32];
    snprintf(expected, sizeof expected, "rank %d or more", least);
    snprintf(actual, sizeof actual, "rank %d", input->shape.rank);
    return hm_fail_shape(ctx, "input", expected, actual);
}

/* `rows` groups of n elements each make up the input. */
static hm_status normalize(hm_context *ctx, row_norm *norm, int64_t rows, int64_t n, double epsilon,
                           const hm_tensor *input, hm_tensor **out)
{
    if (rows > 0 && n == 0)
        return hm_fail_empty(ctx, "input");
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_like(ctx, input, &result);
    if (st != HMATH_OK)
        return st;
    if (result->size && !norm(ctx, input->data, rows, n, epsilon, result->data)) {
        hm_release(result);
        st = hm_check_tensor_finite(ctx, "input", input);
        return st != HMATH_OK ? st : hm_fail_overflow(ctx);
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}

static hm_status trailing_axes(hm_context *ctx, row_norm *norm, int64_t axes, double epsilon,
                               const hm_tensor *input, hm_tensor **out)
{
    hm_status st;
    const int32_t rank = input->shape.rank;
    if ((st = hm_check_at_least_one(ctx, "axes", axes)) != HMATH_OK ||
        (st = hm_check_positive(ctx, "epsilon", epsilon)) != HMATH_OK)
        return st;
    if (axes > rank) {
        char expected[32], actual[32];
        snprintf(expected, sizeof expected, "at most %d", rank);
        snprintf(actual, sizeof actual, "%lld", (long long)axes);
        return hm_fail_shape(ctx, "axes", expected, actual);
    }
    const int32_t first = rank - (int32_t)axes;
    return normalize(ctx, norm, hm_shape_span(&input->shape, 0, first),
                     hm_shape_span(&input->shape, first, rank), epsilon, input, out);
}

hm_status hm_layer_norm(hm_context *ctx, int64_t axes, double epsilon, const hm_tensor *input,
                        hm_tensor **out)
{
    return trailing_axes(ctx, hm_layer_rows, axes, epsilon, input, out);
}

hm_status hm_rms_norm(hm_context *ctx, int64_t axes, double epsilon, const hm_tensor *input,
                      hm_tensor **out)
{
    return trailing_axes(ctx, hm_rms_rows, axes, epsilon, input, out);
}

hm_status hm_instance_norm(hm_context *ctx, double epsilon, const hm_tensor *input, hm_tensor **out)
{
    hm_status st;
    if ((st = hm_check_positive(ctx, "epsilon", epsilon)) != HMATH_OK ||
        (st = check_least_rank(ctx, input, 3)) != HMATH_OK)
        return st;
    return normalize(ctx, hm_layer_rows, hm_shape_span(&input->shape, 0, 2),
                     hm_shape_span(&input->shape, 2, input->shape.rank), epsilon, input, out);
}

hm_status hm_group_norm(hm_context *ctx, int64_t groups, double epsilon, const hm_tensor *input,
                        hm_tensor **out)
{
    hm_status st;
    if ((st = hm_check_at_least_one(ctx, "groups", groups)) != HMATH_OK ||
        (st = hm_check_positive(ctx, "epsilon", epsilon)) != HMATH_OK ||
        (st = check_least_rank(ctx, input, 2)) != HMATH_OK)
        return st;
    const int64_t batch = input->shape.extent[0], channels = input->shape.extent[1];
    if ((st = hm_check_divides(ctx, "groups", groups, channels, "channels")) != HMATH_OK)
        return st;
    if (channels == 0) /* however many groups: none has an element */
        return normalize(ctx, hm_layer_rows, batch, 0, epsilon, input, out);
    const int64_t spatial = hm_shape_span(&input->shape, 2, input->shape.rank);
    return normalize(ctx, hm_layer_rows, batch * groups, channels / groups * spatial, epsilon,
                     input, out);
}
