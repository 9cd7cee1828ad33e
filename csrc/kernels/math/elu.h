/* ELU and SELU: the identity, stretched, above zero; alpha (e^x - 1) below. */
#ifndef HM_ELU_H
#define HM_ELU_H

#include "kernels/math/logistic.h"

#define SELU_LAMBDA 1.0507009873554804934193349852946
#define SELU_LAMBDA_ALPHA 1.7580993408473768599402175208123

MATH_INLINE vec_mask vec_elu_ordinary(vec x) { return vec_expm1_ordinary(x); }

/* above zero: stretch * x; else alpha (e^x - 1) */
MATH_INLINE vec vec_elu_of(vec x, vec below, vec alpha, double stretch)
{
    return vec_select(vec_greater(x, vec_of(0.0)), stretch * x, alpha * below);
}

MATH_INLINE vec vec_elu_fast(vec x, vec alpha)
{
    return vec_elu_of(x, vec_expm1_fast(vec_min(vec_of(0.0), x)), alpha, 1.0);
}

HM_RARE vec vec_elu_rare(vec x, vec alpha) { return vec_elu_of(x, vec_expm1_rare(x), alpha, 1.0); }

MATH_INLINE vec_mask vec_elu_slope_ordinary(vec x) { return vec_exp_ordinary(x); }

MATH_INLINE vec vec_elu_slope_fast(vec x, vec alpha)
{
    return vec_select(vec_greater(x, vec_of(0.0)), vec_of(1.0),
                      alpha * vec_exp_plain(vec_min(vec_of(0.0), x)));
}

HM_RARE vec vec_elu_slope_rare(vec x, vec alpha)
{
    const vec below = vec_times_exp(alpha, vec_max(vec_min(vec_of(0.0), x), vec_of(-1480.0)));
    const vec near = vec_elu_slope_fast(vec_max(x, vec_of(-708.0)), alpha);
    const vec result = vec_select(vec_less(x, vec_of(-708.0)), below, near);
    return vec_select(vec_is_nan(x), x, result);
}

MATH_INLINE vec_mask vec_selu_ordinary(vec x) { return vec_expm1_ordinary(x); }

MATH_INLINE vec vec_selu_fast(vec x)
{
    return vec_elu_of(x, vec_expm1_fast(vec_min(vec_of(0.0), x)), vec_of(SELU_LAMBDA_ALPHA),
                      SELU_LAMBDA);
}

HM_RARE vec vec_selu_rare(vec x)
{
    return vec_elu_of(x, vec_expm1_rare(x), vec_of(SELU_LAMBDA_ALPHA), SELU_LAMBDA);
}

MATH_INLINE vec_mask vec_selu_slope_ordinary(vec x) { return vec_exp_ordinary(x); }

MATH_INLINE vec vec_selu_slope_of(vec x, vec slope_below)
{
    return vec_select(vec_greater(x, vec_of(0.0)), vec_of(SELU_LAMBDA), slope_below);
}

MATH_INLINE vec vec_selu_slope_fast(vec x)
{
    return vec_selu_slope_of(x, vec_elu_slope_fast(x, vec_of(SELU_LAMBDA_ALPHA)));
}

HM_RARE vec vec_selu_slope_rare(vec x)
{
    return vec_selu_slope_of(x, vec_elu_slope_rare(x, vec_of(SELU_LAMBDA_ALPHA)));
}

#endif
