/*
 * Losses: an elementwise formula and its sum over one block, in one pass.
 *
 * Targets and predictions are in the loss's domain (neural/core/losses.h), NaN and infinities not
 * among them: callers check that. A term whose coefficient is 0 is 0; a positive coefficient on an
 * impossible event makes the sum, or that element of a gradient, infinite. So does what leaves the
 * range of a double: callers look closer at whatever is not finite.
 */
#ifndef HM_LOSS_KERNELS_H
#define HM_LOSS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hm_loss_formula {
    HM_LOSS_SQUARED,                     /* e^2, e = p - t */
    HM_LOSS_ABSOLUTE,                    /* |e| */
    HM_LOSS_HUBER,                       /* |e| <= d: e^2/2, else d(|e| - d/2) */
    HM_LOSS_SMOOTH,                      /* |e| < b: e^2/(2b), else |e| - b/2 */
    HM_LOSS_BINARY_ENTROPY,              /* -t ln p - (1-t) ln(1-p) */
    HM_LOSS_CATEGORICAL_ENTROPY,         /* -t ln p */
    HM_LOSS_LIKELIHOOD,                  /* -t p */
    HM_LOSS_DIVERGENCE,                  /* t ln(t/p) */
    HM_LOSS_HINGE,                       /* max(0, m - t p) */
    HM_LOSS_FORMULAS,                    /* how many have a gradient below */
    HM_LOSS_LOGISTIC = HM_LOSS_FORMULAS, /* binary entropy of a logit: (1-t)max(x,0) + t max(-x,0) +
                                            ln(1+e^-|x|) */
    HM_LOSS_SUMS
} hm_loss_formula;

typedef struct hm_overlap {
    double apart, total, either; /* sums of t(1-p) + p(1-t), of t + p, of t + p(1-t) */
} hm_overlap;

typedef struct hm_loss_kernels {
    /* One block: n <= HM_BLOCK. The parameter is d, b or m above, else unused. */
    double (*sum[HM_LOSS_SUMS])(const double *target, const double *prediction, int64_t n,
                                double parameter);

    /* Binary focal loss: alpha (1-p)^gamma (-ln p) where t is 1, (1-alpha) p^gamma (-ln(1-p)) where
     * it is 0. */
    double (*focal_sum)(const double *target, const double *prediction, int64_t n, double alpha,
                        double gamma);

    /* Any n: the derivative with respect to the prediction, over `divisor`; and whether all are
     * finite. */
    bool (*gradient[HM_LOSS_FORMULAS])(const double *target, const double *prediction, int64_t n,
                                       double parameter, double divisor, double *out);

    /* One block of targets and predictions in [0, 1]. */
    hm_overlap (*overlap)(const double *target, const double *prediction, int64_t n);

    /* fma(-low, x, fma(-high, x, y)) * by, any n: what is left of y beside x, for high + low =
     * y.x/x.x. */
    void (*residual_scaled)(const double *x, const double *y, int64_t n, double high, double low,
                            double by, double *out);
} hm_loss_kernels;

#endif
