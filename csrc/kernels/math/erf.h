/*
 * The error function and its complement.
 *
 * erf goes by 16 segments, each a polynomial around its centre whose constant has two parts. The
 * complement is erfc x = e^(-x^2) P(q) / (1 + 9x/8) for x >= 0, with P between 0.63 and 1 and
 * q = (x - 3)/(x + 3), one polynomial for the whole axis (after M. M. Shepherd and J. G.
 * Laframboise, Math. Comp. 36, 1981); x^2 is formed with its rounding error, which the exponential
 * takes as x_low.
 */
#ifndef HM_ERF_H
#define HM_ERF_H

#include "kernels/math/exp.h"

/* Coefficients first ... first + 3 of the lanes' segments. */
VEC_INLINE void vec_erf_coefficients(int first, vec_int segment, vec c[4])
{
#ifdef __AVX512F__
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        c[k] = vec_table16(erf_rows[first + k], segment);
#else
    vec_table_four(erf_columns, first, segment, c);
#endif
}

MATH_INLINE vec_mask vec_erf_ordinary(vec x) { return vec_is_finite(x); }

/* Error at most 0.7 ulp. */
MATH_INLINE vec vec_erf_fast(vec x)
{
    const vec size = vec_min(vec_of(6.0), vec_abs(x)); /* erf 6 rounds to 1; NaN passes */
    const vec shifted = vec_fma(size, vec_of(64.0 / 25.0), vec_of(0x1.8p52));
    const vec_int segment = vec_bits(shifted);
    const vec t = vec_fma(shifted - 0x1.8p52, vec_of(-25.0 / 64.0), size);
    vec c[4]; /* coefficients 12 to 14, then four less each time */
    vec_erf_coefficients(12, segment, c);
    vec bent = vec_fma(vec_fma(c[2], t, c[1]), t, c[0]);
#pragma GCC unroll 2
    for (int first = 8; first >= 4; first -= 4) {
        vec_erf_coefficients(first, segment, c);
        bent = vec_fma(vec_fma(bent, t, c[3]), t, c[2]);
        bent = vec_fma(vec_fma(bent, t, c[1]), t, c[0]);
    }
    vec_erf_coefficients(0, segment, c);
    bent = vec_fma(bent, t, c[3]);
    /* the first two terms without error: t may take half of the constant away */
    const vec_sum rise = vec_exact_product(t, c[2]);
    const vec_sum line = vec_quick_sum(c[0], rise.high);
    const vec low = line.low + (rise.low + c[1]);
    return vec_copy_sign(line.high + vec_fma(t * t, bent, low), x);
}

HM_RARE vec vec_erf_rare(vec x) { return vec_select(vec_is_nan(x), x, vec_erf_fast(x)); }

MATH_INLINE vec vec_erf(vec x) { return vec_erf_fast(x); }

/* e^(x^2) erfc(x) for x >= 0, as numerator / denominator of two parts each */
typedef struct vec_erfcx_ratio {
    vec_sum numerator, denominator;
} vec_erfcx_ratio;

MATH_INLINE vec_erfcx_ratio vec_erfcx(vec x)
{
    const vec q = (x - 3.0) / (x + 3.0);
    const vec p = vec_polynomial(q, erfcx_p, 23);
    const vec d = vec_fma(x, vec_of(1.125), vec_of(1.0));
    const vec d_low = vec_fma(x, vec_of(1.125), 1.0 - d); /* exact: 1 - d is */
    return (vec_erfcx_ratio){{vec_of(erfcx_constant[0]), vec_fma(p, q, vec_of(erfcx_constant[1]))},
                             {d, d_low}};
}

/* e^(x^2) erfc(x), x >= 0: value and what it lacks; relative error about 2^-54 */
MATH_INLINE vec_sum vec_erfcx_value(vec x)
{
    const vec_erfcx_ratio r = vec_erfcx(x);
    const vec y = 1.0 / r.denominator.high;
    const vec_sum top = vec_quick_sum(r.numerator.high, r.numerator.low);
    const vec value = top.high * y;
    const vec residual = vec_fnma(value, r.denominator.high, top.high);
    return (vec_sum){value, (vec_fnma(value, r.denominator.low, residual) + top.low) * y};
}

/* e^(-x^2) with mantissa and exponent apart; |x| <= 27.5 */
MATH_INLINE vec_exp_parts vec_exp_of_square(vec x)
{
    const vec_sum square = vec_exact_product(x, x);
    return vec_exp_split_opposite(square.high, square.low);
}

/* Below 26 erfc is normal; the negative side levels off at 2 from -6 on, and further out is rare enough. */
MATH_INLINE vec_mask vec_erfc_ordinary(vec x) { return vec_less(vec_abs(x), vec_of(26.0)); }

/* (mantissa of e^(-x^2)) * erfcx, before the power of two: value and low part */
MATH_INLINE vec_sum vec_erfc_mantissa(vec size, vec_exp_parts e)
{
    const vec_sum m = vec_exp_mantissa(e), c = vec_erfcx_value(size);
    const vec_sum product = vec_exact_product(m.high, c.high);
    return (vec_sum){product.high, product.low + vec_fma(m.high, c.low, m.low * c.high)};
}

/* Error at most 1 ulp. */
MATH_INLINE vec vec_erfc_fast(vec x)
{
    const vec size = vec_abs(x);
    const vec_exp_parts e = vec_exp_of_square(size);
    const vec_sum m = vec_erfc_mantissa(size, e);
    const vec power = vec_exp_power(e);
    const vec high = m.high * power, low = m.low * power;
    const vec two_less = 2.0 - high, two_rest = (2.0 - two_less) - high;
    return vec_select(vec_less(x, vec_of(0.0)), two_less + (two_rest - low), high + low);
}

/* From 27.3 on 0, in between the power of two comes last. */
HM_RARE vec vec_erfc_rare(vec x)
{
    const vec inside =
        vec_select(vec_less(x, vec_of(27.5)), vec_max(x, vec_of(-26.0)), vec_of(0.0));
    const vec_exp_parts e = vec_exp_of_square(vec_abs(inside));
    const vec_sum m = vec_erfc_mantissa(vec_abs(inside), e);
    const vec far = vec_scale(m.high + m.low, vec_exp_exponent(e));
    const vec near = vec_erfc_fast(vec_min(inside, vec_of(26.0)));
    vec result = vec_select(vec_less(x, vec_of(26.0)), near, far);
    result = vec_select(vec_less(x, vec_of(27.5)), result, vec_of(0.0));
    return vec_select(vec_is_nan(x), x, result);
}

MATH_INLINE vec vec_erfc(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_erfc_ordinary(x))) ? vec_erfc_fast(x) : vec_erfc_rare(x);
}

#endif
