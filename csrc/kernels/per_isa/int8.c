/*
 * Integer products. Three ways to a dot product of short runs of depth, best first:
 *
 *   VNNI       four bytes at once: unsigned right (q + 128) times signed left; the 128 * sum of the
 * left bytes that this adds is taken off before the first step multiply-add of pairs of 16-bit
 * integers (SSE2, AVX2, AVX-512BW) plain C    pairs again, for the compiler to vectorise
 */
#include "kernels/int8.h"

#include <string.h>

#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/unroll.h"
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
 * Packed elements are bytes where runs are of four, 16-bit integers where they are of two: a run is
 * one 32-bit word. Depth is padded to four steps with zeros. A panel holds run by run a word of
 * each column; a sliver row after row, behind the words that the rows' sums start from.
 */
#define PACKED_SIZE (RUN == 4 ? 1 : 2)

static int64_t padded(int64_t depth) { return (depth + 3) / 4 * 4; }

VEC_INLINE int32_t load_word(const void *p)
{
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

enum { SHORT = 1 << 20 }; /* so many bytes add up within 32 bits */

static int64_t sum(const int8_t *x, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i += SHORT) {
        const int64_t count = n - i < SHORT ? n - i : SHORT;
        int32_t part = 0;
        for (int64_t k = 0; k < count; k++)
            part += x[i + k];
        total += part;
    }
    return total;
}

VEC_INLINE sums_vector load_vector(const void *p)
{
    sums_vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void store_vector(void *p, sums_vector v) { __builtin_memcpy(p, &v, sizeof v); }

VEC_INLINE int32_t sum_lanes(sums_vector v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_add_epi32((__m512i)v);
#else
    int32_t lane[LANES], total = 0;
    store_vector(lane, v);
    for (int l = 0; l < LANES; l++)
        total += lane[l];
    return total;
#endif
}

/* Bytes as they are; on their way they are added up as the tile does it, times ones. */
static int32_t pack_bytes(int64_t depth, const int8_t *from, int8_t *to)
{
    sums_vector acc = BROADCAST(0);
    int64_t k = 0;
    for (; k + (int64_t)sizeof acc <= depth; k += (int64_t)sizeof acc) {
        const sums_vector bytes = load_vector(from + k);
        store_vector(to + k, bytes);
        acc = DOT(acc, BROADCAST(0x01010101), bytes);
    }
    int32_t total = sum_lanes(acc);
    for (; k < depth; k++)
        total += to[k] = from[k];
    for (; k < padded(depth); k++)
        to[k] = 0;
    return total;
}

static void pack_pairs(int64_t depth, const int8_t *from, int16_t *to)
{
    for (int64_t k = 0; k < depth; k++)
        to[k] = from[k];
    for (int64_t k = depth; k < padded(depth); k++)
        to[k] = 0;
}

static void pack_left(int64_t rows, int64_t depth, const int8_t *left, int64_t stride, void *sliver)
{
    int32_t *start = sliver;
    void *packed = start + ROWS;
    for (int64_t i = 0; i < rows; i++) {
        start[i] = 0;
        if (RUN == 4)
            start[i] =
                -128 * pack_bytes(depth, left + i * stride, (int8_t *)packed + i * padded(depth));
        else
            pack_pairs(depth, left + i * stride, (int16_t *)packed + i * padded(depth));
    }
}

/* One run of depth for every column of the panel; rows of zeros stand for depth that is not there.
 */
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

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
/* 32 columns at once: two rounds of interleaving within 128-bit lanes, and the lanes put in order.
 */
static void pack_whole_run(const int8_t *right, int64_t stride, void *out)
{
    const __m256i flip = _mm256_set1_epi8(-128);
    __m256i r0 = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)right), flip);
    __m256i r1 = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(right + 1 * stride)), flip);
    __m256i r2 = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(right + 2 * stride)), flip);
    __m256i r3 = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(right + 3 * stride)), flip);
    __m256i low01 = _mm256_unpacklo_epi8(r0, r1), high01 = _mm256_unpackhi_epi8(r0, r1);
    __m256i low23 = _mm256_unpacklo_epi8(r2, r3), high23 = _mm256_unpackhi_epi8(r2, r3);
    __m256i a = _mm256_unpacklo_epi16(low01, low23), b = _mm256_unpackhi_epi16(low01, low23);
    __m256i c = _mm256_unpacklo_epi16(high01, high23), d = _mm256_unpackhi_epi16(high01, high23);
    /* a: columns 0-3 and 16-19, b: 4-7 and 20-23, c: 8-11 and 24-27, d: 12-15 and 28-31 */
    _mm256_storeu_si256((__m256i *)out + 0, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256((__m256i *)out + 1, _mm256_permute2x128_si256(c, d, 0x20));
    _mm256_storeu_si256((__m256i *)out + 2, _mm256_permute2x128_si256(a, b, 0x31));
    _mm256_storeu_si256((__m256i *)out + 3, _mm256_permute2x128_si256(c, d, 0x31));
}
#elif defined(__AVXVNNI__)
/* 16 columns: two rounds of interleaving leave them in order. */
static void pack_whole_run(const int8_t *right, int64_t stride, void *out)
{
    __m128i row[4];
    for (int r = 0; r < 4; r++)
        row[r] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(right + r * stride)),
                               _mm_set1_epi8(-128));
    const __m128i low01 = _mm_unpacklo_epi8(row[0], row[1]),
                  high01 = _mm_unpackhi_epi8(row[0], row[1]);
    const __m128i low23 = _mm_unpacklo_epi8(row[2], row[3]),
                  high23 = _mm_unpackhi_epi8(row[2], row[3]);
    _mm_storeu_si128((__m128i *)out + 0, _mm_unpacklo_epi16(low01, low23));
    _mm_storeu_si128((__m128i *)out + 1, _mm_unpackhi_epi16(low01, low23));
    _mm_storeu_si128((__m128i *)out + 2, _mm_unpacklo_epi16(high01, high23));
    _mm_storeu_si128((__m128i *)out + 3, _mm_unpackhi_epi16(high01, high23));
}
#elif defined(__SSE2__)
/* Pairs, eight columns at a time: interleaved as bytes, then each with its sign to the left of it.
 */
static void pack_whole_run(const int8_t *right, int64_t stride, void *out)
{
    for (int j = 0; j < COLUMNS; j += 8) {
        const __m128i even = _mm_loadl_epi64((const __m128i *)(right + j));
        const __m128i odd = _mm_loadl_epi64((const __m128i *)(right + stride + j));
        const __m128i pairs = _mm_unpacklo_epi8(even, odd);
        __m128i *to = (__m128i *)out + j / 4;
        _mm_storeu_si128(to, _mm_srai_epi16(_mm_unpacklo_epi8(pairs, pairs), 8));
        _mm_storeu_si128(to + 1, _mm_srai_epi16(_mm_unpackhi_epi8(pairs, pairs), 8));
    }
}
#else
static void pack_whole_run(const int8_t *right, int64_t stride, void *out)
{
    const int8_t *rows[RUN];
    for (int r = 0; r < RUN; r++)
        rows[r] = right + r * stride;
    pack_run(rows, COLUMNS, out);
}
#endif

/* Sums of a packed panel's columns: a product with ones, less the sign bits that were flipped. */
static void add_columns(int64_t depth, int64_t columns, const char *panel, double *sums)
{
    const int64_t runs = padded(depth) / RUN;
    const int32_t flipped = RUN == 4 ? (int32_t)(128 * RUN * runs) : 0;
    sums_vector acc[VECTORS];
    UNROLL (v, 0, VECTORS) {
        acc[v] = BROADCAST(-flipped);
    }
    for (int64_t run = 0; run < runs; run++, panel += COLUMNS * RUN * PACKED_SIZE)
        UNROLL (v, 0, VECTORS) {
            acc[v] = DOT(acc[v], load_vector(panel + v * (int)sizeof acc[v]),
                         BROADCAST(RUN == 4 ? 0x01010101 : 0x00010001));
        }
    int32_t totals[COLUMNS];
    UNROLL (v, 0, VECTORS) {
        store_vector(totals + v * LANES, acc[v]);
    }
    for (int64_t j = 0; j < columns; j++)
        sums[j] += totals[j];
}

static void pack_right(int64_t depth, int64_t columns, const int8_t *right, int64_t stride,
                       void *panel, double *sums)
{
    static const int8_t zeros[COLUMNS];
    char *out = panel;
    int64_t k = 0;
    for (; columns == COLUMNS && k + RUN <= depth; k += RUN, out += COLUMNS * RUN * PACKED_SIZE)
        pack_whole_run(right + k * stride, stride, out);
    for (; k < padded(depth); k += RUN, out += COLUMNS * RUN * PACKED_SIZE) {
        const int8_t *rows[RUN];
        for (int r = 0; r < RUN; r++)
            rows[r] = k + r < depth ? right + (k + r) * stride : zeros;
        pack_run(rows, columns, out);
    }
    if (sums)
        add_columns(depth, columns, panel, sums);
}

VEC_INLINE void tile_of(const int rows, int64_t depth, const void *sliver, const void *panel,
                        int32_t *sums)
{
    const int32_t *start = sliver;
    const char *right = panel;
    const int64_t runs = padded(depth) / RUN, row_bytes = padded(depth) * PACKED_SIZE;
    const char *left[5]; /* every third row: x86 reaches the next two from there at no cost */
    UNROLL (i, 0, (rows + 2) / 3) {
        left[i] = (const char *)(start + ROWS) + 3 * i * row_bytes;
    }
    sums_vector acc[ROWS][VECTORS];
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            acc[i][v] = BROADCAST(start[i]);
        }
    }
    for (int64_t run = 0; run < runs; run++) {
        sums_vector words[VECTORS];
        UNROLL (v, 0, VECTORS) {
            words[v] = load_vector(right + v * (int)sizeof(sums_vector));
        }
        UNROLL (i, 0, rows) {
            const sums_vector word = BROADCAST(load_word(left[i / 3] + i % 3 * row_bytes));
            UNROLL (v, 0, VECTORS) {
                acc[i][v] = DOT(acc[i][v], words[v], word);
            }
        }
        UNROLL (i, 0, (rows + 2) / 3) {
            left[i] += RUN * PACKED_SIZE;
        }
        right += COLUMNS * RUN * PACKED_SIZE;
    }
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            store_vector(sums + i * COLUMNS + v * LANES, acc[i][v]);
        }
    }
}

/* One function a number of rows, so that every accumulator stays in a register. */
#define TILE(n) \
    static __attribute__((noinline)) void tile_##n(int64_t depth, const void *sliver, \
                                                   const void *panel, int32_t *sums) \
    { \
        tile_of(n, depth, sliver, panel, sums); \
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
        tile_1,
        tile_2,
        tile_3,
        tile_4,
#if defined(__AVX2__)
        tile_5,
        tile_6,
#endif
#if defined(__AVX512F__)
        tile_7,
        tile_8,
        tile_9,
        tile_10,
        tile_11,
        tile_12,
        tile_13,
        tile_14,
#endif
    };
    tiles[rows - 1](depth, sliver, panel, sums);
}

/* ------------------------------------------------- from sums to the result */

typedef int32_t words __attribute__((vector_size(4 * VEC_WIDTH)));

/* Without zero points, and all in one block: the sums fit as they are. */
VEC_INLINE void scale_sums(const bool by_row, double row_scale, const double *scales,
                           int64_t columns, const int32_t *sums, double *out)
{
    int64_t j = 0;
    for (; j + VEC_WIDTH <= columns; j += VEC_WIDTH) { /* unrolled where columns are a constant */
        words part;
        __builtin_memcpy(&part, sums + j, sizeof part);
        const vec scaled = __builtin_convertvector(part, vec) * vec_load(scales + j);
        vec_store(out + j, by_row ? scaled * row_scale : scaled);
    }
    for (; j < columns; j++)
        out[j] = by_row ? sums[j] * scales[j] * row_scale : sums[j] * scales[j];
}

/* The parts of the zero points taken off. All of this is integers below 2^53: exact in any order.
 */
VEC_INLINE vec decoded(const hm_int8_coding *c, int64_t row, int64_t j, size_t lanes, vec total)
{
    const vec zeros = vec_load_partial(c->zeros + j, lanes);
    const vec zero = vec_of(c->row_zeros[row]);
    total -= zeros * c->row_sums[row];
    if (c->sums)
        total -= zero * vec_load_partial(c->sums + j, lanes);
    total += zero * zeros * c->depth;
    /* lanes beyond the last column hold the zero point's part alone, and must not count */
    return lanes == VEC_WIDTH ? total : vec_load_partial((const double *)&total, lanes);
}

static bool finish_row(const hm_int8_coding *c, int64_t row, int64_t columns, const int32_t *sums,
                       bool first, bool last, double *out)
{
    vec_mask fits = vec_equal(vec_of(0.0), vec_of(0.0));
    for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
        const size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
        words part;
        __builtin_memcpy(&part, sums + j, sizeof part); /* sums are padded to whole panels */
        vec total = __builtin_convertvector(part, vec);
        if (lanes < VEC_WIDTH)
            total = vec_load_partial((const double *)&total, lanes);
        if (!first)
            total += vec_load_partial(out + j, lanes);
        if (last) {
            if (c->zeros)
                total = decoded(c, row, j, lanes, total);
            fits = vec_mask_and(fits, vec_less_equal(vec_of(-0x1p31), total));
            fits = vec_mask_and(fits, vec_less_equal(total, vec_of(0x1p31 - 1)));
            total *= vec_load_partial(c->scales + j, lanes);
            if (c->row_scales)
                total *= c->row_scales[row];
        }
        vec_store_partial(out + j, lanes, total);
    }
    return vec_mask_all(fits);
}

static bool finish(const hm_int8_coding *c, int64_t rows, int64_t columns, const int32_t *sums,
                   bool first, bool last, double *out, int64_t out_stride)
{
    bool fits = true;
    for (int64_t i = 0; i < rows; i++, sums += COLUMNS, out += out_stride)
        if (first && last && !c->zeros && c->row_scales)
            scale_sums(true, c->row_scales[i], c->scales, columns, sums, out);
        else if (first && last && !c->zeros && columns == COLUMNS)
            scale_sums(false, 1.0, c->scales, COLUMNS, sums, out);
        else if (first && last && !c->zeros)
            scale_sums(false, 1.0, c->scales, columns, sums, out);
        else
            fits &= finish_row(c, i, columns, sums, first, last, out);
    return fits;
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
