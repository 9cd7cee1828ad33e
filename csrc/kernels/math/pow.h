/*
 * x^y = e^(y log x). The exponential magnifies an error of y log x by that number, up to 745, so
 * the logarithm is formed in two parts to 2^-65: with x = 2^k m, m in [sqrt(1/2), sqrt(2)), s =
 * (m-1)/(m+1) and z = s^2, log m = 2s (1 + z/2 (2/3 + z R(z))), products and sums in two parts
 * where they matter.
 */
#ifndef HM_POW_H
#define HM_POW_H

#include "kernels/math/exp.h"
#include "kernels/math/log.h"

/* (a.high + a.low)(b.high + b.low) without the product of the low parts */
MATH_INLINE vec_sum vec_pair_product(vec_sum a, vec_sum b)
{
    const vec_sum p = vec_exact_product(a.high, b.high);
    return (vec_sum){p.high, p.low + vec_fma(a.high, b.low, a.low * b.high)};
}

/* k ln 2 + log m in two parts, relative error about 2^-64; |k| at most 1100 */
MATH_INLINE vec_sum vec_log_pair(vec m, vec k)
{
    const vec f = m - 1.0;
    const vec_sum d = vec_quick_sum(vec_of(2.0), f);
    const vec y = 1.0 / d.high, s_high = f * y;
    const vec s_low = vec_fma(-s_high, d.low, vec_fma(-s_high, d.high, f)) * y;
    const vec_sum s = vec_quick_sum(s_high, s_low);

    const vec_sum z = vec_pair_product(s, s);
    const vec_sum t =
        vec_quick_sum(vec_of(two_thirds_parts[0]), vec_fma(z.high, vec_polynomial(z.high, pow_r, 7),
                                                           vec_of(two_thirds_parts[1])));
    const vec_sum series = vec_pair_product(vec_pair_product(s, z), t); /* log m - 2s */

    const vec_sum k_ln2 = vec_quick_sum(k * ln2_three[0], k * ln2_three[1]);
    const vec_sum a = vec_exact_sum(k_ln2.high, s.high + s.high);
    const vec_sum b = vec_quick_sum(a.high, series.high);
    const vec low = vec_fma(k, vec_of(ln2_three[2]), k_ln2.low) +
                    (a.low + b.low + (s.low + s.low + series.low));
    return vec_quick_sum(b.high, low);
}

/* y log x, from x = 2^k m */
MATH_INLINE vec_sum vec_pow_exponent(vec m, vec k, vec y)
{
    const vec_sum l = vec_log_pair(m, k);
    const vec_sum e = vec_exact_product(l.high, y);
    return (vec_sum){e.high, vec_fma(l.low, y, e.low)};
}

/* x positive, normal and finite, the result too, and no NaN or infinity in y */
MATH_INLINE vec_mask vec_pow_ordinary(vec x, vec_sum exponent)
{
    return vec_mask_and(vec_log_ordinary(x), vec_less_equal(vec_abs(exponent.high), vec_of(700.0)));
}

/* Error at most 1 ulp. */
MATH_INLINE vec vec_pow_fast(vec_sum exponent)
{
    return vec_exp_joined(vec_exp_split(exponent.high, exponent.low));
}

/* |x|^y for finite y and finite x other than 0 */
MATH_INLINE vec vec_pow_magnitude(vec x, vec y)
{
    const vec size = vec_abs(x);
    const vec_mask subnormal = vec_less(size, vec_of(0x1p-1022));
    const vec_log_scaled p = vec_log_split(vec_select(subnormal, size * 0x1p54, size));
    const vec k = vec_log_unbiased(p.biased) - vec_keep(subnormal, vec_of(54.0));
    const vec_sum exponent = vec_pow_exponent(p.m, k, y);
    const vec clamped = vec_min(vec_max(exponent.high, vec_of(-760.0)), vec_of(720.0));
    const vec_mask inside = vec_equal(clamped, exponent.high);
    const vec_exp_parts e = vec_exp_split(clamped, vec_keep(inside, exponent.low));
    return vec_scale(vec_exp_mantissa(e).high, vec_exp_exponent(e));
}

/* The special cases of C's pow (ISO C11, F.10.4.4); `magnitude` is right where neither has one. */
static inline double pow_special(double x, double y, double magnitude)
{
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (x != x || y != y)
        return x + y;
    const double size = __builtin_fabs(x), y_size = __builtin_fabs(y);
    const bool large = y_size >= 0x1p53; /* then y is an even integer, or infinite */
    const bool whole = large || (double)(int64_t)y == y;
    const bool odd = !large && whole && ((int64_t)y & 1);
    if (y_size > 0x1.fffffffffffffp+1023) {
        if (size == 1.0)
            return 1.0;
        return (size > 1.0) == (y > 0.0) ? __builtin_inf() : 0.0;
    }
    if (size == 0.0 || size > 0x1.fffffffffffffp+1023)
        magnitude = (size == 0.0) == (y > 0.0) ? 0.0 : __builtin_inf();
    else if (x < 0.0 && !whole)
        return __builtin_nan("");
    return odd ? __builtin_copysign(magnitude, x) : magnitude;
}

HM_RARE vec vec_pow_rare(vec x, vec y)
{
    double base[VEC_WIDTH], exponent[VEC_WIDTH], result[VEC_WIDTH];
    const vec_mask proper = vec_mask_and(vec_mask_and(vec_is_finite(x), vec_is_finite(y)),
                                         vec_not_equal(x, vec_of(0.0)));
    vec_store(base, x);
    vec_store(exponent, y);
    vec_store(result, vec_pow_magnitude(vec_select(proper, x, vec_of(1.0)), vec_keep(proper, y)));
    for (int i = 0; i < VEC_WIDTH; i++)
        result[i] = pow_special(base[i], exponent[i], result[i]);
    return vec_load(result);
}

MATH_INLINE vec vec_pow(vec x, vec y)
{
    const vec_log_scaled p = vec_log_split(x);
    const vec_sum exponent = vec_pow_exponent(p.m, vec_log_unbiased(p.biased), y);
    return HM_LIKELY(vec_mask_all(vec_pow_ordinary(x, exponent))) ? vec_pow_fast(exponent)
                                                                  : vec_pow_rare(x, y);
}

#endif
