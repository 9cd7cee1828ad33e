/* The gated linear unit: value * sigma(gate), which SiLU is of one number twice. */
#ifndef HM_GATED_H
#define HM_GATED_H

#include "kernels/math/logistic.h"

MATH_INLINE vec_mask vec_gated_ordinary(vec gate)
{
    return vec_less_equal(vec_abs(gate), vec_of(700.0));
}

MATH_INLINE vec vec_gated_fast(vec value, vec gate) { return value / (1.0 + vec_exp_plain(-gate)); }

HM_RARE vec vec_gated_rare(vec value, vec gate)
{
    const vec closed = vec_times_exp(value, vec_max(vec_min(gate, vec_of(0.0)), vec_of(-1480.0)));
    const vec middle = vec_gated_fast(value, vec_max(vec_min(gate, vec_of(700.0)), vec_of(-700.0)));
    vec result = vec_select(vec_greater(gate, vec_of(700.0)), value, middle);
    result = vec_select(vec_less(gate, vec_of(-700.0)), closed, result);
    return vec_select(vec_is_finite(value), vec_select(vec_is_nan(gate), gate, result), value);
}

MATH_INLINE vec vec_gated(vec value, vec gate)
{
    return HM_LIKELY(vec_mask_all(vec_gated_ordinary(gate))) ? vec_gated_fast(value, gate)
                                                             : vec_gated_rare(value, gate);
}

#endif
