/*
 * Matrix products of doubles: blocking, packing and threads around the kernels of
 * kernels/contract.h.
 *
 * Each result element is one chain acc <- fma(left_ik, right_kj, acc) in increasing k from +0, then
 * the biases, then +0. Nothing else about the call can change its bits: not the layout of an
 * operand, the other rows and columns, the batch, the number of threads or the instruction set.
 */
#ifndef HM_CONTRACT_H
#define HM_CONTRACT_H

#include "kernels/contract.h"
#include "runtime/context.h"

/* Element (i, j) at data[i * row + j * column]. A transposed matrix has its strides exchanged. */
typedef struct hm_matrix {
    const double *data;
    int64_t row, column;
    int64_t batch; /* from one matrix of a batch to the next; 0: all share it */
} hm_matrix;

/*
 * out[b] (rows x columns, row-major) = left[b] (rows x depth) * right[b] (depth x columns) +
 * biases. Any extent may be 0; without depth the result is the bias, or +0. Strides are any, unit
 * strides fast. out may overlap neither the operands nor the biases.
 */
typedef struct hm_product {
    int64_t batch, rows, columns, depth;
    hm_matrix left, right;
    double *out;
    int64_t out_row, out_batch;
    const double *row_bias;    /* added to every element of row i, or NULL */
    const double *column_bias; /* added to every element of column j, or NULL; before row_bias */
} hm_product;

/* Row-major matrix, and one that lies transposed in memory. */
static inline hm_matrix hm_matrix_rows(const double *data, int64_t columns)
{
    return (hm_matrix){.data = data, .row = columns, .column = 1};
}

static inline hm_matrix hm_matrix_transposed(const double *data, int64_t rows)
{
    return (hm_matrix){.data = data, .row = 1, .column = rows};
}

/*
 * HMATH_OK or HMATH_NO_MEMORY. *finite tells whether every result element is finite; the operands
 * are the caller's to check. The result is complete either way.
 */
hm_status hm_contract(hm_context *ctx, const hm_product *product, bool *finite);

/* The same by kernels, or with a blocking, that need not be those of the context. */
hm_status hm_contract_by(hm_context *ctx, const hm_contract_kernels *kernels,
                         const hm_product *product, bool *finite);

#endif
