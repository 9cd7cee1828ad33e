/*
 * Activations made of a few roundings: the rectifiers, softsign, and the two hard ones. Their
 * slopes are constants between kinks; a kink has the slope of its left side, but for HardSwish's
 * at 3, which has 1.
 */
#ifndef HM_PIECEWISE_H
#define HM_PIECEWISE_H

#include "kernels/vec/vec.h"

#define ONE_SIXTH (1.0 / 6.0)

MATH_INLINE vec vec_nan_stays(vec x, vec result) { return vec_select(vec_is_nan(x), x, result); }

MATH_INLINE vec vec_relu(vec x)
{
    return vec_max(vec_of(0.0), x) + 0.0; /* NaN passes; -0 becomes 0 */
}

MATH_INLINE vec vec_relu_slope(vec x)
{
    return vec_nan_stays(x, vec_truth(vec_greater(x, vec_of(0.0))));
}

MATH_INLINE vec vec_leaky_relu(vec x, vec slope)
{
    return vec_select(vec_greater(x, vec_of(0.0)), x, slope * x);
}

MATH_INLINE vec vec_leaky_relu_slope(vec x, vec slope)
{
    return vec_nan_stays(x, vec_select(vec_greater(x, vec_of(0.0)), vec_of(1.0), slope));
}

MATH_INLINE vec vec_softsign(vec x) { return x / (1.0 + vec_abs(x)); }

/* The square of the quotient: 1 + |x| squared would overflow. */
MATH_INLINE vec vec_softsign_slope(vec x)
{
    const vec y = 1.0 / (1.0 + vec_abs(x));
    return y * y;
}

/* (x + 3)/6 between 0 and 1. x + 3 is exact around its root; 6 times the rounded 1/6 gives 1. */
MATH_INLINE vec vec_hard_sigmoid(vec x)
{
    return vec_min(vec_of(1.0), vec_max(vec_of(0.0), (x + 3.0) * ONE_SIXTH));
}

MATH_INLINE vec vec_hard_sigmoid_slope(vec x)
{
    return vec_nan_stays(x, vec_keep(vec_less(vec_abs(x), vec_of(3.0)), vec_of(ONE_SIXTH)));
}

MATH_INLINE vec vec_hard_swish(vec x)
{
    return x * vec_hard_sigmoid(x) + 0.0; /* 0, not -0, below -3 */
}

/* x/3 + 1/2 as (2x + 3)/6, exact around its root. */
MATH_INLINE vec vec_hard_swish_slope(vec x)
{
    const vec inside = vec_fma(x, vec_of(2.0), vec_of(3.0)) * ONE_SIXTH;
    const vec outside = vec_truth(vec_greater(x, vec_of(0.0)));
    return vec_nan_stays(x, vec_select(vec_less(vec_abs(x), vec_of(3.0)), inside, outside));
}

#endif
