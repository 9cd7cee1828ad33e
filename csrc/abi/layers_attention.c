/* hmath_neural_layers_*: attention. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/layers.h"

hmath_status hmath_neural_layers_scaled_dot_product_attention(
    hmath_context *ctx, const hmath_value *query, const hmath_value *key, const hmath_value *value,
    const hmath_value *mask, const hmath_value *bias, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.scaled_dot_product_attention", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *queries, *keys, *values;
    hm_bool_rows allowed;
    hm_double_rows added;
    hm_tensor *result = NULL, *weights = NULL;
    if ((st = hm_arg_tensor(ctx, "query", query, &queries)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "key", key, &keys)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "value", value, &values)) == HMATH_OK &&
        (!mask || (st = hm_arg_bool_rows(ctx, "mask", mask, &allowed)) == HMATH_OK) &&
        (!bias || (st = hm_arg_double_rows(ctx, "bias", bias, &added)) == HMATH_OK) &&
        (st = hm_scaled_dot_product_attention(ctx, queries, keys, values, mask ? &allowed : NULL,
                                              bias ? &added : NULL, &result, &weights)) == HMATH_OK)
        st = hm_publish_pair(ctx, &result->base, &weights->base, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_multihead_attention(hmath_context *ctx, const hmath_value *heads,
                                                     const hmath_value *query,
                                                     const hmath_value *key,
                                                     const hmath_value *value,
                                                     const hmath_value *mask, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.multihead_attention", out);
    if (st != HMATH_OK)
        return st;
    int64_t parts;
    const hm_tensor *queries, *keys, *values;
    hm_bool_rows allowed;
    hm_tensor *result = NULL;
    if ((st = hm_arg_int(ctx, "heads", heads, &parts)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "query", query, &queries)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "key", key, &keys)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "value", value, &values)) == HMATH_OK &&
        (!mask || (st = hm_arg_bool_rows(ctx, "mask", mask, &allowed)) == HMATH_OK) &&
        (st = hm_multihead_attention(ctx, parts, queries, keys, values, mask ? &allowed : NULL,
                                     &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}
