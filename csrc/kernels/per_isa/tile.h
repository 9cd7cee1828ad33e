/*
 * The tile: a few rows by a few vectors of results, held in registers while the contraction index
 * runs.
 *
 * Every result element is one chain acc <- fma(left_k, right_k, acc) in increasing k, starting from
 * +0 or from what an earlier block of k left in the result. That is all the contract asks, so tiles
 * of any height and width, and blocks of any depth, give the same bits.
 *
 * `rows`, `vectors` and the flags are constants wherever a tile is instantiated: everything unrolls
 * and the accumulators stay in registers (8 x 3 of the 32 registers of AVX-512 and NEON, 4 x 3 of
 * 16).
 */
#ifndef HM_TILE_H
#define HM_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/per_isa/unroll.h"
#include "kernels/vec/vec.h"

#if defined(__AVX512F__) || defined(__aarch64__)
enum { TILE_ROWS = 8 };
#else
enum { TILE_ROWS = 4 };
#endif
enum {
    TILE_VECTORS = 3,
    TILE_COLUMNS = TILE_VECTORS * VEC_WIDTH,
    LINE = 8,  /* doubles */
    AHEAD = 8, /* links from the one at hand to the one whose left elements are fetched */

    /*
     * A link of so few multiplications leaves no room for other instructions: where nothing is to be fetched
     * none says so, and two links go through the loop at once (128 links in L1 on Zen 3: 42 -> 44 of 46 GFLOP/s,
     * and more is gained while a neighbour uses the core's other thread).
     */
    TILE_IS_SMALL = TILE_ROWS * TILE_VECTORS <= 12,
};

typedef struct tile_job {
    int64_t depth;
    const double *left; /* (i, k) at left[i * left_row + k * left_step] */
    int64_t left_row, left_step;
    const double *right; /* (k, j) at right[k * right_step + j] */
    int64_t right_step;
    double *strip; /* depth rows of TILE_COLUMNS, if it keeps them */
    double *out;   /* (i, j) at out[i * out_row + j] */
    int64_t out_row;
    size_t lanes;           /* columns in the last vector */
    const double *next_out; /* of the tile after this one, if packed */
    const double *fetch;    /* to bring near: an address a link, or three if not packed; small tiles
                            may have NULL, for nothing */
    int64_t fetch_row;      /* from one of the three to the next */
    int64_t fetch_step;     /* from one link to the next */
    bool first;             /* start from +0, not from out */
    bool last;              /* add the biases and +0 */
    const double *row_bias, *column_bias; /* or NULL */
} tile_job;

/* One link of all the tile's chains. */
MATH_INLINE void tile_link(vec acc[8][8], const int rows, const int vectors, const bool partial,
                           const bool keeps, size_t lanes, const double *const left[3],
                           int64_t left_row, const double *right, double *strip)
{
    vec b[8];
    UNROLL (j, 0, vectors)
        b[j] = partial && j == vectors - 1 ? vec_load_partial(right + j * VEC_WIDTH, lanes)
                                           : vec_load(right + j * VEC_WIDTH);
    if (keeps)
        UNROLL (j, 0, vectors)
            vec_store(strip + j * VEC_WIDTH, b[j]);
    UNROLL (i, 0, rows) {
        const vec a = vec_broadcast(left[i / 3] + i % 3 * left_row);
        UNROLL (j, 0, vectors)
            acc[i][j] = vec_fma(a, b[j], acc[i][j]);
    }
}

/*
 * One tile. `packed`: left_row is 1 and left_step TILE_ROWS. `partial`: the last vector has fewer
 * columns than lanes, and nothing beyond them is read or written. `keeps`: leaves what it reads of
 * the right operand in `strip`. Returns whether all results are finite, if last.
 */
MATH_INLINE bool tile(const tile_job *t, const int rows, const int vectors, const bool packed,
                      const bool partial, const bool keeps)
{
    vec acc[8][8];
    const size_t lanes = t->lanes;
    UNROLL (i, 0, rows)
        UNROLL (j, 0, vectors) {
            const double *c = t->out + i * t->out_row + j * VEC_WIDTH;
            if (t->first)
                acc[i][j] = vec_of(0.0);
            else
                acc[i][j] = partial && j == vectors - 1 ? vec_load_partial(c, lanes) : vec_load(c);
        }

    /* Every third row: x86 reaches the next two from there at no cost. */
    const int64_t left_row = packed ? 1 : t->left_row;
    const int64_t left_step = packed ? TILE_ROWS : t->left_step;
    const double *left[3];
    UNROLL (i, 0, (rows + 2) / 3) {
        left[i] = t->left + 3 * i * left_row;
    }
    const double *right = t->right;
    if (packed) /* a large product: the next tile's results are far away (1024 cubed: +2 %) */
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                __builtin_prefetch(t->next_out + i * t->out_row + j * VEC_WIDTH, 1);
            }
        }
    const double *fetch = t->fetch;
    double *strip = t->strip;
    int64_t k = t->depth;
    if (TILE_IS_SMALL && !fetch) {
        _Pragma("GCC unroll 2") for (; k > 0; k--)
        {
            if (packed)
                __builtin_prefetch(left[0] + AHEAD * TILE_ROWS);
            tile_link(acc, rows, vectors, partial, keeps, lanes, left, left_row, right, strip);
            right += t->right_step;
            if (keeps)
                strip += TILE_COLUMNS;
            UNROLL (i, 0, (rows + 2) / 3) {
                left[i] += left_step;
            }
        }
    }
    for (; k > 0; k--) {
        if (packed) {
            __builtin_prefetch(left[0] + AHEAD * TILE_ROWS);
            __builtin_prefetch(fetch, 0, 2);
        } else {
            UNROLL (i, 0, 3) {
                __builtin_prefetch(fetch + i * t->fetch_row, 0, 2);
            }
        }
        fetch += t->fetch_step;
        tile_link(acc, rows, vectors, partial, keeps, lanes, left, left_row, right, strip);
        right += t->right_step;
        if (keeps)
            strip += TILE_COLUMNS;
        UNROLL (i, 0, (rows + 2) / 3) {
            left[i] += left_step;
        }
    }

    /* 0 * x is NaN for infinities and NaN, and stays it. One sum alone would be a chain of its own,
     * for which the next tile's chains would have to wait. */
    vec poison[8];
    UNROLL (j, 0, vectors)
        poison[j] = vec_of(0.0);
    if (t->last) {
        if (t->column_bias)
            UNROLL (j, 0, vectors) {
                const double *bias = t->column_bias + j * VEC_WIDTH;
                const vec b =
                    partial && j == vectors - 1 ? vec_load_partial(bias, lanes) : vec_load(bias);
                UNROLL (i, 0, rows)
                    acc[i][j] += b;
            }
        if (t->row_bias)
            UNROLL (i, 0, rows) {
                UNROLL (j, 0, vectors)
                    acc[i][j] += vec_broadcast(t->row_bias + i);
            }
        UNROLL (i, 0, rows)
            UNROLL (j, 0, vectors) {
                acc[i][j] += vec_of(0.0);
                poison[j] = vec_fma(acc[i][j], vec_of(0.0), poison[j]);
            }
    }
    UNROLL (i, 0, rows)
        UNROLL (j, 0, vectors) {
            double *c = t->out + i * t->out_row + j * VEC_WIDTH;
            if (partial && j == vectors - 1)
                vec_store_partial(c, lanes, acc[i][j]);
            else
                vec_store(c, acc[i][j]);
        }
    UNROLL (j, 1, vectors)
        poison[0] += poison[j];
    return !vec_mask_any(vec_is_nan(poison[0]));
}

#endif
