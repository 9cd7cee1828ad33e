/* hmath_neural_layers_*: the KV cache and the embedding, which gather rows. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/cache.h"
#include "neural/layers/layers.h"

hmath_status hmath_neural_layers_embedding(hmath_context *ctx, const hmath_value *weights,
                                           const hmath_value *indices, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.embedding", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *table;
    hm_ints rows;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "weights", weights, &table)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "indices", indices, &rows)) == HMATH_OK &&
        (st = hm_embedding(ctx, table, &rows, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_empty_cache(hmath_context *ctx, const hmath_value *capacity,
                                             const hmath_value *key_dimensions,
                                             const hmath_value *value_dimensions, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.empty_cache", out);
    if (st != HMATH_OK)
        return st;
    int64_t rows, key_width, value_width;
    hm_kv_cache *cache = NULL;
    if ((st = hm_arg_int(ctx, "capacity", capacity, &rows)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "key_dimensions", key_dimensions, &key_width)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "value_dimensions", value_dimensions, &value_width)) == HMATH_OK &&
        (st = hm_empty_cache(ctx, rows, key_width, value_width, &cache)) == HMATH_OK)
        *out = &cache->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_append_cache(hmath_context *ctx, const hmath_value *cache,
                                              const hmath_value *key, const hmath_value *value,
                                              hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.append_cache", out);
    if (st != HMATH_OK)
        return st;
    const hm_kv_cache *held;
    const hm_tensor *keys, *values;
    hm_kv_cache *longer = NULL;
    if ((st = hm_arg_object(ctx, "cache", cache, HMATH_KIND_KV_CACHE, &held)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "key", key, &keys)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "value", value, &values)) == HMATH_OK &&
        (st = hm_append_cache(ctx, held, keys, values, &longer)) == HMATH_OK)
        *out = &longer->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_cache_values(hmath_context *ctx, const hmath_value *cache,
                                              hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.cache_values", out);
    if (st != HMATH_OK)
        return st;
    const hm_kv_cache *held;
    hm_tensor *keys = NULL, *values = NULL;
    if ((st = hm_arg_object(ctx, "cache", cache, HMATH_KIND_KV_CACHE, &held)) == HMATH_OK &&
        (st = hm_cache_values(ctx, held, &keys, &values)) == HMATH_OK)
        st = hm_publish_pair(ctx, &keys->base, &values->base, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_kv_cache_get(const hmath_value *v, int64_t *capacity, int64_t *length,
                                int64_t *key_dimensions, int64_t *value_dimensions)
{
    if (!hm_value_is(v, HMATH_KIND_KV_CACHE))
        return HMATH_BAD_ARGUMENT;
    const hm_kv_cache *cache = (const hm_kv_cache *)v;
    if (capacity)
        *capacity = cache->capacity;
    if (length)
        *length = cache->length;
    if (key_dimensions)
        *key_dimensions = cache->key_width;
    if (value_dimensions)
        *value_dimensions = cache->value_width;
    return HMATH_OK;
}
