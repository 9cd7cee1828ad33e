/* hmath_neural_layers_*: masks, biases and encodings that depend on positions. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/layers.h"

hmath_status hmath_neural_layers_causal_mask(hmath_context *ctx, const hmath_value *queries,
                                             const hmath_value *keys, const hmath_value *offset,
                                             hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.causal_mask", out);
    if (st != HMATH_OK)
        return st;
    int64_t query_count, key_count, prefix;
    hm_list *mask = NULL;
    if ((st = hm_arg_int(ctx, "queries", queries, &query_count)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "keys", keys, &key_count)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "offset", offset, &prefix)) == HMATH_OK &&
        (st = hm_causal_mask(ctx, query_count, key_count, prefix, &mask)) == HMATH_OK)
        *out = &mask->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_alibi_bias(hmath_context *ctx, const hmath_value *slope,
                                            const hmath_value *queries, const hmath_value *keys,
                                            const hmath_value *offset, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.alibi_bias", out);
    if (st != HMATH_OK)
        return st;
    double factor;
    int64_t query_count, key_count, prefix;
    hm_list *bias = NULL;
    if ((st = hm_arg_double(ctx, "slope", slope, &factor)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "queries", queries, &query_count)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "keys", keys, &key_count)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "offset", offset, &prefix)) == HMATH_OK &&
        (st = hm_alibi_bias(ctx, factor, query_count, key_count, prefix, &bias)) == HMATH_OK)
        *out = &bias->base;
    return hm_leave(ctx, st);
}
