/*
 * Weight normalisation (Salimans and Kingma 2016): slice i along an axis keeps its direction v/|v|
 * and gets the magnitude scales[i].
 */
#include <math.h>
#include <string.h>

#include "neural/layers/check.h"
#include "neural/layers/layers.h"
#include "runtime/context.h"
#include "tensor/reduce.h"

/* The tensor as (outer, slices, inner). */
typedef struct slicing {
    int64_t outer, slices, inner;
} slicing;

/* Slice i in one piece, row-major: where it stands, or gathered in `room`. */
static const double *slice_of(const slicing *s, const double *x, int64_t i, double *room)
{
    if (s->outer == 1)
        return x + i * s->inner;
    for (int64_t o = 0; o < s->outer; o++)
        memcpy(room + o * s->inner, x + (o * s->slices + i) * s->inner,
               (size_t)s->inner * sizeof *room);
    return room;
}

/* scale/|v|, perhaps beyond a double's range, though no element of the result is. */
static hm_status slice_factors(hm_context *ctx, const slicing *s, const double *x,
                               const double *scales, double *room, hm_wide *factor)
{
    for (int64_t i = 0; i < s->slices; i++) {
        const double *slice = slice_of(s, x, i, room);
        const hm_wide squares =
            hm_sum_row_threads(ctx, HM_ROW_SQUARES, slice, NULL, s->outer * s->inner);
        if (squares.value == 0)
            return hm_fail_domain_because(ctx, "input", i * s->inner, slice[0],
                                          "opens a slice of zeros", "a slice with a direction");
        factor[i] = hm_wide_divide(hm_wide_of(scales[i]), hm_wide_root(squares));
    }
    return HMATH_OK;
}

/* No element is larger than its slice's magnitude, which may be the largest double: rounding stops there. */
static double within(double y, double scale)
{
    return fabs(y) > fabs(scale) ? copysign(scale, y) : y;
}

static void scale_run(const double *x, int64_t n, hm_wide factor, double scale, double *out)
{
    if (factor.exponent > -1000 && factor.exponent < 1000) {
        const double by = hm_wide_round(factor);
        for (int64_t j = 0; j < n; j++)
            out[j] = within(x[j] * by, scale);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        out[j] = within(hm_wide_round(hm_wide_multiply(hm_wide_of(x[j]), factor)), scale);
}

hm_status hm_weight_norm(hm_context *ctx, int64_t axis, const hm_doubles *scales,
                         const hm_tensor *input, hm_tensor **out)
{
    const hm_shape *shape = &input->shape;
    if (axis < 0 || axis >= shape->rank)
        return hm_fail_index(ctx, "axis", HM_SCALAR, axis, shape->rank);
    const slicing s = {.outer = hm_shape_span(shape, 0, (int32_t)axis),
                       .slices = shape->extent[axis],
                       .inner = hm_shape_span(shape, (int32_t)axis + 1, shape->rank)};
    hm_status st;
    if ((st = hm_check_vector(ctx, "scales", scales)) != HMATH_OK ||
        (st = hm_check_length(ctx, "scales", scales->length, s.slices)) != HMATH_OK)
        return st;
    if (s.slices > 0 && input->size == 0)
        return hm_fail_empty(ctx, "input");
    if ((st = hm_check_doubles_finite(ctx, "scales", scales)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK)
        return st;

    double *room = NULL;
    hm_wide *factor = NULL;
    hm_tensor *result = NULL;
    const int64_t gathered = s.outer == 1 ? 0 : s.outer * s.inner;
    if ((st = hm_scratch_create(ctx, (size_t)s.slices, sizeof *factor, &factor)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)gathered, sizeof *room, &room)) != HMATH_OK ||
        (st = slice_factors(ctx, &s, input->data, scales->data, room, factor)) != HMATH_OK ||
        (st = hm_tensor_like(ctx, input, &result)) != HMATH_OK)
        goto done;
    for (int64_t run = 0; run < s.outer * s.slices; run++)
        scale_run(input->data + run * s.inner, s.inner, factor[run % s.slices],
                  scales->data[run % s.slices], result->data + run * s.inner);
    *out = result;
done:
    hm_scratch_release(ctx, room);
    hm_scratch_release(ctx, factor);
    return st;
}
