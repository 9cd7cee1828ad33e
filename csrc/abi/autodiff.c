/* hmath_autodiff.h: making nodes and reading them. */
#include "hmath_autodiff.h"

#include <string.h>

#include "abi/autodiff_edge.h"
#include "autodiff/leaf.h"
#include "autodiff/print.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/join.h"
#include "primitives/matmul.h"
#include "primitives/reduce.h"
#include "runtime/alloc.h"
#include "runtime/scalar.h"

/* ------------------------------------------------- variables, constants, reading */

/* A null shape is fine for rank 0. */
static hm_status read_shape(hm_context *ctx, int32_t rank, const int64_t *extents, hm_shape *out)
{
    if (!extents && rank > 0)
        return hm_fail_argument(ctx, "shape", "is null");
    return hm_shape_from_extents(ctx, "shape", rank, extents, out);
}

hmath_status hmath_autodiff_variable(hmath_context *ctx, const char *name, int32_t rank,
                                     const int64_t *extents, hmath_value **out)
{
    hm_graph g;
    hm_shape shape;
    hm_status st = hm_graph_enter(ctx, "autodiff.variable", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *result = NULL;
    if ((st = read_shape(ctx, rank, extents, &shape)) == HMATH_OK)
        result = hm_ad_variable(&g, name ? name : "", &shape);
    else
        hm_graph_fail(&g, st);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_constant(hmath_context *ctx, const hmath_value *value,
                                     hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "autodiff.constant", out, &g);
    return st != HMATH_OK ? st : hm_graph_leave(&g, hm_arg_node(&g, "value", value), out);
}

int32_t hmath_autodiff_rank(const hmath_value *v)
{
    const hm_node *node = hm_node_from_value(v);
    return node ? node->rank : -1;
}

const int64_t *hmath_autodiff_shape(const hmath_value *v)
{
    const hm_node *node = hm_node_from_value(v);
    return node ? hm_node_extents(node) : NULL;
}

const char *hmath_autodiff_operation(const hmath_value *v)
{
    const hm_node *node = hm_node_from_value(v);
    return node ? node->op->name : NULL;
}

const char *hmath_autodiff_name(const hmath_value *v)
{
    const hm_node *node = hm_node_from_value(v);
    return node && node->op == &hm_op_variable ? hm_variable_name(node) : NULL;
}

int hmath_autodiff_same(const hmath_value *a, const hmath_value *b)
{
    return a == b && hm_node_from_value(a) != NULL;
}

hmath_status hmath_autodiff_to_dot(hmath_context *ctx, const hmath_value *const *outputs, size_t n,
                                   hmath_value **out)
{
    hm_graph g;
    hm_node **nodes = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.to_dot", out, &g);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_arg_nodes(&g, "outputs", outputs, n, &nodes)) == HMATH_OK)
        st = hm_print_dot(ctx, nodes, (int64_t)n, out);
    hm_free(nodes);
    (void)hm_graph_close(&g, NULL, 0, NULL);
    return hm_leave(ctx, st);
}

hmath_status hmath_autodiff_to_text(hmath_context *ctx, const hmath_value *node, hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "autodiff.to_text", out, &g);
    if (st != HMATH_OK)
        return st;
    const hm_node *of = hm_arg_node(&g, "node", node);
    st = of ? hm_print_text(ctx, of, out) : g.status;
    (void)hm_graph_close(&g, NULL, 0, NULL);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- elementwise */

typedef hm_node *make_unary(hm_graph *, hm_node *);
typedef hm_node *make_binary(hm_graph *, hm_node *, hm_node *);

static hm_status unary(hm_context *ctx, const char *operation, make_unary *make, const hm_value *v,
                       hm_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    return st != HMATH_OK ? st : hm_graph_leave(&g, make(&g, hm_arg_node(&g, "value", v)), out);
}

static hm_status binary(hm_context *ctx, const char *operation, make_binary *make,
                        const char *const names[2], const hm_value *left, const hm_value *right,
                        hm_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *a = hm_arg_node(&g, names[0], left), *b = hm_arg_node(&g, names[1], right);
    return hm_graph_leave(&g, make(&g, a, b), out);
}

static const char *const left_right[] = {"left", "right"};
static const char *const base_exponent[] = {"base", "exponent"};

#define HM_AD_UNARY(name) \
    hmath_status hmath_autodiff_##name(hmath_context *ctx, const hmath_value *value, \
                                       hmath_value **out) \
    { \
        return unary(ctx, "autodiff." #name, hm_ad_##name, value, out); \
    }
#define HM_AD_BINARY(name, names) \
    hmath_status hmath_autodiff_##name(hmath_context *ctx, const hmath_value *left, \
                                       const hmath_value *right, hmath_value **out) \
    { \
        return binary(ctx, "autodiff." #name, hm_ad_##name, names, left, right, out); \
    }
#include "abi/autodiff.def"
#undef HM_AD_UNARY
#undef HM_AD_BINARY

hmath_status hmath_autodiff_select(hmath_context *ctx, const hmath_value *condition,
                                   const hmath_value *a, const hmath_value *b, hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "autodiff.select", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *where = hm_arg_node(&g, "condition", condition);
    hm_node *x = hm_arg_node(&g, "a", a), *y = hm_arg_node(&g, "b", b);
    return hm_graph_leave(&g, hm_ad_select(&g, where, x, y), out);
}

/* ------------------------------------------------- arrangement */

/* For a maker that needs a node and a shape. */
static hm_status shaped(hm_context *ctx, const char *operation,
                        hm_node *(*make)(hm_graph *, hm_node *, const hm_shape *),
                        const hm_value *value, int32_t rank, const int64_t *extents, hm_value **out)
{
    hm_graph g;
    hm_shape shape;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *node = hm_arg_node(&g, "value", value), *result = NULL;
    if (node && (st = read_shape(ctx, rank, extents, &shape)) != HMATH_OK)
        hm_graph_fail(&g, st);
    else if (node)
        result = make(&g, node, &shape);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_reshape(hmath_context *ctx, const hmath_value *value, int32_t rank,
                                    const int64_t *shape, hmath_value **out)
{
    return shaped(ctx, "autodiff.reshape", hm_ad_reshape, value, rank, shape, out);
}

hmath_status hmath_autodiff_broadcast_to(hmath_context *ctx, const hmath_value *value, int32_t rank,
                                         const int64_t *shape, hmath_value **out)
{
    return shaped(ctx, "autodiff.broadcast_to", hm_ad_broadcast_to, value, rank, shape, out);
}

static hm_status read_permutation(hm_context *ctx, int32_t rank, const int64_t *axes,
                                  int32_t order[HM_MAX_RANK])
{
    uint32_t set;
    hm_status st = axes ? hm_axis_set(ctx, "axes", rank, rank, axes, &set) : HMATH_OK;
    for (int32_t i = 0; i < rank && st == HMATH_OK; i++)
        order[i] = axes ? (int32_t)axes[i] : rank - 1 - i;
    return st;
}

hmath_status hmath_autodiff_transpose(hmath_context *ctx, const hmath_value *value,
                                      const int64_t *axes, hmath_value **out)
{
    hm_graph g;
    int32_t order[HM_MAX_RANK];
    hm_status st = hm_graph_enter(ctx, "autodiff.transpose", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *node = hm_arg_node(&g, "value", value), *result = NULL;
    if (node && (st = read_permutation(ctx, node->rank, axes, order)) != HMATH_OK)
        hm_graph_fail(&g, st);
    else if (node)
        result = hm_ad_transpose(&g, node, order);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_slice(hmath_context *ctx, const hmath_value *value,
                                  const int64_t *start, const int64_t *stop, const int64_t *step,
                                  hmath_value **out)
{
    hm_graph g;
    hm_slicing slicing;
    hm_status st = hm_graph_enter(ctx, "autodiff.slice", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *node = hm_arg_node(&g, "value", value), *result = NULL;
    if (node) {
        hm_shape shape = hm_node_shape(node);
        if ((st = hm_slicing_create(ctx, &shape, start, stop, step, &slicing)) == HMATH_OK)
            result = hm_ad_slice(&g, node, &slicing);
        else
            hm_graph_fail(&g, st);
    }
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_element(hmath_context *ctx, const hmath_value *value, int64_t index,
                                    hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "autodiff.element", out, &g);
    if (st != HMATH_OK)
        return st;
    return hm_graph_leave(&g, hm_ad_element(&g, hm_arg_node(&g, "value", value), index), out);
}

/* For a maker that joins n >= 1 nodes along an axis. */
static hm_status joined(hm_context *ctx, const char *operation,
                        hm_node *(*make)(hm_graph *, hm_node *const *, int32_t, int32_t),
                        const hm_value *const *values, size_t n, int64_t axis, hm_value **out)
{
    hm_graph g;
    hm_node **nodes = NULL, *result = NULL;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_arg_nodes(&g, "values", values, n, &nodes)) == HMATH_OK) {
        if (n == 0)
            hm_graph_fail(&g, hm_fail_empty(ctx, "values"));
        else if (axis < 0 || axis > HM_MAX_RANK)
            hm_graph_fail(&g, hm_fail_index(ctx, "axis", HM_SCALAR, axis, nodes[0]->rank));
        else
            result = make(&g, nodes, (int32_t)n, (int32_t)axis);
    }
    hm_free(nodes);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_concatenate(hmath_context *ctx, const hmath_value *const *values,
                                        size_t n, int64_t axis, hmath_value **out)
{
    return joined(ctx, "autodiff.concatenate", hm_ad_concatenate, values, n, axis, out);
}

hmath_status hmath_autodiff_stack_along(hmath_context *ctx, const hmath_value *const *values,
                                        size_t n, int64_t axis, hmath_value **out)
{
    return joined(ctx, "autodiff.stack", hm_ad_stack_along, values, n, axis, out);
}

hmath_status hmath_autodiff_stack(hmath_context *ctx, const hmath_value *const *values, size_t n,
                                  int32_t rank, const int64_t *extents, hmath_value **out)
{
    hm_graph g;
    hm_shape shape;
    hm_node **nodes = NULL, *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.stack", out, &g);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_arg_nodes(&g, "values", values, n, &nodes)) == HMATH_OK) {
        if ((st = read_shape(ctx, rank, extents, &shape)) == HMATH_OK)
            result = hm_ad_stack(&g, nodes, (int32_t)n, &shape);
        else
            hm_graph_fail(&g, st);
    }
    hm_free(nodes);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_gather(hmath_context *ctx, const hmath_value *value,
                                   const hmath_value *indices, int64_t axis, hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "autodiff.gather", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *from = hm_arg_node(&g, "value", value), *which = hm_arg_node(&g, "indices", indices);
    int32_t narrow = axis < 0 || axis > HM_MAX_RANK ? -1 : (int32_t)axis;
    if (from && which && narrow < 0)
        hm_graph_fail(&g, hm_fail_index(ctx, "axis", HM_SCALAR, axis, from->rank));
    return hm_graph_leave(&g, hm_ad_gather(&g, from, which, narrow), out);
}

/* ------------------------------------------------- reductions and products */

static hm_status reduced(hm_context *ctx, const char *operation,
                         hm_node *(*make)(hm_graph *, hm_node *, uint32_t, bool),
                         const hm_value *value, int32_t count, const int64_t *axes, int keep,
                         hm_value **out)
{
    hm_graph g;
    uint32_t set = 0;
    hm_status st = hm_graph_enter(ctx, operation, out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *node = hm_arg_node(&g, "value", value), *result = NULL;
    if (node && count < HMATH_ALL_AXES)
        hm_graph_fail(&g, hm_fail_argument(ctx, "count", "is negative"));
    else if (node && !axes && count > 0)
        hm_graph_fail(&g, hm_fail_argument(ctx, "axes", "is null"));
    else if (node && (st = hm_axis_set(ctx, "axes", node->rank, count, axes, &set)) != HMATH_OK)
        hm_graph_fail(&g, st);
    else if (node)
        result = make(&g, node, set, keep != 0);
    return hm_graph_leave(&g, result, out);
}

hmath_status hmath_autodiff_sum(hmath_context *ctx, const hmath_value *value, int32_t count,
                                const int64_t *axes, int keep, hmath_value **out)
{
    return reduced(ctx, "autodiff.sum", hm_ad_sum, value, count, axes, keep, out);
}

hmath_status hmath_autodiff_mean(hmath_context *ctx, const hmath_value *value, int32_t count,
                                 const int64_t *axes, int keep, hmath_value **out)
{
    return reduced(ctx, "autodiff.mean", hm_ad_mean, value, count, axes, keep, out);
}

hmath_status hmath_autodiff_max(hmath_context *ctx, const hmath_value *value, int32_t count,
                                const int64_t *axes, int keep, hmath_value **out)
{
    return reduced(ctx, "autodiff.max", hm_ad_max, value, count, axes, keep, out);
}

hmath_status hmath_autodiff_norm(hmath_context *ctx, const hmath_value *const *values, size_t n,
                                 hmath_value **out)
{
    hm_graph g;
    hm_node **nodes = NULL, *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.norm", out, &g);
    if (st != HMATH_OK)
        return st;
    if (hm_arg_nodes(&g, "values", values, n, &nodes) == HMATH_OK)
        result = hm_ad_norm(&g, nodes, (int32_t)n);
    hm_free(nodes);
    return hm_graph_leave(&g, result, out);
}
