/* hmath_neural_layers_*: convolution. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/layers.h"

/* What the two that slide over their input have in common: their arguments. */
typedef hm_status slide(hm_context *ctx, const hm_conv_options *options, const hm_tensor *input,
                        const hm_tensor *weights, const hm_doubles *bias, hm_tensor **out);

static hm_status call_slide(hm_context *ctx, const char *operation, slide *how,
                            const hm_value *options, const hm_value *input, const hm_value *weights,
                            const hm_value *bias, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    const hm_conv_options *record;
    const hm_tensor *images, *kernels;
    hm_doubles shifts;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "options", options, HMATH_KIND_CONV_OPTIONS, &record)) ==
            HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &images)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "weights", weights, &kernels)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "bias", bias, &shifts)) == HMATH_OK &&
        (st = how(ctx, record, images, kernels, &shifts, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_convolution(hmath_context *ctx, const hmath_value *options,
                                             const hmath_value *input, const hmath_value *weights,
                                             const hmath_value *bias, hmath_value **out)
{
    return call_slide(ctx, "layers.convolution", hm_convolution, options, input, weights, bias,
                      out);
}

hmath_status hmath_neural_layers_depthwise_convolution(hmath_context *ctx,
                                                       const hmath_value *options,
                                                       const hmath_value *input,
                                                       const hmath_value *weights,
                                                       const hmath_value *bias, hmath_value **out)
{
    return call_slide(ctx, "layers.depthwise_convolution", hm_depthwise_convolution, options, input,
                      weights, bias, out);
}

hmath_status hmath_neural_layers_transposed_convolution(hmath_context *ctx,
                                                        const hmath_value *output_padding,
                                                        const hmath_value *options,
                                                        const hmath_value *input,
                                                        const hmath_value *weights,
                                                        const hmath_value *bias, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.transposed_convolution", out);
    if (st != HMATH_OK)
        return st;
    hm_ints extra;
    const hm_conv_options *record;
    const hm_tensor *images, *kernels;
    hm_doubles shifts;
    hm_tensor *result = NULL;
    if ((st = hm_arg_ints(ctx, "output_padding", output_padding, &extra)) == HMATH_OK &&
        (st = hm_arg_object(ctx, "options", options, HMATH_KIND_CONV_OPTIONS, &record)) ==
            HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &images)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "weights", weights, &kernels)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "bias", bias, &shifts)) == HMATH_OK &&
        (st = hm_transposed_convolution(ctx, &extra, record, images, kernels, &shifts, &result)) ==
            HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}
