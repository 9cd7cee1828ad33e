/*
 * sin x and cos x: x = n pi/2 + r, |r| <= pi/4, r in two parts, then a polynomial each and the one
 * that n mod 4 asks for.
 *
 * Up to 2^27 pi/2 is taken off in three parts (Cody and Waite): with a fused multiply-add the first
 * difference is exact, and the three together hold r to 2^-133. Larger arguments go lane by lane
 * through the digits of 2/pi (M. Payne and R. Hanek, 1983) in integer arithmetic.
 */
#ifndef HM_SINCOS_H
#define HM_SINCOS_H

#include "kernels/math/scale.h"

typedef struct vec_angle {
    vec r, r_low;
    vec_int quadrant; /* mod 4 */
} vec_angle;

MATH_INLINE vec_angle vec_angle_reduce(vec x)
{
    const vec shifted = vec_fma(x, vec_of(0x1.45f306dc9c883p-1), vec_of(0x1.8p52)); /* 2/pi */
    const vec n = shifted - 0x1.8p52;
    const vec first = vec_fma(n, vec_of(-half_pi_parts[0]), x);
    const vec_sum second = vec_exact_product(n, vec_of(half_pi_parts[1]));
    /* second off first without error, although first may be the smaller (Dekker's sum asks for less than an
     * order: first is 0 or a multiple of 2^-53 below 1, x itself for n = 0, and second ends below 2^-27) */
    const vec high = first - second.high, rest = (first - high) - second.high;
    const vec low = rest - vec_fma(n, vec_of(half_pi_parts[2]), second.low);
    const vec_sum whole = vec_quick_sum(high, low);
    return (vec_angle){whole.high, whole.low, vec_bits(shifted)};
}

typedef struct angle_lane {
    double r, r_low;
    int64_t quadrant;
} angle_lane;

__extension__ typedef unsigned __int128 angle_wide;

/*
 * |x| > 2^27, x = m 2^e with an integer m below 2^53. The digits of 2/pi whose product with m 2^e
 * is a multiple of 4 are skipped; a window of 256 bits follows, of which the product with m keeps
 * the last 256: 2 bits of quadrant, then a fraction whose first 62 bits at most can all be alike
 * for a double x.
 */
static __attribute__((noinline, unused)) angle_lane angle_reduce_large(double x)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7FF) - 1075;
    const uint64_t m = (bits & 0x000FFFFFFFFFFFFF) | 0x0010000000000000;

    const int start = 64 + exponent - 2, word = start / 64, shift = start % 64;
    uint64_t product[4];
    angle_wide carry = 0;
    for (int i = 3; i >= 0; i--) {
        const uint64_t next = shift ? two_over_pi[word + i + 1] >> (64 - shift) : 0;
        carry += (angle_wide)(two_over_pi[word + i] << shift | next) * m;
        product[i] = (uint64_t)carry;
        carry >>= 64;
    }
    angle_wide high = (angle_wide)product[0] << 64 | product[1];
    angle_wide low = (angle_wide)product[2] << 64 | product[3];
    int64_t quadrant = (int64_t)(high >> 126);
    high = high << 2 | low >> 126;
    low <<= 2;

    const bool upper = high >> 127; /* from one half up it is the next quadrant, less something */
    if (upper) {
        quadrant++;
        low = -low;
        high = ~high + (low == 0);
    }
    int leading = 0;
    for (; leading < 100 && !(high >> 127); leading++) {
        high = high << 1 | low >> 127;
        low <<= 1;
    }
    const uint64_t unit_bits = (uint64_t)(1023 - 53 - leading) << 52;
    double unit;
    __builtin_memcpy(&unit, &unit_bits, sizeof unit);
    const double f = (double)(int64_t)(high >> 75) * unit; /* 53 bits, and the next 53 */
    const double f_low = (double)(int64_t)(high >> 22 & 0x1FFFFFFFFFFFFF) * unit * 0x1p-53;

    const double p = f * half_pi_parts[0];
    const double p_low = __builtin_fma(f, half_pi_parts[0], -p) +
                         __builtin_fma(f, half_pi_parts[1], f_low * half_pi_parts[0]);
    const double r = p + p_low, r_low = p_low - (r - p);
    const double sign = upper != (x < 0.0) ? -1.0 : 1.0;
    return (angle_lane){sign * r, sign * r_low, x < 0.0 ? -quadrant : quadrant};
}

/* Any finite x; NaN for the others. */
HM_RARE vec_angle vec_angle_reduce_rare(vec x)
{
    double lane[VEC_WIDTH], r[VEC_WIDTH], r_low[VEC_WIDTH];
    int64_t quadrant[VEC_WIDTH];
    const vec_angle near = vec_angle_reduce(x);
    vec_store(lane, x);
    vec_store(r, near.r);
    vec_store(r_low, near.r_low);
    __builtin_memcpy(quadrant, &near.quadrant, sizeof quadrant);
    for (int i = 0; i < VEC_WIDTH; i++) {
        if (__builtin_fabs(lane[i]) <= 0x1p27)
            continue;
        angle_lane a = {__builtin_nan(""), 0.0, 0};
        if (__builtin_fabs(lane[i]) <= 0x1.fffffffffffffp+1023)
            a = angle_reduce_large(lane[i]);
        r[i] = a.r;
        r_low[i] = a.r_low;
        quadrant[i] = a.quadrant;
    }
    vec_angle result = {vec_load(r), vec_load(r_low), near.quadrant};
    __builtin_memcpy(&result.quadrant, quadrant, sizeof quadrant);
    return result;
}

typedef struct vec_sine_cosine {
    vec sine, cosine;
} vec_sine_cosine;

/* Both at r + r_low, |r| <= pi/4, before the quadrant. Error at most 0.8 ulp. */
MATH_INLINE vec_sine_cosine vec_sincos_reduced(vec r, vec r_low)
{
    const vec z = r * r, one_less = vec_fma(z, vec_of(-0.5), vec_of(1.0)); /* 1 - z/2 */
    const vec one_rest = vec_fma(z, vec_of(-0.5), 1.0 - one_less);         /* what that lacks */
    const vec s = r + vec_fma(r * z, vec_polynomial(z, sin_s, 6), r_low * one_less);
    const vec c_tail = vec_fma(z * z, vec_polynomial(z, cos_c, 6), one_rest - r * r_low);
    return (vec_sine_cosine){s, one_less + c_tail};
}

/* The quadrant swaps the two and turns their signs: bit 0 and bit 1, the latter moved to a sign's place. */
MATH_INLINE vec_sine_cosine vec_sincos_turn(vec_angle a)
{
    const vec_sine_cosine at = vec_sincos_reduced(a.r, a.r_low);
    const vec_mask odd = vec_int_has_bit(a.quadrant, 1);
    const vec sine_sign = vec_from_bits(a.quadrant << 62),
              cosine_sign = vec_from_bits((a.quadrant + vec_int_of(1)) << 62);
    return (vec_sine_cosine){vec_turn_sign(vec_select(odd, at.cosine, at.sine), sine_sign),
                             vec_turn_sign(vec_select(odd, at.sine, at.cosine), cosine_sign)};
}

MATH_INLINE vec_mask vec_sin_ordinary(vec x) { return vec_less_equal(vec_abs(x), vec_of(0x1p27)); }

MATH_INLINE vec vec_sin_fast(vec x) /* of |x|, so that -0 keeps its sign */
{
    const vec s = vec_sincos_turn(vec_angle_reduce(vec_abs(x))).sine;
    return vec_turn_sign(s, x);
}

HM_RARE vec vec_sin_rare(vec x)
{
    const vec s = vec_sincos_turn(vec_angle_reduce_rare(vec_abs(x))).sine;
    return vec_turn_sign(s, x);
}

MATH_INLINE vec_mask vec_cos_ordinary(vec x) { return vec_sin_ordinary(x); }

MATH_INLINE vec vec_cos_fast(vec x) { return vec_sincos_turn(vec_angle_reduce(x)).cosine; }

HM_RARE vec vec_cos_rare(vec x) { return vec_sincos_turn(vec_angle_reduce_rare(x)).cosine; }

/* The quotient of the two; error at most 2.5 ulp. */
MATH_INLINE vec_mask vec_tan_ordinary(vec x) { return vec_sin_ordinary(x); }

MATH_INLINE vec vec_tan_of(vec_angle a, vec x)
{
    const vec_sine_cosine at = vec_sincos_reduced(a.r, a.r_low);
    const vec_mask odd = vec_int_has_bit(a.quadrant, 1);
    const vec t = vec_select(odd, at.cosine, at.sine) / vec_select(odd, at.sine, at.cosine);
    /* of the two signs one turns in odd quadrants, none or both in even ones */
    return vec_turn_sign(vec_turn_sign(t, vec_from_bits(a.quadrant << 63)), x);
}

MATH_INLINE vec vec_tan_fast(vec x) { return vec_tan_of(vec_angle_reduce(vec_abs(x)), x); }

HM_RARE vec vec_tan_rare(vec x) { return vec_tan_of(vec_angle_reduce_rare(vec_abs(x)), x); }

/*
 * Sine and cosine of position * (high + low). Beyond 2^27 the product's high part is reduced by its
 * digits and what is left, with the low part, once more.
 */
MATH_INLINE vec_sum vec_turn_angle(vec position, vec high, vec low)
{
    const vec_sum p = vec_exact_product(position, high);
    return vec_quick_sum(p.high, vec_fma(position, low, p.low));
}

/* More of the angle, small as it is, joins the reduced part. */
MATH_INLINE vec_angle vec_angle_shifted(vec_angle a, vec more)
{
    const vec_sum r = vec_exact_sum(a.r, a.r_low + more);
    return (vec_angle){r.high, r.low, a.quadrant};
}

MATH_INLINE vec_sine_cosine vec_turn_fast(vec_sum angle)
{
    return vec_sincos_turn(vec_angle_shifted(vec_angle_reduce(angle.high), angle.low));
}

HM_RARE vec_sine_cosine vec_turn_rare(vec_sum angle)
{
    const vec_angle first = vec_angle_reduce_rare(angle.high);
    const vec_sum left = vec_exact_sum(first.r, angle.low);
    vec_angle a = vec_angle_shifted(vec_angle_reduce(left.high), left.low + first.r_low);
    a.quadrant += first.quadrant;
    return vec_sincos_turn(a);
}

#endif
