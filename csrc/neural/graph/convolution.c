/*
 * Convolution and its two gradients are three products of the same three operands, each linear in two
 * of them: y = C(x, w), x' = A(y, w), w' = W(x, y), with <C(x, w), y> = <x, A(y, w)> = <w, W(x, y)>. So
 * the derivative of each is made of the other two, and they can be differentiated for ever.
 */
#include "autodiff/gradient.h"
#include "neural/graph/graph.h"
#include "neural/layers/convolution.h"
#include "primitives/primitives.h"
#include "primitives/reduce.h"

#include <string.h>

typedef struct convolution {
    hm_conv conv;
    hm_shape input, weights, output;
} convolution;

static const char *const input_weights_bias[] = {"input", "weights", "bias"};

static hm_status output_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                              const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const convolution *)attributes)->output;
    return HMATH_OK;
}

static hm_status input_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                             const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const convolution *)attributes)->input;
    return HMATH_OK;
}

static hm_status weights_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const convolution *)attributes)->weights;
    return HMATH_OK;
}

static hm_status outcome(const hm_run *run, hm_status st, bool finite)
{
    return st == HMATH_OK && !finite ? hm_fail_overflow(run->ctx) : st;
}

static const double *bias_of(const hm_run *run)
{
    return run->node->count == 3 ? run->inputs[2] : NULL;
}

static hm_status convolution_run(const hm_run *run)
{
    const convolution *c = hm_node_attributes(run->node);
    bool finite = true;
    if (run->node->size == 0)
        return HMATH_OK;
    hm_status st = hm_convolve(run->ctx, &c->conv, run->inputs[0], run->inputs[1], bias_of(run),
                               run->output, &finite);
    return outcome(run, st, finite);
}

static hm_status adjoint_run(const hm_run *run)
{
    const convolution *c = hm_node_attributes(run->node);
    bool finite = true;
    if (run->node->size == 0)
        return HMATH_OK;
    hm_status st = hm_convolve_adjoint(run->ctx, &c->conv, run->inputs[0], run->inputs[1],
                                       bias_of(run), run->output, &finite);
    return outcome(run, st, finite);
}

static hm_status weights_run(const hm_run *run)
{
    const convolution *c = hm_node_attributes(run->node);
    bool finite = true;
    if (run->node->size == 0)
        return HMATH_OK;
    hm_status st = hm_convolve_weights(run->ctx, &c->conv, run->inputs[0], run->inputs[1],
                                       run->output, &finite);
    return outcome(run, st, finite);
}

/* The same triple of shapes, for the product that `op` stands for. */
static hm_node *product(hm_graph *g, const hm_op *op, const hm_node *like, hm_node *a, hm_node *b)
{
    return hm_graph_make2(g, op, hm_node_attributes(like), sizeof(convolution), a, b);
}

/* A bias is added to every pixel of its channel. */
static hm_node *bias_cotangent(hm_graph *g, hm_node *cotangent)
{
    return hm_ad_sum(g, cotangent, hm_ad_all_axes(cotangent) & ~2u, false);
}

static void convolution_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                                hm_node **cotangents)
{
    hm_node *x = node->inputs[0], *w = node->inputs[1];
    if (wanted[0])
        cotangents[0] = product(g, &hm_op_convolution_adjoint, node, u, w);
    if (wanted[1])
        cotangents[1] = product(g, &hm_op_convolution_weights, node, x, u);
    if (node->count == 3 && wanted[2])
        cotangents[2] = bias_cotangent(g, u);
}

static void adjoint_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                            hm_node **cotangents)
{
    hm_node *y = node->inputs[0], *w = node->inputs[1];
    if (wanted[0])
        cotangents[0] = product(g, &hm_op_convolution, node, u, w);
    if (wanted[1])
        cotangents[1] = product(g, &hm_op_convolution_weights, node, u, y);
    if (node->count == 3 && wanted[2])
        cotangents[2] = bias_cotangent(g, u);
}

static void weights_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                            hm_node **cotangents)
{
    hm_node *x = node->inputs[0], *y = node->inputs[1];
    if (wanted[0])
        cotangents[0] = product(g, &hm_op_convolution_adjoint, node, y, u);
    if (wanted[1])
        cotangents[1] = product(g, &hm_op_convolution, node, x, u);
}

const hm_op hm_op_convolution = {.name = "layers.convolution",
                                 .arguments = input_weights_bias,
                                 .arity = HM_VARIADIC,
                                 .shape = output_shape,
                                 .run = convolution_run,
                                 .reverse = convolution_reverse};

const hm_op hm_op_convolution_adjoint = {.name = "layers.transposed_convolution",
                                         .arguments = input_weights_bias,
                                         .arity = HM_VARIADIC,
                                         .shape = input_shape,
                                         .run = adjoint_run,
                                         .reverse = adjoint_reverse};

const hm_op hm_op_convolution_weights = {.name = "layers.convolution",
                                         .arguments = input_weights_bias,
                                         .arity = 2,
                                         .flags = HM_OP_MULTILINEAR,
                                         .shape = weights_shape,
                                         .run = weights_run,
                                         .reverse = weights_reverse};

/* Attributes are compared as bytes: nothing of them is left to chance. */
static convolution attributes_of(const hm_conv *conv, const hm_shape *input,
                                 const hm_shape *weights, const hm_shape *output)
{
    convolution c;
    memset(&c, 0, sizeof c);
    c.conv = *conv;
    c.input = hm_shape_as_attribute(input);
    c.weights = hm_shape_as_attribute(weights);
    c.output = hm_shape_as_attribute(output);
    return c;
}

hm_node *hm_ad_convolution(hm_graph *g, const hm_conv_options *options, hm_node *input,
                           hm_node *weights, hm_node *bias)
{
    hm_conv conv;
    hm_shape output;
    if (!input || !weights || !bias)
        return NULL;
    hm_shape x = hm_node_shape(input), w = hm_node_shape(weights);
    const hm_doubles b = {.length = bias->size, .rank = bias->rank};
    hm_status st = hm_plan_convolution(g->ctx, false, options, &x, &w, &b, &conv, &output);
    if (st != HMATH_OK)
        return hm_graph_fail(g, st);
    convolution c = attributes_of(&conv, &x, &w, &output);
    return hm_graph_make(g, &hm_op_convolution, &c, sizeof c, (hm_node *[]){input, weights, bias},
                         3);
}

hm_node *hm_ad_transposed_convolution(hm_graph *g, const hm_ints *output_padding,
                                      const hm_conv_options *options, hm_node *input,
                                      hm_node *weights, hm_node *bias)
{
    hm_conv conv;
    hm_shape result;
    hm_status st;
    if (!input || !weights || !bias)
        return NULL;
    hm_shape y = hm_node_shape(input), w = hm_node_shape(weights);
    const hm_doubles b = {.length = bias->size, .rank = bias->rank};
    if ((st = hm_plan_transposed_convolution(g->ctx, output_padding, options, &y, &w, &b, &conv,
                                             &result)) != HMATH_OK ||
        (st = hm_check_output_padding(g->ctx, output_padding, options)) != HMATH_OK)
        return hm_graph_fail(g, st);
    convolution c = attributes_of(&conv, &result, &w, &y);
    return hm_graph_make(g, &hm_op_convolution_adjoint, &c, sizeof c,
                         (hm_node *[]){input, weights, bias}, 3);
}
