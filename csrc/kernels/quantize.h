/*
 * Between doubles and 8-bit integers.
 *
 * A value x is coded as q = clamp(rne(x / scale) + zero, low, 127) and decoded as scale * (q - zero);
 * rne rounds to nearest, ties to even. Pointers need the alignment of their element; in and out do not
 * overlap; n and rows may be 0.
 */
#ifndef HM_QUANTIZE_KERNELS_H
#define HM_QUANTIZE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* How one tensor, or one slice of it, is coded. */
typedef struct hm_coding {
    double scale; /* > 0 */
    double zero;  /* a whole number in -128 ... 127 */
    double low;   /* -127 or -128 */
} hm_coding;

/* The smallest and the largest of some numbers; 0 counts as one of them. */
typedef struct hm_extremes {
    double low, high;
} hm_extremes;

typedef struct hm_quantize_kernels {
    /* Widen *extremes by n numbers. False where one is not finite; *extremes is then worthless. */
    bool (*extremes)(const double *x, int64_t n, hm_extremes *extremes);

    /* The same for each column of x[i*stride + j]: low[j], high[j]. */
    bool (*column_extremes)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                            double *low, double *high);

    /* |x / scale| <= 2^50, or a scale below 2^-1000. */
    void (*encode)(const double *x, int64_t n, const hm_coding *coding, int8_t *q);

    /* Column j of x[i*stride + j] with scale[j] and zero[j]; q likewise. */
    void (*encode_columns)(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           const double *scale, const double *zero, double low, int8_t *q);

    /* True where every result is finite. */
    bool (*decode)(const int8_t *q, int64_t n, const hm_coding *coding, double *x);
    bool (*decode_columns)(const int8_t *q, int64_t rows, int64_t stride, int64_t columns,
                           const double *scale, const double *zero, double *x);
} hm_quantize_kernels;

#endif
