/*
 * log x and log(1 + x), by fdlibm's route (K. C. Ng, Sun, 1993): x = 2^k m with m in [sqrt(1/2), sqrt(2)),
 * f = m - 1, s = f/(2 + f), and
 *
 *     log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + s^2 R(s^2)).
 */
#ifndef HM_LOG_H
#define HM_LOG_H

#include "kernels/math/scale.h"

#define LOG_ROOT_HALF_BITS 0x3FE6A09E667F3BCD /* sqrt(1/2), rounded up */
#define LOG_ONE_BITS 0x3FF0000000000000

typedef struct vec_log_scaled {
    vec m;          /* in [sqrt(1/2), sqrt(2)) */
    vec_int biased; /* k + 1023 */
} vec_log_scaled;

/* x positive and normal */
MATH_INLINE vec_log_scaled vec_log_split(vec x)
{
    const vec_int moved = vec_bits(x) + vec_int_of(LOG_ONE_BITS - LOG_ROOT_HALF_BITS);
    const vec_int fraction = moved & vec_int_of(0x000FFFFFFFFFFFFF);
    return (vec_log_scaled){vec_from_bits(fraction + vec_int_of(LOG_ROOT_HALF_BITS)),
                            vec_shift_right_logical(moved, 52)};
}

/* A small integer as a double, less 1023: its bits are put below those of 2^52. */
MATH_INLINE vec vec_log_unbiased(vec_int biased)
{
    return vec_from_bits(biased | vec_int_of(0x4330000000000000)) - (0x1p52 + 1023.0);
}

/* k ln 2 + log(1 + f + f_low); k ln2_parts[0] is exact */
MATH_INLINE vec vec_log_sum(vec k, vec f, vec f_low)
{
    const vec s = f / (2.0 + f), z = s * s, half = 0.5 * f;
    const vec r = z * vec_polynomial(z, log_r, 7);
    const vec small = vec_fma(k, vec_of(ln2_parts[1]), f_low);
    const vec bent = vec_fma(-half, f, vec_fma(s, vec_fma(half, f, r), small));
    return vec_fma(k, vec_of(ln2_parts[0]), f + bent);
}

/* positive, normal, finite */
MATH_INLINE vec_mask vec_log_ordinary(vec x)
{
    return vec_mask_and(vec_greater_equal(x, vec_of(0x1p-1022)),
                        vec_less_equal(x, vec_of(0x1.fffffffffffffp+1023)));
}

MATH_INLINE vec vec_log_fast(vec x)
{
    const vec_log_scaled p = vec_log_split(x);
    return vec_log_sum(vec_log_unbiased(p.biased), p.m - 1.0, vec_of(0.0));
}

/* -infinity at zero, NaN below */
HM_RARE vec vec_log_rare(vec x)
{
    const vec_mask subnormal = vec_less(x, vec_of(0x1p-1022));
    const vec_log_scaled p = vec_log_split(vec_select(subnormal, x * 0x1p54, x));
    const vec k = vec_log_unbiased(p.biased) - vec_keep(subnormal, vec_of(54.0));
    vec result = vec_log_sum(k, p.m - 1.0, vec_of(0.0));
    result = vec_select(vec_equal(x, vec_of(__builtin_inf())), x, result);
    result = vec_select(vec_equal(x, vec_of(0.0)), vec_of(-__builtin_inf()), result);
    return vec_select(vec_greater_equal(x, vec_of(0.0)), result, vec_of(__builtin_nan("")));
}

MATH_INLINE vec vec_log(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_log_ordinary(x))) ? vec_log_fast(x) : vec_log_rare(x);
}

/* above -1, and not so large that 2^-k is subnormal */
MATH_INLINE vec_mask vec_log1p_ordinary(vec x)
{
    return vec_mask_and(vec_greater(x, vec_of(-1.0)), vec_less_equal(x, vec_of(0x1p1000)));
}

/*
 * The rounding of 1 + x is scaled like the sum itself and added to f; what that addition rounds
 * away joins the small terms. So a small x comes out of it unchanged: f is x. From 2^53 on, where
 * the sum of 1 and x is no longer split exactly, an error of its last place is nothing to the
 * logarithm.
 */
MATH_INLINE vec vec_log1p_fast(vec x)
{
    const vec_sum u = vec_quick_sum(vec_of(1.0), x);
    const vec_log_scaled p = vec_log_split(u.high);
    const vec power = vec_from_bits((vec_int_of(2046) - p.biased) << 52); /* 2^-k */
    const vec_sum f = vec_quick_sum(p.m - 1.0, u.low * power);
    const vec result = vec_log_sum(vec_log_unbiased(p.biased), f.high, f.low);
    return vec_copy_sign(result, x); /* for -0 */
}

HM_RARE vec vec_log1p_rare(vec x)
{
    const vec safe = vec_select(vec_log1p_ordinary(x), x, vec_of(0.0));
    vec result = vec_log1p_fast(safe);
    result = vec_select(vec_greater(x, vec_of(0x1p1000)), vec_log_rare(x), result);
    result = vec_select(vec_equal(x, vec_of(-1.0)), vec_of(-__builtin_inf()), result);
    return vec_select(vec_greater_equal(x, vec_of(-1.0)), result, vec_of(__builtin_nan("")));
}

MATH_INLINE vec vec_log1p(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_log1p_ordinary(x))) ? vec_log1p_fast(x) : vec_log1p_rare(x);
}

#endif
