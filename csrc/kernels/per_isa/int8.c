/*
 * Integer products. Three ways to a dot product of short runs of depth, best first:
 *
 *   VNNI       four bytes at once: unsigned right (q + 128) times signed left; the 128 * sum of the left
 *              bytes that this adds is taken off before the first step
 *   multiply-add of pairs of 16-bit integers (SSE2, AVX2, AVX-512BW)
 *   plain C    pairs again, for the compiler to vectorise
 */
#include "kernels/int8.h"

#include <string.h>

#include "kernels/per_isa/isa.h"
#include "kernels/vec/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
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
 * 32-bit word. Depth is padded to four steps with zeros. A panel holds run by run a word of each column; a
 * sliver run by run a word of each row, behind the words that the rows' sums start from.
 */
#define PACKED_SIZE (RUN == 4 ? 1 : 2)

static int64_t padded(int64_t depth)
{
    return (depth + 3) / 4 * 4;
}

VEC_INLINE int32_t load_word(const void *p)
{
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

VEC_INLINE int32_t word_of(const int8_t *q)
{
    if (RUN == 4)
        return load_word(q);
    return (int32_t)((uint32_t)(uint16_t)q[0] | (uint32_t)(uint16_t)q[1] << 16);
}

/* Bytes are added up in 32 bits, which hold 2^16 of them, several at a time. */
static int64_t sum(const int8_t *x, int64_t n)
{
    enum { BLOCK = 1 << 16 };
    int64_t total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t end = i + BLOCK < n ? i + BLOCK : n;
        int32_t part = 0;
        for (int64_t k = i; k < end; k++)
            part += x[k];
        total += part;
    }
    return total;
}

static void pack_left(int64_t rows, int64_t depth, const int8_t *left, int64_t stride, void *sliver)
{
    int32_t *start = sliver, *words = start + ROWS;
    const int64_t whole = depth / RUN, runs = padded(depth) / RUN;
    for (int64_t i = 0; i < rows; i++) {
        const int8_t *from = left + i * stride;
        int8_t tail[8] = {0};
        memcpy(tail, from + whole * RUN, (size_t)(depth - whole * RUN));
        for (int64_t run = 0; run < whole; run++)
            words[run * ROWS + i] = word_of(from + run * RUN);
        for (int64_t run = whole; run < runs; run++)
            words[run * ROWS + i] = word_of(tail + (run - whole) * RUN);
        start[i] = RUN == 4 ? -128 * (int32_t)sum(from, depth) : 0;
    }
}

/* One run of depth of a panel, a word a column; rows of zeros stand for depth that is not there. */
static void pack_run(const int8_t *const rows[RUN], int64_t columns, void *out)
{
    for (int64_t j = 0; j < COLUMNS; j++) {
        for (int r = 0; r < RUN; r++) {
            const int8_t q = j < columns ? rows[r][j] : 0;
            if (RUN == 4)
                ((uint8_t *)out)[j * RUN + r] = (uint8_t)(q ^ -128);
            else
                ((int16_t *)out)[j * RUN + r] = q;
        }
    }
}

/* The same for all columns, by interleaving the rows. */
static void pack_whole_run(const int8_t *const rows[RUN], void *out)
{
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    const __m256i flip = _mm256_set1_epi8(-128);
    __m256i r[RUN];
    for (int i = 0; i < RUN; i++)
        r[i] = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)rows[i]), flip);
    const __m256i low01 = _mm256_unpacklo_epi8(r[0], r[1]), high01 = _mm256_unpackhi_epi8(r[0], r[1]);
    const __m256i low23 = _mm256_unpacklo_epi8(r[2], r[3]), high23 = _mm256_unpackhi_epi8(r[2], r[3]);
    /* columns 0-3 and 16-19, 4-7 and 20-23, 8-11 and 24-27, 12-15 and 28-31 */
    const __m256i a = _mm256_unpacklo_epi16(low01, low23), b = _mm256_unpackhi_epi16(low01, low23);
    const __m256i c = _mm256_unpacklo_epi16(high01, high23), d = _mm256_unpackhi_epi16(high01, high23);
    _mm256_storeu_si256((__m256i *)out + 0, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256((__m256i *)out + 1, _mm256_permute2x128_si256(c, d, 0x20));
    _mm256_storeu_si256((__m256i *)out + 2, _mm256_permute2x128_si256(a, b, 0x31));
    _mm256_storeu_si256((__m256i *)out + 3, _mm256_permute2x128_si256(c, d, 0x31));
#elif defined(__AVXVNNI__)
    const __m128i flip = _mm_set1_epi8(-128);
    __m128i r[RUN];
    for (int i = 0; i < RUN; i++)
        r[i] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)rows[i]), flip);
    const __m128i low01 = _mm_unpacklo_epi8(r[0], r[1]), high01 = _mm_unpackhi_epi8(r[0], r[1]);
    const __m128i low23 = _mm_unpacklo_epi8(r[2], r[3]), high23 = _mm_unpackhi_epi8(r[2], r[3]);
    _mm_storeu_si128((__m128i *)out + 0, _mm_unpacklo_epi16(low01, low23));
    _mm_storeu_si128((__m128i *)out + 1, _mm_unpackhi_epi16(low01, low23));
    _mm_storeu_si128((__m128i *)out + 2, _mm_unpacklo_epi16(high01, high23));
    _mm_storeu_si128((__m128i *)out + 3, _mm_unpackhi_epi16(high01, high23));
#elif defined(__AVX2__)
    for (int64_t j = 0; j < COLUMNS; j += 16) {
        const __m256i even = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(rows[0] + j)));
        const __m256i odd = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(rows[1] + j)));
        /* columns 0-3 and 8-11, 4-7 and 12-15 */
        const __m256i a = _mm256_unpacklo_epi16(even, odd), b = _mm256_unpackhi_epi16(even, odd);
        _mm256_storeu_si256((__m256i *)out + j / 8, _mm256_permute2x128_si256(a, b, 0x20));
        _mm256_storeu_si256((__m256i *)out + j / 8 + 1, _mm256_permute2x128_si256(a, b, 0x31));
    }
#else
    pack_run(rows, COLUMNS, out);
#endif
}

VEC_INLINE sums_vector load_vector(const void *p)
{
    sums_vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void store_vector(void *p, sums_vector v)
{
    __builtin_memcpy(p, &v, sizeof v);
}

static void pack_right(int64_t depth, int64_t columns, const int8_t *right, int64_t stride, void *panel,
                       double *sums)
{
    static const int8_t zeros[COLUMNS];
    const sums_vector ones = BROADCAST(RUN == 4 ? 0x01010101 : 0x00010001);
    sums_vector first = BROADCAST(0), second = BROADCAST(0);
    const int64_t runs = padded(depth) / RUN;
    char *out = panel;
    for (int64_t run = 0; run < runs; run++) {
        const int8_t *rows[RUN];
        for (int r = 0; r < RUN; r++)
            rows[r] = run * RUN + r < depth ? right + (run * RUN + r) * stride : zeros;
        if (columns == COLUMNS)
            pack_whole_run(rows, out);
        else
            pack_run(rows, columns, out);
        first = DOT(first, load_vector(out), ones);
        second = DOT(second, load_vector(out + sizeof first), ones);
        out += COLUMNS * RUN * PACKED_SIZE;
    }
    int32_t totals[COLUMNS];
    store_vector(totals, first);
    store_vector(totals + LANES, second);
    const int32_t offset = RUN == 4 ? (int32_t)(128 * RUN * runs) : 0; /* of the flipped sign bits */
    for (int64_t j = 0; j < columns; j++)
        sums[j] += totals[j] - offset;
}

VEC_INLINE void tile_of(int rows, int64_t depth, const void *sliver, const void *panel, int32_t *sums)
{
    const int32_t *start = sliver, *left = start + ROWS;
    const char *right = panel;
    const int64_t runs = padded(depth) / RUN;
    sums_vector acc[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            acc[i][v] = BROADCAST(start[i]);
    for (int64_t run = 0; run < runs; run++) {
        const sums_vector first = load_vector(right), second = load_vector(right + sizeof first);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const sums_vector word = BROADCAST(left[i]);
            acc[i][0] = DOT(acc[i][0], first, word);
            acc[i][1] = DOT(acc[i][1], second, word);
        }
        left += ROWS;
        right += COLUMNS * RUN * PACKED_SIZE;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            store_vector(sums + i * COLUMNS + v * LANES, acc[i][v]);
}

/* One function a number of rows, so that every accumulator stays in a register. */
#define TILE(n)                                                                                    \
    static __attribute__((noinline)) void tile_##n(int64_t depth, const void *sliver,              \
                                                   const void *panel, int32_t *sums)               \
    {                                                                                              \
        tile_of(n, depth, sliver, panel, sums);                                                    \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if defined(__AVX2__)
TILE(5)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#endif
#undef TILE

static void tile(int64_t rows, int64_t depth, const void *sliver, const void *panel, int32_t *sums)
{
    static void (*const tiles[ROWS])(int64_t, const void *, const void *, int32_t *) = {
        tile_1, tile_2,  tile_3,  tile_4,
#if defined(__AVX2__)
        tile_5, tile_6,
#endif
#if defined(__AVX512F__)
        tile_7, tile_8,  tile_9,  tile_10, tile_11, tile_12,
        tile_13, tile_14,
#endif
    };
    tiles[rows - 1](depth, sliver, panel, sums);
}

/* ------------------------------------------------- from sums to the result */

typedef int32_t words __attribute__((vector_size(4 * VEC_WIDTH)));

/* Every product and sum here is of integers below 2^53: exact in any order. */
VEC_INLINE vec exact_total(const hm_int8_row *row, vec total, vec zeros, vec sums)
{
    const vec zero = vec_of(row->zero);
    total -= zeros * row->sum;
    total -= zero * sums;
    return total + zero * zeros * row->depth;
}

/* What most products need: no corrections, no check. The same bits, since corrections are exact. */
static void scale_row(const hm_int8_row *row, int64_t columns, const int32_t *sums, double *out)
{
    for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
        const size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
        words part;
        __builtin_memcpy(&part, sums + j, sizeof part);
        const vec scaled = __builtin_convertvector(part, vec) * row->scale;
        if (lanes == VEC_WIDTH)
            vec_store(out + j, scaled * vec_load(row->scales + j));
        else
            vec_store_partial(out + j, lanes, scaled * vec_load_partial(row->scales + j, lanes));
    }
}

static bool finish(const hm_int8_row *row, int64_t columns, const int32_t *sums, bool first, bool last,
                   double *out)
{
    if (row->plain && first && last) {
        scale_row(row, columns, sums, out);
        return true;
    }
    vec_mask fits = vec_equal(vec_of(0.0), vec_of(0.0));
    for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
        const size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
        words part;
        __builtin_memcpy(&part, sums + j, sizeof part); /* sums are padded to whole panels */
        vec total = __builtin_convertvector(part, vec);
        if (!first)
            total += vec_load_partial(out + j, lanes);
        if (last) {
            total = exact_total(row, total, vec_load_partial(row->zeros + j, lanes),
                                vec_load_partial(row->sums + j, lanes));
            /* lanes beyond the last column hold the zero point's part alone, and must not count */
            total = lanes == VEC_WIDTH ? total : vec_load_partial((const double *)&total, lanes);
            fits = vec_mask_and(fits, vec_less_equal(vec_of(-0x1p31), total));
            fits = vec_mask_and(fits, vec_less_equal(total, vec_of(0x1p31 - 1)));
            total = total * row->scale * vec_load_partial(row->scales + j, lanes);
        }
        vec_store_partial(out + j, lanes, total);
    }
    return vec_mask_all(fits);
}

extern const hm_int8_kernels HM_K(int8);
const hm_int8_kernels HM_K(int8) = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .left_step = ROWS * PACKED_SIZE,
    .right_step = COLUMNS * PACKED_SIZE,
    .pack_left = pack_left,
    .pack_right = pack_right,
    .tile = tile,
    .sum = sum,
    .finish = finish,
};
