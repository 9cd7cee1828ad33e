/*
 * Normalisation of rows and channels, on the reduction kernels' moments (kernels/reduce.h).
 */
#ifndef HM_NORM_KERNELS_H
#define HM_NORM_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct hm_norm_kernels {
    /*
     * Rows of 1 <= n <= HM_BLOCK elements, each by its own mean and population variance:
     * (x - mean) * (1 / sqrt(variance + epsilon)); without the mean, x * (1 / sqrt(mean of x^2 +
     * epsilon)). They stop at a row whose sums leave the comfortable range, unless it is all zeros:
     * it takes a slower way (tensor/normalize.h). They return how many rows are done. epsilon > 0.
     * Here and below results may be written past the caches where they go `aside`: settle() before
     * another thread may look.
     */
    int64_t (*layer_rows)(const double *x, int64_t rows, int64_t n, double epsilon, bool aside,
                          double *out);
    int64_t (*rms_rows)(const double *x, int64_t rows, int64_t n, double epsilon, bool aside,
                        double *out);

    /* (x - mean) * by. Any n; out may be x. */
    void (*standardize)(const double *x, int64_t n, double mean, double by, bool aside,
                        double *out);

    /* The same times gamma plus beta, fused. Returns whether every result is finite. */
    bool (*affine)(const double *x, int64_t n, double mean, double by, double gamma, double beta,
                   bool aside, double *out);

    /* The latter with a column's own numbers in each column; rows of x and of out are a stride
     * apart. */
    bool (*affine_columns)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           const double *mean, const double *by, const double *gamma,
                           const double *beta, double *out);

    void (*settle)(void);
} hm_norm_kernels;

/* A sum of squares in here lost nothing to underflow or overflow that could be seen in it. */
#define HM_COMFORTABLE_LEAST 0x1p-900
#define HM_COMFORTABLE_MOST 0x1p+1000

/*
 * Smaller squares do no harm where epsilon outweighs whatever was lost of them, and the mean of the row
 * is not so small that its last bits are below the smallest double.
 */
static inline bool hm_row_is_comfortable(double squares, double mean, double epsilon)
{
    return squares <= HM_COMFORTABLE_MOST && epsilon <= HM_COMFORTABLE_MOST &&
           (squares >= HM_COMFORTABLE_LEAST ||
            (epsilon >= HM_COMFORTABLE_LEAST && fabs(mean) >= HM_COMFORTABLE_LEAST));
}

#endif
