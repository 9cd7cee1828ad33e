/*
 * Side by side or one behind the other is a matter of strides, which the contraction takes as they come:
 * nothing is moved, forward or back.
 */
#include "primitives/heads.h"

#include "primitives/primitives.h"
#include "tensor/contract.h"

typedef struct layout {
    int64_t beside, transposed;
} layout;

typedef struct head_product {
    int64_t heads, beside;
    layout left, right;
} head_product;

/* One head's matrix as the product reads it. */
typedef struct operand {
    int64_t rows, columns;
    hm_matrix matrix;
} operand;

static operand operand_of(const hm_node *node, int64_t heads, layout l, const double *data)
{
    const int64_t *extent = hm_node_extents(node);
    const int64_t rows = extent[l.beside ? 0 : 1];
    const int64_t columns = l.beside ? extent[1] / heads : extent[2];
    const int64_t stride = l.beside ? extent[1] : columns;
    operand o = {rows, columns, hm_matrix_rows(data, stride)};
    if (l.transposed)
        o = (operand){columns, rows, hm_matrix_transposed(data, stride)};
    o.matrix.batch = l.beside ? columns : rows * columns;
    return o;
}

static hm_status head_product_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                    const void *attributes, hm_shape *out)
{
    const head_product *p = attributes;
    const operand left = operand_of(inputs[0], p->heads, p->left, NULL);
    const operand right = operand_of(inputs[1], p->heads, p->right, NULL);
    (void)count;
    if (left.columns != right.rows)
        return hm_fail_dimension(ctx, "right", left.columns, right.rows);
    *out = p->beside ? (hm_shape){2, {left.rows, p->heads * right.columns}}
                     : (hm_shape){3, {p->heads, left.rows, right.columns}};
    return HMATH_OK;
}

static hm_status head_product_run(const hm_run *run)
{
    const head_product *p = hm_node_attributes(run->node);
    const operand left = operand_of(run->node->inputs[0], p->heads, p->left, run->inputs[0]);
    const operand right = operand_of(run->node->inputs[1], p->heads, p->right, run->inputs[1]);
    hm_product request = {.batch = p->heads,
                          .rows = left.rows,
                          .columns = right.columns,
                          .depth = left.columns,
                          .left = left.matrix,
                          .right = right.matrix,
                          .out = run->output,
                          .out_row = p->beside ? p->heads * right.columns : right.columns,
                          .out_batch = p->beside ? right.columns : left.rows * right.columns};
    bool finite = true;
    hm_status st = hm_contract(run->ctx, &request, &finite);
    return st == HMATH_OK && !finite ? hm_fail_overflow(run->ctx) : st;
}

static hm_heads turned(hm_heads h) { return (hm_heads){h.node, h.beside, !h.transposed}; }

/* C = A B: dA = dC B', dB = A' dC, and the transposes of these where an operand is read transposed. */
static void head_product_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                                 hm_node **cotangents)
{
    const head_product *p = hm_node_attributes(node);
    const hm_heads left = {node->inputs[0], p->left.beside, p->left.transposed};
    const hm_heads right = {node->inputs[1], p->right.beside, p->right.transposed};
    const hm_heads u = {cotangent, p->beside, false};
    if (wanted[0])
        cotangents[0] = left.transposed
                            ? hm_ad_head_product(g, p->heads, right, turned(u), left.beside)
                            : hm_ad_head_product(g, p->heads, u, turned(right), left.beside);
    if (wanted[1])
        cotangents[1] = right.transposed
                            ? hm_ad_head_product(g, p->heads, turned(u), left, right.beside)
                            : hm_ad_head_product(g, p->heads, turned(left), u, right.beside);
}

static const char *const left_right[] = {"left", "right"};

const hm_op hm_op_head_product = {.name = "autodiff.head_product",
                                  .arguments = left_right,
                                  .arity = 2,
                                  .flags = HM_OP_MULTILINEAR,
                                  .shape = head_product_shape,
                                  .run = head_product_run,
                                  .reverse = head_product_reverse};

hm_node *hm_ad_head_product(hm_graph *g, int64_t heads, hm_heads left, hm_heads right, bool beside)
{
    const head_product p = {
        heads, beside, {left.beside, left.transposed}, {right.beside, right.transposed}};
    return hm_graph_make2(g, &hm_op_head_product, &p, sizeof p, left.node, right.node);
}
