/*
 * From the sums of tiles, COLUMNS to a row, to results; and the walk along the panels, which is the same for
 * every kind of tile.
 */
#ifndef HM_INT8_RESULTS_H
#define HM_INT8_RESULTS_H

#include "kernels/int8.h"
#include "kernels/per_isa/int8_dot.h"
#include "kernels/per_isa/unroll.h"

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

/*
 * Results are twice the size of sums, and storing them in one go would wait for the caches. So the tile
 * before this one is finished, row by row, while this one's sums are made, and the lines that this
 * one's results go to are fetched for the next. `before` may be NULL.
 */
typedef void (*tile_function)(int64_t depth, const void *sliver, const void *panel, int32_t *sums,
                              const plain_sums *before, const double *out, int64_t out_stride);

VEC_INLINE bool multiply_with(tile_function tile, const hm_int8_coding *coding, int64_t rows,
                              int64_t columns, int64_t depth, const void *sliver,
                              const void *panels, size_t panel_bytes, bool first, bool last,
                              double *out, int64_t out_stride)
{
    _Alignas(64) int32_t sums[2][ROWS * COLUMNS];
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

#endif
