/*
 * The KV cache (282): an immutable list of key and value rows that grows by versions. Versions
 * share one store; appending to the newest one writes the new rows behind it and nothing else.
 */
#ifndef HM_LAYERS_CACHE_H
#define HM_LAYERS_CACHE_H

#include "runtime/buffer.h"
#include "tensor/tensor.h"

/*
 * Rows that versions share. The first `claimed` of them belong to some version and never change
 * again. Room behind them goes to whoever moves `claimed` on first, with one compare-exchange.
 */
typedef struct hm_kv_store {
    _Atomic int64_t references;
    _Atomic int64_t claimed;
    int64_t room; /* rows */
    hm_buffer *keys, *values;
} hm_kv_store;

typedef struct hm_kv_cache {
    hm_value base;
    int64_t capacity, key_width, value_width;
    int64_t length;     /* rows of the store that this version shows */
    hm_kv_store *store; /* NULL while length is 0 */
} hm_kv_cache;

hm_status hm_empty_cache(hm_context *ctx, int64_t capacity, int64_t key_dimensions,
                         int64_t value_dimensions, hm_kv_cache **out);

hm_status hm_append_cache(hm_context *ctx, const hm_kv_cache *cache, const hm_tensor *key,
                          const hm_tensor *value, hm_kv_cache **out);

/* [length, key_width] and [length, value_width]; they share the store's memory. */
hm_status hm_cache_values(hm_context *ctx, const hm_kv_cache *cache, hm_tensor **keys,
                          hm_tensor **values);

#endif
