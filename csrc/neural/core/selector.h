/* The selectors of Core: immutable choices, made without validation. The operations that use one
 * check it. */
#ifndef HM_CORE_SELECTOR_H
#define HM_CORE_SELECTOR_H

#include <stdbool.h>

#include "kernels/loss.h"
#include "runtime/value.h"

/* 274. `formula` is an HM_ACTIVATION_...; PReLU and LeakyReLU share one. */
typedef struct hm_activation {
    hm_value base;
    int formula;
    double parameter;
} hm_activation;

/* 275. `formula` is an hm_loss_formula with a gradient, or HM_LOSS_COSINE. */
enum { HM_LOSS_COSINE = HM_LOSS_SUMS };

typedef struct hm_loss_method {
    hm_value base;
    int formula;
    double parameter;
} hm_loss_method;

/* 276 */
typedef struct hm_loss_reduction {
    hm_value base;
    bool mean;
} hm_loss_reduction;

hm_status hm_activation_create(hm_context *ctx, int formula, double parameter, hm_activation **out);
hm_status hm_loss_method_create(hm_context *ctx, int formula, double parameter,
                                hm_loss_method **out);
hm_status hm_loss_reduction_create(hm_context *ctx, bool mean, hm_loss_reduction **out);

/* Step 2 of the order of checks: the parameter, as `argument` ("method.parameter" for a loss). */
hm_status hm_check_activation(hm_context *ctx, const char *argument, const hm_activation *method);
hm_status hm_check_loss_method(hm_context *ctx, const hm_loss_method *method);

#endif
