/*
 * Products of 8-bit integer matrices, exact.
 *
 * A tile computes sums of products over at most HM_INT8_DEPTH steps in wrapping 32-bit arithmetic;
 * their exact value fits, so however an instruction set gets there, wrapping on the way or not, the
 * result is the same. Blocks of depth are added up in doubles, which hold integers below 2^53
 * exactly.
 */
#ifndef HM_INT8_KERNELS_H
#define HM_INT8_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2^16 products of at most 2^14 stay below 2^31. */
enum { HM_INT8_DEPTH = 1 << 16 };

/* What turns sums of q*q into results: zero point, sum of the integers, and scale of each row and
 * column. */
typedef struct hm_int8_coding {
    const double *row_zeros, *row_sums, *row_scales; /* row_scales NULL: all 1 */
    const double *zeros, *sums, *scales; /* of the columns; zeros NULL: no zero points anywhere;
                                            sums NULL: none in rows */
    double depth;
} hm_int8_coding;

typedef struct hm_int8_kernels {
    int32_t tile_rows, tile_columns;
    int32_t unit; /* packed depth is a multiple of it */

    /*
     * Ask the system, once a process, for the registers that these kernels take; false where it refuses.
     * Nothing else of them may be called before. NULL where there is nothing to ask for.
     */
    bool (*granted)(void);

    /* Bytes of one step of depth in a packed sliver and panel; a sliver has left_head bytes more. */
    size_t left_step, right_step, left_head;

    /* rows <= tile_rows, row-major with the given stride, into a sliver. */
    void (*pack_left)(int64_t rows, int64_t depth, const int8_t *left, int64_t stride,
                      void *sliver);

    /*
     * Columns of a row-major matrix into panels of tile_columns, panel_bytes apart. sums[j] += the sum of
     * column j, unless sums is NULL.
     */
    void (*pack_right)(int64_t depth, int64_t columns, const int8_t *right, int64_t stride,
                       void *panels, size_t panel_bytes, double *sums);

    /*
     * A sliver of rows times the panels of some columns, over the depth of one block. total = the sums of
     * products + what `out` holds already (unless `first`); kept in out or, if `last`, turned into
     * sum of (a - za)(b - zb) = total - zb*sum_a - za*sum_b + depth*za*zb, and out = that * scale_b *
     * scale_a. False where that sum is no signed 32-bit integer (looked at if last).
     */
    bool (*multiply)(const hm_int8_coding *coding, int64_t rows, int64_t columns, int64_t depth,
                     const void *sliver, const void *panels, size_t panel_bytes, bool first,
                     bool last, double *out, int64_t out_stride);

    /* The sum of n integers. */
    int64_t (*sum)(const int8_t *x, int64_t n);
} hm_int8_kernels;

#endif
