/*
 * Powers of two, and the shape all functions here share.
 *
 * A function f comes as
 *     vec_f_fast(x)       right where vec_f_ordinary(x) holds, without a branch
 *     vec_f_ordinary(x)   a mask: the arguments of everyday, never a NaN or an infinity
 *     vec_f_rare(x)       right everywhere, out of line: subnormal results, overflow, NaN
 *     vec_f(x)            the first where the second holds for all lanes, else the third
 *
 * A lane's result is the same whether its neighbours are ordinary or not.
 */
#ifndef HM_SCALE_H
#define HM_SCALE_H

#include "kernels/math/coefficients.h"
#include "kernels/vec/vec.h"

#define HM_LIKELY(x) __builtin_expect(!!(x), 1)
#define HM_RARE static __attribute__((noinline, unused))

/* high + low, |low| at most half an ulp of high; so that a product or a quotient rounds once */
typedef struct vec_sum {
    vec high, low;
} vec_sum;

/* a + b exactly, for |a| >= |b| or a = 0 (Dekker) */
VEC_INLINE vec_sum vec_quick_sum(vec a, vec b)
{
    const vec s = a + b;
    return (vec_sum){s, b - (s - a)};
}

/* a + b exactly (Knuth) */
VEC_INLINE vec_sum vec_exact_sum(vec a, vec b)
{
    const vec s = a + b, b_part = s - a;
    return (vec_sum){s, (a - (s - b_part)) + (b - b_part)};
}

VEC_INLINE vec_sum vec_exact_product(vec a, vec b)
{
    const vec p = a * b;
    return (vec_sum){p, vec_fma(a, b, -p)};
}

/*
 * c[0] + c[1] x + ..., even and odd powers apart by Horner's rule in x^2: as many operations as
 * Horner's in x and one more, but half the length of what waits for itself.
 */
VEC_INLINE vec vec_polynomial(vec x, const double *c, int count)
{
    const vec square = x * x;
    vec last = vec_of(c[count - 1]), other = vec_of(c[count - 2]);
#pragma GCC unroll 32
    for (int i = count - 3; i >= 0; i -= 2) {
        last = vec_fma(last, square, vec_of(c[i]));
        if (i > 0)
            other = vec_fma(other, square, vec_of(c[i - 1]));
    }
    return count % 2 ? vec_fma(other, x, last) : vec_fma(last, x, other);
}

/* y * 2^n, rounded once; |n| <= 2000 and y within 2^(+-20) of 1, or zero */
VEC_INLINE vec vec_scale(vec y, vec_int n)
{
    const vec_int half = vec_shift_right_logical(n + vec_int_of(4096), 1) - vec_int_of(2048);
    return y * vec_power_of_two(half) * vec_power_of_two(n - half);
}

typedef struct vec_binary {
    vec mantissa;     /* in [1, 2) with the number's sign; or zero */
    vec_int exponent; /* the number is mantissa * 2^exponent */
} vec_binary;

/* Any finite number, subnormals included. */
VEC_INLINE vec_binary vec_take_apart(vec x)
{
    const vec_mask subnormal = vec_less(vec_abs(x), vec_of(0x1p-1022));
    const vec normal = vec_select(subnormal, x * 0x1p54, x);
    const vec_int biased = vec_shift_right_logical(vec_bits(normal) & vec_int_of(INT64_MAX), 52);
    const vec_int shift = vec_int_select(subnormal, vec_int_of(54), vec_int_of(0));
    const vec_int fraction = vec_bits(normal) & ~vec_int_of(0x7FF0000000000000);
    const vec mantissa = vec_from_bits(fraction | vec_int_of(0x3FF0000000000000));
    return (vec_binary){vec_select(vec_equal(x, vec_of(0.0)), x, mantissa),
                        biased - vec_int_of(1023) - shift};
}

#endif
