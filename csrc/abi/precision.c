/* deeplearning_precision at the edge. */
#include "abi/edge.h"
#include "abi/field.h"
#include "hmath_deeplearning.h"
#include "neural/precision/gradients.h"
#include "neural/precision/int8.h"
#include "neural/precision/loss_scaler.h"
#include "neural/precision/quantize.h"
#include "neural/precision/reduced.h"
#include "runtime/scalar.h"

/* ------------------------------------------------- selectors */

static hm_status quantization(hm_context *ctx, hm_scheme scheme, hm_value **out)
{
    hm_status st = hm_edge_enter(
        ctx, scheme == HM_SYMMETRIC ? "precision.Symmetric" : "precision.Asymmetric", out);
    if (st != HMATH_OK)
        return st;
    hm_quantization *created = NULL;
    if ((st = hm_quantization_create(ctx, scheme, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_symmetric_create(hmath_context *ctx, hmath_value **out)
{
    return quantization(ctx, HM_SYMMETRIC, out);
}

hmath_status hmath_neural_precision_asymmetric_create(hmath_context *ctx, hmath_value **out)
{
    return quantization(ctx, HM_ASYMMETRIC, out);
}

static hm_status reduced_format(hm_context *ctx, hm_format format, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, format == HM_FP16 ? "precision.FP16" : "precision.BF16", out);
    if (st != HMATH_OK)
        return st;
    hm_precision *created = NULL;
    if ((st = hm_precision_create(ctx, format, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_fp16_create(hmath_context *ctx, hmath_value **out)
{
    return reduced_format(ctx, HM_FP16, out);
}

hmath_status hmath_neural_precision_bf16_create(hmath_context *ctx, hmath_value **out)
{
    return reduced_format(ctx, HM_BF16, out);
}

/* ------------------------------------------------- quantized tensors */

static hm_status arg_quantized(hm_context *ctx, const char *name, const hm_value *v,
                               const hm_quantized **out)
{
    return hm_arg_object(ctx, name, v, HMATH_KIND_QUANTIZED_TENSOR, out);
}

hmath_status hmath_neural_precision_quantize(hmath_context *ctx, const hmath_value *scheme,
                                             const hmath_value *axis, const hmath_value *input,
                                             hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.quantize", out);
    if (st != HMATH_OK)
        return st;
    const hm_quantization *selected;
    const hm_tensor *tensor;
    hm_quantized *result = NULL;
    int64_t along = 0;
    if ((st = hm_arg_object(ctx, "scheme", scheme, HMATH_KIND_QUANTIZATION, &selected)) ==
            HMATH_OK &&
        (!axis || (st = hm_arg_int(ctx, "axis", axis, &along)) == HMATH_OK) &&
        (st = hm_arg_tensor(ctx, "input", input, &tensor)) == HMATH_OK &&
        (st = hm_quantize(ctx, selected->scheme, axis ? &along : NULL, tensor, &result)) ==
            HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_dequantize(hmath_context *ctx, const hmath_value *quantized,
                                               hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.dequantize", out);
    if (st != HMATH_OK)
        return st;
    const hm_quantized *coded;
    hm_tensor *result = NULL;
    if ((st = arg_quantized(ctx, "quantized", quantized, &coded)) == HMATH_OK &&
        (st = hm_dequantize(ctx, coded, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

HM_FIELD(precision, quantized_values, quantized, HMATH_KIND_QUANTIZED_TENSOR, hm_quantized, values)
HM_FIELD(precision, quantization_scales, quantized, HMATH_KIND_QUANTIZED_TENSOR, hm_quantized,
         scales)
HM_FIELD(precision, quantization_zero_points, quantized, HMATH_KIND_QUANTIZED_TENSOR, hm_quantized,
         zeros)

hmath_status hmath_quantized_tensor_create(hmath_context *ctx, int32_t scheme, int64_t axis,
                                           int32_t rank, const int64_t *shape, const int8_t *values,
                                           const double *scales, const int64_t *zero_points,
                                           hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.QuantizedTensor", out);
    if (st != HMATH_OK)
        return st;
    if (!shape && rank > 0)
        return hm_leave(ctx, hm_fail_argument(ctx, "shape", "is null"));
    if (!values || !scales || !zero_points)
        return hm_leave(ctx, hm_fail_argument(ctx,
                                              !values   ? "values"
                                              : !scales ? "scales"
                                                        : "zero_points",
                                              "is null"));
    hm_quantized *result = NULL;
    st = hm_quantized_from_parts(ctx, scheme, axis, rank, shape, values, scales, zero_points,
                                 &result);
    if (st == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_quantized_tensor_get(const hmath_value *v, int32_t *scheme, int64_t *axis,
                                        int32_t *rank, const int64_t **shape)
{
    if (!hm_value_is(v, HMATH_KIND_QUANTIZED_TENSOR))
        return HMATH_BAD_ARGUMENT;
    const hm_quantized *coded = (const hm_quantized *)v;
    if (scheme)
        *scheme = coded->scheme;
    if (axis)
        *axis = coded->axis;
    if (rank)
        *rank = coded->shape.rank;
    if (shape)
        *shape = coded->shape.extent;
    return HMATH_OK;
}

/* ------------------------------------------------- products */

hmath_status hmath_neural_precision_int8_gemm(hmath_context *ctx, const hmath_value *left,
                                              const hmath_value *right, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.int8_gemm", out);
    if (st != HMATH_OK)
        return st;
    const hm_quantized *a, *b;
    hm_tensor *result = NULL;
    if ((st = arg_quantized(ctx, "left", left, &a)) == HMATH_OK &&
        (st = arg_quantized(ctx, "right", right, &b)) == HMATH_OK &&
        (st = hm_int8_gemm(ctx, a, b, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_reduced_gemm(hmath_context *ctx, const hmath_value *precision,
                                                 const hmath_value *left, const hmath_value *right,
                                                 hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.reduced_gemm", out);
    if (st != HMATH_OK)
        return st;
    const hm_precision *selected;
    const hm_tensor *a, *b;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "precision", precision, HMATH_KIND_PRECISION, &selected)) ==
            HMATH_OK &&
        (st = hm_arg_tensor(ctx, "left", left, &a)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "right", right, &b)) == HMATH_OK &&
        (st = hm_reduced_gemm(ctx, selected->format, a, b, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- loss scaling */

static hm_status arg_scaler(hm_context *ctx, const char *name, const hm_value *v,
                            const hm_loss_scaler **out)
{
    return hm_arg_object(ctx, name, v, HMATH_KIND_LOSS_SCALER, out);
}

hmath_status hmath_neural_precision_loss_scaler_create(hmath_context *ctx, const hmath_value *scale,
                                                       const hmath_value *growth_interval,
                                                       const hmath_value *finite_steps,
                                                       hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.LossScaler", out);
    if (st != HMATH_OK)
        return st;
    double factor;
    int64_t interval, steps;
    hm_loss_scaler *result = NULL;
    if ((st = hm_arg_double(ctx, "scale", scale, &factor)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "growth_interval", growth_interval, &interval)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "finite_steps", finite_steps, &steps)) == HMATH_OK &&
        (st = hm_loss_scaler_create(ctx, factor, interval, steps, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

HM_FIELD(precision, loss_scale, state, HMATH_KIND_LOSS_SCALER, hm_loss_scaler, scale)
HM_FIELD(precision, scale_growth_interval, state, HMATH_KIND_LOSS_SCALER, hm_loss_scaler,
         growth_interval)
HM_FIELD(precision, finite_steps, state, HMATH_KIND_LOSS_SCALER, hm_loss_scaler, finite_steps)

hmath_status hmath_neural_precision_initial_loss_scaler(hmath_context *ctx,
                                                        const hmath_value *scale,
                                                        const hmath_value *growth_interval,
                                                        hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.initial_loss_scaler", out);
    if (st != HMATH_OK)
        return st;
    double factor;
    int64_t interval;
    hm_loss_scaler *result = NULL;
    if ((st = hm_arg_double(ctx, "scale", scale, &factor)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "growth_interval", growth_interval, &interval)) == HMATH_OK &&
        (st = hm_initial_loss_scaler(ctx, factor, interval, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_scale_loss(hmath_context *ctx, const hmath_value *state,
                                               const hmath_value *loss, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.scale_loss", out);
    if (st != HMATH_OK)
        return st;
    const hm_loss_scaler *scaler;
    double unscaled, scaled;
    if ((st = arg_scaler(ctx, "state", state, &scaler)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "loss", loss, &unscaled)) == HMATH_OK &&
        (st = hm_scale_loss(ctx, scaler, unscaled, &scaled)) == HMATH_OK)
        st = hm_double_create(ctx, scaled, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_unscale_gradients(hmath_context *ctx, const hmath_value *state,
                                                      const hmath_value *gradients,
                                                      hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.unscale_gradients", out);
    if (st != HMATH_OK)
        return st;
    const hm_loss_scaler *scaler;
    hm_doubles scaled;
    bool finite;
    hm_value *parts[2] = {NULL, NULL};
    hm_tuple *both = NULL;
    if ((st = arg_scaler(ctx, "state", state, &scaler)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "gradients", gradients, &scaled)) == HMATH_OK &&
        (st = hm_unscale_gradients(ctx, scaler, &scaled, &finite, &parts[1])) == HMATH_OK &&
        (st = hm_bool_create(ctx, finite, &parts[0])) == HMATH_OK &&
        (st = hm_tuple_take(ctx, parts, 2, &both)) == HMATH_OK) {
        *out = &both->base;
        return hm_leave(ctx, HMATH_OK);
    }
    hm_release(parts[0]);
    hm_release(parts[1]);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_update_loss_scaler(hmath_context *ctx,
                                                       const hmath_value *finite,
                                                       const hmath_value *state, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.update_loss_scaler", out);
    if (st != HMATH_OK)
        return st;
    bool all_finite;
    const hm_loss_scaler *scaler;
    hm_loss_scaler *result = NULL;
    if ((st = hm_arg_bool(ctx, "finite", finite, &all_finite)) == HMATH_OK &&
        (st = arg_scaler(ctx, "state", state, &scaler)) == HMATH_OK &&
        (st = hm_update_loss_scaler(ctx, all_finite, scaler, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- gradients */

hmath_status hmath_neural_precision_gradient_norm(hmath_context *ctx, const hmath_value *gradient,
                                                  hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.gradient_norm", out);
    if (st != HMATH_OK)
        return st;
    hm_doubles g;
    double norm;
    if ((st = hm_arg_doubles(ctx, "gradient", gradient, &g)) == HMATH_OK &&
        (st = hm_gradient_norm(ctx, &g, &norm)) == HMATH_OK)
        st = hm_double_create(ctx, norm, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_precision_clip_gradients(hmath_context *ctx, const hmath_value *maximum,
                                                   const hmath_value *gradient, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "precision.clip_gradients", out);
    if (st != HMATH_OK)
        return st;
    double bound;
    hm_doubles g;
    hm_value *result = NULL;
    if ((st = hm_arg_double(ctx, "maximum", maximum, &bound)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "gradient", gradient, &g)) == HMATH_OK &&
        (st = hm_clip_gradients(ctx, bound, &g, &result)) == HMATH_OK)
        *out = result;
    return hm_leave(ctx, st);
}
