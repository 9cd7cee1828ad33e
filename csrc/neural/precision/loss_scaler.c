#include "neural/precision/loss_scaler.h"

#include <float.h>
#include <math.h>

#include "runtime/context.h"

static const double LARGEST_SCALE = 0x1p24;

static const hm_class loss_scaler_class = {.kind = HMATH_KIND_LOSS_SCALER, .name = "LossScaler"};

hm_status hm_loss_scaler_create(hm_context *ctx, double scale, int64_t growth_interval,
                                int64_t finite_steps, hm_loss_scaler **out)
{
    hm_loss_scaler *created = NULL;
    hm_status st = hm_value_create(ctx, &loss_scaler_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->scale = scale;
    created->growth_interval = growth_interval;
    created->finite_steps = finite_steps;
    *out = created;
    return HMATH_OK;
}

static hm_status check_scale(hm_context *ctx, const char *argument, double scale)
{
    hm_status st = hm_check_scalar_finite(ctx, argument, scale);
    if (st == HMATH_OK && !(scale > 0))
        st = hm_fail_domain(ctx, argument, HM_SCALAR, scale, "> 0");
    return st;
}

hm_status hm_initial_loss_scaler(hm_context *ctx, double scale, int64_t growth_interval,
                                 hm_loss_scaler **out)
{
    hm_status st = check_scale(ctx, "scale", scale);
    if (st != HMATH_OK)
        return st;
    if (growth_interval < 1)
        return hm_fail_domain_int(ctx, "growth_interval", HM_SCALAR, growth_interval, ">= 1");
    return hm_loss_scaler_create(ctx, scale, growth_interval, 0, out);
}

hm_status hm_scale_loss(hm_context *ctx, const hm_loss_scaler *state, double loss, double *out)
{
    hm_status st;
    if ((st = check_scale(ctx, "state.scale", state->scale)) != HMATH_OK ||
        (st = hm_check_scalar_finite(ctx, "loss", loss)) != HMATH_OK)
        return st;
    double scaled = state->scale * loss;
    if (!isfinite(scaled))
        return hm_fail_overflow(ctx);
    *out = scaled;
    return HMATH_OK;
}

/* Divides and tells whether every quotient is finite; a gradient that is not gives none that is. */
static bool divide(const double *x, int64_t n, double scale, double *out)
{
    double traces = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = x[i] / scale;
        traces += out[i] * 0.0;
    }
    return traces == 0;
}

static hm_status no_gradients(hm_context *ctx, const hm_value *source, hm_value **out)
{
    if (hm_tensor_from_value(source)) {
        hm_tensor *nothing = NULL;
        hm_status st = hm_tensor_create(ctx, &(hm_shape){.rank = 1, .extent = {0}}, &nothing);
        if (st == HMATH_OK)
            *out = &nothing->base;
        return st;
    }
    double *data;
    return hm_result_like(ctx, source, 0, out, &data);
}

hm_status hm_unscale_gradients(hm_context *ctx, const hm_loss_scaler *state,
                               const hm_doubles *gradients, bool *finite, hm_value **out)
{
    hm_value *quotients = NULL;
    double *data;
    hm_status st;
    if ((st = check_scale(ctx, "state.scale", state->scale)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "gradients", gradients)) != HMATH_OK ||
        (st = hm_result_like(ctx, gradients->source, gradients->length, &quotients, &data)) !=
            HMATH_OK)
        return st;
    *finite = divide(gradients->data, gradients->length, state->scale, data);
    if (*finite) {
        *out = quotients;
        return HMATH_OK;
    }
    hm_release(quotients);
    return no_gradients(ctx, gradients->source, out);
}

static double halved(double scale)
{
    if (scale <= DBL_MIN)
        return scale;
    return fmax(scale / 2, DBL_MIN);
}

static double doubled(double scale) { return scale * 2 > LARGEST_SCALE ? scale : scale * 2; }

hm_status hm_update_loss_scaler(hm_context *ctx, bool finite, const hm_loss_scaler *state,
                                hm_loss_scaler **out)
{
    hm_status st = check_scale(ctx, "state.scale", state->scale);
    if (st != HMATH_OK)
        return st;
    int64_t interval = state->growth_interval, steps = state->finite_steps;
    if (interval < 1)
        return hm_fail_domain_int(ctx, "state.growth_interval", HM_SCALAR, interval, ">= 1");
    if (steps < 0)
        return hm_fail_domain_int(ctx, "state.finite_steps", HM_SCALAR, steps, ">= 0");
    if (!finite)
        return hm_loss_scaler_create(ctx, halved(state->scale), interval, 0, out);
    if (steps >= interval - 1) /* steps + 1 might not fit */
        return hm_loss_scaler_create(ctx, doubled(state->scale), interval, 0, out);
    return hm_loss_scaler_create(ctx, state->scale, interval, steps + 1, out);
}
