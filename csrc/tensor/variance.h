/* Mean and variance over a set of axes, in one pass over the data (Chan, Golub and LeVeque 1983). */
#ifndef HM_VARIANCE_H
#define HM_VARIANCE_H

#include "tensor/tensor.h"

/*
 * The variance (sum of squared deviations from the mean, over the number of elements less `correction`)
 * and the mean; `count`, `axes` and `keep` as in hmath_tensor.h. IndexOutOfBounds, DomainError (axes;
 * correction, which is at least 0 and below the number of elements), EmptyInput, NonFinite; Overflow,
 * where a variance is no double.
 */
hm_status hm_var_mean(hm_context *ctx, const hm_tensor *input, int32_t count, const int64_t *axes,
                      int64_t correction, bool keep, hm_tensor **variance, hm_tensor **mean);

#endif
