/*
 * e^x, with mantissa and exponent apart for those who still have to multiply it, and e^x - 1.
 *
 * x = n ln 2 + r, |r| <= ln(2)/2 (Cody and Waite: n times the first part of ln 2 is exact), and
 * e^r = 1 + r + r^2 q(r). What the second part of ln 2 takes from r goes into the small term
 * instead, so that 1 + r can be added without error and only the last addition rounds.
 */
#ifndef HM_EXP_H
#define HM_EXP_H

#include "kernels/math/scale.h"

/* e^x = (1 + reduced + tail) * 2^n, |reduced| <= 0.3466, |tail| <= 0.07 */
typedef struct vec_exp_parts {
    vec reduced, tail;
    vec n_shifted; /* n + 1.5 * 2^52: its low bits are n */
} vec_exp_parts;

#define EXP_LOG2_E 0x1.71547652b82fep+0

/* e^(x + x_low) from x / ln 2 + 1.5 * 2^52 */
MATH_INLINE vec_exp_parts vec_exp_parts_of(vec shifted, vec x, vec x_low)
{
    const vec n = shifted - 0x1.8p52;
    const vec reduced = vec_fma(n, vec_of(-ln2_parts[0]), x);
    const vec excess = vec_fma(n, vec_of(ln2_parts[1]), -x_low);
    const vec r = reduced - excess;
    const vec q = vec_polynomial(r, exp_q, 10);
    return (vec_exp_parts){reduced, vec_fma(r * r, q, -excess), shifted};
}

/* e^(x + x_low); |x| <= 1480, |x_low| at most an ulp of x. The parts' relative error is 2^-57. */
MATH_INLINE vec_exp_parts vec_exp_split(vec x, vec x_low)
{
    return vec_exp_parts_of(vec_fma(x, vec_of(EXP_LOG2_E), vec_of(0x1.8p52)), x, x_low);
}

/* e^-(x + x_low), where the signs turn within the multiply-adds */
MATH_INLINE vec_exp_parts vec_exp_split_opposite(vec x, vec x_low)
{
    return vec_exp_parts_of(vec_fma(x, vec_of(-EXP_LOG2_E), vec_of(0x1.8p52)), -x, -x_low);
}

/* 1 + reduced + tail: the high part alone is right to 0.6 ulp, both to 2^-57 */
MATH_INLINE vec_sum vec_exp_mantissa(vec_exp_parts e)
{
    const vec_sum one_more = vec_quick_sum(vec_of(1.0), e.reduced);
    return vec_quick_sum(one_more.high, one_more.low + e.tail);
}

MATH_INLINE vec_int vec_exp_exponent(vec_exp_parts e)
{
    return vec_bits(e.n_shifted) - vec_int_of(0x4338000000000000);
}

/* 2^n, for -1022 <= n <= 1023; the bits above n fall off the left end */
MATH_INLINE vec vec_exp_power(vec_exp_parts e)
{
    return vec_from_bits((vec_bits(e.n_shifted) << 52) + vec_int_of(0x3FF0000000000000));
}

/* mantissa and exponent joined, where the result is normal */
MATH_INLINE vec vec_exp_joined(vec_exp_parts e)
{
    return vec_from_bits(vec_bits(vec_exp_mantissa(e).high) + (vec_bits(e.n_shifted) << 52));
}

/* |x| <= 708 */
MATH_INLINE vec_mask vec_exp_ordinary(vec x) { return vec_less_equal(vec_abs(x), vec_of(708.0)); }

/* Error at most 0.6 ulp. */
MATH_INLINE vec vec_exp_fast(vec x) { return vec_exp_joined(vec_exp_split(x, vec_of(0.0))); }

/*
 * The result is +0 below ln(2^-1075), set without computing it: arithmetic that underflows is slow
 * on many processors.
 */
HM_RARE vec vec_exp_rare(vec x)
{
    const vec_mask vanishes = vec_less(x, vec_of(-0x1.74910d52d3051p+9)); /* -745.13... */
    const vec inside = vec_select(vanishes, vec_of(0.0), vec_min(x, vec_of(720.0)));
    const vec_exp_parts e = vec_exp_split(inside, vec_of(0.0));
    const vec scaled = vec_scale(vec_exp_mantissa(e).high, vec_exp_exponent(e));
    const vec result = vec_select(vanishes, vec_of(0.0), scaled);
    return vec_select(vec_is_nan(x), x, result);
}

MATH_INLINE vec vec_exp(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_exp_ordinary(x))) ? vec_exp_fast(x) : vec_exp_rare(x);
}

/*
 * e^x - 1 = (2^n - 1) + 2^n reduced + 2^n tail; the first sum is kept exactly, and for n = 0
 * nothing is left to cancel. |x| <= 708. The sum of parts is right to 2^-56.
 */
MATH_INLINE vec_sum vec_expm1_parts(vec x)
{
    const vec_exp_parts e = vec_exp_split(x, vec_of(0.0));
    const vec power = vec_exp_power(e);
    const vec_sum base = vec_exact_sum(power, vec_of(-1.0));
    const vec_sum sum = vec_quick_sum(base.high, power * e.reduced);
    return vec_quick_sum(sum.high, sum.low + vec_fma(power, e.tail, base.low));
}

/*
 * 1 - e^x for -708 <= x <= 0: the same sums with every sign turned, of which the first, 1 - 2^n, needs no
 * test of what is larger.
 */
MATH_INLINE vec_sum vec_one_less_exp(vec x)
{
    const vec_exp_parts e = vec_exp_split(x, vec_of(0.0));
    const vec power = vec_exp_power(e), first = power * e.reduced;
    const vec base = 1.0 - power, base_low = (1.0 - base) - power;
    const vec sum = base - first, sum_low = (base - sum) - first;
    return vec_quick_sum(sum, sum_low + vec_fnma(power, e.tail, base_low));
}

MATH_INLINE vec_mask vec_expm1_ordinary(vec x) { return vec_exp_ordinary(x); }

/* Error at most 1.5 ulp, where n turns from 0 to 1. */
MATH_INLINE vec vec_expm1_fast(vec x)
{
    return vec_copy_sign(vec_expm1_parts(x).high, x); /* for -0 */
}

HM_RARE vec vec_expm1_rare(vec x)
{
    const vec large = vec_exp_rare(x) - 1.0; /* beyond 708 either the one or the other vanishes */
    return vec_select(vec_exp_ordinary(x),
                      vec_expm1_fast(vec_min(vec_max(x, vec_of(-708.0)), vec_of(708.0))), large);
}

MATH_INLINE vec vec_expm1(vec x)
{
    return HM_LIKELY(vec_mask_all(vec_expm1_ordinary(x))) ? vec_expm1_fast(x) : vec_expm1_rare(x);
}

#endif
