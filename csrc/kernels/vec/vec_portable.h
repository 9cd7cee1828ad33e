/*
 * The vocabulary on two doubles in the compiler's own vectors: SSE2 on the x86-64 baseline, NEON on
 * AArch64, anything else. Included by vec.h alone.
 */
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(__FMA__) && !defined(__ARM_FEATURE_FMA) && !defined(__aarch64__)
#include "kernels/vec/fma_emulated.h"
#endif

typedef vec_int vec_mask;

VEC_INLINE vec vec_load_partial(const double *p, size_t n)
{
    return (vec){n > 0 ? p[0] : 0.0, n > 1 ? p[1] : 0.0};
}

VEC_INLINE vec vec_load_padded(const double *p, size_t n)
{
    return (vec){p[0], n > 1 ? p[1] : p[0]};
}

VEC_INLINE void vec_store_partial(double *p, size_t n, vec x)
{
    if (n > 0)
        p[0] = x[0];
    if (n > 1)
        p[1] = x[1];
}

/* A plain store: passing the caches by was measured with AVX2 alone. */
VEC_INLINE void vec_store_aside(double *p, vec x) { *(vec_unaligned *)p = x; }

VEC_INLINE void vec_store_aside_done(void) {}

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
    return (vec){__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
#else
    return fma_emulated(a, b, c);
#endif
}

VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return vec_fma(-a, b, c); }

VEC_INLINE vec vec_sqrt(vec x) { return (vec){__builtin_sqrt(x[0]), __builtin_sqrt(x[1])}; }

VEC_INLINE vec_mask vec_less(vec a, vec b) { return a < b; }

VEC_INLINE vec_mask vec_less_equal(vec a, vec b) { return a <= b; }

VEC_INLINE vec_mask vec_equal(vec a, vec b) { return a == b; }

VEC_INLINE vec_mask vec_not_equal(vec a, vec b) { return a != b; }

VEC_INLINE vec_mask vec_int_equal(vec_int a, vec_int b) { return a == b; }

VEC_INLINE vec_mask vec_int_greater(vec_int a, vec_int b) { return a > b; }

VEC_INLINE vec_mask vec_int_has_bit(vec_int i, int64_t bit) { return (i & bit) == bit; }

VEC_INLINE vec_mask vec_mask_and(vec_mask a, vec_mask b) { return a & b; }

VEC_INLINE vec_mask vec_mask_or(vec_mask a, vec_mask b) { return a | b; }

VEC_INLINE vec_mask vec_mask_not(vec_mask a) { return ~a; }

VEC_INLINE bool vec_mask_any(vec_mask m) { return (m[0] | m[1]) != 0; }

VEC_INLINE bool vec_mask_all(vec_mask m) { return (m[0] & m[1]) != 0; }

#if defined(__SSE2__)
/*
 * GCC 12 sees a selection in the plain operators and crashes, at -O1 or under a sanitizer, over one that
 * SSE2 cannot make.
 */
VEC_INLINE vec vec_select(vec_mask m, vec a, vec b)
{
    return _mm_or_pd(_mm_and_pd((vec)m, a), _mm_andnot_pd((vec)m, b));
}

VEC_INLINE vec vec_keep(vec_mask m, vec a) { return _mm_and_pd((vec)m, a); }

VEC_INLINE vec_int vec_int_select(vec_mask m, vec_int a, vec_int b)
{
    return (vec_int)vec_select(m, (vec)a, (vec)b);
}
#else
VEC_INLINE vec vec_keep(vec_mask m, vec a) { return vec_from_bits(m & vec_bits(a)); }

VEC_INLINE vec_int vec_int_select(vec_mask m, vec_int a, vec_int b) { return (m & a) | (~m & b); }

VEC_INLINE vec vec_select(vec_mask m, vec a, vec b)
{
    return (vec)vec_int_select(m, (vec_int)a, (vec_int)b);
}
#endif

VEC_INLINE vec vec_min(vec a, vec b) { return vec_select(vec_less(a, b), a, b); }

VEC_INLINE vec vec_max(vec a, vec b) { return vec_select(vec_less(b, a), a, b); }

VEC_INLINE vec_int vec_shift_right(vec_int i, unsigned n) { return i >> n; }

VEC_INLINE vec_int vec_shift_right_logical(vec_int i, unsigned n)
{
    typedef uint64_t vec_unsigned __attribute__((vector_size(8 * VEC_WIDTH)));
    return (vec_int)((vec_unsigned)i >> n);
}

VEC_INLINE vec_int vec_int_product32(vec_int a, vec_int b)
{
#if defined(__SSE2__)
    return (vec_int)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    return (vec_int)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (vec_int){(int64_t)((uint64_t)(uint32_t)a[0] * (uint32_t)b[0]),
                     (int64_t)((uint64_t)(uint32_t)a[1] * (uint32_t)b[1])};
#endif
}

VEC_INLINE void vec_table_four(const double t[16][16], int from, vec_int i, vec out[4])
{
    for (int k = 0; k < 4; k++)
        out[k] = (vec){t[i[0] & 15][from + k], t[i[1] & 15][from + k]};
}

VEC_INLINE vec vec_taint(vec t, vec x) { return t + x * 0.0; }

VEC_INLINE vec vec_even(vec low, vec high) { return (vec){low[0], high[0]}; }

VEC_INLINE vec vec_odd(vec low, vec high) { return (vec){low[1], high[1]}; }

VEC_INLINE vec vec_zip_low(vec a, vec b) { return (vec){a[0], b[0]}; }

VEC_INLINE vec vec_zip_high(vec a, vec b) { return (vec){a[1], b[1]}; }

VEC_INLINE vec vec_pair_lefts(vec low, vec high) { return vec_even(low, high); }

VEC_INLINE vec vec_pair_rights(vec low, vec high) { return vec_odd(low, high); }

VEC_INLINE vec vec_pairs_low(vec left, vec right) { return vec_zip_low(left, right); }

VEC_INLINE vec vec_pairs_high(vec left, vec right) { return vec_zip_high(left, right); }

VEC_INLINE vec vec_in_pair_order(vec x) { return x; }

VEC_INLINE void vec_store_apart(double *p, vec x)
{
    p[0] = x[0];
    p[2] = x[1];
}

VEC_INLINE double vec_sum_halves(vec x) { return x[0] + x[1]; }

VEC_INLINE double vec_largest(vec x) { return x[1] > x[0] ? x[1] : x[0]; }
