/*
 * Products of 8-bit integer matrices, exact.
 *
 * A tile computes sums of products over at most HM_INT8_DEPTH steps in wrapping 32-bit arithmetic; their
 * exact value fits, so however an instruction set gets there, wrapping on the way or not, the result is
 * the same. Blocks of depth are added up in doubles, which hold integers below 2^53 exactly.
 */
#ifndef HM_INT8_KERNELS_H
#define HM_INT8_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2^16 products of at most 2^14 stay below 2^31. */
enum { HM_INT8_DEPTH = 1 << 16 };

/* 255 * 255 times this is the last sum of (a - za)(b - zb) below 2^31. */
enum { HM_INT8_SAFE_DEPTH = 33025 };

/* What turns a row of sums of q*q into a row of the result. */
typedef struct hm_int8_row {
    double zero;    /* zero point of the left row */
    double sum;     /* of the left row's integers */
    double depth;
    double scale;   /* of the left row */
    const double *zeros, *sums, *scales; /* the same of each right column */
    bool plain; /* no zero point on either side, and a depth at which no sum can leave 32 bits */
} hm_int8_row;

typedef struct hm_int8_kernels {
    int32_t tile_rows, tile_columns;

    /* Bytes of one step of depth in a packed sliver and panel, for a depth that is a multiple of 4. */
    size_t left_step, right_step;

    /* rows <= tile_rows, row-major with the given stride, into a sliver. */
    void (*pack_left)(int64_t rows, int64_t depth, const int8_t *left, int64_t stride, void *sliver);

    /* columns <= tile_columns of a row-major matrix, into a panel; sums[j] += the sum of column j. */
    void (*pack_right)(int64_t depth, int64_t columns, const int8_t *right, int64_t stride, void *panel,
                       double *sums);

    /* sums[i * tile_columns + j] over the depth of one block; all tile_columns columns are written. */
    void (*tile)(int64_t rows, int64_t depth, const void *sliver, const void *panel, int32_t *sums);

    /* The sum of n integers. */
    int64_t (*sum)(const int8_t *x, int64_t n);

    /*
     * total = sums + what `out` holds already (unless `first`); kept in out or, if `last`, turned into
     * sum of (a - za)(b - zb) = total - zb*sum_a - za*sum_b + depth*za*zb, and out = that * scale_a *
     * scale_b. False where that sum is no signed 32-bit integer (looked at if last).
     */
    bool (*finish)(const hm_int8_row *row, int64_t columns, const int32_t *sums, bool first, bool last,
                   double *out);
} hm_int8_kernels;

#endif
