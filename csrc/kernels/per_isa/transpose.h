/* VEC_WIDTH vectors turned into their columns, in registers. */
#ifndef HM_TRANSPOSE_H
#define HM_TRANSPOSE_H

#include "kernels/per_isa/unroll.h"
#include "kernels/vec/vec.h"

/*
 * out[k] lane i = element k of row i, for VEC_WIDTH rows of VEC_WIDTH doubles, row i at p + i *
 * stride. Shuffles are what this is bound by, so halves of registers are put together by loading
 * where they can.
 */
VEC_INLINE void transpose_load(const double *p, int64_t stride, vec out[VEC_WIDTH])
{
    /* Left to itself, GCC keeps a pointer a row through the caller's loop, and spills most of them.
     */
    __asm__("" : "+r"(p));
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
    __m512d row[8];
    UNROLL (i, 0, 8)
        row[i] = _mm512_loadu_pd(p + i * stride);
#define low(i, j) _mm512_mask_broadcast_f64x4(row[i], 0xf0, _mm256_loadu_pd(p + (j)*stride))
#define high(i, j) _mm512_shuffle_f64x2(row[i], row[j], 0xee)
#define four_columns(k, half) \
    do { \
        const __m512d r02 = half(0, 2), r13 = half(1, 3), r46 = half(4, 6), r57 = half(5, 7); \
        const __m512d even0 = _mm512_unpacklo_pd(r02, r13), odd0 = _mm512_unpackhi_pd(r02, r13); \
        const __m512d even4 = _mm512_unpacklo_pd(r46, r57), odd4 = _mm512_unpackhi_pd(r46, r57); \
        out[k + 0] = _mm512_shuffle_f64x2(even0, even4, 0x88); \
        out[k + 1] = _mm512_shuffle_f64x2(odd0, odd4, 0x88); \
        out[k + 2] = _mm512_shuffle_f64x2(even0, even4, 0xdd); \
        out[k + 3] = _mm512_shuffle_f64x2(odd0, odd4, 0xdd); \
    } while (0)
    four_columns(0, low);
    four_columns(4, high);
#undef four_columns
#undef high
#undef low
#elif defined(__AVX2__)
#define half(i, j, k) \
    _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p + (i)*stride + (k))), \
                         _mm_loadu_pd(p + (j)*stride + (k)), 1)
    for (int k = 0; k < 4; k += 2) {
        const __m256d r02 = half(0, 2, k), r13 = half(1, 3, k);
        out[k] = _mm256_unpacklo_pd(r02, r13);
        out[k + 1] = _mm256_unpackhi_pd(r02, r13);
    }
#undef half
#else
    out[0] = (vec){p[0], p[stride]};
    out[1] = (vec){p[1], p[stride + 1]};
#endif
}

#endif
