/*
 * Checked arithmetic: one kernel over the whole tensor, which also tells whether every number in
 * and out is finite. Only where one is not does anybody look for the reason.
 */
#ifndef HM_ARITHMETIC_H
#define HM_ARITHMETIC_H

#include "runtime/context.h"
#include "tensor/broadcast.h"
#include "tensor/tensor.h"

/* op is HM_UNARY_... or HM_BINARY_... (kernels/elementwise.h). */
hm_status hm_unary(hm_context *ctx, int op, const hm_tensor *input, hm_tensor **out);
hm_status hm_binary(hm_context *ctx, int op, const hm_tensor *left, const hm_tensor *right,
                    hm_tensor **out);

/*
 * The kernel gets right and left in this order (left > right is right < left); failures know the
 * names.
 */
hm_status hm_binary_turned(hm_context *ctx, int op, const hm_tensor *left, const hm_tensor *right,
                           hm_tensor **out);

/*
 * n elements, on the context's threads where they are many. True where all, in and out, are finite.
 */
bool hm_unary_run(const hm_context *ctx, int op, const double *input, int64_t n, double *out);

/*
 * Why a kernel found something that is not finite: NonFinite, DomainError, or else Overflow.
 * `argument` names the input; elements are counted from 0 at `input`.
 */
hm_status hm_unary_failure(hm_context *ctx, int op, const char *argument, const double *input,
                           int64_t n);

/* The same where both operands are known to be finite; positions are the right operand's. */
hm_status hm_binary_failure(hm_context *ctx, int op, const char *argument, const hm_broadcast *plan,
                            const double *left, const double *right);

#endif
