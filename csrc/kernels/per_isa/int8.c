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

/* Tiles have an even number of rows, or one: the last row is there twice where it has to be. */
static void pack_left(int64_t rows, int64_t depth, const int8_t *left, int64_t stride, void *sliver)
{
    int32_t *start = sliver;
    void *packed = start + ROWS;
    for (int64_t i = 0; i < rows + (rows > 1 && rows % 2); i++) {
        const int8_t *from = left + (i < rows ? i : rows - 1) * stride;
        start[i] = 0;
        if (RUN == 4)
            start[i] = -128 * pack_bytes(depth, from, (int8_t *)packed + i * padded(depth));
        else
            pack_pairs(depth, from, (int16_t *)packed + i * padded(depth));
    }
}

/* One run of depth for every column of the panel; rows of zeros stand for depth that is not there.
 */
static __attribute__((noinline)) void pack_run(const int8_t *const rows[RUN], int64_t columns,
                                               void *out)
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
static __attribute__((noinline)) void add_columns(int64_t depth, int64_t columns, const char *panel,
                                                  double *sums)
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

/* A few panels at a time: whole lines of the operand are read, and not too many places written to. */
static void pack_panels(int64_t depth, int64_t columns, const int8_t *right, int64_t stride,
                        char *out, size_t panel_bytes)
{
    static const int8_t zeros[COLUMNS];
    for (int64_t k = 0; k < padded(depth); k += RUN, out += COLUMNS * RUN * PACKED_SIZE) {
        int64_t j = 0;
        char *to = out;
        if (k + RUN <= depth)
            for (; j + COLUMNS <= columns; j += COLUMNS, to += panel_bytes)
                pack_whole_run(right + k * stride + j, stride, to);
        for (; j < columns; j += COLUMNS, to += panel_bytes) {
            const int8_t *rows[RUN];
            for (int r = 0; r < RUN; r++)
                rows[r] = k + r < depth ? right + (k + r) * stride + j : zeros;
            pack_run(rows, columns - j < COLUMNS ? columns - j : COLUMNS, to);
        }
    }
}

static void pack_right(int64_t depth, int64_t columns, const int8_t *right, int64_t stride,
                       void *panels, size_t panel_bytes, double *sums)
{
    enum { SOME = 4 * COLUMNS };
    char *panel = panels;
    for (int64_t j = 0; j < columns; j += SOME)
        pack_panels(depth, columns - j < SOME ? columns - j : SOME, right + j, stride,
                    panel + (size_t)(j / COLUMNS) * panel_bytes, panel_bytes);
    for (int64_t j = 0; sums && j < columns; j += COLUMNS, panel += panel_bytes)
        add_columns(depth, columns - j < COLUMNS ? columns - j : COLUMNS, panel, sums + j);
}

/* ------------------------------------------------- from sums to results */

#if defined(__AVX512F__)
/* GCC 12 makes two halves of the conversion. */
VEC_INLINE vec load_sums(const int32_t *sums)
{
    return _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)sums));
}
#else
VEC_INLINE vec load_sums(const int32_t *sums)
{
    typedef int32_t words __attribute__((vector_size(4 * VEC_WIDTH)));
    words part;
    __builtin_memcpy(&part, sums, sizeof part);
    return __builtin_convertvector(part, vec);
}
#endif

/* Sums of a whole tile that need nothing but their scales: no zero points, all depth in one block. */
typedef struct plain_sums {
    int64_t rows;
    const int32_t *sums;
    const double *row_scales, *scales; /* row_scales NULL: all 1 */
    double *out;
    int64_t out_stride;
} plain_sums;

VEC_INLINE void scale_row(const plain_sums *p, int64_t row)
{
    const int32_t *sums = p->sums + row * COLUMNS;
    double *out = p->out + row * p->out_stride;
    UNROLL (j, 0, COLUMNS / VEC_WIDTH) {
        vec x = load_sums(sums + j * VEC_WIDTH) * vec_load(p->scales + j * VEC_WIDTH);
        if (p->row_scales)
            x *= vec_broadcast(p->row_scales + row);
        vec_store(out + j * VEC_WIDTH, x);
    }
}

/* What is off the range of 32-bit integers shows in the least and the most of all totals. */
typedef struct span {
    vec least, most;
} span;

/*
 * Any other sums of a row: `lanes` of them from column j on. With a zero point za of the row and zb of a
 * column,
 *
 *     sum of (a - za)(b - zb) = total - za * sum_b + zb * (depth * za - sum_a)
 *
 * All of this is integers below 2^53: exact in any order.
 */
VEC_INLINE void decode_lanes(const hm_int8_coding *c, int64_t row, int64_t j, size_t lanes,
                             const int32_t *sums, bool first, bool last, double *out, span *totals)
{
    vec total = load_sums(sums + j); /* they are padded to whole panels */
    if (!first)
        total += vec_load_partial(out + j, lanes);
    if (last) {
        if (c->zeros)
            total += vec_load_partial(c->zeros + j, lanes) *
                     vec_of(c->depth * c->row_zeros[row] - c->row_sums[row]);
        if (c->sums)
            total -= vec_load_partial(c->sums + j, lanes) * vec_of(c->row_zeros[row]);
        if (lanes < VEC_WIDTH) /* no column stands for 0 */
            total = vec_load_partial((const double *)&total, lanes);
        totals->least = vec_min(totals->least, total);
        totals->most = vec_max(totals->most, total);
        total *= vec_load_partial(c->scales + j, lanes);
        if (c->row_scales)
            total *= vec_of(c->row_scales[row]);
    }
    vec_store_partial(out + j, lanes, total);
}

static __attribute__((noinline)) bool decode(const hm_int8_coding *c, int64_t rows, int64_t columns,
                                             const int32_t *sums, bool first, bool last,
                                             double *out, int64_t out_stride)
{
    span totals = {vec_of(0.0), vec_of(0.0)};
    for (int64_t i = 0; i < rows; i++, sums += COLUMNS, out += out_stride) {
        int64_t j = 0;
        for (; j + VEC_WIDTH <= columns; j += VEC_WIDTH)
            decode_lanes(c, i, j, VEC_WIDTH, sums, first, last, out, &totals);
        if (j < columns)
            decode_lanes(c, i, j, (size_t)(columns - j), sums, first, last, out, &totals);
    }
    return vec_mask_all(vec_mask_and(vec_less_equal(vec_of(-0x1p31), totals.least),
                                     vec_less_equal(totals.most, vec_of(0x1p31 - 1))));
}

/* ------------------------------------------------- the tile */

/*
 * Results are twice the size of sums, and storing them in one go would wait for the caches. So the tile
 * before this one is finished, row by row, while this one's sums are made, and the lines that this
 * one's results go to are fetched for the next. `before` may be NULL.
 */
VEC_INLINE void tile_of(const int rows, int64_t depth, const void *sliver, const void *panel,
                        int32_t *sums, const plain_sums *before, const double *out,
                        int64_t out_stride)
{
    enum { LINE = 8 };
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
    int64_t run = 0;
    for (int64_t row = 0; row < rows; row++) {
        for (const int64_t end = runs * (row + 1) / rows; run < end; run++) {
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
        UNROLL (j, 0, COLUMNS / LINE) {
            __builtin_prefetch(out + j * LINE, 1);
        }
        out += out_stride;
        if (before && row < before->rows)
            scale_row(before, row);
    }
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            store_vector(sums + i * COLUMNS + v * LANES, acc[i][v]);
        }
    }
}

/* One function a number of rows, so that every accumulator stays in a register; HEIGHTS are even. */
#define TILE(n) \
    static __attribute__((noinline)) void tile_##n( \
        int64_t depth, const void *sliver, const void *panel, int32_t *sums, \
        const plain_sums *before, const double *out, int64_t out_stride) \
    { \
        tile_of(n, depth, sliver, panel, sums, before, out, out_stride); \
    }
TILE(1)
TILE(2)
TILE(4)
#if defined(__AVX2__)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(8)
TILE(10)
TILE(12)
TILE(14)
#endif
#undef TILE

/* By half the number of rows. */
static void (*const tiles[ROWS / 2 + 1])(int64_t, const void *, const void *, int32_t *,
                                         const plain_sums *, const double *, int64_t) = {
    tile_1, tile_2,  tile_4,
#if defined(__AVX2__)
    tile_6,
#endif
#if defined(__AVX512F__)
    tile_8, tile_10, tile_12, tile_14,
#endif
};

static bool multiply(const hm_int8_coding *coding, int64_t rows, int64_t columns, int64_t depth,
                     const void *sliver, const void *panels, size_t panel_bytes, bool first,
                     bool last, double *out, int64_t out_stride)
{
    int32_t sums[2][ROWS * COLUMNS];
    void (*const tile)(int64_t, const void *, const void *, int32_t *, const plain_sums *,
                       const double *, int64_t) = tiles[rows == 1 ? 0 : (rows + 1) / 2];
    const bool plain = first && last && !coding->zeros;
    hm_int8_coding here = *coding;
    plain_sums before;
    bool fits = true, waiting = false;
    for (int64_t j = 0; j < columns; j += COLUMNS) {
        int32_t *these = sums[j / COLUMNS % 2];
        const int64_t count = columns - j < COLUMNS ? columns - j : COLUMNS;
        tile(depth, sliver, panels, these, waiting ? &before : NULL, out, out_stride);
        waiting = plain && count == COLUMNS;
        if (waiting)
            before = (plain_sums){rows, these, here.row_scales, here.scales, out, out_stride};
        else
            fits &= decode(&here, rows, count, these, first, last, out, out_stride);
        panels = (const char *)panels + panel_bytes;
        out += COLUMNS;
        here.scales += COLUMNS;
        if (here.zeros)
            here.zeros += COLUMNS;
        if (here.sums)
            here.sums += COLUMNS;
    }
    for (int64_t i = 0; waiting && i < rows; i++)
        scale_row(&before, i);
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
    .multiply = multiply,
    .sum = sum,
};
