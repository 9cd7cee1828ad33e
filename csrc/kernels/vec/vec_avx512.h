/* The vocabulary on AVX-512: 8 doubles, truth values in mask registers. Included by vec.h alone. */
#include <immintrin.h>

typedef __mmask8 vec_mask;

VEC_INLINE __mmask8 vec_first_lanes(size_t n) { return (__mmask8)((1u << n) - 1); }

VEC_INLINE vec vec_load_partial(const double *p, size_t n)
{
    return _mm512_maskz_loadu_pd(vec_first_lanes(n), p);
}

VEC_INLINE vec vec_load_padded(const double *p, size_t n)
{
    return _mm512_mask_loadu_pd(_mm512_set1_pd(*p), vec_first_lanes(n), p);
}

/* Bit l is the truth of lane l. Of these three, each one instruction, AVX2 has the first two. */
VEC_INLINE vec_mask vec_mask_of(unsigned bits) { return (vec_mask)bits; }

/* x, with p[l] in lane l where the mask holds; no other is read. */
VEC_INLINE vec vec_load_over(vec x, vec_mask m, const double *p)
{
    return _mm512_mask_loadu_pd(x, m, p);
}

/* Lane l to p[l] where the mask holds; no other is touched. */
VEC_INLINE void vec_store_over(double *p, vec_mask m, vec x) { _mm512_mask_storeu_pd(p, m, x); }

VEC_INLINE void vec_store_partial(double *p, size_t n, vec x)
{
    _mm512_mask_storeu_pd(p, vec_first_lanes(n), x);
}

/* A plain store: passing the caches by was measured with AVX2 alone. */
VEC_INLINE void vec_store_aside(double *p, vec x) { *(vec_unaligned *)p = x; }

VEC_INLINE void vec_store_aside_done(void) {}

VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_pd(a, b, c); }

VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_pd(a, b, c); }

VEC_INLINE vec vec_sqrt(vec x) { return _mm512_sqrt_pd(x); }

/* 1/sqrt(x) to 2^-14, x positive and normal. Here alone. */
VEC_INLINE vec vec_inverse_root_estimate(vec x) { return _mm512_rsqrt14_pd(x); }

VEC_INLINE vec vec_min(vec a, vec b) { return _mm512_min_pd(a, b); }

VEC_INLINE vec vec_max(vec a, vec b) { return _mm512_max_pd(a, b); }

VEC_INLINE vec_mask vec_less(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }

VEC_INLINE vec_mask vec_less_equal(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }

VEC_INLINE vec_mask vec_equal(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }

VEC_INLINE vec_mask vec_not_equal(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }

VEC_INLINE vec_mask vec_int_equal(vec_int a, vec_int b)
{
    return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b);
}

VEC_INLINE vec_mask vec_int_greater(vec_int a, vec_int b)
{
    return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b);
}

VEC_INLINE vec_mask vec_int_has_bit(vec_int i, int64_t bit)
{
    return _mm512_test_epi64_mask((__m512i)i, _mm512_set1_epi64(bit));
}

VEC_INLINE vec_mask vec_mask_and(vec_mask a, vec_mask b) { return (vec_mask)(a & b); }

VEC_INLINE vec_mask vec_mask_or(vec_mask a, vec_mask b) { return (vec_mask)(a | b); }

VEC_INLINE vec_mask vec_mask_not(vec_mask a) { return (vec_mask)~a; }

VEC_INLINE bool vec_mask_any(vec_mask m) { return m != 0; }

VEC_INLINE bool vec_mask_all(vec_mask m) { return m == 0xFF; }

VEC_INLINE vec vec_select(vec_mask m, vec a, vec b) { return _mm512_mask_blend_pd(m, b, a); }

VEC_INLINE vec vec_keep(vec_mask m, vec a) { return _mm512_maskz_mov_pd(m, a); }

VEC_INLINE vec_int vec_int_select(vec_mask m, vec_int a, vec_int b)
{
    return (vec_int)_mm512_mask_blend_epi64(m, (__m512i)b, (__m512i)a);
}

VEC_INLINE vec_int vec_shift_right(vec_int i, unsigned n)
{
    return (vec_int)_mm512_srai_epi64((__m512i)i, n);
}

VEC_INLINE vec_int vec_shift_right_logical(vec_int i, unsigned n)
{
    return (vec_int)_mm512_srli_epi64((__m512i)i, n);
}

VEC_INLINE vec_int vec_int_product32(vec_int a, vec_int b)
{
    return (vec_int)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

/* t[i & 15] of 16 doubles. Here alone, where it is two loads and one instruction. */
VEC_INLINE vec vec_table16(const double t[16], vec_int i)
{
    return _mm512_permutex2var_pd(vec_load(t), (__m512i)i, vec_load(t + 8));
}

VEC_INLINE vec vec_taint(vec t, vec x) { return _mm512_fmadd_pd(x, _mm512_setzero_pd(), t); }

VEC_INLINE vec vec_even(vec low, vec high)
{
    return _mm512_permutex2var_pd(low, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), high);
}

VEC_INLINE vec vec_odd(vec low, vec high)
{
    return _mm512_permutex2var_pd(low, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), high);
}

VEC_INLINE vec vec_zip_low(vec a, vec b)
{
    return _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
}

VEC_INLINE vec vec_zip_high(vec a, vec b)
{
    return _mm512_permutex2var_pd(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
}

VEC_INLINE vec vec_pair_lefts(vec low, vec high) { return vec_even(low, high); }

VEC_INLINE vec vec_pair_rights(vec low, vec high) { return vec_odd(low, high); }

VEC_INLINE vec vec_pairs_low(vec left, vec right) { return vec_zip_low(left, right); }

VEC_INLINE vec vec_pairs_high(vec left, vec right) { return vec_zip_high(left, right); }

VEC_INLINE vec vec_in_pair_order(vec x) { return x; }

VEC_INLINE void vec_store_apart(double *p, vec x)
{
    _mm512_mask_storeu_pd(p, 0x55, vec_zip_low(x, x));
    _mm512_mask_storeu_pd(p + 8, 0x55, vec_zip_high(x, x));
}

VEC_INLINE double vec_sum_halves(vec x)
{
    double lane[VEC_WIDTH];
    vec_store(lane, x);
    for (int h = VEC_WIDTH / 2; h; h /= 2)
        for (int i = 0; i < h; i++)
            lane[i] += lane[i + h];
    return lane[0];
}

VEC_INLINE double vec_largest(vec x)
{
    double lane[VEC_WIDTH];
    vec_store(lane, x);
    double largest = lane[0];
    for (int i = 1; i < VEC_WIDTH; i++)
        largest = lane[i] > largest ? lane[i] : largest;
    return largest;
}
