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
