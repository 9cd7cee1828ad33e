/*
 * GELU, x Phi(x), by the normal distribution's tail: for a >= 0
 *
 *     Phi(-a) = e^(-a^2/2) T(a),    T(a) = P(q) / (1 + 51a/64),    q = (a - 17/4)/(a + 17/4),
 *
 * T is e^(a^2/2) Phi(-a), about 0.4/a far out, P one polynomial for the whole axis; as for erfc.
 * Nothing cancels for x below zero, and the square is formed with its rounding error.
 */
#ifndef HM_GELU_H
#define HM_GELU_H

#include "kernels/math/exp.h"

/* P(q) without its constant's first part, and 1 + 51a/64 */
typedef struct vec_normal_parts {
    vec p, denominator;
} vec_normal_parts;

MATH_INLINE vec_normal_parts vec_normal_split(vec a)
{
    const vec q = (a - 4.25) / (a + 4.25);
    const vec p = vec_fma(vec_polynomial(q, normal_p, 22), q, vec_of(normal_constant[1]));
    return (vec_normal_parts){p, vec_fma(a, vec_of(0.796875), vec_of(1.0))};
}

/* T(a), to 1.7 ulp */
MATH_INLINE vec vec_normal_tail(vec a)
{
    const vec_normal_parts t = vec_normal_split(a);
    return (normal_constant[0] + t.p) / t.denominator;
}

/* e^(-a^2/2) */
MATH_INLINE vec_exp_parts vec_normal_density(vec a)
{
    const vec_sum s = vec_exact_product(a, -0.5 * a);
    return vec_exp_split(s.high, s.low);
}

/* |x| <= 36: e^(-x^2/2) is normal */
MATH_INLINE vec_mask vec_gelu_ordinary(vec x) { return vec_less_equal(vec_abs(x), vec_of(36.0)); }

/* x Phi(-a) below zero, above x - x Phi(-a), rounded once: with 1 - Phi(-a) rounded first, results
 * just below a power of two lost up to 4.4 ulp. (Below zero is written without a 0: Clang 14 makes "x < 0 ?
 * -0 : x" a maximum, which loses the sign of x = 0.) */
MATH_INLINE vec vec_gelu_fast(vec x)
{
    const vec a = vec_abs(x);
    const vec below = vec_exp_joined(vec_normal_density(a)) * vec_normal_tail(a);
    return vec_fma(-a, below, vec_select(vec_less_equal(x, vec_of(-0x1p-1074)), vec_of(-0.0), x));
}

/* -x where that lies in [0, 39], else 0: what the functions below zero can do something with */
MATH_INLINE vec vec_gelu_depth(vec x)
{
    const vec_mask deep = vec_mask_and(vec_less(x, vec_of(0.0)), vec_greater(x, vec_of(-39.0)));
    return vec_keep(deep, -x);
}

/* `near` where |x| <= 36; beyond, `far` above -39, -0 below it and `limit` on the other side */
MATH_INLINE vec vec_gelu_assembled(vec x, vec near, vec far, vec limit)
{
    vec result = vec_select(vec_less(x, vec_of(0.0)), far, limit);
    result = vec_select(vec_gelu_ordinary(x), near, result);
    result = vec_select(vec_less_equal(x, vec_of(-39.0)), vec_of(-0.0), result);
    return vec_select(vec_is_nan(x), x, result);
}

HM_RARE vec vec_gelu_rare(vec x)
{
    const vec a = vec_gelu_depth(x);
    const vec_exp_parts e = vec_normal_density(a);
    const vec product = -a * (vec_exp_mantissa(e).high * vec_normal_tail(a));
    const vec near = vec_gelu_fast(vec_max(vec_min(x, vec_of(36.0)), vec_of(-36.0)));
    return vec_gelu_assembled(x, near, vec_scale(product, vec_exp_exponent(e)), x);
}

/*
 * GELU' = Phi(x) + x phi(x). Below zero e^(-a^2/2) is taken out: T(a) - a/sqrt(2 pi), whose root at
 * a = 0.752 is the derivative's; above, it is 1 less the same, with nothing to cancel.
 */
MATH_INLINE vec_mask vec_gelu_slope_ordinary(vec x) { return vec_gelu_ordinary(x); }

/* With the low parts of all: half of it cancels for a between 1 and 1.5. */
MATH_INLINE vec vec_gelu_slope_factor(vec a)
{
    const vec_normal_parts t = vec_normal_split(a);
    const vec_sum top = vec_quick_sum(vec_of(normal_constant[0]), t.p);
    const vec d_low = vec_fma(a, vec_of(0.796875), 1.0 - t.denominator);
    const vec y = 1.0 / t.denominator, tail = top.high * y;
    const vec residual = vec_fma(-tail, d_low, vec_fma(-tail, t.denominator, top.high)) + top.low;
    const vec low = vec_fma(residual, y, a * -root_two_pi_inverse[1]);
    return vec_fma(a, vec_of(-root_two_pi_inverse[0]), tail) + low;
}

MATH_INLINE vec vec_gelu_slope_fast(vec x)
{
    const vec a = vec_abs(x);
    const vec below = vec_exp_joined(vec_normal_density(a)) * vec_gelu_slope_factor(a);
    return vec_select(vec_less(x, vec_of(0.0)), below, 1.0 - below);
}

HM_RARE vec vec_gelu_slope_rare(vec x)
{
    const vec a = vec_gelu_depth(x);
    const vec_exp_parts e = vec_normal_density(a);
    const vec product = vec_exp_mantissa(e).high * vec_gelu_slope_factor(a);
    const vec near = vec_gelu_slope_fast(vec_max(vec_min(x, vec_of(36.0)), vec_of(-36.0)));
    return vec_gelu_assembled(x, near, vec_scale(product, vec_exp_exponent(e)), vec_of(1.0));
}

#endif
