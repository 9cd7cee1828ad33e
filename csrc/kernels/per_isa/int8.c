/*
 * Integer products in vectors. A tile multiplies words of the right operand by one of the left in every
 * lane. With VNNI the right one is unsigned, q + 128; the 128 * sum of the left bytes that this adds is
 * taken off before the first step.
 */
#include "kernels/int8.h"

#include <string.h>

#include "kernels/per_isa/int8_pack.h"
#include "kernels/per_isa/int8_results.h"
#include "kernels/per_isa/isa.h"

/* ------------------------------------------------- slivers: row after row, behind what their sums start from */

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

/* ------------------------------------------------- the tile */

VEC_INLINE int32_t load_word(const void *p)
{
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

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
static const tile_function tiles[ROWS / 2 + 1] = {
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
    return multiply_with(tiles[rows == 1 ? 0 : (rows + 1) / 2], coding, rows, columns, depth,
                         sliver, panels, panel_bytes, first, last, out, out_stride);
}

extern const hm_int8_kernels HM_K(int8);
const hm_int8_kernels HM_K(int8) = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = UNIT,
    .left_step = ROWS * PACKED_SIZE,
    .right_step = COLUMNS * PACKED_SIZE,
    .left_head = ROWS * sizeof(int32_t),
    .pack_left = pack_left,
    .pack_right = pack_right,
    .multiply = multiply,
    .sum = sum,
};
