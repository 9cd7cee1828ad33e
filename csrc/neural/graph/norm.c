/*
 * Normalisation over trailing axes. With y the normalised row, r = 1/sqrt(variance + epsilon) (or, without
 * the mean, 1/sqrt(mean of squares + epsilon)), the cotangent of a row is
 *
 *     layer norm   r * (u - mean(u) - y * mean(u y))        (Ba, Kiros, Hinton 2016)
 *     RMS norm     r * (u - y * mean(u y))                  (Zhang, Sennrich 2019)
 *
 * computed in one pass by an op of its own, whose own derivative is made of the same op. Group, instance and batch norm are a layer norm of another
 * shape.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "neural/graph/graph.h"
#include "neural/layers/check.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/primitives.h"
#include "primitives/reduce.h"
#include "runtime/pool.h"
#include "tensor/normalize.h"

typedef struct norm {
    int64_t rows, n; /* groups, and elements of each */
    double epsilon;
    int64_t axes;
} norm;

/* Of what: of the elements about their mean, or about 0. */
typedef struct deviating {
    norm norm;
    int64_t centred;
} deviating;

static const char *const input_argument[] = {"input"};
static const char *const input_result[] = {"input", "result"};
static const char *const input_result_cotangent[] = {"input", "result", "cotangent"};

static hm_status same_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                            const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[0]);
    return HMATH_OK;
}

static hm_status layer_norm_run(const hm_run *run)
{
    const norm *a = hm_node_attributes(run->node);
    if (run->node->size)
        hm_layer_rows(run->ctx, run->inputs[0], a->rows, a->n, a->epsilon, run->output);
    return HMATH_OK; /* finite rows always have finite results */
}

static hm_status rms_norm_run(const hm_run *run)
{
    const norm *a = hm_node_attributes(run->node);
    if (run->node->size)
        hm_rms_rows(run->ctx, run->inputs[0], a->rows, a->n, a->epsilon, run->output);
    return HMATH_OK;
}

/* ------------------------------------------------- the cotangent of rows */

typedef struct reverse_task {
    const hm_context *ctx;
    const hm_kernels *kernels;
    const norm *a;
    const double *x, *y, *u;
    double *out;
    int64_t rows_per_chunk;
    bool centred;
    atomic_bool spoiled;
} reverse_task;

static hm_spread spread_of(const hm_kernels *k, const double *x, int64_t n)
{
    hm_spread s = {.count = n};
    const hm_moments m = hm_moments_row(k, x, n, &s.shift);
    s.mean = m.mean;
    s.squares = m.squares;
    return s;
}

/* 1 / sqrt(variance + epsilon), or 1 / sqrt(mean of squares + epsilon). */
static hm_wide inverse_deviation(const hm_kernels *k, const double *x, int64_t n, double epsilon,
                                 bool centred)
{
    if (centred) {
        const hm_spread s = spread_of(k, x, n);
        return hm_inverse_deviation(&s, epsilon);
    }
    const hm_wide mean =
        hm_wide_divide(hm_sum_row(k, HM_ROW_SQUARES, x, NULL, n), hm_wide_of((double)n));
    return hm_wide_divide(hm_wide_of(1.0), hm_wide_root(hm_wide_add(mean, hm_wide_of(epsilon))));
}

/* Means of u and of u*y, infinite where they are no double. */
typedef struct row_means {
    double of_u, along_y;
} row_means;

/* Is u so small that its differences lose what a large r would show? Its means tell, mostly. */
static bool is_small(const reverse_task *t, const double *u, const row_means *mean)
{
    if (fabs(mean->of_u) >= HM_COMFORTABLE_LEAST || fabs(mean->along_y) >= HM_COMFORTABLE_LEAST)
        return false;
    const double most = t->kernels->reduce->largest_magnitude(u, t->a->n);
    return most != 0 && most < HM_COMFORTABLE_LEAST;
}

/*
 * The row's u brought to 2^900, where no difference underflows and none overflows: those above are
 * n times as large at most. The result has an exponent of its own until it is rounded.
 */
static bool careful_row(const reverse_task *t, int64_t row, hm_wide by)
{
    const int64_t n = t->a->n;
    const double *y = t->y + row * n, *u = t->u + row * n;
    double *out = t->out + row * n;
    const double most = t->kernels->reduce->largest_magnitude(u, n);
    const int shift = isfinite(most) && most > 0 ? 900 - ilogb(most) : 0;
    hm_wide mean = {0, 0}, along = hm_sum_row(t->kernels, HM_ROW_DOT, u, y, n);
    if (t->centred)
        mean = hm_sum_row(t->kernels, HM_ROW_SUM, u, NULL, n);
    const double of_u =
        hm_wide_round(hm_wide_normal(mean.value / (double)n, mean.exponent + shift));
    const double along_y =
        hm_wide_round(hm_wide_normal(-along.value / (double)n, along.exponent + shift));
    by = hm_wide_normal(by.value, by.exponent - shift);
    bool finite = isfinite(of_u) && isfinite(along_y);
    for (int64_t i = 0; i < n && finite; i++) {
        const double part = fma(y[i], along_y, ldexp(u[i], shift) - of_u);
        out[i] = hm_wide_round(hm_wide_multiply(hm_wide_of(part), by));
        finite = isfinite(out[i]) != 0;
    }
    return finite;
}

/* In plain doubles; false where an element of the result is none. */
static bool plain_row(const reverse_task *t, int64_t row, double by, const row_means *means)
{
    const int64_t n = t->a->n;
    const double *y = t->y + row * n, *u = t->u + row * n;
    double *out = t->out + row * n;
    const double mean = means->of_u, along = -means->along_y;
    const hm_chain_step steps[] = {
        {HM_CHAIN_LOAD, {u}, NULL},        {HM_CHAIN_SUBTRACT_NUMBER, {&mean}, NULL},
        {HM_CHAIN_ADD_FUSED, {y}, &along}, {HM_CHAIN_MULTIPLY_NUMBER, {&by}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL},    {HM_CHAIN_STORE, {.out = out}, NULL}};
    return t->kernels->arithmetic->chain((size_t)n, steps, sizeof steps / sizeof *steps);
}

static bool reverse_row(const reverse_task *t, int64_t row)
{
    enum { LEAST_EXPONENT = -1000 }; /* r keeps all its bits as a double */
    const int64_t n = t->a->n;
    const double *y = t->y + row * n, *u = t->u + row * n, count = (double)n;
    const hm_wide by = inverse_deviation(t->kernels, t->x + row * n, n, t->a->epsilon, t->centred);
    row_means means = {.along_y = hm_sum_row_rounded(t->kernels, HM_ROW_DOT, u, y, n) / count};
    if (t->centred)
        means.of_u = hm_sum_row_rounded(t->kernels, HM_ROW_SUM, u, NULL, n) / count;
    if (by.exponent > LEAST_EXPONENT && !is_small(t, u, &means) &&
        plain_row(t, row, hm_wide_round(by), &means))
        return true;
    return careful_row(t, row, by);
}

static void reverse_chunk(void *task, int64_t chunk)
{
    reverse_task *t = task;
    const int64_t end = (chunk + 1) * t->rows_per_chunk;
    for (int64_t row = chunk * t->rows_per_chunk; row < end && row < t->a->rows; row++)
        if (!reverse_row(t, row))
            atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

static hm_status reverse_rows(const hm_run *run, bool centred)
{
    enum { CHUNK = 8192, MOST_CHUNKS = 256 };
    reverse_task t = {.ctx = run->ctx,
                      .kernels = hm_context_kernels(run->ctx),
                      .a = hm_node_attributes(run->node),
                      .x = run->inputs[0],
                      .y = run->inputs[1],
                      .u = run->inputs[2],
                      .out = run->output,
                      .centred = centred};
    if (run->node->size == 0)
        return HMATH_OK;
    int64_t chunks = hm_chunks(run->node->size, CHUNK, MOST_CHUNKS);
    if (chunks > t.a->rows)
        chunks = t.a->rows;
    t.rows_per_chunk = (t.a->rows + chunks - 1) / chunks;
    hm_parallel_for(run->ctx, (t.a->rows + t.rows_per_chunk - 1) / t.rows_per_chunk, reverse_chunk,
                    &t);
    return t.spoiled ? hm_fail_overflow(run->ctx) : HMATH_OK;
}

static hm_status layer_norm_reverse_run(const hm_run *run) { return reverse_rows(run, true); }

static hm_status rms_norm_reverse_run(const hm_run *run) { return reverse_rows(run, false); }

/* ------------------------------------------------- the same written out */

/* The trailing axes as a set. */
static uint32_t trailing(const hm_node *node, int64_t axes)
{
    return hm_ad_all_axes(node) & ~((1u << (node->rank - axes)) - 1);
}

static hm_status one_a_row(hm_context *ctx, hm_node *const *inputs, int32_t count,
                           const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count;
    const deviating *a = attributes;
    *out = hm_node_shape(inputs[0]);
    for (int64_t axis = out->rank - a->norm.axes; axis < out->rank; axis++)
        out->extent[axis] = 1;
    return HMATH_OK;
}

/* One number for each row. */
typedef struct rows_task {
    const hm_kernels *kernels;
    const deviating *a;
    const double *x;
    double *out;
    double (*number)(const hm_kernels *k, const deviating *a, const double *row);
    int64_t rows_per_chunk;
} rows_task;

static void rows_chunk(void *task, int64_t chunk)
{
    const rows_task *t = task;
    const int64_t end = (chunk + 1) * t->rows_per_chunk;
    for (int64_t row = chunk * t->rows_per_chunk; row < end && row < t->a->norm.rows; row++)
        t->out[row] = t->number(t->kernels, t->a, t->x + row * t->a->norm.n);
}

static void run_rows(const hm_run *run,
                     double (*number)(const hm_kernels *k, const deviating *a, const double *row))
{
    enum { CHUNK = 16384 };
    rows_task t = {.kernels = hm_context_kernels(run->ctx),
                   .a = hm_node_attributes(run->node),
                   .x = run->inputs[0],
                   .out = run->output,
                   .number = number};
    if (t.a->norm.rows == 0)
        return;
    t.rows_per_chunk = CHUNK / t.a->norm.n + 1;
    hm_parallel_for(run->ctx, (t.a->norm.rows - 1) / t.rows_per_chunk + 1, rows_chunk, &t);
}

static double inverse_deviation_of(const hm_kernels *k, const deviating *a, const double *row)
{
    return hm_wide_round(inverse_deviation(k, row, a->norm.n, a->norm.epsilon, a->centred));
}

static hm_status inverse_deviation_run(const hm_run *run)
{
    run_rows(run, inverse_deviation_of);
    return HMATH_OK;
}

/* dr = -r^2 mean(y dx), for what deviates is y / r; the second r comes last, where y is small already. */
static void inverse_deviation_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                                   hm_node **cotangents)
{
    (void)wanted;
    const deviating *a = hm_node_attributes(node);
    hm_node *once = hm_ad_scaled(g, hm_ad_multiply(g, u, node), -1.0 / (double)a->norm.n);
    cotangents[0] = hm_ad_multiply(g, hm_ad_multiply(g, once, node->inputs[1]), node);
}

const hm_op hm_op_inverse_deviation = {.name = "layers.inverse_deviation",
                                       .arguments = input_result,
                                       .arity = 2,
                                       .shape = one_a_row,
                                       .run = inverse_deviation_run,
                                       .reverse = inverse_deviation_rule};

/*
 * A power of two for each row of v that brings the largest of its r v near 1; 1 where all are 0. Its exponent
 * is even, so that it has a root.
 */
static double scale_of(const hm_kernels *k, const double *v, int64_t n, double by)
{
    enum { MOST = 1000 };
    const double most = k->reduce->largest_magnitude(v, n);
    const int exponent = most == 0 ? 0 : -(ilogb(most) + ilogb(by)) / 2 * 2;
    return ldexp(1, exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent);
}

static hm_status scale_run(const hm_run *run)
{
    const deviating *a = hm_node_attributes(run->node);
    const hm_kernels *k = hm_context_kernels(run->ctx);
    const int64_t n = a->norm.n;
    for (int64_t row = 0; row < a->norm.rows; row++)
        run->output[row] = scale_of(k, run->inputs[0] + row * n, n, run->inputs[1][row]);
    return HMATH_OK;
}

/* What is made with it does not depend on it. */
static void scale_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                       hm_node **cotangents)
{
    (void)g, (void)node, (void)u, (void)wanted, (void)cotangents;
}

static hm_node *no_tangent(hm_graph *g, hm_node *node, hm_node *const *tangents)
{
    (void)g, (void)node, (void)tangents;
    return NULL;
}

const hm_op hm_op_row_scale = {.name = "layers.row_scale",
                               .arity = 2,
                               .shape = one_a_row,
                               .run = scale_run,
                               .reverse = scale_rule,
                               .tangent = no_tangent};

/* The cotangent u of a row's result as the cotangent of the row: C(u) below. */
static hm_node *pulled_back(hm_graph *g, const hm_node *node, hm_node *u)
{
    return hm_graph_make(g, node->op, hm_node_attributes(node), node->attribute_size,
                         (hm_node *[]){node->inputs[0], node->inputs[1], u}, 3);
}

/* mean(u r y) of each row: u times r first, as u y can be too small for a double. */
static hm_node *along(hm_graph *g, hm_node *u, hm_node *by, hm_node *y, uint32_t over)
{
    return hm_ad_mean(g, hm_ad_multiply(g, hm_ad_multiply(g, u, by), y), over, true);
}

/*
 * The derivative of the row's C(u) . w, in which C is the symmetric map u -> r P u of the formulas above, and
 * dr = -r^2 mean(y dx), dy = C(dx):
 *
 *     -( y mean(C(u) r w) + C(w) mean(u r y) + C(u) mean(w r y) )
 *
 * It is of the size of (r u)(r w), whose factors may leave the range of a double where it does not. So both
 * are brought near 1, which changes nothing else, and the result is brought back in two equal steps, of
 * which only the second can round.
 */
static hm_node *second_derivative(hm_graph *g, hm_node *node, hm_node *w, bool centred)
{
    const norm *a = hm_node_attributes(node);
    hm_node *x = node->inputs[0], *y = node->inputs[1], *u = node->inputs[2];
    const uint32_t over = trailing(x, a->axes);
    const deviating of = {*a, centred};
    hm_node *by =
        hm_graph_make(g, &hm_op_inverse_deviation, &of, sizeof of, (hm_node *[]){x, y}, 2);
    hm_node *u_scale = hm_graph_make(g, &hm_op_row_scale, &of, sizeof of, (hm_node *[]){u, by}, 2);
    hm_node *w_scale = hm_graph_make(g, &hm_op_row_scale, &of, sizeof of, (hm_node *[]){w, by}, 2);
    u = hm_ad_multiply(g, u, u_scale);
    w = hm_ad_multiply(g, w, w_scale);
    hm_node *of_u = pulled_back(g, node, u), *of_w = pulled_back(g, node, w);
    hm_node *both = along(g, w, by, of_u, over);
    hm_node *sum = hm_ad_add(g, hm_ad_multiply(g, of_w, along(g, u, by, y, over)),
                             hm_ad_multiply(g, of_u, along(g, w, by, y, over)));
    hm_node *scaled = hm_ad_negate(g, hm_ad_add(g, hm_ad_multiply(g, y, both), sum));
    hm_node *step = hm_ad_multiply(g, hm_ad_sqrt(g, u_scale), hm_ad_sqrt(g, w_scale));
    return hm_ad_divide(g, hm_ad_divide(g, scaled, step), step);
}

/* x moves y with it: what that does is part of x's cotangent, and y has none of its own. */
static void reverse_rule(hm_graph *g, hm_node *node, hm_node *w, const bool *wanted,
                         hm_node **cotangents, bool centred)
{
    if (wanted[0])
        cotangents[0] = second_derivative(g, node, w, centred);
    if (wanted[2])
        cotangents[2] = pulled_back(g, node, w);
}

/* C(u) is linear in u, and its derivative in x is symmetric, too. */
static hm_node *reverse_tangent(hm_graph *g, hm_node *node, hm_node *const *tangents, bool centred)
{
    hm_node *by_x = tangents[0] ? second_derivative(g, node, tangents[0], centred) : NULL;
    hm_node *by_u = tangents[2] ? pulled_back(g, node, tangents[2]) : NULL;
    return by_x && by_u ? hm_ad_add(g, by_x, by_u) : by_x ? by_x : by_u;
}

/* ------------------------------------------------- ops */

static hm_node *fused(hm_graph *g, const hm_op *op, hm_node *node, hm_node *u)
{
    return hm_graph_make(g, op, hm_node_attributes(node), sizeof(norm),
                         (hm_node *[]){node->inputs[0], node, u}, 3);
}

static void layer_norm_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                            hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = fused(g, &hm_op_layer_norm_reverse, node, u);
}

static void rms_norm_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                          hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = fused(g, &hm_op_rms_norm_reverse, node, u);
}

static void layer_norm_reverse_rule(hm_graph *g, hm_node *node, hm_node *w, const bool *wanted,
                                    hm_node **cotangents)
{
    reverse_rule(g, node, w, wanted, cotangents, true);
}

static void rms_norm_reverse_rule(hm_graph *g, hm_node *node, hm_node *w, const bool *wanted,
                                  hm_node **cotangents)
{
    reverse_rule(g, node, w, wanted, cotangents, false);
}

static hm_node *layer_norm_reverse_tangent(hm_graph *g, hm_node *node, hm_node *const *tangents)
{
    return reverse_tangent(g, node, tangents, true);
}

static hm_node *rms_norm_reverse_tangent(hm_graph *g, hm_node *node, hm_node *const *tangents)
{
    return reverse_tangent(g, node, tangents, false);
}

const hm_op hm_op_layer_norm = {.name = "layers.layer_norm",
                                .arguments = input_argument,
                                .arity = 1,
                                .shape = same_shape,
                                .run = layer_norm_run,
                                .reverse = layer_norm_rule};

const hm_op hm_op_rms_norm = {.name = "layers.rms_norm",
                              .arguments = input_argument,
                              .arity = 1,
                              .shape = same_shape,
                              .run = rms_norm_run,
                              .reverse = rms_norm_rule};

const hm_op hm_op_layer_norm_reverse = {.name = "layers.layer_norm",
                                        .arguments = input_result_cotangent,
                                        .arity = 3,
                                        .shape = same_shape,
                                        .run = layer_norm_reverse_run,
                                        .reverse = layer_norm_reverse_rule,
                                        .tangent = layer_norm_reverse_tangent};

const hm_op hm_op_rms_norm_reverse = {.name = "layers.rms_norm",
                                      .arguments = input_result_cotangent,
                                      .arity = 3,
                                      .shape = same_shape,
                                      .run = rms_norm_reverse_run,
                                      .reverse = rms_norm_reverse_rule,
                                      .tangent = rms_norm_reverse_tangent};

/* ------------------------------------------------- makers */

static hm_status plan(hm_context *ctx, int64_t axes, double epsilon, const hm_node *input,
                      norm *out)
{
    hm_status st;
    if ((st = hm_check_at_least_one(ctx, "axes", axes)) != HMATH_OK ||
        (st = hm_check_positive(ctx, "epsilon", epsilon)) != HMATH_OK)
        return st;
    if (axes > input->rank) {
        char expected[32], actual[32];
        snprintf(expected, sizeof expected, "at most %d", input->rank);
        snprintf(actual, sizeof actual, "%lld", (long long)axes);
        return hm_fail_shape(ctx, "axes", expected, actual);
    }
    hm_shape shape = hm_node_shape(input);
    const int32_t first = shape.rank - (int32_t)axes;
    *out = (norm){hm_shape_span(&shape, 0, first), hm_shape_span(&shape, first, shape.rank),
                  epsilon, axes};
    return out->rows > 0 && out->n == 0 ? hm_fail_empty(ctx, "input") : HMATH_OK;
}

static hm_node *row_norm(hm_graph *g, const hm_op *op, int64_t axes, double epsilon, hm_node *input)
{
    norm a;
    if (!input)
        return NULL;
    hm_status st = plan(g->ctx, axes, epsilon, input, &a);
    return st == HMATH_OK ? hm_graph_make1(g, op, &a, sizeof a, input) : hm_graph_fail(g, st);
}

hm_node *hm_ad_layer_norm(hm_graph *g, int64_t axes, double epsilon, hm_node *input)
{
    return row_norm(g, &hm_op_layer_norm, axes, epsilon, input);
}

hm_node *hm_ad_rms_norm(hm_graph *g, int64_t axes, double epsilon, hm_node *input)
{
    return row_norm(g, &hm_op_rms_norm, axes, epsilon, input);
}

static hm_status check_least_rank(hm_context *ctx, const hm_node *input, int32_t least)
{
    if (input->rank >= least)
        return HMATH_OK;
    char expected[32], actual[32];
    snprintf(expected, sizeof expected, "rank %d or more", least);
    snprintf(actual, sizeof actual, "rank %d", input->rank);
    return hm_fail_shape(ctx, "input", expected, actual);
}

/* (N, C, ...) as (N, groups, all the rest), normalised over the last axis. */
static hm_node *grouped(hm_graph *g, int64_t groups, double epsilon, hm_node *input)
{
    hm_shape shape = hm_node_shape(input);
    const int64_t channels = shape.extent[1];
    hm_shape rows = {.rank = 3, .extent = {shape.extent[0], groups}};
    rows.extent[2] = groups ? channels / groups * hm_shape_span(&shape, 2, shape.rank) : 0;
    return hm_ad_reshape(g, hm_ad_layer_norm(g, 1, epsilon, hm_ad_reshape(g, input, &rows)),
                         &shape);
}

hm_node *hm_ad_group_norm(hm_graph *g, int64_t groups, double epsilon, hm_node *input)
{
    hm_status st;
    if (!input)
        return NULL;
    if ((st = hm_check_at_least_one(g->ctx, "groups", groups)) != HMATH_OK ||
        (st = hm_check_positive(g->ctx, "epsilon", epsilon)) != HMATH_OK ||
        (st = check_least_rank(g->ctx, input, 2)) != HMATH_OK ||
        (st = hm_check_divides(g->ctx, "groups", groups, hm_node_extents(input)[1], "channels")) !=
            HMATH_OK)
        return hm_graph_fail(g, st);
    return grouped(g, groups, epsilon, input);
}

hm_node *hm_ad_instance_norm(hm_graph *g, double epsilon, hm_node *input)
{
    hm_status st;
    if (!input)
        return NULL;
    if ((st = hm_check_positive(g->ctx, "epsilon", epsilon)) != HMATH_OK ||
        (st = check_least_rank(g->ctx, input, 3)) != HMATH_OK)
        return hm_graph_fail(g, st);
    return grouped(g, hm_node_extents(input)[1], epsilon, input);
}

/* One number a channel, where it stands among the axes (N, C, ...). */
static hm_node *per_channel(hm_graph *g, const char *argument, hm_node *numbers,
                            const hm_node *input)
{
    hm_shape shape = {.rank = input->rank}, own = hm_node_shape(numbers);
    hm_shape expected = {.rank = 1, .extent = {hm_node_extents(input)[1]}};
    for (int32_t i = 0; i < shape.rank; i++)
        shape.extent[i] = i == 1 ? expected.extent[0] : 1;
    if (!hm_shape_equal(&own, &expected))
        return hm_graph_fail(g, hm_fail_shapes(g->ctx, argument, &expected, &own));
    return hm_ad_reshape(g, numbers, &shape);
}

static double variance_of(const hm_kernels *k, const deviating *a, const double *row)
{
    const hm_spread s = spread_of(k, row, a->norm.n);
    return hm_spread_variance(&s, (double)a->norm.n);
}

static hm_status variance_run(const hm_run *run)
{
    run_rows(run, variance_of);
    for (int64_t row = 0; row < run->node->size; row++)
        if (!isfinite(run->output[row]))
            return hm_fail_overflow(run->ctx);
    return HMATH_OK;
}

/* d variance = 2 mean((x - mean) dx): the mean's own change meets deviations that sum to 0. */
static void variance_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                          hm_node **cotangents)
{
    (void)wanted;
    const deviating *a = hm_node_attributes(node);
    hm_node *x = node->inputs[0];
    hm_node *deviation = hm_ad_subtract(g, x, hm_ad_mean(g, x, trailing(x, a->norm.axes), true));
    cotangents[0] = hm_ad_multiply(g, deviation, hm_ad_scaled(g, u, 2.0 / (double)a->norm.n));
}

const hm_op hm_op_variance = {.name = "layers.variance",
                              .arguments = input_argument,
                              .arity = 1,
                              .shape = one_a_row,
                              .run = variance_run,
                              .reverse = variance_rule};

/* (N, C, ...) as a row for each channel, its elements in the order of (N, ...). */
static hm_node *channels_as_rows(hm_graph *g, hm_node *turned)
{
    if (!turned)
        return NULL;
    const hm_shape shape = hm_node_shape(turned);
    const hm_shape rows = {.rank = 2,
                           .extent = {shape.extent[0], hm_shape_span(&shape, 1, shape.rank)}};
    return hm_ad_reshape(g, turned, &rows);
}

static hm_node *row_variance(hm_graph *g, hm_node *rows)
{
    if (!rows)
        return NULL;
    const int64_t *extents = hm_node_extents(rows);
    const deviating of = {{extents[0], extents[1], 0, 1}, true};
    return hm_graph_make1(g, &hm_op_variance, &of, sizeof of, rows);
}

hm_node *hm_ad_batch_norm(hm_graph *g, double epsilon, hm_node *gamma, hm_node *beta,
                          hm_node *input, hm_node **mean, hm_node **variance)
{
    hm_status st;
    if (!gamma || !beta || !input)
        return NULL;
    if ((st = hm_check_positive(g->ctx, "epsilon", epsilon)) != HMATH_OK ||
        (st = check_least_rank(g->ctx, input, 2)) != HMATH_OK)
        return hm_graph_fail(g, st);
    hm_node *scale = per_channel(g, "gamma", gamma, input);
    hm_node *shift = per_channel(g, "beta", beta, input);
    if (g->status == HMATH_OK && input->size == 0 && gamma->size > 0)
        return hm_graph_fail(g, hm_fail_empty(g->ctx, "input"));
    const uint32_t over = hm_ad_all_axes(input) & ~2u;
    hm_shape channels = hm_node_shape(gamma);
    *mean = hm_ad_reshape(g, hm_ad_mean(g, input, over, true), &channels);
    hm_node *turned = hm_ad_swap_axes(g, input, 0, 1);
    hm_node *rows = channels_as_rows(g, turned);
    if (!*mean || !rows)
        return NULL;
    *variance = hm_ad_reshape(g, row_variance(g, rows), &channels);
    const hm_shape whole = hm_node_shape(turned);
    hm_node *unit = hm_ad_reshape(g, hm_ad_layer_norm(g, 1, epsilon, rows), &whole);
    return hm_ad_add(g, hm_ad_multiply(g, hm_ad_swap_axes(g, unit, 0, 1), scale), shift);
}
