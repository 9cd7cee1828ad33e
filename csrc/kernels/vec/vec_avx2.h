/* The vocabulary on AVX2 with FMA: 4 doubles, truth values as lanes of ones. For vec.h alone. */
#include <immintrin.h>

typedef vec_int vec_mask;

VEC_INLINE __m256i vec_first_lanes(size_t n)
{
    static const int64_t window[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(window + 4 - n));
}

VEC_INLINE vec vec_load_partial(const double *p, size_t n)
{
    return _mm256_maskload_pd(p, vec_first_lanes(n));
}

VEC_INLINE vec vec_load_padded(const double *p, size_t n)
{
    const __m256i lanes = vec_first_lanes(n);
    return _mm256_blendv_pd(_mm256_set1_pd(*p), _mm256_maskload_pd(p, lanes), (vec)lanes);
}

VEC_INLINE void vec_store_partial(double *p, size_t n, vec x)
{
    if (n >= 4) {
        vec_store(p, x);
        return;
    }
    __m128d left = _mm256_castpd256_pd128(x);
    if (n & 2) {
        _mm_storeu_pd(p, left);
        left = _mm256_extractf128_pd(x, 1);
    }
    if (n & 1)
        _mm_store_sd(p + (n & 2), left);
}

/* Bit l is the truth of lane l. */
VEC_INLINE vec_mask vec_mask_of(unsigned bits)
{
    const vec_int bit = {1, 2, 4, 8};
    return ((int64_t)bits & bit) == bit;
}

/* x, with p[l] in lane l where the mask holds; all of p's vector is read. */
VEC_INLINE vec vec_load_over(vec x, vec_mask m, const double *p)
{
    return _mm256_blendv_pd(x, _mm256_loadu_pd(p), (vec)m);
}

VEC_INLINE void vec_store_aside(double *p, vec x) { _mm256_stream_pd(p, x); }

VEC_INLINE void vec_store_aside_done(void) { _mm_sfence(); }

VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_pd(a, b, c); }

VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm256_fnmadd_pd(a, b, c); }

VEC_INLINE vec vec_sqrt(vec x) { return _mm256_sqrt_pd(x); }

VEC_INLINE vec vec_min(vec a, vec b) { return _mm256_min_pd(a, b); }

VEC_INLINE vec vec_max(vec a, vec b) { return _mm256_max_pd(a, b); }

VEC_INLINE vec_mask vec_less(vec a, vec b) { return (vec_mask)_mm256_cmp_pd(a, b, _CMP_LT_OQ); }

VEC_INLINE vec_mask vec_less_equal(vec a, vec b)
{
    return (vec_mask)_mm256_cmp_pd(a, b, _CMP_LE_OQ);
}

VEC_INLINE vec_mask vec_equal(vec a, vec b) { return (vec_mask)_mm256_cmp_pd(a, b, _CMP_EQ_OQ); }

VEC_INLINE vec_mask vec_not_equal(vec a, vec b)
{
    return (vec_mask)_mm256_cmp_pd(a, b, _CMP_NEQ_UQ);
}

VEC_INLINE vec_mask vec_int_equal(vec_int a, vec_int b)
{
    return (vec_mask)_mm256_cmpeq_epi64((__m256i)a, (__m256i)b);
}

VEC_INLINE vec_mask vec_int_greater(vec_int a, vec_int b)
{
    return (vec_mask)_mm256_cmpgt_epi64((__m256i)a, (__m256i)b);
}

VEC_INLINE vec_mask vec_int_has_bit(vec_int i, int64_t bit) { return (i & bit) == bit; }

VEC_INLINE vec_mask vec_mask_and(vec_mask a, vec_mask b) { return a & b; }

VEC_INLINE vec_mask vec_mask_or(vec_mask a, vec_mask b) { return a | b; }

VEC_INLINE vec_mask vec_mask_not(vec_mask a) { return ~a; }

VEC_INLINE bool vec_mask_any(vec_mask m) { return _mm256_movemask_pd((vec)m) != 0; }

VEC_INLINE bool vec_mask_all(vec_mask m) { return _mm256_movemask_pd((vec)m) == 15; }

VEC_INLINE vec vec_select(vec_mask m, vec a, vec b) { return _mm256_blendv_pd(b, a, (vec)m); }

VEC_INLINE vec vec_keep(vec_mask m, vec a) { return _mm256_and_pd(a, (vec)m); }

VEC_INLINE vec_int vec_int_select(vec_mask m, vec_int a, vec_int b)
{
    return (vec_int)_mm256_blendv_pd((vec)b, (vec)a, (vec)m);
}

VEC_INLINE vec_int vec_shift_right(vec_int i, unsigned n) { return i >> n; }

VEC_INLINE vec_int vec_shift_right_logical(vec_int i, unsigned n)
{
    return (vec_int)_mm256_srli_epi64((__m256i)i, (int)n);
}

VEC_INLINE vec_int vec_int_product32(vec_int a, vec_int b)
{
    return (vec_int)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

/* A permutation across the halves is one a cycle, so two do what four would, and blends the rest. */
VEC_INLINE void vec_table_four(const double t[16][16], int from, vec_int i, vec out[4])
{
    const double *const p = t[0] + from;
    const vec_int at = (i & 15) << 4;
    const vec a = vec_load(p + at[0]), b = vec_load(p + at[1]);
    const vec c = vec_load(p + at[2]), d = vec_load(p + at[3]);
    const vec ab[2] = {_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)};
    const vec cd[2] = {_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d)};
    for (int k = 0; k < 2; k++) {
        const vec inner = _mm256_permute2f128_pd(ab[k], cd[k], 0x21);
        out[k] = _mm256_blend_pd(ab[k], inner, 12);
        out[k + 2] = _mm256_blend_pd(inner, cd[k], 12);
    }
}

VEC_INLINE vec vec_taint(vec t, vec x) { return _mm256_fmadd_pd(x, _mm256_setzero_pd(), t); }

VEC_INLINE vec vec_even(vec low, vec high)
{
    return _mm256_permute4x64_pd(_mm256_unpacklo_pd(low, high), _MM_SHUFFLE(3, 1, 2, 0));
}

VEC_INLINE vec vec_odd(vec low, vec high)
{
    return _mm256_permute4x64_pd(_mm256_unpackhi_pd(low, high), _MM_SHUFFLE(3, 1, 2, 0));
}

VEC_INLINE vec vec_zip_low(vec a, vec b)
{
    return _mm256_permute2f128_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), 0x20);
}

VEC_INLINE vec vec_zip_high(vec a, vec b)
{
    return _mm256_permute2f128_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), 0x31);
}

VEC_INLINE vec vec_pair_lefts(vec low, vec high) { return _mm256_unpacklo_pd(low, high); }

VEC_INLINE vec vec_pair_rights(vec low, vec high) { return _mm256_unpackhi_pd(low, high); }

VEC_INLINE vec vec_pairs_low(vec left, vec right) { return _mm256_unpacklo_pd(left, right); }

VEC_INLINE vec vec_pairs_high(vec left, vec right) { return _mm256_unpackhi_pd(left, right); }

VEC_INLINE vec vec_in_pair_order(vec x)
{
    return _mm256_permute4x64_pd(x, _MM_SHUFFLE(3, 1, 2, 0));
}

VEC_INLINE void vec_store_apart(double *p, vec x)
{
    const __m128d low = _mm256_castpd256_pd128(x), high = _mm256_extractf128_pd(x, 1);
    _mm_storel_pd(p, low);
    _mm_storeh_pd(p + 2, low);
    _mm_storel_pd(p + 4, high);
    _mm_storeh_pd(p + 6, high);
}

VEC_INLINE double vec_sum_halves(vec x) { return (x[0] + x[2]) + (x[1] + x[3]); }

VEC_INLINE double vec_largest(vec x)
{
    const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_max_sd(two, _mm_unpackhi_pd(two, two))[0];
}
