/*
 * Windows that slide over rows: many outputs at once, one term of their windows at a time. Term t
 * of output i is tap[t][i]. Nothing overlaps; pointers need the alignment of a double; n may be 0.
 * Elements are finite (checked before).
 */
#ifndef HM_POOL_KERNELS_H
#define HM_POOL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hm_pool_kernels {
    /* out[i]: the largest term, taps >= 1. A zero comes out as +0. */
    void (*maxima)(const double *const *tap, int64_t taps, int64_t n, double *out);

    /*
     * out[i]: the sum of the terms divided by `taps`, 1 <= taps <= HM_BLOCK. The sum is that of one
     * block of the contract (kernels/reduce.h): the bits of reduce->sum over the terms in order.
     * False where a result is not finite.
     */
    bool (*means)(const double *const *tap, int64_t taps, int64_t n, double *out);

    /*
     * The 2 x 2 windows side by side, by far the most common. Of `rows` rows of n windows each, row r
     * has the cells of the rows at x + 2*r*pitch and pitch behind it; window i of these is top[2i],
     * top[2i+1], bottom[2i], bottom[2i+1], in this order. Results lie row after row.
     *
     * The bits of the two above; but no cell counts as less than `floor`: -infinity, or 0, which
     * rectifies what is pooled.
     */
    void (*square_maxima)(const double *x, int64_t pitch, int64_t rows, int64_t n, double floor,
                          double *out);
    bool (*square_means)(const double *x, int64_t pitch, int64_t rows, int64_t n, double *out);

    /*
     * The derivative of square_maxima, with its `floor`. The first cell of the largest gets its window's number from `from`,
     * plus +0, times 0 where it is not above the floor; the other three get +0. `to` lies as x does.
     */
    void (*square_scatter)(const double *x, int64_t pitch, int64_t rows, int64_t n, double floor,
                           const double *from, double *to);

    /* Every stride-th element: out[p*pitch + i] = x[i*stride + p] for i*stride + p < n, p < stride.
     */
    void (*split)(const double *x, int64_t n, int64_t stride, int64_t pitch, double *out);
} hm_pool_kernels;

#endif
