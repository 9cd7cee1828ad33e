/* Products of matrices rounded to sixteen bits. */
#ifndef HM_REDUCED_H
#define HM_REDUCED_H

#include "tensor/tensor.h"

typedef enum hm_format { HM_FP16 = 1, HM_BF16 = 2 } hm_format;

typedef struct hm_precision { /* the selector */
    hm_value base;
    hm_format format;
} hm_precision;

hm_status hm_precision_create(hm_context *ctx, hm_format format, hm_precision **out);

/*
 * left (M x K) times right (K x N): operands rounded to the format, accumulated in binary32 by fused
 * multiply-add in increasing k from +0, widened. DimensionMismatch (ranks, inner extents), NonFinite;
 * Overflow: an operand that rounds to infinity, or a sum that leaves binary32.
 */
hm_status hm_reduced_gemm(hm_context *ctx, hm_format format, const hm_tensor *left,
                          const hm_tensor *right, hm_tensor **out);

#endif
