/*
 * Reductions. Neighbouring reduced axes are one axis; where several groups of them remain, the last
 * group is reduced first, then the one before it. The order of each sum is the numerics contract's.
 */
#include "primitives/reduce.h"

#include <math.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "autodiff/leaf.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/primitives.h"
#include "tensor/reduce.h"

static const char *const value_argument[] = {"value"};

/* ------------------------------------------------- shapes */

typedef struct axis_set {
    uint32_t reduced; /* bit i: axis i */
} axis_set;

static hm_status reduced_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    const axis_set *a = attributes;
    hm_shape shape = {0};
    (void)ctx, (void)count;
    for (int32_t i = 0; i < inputs[0]->rank; i++)
        if (!(a->reduced >> i & 1))
            shape.extent[shape.rank++] = hm_node_extents(inputs[0])[i];
    *out = shape;
    return HMATH_OK;
}

static hm_status nonempty_reduced_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                        const void *attributes, hm_shape *out)
{
    const axis_set *a = attributes;
    for (int32_t i = 0; i < inputs[0]->rank; i++)
        if ((a->reduced >> i & 1) && hm_node_extents(inputs[0])[i] == 0)
            return hm_fail_empty(ctx, "value");
    return reduced_shape(ctx, inputs, count, attributes, out);
}

uint32_t hm_ad_all_axes(const hm_node *node) { return (1u << node->rank) - 1; }

/* ------------------------------------------------- along groups of axes */

typedef void along_axis(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                        int64_t inner, double *out);

static void sum_along(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                      int64_t inner, double *out)
{
    hm_axis_sum(ctx, x, outer, extent, inner, 1.0, out);
}

static void mean_along(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                       int64_t inner, double *out)
{
    hm_axis_sum(ctx, x, outer, extent, inner, (double)extent, out);
}

/* One maximal run of neighbouring axes that are reduced. */
typedef struct stage {
    int64_t outer, extent, inner;
} stage;

/* The stages, last group first; each one's outer and inner are of what the ones before it left. */
static int32_t stages_of(const hm_node *input, uint32_t reduced, stage stages[HM_MAX_RANK])
{
    const int64_t *extent = hm_node_extents(input);
    int64_t inner = 1;
    int32_t count = 0;
    for (int32_t i = input->rank; i-- > 0;) {
        if (!(reduced >> i & 1)) {
            inner *= extent[i];
            continue;
        }
        int64_t length = extent[i];
        while (i > 0 && (reduced >> (i - 1) & 1))
            length *= extent[--i];
        int64_t outer = 1;
        for (int32_t k = 0; k < i; k++)
            outer *= extent[k];
        stages[count++] = (stage){outer, length, inner};
    }
    return count;
}

static bool all_finite(const hm_context *ctx, const double *x, int64_t n)
{
    return hm_context_kernels(ctx)->elementwise->all_finite((size_t)n, x);
}

static hm_status reduce(const hm_run *run, along_axis *along)
{
    const axis_set *a = hm_node_attributes(run->node);
    const hm_node *input = run->node->inputs[0];
    stage stages[HM_MAX_RANK];
    const int32_t count = stages_of(input, a->reduced, stages), done = run->summed;
    const double *from = run->inputs[0];
    double *rooms[2] = {NULL, NULL};
    hm_status st = HMATH_OK;
    if (count == done && run->node->size)
        memcpy(run->output, from, (size_t)run->node->size * sizeof(double));
    for (int32_t i = done; i < count && st == HMATH_OK; i++) {
        const stage *s = &stages[i];
        double *to = run->output;
        if (i + 1 < count) {
            hm_scratch_release(run->ctx, rooms[i & 1]);
            rooms[i & 1] = NULL;
            st = hm_scratch_create(run->ctx, (size_t)(s->outer * s->inner), sizeof(double),
                                   &rooms[i & 1]);
            to = rooms[i & 1];
        }
        if (st == HMATH_OK)
            along(run->ctx, from, s->outer, s->extent, s->inner, to);
        from = to;
    }
    hm_scratch_release(run->ctx, rooms[0]);
    hm_scratch_release(run->ctx, rooms[1]);
    if (st == HMATH_OK && !all_finite(run->ctx, run->output, run->node->size))
        st = hm_fail_overflow(run->ctx);
    return st;
}

static hm_status sum_run(const hm_run *run) { return reduce(run, sum_along); }

/* Is the first stage of that many trailing axes? */
static bool sum_takes(const hm_node *node, int32_t axes)
{
    const axis_set *a = hm_node_attributes(node);
    const int32_t rest = node->inputs[0]->rank - axes;
    const uint32_t trailing = hm_ad_all_axes(node->inputs[0]) & ~((1u << rest) - 1);
    return axes > 0 && (a->reduced & trailing) == trailing &&
           !(rest > 0 && (a->reduced >> (rest - 1) & 1));
}

static hm_status mean_run(const hm_run *run) { return reduce(run, mean_along); }

static hm_status max_run(const hm_run *run) { return reduce(run, hm_axis_maximum); }

/* ------------------------------------------------- derivatives */

/* The node's result with its reduced axes back as 1. */
static hm_node *with_kept_axes(hm_graph *g, hm_node *node, const hm_node *input, uint32_t reduced)
{
    hm_shape shape = hm_node_shape(input);
    for (int32_t i = 0; i < shape.rank; i++)
        if (reduced >> i & 1)
            shape.extent[i] = 1;
    return hm_ad_reshape(g, node, &shape);
}

static hm_node *spread_back(hm_graph *g, const hm_node *node, hm_node *cotangent)
{
    const axis_set *a = hm_node_attributes(node);
    hm_shape shape = hm_node_shape(node->inputs[0]);
    return hm_ad_broadcast_to(g, with_kept_axes(g, cotangent, node->inputs[0], a->reduced), &shape);
}

static void sum_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                        hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = spread_back(g, node, cotangent);
}

static void mean_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                         hm_node **cotangents)
{
    double count = node->size ? (double)(node->inputs[0]->size / node->size) : 1.0;
    (void)wanted;
    cotangents[0] = spread_back(g, node, hm_ad_divide(g, cotangent, hm_ad_constant(g, count)));
}

/* The elements that equal the maximum share its cotangent alike. */
static void max_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                        hm_node **cotangents)
{
    const axis_set *a = hm_node_attributes(node);
    hm_node *input = node->inputs[0];
    hm_node *largest = hm_ad_equal(g, input, with_kept_axes(g, node, input, a->reduced));
    hm_node *share = hm_ad_divide(g, with_kept_axes(g, cotangent, input, a->reduced),
                                  hm_ad_sum(g, largest, a->reduced, true));
    (void)wanted;
    cotangents[0] = hm_ad_multiply(g, largest, share);
}

const hm_op hm_op_sum = {.name = "autodiff.sum",
                         .arguments = value_argument,
                         .arity = 1,
                         .flags = HM_OP_LINEAR,
                         .shape = reduced_shape,
                         .run = sum_run,
                         .takes_sums = sum_takes,
                         .reverse = sum_reverse};

const hm_op hm_op_mean = {.name = "autodiff.mean",
                          .arguments = value_argument,
                          .arity = 1,
                          .flags = HM_OP_LINEAR,
                          .shape = nonempty_reduced_shape,
                          .run = mean_run,
                          .reverse = mean_reverse};

const hm_op hm_op_max = {.name = "autodiff.max",
                         .arguments = value_argument,
                         .arity = 1,
                         .shape = nonempty_reduced_shape,
                         .run = max_run,
                         .reverse = max_reverse};

static hm_node *reduction(hm_graph *g, const hm_op *op, hm_node *value, uint32_t reduced, bool keep)
{
    axis_set a = {reduced};
    hm_node *node = hm_graph_make1(g, op, &a, sizeof a, value);
    return node && keep ? with_kept_axes(g, node, value, reduced) : node;
}

hm_node *hm_ad_sum(hm_graph *g, hm_node *value, uint32_t axes, bool keep)
{
    return reduction(g, &hm_op_sum, value, axes, keep);
}

hm_node *hm_ad_mean(hm_graph *g, hm_node *value, uint32_t axes, bool keep)
{
    return reduction(g, &hm_op_mean, value, axes, keep);
}

hm_node *hm_ad_max(hm_graph *g, hm_node *value, uint32_t axes, bool keep)
{
    return reduction(g, &hm_op_max, value, axes, keep);
}

hm_node *hm_ad_sum_all(hm_graph *g, hm_node *value)
{
    return value ? hm_ad_sum(g, value, hm_ad_all_axes(value), false) : NULL;
}

hm_node *hm_ad_sum_to(hm_graph *g, hm_node *value, const hm_shape *shape)
{
    if (!value)
        return NULL;
    const int64_t *extent = hm_node_extents(value);
    const int32_t lead = value->rank - shape->rank;
    uint32_t repeated = 0;
    for (int32_t i = 0; i < value->rank; i++)
        if (i < lead || (shape->extent[i - lead] == 1 && extent[i] != 1))
            repeated |= 1u << i;
    return hm_ad_reshape(g, hm_ad_sum(g, value, repeated, false), shape);
}

/* ------------------------------------------------- norm */

static hm_status scalar_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                              const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count, (void)attributes;
    *out = (hm_shape){0};
    return HMATH_OK;
}

/* sqrt(2^e * v), with an even exponent taken out. */
static double wide_sqrt(hm_wide x)
{
    int64_t odd = x.exponent & 1;
    return hm_wide_round(hm_wide_normal(sqrt(ldexp(x.value, (int)odd)), (x.exponent - odd) / 2));
}

static hm_status norm_run(const hm_run *run)
{
    hm_wide squares = hm_wide_of(0.0);
    for (int32_t i = 0; i < run->node->count; i++)
        squares = hm_wide_add(squares, hm_sum_row_threads(run->ctx, HM_ROW_SQUARES, run->inputs[i],
                                                          NULL, run->node->inputs[i]->size));
    *run->output = wide_sqrt(squares);
    return isfinite(*run->output) ? HMATH_OK : hm_fail_overflow(run->ctx);
}

/* x / norm, and 0 where the norm is 0, as are all derivatives of it there: none exists. */
static void norm_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                         hm_node **cotangents)
{
    hm_node *zero = hm_ad_constant(g, 0.0), *is_zero = hm_ad_equal(g, node, zero);
    hm_node *safe = hm_ad_select(g, is_zero, hm_ad_constant(g, 1.0), node);
    hm_node *factor = hm_ad_select(g, is_zero, zero, hm_ad_divide(g, cotangent, safe));
    for (int32_t i = 0; i < node->count; i++)
        if (wanted[i])
            cotangents[i] = hm_ad_multiply(g, node->inputs[i], factor);
}

const hm_op hm_op_norm = {.name = "autodiff.norm",
                          .arity = HM_VARIADIC,
                          .shape = scalar_shape,
                          .run = norm_run,
                          .reverse = norm_reverse};

hm_node *hm_ad_norm(hm_graph *g, hm_node *const *values, int32_t count)
{
    return hm_graph_make(g, &hm_op_norm, NULL, 0, values, count);
}
