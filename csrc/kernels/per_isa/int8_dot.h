/*
 * Three ways to a dot product of short runs of depth, best first:
 *
 *   VNNI       four bytes at once, those of the first operand unsigned
 *   pairs      multiply-add of pairs of 16-bit integers (SSE2, AVX2, AVX-512BW)
 *   plain C    pairs again, for the compiler to vectorise
 *
 * and the tile's size. Matrix registers (AMX) multiply by an instruction of their own, on panels of runs of four:
 * who uses them defines INT8_MATRIX.
 */
#ifndef HM_INT8_DOT_H
#define HM_INT8_DOT_H

#include "kernels/vec/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(INT8_MATRIX)
enum { RUN = 4, LANES = 16, ROWS = 32 };
typedef __m512i sums_vector;
#define DOT(sums, right, left) _mm512_dpbusd_epi32(sums, right, left)
#define BROADCAST(word) _mm512_set1_epi32(word)
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
enum { RUN = 4, LANES = 16, ROWS = 14 };
typedef __m512i sums_vector;
#define DOT(sums, right, left) _mm512_dpbusd_epi32(sums, right, left)
#define BROADCAST(word) _mm512_set1_epi32(word)
#elif defined(__AVXVNNI__)
enum { RUN = 4, LANES = 8, ROWS = 6 };
typedef __m256i sums_vector;
#define DOT(sums, right, left) _mm256_dpbusd_avx_epi32(sums, right, left)
#define BROADCAST(word) _mm256_set1_epi32(word)
#elif defined(__AVX512BW__)
enum { RUN = 2, LANES = 16, ROWS = 14 };
typedef __m512i sums_vector;
#define DOT(sums, right, left) _mm512_add_epi32(sums, _mm512_madd_epi16(right, left))
#define BROADCAST(word) _mm512_set1_epi32(word)
#elif defined(__AVX2__)
enum { RUN = 2, LANES = 8, ROWS = 6 };
typedef __m256i sums_vector;
#define DOT(sums, right, left) _mm256_add_epi32(sums, _mm256_madd_epi16(right, left))
#define BROADCAST(word) _mm256_set1_epi32(word)
#elif defined(__SSE2__)
enum { RUN = 2, LANES = 4, ROWS = 4 };
typedef __m128i sums_vector;
#define DOT(sums, right, left) _mm_add_epi32(sums, _mm_madd_epi16(right, left))
#define BROADCAST(word) _mm_set1_epi32(word)
#else
enum { RUN = 2, LANES = 4, ROWS = 4 };
typedef int32_t sums_vector __attribute__((vector_size(16)));
typedef int16_t pairs __attribute__((vector_size(16)));

VEC_INLINE sums_vector dot_pairs(sums_vector sums, sums_vector right, sums_vector left)
{
    const pairs a = (pairs)right, b = (pairs)left;
    for (int i = 0; i < LANES; i++)
        sums[i] += (int32_t)a[2 * i] * b[2 * i] + (int32_t)a[2 * i + 1] * b[2 * i + 1];
    return sums;
}
#define DOT(sums, right, left) dot_pairs(sums, right, left)
#define BROADCAST(word) ((sums_vector){word, word, word, word})
#endif

enum { VECTORS = 2, COLUMNS = VECTORS * LANES };

/*
 * Packed elements are bytes where runs are of four, 16-bit integers where they are of two: a run is one
 * 32-bit word. Depth is padded with zeros to whole units.
 */
#define PACKED_SIZE (RUN == 4 ? 1 : 2)

#if defined(INT8_MATRIX)
enum { UNIT = 64 }; /* a row of a matrix register */
#else
enum { UNIT = 4 };
#endif

static inline int64_t padded(int64_t depth) { return (depth + UNIT - 1) / UNIT * UNIT; }

VEC_INLINE sums_vector load_vector(const void *p)
{
    sums_vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void store_vector(void *p, sums_vector v) { __builtin_memcpy(p, &v, sizeof v); }

#endif
