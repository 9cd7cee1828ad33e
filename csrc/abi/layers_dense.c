/* hmath_neural_layers_*: dense layers. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/layers.h"

hmath_status hmath_neural_layers_dense(hmath_context *ctx, const hmath_value *input,
                                       const hmath_value *weights, const hmath_value *bias,
                                       hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.dense", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *rows, *matrix;
    hm_doubles shifts;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "input", input, &rows)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "weights", weights, &matrix)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "bias", bias, &shifts)) == HMATH_OK &&
        (st = hm_dense(ctx, rows, matrix, &shifts, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_transformer_feed_forward(
    hmath_context *ctx, const hmath_value *activation, const hmath_value *input,
    const hmath_value *first_weights, const hmath_value *first_bias,
    const hmath_value *second_weights, const hmath_value *second_bias, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.transformer_feed_forward", out);
    if (st != HMATH_OK)
        return st;
    const hm_activation *between;
    const hm_tensor *rows, *first, *second;
    hm_doubles first_shifts, second_shifts;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "activation", activation, HMATH_KIND_ACTIVATION, &between)) ==
            HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &rows)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "first_weights", first_weights, &first)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "first_bias", first_bias, &first_shifts)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "second_weights", second_weights, &second)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "second_bias", second_bias, &second_shifts)) == HMATH_OK &&
        (st = hm_transformer_feed_forward(ctx, between, rows, first, &first_shifts, second,
                                          &second_shifts, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}
