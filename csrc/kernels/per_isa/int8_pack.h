/*
 * The right operand of integer products in panels, which hold run by run a word of each column; and sums of
 * integers.
 */
#ifndef HM_INT8_PACK_H
#define HM_INT8_PACK_H

#include "kernels/per_isa/int8_dot.h"
#include "kernels/per_isa/unroll.h"

/* VNNI wants one operand unsigned: q + 128. */
enum { FLIP = RUN == 4 && UNIT == 4 ? -128 : 0 };

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

/* One run of depth for every column of the panel; rows of zeros stand for depth that is not there.
 */
static __attribute__((noinline)) void pack_run(const int8_t *const rows[RUN], int64_t columns,
                                               void *out)
{
    for (int64_t j = 0; j < COLUMNS; j++) {
        for (int r = 0; r < RUN; r++) {
            const int8_t q = j < columns ? rows[r][j] : 0;
            if (RUN == 4)
                ((uint8_t *)out)[j * RUN + r] = (uint8_t)(q ^ FLIP);
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
    const __m256i flip = _mm256_set1_epi8(FLIP);
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
                               _mm_set1_epi8(FLIP));
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

/*
 * Sums of a packed panel's columns: a product with ones, which are the unsigned operand where the panel is
 * signed, less the sign bits that were flipped.
 */
static __attribute__((noinline)) void add_columns(int64_t depth, int64_t columns, const char *panel,
                                                  double *sums)
{
    const int64_t runs = padded(depth) / RUN;
    const int32_t flipped = FLIP ? (int32_t)(128 * RUN * runs) : 0;
    const sums_vector ones = BROADCAST(RUN == 4 ? 0x01010101 : 0x00010001);
    sums_vector acc[VECTORS];
    UNROLL (v, 0, VECTORS) {
        acc[v] = BROADCAST(-flipped);
    }
    for (int64_t run = 0; run < runs; run++, panel += COLUMNS * RUN * PACKED_SIZE)
        UNROLL (v, 0, VECTORS) {
            const sums_vector words = load_vector(panel + v * (int)sizeof acc[v]);
            acc[v] = FLIP ? DOT(acc[v], words, ones) : DOT(acc[v], ones, words);
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
        for (; k >= depth && j < columns; j += COLUMNS, to += panel_bytes)
            __builtin_memset(to, 0, COLUMNS * RUN * PACKED_SIZE);
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

#endif
