/* Graph forms of the neural operations: the eleven wrappers, and what hmath_autodiff.h adds to them. */
#include <string.h>

#include "abi/autodiff_edge.h"
#include "hmath_deeplearning.h"
#include "neural/graph/graph.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/join.h"
#include "primitives/matmul.h"
#include "runtime/alloc.h"

/* ------------------------------------------------- arguments */

/* An object of a fixed kind, or NULL with the failure g's. */
static const void *object(hm_graph *g, const char *name, const hm_value *v, int32_t kind)
{
    const void *found = NULL;
    if (g->status != HMATH_OK)
        return NULL;
    hm_status st = hm_arg_object(g->ctx, name, v, kind, &found);
    return st == HMATH_OK ? found : hm_graph_fail(g, st);
}

static bool read(hm_graph *g, hm_status st)
{
    if (st != HMATH_OK)
        hm_graph_fail(g, st);
    return g->status == HMATH_OK;
}

/*
 * [ADExpr]: a list of scalars as a vector, or an ADTensor as it is. Doubles in the list and a Tensor
 * Double are constants.
 */
static hm_node *vector(hm_graph *g, const char *name, const hm_value *v)
{
    hm_node **nodes = NULL, *made = NULL;
    int64_t n;
    if (!hm_list_from_value(v)) {
        hm_node *node = hm_arg_node(g, name, v);
        if (node && node->rank == 0)
            return hm_graph_fail(g, hm_fail_type(g->ctx, name, "List of ADExpr", v));
        return node;
    }
    if (hm_arg_node_list(g, name, v, &nodes, &n) == HMATH_OK) {
        for (int64_t i = 0; i < n && g->status == HMATH_OK; i++)
            if (nodes[i]->rank)
                hm_graph_fail(g, hm_fail_type(g->ctx, name, "List of ADExpr", &nodes[i]->base));
        made = hm_ad_stack(g, nodes, (int32_t)n, &(hm_shape){.rank = 1, .extent = {n}});
    }
    hm_free(nodes);
    return made;
}

/* A row per element of the list, all of one length. */
static hm_node *stack_rows(hm_graph *g, const char *name, const hm_list *list)
{
    hm_node **rows = hm_alloc((size_t)list->length * sizeof *rows), *made = NULL;
    if (!rows)
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    for (int64_t i = 0; i < list->length && g->status == HMATH_OK; i++) {
        hm_value *row = NULL;
        if (!read(g, hm_list_item(g->ctx, list, i, &row)))
            break;
        if (!hm_list_from_value(row))
            hm_graph_fail(g, hm_fail_type(g->ctx, name, "List of lists of ADExpr", row));
        rows[i] = vector(g, name, row);
        hm_release(row);
        if (rows[i] && rows[i]->size != rows[0]->size)
            hm_graph_fail(g, hm_fail_dimension(g->ctx, name, rows[0]->size, rows[i]->size));
    }
    if (g->status == HMATH_OK)
        made = hm_ad_stack_along(g, rows, (int32_t)list->length, 0);
    hm_free(rows);
    return made;
}

/* [[ADExpr]], or an ADTensor of rank 2. */
static hm_node *matrix(hm_graph *g, const char *name, const hm_value *v)
{
    const hm_list *list = hm_list_from_value(v);
    if (!list)
        return hm_arg_node(g, name, v);
    if (list->length == 0)
        return hm_ad_stack(g, NULL, 0, &(hm_shape){.rank = 2});
    return stack_rows(g, name, list);
}

/* The result of an operation on a vector: a list of scalars where a list came in. */
static hm_status leave_like(hm_graph *g, const hm_value *source, hm_node *result, hm_value **out)
{
    if (!hm_list_from_value(source))
        return hm_graph_leave(g, result, out);
    hm_context *ctx = g->ctx;
    const int64_t n = result ? result->size : 0;
    const hm_value **items = hm_alloc((size_t)n * sizeof *items);
    hm_list *list = NULL;
    if (!items)
        hm_graph_fail(g, hm_fail_memory(ctx));
    for (int64_t i = 0; i < n && g->status == HMATH_OK; i++) {
        hm_node *element = hm_ad_element(g, result, i);
        items[i] = element ? &element->base : NULL;
    }
    if (g->status == HMATH_OK)
        read(g, hm_list_create(ctx, items, (size_t)n, &list));
    hm_free(items);
    hm_status st = hm_graph_close(g, NULL, 0, NULL);
    if (st == HMATH_OK)
        *out = &list->base;
    return hm_leave(ctx, st);
}

/* Maybe [[Bool]]. */
static const hm_bool_rows *maybe_mask(hm_graph *g, const hm_value *v, hm_bool_rows *rows)
{
    if (!v || g->status != HMATH_OK || !read(g, hm_arg_bool_rows(g->ctx, "mask", v, rows)))
        return NULL;
    return rows;
}

/* ------------------------------------------------- activations and the softmax family */

static hm_status activation(hm_context *ctx, const char *operation, const hm_value *method,
                            const hm_value *value, hm_value **out)
{
    hm_graph g;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    const hm_activation *how = object(&g, "method", method, HMATH_KIND_ACTIVATION);
    hm_node *x = how ? hm_arg_node(&g, "value", value) : NULL;
    if (x)
        result = hm_ad_activation(&g, how->formula, how->parameter, x);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_neural_core_activation_expr(hmath_context *ctx, const hmath_value *method,
                                               const hmath_value *value, hmath_value **out)
{
    return activation(ctx, "core.activation_expr", method, value, out);
}

hmath_status hmath_autodiff_activation(hmath_context *ctx, const hmath_value *method,
                                       const hmath_value *value, hmath_value **out)
{
    return activation(ctx, "autodiff.activation", method, value, out);
}

typedef hm_node *make_along(hm_graph *, hm_node *, int32_t);

static hm_status along_last(hm_context *ctx, const char *operation, make_along *make,
                            const hm_value *values, hm_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *x = vector(&g, "values", values);
    return leave_like(&g, values, x ? make(&g, x, x->rank - 1) : NULL, out);
}

static hm_status along(hm_context *ctx, const char *operation, make_along *make,
                       const hm_value *value, int64_t axis, hm_value **out)
{
    hm_graph g;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *x = hm_arg_node(&g, "value", value);
    if (x && (axis < 0 || axis > HM_MAX_RANK))
        hm_graph_fail(&g, hm_fail_index(ctx, "axis", HM_SCALAR, axis, x->rank));
    else if (x)
        result = make(&g, x, (int32_t)axis);
    return hm_graph_leave(&g, result, out);
}

#define HM_AD_ALONG(name) \
    hmath_status hmath_neural_core_##name##_expr(hmath_context *ctx, const hmath_value *values, \
                                                 hmath_value **out) \
    { \
        return along_last(ctx, "core." #name "_expr", hm_ad_##name, values, out); \
    } \
    hmath_status hmath_autodiff_##name(hmath_context *ctx, const hmath_value *value, int64_t axis, \
                                       hmath_value **out) \
    { \
        return along(ctx, "autodiff." #name, hm_ad_##name, value, axis, out); \
    }
HM_AD_ALONG(softmax)
HM_AD_ALONG(log_softmax)
HM_AD_ALONG(sparsemax)
#undef HM_AD_ALONG

/* ------------------------------------------------- losses */

hmath_status hmath_neural_core_loss_expr(hmath_context *ctx, const hmath_value *method,
                                         const hmath_value *reduction, const hmath_value *target,
                                         const hmath_value *prediction, hmath_value **out)
{
    hm_graph g;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "core.loss_expr", out, &g);
    if (st != HMATH_OK)
        return st;
    const hm_loss_method *how = object(&g, "method", method, HMATH_KIND_LOSS);
    const hm_loss_reduction *by = object(&g, "reduction", reduction, HMATH_KIND_REDUCTION);
    hm_node *t = by ? vector(&g, "target", target) : NULL;
    hm_node *p = t ? vector(&g, "prediction", prediction) : NULL;
    if (p)
        result = hm_ad_loss(&g, how, by, t, p);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_neural_core_ctc_loss_expr(hmath_context *ctx, const hmath_value *blank,
                                             const hmath_value *labels,
                                             const hmath_value *log_probabilities,
                                             hmath_value **out)
{
    hm_graph g;
    int64_t blank_class;
    hm_ints label_classes;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "core.ctc_loss_expr", out, &g);
    if (st != HMATH_OK)
        return st;
    if (read(&g, hm_arg_int(ctx, "blank", blank, &blank_class)) &&
        read(&g, hm_arg_ints(ctx, "labels", labels, &label_classes)))
        result = hm_ad_ctc_loss(&g, blank_class, &label_classes,
                                matrix(&g, "log_probabilities", log_probabilities));
    return hm_graph_leave(&g, result, out);
}

/* ------------------------------------------------- dense and convolution */

hmath_status hmath_neural_layers_dense_ad(hmath_context *ctx, const hmath_value *input,
                                          const hmath_value *weights, const hmath_value *bias,
                                          hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "layers.dense_ad", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *x = hm_arg_node(&g, "input", input), *w = hm_arg_node(&g, "weights", weights);
    hm_node *b = vector(&g, "bias", bias);
    return hm_graph_leave(&g, hm_ad_dense(&g, x, w, b), out);
}

hmath_status hmath_neural_layers_convolution_ad(hmath_context *ctx, const hmath_value *options,
                                                const hmath_value *input,
                                                const hmath_value *weights, const hmath_value *bias,
                                                hmath_value **out)
{
    hm_graph g;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "layers.convolution_ad", out, &g);
    if (st != HMATH_OK)
        return st;
    const hm_conv_options *how = object(&g, "options", options, HMATH_KIND_CONV_OPTIONS);
    hm_node *x = hm_arg_node(&g, "input", input), *w = hm_arg_node(&g, "weights", weights);
    hm_node *b = vector(&g, "bias", bias);
    if (how)
        result = hm_ad_convolution(&g, how, x, w, b);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_transposed_convolution(hmath_context *ctx,
                                                   const hmath_value *output_padding,
                                                   const hmath_value *options,
                                                   const hmath_value *input,
                                                   const hmath_value *weights,
                                                   const hmath_value *bias, hmath_value **out)
{
    hm_graph g;
    hm_ints padding;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.transposed_convolution", out, &g);
    if (st != HMATH_OK)
        return st;
    read(&g, hm_arg_ints(ctx, "output_padding", output_padding, &padding));
    const hm_conv_options *how = object(&g, "options", options, HMATH_KIND_CONV_OPTIONS);
    hm_node *x = hm_arg_node(&g, "input", input), *w = hm_arg_node(&g, "weights", weights);
    hm_node *b = vector(&g, "bias", bias);
    if (how)
        result = hm_ad_transposed_convolution(&g, &padding, how, x, w, b);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_pooling(hmath_context *ctx, const hmath_value *mode,
                                    const hmath_value *kernel, const hmath_value *stride,
                                    const hmath_value *padding, const hmath_value *input,
                                    hmath_value **out)
{
    hm_graph g;
    hm_ints kernels, strides, paddings;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.pooling", out, &g);
    if (st != HMATH_OK)
        return st;
    const hm_pool_mode *how = object(&g, "mode", mode, HMATH_KIND_POOL_MODE);
    if (how && read(&g, hm_arg_ints(ctx, "kernel", kernel, &kernels)) &&
        read(&g, hm_arg_ints(ctx, "stride", stride, &strides)) &&
        read(&g, hm_arg_ints(ctx, "padding", padding, &paddings)))
        result =
            hm_ad_pooling(&g, how, &kernels, &strides, &paddings, hm_arg_node(&g, "input", input));
    return hm_graph_leave(&g, result, out);
}

/* ------------------------------------------------- normalisation */

typedef hm_node *make_norm(hm_graph *, int64_t, double, hm_node *);

/* `count` is an Int called `name`. */
static hm_status normalised(hm_context *ctx, const char *operation, make_norm *make,
                            const char *name, const hm_value *count, const hm_value *epsilon,
                            const hm_value *input, hm_value **out)
{
    hm_graph g;
    int64_t n;
    double e;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    if (read(&g, hm_arg_int(ctx, name, count, &n)) &&
        read(&g, hm_arg_double(ctx, "epsilon", epsilon, &e)))
        result = make(&g, n, e, hm_arg_node(&g, "input", input));
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_neural_layers_layer_norm_ad(hmath_context *ctx, const hmath_value *axes,
                                               const hmath_value *epsilon, const hmath_value *input,
                                               hmath_value **out)
{
    return normalised(ctx, "layers.layer_norm_ad", hm_ad_layer_norm, "axes", axes, epsilon, input,
                      out);
}

hmath_status hmath_neural_layers_rms_norm_ad(hmath_context *ctx, const hmath_value *axes,
                                             const hmath_value *epsilon, const hmath_value *input,
                                             hmath_value **out)
{
    return normalised(ctx, "layers.rms_norm_ad", hm_ad_rms_norm, "axes", axes, epsilon, input, out);
}

hmath_status hmath_autodiff_group_norm(hmath_context *ctx, const hmath_value *groups,
                                       const hmath_value *epsilon, const hmath_value *input,
                                       hmath_value **out)
{
    return normalised(ctx, "autodiff.group_norm", hm_ad_group_norm, "groups", groups, epsilon,
                      input, out);
}

hmath_status hmath_autodiff_instance_norm(hmath_context *ctx, const hmath_value *epsilon,
                                          const hmath_value *input, hmath_value **out)
{
    hm_graph g;
    double e;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.instance_norm", out, &g);
    if (st != HMATH_OK)
        return st;
    if (read(&g, hm_arg_double(ctx, "epsilon", epsilon, &e)))
        result = hm_ad_instance_norm(&g, e, hm_arg_node(&g, "input", input));
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_batch_norm(hmath_context *ctx, const hmath_value *epsilon,
                                       const hmath_value *gamma, const hmath_value *beta,
                                       const hmath_value *input, hmath_value **out,
                                       hmath_value **mean, hmath_value **variance)
{
    hm_graph g;
    double e;
    hm_node *results[3] = {NULL}, *kept[3];
    hm_status st = hm_graph_enter(ctx, "autodiff.batch_norm", out, &g);
    if (st != HMATH_OK)
        return st;
    if (!mean || !variance)
        hm_graph_fail(&g, hm_fail_argument(ctx, mean ? "variance" : "mean", "is null"));
    if (g.status == HMATH_OK && read(&g, hm_arg_double(ctx, "epsilon", epsilon, &e))) {
        hm_node *scale = vector(&g, "gamma", gamma), *shift = vector(&g, "beta", beta);
        results[0] = hm_ad_batch_norm(&g, e, scale, shift, hm_arg_node(&g, "input", input),
                                      &results[1], &results[2]);
    }
    if ((st = hm_graph_close(&g, results, 3, kept)) == HMATH_OK) {
        *out = &kept[0]->base;
        *mean = &kept[1]->base;
        *variance = &kept[2]->base;
    }
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- attention */

hmath_status hmath_neural_layers_scaled_dot_product_attention_ad(
    hmath_context *ctx, const hmath_value *query, const hmath_value *key, const hmath_value *value,
    const hmath_value *mask, hmath_value **out)
{
    hm_graph g;
    hm_bool_rows rows;
    hm_status st = hm_graph_enter(ctx, "layers.scaled_dot_product_attention_ad", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *q = hm_arg_node(&g, "query", query), *k = hm_arg_node(&g, "key", key);
    hm_node *v = hm_arg_node(&g, "value", value), *result = NULL;
    const hm_bool_rows *allowed = maybe_mask(&g, mask, &rows);
    if (g.status == HMATH_OK)
        result = hm_ad_attention(&g, q, k, v, allowed);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_multihead_attention(hmath_context *ctx, const hmath_value *heads,
                                                const hmath_value *query, const hmath_value *key,
                                                const hmath_value *value, const hmath_value *mask,
                                                hmath_value **out)
{
    hm_graph g;
    int64_t n;
    hm_bool_rows rows;
    hm_status st = hm_graph_enter(ctx, "autodiff.multihead_attention", out, &g);
    if (st != HMATH_OK)
        return st;
    read(&g, hm_arg_int(ctx, "heads", heads, &n));
    hm_node *q = hm_arg_node(&g, "query", query), *k = hm_arg_node(&g, "key", key);
    hm_node *v = hm_arg_node(&g, "value", value), *result = NULL;
    const hm_bool_rows *allowed = maybe_mask(&g, mask, &rows);
    if (g.status == HMATH_OK)
        result = hm_ad_multihead_attention(&g, n, q, k, v, allowed);
    return hm_graph_leave(&g, result, out);
}
