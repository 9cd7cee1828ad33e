/*
 * Losses of a target and a prediction of one shape, seen as vectors. The gradient is a node of its own,
 * with the formulas of core.loss_gradient; asked for its derivative, it gives the second derivative of
 * each elementwise loss, with the kinks on the side that the first derivative says.
 */
#include <string.h>

#include "autodiff/gradient.h"
#include "autodiff/leaf.h"
#include "neural/core/core.h"
#include "neural/graph/graph.h"
#include "primitives/elementwise.h"
#include "primitives/primitives.h"
#include "primitives/reduce.h"
#include "runtime/list.h"

typedef struct loss {
    int64_t formula; /* hm_loss_formula or HM_LOSS_COSINE */
    double parameter;
    int64_t mean;
} loss;

static const char *const target_prediction[] = {"target", "prediction"};

static hm_loss_method method_of(const loss *a)
{
    return (hm_loss_method){.formula = (int)a->formula, .parameter = a->parameter};
}

static hm_loss_reduction reduction_of(const loss *a)
{
    return (hm_loss_reduction){.mean = a->mean != 0};
}

static hm_doubles view_of(const hm_node *node, const double *data)
{
    return (hm_doubles){.data = data, .length = node->size, .rank = 1};
}

/* The checks of the operation itself, on the shapes as vectors, once the shapes are known to agree. */
static hm_status check(hm_context *ctx, hm_node *const *inputs, const loss *a)
{
    hm_shape target = hm_node_shape(inputs[0]), prediction = hm_node_shape(inputs[1]);
    hm_loss_method method = method_of(a);
    hm_status st = hm_check_loss_method(ctx, &method);
    if (st != HMATH_OK)
        return st;
    if (!hm_shape_equal(&target, &prediction))
        return hm_fail_shapes(ctx, "prediction", &target, &prediction);
    const hm_doubles t = view_of(inputs[0], NULL), p = view_of(inputs[1], NULL);
    return hm_check_loss_shapes(ctx, &method, &t, &p);
}

static hm_status loss_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                            const void *attributes, hm_shape *out)
{
    (void)count;
    *out = (hm_shape){0};
    return check(ctx, inputs, attributes);
}

static hm_status gradient_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[1]);
    return HMATH_OK;
}

static hm_status loss_run(const hm_run *run)
{
    const loss *a = hm_node_attributes(run->node);
    const hm_loss_method method = method_of(a);
    const hm_loss_reduction reduction = reduction_of(a);
    const hm_doubles t = view_of(run->node->inputs[0], run->inputs[0]);
    const hm_doubles p = view_of(run->node->inputs[1], run->inputs[1]);
    return hm_loss(run->ctx, &method, &reduction, &t, &p, run->output);
}

static hm_status gradient_run(const hm_run *run)
{
    const loss *a = hm_node_attributes(run->node);
    const hm_loss_method method = method_of(a);
    const hm_loss_reduction reduction = reduction_of(a);
    const hm_doubles t = view_of(run->node->inputs[0], run->inputs[0]);
    const hm_doubles p = view_of(run->node->inputs[1], run->inputs[1]);
    hm_value *result = NULL;
    hm_status st = hm_loss_gradient(run->ctx, &method, &reduction, &t, &p, &result);
    if (st == HMATH_OK)
        memcpy(run->output, ((const hm_list *)result)->data,
               (size_t)run->node->size * sizeof(double));
    hm_release(result);
    return st;
}

/* ------------------------------------------------- first derivative */

/* A loss is a function of its prediction; the target is data. */
static void fail_target(hm_graph *g)
{
    hm_graph_fail(g, hm_fail_requirement(g->ctx, "output", HM_SCALAR,
                                         "depends on the target of core.loss",
                                         "targets that do not depend on wrt"));
}

static void loss_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                         hm_node **cotangents)
{
    if (wanted[0]) {
        fail_target(g);
        return;
    }
    hm_node *slope = hm_graph_make2(g, &hm_op_loss_gradient, hm_node_attributes(node), sizeof(loss),
                                    node->inputs[0], node->inputs[1]);
    cotangents[1] = hm_ad_multiply(g, u, slope);
}

/* ------------------------------------------------- second derivative */

/* t / p^2, and 0 where t is 0, whatever p is. */
static hm_node *over_square(hm_graph *g, hm_node *t, hm_node *p)
{
    hm_node *zero = hm_ad_constant(g, 0.0), *is_zero = hm_ad_equal(g, t, zero);
    hm_node *safe = hm_ad_select(g, is_zero, hm_ad_constant(g, 1.0), p);
    return hm_ad_divide(g, hm_ad_divide(g, t, safe), safe);
}

static hm_node *one_minus(hm_graph *g, hm_node *x)
{
    return hm_ad_subtract(g, hm_ad_constant(g, 1.0), x);
}

/* h''(p), before the reduction; NULL where it is 0 almost everywhere. */
static hm_node *curvature(hm_graph *g, const loss *a, hm_node *t, hm_node *p)
{
    hm_node *zero = hm_ad_constant(g, 0.0), *size = hm_ad_absolute(g, hm_ad_subtract(g, p, t));
    hm_node *bound = hm_ad_constant(g, a->parameter);
    switch (a->formula) {
    case HM_LOSS_SQUARED: return hm_ad_constant(g, 2.0);
    case HM_LOSS_HUBER:
        return hm_ad_select(g, hm_ad_less_equal(g, size, bound), hm_ad_constant(g, 1.0), zero);
    case HM_LOSS_SMOOTH:
        return hm_ad_select(g, hm_ad_less(g, size, bound), hm_ad_constant(g, 1.0 / a->parameter),
                            zero);
    case HM_LOSS_BINARY_ENTROPY:
        return hm_ad_add(g, over_square(g, t, p), over_square(g, one_minus(g, t), one_minus(g, p)));
    case HM_LOSS_CATEGORICAL_ENTROPY:
    case HM_LOSS_DIVERGENCE: return over_square(g, t, p);
    default: return NULL;
    }
}

/* (c p/|p| - t/|t|) / |p| with c the cosine, in nodes. */
static hm_node *expand_cosine(hm_graph *g, hm_node *node)
{
    hm_node *t = node->inputs[0], *p = node->inputs[1];
    hm_node *t_unit = hm_ad_divide(g, t, hm_ad_norm(g, &t, 1)), *length = hm_ad_norm(g, &p, 1);
    hm_node *p_unit = hm_ad_divide(g, p, length);
    hm_node *cosine = hm_ad_sum_all(g, hm_ad_multiply(g, t_unit, p_unit));
    return hm_ad_divide(g, hm_ad_subtract(g, hm_ad_multiply(g, cosine, p_unit), t_unit), length);
}

static void gradient_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                             hm_node **cotangents)
{
    const loss *a = hm_node_attributes(node);
    if (wanted[0]) {
        fail_target(g);
        return;
    }
    if (a->formula == HM_LOSS_COSINE) {
        hm_reverse_by_expansion(g, node, u, wanted, cotangents, expand_cosine);
        return;
    }
    hm_node *second = curvature(g, a, node->inputs[0], node->inputs[1]);
    if (!second)
        return;
    hm_node *share = a->mean ? hm_ad_divide(g, u, hm_ad_constant(g, (double)node->size)) : u;
    cotangents[1] = hm_ad_multiply(g, share, second);
}

const hm_op hm_op_loss = {.name = "core.loss",
                          .arguments = target_prediction,
                          .arity = 2,
                          .shape = loss_shape,
                          .run = loss_run,
                          .reverse = loss_reverse};

const hm_op hm_op_loss_gradient = {.name = "core.loss_gradient",
                                   .arguments = target_prediction,
                                   .arity = 2,
                                   .shape = gradient_shape,
                                   .run = gradient_run,
                                   .reverse = gradient_reverse};

hm_node *hm_ad_loss(hm_graph *g, const hm_loss_method *method, const hm_loss_reduction *reduction,
                    hm_node *target, hm_node *prediction)
{
    const loss a = {method->formula, method->parameter, reduction->mean};
    return hm_graph_make2(g, &hm_op_loss, &a, sizeof a, target, prediction);
}
