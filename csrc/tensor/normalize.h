/*
 * Normalisation over rows (layer, RMS, group and instance norm) and over channels (batch norm), on
 * the context's threads. Like tensor/reduce.h nothing here fails or allocates: `false` means that
 * an element is not finite. Finite rows always have finite results.
 */
#ifndef HM_TENSOR_NORMALIZE_H
#define HM_TENSOR_NORMALIZE_H

#include <stdbool.h>

#include "tensor/reduce.h"

/* Each row of n >= 1 elements: (x - mean) / sqrt(variance + epsilon), and x / sqrt(mean x^2 +
 * epsilon). */
bool hm_layer_rows(const hm_context *ctx, const double *x, int64_t rows, int64_t n, double epsilon,
                   double *out);
bool hm_rms_rows(const hm_context *ctx, const double *x, int64_t rows, int64_t n, double epsilon,
                 double *out);

/*
 * Mean and sum of squared deviations of `count` elements times 2^shift; the shift is 0 but where
 * the squares would leave the range of a double.
 */
typedef struct hm_spread {
    double mean, squares;
    int64_t count;
    int shift;
} hm_spread;

/* Of each channel of (batch, channels, spatial), over (batch, spatial) in row-major order, >= 1. */
void hm_channel_spreads(const hm_context *ctx, const double *x, int64_t batch, int64_t channels,
                        int64_t spatial, hm_spread *out);

/* What they stand for: infinite where no double is it, NaN where an element is not finite. */
double hm_spread_mean(const hm_spread *s);
double hm_spread_variance(const hm_spread *s, double divisor);

/* 1/sqrt(variance + epsilon): of what the spread stands for, not of its shifted elements. */
hm_wide hm_inverse_deviation(const hm_spread *s, double epsilon);

/* How to standardise with given statistics: (x*2^shift - mean) * by. */
typedef struct hm_standard {
    double mean;
    hm_wide by;
    int shift;
} hm_standard;

hm_standard hm_standard_of_spread(const hm_spread *s, double epsilon);
hm_standard hm_standard_of(double mean, double variance, double epsilon);

/*
 * Per channel: standardised, times gamma, plus beta. False where an element of the result is no
 * double, or one of the input is not finite.
 */
bool hm_channel_affine(const hm_context *ctx, const double *x, int64_t batch, int64_t channels,
                       int64_t spatial, const hm_standard *standard, const double *gamma,
                       const double *beta, double *out);

/* The same with the channels' own statistics, which `spreads` keeps; `standard` is room for them. */
bool hm_channel_norm(const hm_context *ctx, const double *x, int64_t batch, int64_t channels,
                     int64_t spatial, double epsilon, const double *gamma, const double *beta,
                     hm_spread *spreads, hm_standard *standard, double *out);

#endif
