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
 * where that is below 1, in terms of the axis of `input`; HMATH_NO_MEMORY where it, or the extent
 * with its padding, does not fit 64 bits. A stride that a single window never takes becomes the
 * least for which this formula holds, the dilation of a kernel of extent 1 becomes 1; then
 * (places-1)*stride + dilation*(kernel-1) < 2^63.
 */
hm_status hm_window_slide(hm_context *ctx, int axis, hm_window *window);

/* places = (extent-1)*stride - 2*padding + dilation*(kernel-1) + output_padding + 1; likewise,
 * the window having `extent` places to slide over. */
hm_status hm_window_spread(hm_context *ctx, int axis, int64_t output_padding, hm_window *window);

#endif
