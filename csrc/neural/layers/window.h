/* How many places a window has along one axis: shape arithmetic of convolution and pooling. */
#ifndef HM_LAYERS_WINDOW_H
#define HM_LAYERS_WINDOW_H

#include "tensor/shape.h"

/* One spatial axis. All are checked: stride, dilation and kernel >= 1, padding >= 0. */
typedef struct hm_window {
    int64_t extent, kernel, stride, padding, dilation;
    int64_t places; /* the output's extent */
} hm_window;

/*
 * places = floor((extent + 2*padding - dilation*(kernel-1) - 1) / stride) + 1. DimensionMismatch
 * where that is below 1, in terms of the axis of `input`; HMATH_NO_MEMORY where it does not fit.
 */
hm_status hm_window_slide(hm_context *ctx, int axis, hm_window *window);

/* places = (extent-1)*stride - 2*padding + dilation*(kernel-1) + output_padding + 1; likewise. */
hm_status hm_window_spread(hm_context *ctx, int axis, int64_t output_padding, hm_window *window);

#endif
