/*
 * Dynamic loss scaling for reduced-precision training (Micikevicius et al., "Mixed Precision Training",
 * ICLR 2018): the loss is multiplied by a scale that is halved when gradients overflow and doubled
 * after a run of steps in which they did not.
 */
#ifndef HM_LOSS_SCALER_H
#define HM_LOSS_SCALER_H

#include "tensor/view.h"

/* The scale never doubles beyond 2^24 and never halves below the smallest normal double. */
typedef struct hm_loss_scaler {
    hm_value base;
    double scale;
    int64_t growth_interval;
    int64_t finite_steps;
} hm_loss_scaler;

/* The record as it is given; the operations that use it check it. */
hm_status hm_loss_scaler_create(hm_context *ctx, double scale, int64_t growth_interval,
                                int64_t finite_steps, hm_loss_scaler **out);

/* scale > 0 and finite, growth_interval >= 1: NonFinite, DomainError. */
hm_status hm_initial_loss_scaler(hm_context *ctx, double scale, int64_t growth_interval,
                                 hm_loss_scaler **out);

/* scale * loss. Overflow. */
hm_status hm_scale_loss(hm_context *ctx, const hm_loss_scaler *state, double loss, double *out);

/*
 * gradients / scale in *out, in the container of the gradients, and *finite; where a gradient or a
 * quotient is not finite, *finite is false and *out an empty list (a tensor of shape (0) for a tensor).
 */
hm_status hm_unscale_gradients(hm_context *ctx, const hm_loss_scaler *state,
                               const hm_doubles *gradients, bool *finite, hm_value **out);

/* The state after one step. */
hm_status hm_update_loss_scaler(hm_context *ctx, bool finite, const hm_loss_scaler *state,
                                hm_loss_scaler **out);

#endif
