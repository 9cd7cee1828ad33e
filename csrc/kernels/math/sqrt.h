/*
 * The square root as the instruction rounds it, in multiply-adds: with an estimate of 1/sqrt(x) to 14 bits,
 * they take a third of the divider's time.
 *
 * Let y = (1 + t)/sqrt(x), |t| <= 2^-14, be the estimate, g = x y, h = y/2, r = 1/2 - g h. Then sqrt(x) is
 * g (1 - 2r)^(-1/2), and h by the same factor, 1 + r + 3/2 r^2 + 5/2 r^3 + ..., is half its reciprocal; of the
 * rounding of g half is left in either. The last step, g + (x - g^2) h with an exact difference, is P. W.
 * Markstein's (IBM J. Res. Dev. 34, 1990). It gives the rounded root for every x, whatever the estimate:
 *
 * - Let m be odd and 2^53 < m < 2^54, so that, scaled, m/2 is a midpoint between two doubles, and x is
 *   (m^2 + j)/4: of doubles j is -1, 7, -9, 15 and so on. The root lies j/(4m) beyond the midpoint, g, which is right to
 *   1.1, is one of its neighbours, and the last step before its rounding is off by 1/(4m) to the lower side and by
 *   half of h's relative error k to either: too little to cross the midpoint where |k| < 1/m for j = -1, 3/m for 7, 5/m
 *   for -9, and more from there on.
 * - k is at most (m/2^54 + 2^52/m + 0.35) 2^-53: h's own rounding, half of g's, error and lean of the factor.
 *   That is below 5/m, and below 3/m but for m > 1.9 * 2^53; the x of j = 7 have m = 1.35 and 1.65 * 2^53.
 * - j = -1 are two numbers, times powers of 4. For 1 + 2^-52 the rounding of g is next to none, so that h is right, or
 *   1/2, which serves as well. For 4 - 2^-51 g and h must become the numbers next below the root and its
 *   half reciprocal; this is what the factor leans to the lower side for, by 2^-55, more than it errs.
 */
#ifndef HM_SQRT_H
#define HM_SQRT_H

#include "kernels/math/scale.h"

#ifdef __AVX512F__

/* From 2^-960 on x - g^2 is no smaller than the smallest double. */
MATH_INLINE vec_mask vec_sqrt_ordinary(vec x)
{
    return vec_mask_and(vec_greater_equal(x, vec_of(0x1p-960)),
                        vec_less_equal(x, vec_of(0x1.fffffffffffffp+1023)));
}

MATH_INLINE vec vec_sqrt_fast(vec x)
{
    const vec estimate = vec_inverse_root_estimate(x);
    const vec g = x * estimate, h = 0.5 * estimate;
    const vec r = vec_fnma(g, h, vec_of(0.5));
    /* 35/8 r^4 is what the series lacks; 0.83 * 2^-28 of it, in r^2, leaves a sixth */
    const vec bent =
        vec_fma(vec_fma(r, vec_of(2.5), vec_of(1.5 + 3.625 * 0x1p-28)), r, vec_of(1.0));
    const vec factor = vec_fma(bent, r, vec_of(-0x1p-55)); /* less 1 */
    const vec root = vec_fma(g, factor, g), half_inverse = vec_fma(h, factor, h);
    return vec_fma(vec_fnma(root, root, x), half_inverse, root);
}

HM_RARE vec vec_sqrt_rare(vec x) { return vec_sqrt(x); }

#endif

#endif
