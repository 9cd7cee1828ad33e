/*
 * Softmax, its logarithm, sparsemax, along the last axis. With p the result (for the logarithm, its
 * exponential) and S sparsemax's support, the cotangent of a row is
 *
 *     softmax       p * (u - p . u), and times what the values were multiplied by before
 *     log_softmax   u - p * sum(u)
 *     sparsemax     u - mean of u over S, on S; 0 elsewhere     (Martins and Astudillo 2016)
 *
 * One op each, linear in u. It can be transposed, which forward mode needs, but has no derivative with
 * respect to p: these operations are first-order.
 */
#include <stdatomic.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "neural/core/core.h"
#include "neural/graph/graph.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/primitives.h"
#include "primitives/reduce.h"
#include "runtime/list.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

static const char *const values_argument[] = {"values"};
static const char *const result_cotangent[] = {"result", "cotangent"};

static int64_t columns_of(const hm_node *node) { return hm_node_extents(node)[node->rank - 1]; }

static int64_t rows_of(const hm_node *node)
{
    return node->size ? node->size / columns_of(node) : 0;
}

static hm_status same_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                            const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[0]);
    return HMATH_OK;
}

static hm_status rows_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                            const void *attributes, hm_shape *out)
{
    hm_shape shape = hm_node_shape(inputs[0]);
    if (shape.rank == 0)
        return hm_fail_shape(ctx, "values", "rank 1 or more", "rank 0");
    if (shape.extent[shape.rank - 1] == 0 && hm_shape_span(&shape, 0, shape.rank - 1) > 0)
        return hm_fail_empty(ctx, "values");
    return same_shape(ctx, inputs, count, attributes, out);
}

/* ------------------------------------------------- forward */

static hm_status softmax_run(const hm_run *run)
{
    const hm_node *x = run->node->inputs[0];
    if (run->node->size &&
        !hm_softmax_rows(run->ctx, false, run->inputs[0], rows_of(x), columns_of(x), run->output))
        return hm_fail_overflow(run->ctx);
    return HMATH_OK;
}

static hm_status log_softmax_run(const hm_run *run)
{
    const hm_node *x = run->node->inputs[0];
    if (run->node->size &&
        !hm_softmax_rows(run->ctx, true, run->inputs[0], rows_of(x), columns_of(x), run->output))
        return hm_fail_overflow(run->ctx);
    return HMATH_OK;
}

/* Row by row, through the operation on vectors. */
static hm_status sparsemax_run(const hm_run *run)
{
    const hm_node *x = run->node->inputs[0];
    const int64_t n = columns_of(x);
    hm_status st = HMATH_OK;
    for (int64_t row = 0; row < rows_of(x) && st == HMATH_OK; row++) {
        const hm_doubles view = {.data = run->inputs[0] + row * n, .length = n, .rank = 1};
        hm_value *result = NULL;
        if ((st = hm_sparsemax(run->ctx, &view, &result)) == HMATH_OK)
            memcpy(run->output + row * n, ((const hm_list *)result)->data,
                   (size_t)n * sizeof(double));
        hm_release(result);
    }
    return st;
}

/* ------------------------------------------------- cotangents of rows */

typedef struct rows_task rows_task;

typedef bool reverse_row(const rows_task *t, const double *p, const double *u, double *out);

struct rows_task {
    const hm_kernels *kernels;
    reverse_row *row;
    const double *p, *u;
    double *out;
    double scale; /* of a softmax's row: what its values were multiplied by */
    int64_t rows, n, rows_per_chunk;
    atomic_bool spoiled;
};

static void rows_chunk(void *task, int64_t chunk)
{
    rows_task *t = task;
    const int64_t first = chunk * t->rows_per_chunk, left = t->rows - first;
    const int64_t end = first + (left < t->rows_per_chunk ? left : t->rows_per_chunk);
    for (int64_t i = first; i < end; i++)
        if (!t->row(t, t->p + i * t->n, t->u + i * t->n, t->out + i * t->n))
            atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

static hm_status run_rows(const hm_run *run, reverse_row *row)
{
    enum { CHUNK = 8192 };
    const hm_node *p = run->node->inputs[0];
    if (run->node->size == 0)
        return HMATH_OK;
    rows_task t = {.kernels = hm_context_kernels(run->ctx),
                   .row = row,
                   .p = run->inputs[0],
                   .u = run->inputs[1],
                   .out = run->output,
                   .scale = 1.0,
                   .rows = rows_of(p),
                   .n = columns_of(p)};
    if (run->node->attribute_size)
        t.scale = *(const double *)hm_node_attributes(run->node);
    t.rows_per_chunk = CHUNK / t.n + 1;
    hm_parallel_for(run->ctx, (t.rows - 1) / t.rows_per_chunk + 1, rows_chunk, &t);
    return t.spoiled ? hm_fail_overflow(run->ctx) : HMATH_OK;
}

static bool softmax_row(const rows_task *t, const double *p, const double *u, double *out)
{
    const double along = hm_sum_row_rounded(t->kernels, HM_ROW_DOT, p, u, t->n);
    const hm_chain_step steps[] = {
        {HM_CHAIN_LOAD, {u}, NULL},     {HM_CHAIN_SUBTRACT_NUMBER, {&along}, NULL},
        {HM_CHAIN_MULTIPLY, {p}, NULL}, {HM_CHAIN_MULTIPLY_NUMBER, {&t->scale}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL}, {HM_CHAIN_STORE, {.out = out}, NULL}};
    return t->kernels->arithmetic->chain((size_t)t->n, steps, sizeof steps / sizeof *steps);
}

static bool log_softmax_row(const rows_task *t, const double *y, const double *u, double *out)
{
    const hm_elementwise_kernels *k = t->kernels->elementwise;
    const double total = -hm_sum_row_rounded(t->kernels, HM_ROW_SUM, u, NULL, t->n);
    k->unary[HM_UNARY_exp]((size_t)t->n, y, out);
    return k->multiply_add((size_t)t->n, out, 1, &total, 0, u, 1, out);
}

static bool sparsemax_row(const rows_task *t, const double *p, const double *u, double *out)
{
    double support = 0;
    for (int64_t i = 0; i < t->n; i++) {
        out[i] = p[i] > 0 ? u[i] : 0.0;
        support += p[i] > 0;
    }
    const double mean = hm_sum_row_rounded(t->kernels, HM_ROW_SUM, out, NULL, t->n) / support;
    for (int64_t i = 0; i < t->n; i++)
        out[i] = p[i] > 0 ? out[i] - mean : 0.0;
    return t->kernels->elementwise->all_finite((size_t)t->n, out);
}

static hm_status softmax_reverse_run(const hm_run *run) { return run_rows(run, softmax_row); }

static hm_status log_softmax_reverse_run(const hm_run *run)
{
    return run_rows(run, log_softmax_row);
}

static hm_status sparsemax_reverse_run(const hm_run *run) { return run_rows(run, sparsemax_row); }

/* ------------------------------------------------- rules */

static void softmax_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                         hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = hm_graph_make2(g, &hm_op_softmax_reverse, NULL, 0, node, u);
}

static void log_softmax_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                             hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = hm_graph_make2(g, &hm_op_log_softmax_reverse, NULL, 0, node, u);
}

static void sparsemax_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                           hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = hm_graph_make2(g, &hm_op_sparsemax_reverse, NULL, 0, node, u);
}

/* The Jacobian is symmetric: the op is its own transpose in u. */
static void symmetric_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                           hm_node **cotangents)
{
    if (wanted[0])
        hm_graph_fail(g, hm_fail_first_order(g->ctx, node->op));
    else
        cotangents[1] = hm_graph_make2(g, node->op, NULL, 0, node->inputs[0], u);
}

/* u -> u - p sum(u), transposed: w -> w - sum(p w). */
static void log_softmax_reverse_rule(hm_graph *g, hm_node *node, hm_node *w, const bool *wanted,
                                     hm_node **cotangents)
{
    if (wanted[0]) {
        hm_graph_fail(g, hm_fail_first_order(g->ctx, node->op));
        return;
    }
    hm_node *p = hm_ad_exp(g, node->inputs[0]);
    hm_node *along = hm_ad_sum(g, hm_ad_multiply(g, p, w), 1u << (node->rank - 1), true);
    cotangents[1] = hm_ad_subtract(g, w, along);
}

const hm_op hm_op_softmax = {.name = "core.softmax",
                             .arguments = values_argument,
                             .arity = 1,
                             .shape = rows_shape,
                             .run = softmax_run,
                             .reverse = softmax_rule};

const hm_op hm_op_softmax_reverse = {.name = "core.softmax",
                                     .arguments = result_cotangent,
                                     .arity = 2,
                                     .shape = same_shape,
                                     .run = softmax_reverse_run,
                                     .reverse = symmetric_rule};

const hm_op hm_op_log_softmax = {.name = "core.log_softmax",
                                 .arguments = values_argument,
                                 .arity = 1,
                                 .shape = rows_shape,
                                 .run = log_softmax_run,
                                 .reverse = log_softmax_rule};

const hm_op hm_op_log_softmax_reverse = {.name = "core.log_softmax",
                                         .arguments = result_cotangent,
                                         .arity = 2,
                                         .shape = same_shape,
                                         .run = log_softmax_reverse_run,
                                         .reverse = log_softmax_reverse_rule};

const hm_op hm_op_sparsemax = {.name = "core.sparsemax",
                               .arguments = values_argument,
                               .arity = 1,
                               .shape = rows_shape,
                               .run = sparsemax_run,
                               .reverse = sparsemax_rule};

const hm_op hm_op_sparsemax_reverse = {.name = "core.sparsemax",
                                       .arguments = result_cotangent,
                                       .arity = 2,
                                       .shape = same_shape,
                                       .run = sparsemax_reverse_run,
                                       .reverse = symmetric_rule};

/* Any axis, by way of the last one. */
static hm_node *along_axis(hm_graph *g, const hm_op *op, hm_node *values, int32_t axis)
{
    if (!values)
        return NULL;
    if (values->rank == 0)
        return hm_graph_make1(g, op, NULL, 0, values); /* refuses it */
    if (axis < 0 || axis >= values->rank)
        return hm_graph_fail(g, hm_fail_index(g->ctx, "axis", HM_SCALAR, axis, values->rank));
    const int32_t last = values->rank - 1;
    hm_node *rows = hm_ad_swap_axes(g, values, axis, last);
    return hm_ad_swap_axes(g, hm_graph_make1(g, op, NULL, 0, rows), axis, last);
}

hm_node *hm_ad_softmax(hm_graph *g, hm_node *values, int32_t axis)
{
    return along_axis(g, &hm_op_softmax, values, axis);
}

hm_node *hm_ad_log_softmax(hm_graph *g, hm_node *values, int32_t axis)
{
    return along_axis(g, &hm_op_log_softmax, values, axis);
}

hm_node *hm_ad_sparsemax(hm_graph *g, hm_node *values, int32_t axis)
{
    return along_axis(g, &hm_op_sparsemax, values, axis);
}
