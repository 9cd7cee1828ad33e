/* Products of quantized matrices. */
#ifndef HM_INT8_H
#define HM_INT8_H

#include "neural/precision/quantized_tensor.h"
#include "tensor/tensor.h"

/*
 * left (M x K, per tensor or per row) times right (K x N, per tensor or per column), as a tensor:
 * sum_k (a_ik - za_i)(b_kj - zb_j), exact, times the two scales. DimensionMismatch: ranks, inner extents,
 * other axes; Overflow: a sum outside the signed 32-bit integers, or a result that is no finite double.
 */
hm_status hm_int8_gemm(hm_context *ctx, const hm_quantized *left, const hm_quantized *right,
                       hm_tensor **out);

#endif
