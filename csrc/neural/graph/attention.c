/*
 * Scaled dot-product attention (Vaswani et al. 2017) as products and one op of its own: the softmax of
 * scaled products in which masked keys take no part. A fully masked row of weights is +0 throughout, and so are
 * the cotangents of its scores, since each is a weight times something.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "neural/core/core.h"
#include "neural/graph/graph.h"
#include "neural/layers/check.h"
#include "neural/layers/layers.h"
#include "primitives/elementwise.h"
#include "primitives/heads.h"
#include "primitives/index.h"
#include "primitives/matmul.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"
#include "runtime/pool.h"

/*
 * Attributes: queries, keys, what the products of both are multiplied by to be scores, and a byte for each
 * pair where there is a mask.
 */
typedef struct masking {
    int64_t queries, keys, masked;
    double scale;
    uint8_t allowed[];
} masking;

static const char *const products_argument[] = {"products"};
static const char *const weights_cotangent[] = {"weights", "cotangent"};

static hm_status same_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                            const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[0]);
    return HMATH_OK;
}

typedef struct weights_task {
    const hm_kernels *kernels;
    const masking *mask;
    const double *products;
    double *out;
    int64_t rows, rows_per_chunk;
} weights_task;

static void weights_row(const weights_task *t, int64_t row)
{
    const masking *mask = t->mask;
    const int64_t n = mask->keys;
    double *out = t->out + row * n;
    t->kernels->softmax->scale(t->products + row * n, n, mask->scale, out);
    if (mask->masked)
        hm_masked_softmax_row(t->kernels, out, mask->allowed + row % mask->queries * n, n);
    else if (n <= HM_BLOCK)
        t->kernels->softmax->softmax(out, 1, n, out);
}

static void weights_chunk(void *task, int64_t chunk)
{
    const weights_task *t = task;
    const int64_t end = (chunk + 1) * t->rows_per_chunk;
    for (int64_t row = chunk * t->rows_per_chunk; row < end && row < t->rows; row++)
        weights_row(t, row);
}

static hm_status weights_run(const hm_run *run)
{
    enum { CHUNK = 8192 };
    const masking *mask = hm_node_attributes(run->node);
    if (run->node->size == 0)
        return HMATH_OK;
    const int64_t n = mask->keys, rows = run->node->size / n;
    weights_task t = {.kernels = hm_context_kernels(run->ctx),
                      .mask = mask,
                      .products = run->inputs[0],
                      .out = run->output,
                      .rows = rows,
                      .rows_per_chunk = CHUNK / n + 1};
    hm_parallel_for(run->ctx, (rows - 1) / t.rows_per_chunk + 1, weights_chunk, &t);
    if (!mask->masked && n > HM_BLOCK) /* long rows run over several threads themselves */
        hm_softmax_rows(run->ctx, false, run->output, rows, n, run->output);
    return HMATH_OK;
}

static void weights_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                         hm_node **cotangents)
{
    const masking *mask = hm_node_attributes(node);
    (void)wanted;
    cotangents[0] =
        hm_graph_make2(g, &hm_op_attention_reverse, &mask->scale, sizeof mask->scale, node, u);
}

static hm_status reverse_run(const hm_run *run) { return hm_op_softmax_reverse.run(run); }

static void reverse_rule(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                         hm_node **cotangents)
{
    if (wanted[0])
        hm_graph_fail(g, hm_fail_first_order(g->ctx, node->op));
    else
        cotangents[1] = hm_graph_make2(g, node->op, hm_node_attributes(node), node->attribute_size,
                                       node->inputs[0], u);
}

const hm_op hm_op_attention_weights = {.name = "layers.scaled_dot_product_attention",
                                       .arguments = products_argument,
                                       .arity = 1,
                                       .shape = same_shape,
                                       .run = weights_run,
                                       .reverse = weights_rule};

const hm_op hm_op_attention_reverse = {.name = "layers.scaled_dot_product_attention",
                                       .arguments = weights_cotangent,
                                       .arity = 2,
                                       .shape = same_shape,
                                       .run = reverse_run,
                                       .reverse = reverse_rule};

/* ------------------------------------------------- shapes */

static hm_status fail_leading(hm_context *ctx, const char *argument, const hm_node *query,
                              const hm_node *other)
{
    hm_shape expected = hm_node_shape(query), actual = hm_node_shape(other);
    expected.rank -= 2;
    actual.rank -= 2;
    return hm_fail_shapes(ctx, argument, &expected, &actual);
}

static hm_status check_operand(hm_context *ctx, const char *argument, const hm_node *query,
                               const hm_node *node)
{
    char actual[32], expected[32];
    if (node->rank < 2 || node->rank != query->rank) {
        snprintf(expected, sizeof expected, "rank %d", query->rank < 2 ? 2 : query->rank);
        snprintf(actual, sizeof actual, "rank %d", node->rank);
        return hm_fail_shape(ctx, argument, expected, actual);
    }
    for (int32_t i = 0; i + 2 < node->rank; i++)
        if (hm_node_extents(node)[i] != hm_node_extents(query)[i])
            return fail_leading(ctx, argument, query, node);
    return HMATH_OK;
}

static int64_t extent_of(const hm_node *node, int32_t from_end)
{
    return hm_node_extents(node)[node->rank - from_end];
}

static hm_status check(hm_context *ctx, const hm_node *query, const hm_node *key,
                       const hm_node *value, const hm_bool_rows *mask)
{
    hm_status st;
    if ((st = check_operand(ctx, "query", query, query)) != HMATH_OK ||
        (st = check_operand(ctx, "key", query, key)) != HMATH_OK ||
        (st = check_operand(ctx, "value", query, value)) != HMATH_OK ||
        (st = hm_check_length(ctx, "key", extent_of(key, 1), extent_of(query, 1))) != HMATH_OK ||
        (st = hm_check_length(ctx, "value", extent_of(value, 2), extent_of(key, 2))) != HMATH_OK)
        return st;
    if (mask && ((st = hm_check_bool_matrix(ctx, "mask", mask)) != HMATH_OK ||
                 (st = hm_check_length(ctx, "mask", mask->rows, extent_of(query, 2))) != HMATH_OK))
        return st;
    if (mask && mask->rows > 0 &&
        (st = hm_check_length(ctx, "mask", mask->columns, extent_of(key, 2))) != HMATH_OK)
        return st;
    if ((st = hm_check_some(ctx, "key", extent_of(key, 2))) != HMATH_OK)
        return st;
    return hm_check_some(ctx, "query", extent_of(query, 1));
}

/* ------------------------------------------------- makers */

static hm_node *weights_of(hm_graph *g, hm_node *products, double scale, const hm_bool_rows *mask)
{
    size_t bytes = sizeof(masking);
    if (!products)
        return NULL;
    const int64_t queries = extent_of(products, 2), keys = extent_of(products, 1);
    const size_t pairs = mask ? (size_t)(queries * keys) : 0;
    masking *a = hm_bytes(sizeof *a, pairs, 1, &bytes) ? hm_alloc(bytes) : NULL;
    if (!a)
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    *a = (masking){queries, keys, mask != NULL, scale};
    if (pairs)
        memcpy(a->allowed, mask->data, pairs);
    hm_node *weights = hm_graph_make1(g, &hm_op_attention_weights, a, bytes, products);
    hm_free(a);
    return weights;
}

static hm_node *attend(hm_graph *g, hm_node *query, hm_node *key, hm_node *value,
                       const hm_bool_rows *mask)
{
    if (!query || !key || !value)
        return NULL;
    const double scale = 1.0 / sqrt((double)extent_of(query, 1));
    hm_node *products = hm_ad_matrix_product(g, query, false, key, true);
    return hm_ad_matrix_product(g, weights_of(g, products, scale, mask), false, value, false);
}

hm_node *hm_ad_attention(hm_graph *g, hm_node *query, hm_node *key, hm_node *value,
                         const hm_bool_rows *mask)
{
    if (!query || !key || !value)
        return NULL;
    hm_status st = check(g->ctx, query, key, value, mask);
    return st == HMATH_OK ? attend(g, query, key, value, mask) : hm_graph_fail(g, st);
}

/* [..., N, h d] as [..., h, N, d] */
static hm_node *split_heads(hm_graph *g, hm_node *x, int64_t heads)
{
    hm_shape shape = hm_node_shape(x);
    shape.extent[shape.rank] = shape.extent[shape.rank - 1] / heads;
    shape.extent[shape.rank - 1] = heads;
    shape.rank++;
    return hm_ad_swap_axes(g, hm_ad_reshape(g, x, &shape), shape.rank - 3, shape.rank - 2);
}

static hm_node *join_heads(hm_graph *g, hm_node *x)
{
    if (!x)
        return NULL;
    hm_node *rows = hm_ad_swap_axes(g, x, x->rank - 3, x->rank - 2);
    if (!rows)
        return NULL;
    hm_shape shape = hm_node_shape(rows);
    shape.extent[shape.rank - 2] *= shape.extent[shape.rank - 1];
    shape.rank--;
    return hm_ad_reshape(g, rows, &shape);
}

/* A single sequence: heads stay where they are, side by side. */
static hm_node *attend_beside(hm_graph *g, int64_t heads, hm_node *query, hm_node *key,
                              hm_node *value, const hm_bool_rows *mask)
{
    const double scale = 1.0 / sqrt((double)(extent_of(query, 1) / heads));
    const hm_heads q = {query, true, false}, k = {key, true, true}, v = {value, true, false};
    hm_node *products = hm_ad_head_product(g, heads, q, k, false);
    const hm_heads weights = {weights_of(g, products, scale, mask), false, false};
    return hm_ad_head_product(g, heads, weights, v, true);
}

hm_node *hm_ad_multihead_attention(hm_graph *g, int64_t heads, hm_node *query, hm_node *key,
                                   hm_node *value, const hm_bool_rows *mask)
{
    hm_status st;
    if (!query || !key || !value)
        return NULL;
    if ((st = hm_check_at_least_one(g->ctx, "heads", heads)) != HMATH_OK ||
        (st = check(g->ctx, query, key, value, mask)) != HMATH_OK ||
        (st = hm_check_divides(g->ctx, "heads", heads, extent_of(query, 1), "query features")) !=
            HMATH_OK ||
        (st = hm_check_divides(g->ctx, "heads", heads, extent_of(value, 1), "value features")) !=
            HMATH_OK)
        return hm_graph_fail(g, st);
    if (query->rank == HM_MAX_RANK)
        return hm_graph_fail(g, hm_fail_shape(g->ctx, "query", "rank 7 or less", "rank 8"));
    if (query->rank == 2)
        return attend_beside(g, heads, query, key, value, mask);
    return join_heads(g, attend(g, split_heads(g, query, heads), split_heads(g, key, heads),
                                split_heads(g, value, heads), mask));
}
