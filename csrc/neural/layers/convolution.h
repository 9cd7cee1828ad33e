/* Convolutions from options and shapes alone: what the layers and their graph nodes have in common. */
#ifndef HM_LAYERS_CONVOLUTION_H
#define HM_LAYERS_CONVOLUTION_H

#include "neural/layers/record.h"
#include "tensor/conv.h"

/* Steps 2 to 4 of the order of checks. Of the bias, rank and length count. */
hm_status hm_plan_convolution(hm_context *ctx, bool depthwise, const hm_conv_options *options,
                              const hm_shape *input, const hm_shape *weights,
                              const hm_doubles *bias, hm_conv *conv_out, hm_shape *out);

/* The convolution of which the transposed one is the adjoint: from the result to the input. */
hm_status hm_plan_transposed_convolution(hm_context *ctx, const hm_ints *output_padding,
                                         const hm_conv_options *options, const hm_shape *input,
                                         const hm_shape *weights, const hm_doubles *bias,
                                         hm_conv *conv_out, hm_shape *out);

/* Step 5: each entry is below its stride. */
hm_status hm_check_output_padding(hm_context *ctx, const hm_ints *output_padding,
                                  const hm_conv_options *options);

#endif
