/*
 * One row or more for each primitive of ops.def: how to make a node of it from variables whose elements
 * lie in [low, high]. Rows are added as primitives are; the test says which one has none.
 */
#ifndef AUTODIFF_SAMPLES_H
#define AUTODIFF_SAMPLES_H

#include <assert.h>
#include <string.h>

#include "autodiff/custom.h"
#include "autodiff/gradient.h"
#include "autodiff/leaf.h"
#include "kernels/elementwise.h"
#include "neural/graph/graph.h"
#include "primitives/elementwise.h"
#include "primitives/heads.h"
#include "primitives/blocks.h"
#include "primitives/index.h"
#include "primitives/join.h"
#include "primitives/matmul.h"
#include "primitives/primitives.h"
#include "primitives/reduce.h"

enum { SAMPLE_INPUTS = 4, SAMPLE_ROOM = 512 };

typedef struct sample {
    const hm_op *op;
    const char *label;
    hm_node *(*build)(hm_graph *g, hm_node *const *x);
    int inputs;
    hm_shape shapes[SAMPLE_INPUTS];
    double low, high;
    bool second;                          /* can its derivative be differentiated? */
    unsigned still;                       /* bit i: no derivative with respect to input i */
    void (*fix)(double x[][SAMPLE_ROOM]); /* put special numbers into place */
    bool reverse_only;                    /* it has no tangent */
} sample;

#define S0 \
    { \
        .rank = 0 \
    }
#define S1(a) \
    { \
        .rank = 1, .extent = { a } \
    }
#define S2(a, b) \
    { \
        .rank = 2, .extent = { a, b } \
    }
#define S3(a, b, c) \
    { \
        .rank = 3, .extent = { a, b, c } \
    }
#define S4(a, b, c, d) \
    { \
        .rank = 4, .extent = { a, b, c, d } \
    }

/* ------------------------------------------------- elementwise */

#define BUILD2(name) \
    static hm_node *build_##name(hm_graph *g, hm_node *const *x) \
    { \
        return hm_ad_##name(g, x[0], x[1]); \
    }
#define BUILD1(name) \
    static hm_node *build_##name(hm_graph *g, hm_node *const *x) { return hm_ad_##name(g, x[0]); }
BUILD2(add)
BUILD2(subtract)
BUILD2(multiply)
BUILD2(divide)
BUILD2(maximum)
BUILD2(minimum)
BUILD2(equal)
BUILD2(less)
BUILD2(less_equal)
BUILD2(power)
BUILD2(matmul)
BUILD1(negate)
BUILD1(absolute)
BUILD1(sign)
BUILD1(square)
BUILD1(sqrt)
BUILD1(reciprocal)
BUILD1(exp)
BUILD1(expm1)
BUILD1(log)
BUILD1(log1p)
BUILD1(sin)
BUILD1(cos)
BUILD1(tan)
BUILD1(tanh)
BUILD1(erf)

static hm_node *build_select(hm_graph *g, hm_node *const *x)
{
    return hm_ad_select(g, hm_ad_less(g, x[0], hm_ad_constant(g, 0.5)), x[1], x[2]);
}

static hm_node *build_power_slope(hm_graph *g, hm_node *const *x)
{
    return hm_graph_make2(g, &hm_op_power_slope, NULL, 0, x[0], x[1]);
}

static hm_node *build_power_log(hm_graph *g, hm_node *const *x)
{
    return hm_graph_make1(g, &hm_op_power_log, NULL, 0, x[0]);
}

BUILD2(sqrt_slope)

/* Two heads: x[0] side by side, x[1] as `beside` says, either turned. */
static hm_node *build_heads(hm_graph *g, hm_node *const *x, bool turned, bool right_beside,
                            bool beside)
{
    return hm_ad_head_product(g, 2, (hm_heads){x[0], true, turned},
                              (hm_heads){x[1], right_beside, !turned}, beside);
}

static hm_node *build_heads_beside(hm_graph *g, hm_node *const *x)
{
    return build_heads(g, x, false, true, true);
}

static hm_node *build_heads_behind(hm_graph *g, hm_node *const *x)
{
    return build_heads(g, x, true, false, false);
}

static hm_node *build_broadcast(hm_graph *g, hm_node *const *x)
{
    return hm_ad_broadcast_to(g, x[0], &(hm_shape)S3(2, 3, 4));
}

#define BUILD_ACTIVATION(method, parameter) \
    static hm_node *build_##method(hm_graph *g, hm_node *const *x) \
    { \
        return hm_ad_activation(g, HM_ACTIVATION_##method, parameter, x[0]); \
    } \
    static hm_node *build_##method##_slope(hm_graph *g, hm_node *const *x) \
    { \
        return hm_ad_activation_derivative(g, HM_ACTIVATION_##method, parameter, x[0]); \
    }
BUILD_ACTIVATION(sigmoid, 0)
BUILD_ACTIVATION(relu, 0)
BUILD_ACTIVATION(leaky_relu, 0.1)
BUILD_ACTIVATION(elu, 1.5)
BUILD_ACTIVATION(selu, 0)
BUILD_ACTIVATION(gelu, 0)
BUILD_ACTIVATION(silu, 0)
BUILD_ACTIVATION(mish, 0)
BUILD_ACTIVATION(softplus, 0)
BUILD_ACTIVATION(softsign, 0)
BUILD_ACTIVATION(hard_sigmoid, 0)
BUILD_ACTIVATION(hard_swish, 0)

static hm_node *build_tanh_activation(hm_graph *g, hm_node *const *x)
{
    return hm_ad_activation(g, HM_ACTIVATION_tanh, 0, x[0]);
}

static hm_node *build_tanh_slope(hm_graph *g, hm_node *const *x)
{
    return hm_ad_activation_derivative(g, HM_ACTIVATION_tanh, 0, x[0]);
}

/* ------------------------------------------------- reductions */

static hm_node *build_sum(hm_graph *g, hm_node *const *x)
{
    return hm_ad_sum(g, x[0], 1u << 0 | 1u << 2, false);
}

static hm_node *build_sum_keep(hm_graph *g, hm_node *const *x)
{
    return hm_ad_sum(g, x[0], 1u << 1, true);
}

static hm_node *build_mean(hm_graph *g, hm_node *const *x)
{
    return hm_ad_mean(g, x[0], 1u << 1 | 1u << 2, false);
}

static hm_node *build_max(hm_graph *g, hm_node *const *x)
{
    return hm_ad_max(g, x[0], 1u << 1, false);
}

static hm_node *build_norm(hm_graph *g, hm_node *const *x) { return hm_ad_norm(g, x, 2); }

/* ------------------------------------------------- arrangement */

static hm_node *build_reshape(hm_graph *g, hm_node *const *x)
{
    return hm_ad_square(g, hm_ad_reshape(g, x[0], &(hm_shape)S2(4, 3)));
}

static hm_node *build_transpose(hm_graph *g, hm_node *const *x)
{
    return hm_ad_transpose(g, x[0], (int32_t[HM_MAX_RANK]){2, 0, 1});
}

static hm_slicing sample_slicing(void)
{
    return (hm_slicing){.start = {1, 4}, .step = {1, -2}, .part = S2(2, 2)};
}

static hm_node *build_slice(hm_graph *g, hm_node *const *x)
{
    hm_slicing slicing = sample_slicing();
    return hm_ad_slice(g, hm_ad_square(g, x[0]), &slicing);
}

static hm_node *build_unslice(hm_graph *g, hm_node *const *x)
{
    hm_slicing slicing = sample_slicing();
    return hm_ad_unslice(g, hm_ad_square(g, x[0]), &slicing, &(hm_shape)S2(3, 5));
}

/* Two parts that overlap and one beside them, on top of a whole. */
static hm_node *build_add_blocks(hm_graph *g, hm_node *const *x)
{
    const hm_slicing at[] = {{.start = {0, 1}, .step = {1, 1}, .part = S2(2, 2)},
                             {.start = {1, 1}, .step = {1, 1}, .part = S2(2, 2)},
                             {.start = {0, 4}, .step = {1, 1}, .part = S2(2, 1)}};
    hm_node *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = hm_ad_unslice(g, hm_ad_square(g, x[i]), &at[i], &(hm_shape)S2(3, 5));
    return blocks[0] && blocks[1] && blocks[2] ? hm_ad_add_blocks(g, x[3], blocks, 3) : NULL;
}

static hm_node *build_element(hm_graph *g, hm_node *const *x)
{
    return hm_ad_element(g, hm_ad_square(g, x[0]), 4);
}

static hm_node *build_place(hm_graph *g, hm_node *const *x)
{
    return hm_ad_place(g, hm_ad_square(g, x[0]), 4, &(hm_shape)S2(2, 3));
}

static hm_node *build_place_elements(hm_graph *g, hm_node *const *x)
{
    const hm_shape whole = S2(2, 2);
    hm_node *placed[3] = {hm_ad_place(g, hm_ad_square(g, x[0]), 2, &whole),
                          hm_ad_place(g, x[1], 0, &whole), hm_ad_place(g, x[0], 2, &whole)};
    return placed[0] && placed[1] && placed[2] ? hm_ad_place_elements(g, placed, 3) : NULL;
}

static void whole_indices(double x[][SAMPLE_ROOM])
{
    const double indices[] = {2, 0, 2, 1};
    for (int i = 0; i < 4; i++)
        x[1][i] = indices[i];
}

static hm_node *build_gather(hm_graph *g, hm_node *const *x)
{
    return hm_ad_gather(g, hm_ad_square(g, x[0]), x[1], 1);
}

static hm_node *build_scatter(hm_graph *g, hm_node *const *x)
{
    const int64_t axis_extent[2] = {1, 3};
    return hm_graph_make2(g, &hm_op_scatter, axis_extent, sizeof axis_extent, hm_ad_square(g, x[0]),
                          x[1]);
}

static hm_node *build_concatenate(hm_graph *g, hm_node *const *x)
{
    hm_node *parts[3] = {x[0], x[1], x[0]};
    return hm_ad_square(g, hm_ad_concatenate(g, parts, 3, 1));
}

static hm_node *build_stack(hm_graph *g, hm_node *const *x)
{
    hm_node *parts[4] = {x[0], x[1], x[0], x[0]};
    return hm_ad_square(g, hm_ad_stack(g, parts, 4, &(hm_shape)S2(2, 2)));
}

/* ------------------------------------------------- products */

static hm_node *build_product_tt(hm_graph *g, hm_node *const *x)
{
    return hm_ad_matrix_product(g, x[0], true, x[1], true);
}

static hm_node *build_product_nt(hm_graph *g, hm_node *const *x)
{
    return hm_ad_matrix_product(g, x[0], false, x[1], true);
}

static hm_node *build_product_tn(hm_graph *g, hm_node *const *x)
{
    return hm_ad_matrix_product(g, x[0], true, x[1], false);
}

static hm_node *build_dense(hm_graph *g, hm_node *const *x)
{
    return hm_ad_dense(g, x[0], x[1], x[2]);
}

/* ------------------------------------------------- layers */

/* Options with one stride, padding and dilation for both axes; made once, never released. */
static const hm_conv_options *conv_options(hm_graph *g, int64_t stride, int64_t padding,
                                           int64_t dilation, int64_t groups)
{
    const int64_t strides[] = {stride, stride}, paddings[] = {padding, padding},
                  dilations[] = {dilation, dilation};
    static hm_list lists[3];
    static int64_t numbers[3][2];
    static hm_conv_options options;
    (void)g;
    for (int i = 0; i < 2; i++) {
        numbers[0][i] = strides[i];
        numbers[1][i] = paddings[i];
        numbers[2][i] = dilations[i];
    }
    for (int i = 0; i < 3; i++)
        lists[i] = (hm_list){
            .element = HM_ELEMENT_INT, .length = 2, .columns = HM_FLAT, .data = numbers[i]};
    options = (hm_conv_options){
        .stride = &lists[0], .padding = &lists[1], .dilation = &lists[2], .groups = groups};
    return &options;
}

static hm_node *build_convolution(hm_graph *g, hm_node *const *x)
{
    return hm_ad_convolution(g, conv_options(g, 1, 1, 1, 1), x[0], x[1], x[2]);
}

/* One window, and steps that nothing takes. */
static hm_node *build_convolution_far(hm_graph *g, hm_node *const *x)
{
    return hm_ad_convolution(g, conv_options(g, INT64_MAX, 1, 1, 1), x[0], x[1], x[2]);
}

/* Four windows of four taps, each with one in the input; steps whose product is beyond 64 bits. */
static hm_node *build_convolution_far_taps(hm_graph *g, hm_node *const *x)
{
    const int64_t step = (int64_t)1 << 40;
    return hm_ad_convolution(g, conv_options(g, step + 1, step, step, 1), x[0], x[1], x[2]);
}

static hm_node *build_convolution_grouped(hm_graph *g, hm_node *const *x)
{
    return hm_ad_convolution(g, conv_options(g, 2, 1, 2, 2), x[0], x[1], x[2]);
}

static hm_node *build_transposed(hm_graph *g, hm_node *const *x)
{
    static const int64_t one[] = {1, 1};
    const hm_ints output_padding = {.data = one, .length = 2};
    return hm_ad_transposed_convolution(g, &output_padding, conv_options(g, 2, 1, 1, 2), x[0], x[1],
                                        x[2]);
}

static hm_node *build_convolution_weights(hm_graph *g, hm_node *const *x)
{
    hm_node *y = build_convolution_grouped(g, (hm_node *[]){x[0], x[1], x[2]});
    if (!y)
        return NULL;
    return hm_graph_make2(g, &hm_op_convolution_weights, hm_node_attributes(y), y->attribute_size,
                          x[0], hm_ad_square(g, y));
}

static hm_node *pool(hm_graph *g, hm_pool_method method, hm_node *x)
{
    static const int64_t two[] = {2, 2}, three[] = {3, 3}, one[] = {1, 1};
    const hm_pool_mode mode = {.method = method};
    const hm_ints kernel = {.data = three, .length = 2}, stride = {.data = two, .length = 2},
                  padding = {.data = one, .length = 2};
    return hm_ad_pooling(g, &mode, &kernel, &stride, &padding, x);
}

static hm_node *build_max_pool(hm_graph *g, hm_node *const *x)
{
    return pool(g, HM_POOL_MAX, x[0]);
}

static hm_node *build_average_pool(hm_graph *g, hm_node *const *x)
{
    return pool(g, HM_POOL_AVERAGE, x[0]);
}

static hm_node *pool_squares(hm_graph *g, hm_pool_method method, hm_node *x)
{
    static const int64_t two[] = {2, 2}, none[] = {0, 0};
    const hm_pool_mode mode = {.method = method};
    const hm_ints kernel = {.data = two, .length = 2}, padding = {.data = none, .length = 2};
    return hm_ad_pooling(g, &mode, &kernel, &kernel, &padding, x);
}

static hm_node *build_max_pool_squares(hm_graph *g, hm_node *const *x)
{
    return pool_squares(g, HM_POOL_MAX, x[0]);
}

static hm_node *build_average_pool_squares(hm_graph *g, hm_node *const *x)
{
    return pool_squares(g, HM_POOL_AVERAGE, x[0]);
}

static hm_node *build_rectified_squares(hm_graph *g, hm_node *const *x)
{
    return pool_squares(g, HM_POOL_MAX, hm_ad_activation(g, HM_ACTIVATION_relu, 0, x[0]));
}

static hm_node *build_rectified_scatter(hm_graph *g, hm_node *const *x)
{
    hm_node *y = build_rectified_squares(g, x);
    return y ? hm_graph_make2(g, &hm_op_max_pool_rectified_scatter, hm_node_attributes(y),
                              y->attribute_size, x[0], hm_ad_square(g, y))
             : NULL;
}

static hm_node *pool_far(hm_graph *g, hm_pool_method method, hm_node *x)
{
    static const int64_t far[] = {INT64_MAX, INT64_MAX}, three[] = {3, 3}, one[] = {1, 1};
    const hm_pool_mode mode = {.method = method};
    const hm_ints kernel = {.data = three, .length = 2}, stride = {.data = far, .length = 2},
                  padding = {.data = one, .length = 2};
    return hm_ad_pooling(g, &mode, &kernel, &stride, &padding, x);
}

static hm_node *build_max_pool_far(hm_graph *g, hm_node *const *x)
{
    return pool_far(g, HM_POOL_MAX, x[0]);
}

static hm_node *build_average_pool_far(hm_graph *g, hm_node *const *x)
{
    return pool_far(g, HM_POOL_AVERAGE, x[0]);
}

static hm_node *build_max_scatter(hm_graph *g, hm_node *const *x)
{
    hm_node *y = pool(g, HM_POOL_MAX, x[0]);
    return y ? hm_graph_make2(g, &hm_op_max_pool_scatter, hm_node_attributes(y), y->attribute_size,
                              x[0], hm_ad_square(g, y))
             : NULL;
}

static hm_node *build_max_gather(hm_graph *g, hm_node *const *x)
{
    hm_node *y = pool(g, HM_POOL_MAX, x[0]);
    return y ? hm_graph_make2(g, &hm_op_max_pool_gather, hm_node_attributes(y), y->attribute_size,
                              x[0], hm_ad_square(g, x[0]))
             : NULL;
}

static hm_node *build_average_spread(hm_graph *g, hm_node *const *x)
{
    hm_node *y = pool(g, HM_POOL_AVERAGE, x[0]);
    return y ? hm_graph_make1(g, &hm_op_average_pool_spread, hm_node_attributes(y),
                              y->attribute_size, hm_ad_square(g, y))
             : NULL;
}

static hm_node *build_layer_norm(hm_graph *g, hm_node *const *x)
{
    return hm_ad_layer_norm(g, 2, 0.1, x[0]);
}

static hm_node *build_rms_norm(hm_graph *g, hm_node *const *x)
{
    return hm_ad_rms_norm(g, 1, 0.1, x[0]);
}

static hm_node *build_group_norm(hm_graph *g, hm_node *const *x)
{
    return hm_ad_group_norm(g, 2, 0.1, x[0]);
}

static hm_node *build_instance_norm(hm_graph *g, hm_node *const *x)
{
    return hm_ad_instance_norm(g, 0.1, x[0]);
}

static hm_node *build_layer_norm_reverse(hm_graph *g, hm_node *const *x)
{
    hm_node *y = hm_ad_layer_norm(g, 1, 0.1, x[0]);
    return y ? hm_graph_make(g, &hm_op_layer_norm_reverse, hm_node_attributes(y), y->attribute_size,
                             (hm_node *[]){x[0], y, x[1]}, 3)
             : NULL;
}

static hm_node *build_rms_norm_reverse(hm_graph *g, hm_node *const *x)
{
    hm_node *y = hm_ad_rms_norm(g, 1, 0.1, x[0]);
    return y ? hm_graph_make(g, &hm_op_rms_norm_reverse, hm_node_attributes(y), y->attribute_size,
                             (hm_node *[]){x[0], y, x[1]}, 3)
             : NULL;
}

/* What a derivative of the two above is made of: the norm's attributes, and about what it deviates. */
static hm_node *inverse_deviation(hm_graph *g, hm_node *x, hm_node *y, int64_t centred)
{
    if (!y)
        return NULL;
    int64_t attributes[8] = {0};
    const size_t size = (size_t)y->attribute_size;
    assert(size + sizeof centred <= sizeof attributes);
    memcpy(attributes, hm_node_attributes(y), size);
    memcpy((char *)attributes + size, &centred, sizeof centred);
    return hm_graph_make(g, &hm_op_inverse_deviation, attributes, size + sizeof centred,
                         (hm_node *[]){x, y}, 2);
}

static hm_node *build_inverse_deviation(hm_graph *g, hm_node *const *x)
{
    return inverse_deviation(g, x[0], hm_ad_layer_norm(g, 1, 0.1, x[0]), 1);
}

static hm_node *build_inverse_root_mean_square(hm_graph *g, hm_node *const *x)
{
    return inverse_deviation(g, x[0], hm_ad_rms_norm(g, 1, 0.1, x[0]), 0);
}

/* Powers of two, which stay where they are. */
static hm_node *build_row_scale(hm_graph *g, hm_node *const *x)
{
    hm_node *by = build_inverse_deviation(g, x);
    return by ? hm_graph_make(g, &hm_op_row_scale, hm_node_attributes(by), by->attribute_size,
                              (hm_node *[]){x[1], by}, 2)
              : NULL;
}

static hm_node *build_batch_norm(hm_graph *g, hm_node *const *x)
{
    hm_node *mean = NULL, *variance = NULL;
    return hm_ad_batch_norm(g, 0.1, x[1], x[2], x[0], &mean, &variance);
}

static hm_node *build_batch_variance(hm_graph *g, hm_node *const *x)
{
    hm_node *mean = NULL, *variance = NULL;
    hm_ad_batch_norm(g, 0.1, x[1], x[2], x[0], &mean, &variance);
    return hm_ad_multiply(g, variance, x[1]);
}

/* ------------------------------------------------- softmax family, losses, attention */

static hm_node *build_softmax(hm_graph *g, hm_node *const *x) { return hm_ad_softmax(g, x[0], 1); }

static hm_node *build_log_softmax(hm_graph *g, hm_node *const *x)
{
    return hm_ad_log_softmax(g, x[0], 0);
}

static hm_node *build_sparsemax(hm_graph *g, hm_node *const *x)
{
    return hm_ad_sparsemax(g, x[0], 1);
}

#define BUILD_REVERSE(name) \
    static hm_node *build_##name##_reverse(hm_graph *g, hm_node *const *x) \
    { \
        return hm_graph_make2(g, &hm_op_##name##_reverse, NULL, 0, hm_ad_##name(g, x[0], 1), \
                              x[1]); \
    }
BUILD_REVERSE(softmax)
BUILD_REVERSE(log_softmax)
BUILD_REVERSE(sparsemax)

static void targets_and_probabilities(double x[][SAMPLE_ROOM])
{
    const double targets[] = {0, 1, 0.25, 0.5, 0, 1};
    for (int i = 0; i < 6; i++)
        x[0][i] = targets[i];
}

static void signs(double x[][SAMPLE_ROOM])
{
    for (int i = 0; i < 6; i++)
        x[0][i] = i % 2 ? 1 : -1;
}

#define BUILD_LOSS(name, the_formula, the_parameter) \
    static hm_node *build_##name(hm_graph *g, hm_node *const *x) \
    { \
        const hm_loss_method method = {.formula = the_formula, .parameter = the_parameter}; \
        const hm_loss_reduction mean = {.mean = true}; \
        return hm_ad_loss(g, &method, &mean, x[0], x[1]); \
    } \
    static hm_node *build_##name##_gradient(hm_graph *g, hm_node *const *x) \
    { \
        hm_node *loss = build_##name(g, x); \
        return loss ? hm_graph_make2(g, &hm_op_loss_gradient, hm_node_attributes(loss), \
                                     loss->attribute_size, x[0], x[1]) \
                    : NULL; \
    }
BUILD_LOSS(squared, HM_LOSS_SQUARED, 0)
BUILD_LOSS(absolute_loss, HM_LOSS_ABSOLUTE, 0)
BUILD_LOSS(huber, HM_LOSS_HUBER, 0.3)
BUILD_LOSS(smooth, HM_LOSS_SMOOTH, 0.3)
BUILD_LOSS(binary, HM_LOSS_BINARY_ENTROPY, 0)
BUILD_LOSS(categorical, HM_LOSS_CATEGORICAL_ENTROPY, 0)
BUILD_LOSS(divergence, HM_LOSS_DIVERGENCE, 0)
BUILD_LOSS(hinge, HM_LOSS_HINGE, 1.5)
BUILD_LOSS(cosine, HM_LOSS_COSINE, 0)

static hm_node *build_ctc(hm_graph *g, hm_node *const *x)
{
    static const int64_t numbers[] = {1, 2, 2};
    const hm_ints labels = {.data = numbers, .length = 3};
    return hm_ad_ctc_loss(g, 0, &labels, x[0]);
}

static hm_node *build_ctc_gradient(hm_graph *g, hm_node *const *x)
{
    hm_node *loss = build_ctc(g, x);
    return loss ? hm_graph_make1(g, &hm_op_ctc_loss_gradient, hm_node_attributes(loss),
                                 loss->attribute_size, x[0])
                : NULL;
}

/* Query 1 sees nothing. */
static const uint8_t sample_mask[] = {1, 1, 0, 0, 0, 0, 1, 0, 1};
static const hm_bool_rows mask_rows = {.data = sample_mask, .rows = 3, .columns = 3};

static hm_node *build_attention(hm_graph *g, hm_node *const *x)
{
    return hm_ad_attention(g, x[0], x[1], x[2], &mask_rows);
}

static hm_node *build_multihead(hm_graph *g, hm_node *const *x)
{
    return hm_ad_multihead_attention(g, 2, x[0], x[1], x[2], NULL);
}

static hm_node *build_attention_reverse(hm_graph *g, hm_node *const *x)
{
    return hm_graph_make2(g, &hm_op_attention_reverse, NULL, 0, hm_ad_softmax(g, x[0], 1), x[1]);
}

/* ------------------------------------------------- custom: a tensor times a number, squared */

static hmath_status custom_forward(hmath_context *ctx, void *user, const hmath_value *const *inputs,
                                   size_t n, hmath_value **out)
{
    double a, y[3];
    const double *x = hmath_tensor_data(inputs[1]);
    (void)user, (void)n;
    if (hmath_double_get(inputs[0], &a) != HMATH_OK)
        return HMATH_CALLBACK;
    for (int i = 0; i < 3; i++)
        y[i] = a * x[i] * x[i];
    return hmath_tensor_create(ctx, 1, (const int64_t[]){3}, y, out);
}

static hmath_status custom_reverse(hmath_context *ctx, void *user, const hmath_value *const *inputs,
                                   size_t n, const hmath_value *adjoint, hmath_value **tuple)
{
    double a, along_a = 0, along_x[3];
    const double *x = hmath_tensor_data(inputs[1]), *u = hmath_tensor_data(adjoint);
    hmath_value *parts[2] = {NULL, NULL};
    (void)user, (void)n;
    if (hmath_double_get(inputs[0], &a) != HMATH_OK)
        return HMATH_CALLBACK;
    for (int i = 0; i < 3; i++) {
        along_a += u[i] * x[i] * x[i];
        along_x[i] = 2 * a * x[i] * u[i];
    }
    hmath_status st = hmath_double_create(ctx, along_a, &parts[0]);
    if (st == HMATH_OK)
        st = hmath_tensor_create(ctx, 1, (const int64_t[]){3}, along_x, &parts[1]);
    if (st == HMATH_OK)
        st = hmath_tuple_create(ctx, (const hmath_value *const *)parts, 2, tuple);
    hmath_release(parts[0]);
    hmath_release(parts[1]);
    return st;
}

static hm_node *build_custom(hm_graph *g, hm_node *const *x)
{
    const hm_callbacks callbacks = {custom_forward, custom_reverse, NULL, NULL};
    return hm_ad_custom(g, x, 2, &(hm_shape)S1(3), &callbacks);
}

/* Its derivative, as what is built from a gradient. */
static hm_node *build_custom_reverse(hm_graph *g, hm_node *const *x)
{
    hm_node *y = build_custom(g, x), *u = hm_ad_constant(g, 1.0), *found[2] = {NULL, NULL};
    hm_node *seed = hm_ad_broadcast_to(g, u, &(hm_shape)S1(3));
    if (y)
        hm_reverse_mode(g, &y, &seed, 1, x, 2, found);
    return found[1];
}

/* ------------------------------------------------- the rows */

#define UNARY(name, low, high, second) \
    { \
        &hm_op_##name, #name, build_##name, 1, {S1(5)}, low, high, second, 0, NULL, false \
    }
#define BINARY(name, low, high, second) \
    {&hm_op_##name, #name, build_##name, 2,    {S2(3, 4), S2(3, 4)}, low, high, \
     second,        0,     NULL,         false}, \
    { \
        &hm_op_##name, #name " broadcast", build_##name, 2, {S3(2, 1, 4), S2(3, 1)}, low, high, \
            second, 0, NULL, false \
    }
#define ACTIVATION(method) \
    {&hm_op_activation, #method, build_##method, 1, {S1(7)}, 0.5, 2.5, true, 0, NULL, false}, \
        {&hm_op_activation, \
         #method " below", \
         build_##method, \
         1, \
         {S1(7)}, \
         -2.5, \
         -0.5, \
         true, \
         0, \
         NULL, \
         false}, \
        {&hm_op_activation_derivative, \
         #method " slope", \
         build_##method##_slope, \
         1, \
         {S1(7)}, \
         -2.5, \
         -0.5, \
         true, \
         0, \
         NULL, \
         false}, \
    { \
        &hm_op_activation_derivative, #method " slope above", build_##method##_slope, 1, {S1(7)}, \
            0.5, 2.5, true, 0, NULL, false \
    }

#define LOSS(name, low, high, fix) \
    {&hm_op_loss, #name, build_##name, 2, {S2(2, 3), S2(2, 3)}, low, high, true, 1, fix, false}, \
    { \
        &hm_op_loss_gradient, #name " gradient", build_##name##_gradient, 2, {S2(2, 3), S2(2, 3)}, \
            low, high, true, 1, fix, false \
    }

static const sample samples[] = {
    BINARY(add, -1, 1, true),
    BINARY(subtract, -1, 1, true),
    BINARY(multiply, -1, 1, true),
    BINARY(divide, 1, 2, true),
    BINARY(maximum, -100, 100, true),
    BINARY(minimum, -100, 100, true),
    BINARY(equal, -100, 100, true),
    BINARY(less, -100, 100, true),
    BINARY(less_equal, -100, 100, true),
    BINARY(power, 0.5, 2, true),
    BINARY(power_slope, 0.5, 2, true),
    BINARY(sqrt_slope, 1, 2, true),
    {&hm_op_select,
     "select",
     build_select,
     3,
     {S2(3, 4), S1(4), S2(3, 1)},
     0.6,
     2,
     true,
     0,
     NULL,
     false},
    {&hm_op_select,
     "select below",
     build_select,
     3,
     {S2(3, 4), S1(4), S2(3, 1)},
     -1,
     0.4,
     true,
     0,
     NULL,
     false},
    UNARY(negate, -1, 1, true),
    UNARY(absolute, -2, -0.1, true),
    UNARY(sign, 0.1, 2, true),
    UNARY(square, -1, 1, true),
    UNARY(sqrt, 0.5, 2, true),
    UNARY(reciprocal, 0.5, 2, true),
    UNARY(exp, -1, 1, true),
    UNARY(expm1, -1, 1, true),
    UNARY(log, 0.5, 2, true),
    UNARY(power_log, 0.5, 2, true),
    UNARY(log1p, -0.4, 1, true),
    UNARY(sin, -3, 3, true),
    UNARY(cos, -3, 3, true),
    UNARY(tan, -1, 1, true),
    UNARY(tanh, -2, 2, true),
    UNARY(erf, -2, 2, true),
    ACTIVATION(sigmoid),
    ACTIVATION(relu),
    ACTIVATION(leaky_relu),
    ACTIVATION(elu),
    ACTIVATION(selu),
    ACTIVATION(gelu),
    ACTIVATION(silu),
    ACTIVATION(mish),
    ACTIVATION(softplus),
    ACTIVATION(softsign),
    ACTIVATION(hard_sigmoid),
    ACTIVATION(hard_swish),
    {&hm_op_activation, "tanh", build_tanh_activation, 1, {S1(7)}, -2, 2, true, 0, NULL, false},
    {&hm_op_activation_derivative,
     "tanh slope",
     build_tanh_slope,
     1,
     {S1(7)},
     -2,
     2,
     true,
     0,
     NULL,
     false},
    {&hm_op_broadcast_to,
     "broadcast_to",
     build_broadcast,
     1,
     {S2(3, 1)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_sum, "sum", build_sum, 1, {S3(3, 4, 5)}, -1, 1, true, 0, NULL, false},
    {&hm_op_sum, "sum keep", build_sum_keep, 1, {S3(3, 4, 5)}, -1, 1, true, 0, NULL, false},
    {&hm_op_mean, "mean", build_mean, 1, {S3(3, 4, 5)}, -1, 1, true, 0, NULL, false},
    {&hm_op_max, "max", build_max, 1, {S3(3, 4, 5)}, -100, 100, true, 0, NULL, false},
    {&hm_op_norm, "norm", build_norm, 2, {S2(3, 4), S1(5)}, 0.5, 2, true, 0, NULL, false},
    {&hm_op_reshape, "reshape", build_reshape, 1, {S3(2, 3, 2)}, -1, 1, true, 0, NULL, false},
    {&hm_op_transpose, "transpose", build_transpose, 1, {S3(2, 3, 4)}, -1, 1, true, 0, NULL, false},
    {&hm_op_slice, "slice", build_slice, 1, {S2(3, 5)}, -1, 1, true, 0, NULL, false},
    {&hm_op_unslice, "unslice", build_unslice, 1, {S2(2, 2)}, -1, 1, true, 0, NULL, false},
    {&hm_op_add_blocks,
     "add_blocks",
     build_add_blocks,
     4,
     {S2(2, 2), S2(2, 2), S2(2, 1), S2(3, 5)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_element, "element", build_element, 1, {S2(2, 3)}, -1, 1, true, 0, NULL, false},
    {&hm_op_place, "place", build_place, 1, {S0}, -1, 1, true, 0, NULL, false},
    {&hm_op_place_elements,
     "place_elements",
     build_place_elements,
     2,
     {S0, S0},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_gather,
     "gather",
     build_gather,
     2,
     {S3(2, 3, 2), S1(4)},
     -1,
     1,
     true,
     2,
     whole_indices,
     false},
    {&hm_op_scatter,
     "scatter",
     build_scatter,
     2,
     {S3(2, 4, 2), S1(4)},
     -1,
     1,
     true,
     2,
     whole_indices,
     false},
    {&hm_op_concatenate,
     "concatenate",
     build_concatenate,
     2,
     {S2(2, 3), S2(2, 1)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_stack, "stack", build_stack, 2, {S0, S0}, -1, 1, true, 0, NULL, false},
    {&hm_op_head_product,
     "heads side by side",
     build_heads_beside,
     2,
     {S2(3, 8), S2(5, 8)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_head_product,
     "heads one behind the other",
     build_heads_behind,
     2,
     {S2(3, 8), S3(2, 3, 5)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul",
     build_matmul,
     2,
     {S2(3, 4), S2(4, 2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul batch",
     build_matmul,
     2,
     {S4(2, 1, 3, 4), S3(3, 4, 2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul rows",
     build_matmul,
     2,
     {S3(2, 3, 4), S2(4, 2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul vectors",
     build_matmul,
     2,
     {S1(4), S1(4)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul vector",
     build_matmul,
     2,
     {S3(2, 3, 4), S1(4)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul tt",
     build_product_tt,
     2,
     {S2(4, 3), S2(2, 4)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul nt",
     build_product_nt,
     2,
     {S3(2, 3, 4), S3(2, 2, 4)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_matrix_product,
     "matmul tn",
     build_product_tn,
     2,
     {S2(4, 3), S2(4, 2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_dense,
     "dense",
     build_dense,
     3,
     {S3(2, 3, 4), S2(5, 4), S1(5)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_convolution,
     "convolution",
     build_convolution,
     3,
     {S4(2, 3, 4, 5), S4(2, 3, 3, 2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_convolution,
     "convolution, far windows",
     build_convolution_far,
     3,
     {S4(2, 3, 4, 5), S4(2, 3, 3, 2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_convolution,
     "convolution, far taps",
     build_convolution_far_taps,
     3,
     {S4(2, 3, 4, 5), S4(2, 3, 2, 2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_convolution,
     "convolution grouped",
     build_convolution_grouped,
     3,
     {S4(2, 4, 7, 6), S4(2, 2, 3, 2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_convolution_adjoint,
     "transposed",
     build_transposed,
     3,
     {S4(2, 4, 3, 2), S4(4, 2, 3, 2), S1(4)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_convolution_weights,
     "convolution weights",
     build_convolution_weights,
     3,
     {S4(2, 4, 7, 6), S4(2, 2, 3, 2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool,
     "max pooling",
     build_max_pool,
     1,
     {S4(2, 2, 5, 6)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool,
     "max pooling, far windows",
     build_max_pool_far,
     1,
     {S4(2, 2, 5, 6)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
    {&hm_op_average_pool,
     "average pooling, far windows",
     build_average_pool_far,
     1,
     {S4(2, 2, 5, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool_scatter,
     "max scatter",
     build_max_scatter,
     1,
     {S4(2, 2, 5, 6)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool_gather,
     "max gather",
     build_max_gather,
     1,
     {S4(2, 2, 5, 6)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
    {&hm_op_average_pool,
     "average pooling",
     build_average_pool,
     1,
     {S4(2, 2, 5, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_average_pool_spread,
     "average spread",
     build_average_spread,
     1,
     {S4(2, 2, 5, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_layer_norm,
     "layer_norm",
     build_layer_norm,
     1,
     {S3(3, 2, 5)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_layer_norm,
     "group_norm",
     build_group_norm,
     1,
     {S3(2, 4, 3)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_layer_norm,
     "instance_norm",
     build_instance_norm,
     1,
     {S4(2, 2, 3, 2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_rms_norm, "rms_norm", build_rms_norm, 1, {S3(3, 2, 5)}, -1, 1, true, 0, NULL, false},
    {&hm_op_layer_norm_reverse,
     "layer_norm reverse",
     build_layer_norm_reverse,
     2,
     {S2(3, 6), S2(3, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_rms_norm_reverse,
     "rms_norm reverse",
     build_rms_norm_reverse,
     2,
     {S2(3, 6), S2(3, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_inverse_deviation,
     "inverse deviation, about the mean",
     build_inverse_deviation,
     1,
     {S2(3, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_inverse_deviation,
     "inverse deviation, about 0",
     build_inverse_root_mean_square,
     1,
     {S2(3, 6)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_row_scale,
     "row_scale",
     build_row_scale,
     2,
     {S2(3, 6), S2(3, 6)},
     -1,
     1,
     true,
     3,
     NULL,
     false},
    {&hm_op_layer_norm,
     "batch_norm",
     build_batch_norm,
     3,
     {S3(3, 2, 4), S1(2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_variance,
     "variance of batch_norm",
     build_batch_variance,
     3,
     {S3(3, 2, 4), S1(2), S1(2)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_softmax, "softmax", build_softmax, 1, {S2(3, 4)}, -2, 2, false, 0, NULL, false},
    {&hm_op_softmax_reverse,
     "softmax reverse",
     build_softmax_reverse,
     2,
     {S2(3, 4), S2(3, 4)},
     -2,
     2,
     false,
     1,
     NULL,
     false},
    {&hm_op_log_softmax,
     "log_softmax",
     build_log_softmax,
     1,
     {S2(3, 4)},
     -2,
     2,
     false,
     0,
     NULL,
     false},
    {&hm_op_log_softmax_reverse,
     "log_softmax reverse",
     build_log_softmax_reverse,
     2,
     {S2(3, 4), S2(3, 4)},
     -2,
     2,
     false,
     1,
     NULL,
     false},
    {&hm_op_sparsemax,
     "sparsemax",
     build_sparsemax,
     1,
     {S2(3, 4)},
     -0.6,
     0.6,
     false,
     0,
     NULL,
     false},
    {&hm_op_sparsemax_reverse,
     "sparsemax reverse",
     build_sparsemax_reverse,
     2,
     {S2(3, 4), S2(3, 4)},
     -0.6,
     0.6,
     false,
     1,
     NULL,
     false},
    LOSS(squared, -1, 1, NULL),
    LOSS(absolute_loss, -100, 100, NULL),
    LOSS(huber, -0.14, 0.14, NULL),
    LOSS(smooth, -0.14, 0.14, NULL),
    LOSS(binary, 0.4, 0.8,
         targets_and_probabilities), /* differences feel the pole at 1 from afar */
    LOSS(categorical, 0.4, 0.9, targets_and_probabilities),
    LOSS(divergence, 0.4, 0.9, targets_and_probabilities),
    LOSS(hinge, -1, 1, signs),
    LOSS(cosine, 0.1, 1, NULL),
    {&hm_op_ctc_loss, "ctc", build_ctc, 1, {S2(6, 3)}, -3, -0.5, false, 0, NULL, false},
    {&hm_op_ctc_loss_gradient,
     "ctc gradient",
     build_ctc_gradient,
     1,
     {S2(6, 3)},
     -3,
     -0.5,
     false,
     1,
     NULL,
     true},
    {&hm_op_attention_weights,
     "attention",
     build_attention,
     3,
     {S2(3, 4), S2(3, 4), S2(3, 2)},
     -1,
     1,
     false,
     0,
     NULL,
     false},
    {&hm_op_attention_weights,
     "multihead",
     build_multihead,
     3,
     {S3(2, 3, 4), S3(2, 5, 4), S3(2, 5, 2)},
     -1,
     1,
     false,
     0,
     NULL,
     false},
    {&hm_op_attention_reverse,
     "attention reverse",
     build_attention_reverse,
     2,
     {S2(3, 4), S2(3, 4)},
     -2,
     2,
     false,
     1,
     NULL,
     false},
    {&hm_op_custom, "custom", build_custom, 2, {S0, S1(3)}, -1, 1, false, 0, NULL, true},
    {&hm_op_custom_reverse,
     "custom reverse",
     build_custom_reverse,
     2,
     {S0, S1(3)},
     -1,
     1,
     false,
     3,
     NULL,
     true},
    {&hm_op_dense,
     "dense vector",
     build_dense,
     3,
     {S1(4), S2(5, 4), S1(5)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool,
     "max pooling, squares",
     build_max_pool_squares,
     1,
     {S4(2, 2, 5, 19)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
    {&hm_op_average_pool,
     "average pooling, squares",
     build_average_pool_squares,
     1,
     {S4(2, 2, 5, 19)},
     -1,
     1,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool,
     "max pooling, rectified squares",
     build_rectified_squares,
     1,
     {S4(2, 2, 5, 19)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
    {&hm_op_max_pool_rectified_scatter,
     "rectified scatter",
     build_rectified_scatter,
     1,
     {S4(2, 2, 5, 19)},
     -100,
     100,
     true,
     0,
     NULL,
     false},
};

enum { sample_count = sizeof samples / sizeof samples[0] };

#endif
