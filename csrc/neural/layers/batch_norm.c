/*
 * Batch normalisation (Ioffe and Szegedy 2015). Training normalises by the batch's population
 * variance and feeds its unbiased variance to the running one; inference normalises by the running
 * statistics.
 */
#include <math.h>
#include <stdio.h>

#include "neural/layers/check.h"
#include "neural/layers/layers.h"
#include "runtime/context.h"
#include "tensor/normalize.h"

/* The input as (batch, channels, spatial), and what stands beside it, one entry a channel. */
typedef struct batch {
    int64_t batch, channels, spatial;
    const double *gamma, *beta;
} batch;

static hm_status check_field(hm_context *ctx, const char *argument, const hm_list *field)
{
    return hm_check_finite(ctx, argument, field->data, field->length);
}

static hm_status check_state(hm_context *ctx, const hm_batch_norm_state *state)
{
    hm_status st;
    if ((st = check_field(ctx, "state.running_mean", state->running_mean)) != HMATH_OK ||
        (st = check_field(ctx, "state.running_variance", state->running_variance)) != HMATH_OK)
        return st;
    const double *variance = state->running_variance->data;
    for (int64_t i = 0; i < state->running_variance->length; i++)
        if (!(variance[i] >= 0))
            return hm_fail_domain(ctx, "state.running_variance", i, variance[i], ">= 0");
    return HMATH_OK;
}

static hm_status check_shapes(hm_context *ctx, const hm_doubles *gamma, const hm_doubles *beta,
                              const hm_batch_norm_state *state, const hm_tensor *input)
{
    if (input->shape.rank < 2) {
        char actual[32];
        snprintf(actual, sizeof actual, "rank %d", input->shape.rank);
        return hm_fail_shape(ctx, "input", "rank 2 or more", actual);
    }
    const int64_t channels = input->shape.extent[1];
    hm_status st;
    if ((st = hm_check_vector(ctx, "gamma", gamma)) != HMATH_OK ||
        (st = hm_check_length(ctx, "gamma", gamma->length, channels)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "beta", beta)) != HMATH_OK ||
        (st = hm_check_length(ctx, "beta", beta->length, channels)) != HMATH_OK ||
        (st = hm_check_length(ctx, "state.running_mean", state->running_mean->length, channels)) !=
            HMATH_OK)
        return st;
    return hm_check_length(ctx, "state.running_variance", state->running_variance->length,
                           channels);
}

/* A result that is not finite: the input is to blame, or the range of a double. */
static hm_status explain(hm_context *ctx, const hm_tensor *input)
{
    hm_status st = hm_check_tensor_finite(ctx, "input", input);
    return st != HMATH_OK ? st : hm_fail_overflow(ctx);
}

/* (1 - momentum) * running + momentum * batch; what leaves the range of a double on the way may
 * come back. */
static double blend(double momentum, double running, hm_wide batch_statistic)
{
    return hm_wide_round(
        hm_wide_add(hm_wide_multiply(hm_wide_of(1 - momentum), hm_wide_of(running)),
                    hm_wide_multiply(hm_wide_of(momentum), batch_statistic)));
}

static hm_status update_state(hm_context *ctx, double momentum, const hm_spread *spread,
                              const hm_batch_norm_state *state, hm_batch_norm_state **out)
{
    const int64_t channels = state->running_mean->length;
    hm_list *means = NULL, *variances = NULL;
    hm_status st;
    if (state->batches_seen == INT64_MAX)
        return hm_fail_overflow(ctx);
    if ((st = hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, channels, &means)) != HMATH_OK ||
        (st = hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, channels, &variances)) != HMATH_OK)
        goto done;

    bool finite = true;
    double *mean = means->data, *variance = variances->data;
    const double *old_mean = state->running_mean->data,
                 *old_variance = state->running_variance->data;
    for (int64_t c = 0; c < channels; c++) {
        const hm_spread *s = &spread[c];
        const double divisor = s->count > 1 ? (double)(s->count - 1) : 1.0;
        const hm_wide unbiased = hm_wide_normal(s->squares / divisor, -2 * (int64_t)s->shift);
        mean[c] = blend(momentum, old_mean[c], hm_wide_normal(s->mean, -(int64_t)s->shift));
        variance[c] = blend(momentum, old_variance[c], unbiased);
        finite = finite && isfinite(mean[c]) && isfinite(variance[c]);
    }
    if (!finite) {
        st = hm_fail_overflow(ctx);
        goto done;
    }
    const hm_doubles new_mean = hm_doubles_of(means), new_variance = hm_doubles_of(variances);
    st = hm_batch_norm_state_create(ctx, &new_mean, &new_variance, state->batches_seen + 1, out);
done:
    hm_release(means);
    hm_release(variances);
    return st;
}

static hm_status train(hm_context *ctx, double momentum, double epsilon, const batch *b,
                       const hm_batch_norm_state *state, const hm_tensor *input, hm_tensor *result,
                       hm_batch_norm_state **next)
{
    hm_spread *spread = NULL;
    hm_standard *standard = NULL;
    hm_status st;
    if (b->channels > 0 && input->size == 0)
        return hm_fail_empty(ctx, "input");
    if ((st = hm_scratch_create(ctx, (size_t)b->channels, sizeof *spread, &spread)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)b->channels, sizeof *standard, &standard)) != HMATH_OK)
        goto done;
    st = hm_channel_norm(ctx, input->data, b->batch, b->channels, b->spatial, epsilon, b->gamma,
                         b->beta, spread, standard, result->data)
             ? update_state(ctx, momentum, spread, state, next)
             : explain(ctx, input);
done:
    hm_scratch_release(ctx, standard);
    hm_scratch_release(ctx, spread);
    return st;
}

static hm_status infer(hm_context *ctx, double epsilon, const batch *b,
                       const hm_batch_norm_state *state, const hm_tensor *input, hm_tensor *result)
{
    hm_standard *standard = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)b->channels, sizeof *standard, &standard);
    if (st != HMATH_OK)
        return st;
    const double *mean = state->running_mean->data, *variance = state->running_variance->data;
    for (int64_t c = 0; c < b->channels; c++)
        standard[c] = hm_standard_of(mean[c], variance[c], epsilon);
    if (!hm_channel_affine(ctx, input->data, b->batch, b->channels, b->spatial, standard, b->gamma,
                           b->beta, result->data))
        st = explain(ctx, input);
    hm_scratch_release(ctx, standard);
    return st;
}

hm_status hm_batch_norm(hm_context *ctx, const hm_training *mode, double momentum, double epsilon,
                        const hm_doubles *gamma, const hm_doubles *beta,
                        const hm_batch_norm_state *state, const hm_tensor *input, hm_tensor **out,
                        hm_batch_norm_state **next)
{
    hm_status st;
    if ((st = hm_check_scalar_finite(ctx, "momentum", momentum)) != HMATH_OK)
        return st;
    if (!(momentum >= 0 && momentum <= 1))
        return hm_fail_domain(ctx, "momentum", HM_SCALAR, momentum, ">= 0 and <= 1");
    if ((st = hm_check_positive(ctx, "epsilon", epsilon)) != HMATH_OK ||
        (st = check_state(ctx, state)) != HMATH_OK ||
        (st = check_shapes(ctx, gamma, beta, state, input)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, "gamma", gamma)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, "beta", beta)) != HMATH_OK)
        return st;

    const batch b = {.batch = input->shape.extent[0],
                     .channels = input->shape.extent[1],
                     .spatial = hm_shape_span(&input->shape, 2, input->shape.rank),
                     .gamma = gamma->data,
                     .beta = beta->data};
    hm_tensor *result = NULL;
    hm_batch_norm_state *updated = NULL;
    if ((st = hm_tensor_like(ctx, input, &result)) != HMATH_OK)
        return st;
    if (mode->training)
        st = train(ctx, momentum, epsilon, &b, state, input, result, &updated);
    else if ((st = infer(ctx, epsilon, &b, state, input, result)) == HMATH_OK)
        updated = hm_retain(state);
    if (st != HMATH_OK) {
        hm_release(result);
        return st;
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    *next = updated;
    return HMATH_OK;
}
