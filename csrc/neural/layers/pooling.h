/* Pooling from shapes and pointers: what the layer and its graph node have in common. */
#ifndef HM_LAYERS_POOLING_H
#define HM_LAYERS_POOLING_H

#include "neural/layers/record.h"
#include "neural/layers/window.h"

/* Steps 2 to 4 of the order of checks: the three windows, and the result's shape. */
hm_status hm_plan_pooling(hm_context *ctx, const hm_ints *kernel, const hm_ints *stride,
                          const hm_ints *padding, const hm_shape *input, hm_window window[3],
                          hm_shape *out);

/* Step 5: no window without a real cell. */
hm_status hm_check_pool_padding(hm_context *ctx, const hm_ints *kernel, const hm_ints *padding);

/* Every plane of finite cells, on the context's threads. */
void hm_pool_windows(hm_context *ctx, hm_pool_method method, const hm_window window[3],
                     int64_t planes, const double *x, double *out);

/* Maxima of squares (below) of what is rectified on the way. */
void hm_pool_rectified(hm_context *ctx, const hm_window window[3], int64_t planes, const double *x,
                       double *out);

/* What nearly every network pools by: 2 x 2 cells, side by side, without padding. */
bool hm_pools_squares(const hm_window window[3]);

#endif
