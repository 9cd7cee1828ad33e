/*
 * Convolution, depthwise and transposed: what the arguments have to satisfy, around tensor/conv.h.
 * One to three spatial axes are seen as three: missing ones have extent 1 and stand first.
 */
#include <stdio.h>

#include "neural/layers/check.h"
#include "neural/layers/convolution.h"
#include "neural/layers/layers.h"
#include "neural/layers/window.h"
#include "runtime/checked.h"
#include "tensor/conv.h"

static hm_status fail_channels(hm_context *ctx, const char *argument, int axis, int64_t expected,
                               int64_t actual)
{
    char expected_text[64], actual_text[64];
    snprintf(expected_text, sizeof expected_text, "%lld on axis %d", (long long)expected, axis);
    snprintf(actual_text, sizeof actual_text, "%lld", (long long)actual);
    return hm_fail_shape(ctx, argument, expected_text, actual_text);
}

/* Step 2; the depthwise form ignores options.groups. */
static hm_status check_options(hm_context *ctx, const hm_conv_options *options, bool depthwise)
{
    const hm_ints stride = hm_ints_of(options->stride), padding = hm_ints_of(options->padding),
                  dilation = hm_ints_of(options->dilation);
    hm_status st;
    if ((st = hm_check_entries(ctx, "options.stride", &stride, 1)) != HMATH_OK ||
        (st = hm_check_entries(ctx, "options.padding", &padding, 0)) != HMATH_OK ||
        (st = hm_check_entries(ctx, "options.dilation", &dilation, 1)) != HMATH_OK)
        return st;
    return depthwise ? HMATH_OK : hm_check_at_least_one(ctx, "options.groups", options->groups);
}

/* Step 3, ranks and lengths: how many spatial axes there are. */
static hm_status check_axes(hm_context *ctx, const hm_conv_options *options, const hm_shape *input,
                            const hm_shape *weights, const hm_doubles *bias, int *spatial)
{
    const int32_t rank = input->rank, axes = rank - 2;
    if (rank < 3 || rank > 5) {
        char actual[32];
        snprintf(actual, sizeof actual, "rank %d", rank);
        return hm_fail_shape(ctx, "input", "rank 3 to 5", actual);
    }
    hm_status st;
    if ((st = hm_check_length(ctx, "options.stride", options->stride->length, axes)) != HMATH_OK ||
        (st = hm_check_length(ctx, "options.padding", options->padding->length, axes)) !=
            HMATH_OK ||
        (st = hm_check_length(ctx, "options.dilation", options->dilation->length, axes)) !=
            HMATH_OK ||
        (st = hm_check_rank(ctx, "weights", weights, rank)) != HMATH_OK)
        return st;
    *spatial = axes;
    return hm_check_vector(ctx, "bias", bias);
}

static hm_window window_of(const hm_conv_options *options, const hm_shape *input,
                           const hm_shape *weights, int i)
{
    return (hm_window){.extent = input->extent[2 + i],
                       .kernel = weights->extent[2 + i],
                       .stride = ((const int64_t *)options->stride->data)[i],
                       .padding = ((const int64_t *)options->padding->data)[i],
                       .dilation = ((const int64_t *)options->dilation->data)[i]};
}

/* Axis i of `spatial` among the three; `from` is the side that windows slide over. */
static void set_axis(hm_conv *conv, int i, int spatial, const hm_window *w, int64_t from,
                     int64_t to)
{
    const int a = HM_CONV_AXES - spatial + i;
    conv->input[a] = from;
    conv->output[a] = to;
    conv->kernel[a] = w->kernel;
    conv->stride[a] = w->stride;
    conv->padding[a] = w->padding;
    conv->dilation[a] = w->dilation;
}

static hm_conv without_axes(void)
{
    return (hm_conv){.input = {1, 1, 1},
                     .output = {1, 1, 1},
                     .kernel = {1, 1, 1},
                     .stride = {1, 1, 1},
                     .dilation = {1, 1, 1}};
}

/* Step 4: a kernel has a tap, and an image a pixel. */
static hm_status check_some_pixels(hm_context *ctx, const hm_shape *input, const hm_shape *weights)
{
    const int32_t rank = input->rank;
    if (input->extent[0] > 0 && hm_shape_span(input, 2, rank) == 0)
        return hm_fail_empty(ctx, "input");
    return hm_shape_span(weights, 2, rank) == 0 ? hm_fail_empty(ctx, "weights") : HMATH_OK;
}

static hm_status check_elements(hm_context *ctx, const hm_tensor *input, const hm_tensor *weights,
                                const hm_doubles *bias)
{
    hm_status st;
    if ((st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "weights", weights)) != HMATH_OK)
        return st;
    return hm_check_doubles_finite(ctx, "bias", bias);
}

typedef hm_status convolve(hm_context *ctx, const hm_conv *conv, const double *source,
                           const double *weights, const double *bias, double *result, bool *finite);

static hm_status run(hm_context *ctx, convolve *how, const hm_conv *conv, const hm_shape *shape,
                     const hm_tensor *input, const hm_tensor *weights, const hm_doubles *bias,
                     hm_tensor **out)
{
    hm_tensor *result = NULL;
    bool finite = true;
    hm_status st = hm_tensor_create(ctx, shape, &result);
    if (st != HMATH_OK)
        return st;
    if (result->size)
        st = how(ctx, conv, input->data, weights->data, bias->data, result->data, &finite);
    if (st == HMATH_OK && !finite)
        st = hm_fail_overflow(ctx);
    if (st != HMATH_OK) {
        hm_release(result);
        return st;
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}

hm_status hm_plan_convolution(hm_context *ctx, bool depthwise, const hm_conv_options *options,
                              const hm_shape *input, const hm_shape *weights,
                              const hm_doubles *bias, hm_conv *conv_out, hm_shape *out)
{
    hm_status st;
    int spatial = 0;
    if ((st = check_options(ctx, options, depthwise)) != HMATH_OK ||
        (st = check_axes(ctx, options, input, weights, bias, &spatial)) != HMATH_OK)
        return st;

    const int64_t in = input->extent[1], over = weights->extent[0];
    const int64_t groups = depthwise ? in : options->groups;
    const char *const argument = depthwise ? "weights" : "options.groups";
    if (groups == 0) { /* depthwise over no channels */
        if (over != 0)
            return fail_channels(ctx, "weights", 0, 0, over);
    } else if ((st = hm_check_divides(ctx, argument, groups, in, "input channels")) != HMATH_OK ||
               (st = hm_check_divides(ctx, argument, groups, over, "output channels")) !=
                   HMATH_OK) {
        return st;
    }
    const int64_t each = groups == 0 ? 1 : in / groups;
    if (weights->extent[1] != each)
        return fail_channels(ctx, "weights", 1, each, weights->extent[1]);
    if ((st = hm_check_length(ctx, "bias", bias->length, over)) != HMATH_OK)
        return st;

    hm_conv conv = without_axes();
    conv.batch = input->extent[0];
    conv.groups = groups;
    conv.in_channels = in;
    conv.out_channels = over;
    hm_shape shape = {.rank = input->rank, .extent = {conv.batch, over}};
    for (int i = 0; i < spatial; i++) {
        hm_window w = window_of(options, input, weights, i);
        if ((st = hm_window_slide(ctx, 2 + i, &w)) != HMATH_OK)
            return st;
        set_axis(&conv, i, spatial, &w, w.extent, w.places);
        shape.extent[2 + i] = w.places;
    }
    if ((st = check_some_pixels(ctx, input, weights)) != HMATH_OK)
        return st;
    *conv_out = conv;
    *out = shape;
    return HMATH_OK;
}

static hm_status convolution(hm_context *ctx, bool depthwise, const hm_conv_options *options,
                             const hm_tensor *input, const hm_tensor *weights,
                             const hm_doubles *bias, hm_tensor **out)
{
    hm_status st;
    hm_conv conv;
    hm_shape shape;
    if ((st = hm_plan_convolution(ctx, depthwise, options, &input->shape, &weights->shape, bias,
                                  &conv, &shape)) != HMATH_OK ||
        (st = check_elements(ctx, input, weights, bias)) != HMATH_OK)
        return st;
    return run(ctx, hm_convolve, &conv, &shape, input, weights, bias, out);
}

hm_status hm_convolution(hm_context *ctx, const hm_conv_options *options, const hm_tensor *input,
                         const hm_tensor *weights, const hm_doubles *bias, hm_tensor **out)
{
    return convolution(ctx, false, options, input, weights, bias, out);
}

hm_status hm_depthwise_convolution(hm_context *ctx, const hm_conv_options *options,
                                   const hm_tensor *input, const hm_tensor *weights,
                                   const hm_doubles *bias, hm_tensor **out)
{
    return convolution(ctx, true, options, input, weights, bias, out);
}

/* A condition between arguments: it comes after the elements. */
hm_status hm_check_output_padding(hm_context *ctx, const hm_ints *output_padding,
                                  const hm_conv_options *options)
{
    const int64_t *stride = options->stride->data;
    for (int64_t i = 0; i < output_padding->length; i++)
        if (output_padding->data[i] >= stride[i])
            return hm_fail_domain_int(ctx, "output_padding", i, output_padding->data[i],
                                      "< stride");
    return HMATH_OK;
}

hm_status hm_plan_transposed_convolution(hm_context *ctx, const hm_ints *output_padding,
                                         const hm_conv_options *options, const hm_shape *input,
                                         const hm_shape *weights, const hm_doubles *bias,
                                         hm_conv *conv_out, hm_shape *out)
{
    hm_status st;
    int spatial = 0;
    if ((st = hm_check_entries(ctx, "output_padding", output_padding, 0)) != HMATH_OK ||
        (st = check_options(ctx, options, false)) != HMATH_OK ||
        (st = check_axes(ctx, options, input, weights, bias, &spatial)) != HMATH_OK ||
        (st = hm_check_length(ctx, "output_padding", output_padding->length, spatial)) != HMATH_OK)
        return st;

    const int64_t in = input->extent[1], groups = options->groups;
    int64_t over;
    if ((st = hm_check_divides(ctx, "options.groups", groups, in, "input channels")) != HMATH_OK)
        return st;
    if (weights->extent[0] != in)
        return fail_channels(ctx, "weights", 0, in, weights->extent[0]);
    if (!hm_multiply_int(weights->extent[1], groups, &over))
        return hm_fail_memory(ctx);
    if ((st = hm_check_length(ctx, "bias", bias->length, over)) != HMATH_OK)
        return st;

    /* The adjoint of a convolution that goes from the result to the input. */
    hm_conv conv = without_axes();
    conv.batch = input->extent[0];
    conv.groups = groups;
    conv.in_channels = over;
    conv.out_channels = in;
    hm_shape shape = {.rank = input->rank, .extent = {conv.batch, over}};
    for (int i = 0; i < spatial; i++) {
        hm_window w = window_of(options, input, weights, i);
        if ((st = hm_window_spread(ctx, 2 + i, output_padding->data[i], &w)) != HMATH_OK)
            return st;
        set_axis(&conv, i, spatial, &w, w.places, w.extent);
        shape.extent[2 + i] = w.places;
    }
    if ((st = check_some_pixels(ctx, input, weights)) != HMATH_OK)
        return st;
    *conv_out = conv;
    *out = shape;
    return HMATH_OK;
}

hm_status hm_transposed_convolution(hm_context *ctx, const hm_ints *output_padding,
                                    const hm_conv_options *options, const hm_tensor *input,
                                    const hm_tensor *weights, const hm_doubles *bias,
                                    hm_tensor **out)
{
    hm_status st;
    hm_conv conv;
    hm_shape shape;
    if ((st = hm_plan_transposed_convolution(ctx, output_padding, options, &input->shape,
                                             &weights->shape, bias, &conv, &shape)) != HMATH_OK ||
        (st = check_elements(ctx, input, weights, bias)) != HMATH_OK ||
        (st = hm_check_output_padding(ctx, output_padding, options)) != HMATH_OK)
        return st;
    return run(ctx, hm_convolve_adjoint, &conv, &shape, input, weights, bias, out);
}
