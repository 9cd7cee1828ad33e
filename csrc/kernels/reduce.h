/*
 * Sums, extremes and moments: the one place, with its driver, where the numerics contract's order
 * of summation is written down.
 *
 * A sum of n terms runs in blocks of HM_BLOCK. Inside a block, term i is added to lane i mod 32,
 * each lane from +0 in increasing i; then lanes fold 16, 8, 4, 2, 1 (lane i takes lane i + 16,
 * ...). The blocks' results are combined by a tree that pairs neighbours round by round
 * (tensor/reduce.h). So a result depends on its terms and their number alone.
 *
 * Pointers need the alignment of a double. Inputs are only read; outputs overlap nothing. n may be
 * 0. An element that is not finite makes a sum of it infinite or NaN, never a plausible number.
 */
#ifndef HM_REDUCE_KERNELS_H
#define HM_REDUCE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum { HM_LANES = 32, HM_BLOCK = 4096 };

/* Mean and sum of squared deviations from it, of as many elements as the context says. */
typedef struct hm_moments {
    double mean, squares;
} hm_moments;

/* Sums of x*x, y*y and x*y. */
typedef struct hm_products {
    double xx, yy, xy;
} hm_products;

/* What is left of y when its part along x is taken away: sums over r = y - c*x. */
typedef struct hm_residual {
    double squares, along; /* r*r and r*x */
} hm_residual;

typedef struct hm_reduce_kernels {
    /* One block: 0 <= n <= HM_BLOCK. */
    double (*sum)(const double *x, int64_t n);
    double (*absolute_sum)(const double *x, int64_t n);

    /*
     * A block in pieces: x[i] is added to lane (done + i) mod 32, in increasing i; nothing is
     * folded.
     */
    void (*add_to_lanes)(const double *x, int64_t n, int64_t done, double lanes[HM_LANES]);
    double (*square_sum)(const double *x, int64_t n);
    double (*dot)(const double *x, const double *y, int64_t n);
    double (*distance)(const double *x, const double *y, int64_t n); /* of (x - y)^2 */
    hm_products (*products)(const double *x, const double *y, int64_t n);
    hm_residual (*residual)(double c, const double *x, const double *y, int64_t n);
    hm_moments (*moments)(const double *x,
                          int64_t n); /* n >= 1; the mean to about an ulp of its own */

    /* Any n. Zeros come out as +0; NaN where an element is not finite; -infinity and 0 of nothing.
     */
    double (*maximum)(const double *x, int64_t n);
    double (*minimum)(const double *x, int64_t n); /* +infinity of nothing */
    double (*largest_magnitude)(const double *x, int64_t n);

    /* Is low <= x[i] <= high for all i? False where one is NaN. */
    bool (*within)(const double *x, int64_t n, double low, double high);

    /* Is every x[i] one of two numbers? */
    bool (*either)(const double *x, int64_t n, double one, double other);

    /*
     * The same down the columns of a matrix: out[j] over x[i*stride + j], i < rows <= HM_BLOCK, the
     * bits of the kernel above on column j.
     */
    void (*column_sums)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                        double *out);
    void (*column_moments)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           hm_moments *out); /* rows >= 1 */
    void (*column_maxima)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                          double *out);
    void (*column_minima)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                          double *out);
} hm_reduce_kernels;

#endif
