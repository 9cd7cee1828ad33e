/*
 * The logistic function and what is made of one exponential and one division: tanh, x sigma(x),
 * Mish, softplus, and the derivatives of them all.
 *
 * Where the exponential alone would be subnormal or vanish, its mantissa m and exponent n stay
 * apart until the whole product has been formed: f(x) = 2^n times something of ordinary size.
 */
#ifndef HM_LOGISTIC_H
#define HM_LOGISTIC_H

#include "kernels/math/exp.h"

/* e^x to 1 ulp, where the error budget allows: r takes one more rounding. |x| <= 708 */
MATH_INLINE vec vec_exp_plain(vec x)
{
    const vec shifted = vec_fma(x, vec_of(EXP_LOG2_E), vec_of(0x1.8p52));
    const vec n = shifted - 0x1.8p52;
    const vec r = vec_fma(n, vec_of(-ln2_parts[1]), vec_fma(n, vec_of(-ln2_parts[0]), x));
    const vec mantissa = 1.0 + vec_fma(r * r, vec_polynomial(r, exp_q, 10), r);
    return vec_from_bits(vec_bits(mantissa) + (vec_bits(shifted) << 52));
}

/* factor * e^x for x between -1480 and 0, where e^x may be far below the smallest double */
MATH_INLINE vec vec_times_exp(vec factor, vec x)
{
    const vec_exp_parts e = vec_exp_split(x, vec_of(0.0));
    const vec_binary f = vec_take_apart(factor);
    vec_int n = vec_exp_exponent(e) + f.exponent;
    n = vec_int_select(vec_int_greater(n, vec_int_of(1200)), vec_int_of(1200), n);
    n = vec_int_select(vec_int_greater(n, vec_int_of(-1200)), n, vec_int_of(-1200));
    return vec_scale(f.mantissa * vec_exp_mantissa(e).high, n);
}

/* (1 + v)^2, where twice the rounding error of 1 + v would be too much */
MATH_INLINE vec vec_square_past_one(vec v) { return vec_fma(v, v + 2.0, vec_of(1.0)); }

/* ---- sigmoid: 1 / (1 + e^-x), error at most 0.8 ulp ---- */

/* |x| <= 600: the low part of e^-x times 2^n stays normal */
MATH_INLINE vec_mask vec_sigmoid_ordinary(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(600.0));
}

/*
 * 1 + e^-x = (1 + p) + p reduced + p tail, p = 2^n, in two parts; what the division by the first
 * rounds away is put back by the residual. 1 + p is exact but for |n| > 52, and then what it loses,
 * or its uncertainty, is below 2^-54 of the sum.
 */
MATH_INLINE vec vec_sigmoid_fast(vec x)
{
    const vec_exp_parts e = vec_exp_split_opposite(x, vec_of(0.0));
    const vec power = vec_exp_power(e);
    const vec_sum base = vec_quick_sum(power, vec_of(1.0));
    const vec sum = vec_fma(power, e.reduced, base.high);
    const vec rest = vec_fma(power, e.reduced, base.high - sum) + base.low;
    const vec_sum d = vec_quick_sum(sum, vec_fma(power, e.tail, rest));
    const vec y = 1.0 / d.high;
    const vec residual = vec_fnma(y, d.low, vec_fnma(y, d.high, vec_of(1.0)));
    return vec_fma(residual, y, y);
}

/* e^x below -600, where the denominator is 1 */
HM_RARE vec vec_sigmoid_rare(vec x)
{
    const vec inside = vec_min(vec_max(x, vec_of(-600.0)), vec_of(600.0));
    const vec result =
        vec_select(vec_less(x, vec_of(-600.0)), vec_exp_rare(x), vec_sigmoid_fast(inside));
    return vec_select(vec_is_nan(x), x, result);
}

MATH_INLINE vec vec_sigmoid(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_sigmoid_ordinary(x))) ? vec_sigmoid_fast(x)
                                                            : vec_sigmoid_rare(x);
}

/* ---- tanh: with m = 1 - e^(-2|x|), m / (2 - m), error at most 1 ulp ---- */

/* From 20 on 1; up to here no product underflows. */
MATH_INLINE vec_mask vec_tanh_ordinary(vec x) { return vec_less_equal(vec_abs(x), vec_of(300.0)); }

MATH_INLINE vec vec_tanh_fast(vec x)
{
    const vec_sum m = vec_one_less_exp(-2.0 * vec_abs(x));
    const vec d = 2.0 - m.high, d_low = (2.0 - d) - m.high;
    const vec y = 1.0 / d, quotient = m.high * y;
    const vec residual = vec_fnma(quotient, d_low - m.low, vec_fnma(quotient, d, m.high)) + m.low;
    return vec_copy_sign(vec_fma(residual, y, quotient), x);
}

HM_RARE vec vec_tanh_rare(vec x)
{
    const vec size = vec_min(vec_abs(x), vec_of(20.0));
    return vec_select(vec_is_nan(x), x, vec_tanh_fast(vec_copy_sign(size, x)));
}

MATH_INLINE vec vec_tanh(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_tanh_ordinary(x))) ? vec_tanh_fast(x) : vec_tanh_rare(x);
}

/* ---- SiLU: x / (1 + e^-x) ---- */

MATH_INLINE vec_mask vec_silu_ordinary(vec x) { return vec_less_equal(vec_abs(x), vec_of(700.0)); }

MATH_INLINE vec vec_silu_fast(vec x) { return x / (1.0 + vec_exp_plain(-x)); }

/* Above 700 it is x, below -700 x e^x. */
HM_RARE vec vec_silu_rare(vec x)
{
    const vec far = vec_max(x, vec_of(-800.0));
    const vec below = vec_times_exp(far, far);
    const vec middle = vec_silu_fast(vec_min(vec_max(x, vec_of(-700.0)), vec_of(700.0)));
    vec result = vec_select(vec_silu_ordinary(x), middle, x);
    result = vec_select(vec_less(x, vec_of(-700.0)), below, result);
    return vec_select(vec_is_finite(x), result,
                      vec_select(vec_less(x, vec_of(0.0)), vec_of(-0.0), x));
}

/*
 * SiLU' = sigma(x) (1 + x (1 - sigma(x))). With e = e^-|x|: for x >= 0 (1 + e + x e) / (1 + e)^2,
 * below e (1 + x + e) / (1 + e)^2, where 1 + x is exact around the root at -1.278.
 */
MATH_INLINE vec_mask vec_silu_slope_ordinary(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(700.0));
}

MATH_INLINE vec vec_silu_slope_fast(vec x)
{
    const vec e = vec_exp_fast(-vec_abs(x));
    const vec_sum past_one = vec_quick_sum(x, vec_of(1.0)); /* exact where it matters, |x| >= 1 */
    const vec below = e * (past_one.high + (past_one.low + e));
    const vec above = vec_fma(x, e, 1.0 + e);
    return vec_select(vec_less(x, vec_of(0.0)), below, above) / vec_square_past_one(e);
}

HM_RARE vec vec_silu_slope_rare(vec x)
{
    const vec inside = vec_min(vec_max(x, vec_of(-700.0)), vec_of(700.0));
    const vec far = vec_max(x, vec_of(-800.0));
    vec result = vec_select(vec_silu_slope_ordinary(x), vec_silu_slope_fast(inside), vec_of(1.0));
    result = vec_select(vec_less(x, vec_of(-700.0)), vec_times_exp(1.0 + far, far), result);
    return vec_select(vec_is_nan(x), x, result);
}

/* ---- Mish: with w = e^x and t = w^2 + 2w, tanh(softplus x) = t / (t + 2) ---- */

MATH_INLINE vec_mask vec_mish_ordinary(vec x) { return vec_less_equal(vec_abs(x), vec_of(700.0)); }

MATH_INLINE vec vec_mish_fast(vec x)
{
    const vec w = vec_exp_plain(vec_min(x, vec_of(40.0))); /* from 20 on the quotient is 1 */
    const vec t = vec_fma(w, w, w + w);
    return x * t / (t + 2.0);
}

HM_RARE vec vec_mish_rare(vec x)
{
    const vec far = vec_max(x, vec_of(-800.0));
    const vec below = vec_times_exp(far, far);
    const vec middle = vec_mish_fast(vec_min(vec_max(x, vec_of(-700.0)), vec_of(700.0)));
    vec result = vec_select(vec_mish_ordinary(x), middle, x);
    result = vec_select(vec_less(x, vec_of(-700.0)), below, result);
    return vec_select(vec_is_finite(x), result,
                      vec_select(vec_less(x, vec_of(0.0)), vec_of(-0.0), x));
}

/*
 * Mish' = (t (t + 2) + 4x (w^2 + w)) / (t + 2)^2. With e = e^-|x| that is, below zero,
 *
 *     e (1 + x + e (x + 3/2 + e (1 + e/4))) / (1 + v)^2,    v = e + e^2/2,
 *
 * where 1 + x is exact around the root at -1.192, and above it, all multiplied by e^(-4x),
 *
 *     ((1 + 2e)(1 + v) + 4x e^2 (1 + e)) / (1 + v)^2,       v = 2e + 2e^2.
 *
 * The denominator is formed in two parts, since its rounding errors would count twice.
 */
MATH_INLINE vec_mask vec_mish_slope_ordinary(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(700.0));
}

MATH_INLINE vec vec_mish_slope_fast(vec x)
{
    const vec e = vec_exp_fast(-vec_abs(x)), ee = e * e, twice = e + e;
    const vec_mask negative = vec_less(x, vec_of(0.0));
    const vec bent = vec_select(negative, 0.5 * e, twice),
              straight = vec_select(negative, e, twice);
    const vec v = vec_fma(bent, e, straight), v_low = vec_fma(bent, e, straight - v);

    const vec_sum past_one = vec_quick_sum(x, vec_of(1.0));
    const vec inner = vec_fma(e, vec_fma(e, vec_of(0.25), vec_of(1.0)), x + 1.5);
    const vec below = e * (past_one.high + vec_fma(e, inner, past_one.low));
    const vec above = vec_fma(1.0 + twice, 1.0 + v, 4.0 * x * (ee * (1.0 + e)));
    const vec top = vec_select(negative, below, above);

    const vec factor = v + 2.0, factor_low = v - (factor - 2.0);
    const vec d = vec_fma(v, factor, vec_of(1.0));
    const vec d_error = vec_fma(v, factor_low, vec_fma(v, factor, 1.0 - d));
    const vec d_low = vec_fma(v_low, factor + v, d_error);
    const vec y = 1.0 / d, quotient = top * y;
    const vec residual = vec_fma(-quotient, d_low, vec_fma(-quotient, d, top));
    return vec_fma(residual, y, quotient);
}

HM_RARE vec vec_mish_slope_rare(vec x)
{
    const vec inside = vec_min(vec_max(x, vec_of(-700.0)), vec_of(700.0));
    const vec far = vec_max(x, vec_of(-800.0));
    vec result = vec_select(vec_mish_slope_ordinary(x), vec_mish_slope_fast(inside), vec_of(1.0));
    result = vec_select(vec_less(x, vec_of(-700.0)), vec_times_exp(1.0 + far, far), result);
    return vec_select(vec_is_nan(x), x, result);
}

/* ---- sigmoid' = e / (1 + e)^2, e = e^-|x|, never s (1 - s); tanh' likewise of 2x, times 4 ---- */

MATH_INLINE vec vec_bell(vec e) { return e / vec_square_past_one(e); }

MATH_INLINE vec_mask vec_sigmoid_slope_ordinary(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(700.0));
}

MATH_INLINE vec vec_sigmoid_slope_fast(vec x) { return vec_bell(vec_exp_fast(-vec_abs(x))); }

HM_RARE vec vec_sigmoid_slope_rare(vec x)
{
    const vec near = vec_sigmoid_slope_fast(vec_min(vec_abs(x), vec_of(700.0)));
    return vec_select(vec_sigmoid_slope_ordinary(x), near, vec_exp_rare(-vec_abs(x)));
}

MATH_INLINE vec_mask vec_tanh_slope_ordinary(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(350.0));
}

MATH_INLINE vec vec_tanh_slope_fast(vec x)
{
    return 4.0 * vec_bell(vec_exp_fast(-2.0 * vec_abs(x)));
}

HM_RARE vec vec_tanh_slope_rare(vec x)
{
    const vec near = vec_tanh_slope_fast(vec_min(vec_abs(x), vec_of(350.0)));
    const vec far = vec_times_exp(vec_of(4.0), -2.0 * vec_min(vec_abs(x), vec_of(400.0)));
    return vec_select(vec_is_nan(x), x, vec_select(vec_tanh_slope_ordinary(x), near, far));
}

/* ---- softplus: max(x, 0) + log(1 + e), e = e^-|x|; log(1 + e) = 2 atanh(e / (2 + e)) ---- */

MATH_INLINE vec_mask vec_softplus_ordinary(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(700.0));
}

MATH_INLINE vec vec_softplus_fast(vec x)
{
    const vec e = vec_exp_plain(-vec_abs(x));
    const vec s = e / (2.0 + e), z = s * s;
    const vec log_term = vec_fma(s * z, vec_polynomial(z, softplus_r, 10), s + s);
    return vec_max(x, vec_of(0.0)) + log_term;
}

HM_RARE vec vec_softplus_rare(vec x)
{
    const vec middle = vec_softplus_fast(vec_min(vec_max(x, vec_of(-700.0)), vec_of(700.0)));
    vec result = vec_select(vec_softplus_ordinary(x), middle, x);
    result = vec_select(vec_less(x, vec_of(-700.0)), vec_exp_rare(x), result);
    return vec_select(vec_is_nan(x), x, result);
}

#endif
