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

hmath_status hmath_neural_layers_rotary_embedding(hmath_context *ctx, const hmath_value *base,
                                                  const hmath_value *offset,
                                                  const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.rotary_embedding", out);
    if (st != HMATH_OK)
        return st;
    double period;
    int64_t prefix;
    const hm_tensor *rows;
    hm_tensor *result = NULL;
    if ((st = hm_arg_double(ctx, "base", base, &period)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "offset", offset, &prefix)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &rows)) == HMATH_OK &&
        (st = hm_rotary_embedding(ctx, period, prefix, rows, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_sinusoidal_encoding(hmath_context *ctx, const hmath_value *length,
                                                     const hmath_value *dimensions,
                                                     const hmath_value *offset, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.sinusoidal_encoding", out);
    if (st != HMATH_OK)
        return st;
    int64_t rows, features, prefix;
    hm_tensor *result = NULL;
    if ((st = hm_arg_int(ctx, "length", length, &rows)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "dimensions", dimensions, &features)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "offset", offset, &prefix)) == HMATH_OK &&
        (st = hm_sinusoidal_encoding(ctx, rows, features, prefix, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}
