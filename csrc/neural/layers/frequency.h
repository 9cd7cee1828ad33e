/* base^(-2i/d) in two doubles: how fast pair i of d features turns with the position. */
#ifndef HM_LAYERS_FREQUENCY_H
#define HM_LAYERS_FREQUENCY_H

#include <stdint.h>

#include "kernels/kernels.h"

/*
 * For i < count <= (d+1)/2, finite base > 0: high + low, with a relative error below 2^-98 unless
 * `low` is subnormal. Infinite where it is beyond the range of a double.
 */
void hm_frequencies(const hm_kernels *k, double base, int64_t d, int64_t count, double *high,
                    double *low);

#endif
