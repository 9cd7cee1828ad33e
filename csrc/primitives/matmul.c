/* Every product runs on the contraction kernel: one chain an element, in increasing k. */
#include "primitives/matmul.h"

#include <stdio.h>

#include "autodiff/gradient.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/primitives.h"
#include "tensor/contract.h"

/* ------------------------------------------------- the primitive */

typedef struct product {
    int64_t left_transposed, right_transposed;
} product;

/* Rows, depth and columns of one matrix of each batch. */
typedef struct extents {
    int64_t rows, depth, right_depth, columns;
} extents;

static extents extents_of(const hm_node *left, const hm_node *right, const product *p)
{
    const int64_t *l = hm_node_extents(left) + left->rank - 2;
    const int64_t *r = hm_node_extents(right) + right->rank - 2;
    return (extents){l[p->left_transposed], l[!p->left_transposed], r[p->right_transposed],
                     r[!p->right_transposed]};
}

static hm_status product_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    const hm_node *left = inputs[0], *right = inputs[1];
    extents e = extents_of(left, right, attributes);
    hm_shape shape = hm_node_shape(left);
    (void)count;
    if (e.depth != e.right_depth)
        return hm_fail_dimension(ctx, "right", e.depth, e.right_depth);
    shape.extent[shape.rank - 2] = e.rows;
    shape.extent[shape.rank - 1] = e.columns;
    *out = shape;
    return HMATH_OK;
}

static hm_matrix matrix_of(const double *data, const hm_node *node, bool transposed)
{
    const int64_t *extent = hm_node_extents(node) + node->rank - 2;
    hm_matrix m =
        transposed ? hm_matrix_transposed(data, extent[1]) : hm_matrix_rows(data, extent[1]);
    m.batch = extent[0] * extent[1];
    return m;
}

static hm_status product_run(const hm_run *run)
{
    const hm_node *left = run->node->inputs[0], *right = run->node->inputs[1];
    const product *p = hm_node_attributes(run->node);
    extents e = extents_of(left, right, p);
    hm_shape shape = hm_node_shape(run->node);
    hm_product request = {.batch = hm_shape_span(&shape, 0, shape.rank - 2),
                          .rows = e.rows,
                          .columns = e.columns,
                          .depth = e.depth,
                          .left = matrix_of(run->inputs[0], left, p->left_transposed),
                          .right = matrix_of(run->inputs[1], right, p->right_transposed),
                          .out = run->output,
                          .out_row = e.columns,
                          .out_batch = e.rows * e.columns};
    bool finite = true;
    hm_status st = hm_contract(run->ctx, &request, &finite);
    return st == HMATH_OK && !finite ? hm_fail_overflow(run->ctx) : st;
}

/* C = A B: dA = dC B', dB = A' dC, each with the operands' own transposition. */
static void product_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    const product *p = hm_node_attributes(node);
    hm_node *left = node->inputs[0], *right = node->inputs[1];
    if (wanted[0])
        cotangents[0] =
            p->left_transposed
                ? hm_ad_matrix_product(g, right, p->right_transposed, cotangent, true)
                : hm_ad_matrix_product(g, cotangent, false, right, !p->right_transposed);
    if (wanted[1])
        cotangents[1] = p->right_transposed
                            ? hm_ad_matrix_product(g, cotangent, true, left, p->left_transposed)
                            : hm_ad_matrix_product(g, left, !p->left_transposed, cotangent, false);
}

static const char *const left_right[] = {"left", "right"};

const hm_op hm_op_matrix_product = {.name = "autodiff.matmul",
                                    .arguments = left_right,
                                    .arity = 2,
                                    .flags = HM_OP_MULTILINEAR,
                                    .shape = product_shape,
                                    .run = product_run,
                                    .reverse = product_reverse};

hm_node *hm_ad_matrix_product(hm_graph *g, hm_node *left, bool left_transposed, hm_node *right,
                              bool right_transposed)
{
    product p = {left_transposed, right_transposed};
    return hm_graph_make2(g, &hm_op_matrix_product, &p, sizeof p, left, right);
}

/* ------------------------------------------------- NumPy's @ */

static hm_node *fail_scalar(hm_graph *g, const char *argument)
{
    return hm_graph_fail(g, hm_fail_shape(g->ctx, argument, "rank 1 or more", "rank 0"));
}

/* Leading axes of both, broadcast; the matrices' own axes are put behind them. */
static hm_node *broadcast_matrices(hm_graph *g, hm_node *value, const hm_shape *leading)
{
    hm_shape shape = *leading;
    const int64_t *extent = hm_node_extents(value) + value->rank - 2;
    shape.extent[shape.rank++] = extent[0];
    shape.extent[shape.rank++] = extent[1];
    return hm_ad_broadcast_to(g, value, &shape);
}

static hm_shape leading_of(const hm_node *node)
{
    hm_shape shape = hm_node_shape(node);
    shape.rank -= 2;
    return shape;
}

static hm_node *batched(hm_graph *g, hm_node *left, hm_node *right)
{
    hm_shape a = leading_of(left), b = leading_of(right), both;
    hm_status st = hm_shape_broadcast(g->ctx, "right", &a, &b, &both);
    if (st != HMATH_OK)
        return hm_graph_fail(g, st);
    if (right->rank == 2 && left->rank > 2) { /* many rows against one matrix: one product */
        hm_shape rows = {.rank = 2}, result = hm_node_shape(left);
        rows.extent[0] = hm_shape_span(&result, 0, left->rank - 1);
        rows.extent[1] = result.extent[left->rank - 1];
        hm_node *flat = hm_ad_matrix_product(g, hm_ad_reshape(g, left, &rows), false, right, false);
        result.extent[left->rank - 1] = hm_node_extents(right)[1];
        return hm_ad_reshape(g, flat, &result);
    }
    return hm_ad_matrix_product(g, broadcast_matrices(g, left, &both), false,
                                broadcast_matrices(g, right, &both), false);
}

hm_node *hm_ad_matmul(hm_graph *g, hm_node *left, hm_node *right)
{
    if (!left || !right)
        return NULL;
    if (left->rank == 0)
        return fail_scalar(g, "left");
    if (right->rank == 0)
        return fail_scalar(g, "right");
    const bool row = left->rank == 1, column = right->rank == 1;
    if (row)
        left = hm_ad_reshape(g, left, &(hm_shape){.rank = 2, .extent = {1, left->size}});
    if (column)
        right = hm_ad_reshape(g, right, &(hm_shape){.rank = 2, .extent = {right->size, 1}});
    hm_node *result = left && right ? batched(g, left, right) : NULL;
    if (!result || !(row || column))
        return result;
    hm_shape shape = hm_node_shape(result);
    if (row) { /* drop the row axis */
        shape.extent[shape.rank - 2] = shape.extent[shape.rank - 1];
        shape.rank--;
    }
    if (column)
        shape.rank--;
    return hm_ad_reshape(g, result, &shape);
}

/* ------------------------------------------------- dense */

static hm_status dense_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                             const void *attributes, hm_shape *out)
{
    hm_shape input = hm_node_shape(inputs[0]), weights = hm_node_shape(inputs[1]);
    (void)count, (void)attributes;
    if (input.rank < 1)
        return hm_fail_shape(ctx, "input", "rank 1 or more", "rank 0");
    hm_status st = hm_check_rank(ctx, "weights", &weights, 2);
    if (st != HMATH_OK)
        return st;
    if (input.extent[input.rank - 1] != weights.extent[1])
        return hm_fail_dimension(ctx, "input", weights.extent[1], input.extent[input.rank - 1]);
    if (inputs[2]->rank != 1 || inputs[2]->size != weights.extent[0]) {
        hm_shape bias = hm_node_shape(inputs[2]), expected = {.rank = 1};
        expected.extent[0] = weights.extent[0];
        return hm_fail_shapes(ctx, "bias", &expected, &bias);
    }
    input.extent[input.rank - 1] = weights.extent[0];
    *out = input;
    return HMATH_OK;
}

static hm_status dense_run(const hm_run *run)
{
    const hm_node *weights = run->node->inputs[1];
    const int64_t out = hm_node_extents(weights)[0], in = hm_node_extents(weights)[1];
    hm_shape shape = hm_node_shape(run->node);
    hm_product request = {.batch = 1,
                          .rows = hm_shape_span(&shape, 0, shape.rank - 1),
                          .columns = out,
                          .depth = in,
                          .left = hm_matrix_rows(run->inputs[0], in),
                          .right = hm_matrix_transposed(run->inputs[1], in),
                          .out = run->output,
                          .out_row = out,
                          .column_bias = run->inputs[2]};
    bool finite = true;
    hm_status st = hm_contract(run->ctx, &request, &finite);
    return st == HMATH_OK && !finite ? hm_fail_overflow(run->ctx) : st;
}

/* All leading axes as rows. */
static hm_node *as_rows(hm_graph *g, hm_node *value)
{
    hm_shape shape = hm_node_shape(value);
    hm_shape rows = {.rank = 2};
    rows.extent[0] = hm_shape_span(&shape, 0, shape.rank - 1);
    rows.extent[1] = shape.extent[shape.rank - 1];
    return hm_ad_reshape(g, value, &rows);
}

static void dense_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                          hm_node **cotangents)
{
    hm_node *input = node->inputs[0], *weights = node->inputs[1];
    hm_shape shape = hm_node_shape(input);
    hm_node *rows = as_rows(g, cotangent);
    if (wanted[0])
        cotangents[0] =
            hm_ad_reshape(g, hm_ad_matrix_product(g, rows, false, weights, false), &shape);
    if (wanted[1])
        cotangents[1] = hm_ad_matrix_product(g, rows, true, as_rows(g, input), false);
    if (wanted[2])
        cotangents[2] = cotangent; /* the driver sums over the rows */
}

static const char *const input_weights_bias[] = {"input", "weights", "bias"};

const hm_op hm_op_dense = {.name = "layers.dense",
                           .arguments = input_weights_bias,
                           .arity = 3,
                           .shape = dense_shape,
                           .run = dense_run,
                           .reverse = dense_reverse};

hm_node *hm_ad_dense(hm_graph *g, hm_node *input, hm_node *weights, hm_node *bias)
{
    return hm_graph_make(g, &hm_op_dense, NULL, 0, (hm_node *[]){input, weights, bias}, 3);
}
