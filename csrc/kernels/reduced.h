/*
 * Products in 16-bit formats: operands rounded from double to FP16 or BF16 in one rounding, products
 * accumulated in binary32.
 *
 * The law: each element is one chain acc <- fmaf(left_k, right_k, acc) in increasing k from +0; then +0 is
 * added, so that -0 becomes +0. It is kept in the double result, which holds every binary32 number, between
 * blocks of depth.
 */
#ifndef HM_REDUCED_KERNELS_H
#define HM_REDUCED_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* A binary format that a double is rounded to. */
typedef struct hm_reduced_format {
    int32_t precision; /* significant bits: 11, 8 */
    int32_t least;     /* exponent of the smallest normal number: -14, -126 */
    double largest;    /* the largest finite number */
} hm_reduced_format;

/*
 * Words between the rows of a sliver: a line of cache, without which rows a power of two apart would all
 * fall into one set of L1.
 */
enum { HM_SLIVER_GAP = 16 };

typedef struct hm_reduced_kernels {
    int32_t tile_rows, tile_columns;
    int32_t step; /* steps of depth in one packed word */

    /*
     * out[i] = x[i] rounded to the format: to nearest, ties to even, subnormals kept. False where a
     * number rounds to infinity. x finite. NULL in reduced_pairs.
     */
    bool (*round)(const hm_reduced_format *format, const double *x, int64_t n, float *out);

    /*
     * The same for a block of `words` = depth / step, rounded up. Rows <= tile_rows, row-major with the given
     * stride, into a sliver of tile_rows * (words + HM_SLIVER_GAP); columns of a row-major matrix into
     * panels of words * tile_columns, `panel` words apart. In reduced_pairs: false where a number is not
     * moderate, and format is BF16.
     */
    bool (*pack_left)(const hm_reduced_format *format, int64_t rows, int64_t depth,
                      const double *left, int64_t stride, float *sliver);
    bool (*pack_right)(const hm_reduced_format *format, int64_t depth, int64_t columns,
                       const double *right, int64_t stride, float *panels, int64_t panel);

    /*
     * A sliver of rows times the panels of some columns: continue the chains in out (rows x columns), or
     * start them; false where one of them is no longer finite. Blocks of depth but the last are multiples of
     * step.
     */
    bool (*multiply)(int64_t rows, int64_t columns, int64_t depth, const float *sliver,
                     const float *panels, int64_t panel, bool first, double *out,
                     int64_t out_stride);

    /* Does this processor keep the law in these kernels? NULL where there is no doubt. */
    bool (*proved)(void);
} hm_reduced_kernels;

#endif
