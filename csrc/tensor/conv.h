/*
 * Convolution in one to three dimensions, its two gradients, and so transposed convolution.
 *
 * Every result element is one chain acc <- fma(a_k, b_k, acc) in increasing k from +0, then the
 * bias, then +0, whatever the batch, the threads and the instruction set:
 *
 *   hm_convolve           k over (input channel of the group, kernel axes row-major)
 *   hm_convolve_adjoint   k over (output channel of the group, kernel axes row-major)
 *   hm_convolve_weights   k over (image, output pixel row-major)
 *
 * Padding and the holes of strides are no terms. There is no im2col: extra memory is one padded
 * copy of the images in flight, tables of (channels of a group x kernel) entries, and panels the
 * size of a cache.
 */
#ifndef HM_CONV_H
#define HM_CONV_H

#include "runtime/context.h"
#include "tensor/padded.h"

/*
 * A convolution from `input` (batch, in_channels, input...) to `output` (batch, out_channels,
 * output...) with weights (out_channels, in_channels / groups, kernel...). Always three axes:
 * leading ones of extent 1, stride 1, padding 0, dilation 1 are added for fewer. Extents are at
 * least 1, batch and channels may be 0, groups divides both channel counts, and along each axis
 *
 *   (output - 1) * stride + (kernel - 1) * dilation + 1  <=  input + 2 * padding  <  2^63,
 *
 * with stride 1 where output is 1, and dilation 1 where kernel is 1.
 */
typedef struct hm_conv {
    int64_t batch, groups, in_channels, out_channels;
    int64_t input[HM_CONV_AXES], output[HM_CONV_AXES], kernel[HM_CONV_AXES];
    int64_t stride[HM_CONV_AXES], padding[HM_CONV_AXES], dilation[HM_CONV_AXES];
} hm_conv;

/*
 * All three: HMATH_OK or HMATH_NO_MEMORY. *finite tells whether every result element is finite; the
 * operands are the caller's to check. The result is complete either way, and overlaps no operand.
 */

/* output = convolution of input, plus bias[out_channels] or NULL. */
hm_status hm_convolve(hm_context *ctx, const hm_conv *conv, const double *input,
                      const double *weights, const double *bias, double *output, bool *finite);

/*
 * input = adjoint of the convolution at output, plus bias[in_channels] or NULL: the gradient with
 * respect to the input, and the transposed convolution of `output`, whose weights (its input
 * channels, its output channels / groups, kernel...) lie exactly so.
 */
hm_status hm_convolve_adjoint(hm_context *ctx, const hm_conv *conv, const double *output,
                              const double *weights, const double *bias, double *input,
                              bool *finite);

/* weights = gradient with respect to the weights, from the input and the cotangent of the output.
 */
hm_status hm_convolve_weights(hm_context *ctx, const hm_conv *conv, const double *input,
                              const double *cotangent, double *weights, bool *finite);

#endif
