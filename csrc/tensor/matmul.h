/*
 * Matrix products of tensors: which products of matrices they come to (tensor/contract.h does
 * those).
 */
#ifndef HM_MATMUL_H
#define HM_MATMUL_H

#include "runtime/context.h"
#include "tensor/broadcast.h"
#include "tensor/tensor.h"

/* Made once from shapes alone. A vector on the left is one row, on the right one column. */
typedef struct hm_matmul_plan {
    int64_t rows, depth, columns;
    hm_broadcast batch; /* strides in matrices */
    hm_shape result;
} hm_matmul_plan;

/* DimensionMismatch, as hmath_tensor_matmul says. */
hm_status hm_matmul_plan_create(hm_context *ctx, const hm_shape *left, const hm_shape *right,
                                hm_matmul_plan *out);

/* out is row-major of the result's shape. *finite as for hm_contract. */
hm_status hm_matmul_run(hm_context *ctx, const hm_matmul_plan *plan, const double *left,
                        const double *right, double *out, bool *finite);

/* The checked operation. */
hm_status hm_matmul(hm_context *ctx, const hm_tensor *left, const hm_tensor *right,
                    hm_tensor **out);

#endif
