/*
 * a*b + c rounded once, on a processor without fused multiply-add.
 *
 * S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
 * using rounding to odd", IEEE Trans. Computers 57(4), 2008: split the product and the sums into
 * value and error, add the two small parts rounding to odd, and the last addition rounds as if it
 * saw everything. It holds while no part overflows and the product's error term is a multiple of
 * 2^-1074; whatever else comes (and zero factors) goes lane by lane to the C library, which is
 * exact and slow.
 */
#ifndef HM_FMA_EMULATED_H
#define HM_FMA_EMULATED_H

typedef struct vec_pair {
    vec high, low;
} vec_pair;

/* high + low = a + b exactly (Knuth) */
VEC_INLINE vec_pair fma_two_sum(vec a, vec b)
{
    const vec s = a + b, b_part = s - a;
    return (vec_pair){s, (a - (s - b_part)) + (b - b_part)};
}

/* 26 bits and the rest (Veltkamp) */
VEC_INLINE vec_pair fma_split(vec a)
{
    const vec scaled = a * 0x1.0000002p27, high = scaled - (scaled - a);
    return (vec_pair){high, a - high};
}

/* high + low = a * b exactly (Dekker) */
VEC_INLINE vec_pair fma_two_product(vec a, vec b)
{
    const vec_pair x = fma_split(a), y = fma_split(b);
    const vec p = a * b;
    return (vec_pair){p, ((x.high * y.high - p) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

/* a + b, an inexact sum moved to the neighbour with an odd last bit */
VEC_INLINE vec fma_sum_to_odd(vec a, vec b)
{
    const vec_pair s = fma_two_sum(a, b);
    const vec_int bits = (vec_int)s.high;
    const vec_int step = (s.low != 0.0) & ~bits & 1; /* 1 where inexact and even */
    const vec_int inwards = (bits ^ (vec_int)s.low) < 0;
    return (vec)(bits + step - ((step + step) & inwards));
}

VEC_INLINE bool fma_is_ordinary(vec a, vec b, vec c, vec p)
{
    const vec_int magnitude = vec_int_of(INT64_MAX);
    const vec size_a = (vec)((vec_int)a & magnitude), size_b = (vec)((vec_int)b & magnitude);
    const vec size_c = (vec)((vec_int)c & magnitude), size_p = (vec)((vec_int)p & magnitude);
    const vec_int good = (size_a < 0x1p990) & (size_b < 0x1p990) & (size_c < 0x1p1000) &
                         (size_p < 0x1p1000) & (size_p > 0x1p-960);
    return (good[0] & good[1]) != 0;
}

static __attribute__((noinline, unused)) vec fma_by_lane(vec a, vec b, vec c)
{
    return (vec){__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
}

/* Out of line: it stands in the inner loop of every kernel, and forty instructions each time are
 * too many. */
static __attribute__((noinline, unused)) vec fma_emulated(vec a, vec b, vec c)
{
    const vec_pair product = fma_two_product(a, b);
    if (__builtin_expect(!fma_is_ordinary(a, b, c, product.high), 0))
        return fma_by_lane(a, b, c);
    const vec_pair tail = fma_two_sum(c, product.low);
    const vec_pair head = fma_two_sum(product.high, tail.high);
    return head.high + fma_sum_to_odd(tail.low, head.low);
}

#endif
