/* hmath_neural_layers_*: pooling. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/layers.h"

hmath_status hmath_neural_layers_pooling(hmath_context *ctx, const hmath_value *mode,
                                         const hmath_value *kernel, const hmath_value *stride,
                                         const hmath_value *padding, const hmath_value *input,
                                         hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.pooling", out);
    if (st != HMATH_OK)
        return st;
    const hm_pool_mode *method;
    hm_ints extents, strides, paddings;
    const hm_tensor *cells;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "mode", mode, HMATH_KIND_POOL_MODE, &method)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "kernel", kernel, &extents)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "stride", stride, &strides)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "padding", padding, &paddings)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &cells)) == HMATH_OK &&
        (st = hm_pooling(ctx, method, &extents, &strides, &paddings, cells, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_adaptive_pooling(hmath_context *ctx, const hmath_value *mode,
                                                  const hmath_value *shape,
                                                  const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.adaptive_pooling", out);
    if (st != HMATH_OK)
        return st;
    const hm_pool_mode *method;
    hm_ints places;
    const hm_tensor *cells;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "mode", mode, HMATH_KIND_POOL_MODE, &method)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "shape", shape, &places)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &cells)) == HMATH_OK &&
        (st = hm_adaptive_pooling(ctx, method, &places, cells, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_global_pooling(hmath_context *ctx, const hmath_value *mode,
                                                const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.global_pooling", out);
    if (st != HMATH_OK)
        return st;
    const hm_pool_mode *method;
    const hm_tensor *cells;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "mode", mode, HMATH_KIND_POOL_MODE, &method)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &cells)) == HMATH_OK &&
        (st = hm_global_pooling(ctx, method, cells, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}
