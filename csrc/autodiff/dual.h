/* Dual numbers (289): a value and its derivative along one direction, carried along together. */
#ifndef HM_DUAL_H
#define HM_DUAL_H

#include "runtime/context.h"
#include "runtime/value.h"

typedef struct hm_dual {
    hm_value base;
    double value, tangent;
} hm_dual;

/* Both parts have to be finite. */
hm_status hm_dual_create(hm_context *ctx, double value, double tangent, hm_dual **out);
const hm_dual *hm_dual_from_value(const hm_value *v);

/* `kernel` is HM_UNARY_... or HM_BINARY_... of the function; failures are as the graph's. */
hm_status hm_dual_unary(hm_context *ctx, int kernel, const hm_dual *x, hm_dual **out);
hm_status hm_dual_binary(hm_context *ctx, int kernel, const hm_dual *a, const hm_dual *b,
                         hm_dual **out);

#endif
