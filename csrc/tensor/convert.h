/* Between tensors of doubles and of floats. */
#ifndef HM_CONVERT_H
#define HM_CONVERT_H

#include "runtime/context.h"
#include "tensor/tensor.h"

/* Float to Double, exact for every float. */
hm_status hm_promote(hm_context *ctx, const hm_tensor *input, hm_tensor **out);

/*
 * Double to Float, each element rounded once. NonFinite; Overflow where one rounds beyond the
 * largest.
 */
hm_status hm_demote(hm_context *ctx, const hm_tensor *input, hm_tensor **out);

#endif
