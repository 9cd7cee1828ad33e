#include "abi/autodiff_edge.h"

#include "autodiff/leaf.h"
#include "runtime/alloc.h"
#include "runtime/scalar.h"

hm_status hm_graph_enter(hm_context *ctx, const char *operation, hm_value **out, hm_graph *g)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st == HMATH_OK)
        hm_graph_open(g, ctx);
    return st;
}

hm_status hm_graph_leave(hm_graph *g, hm_node *result, hm_value **out)
{
    hm_context *ctx = g->ctx;
    hm_node *kept = NULL;
    hm_status st = hm_graph_close(g, &result, 1, &kept);
    if (st == HMATH_OK)
        *out = &kept->base;
    return hm_leave(ctx, st);
}

/* A constant that fails is named after the argument that it came in, not after the node it would be. */
static hm_node *constant_tensor(hm_graph *g, const char *name, const hm_tensor *tensor)
{
    hm_status st = hm_check_tensor_finite(g->ctx, name, tensor);
    return st == HMATH_OK ? hm_ad_constant_tensor(g, tensor) : hm_graph_fail(g, st);
}

static hm_node *constant(hm_graph *g, const char *name, double x)
{
    hm_status st = hm_check_scalar_finite(g->ctx, name, x);
    return st == HMATH_OK ? hm_ad_constant(g, x) : hm_graph_fail(g, st);
}

hm_node *hm_arg_node(hm_graph *g, const char *name, const hm_value *v)
{
    hm_node *node = hm_node_from_value(v);
    double x;
    if (node || g->status != HMATH_OK)
        return node;
    if (hm_double_get(v, &x))
        return constant(g, name, x);
    if (hm_tensor_from_value(v))
        return constant_tensor(g, name, hm_tensor_from_value(v));
    if (!v)
        return hm_graph_fail(g, hm_fail_argument(g->ctx, name, "is null"));
    if (!hm_value_alive(v))
        return hm_graph_fail(g, hm_fail_argument(g->ctx, name, "is a released handle"));
    return hm_graph_fail(g, hm_fail_type(g->ctx, name, "ADExpr or ADTensor", v));
}

hm_status hm_arg_nodes(hm_graph *g, const char *name, const hm_value *const *values, size_t n,
                       hm_node ***out)
{
    if (g->status != HMATH_OK)
        return g->status;
    hm_node **nodes = NULL;
    if (!values && n)
        hm_graph_fail(g, hm_fail_argument(g->ctx, name, "is null"));
    else if (n > INT32_MAX || !(nodes = hm_alloc(n * sizeof *nodes)))
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    for (size_t i = 0; i < n && g->status == HMATH_OK; i++)
        nodes[i] = hm_arg_node(g, name, values[i]);
    if (g->status != HMATH_OK) {
        hm_free(nodes);
        return g->status;
    }
    *out = nodes;
    return HMATH_OK;
}

hm_status hm_arg_node_list(hm_graph *g, const char *name, const hm_value *v, hm_node ***out,
                           int64_t *n)
{
    const hm_list *list = hm_list_from_value(v);
    if (g->status != HMATH_OK)
        return g->status;
    if (!list || list->columns != HM_FLAT) {
        hm_node *node = hm_arg_node(g, name, v);
        const hm_value *one = node ? &node->base : NULL;
        *n = 1;
        return node ? hm_arg_nodes(g, name, &one, 1, out) : g->status;
    }
    *n = list->length;
    if (list->element == HM_ELEMENT_VALUE || list->length == 0)
        return hm_arg_nodes(g, name, list->data, (size_t)list->length, out);
    if (list->element != HM_ELEMENT_DOUBLE) {
        hm_graph_fail(g, hm_fail_type(g->ctx, name, "List of ADExpr", v));
        return g->status;
    }
    hm_node **nodes = hm_alloc((size_t)list->length * sizeof *nodes);
    if (!nodes)
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    for (int64_t i = 0; i < list->length && g->status == HMATH_OK; i++)
        nodes[i] = constant(g, name, ((const double *)list->data)[i]);
    if (g->status != HMATH_OK) {
        hm_free(nodes);
        return g->status;
    }
    *out = nodes;
    return HMATH_OK;
}
