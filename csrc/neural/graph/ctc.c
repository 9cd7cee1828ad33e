/*
 * CTC of one sequence. The derivative with respect to the log-probabilities is a node of its own (minus
 * the occupancies of the forward-backward recursion), which has no derivative: CTC is first-order.
 */
#include <stdlib.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "neural/core/core.h"
#include "neural/graph/graph.h"
#include "primitives/elementwise.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"
#include "runtime/list.h"

/* Attributes: blank, how many labels, the labels. */
static const char *const log_probabilities[] = {"log_probabilities"};

static hm_ints labels_of(const hm_node *node)
{
    const int64_t *numbers = hm_node_attributes(node);
    return (hm_ints){.data = numbers + 2, .length = numbers[1]};
}

static int64_t blank_of(const hm_node *node) { return *(const int64_t *)hm_node_attributes(node); }

static hm_double_rows rows_of(const hm_node *node, const double *data)
{
    const int64_t *extent = hm_node_extents(node);
    return (hm_double_rows){.data = data, .rows = extent[0], .columns = extent[1], .rank = 2};
}

static hm_status ctc_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                           const void *attributes, hm_shape *out)
{
    hm_shape shape = hm_node_shape(inputs[0]);
    (void)count, (void)attributes;
    *out = (hm_shape){0};
    return hm_check_rank(ctx, "log_probabilities", &shape, 2);
}

static hm_status gradient_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[0]);
    return HMATH_OK;
}

static hm_status ctc_run(const hm_run *run)
{
    const hm_ints labels = labels_of(run->node);
    const hm_double_rows rows = rows_of(run->node->inputs[0], run->inputs[0]);
    return hm_ctc_loss(run->ctx, blank_of(run->node), &labels, &rows, run->output);
}

static hm_status gradient_run(const hm_run *run)
{
    const hm_ints labels = labels_of(run->node);
    const hm_double_rows rows = rows_of(run->node->inputs[0], run->inputs[0]);
    hm_value *gradient = NULL;
    double loss;
    hm_status st =
        hm_ctc_loss_gradient(run->ctx, blank_of(run->node), &labels, &rows, &loss, &gradient);
    if (st == HMATH_OK && run->node->size)
        memcpy(run->output, ((const hm_list *)gradient)->data,
               (size_t)run->node->size * sizeof(double));
    hm_release(gradient);
    return st;
}

static void ctc_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                        hm_node **cotangents)
{
    (void)wanted;
    hm_node *slope = hm_graph_make1(g, &hm_op_ctc_loss_gradient, hm_node_attributes(node),
                                    node->attribute_size, node->inputs[0]);
    cotangents[0] = hm_ad_multiply(g, u, slope);
}

const hm_op hm_op_ctc_loss = {.name = "core.ctc_loss",
                              .arguments = log_probabilities,
                              .arity = 1,
                              .shape = ctc_shape,
                              .run = ctc_run,
                              .reverse = ctc_reverse};

const hm_op hm_op_ctc_loss_gradient = {.name = "core.ctc_loss",
                                       .arguments = log_probabilities,
                                       .arity = 1,
                                       .shape = gradient_shape,
                                       .run = gradient_run};

hm_node *hm_ad_ctc_loss(hm_graph *g, int64_t blank, const hm_ints *labels,
                        hm_node *log_probabilities_node)
{
    size_t bytes;
    if (!log_probabilities_node)
        return NULL;
    int64_t *attributes = NULL;
    if (hm_bytes(2 * sizeof(int64_t), (size_t)labels->length, sizeof(int64_t), &bytes))
        attributes = hm_alloc(bytes);
    if (!attributes)
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    attributes[0] = blank;
    attributes[1] = labels->length;
    if (labels->length)
        memcpy(attributes + 2, labels->data, (size_t)labels->length * sizeof(int64_t));
    hm_node *node = hm_graph_make1(g, &hm_op_ctc_loss, attributes, bytes, log_probabilities_node);
    hm_free(attributes);
    return node;
}
