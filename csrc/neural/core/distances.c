/*
 * Penalties on norms and distances. Sums of squares and their roots are wide numbers
 * (tensor/wide.h), so that only the result itself has to be a double.
 */
#include <math.h>

#include "neural/core/loss_domain.h"
#include "runtime/context.h"
#include "tensor/reduce.h"

static hm_status check_scalar(hm_context *ctx, const char *argument, double x, bool holds,
                              const char *requirement)
{
    const hm_status st = hm_check_scalar_finite(ctx, argument, x);
    return st != HMATH_OK || holds ? st : hm_fail_domain(ctx, argument, HM_SCALAR, x, requirement);
}

static hm_status publish(hm_context *ctx, hm_wide x, double *out)
{
    const double result = hm_wide_round(x);
    if (!isfinite(result))
        return hm_fail_overflow(ctx);
    *out = result;
    return HMATH_OK;
}

hm_status hm_regularization(hm_context *ctx, double l1, double l2, const hm_doubles *weights,
                            double *out)
{
    hm_status st;
    if ((st = check_scalar(ctx, "l1", l1, l1 >= 0, ">= 0")) != HMATH_OK ||
        (st = check_scalar(ctx, "l2", l2, l2 >= 0, ">= 0")) != HMATH_OK ||
        (st = hm_check_vector(ctx, "weights", weights)) != HMATH_OK ||
        (st = hm_check_finite(ctx, "weights", weights->data, weights->length)) != HMATH_OK)
        return st;
    hm_wide sum = {0, 0};
    if (l1 > 0)
        sum =
            hm_wide_multiply(hm_wide_of(l1), hm_sum_row_threads(ctx, HM_ROW_ABSOLUTE, weights->data,
                                                                NULL, weights->length));
    if (l2 > 0) {
        hm_wide squares =
            hm_wide_multiply(hm_wide_of(l2), hm_sum_row_threads(ctx, HM_ROW_SQUARES, weights->data,
                                                                NULL, weights->length));
        squares.exponent -= squares.value != 0;
        sum = hm_wide_add(sum, squares);
    }
    return publish(ctx, sum, out);
}

/* |x - y|^2; the lengths are equal and not 0. */
static hm_status squared_distance(hm_context *ctx, const char *x_name, const hm_doubles *x,
                                  const char *y_name, const hm_doubles *y, hm_wide *out)
{
    *out = hm_sum_row_threads(ctx, HM_ROW_DISTANCE, x->data, y->data, x->length);
    if (isfinite(out->value))
        return HMATH_OK;
    const hm_status st = hm_check_finite(ctx, x_name, x->data, x->length);
    return st != HMATH_OK ? st : hm_check_finite(ctx, y_name, y->data, y->length);
}

hm_status hm_contrastive_loss(hm_context *ctx, double margin, bool similar, const hm_doubles *left,
                              const hm_doubles *right, double *out)
{
    hm_wide squares;
    hm_status st;
    if ((st = check_scalar(ctx, "margin", margin, margin > 0, "> 0")) != HMATH_OK ||
        (st = hm_check_pair(ctx, "left", left, "right", right)) != HMATH_OK ||
        (st = hm_check_some(ctx, "left", left->length)) != HMATH_OK ||
        (st = squared_distance(ctx, "left", left, "right", right, &squares)) != HMATH_OK)
        return st;
    if (similar)
        return publish(ctx, squares, out);
    const hm_wide gap = hm_wide_subtract(hm_wide_of(margin), hm_wide_root(squares));
    return publish(ctx, gap.value > 0 ? hm_wide_multiply(gap, gap) : (hm_wide){0, 0}, out);
}

hm_status hm_triplet_loss(hm_context *ctx, double margin, const hm_doubles *anchor,
                          const hm_doubles *positive, const hm_doubles *negative, double *out)
{
    hm_wide near, far;
    hm_status st;
    if ((st = check_scalar(ctx, "margin", margin, margin >= 0, ">= 0")) != HMATH_OK ||
        (st = hm_check_vector(ctx, "anchor", anchor)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "positive", positive)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "negative", negative)) != HMATH_OK ||
        (st = hm_check_length(ctx, "positive", positive->length, anchor->length)) != HMATH_OK ||
        (st = hm_check_length(ctx, "negative", negative->length, anchor->length)) != HMATH_OK ||
        (st = hm_check_some(ctx, "anchor", anchor->length)) != HMATH_OK ||
        (st = squared_distance(ctx, "anchor", anchor, "positive", positive, &near)) != HMATH_OK ||
        (st = squared_distance(ctx, "anchor", anchor, "negative", negative, &far)) != HMATH_OK)
        return st;
    const hm_wide gap = hm_wide_subtract(hm_wide_root(near), hm_wide_root(far));
    const hm_wide sum = hm_wide_add(gap, hm_wide_of(margin));
    return publish(ctx, sum.value > 0 ? sum : (hm_wide){0, 0}, out);
}
