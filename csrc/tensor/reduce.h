/*
 * The tree over blocks: the second half of the contract's order of summation (kernels/reduce.h has
 * the first). Neighbouring blocks' results are joined round by round, an odd last one passing up
 * unchanged. Threads take aligned groups of 2^k blocks, whole subtrees, so they change nothing.
 *
 * No function here fails or allocates. Where an input is not finite, or the exact result is no
 * double, the result is infinite or NaN; whoever called finds out which and reports it. A sum whose
 * partial results leave the range of a double is taken again over the same elements times a power
 * of two.
 */
#ifndef HM_TENSOR_REDUCE_H
#define HM_TENSOR_REDUCE_H

#include "kernels/kernels.h"
#include "runtime/status.h"
#include "tensor/wide.h"

/* What one block comes to; the reduction says what stands in it. */
typedef struct hm_partial {
    double of[4];
} hm_partial;

typedef struct hm_reduction {
    void (*block)(const void *job, int64_t first, int64_t n, hm_partial *out); /* n <= HM_BLOCK */
    void (*join)(hm_partial *left, const hm_partial *right); /* left takes right in */
} hm_reduction;

/* Add each of the four numbers: the join of plain sums. */
void hm_join_sums(hm_partial *left, const hm_partial *right);

/* Join {high, low}: what the sum of the high parts rounds away goes into the low one. */
void hm_join_exp_sums(hm_partial *left, const hm_partial *right);

/* Join {mean, sum of squared deviations, count}. */
void hm_join_moments(hm_partial *left, const hm_partial *right);

/* Reduce elements 0 ... n-1, n >= 1: on this thread, or on the context's. The same bits. */
void hm_reduce_here(const hm_reduction *how, const void *job, int64_t n, hm_partial *out);
void hm_reduce(const hm_context *ctx, const hm_reduction *how, const void *job, int64_t n,
               hm_partial *out);

/* Where elements are: a stride apart, and to be read times 2^shift. */
typedef struct hm_source {
    const double *first;
    int64_t stride;
    int shift;
} hm_source;

/* Elements at ... at+n-1, n <= HM_BLOCK: where they stand, or gathered and shifted in `room`. */
const double *hm_read_block(const hm_source *from, int64_t at, int64_t n, double room[HM_BLOCK]);

/*
 * One row on this thread, or on the threads of a context with the same bits. Results are wide, so
 * that a norm or a mean is in range whenever its exact value is. 0 of nothing.
 */
typedef enum hm_row_sum {
    HM_ROW_SUM,      /* of x */
    HM_ROW_ABSOLUTE, /* of |x| */
    HM_ROW_SQUARES,  /* of x^2 */
    HM_ROW_DOT,      /* of x*y */
    HM_ROW_DISTANCE  /* of (x - y)^2 */
} hm_row_sum;

hm_wide hm_sum_row(const hm_kernels *k, hm_row_sum of, const double *x, const double *y, int64_t n);
/* The same as a double, infinite where it is none: for short rows by the hundred. */
double hm_sum_row_rounded(const hm_kernels *k, hm_row_sum of, const double *x, const double *y,
                          int64_t n);
hm_wide hm_sum_row_threads(const hm_context *ctx, hm_row_sum of, const double *x, const double *y,
                           int64_t n);

/* Three of them in one reading, on the context's threads: squares of x, squares of y, and dot. */
typedef struct hm_row_products {
    hm_wide xx, yy, xy;
} hm_row_products;

hm_row_products hm_sum_row_products(const hm_context *ctx, const double *x, const double *y,
                                    int64_t n);

/*
 * Mean and sum of squared deviations of x * 2^*shift over a row, n >= 1. The shift is 0 unless the
 * sum of squares would leave the range of a double, or come near losing terms below it. Nothing
 * deviates in a constant row, to the last bit.
 */
hm_moments hm_moments_row(const hm_kernels *k, const double *x, int64_t n, int *shift);

/* The same, and the sum of squares, times a power of two of the caller's choice; ctx NULL: on this
 * thread. */
hm_moments hm_moments_shifted(const hm_context *ctx, const hm_kernels *k, const double *x,
                              int64_t n, int shift);
double hm_square_sum_shifted(const hm_context *ctx, const hm_kernels *k, const double *x, int64_t n,
                             int shift);

/*
 * Along the middle axis of (outer, extent, inner), on the context's threads: out is (outer, inner).
 * Sums are divided by `divisor`: 1 for a sum, extent for a mean. Maxima and minima need
 * extent >= 1.
 */
void hm_axis_sum(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                 int64_t inner, double divisor, double *out);
void hm_axis_maximum(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                     int64_t inner, double *out);
void hm_axis_minimum(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                     int64_t inner, double *out);

/* Mean and variance (sum of squared deviations over `divisor`); either may be NULL. extent >= 1. */
void hm_axis_moments(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                     int64_t inner, double divisor, double *mean, double *variance);

#endif
