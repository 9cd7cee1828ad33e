#include "neural/layers/cache.h"

#include <stdio.h>
#include <string.h>

#include "neural/layers/check.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"

/* ------------------------------------------------- the store */

static void store_release(hm_kv_store *store)
{
    if (!store || atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel) != 1)
        return;
    hm_buffer_release(store->keys);
    hm_buffer_release(store->values);
    hm_free(store);
}

static hm_kv_store *store_retain(hm_kv_store *store)
{
    if (store)
        atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
    return store;
}

static hm_status rows_create(hm_context *ctx, int64_t rows, int64_t width, hm_buffer **out)
{
    size_t count, bytes;
    if (!hm_multiply_size((size_t)rows, (size_t)width, &count) ||
        !hm_bytes(0, count, sizeof(double), &bytes))
        return hm_fail_memory(ctx);
    return hm_buffer_create(ctx, bytes, out);
}

static hm_status store_create(hm_context *ctx, int64_t room, int64_t key_width, int64_t value_width,
                              hm_kv_store **out)
{
    hm_kv_store *store = hm_alloc_zeroed(sizeof *store);
    if (!store)
        return hm_fail_memory(ctx);
    atomic_init(&store->references, 1);
    store->room = room;
    hm_status st;
    if ((st = rows_create(ctx, room, key_width, &store->keys)) != HMATH_OK ||
        (st = rows_create(ctx, room, value_width, &store->values)) != HMATH_OK) {
        store_release(store);
        return st;
    }
    *out = store;
    return HMATH_OK;
}

static void put_rows(hm_buffer *to, int64_t at, const double *rows, int64_t count, int64_t width)
{
    if (count)
        memcpy((double *)to->data + at * width, rows, (size_t)(count * width) * sizeof(double));
}

/*
 * Room for a version that found none behind it: twice its rows, so that rows are copied about once each
 * however many appends there are. What is larger than a page or two has eight times, up to 64 MB: memory
 * that nobody has written to is only addresses, and seven copies of eight are saved (4,096 appends of 8 KB
 * rows: 28 to 17 ms). Never more than the capacity.
 */
static int64_t roomy(const hm_kv_cache *cache, int64_t length)
{
    enum { FEWEST_ROWS = 8, LEAST = 4 << 10, MOST = 8 << 20 }; /* doubles */
    const int64_t held = cache->length, width = cache->key_width > cache->value_width
                                                    ? cache->key_width
                                                    : cache->value_width;
    int64_t room = held > cache->capacity / 2 ? cache->capacity : 2 * held;
    if (held >= LEAST / width && held < MOST / width / 2) /* 8 * held is no overflow then */
        room = 8 * held < MOST / width ? 8 * held : MOST / width;
    room = room < FEWEST_ROWS ? FEWEST_ROWS : room;
    room = room < length ? length : room;
    return room < cache->capacity ? room : cache->capacity;
}

/* A store of its own for that version. */
static hm_status store_regrow(hm_context *ctx, const hm_kv_cache *cache, int64_t length,
                              hm_kv_store **out)
{
    const int64_t room = roomy(cache, length);
    const hm_status st = store_create(ctx, room, cache->key_width, cache->value_width, out);
    if (st != HMATH_OK)
        return st;
    if (cache->store) {
        put_rows((*out)->keys, 0, cache->store->keys->data, cache->length, cache->key_width);
        put_rows((*out)->values, 0, cache->store->values->data, cache->length, cache->value_width);
    }
    atomic_init(&(*out)->claimed, length);
    return HMATH_OK;
}

/* Is this the store's newest version, with room for the rows up to `length`? Then they are its own.
 */
static bool claim_tail(const hm_kv_cache *cache, int64_t length)
{
    int64_t newest = cache->length;
    return cache->store && length <= cache->store->room &&
           atomic_compare_exchange_strong_explicit(&cache->store->claimed, &newest, length,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* ------------------------------------------------- the cache */

static void cache_dispose(hm_value *self, hm_released *released)
{
    (void)released;
    store_release(((hm_kv_cache *)self)->store);
}

static const hm_class cache_class = {
    .kind = HMATH_KIND_KV_CACHE, .name = "KVCache", .dispose = cache_dispose};

/* A version without rows. */
static hm_status cache_create(hm_context *ctx, int64_t capacity, int64_t key_width,
                              int64_t value_width, hm_kv_cache **out)
{
    hm_status st = hm_value_create(ctx, &cache_class, sizeof **out, out);
    if (st != HMATH_OK)
        return st;
    (*out)->capacity = capacity;
    (*out)->key_width = key_width;
    (*out)->value_width = value_width;
    return HMATH_OK;
}

hm_status hm_empty_cache(hm_context *ctx, int64_t capacity, int64_t key_dimensions,
                         int64_t value_dimensions, hm_kv_cache **out)
{
    hm_status st;
    if ((st = hm_check_at_least_one(ctx, "capacity", capacity)) != HMATH_OK ||
        (st = hm_check_at_least_one(ctx, "key_dimensions", key_dimensions)) != HMATH_OK ||
        (st = hm_check_at_least_one(ctx, "value_dimensions", value_dimensions)) != HMATH_OK)
        return st;
    return cache_create(ctx, capacity, key_dimensions, value_dimensions, out);
}

static hm_status check_append(hm_context *ctx, const hm_kv_cache *cache, const hm_tensor *key,
                              const hm_tensor *value)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, "key", &key->shape, 2)) != HMATH_OK ||
        (st = hm_check_length(ctx, "key", key->shape.extent[1], cache->key_width)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "value", &value->shape, 2)) != HMATH_OK ||
        (st = hm_check_length(ctx, "value", value->shape.extent[1], cache->value_width)) !=
            HMATH_OK ||
        (st = hm_check_length(ctx, "value", value->shape.extent[0], key->shape.extent[0])) !=
            HMATH_OK)
        return st;
    const int64_t left = cache->capacity - cache->length;
    if (key->shape.extent[0] > left) {
        char expected[64], actual[64];
        snprintf(expected, sizeof expected, "at most %lld rows", (long long)left);
        snprintf(actual, sizeof actual, "%lld rows", (long long)key->shape.extent[0]);
        return hm_fail_shape(ctx, "key", expected, actual);
    }
    if ((st = hm_check_tensor_finite(ctx, "key", key)) != HMATH_OK)
        return st;
    return hm_check_tensor_finite(ctx, "value", value);
}

hm_status hm_append_cache(hm_context *ctx, const hm_kv_cache *cache, const hm_tensor *key,
                          const hm_tensor *value, hm_kv_cache **out)
{
    hm_status st = check_append(ctx, cache, key, value);
    if (st != HMATH_OK)
        return st;
    const int64_t rows = key->shape.extent[0], length = cache->length + rows;
    hm_kv_cache *longer = NULL;
    st = cache_create(ctx, cache->capacity, cache->key_width, cache->value_width, &longer);
    if (st != HMATH_OK)
        return st;

    /* Nothing can fail between a claim and its rows. */
    if (rows == 0 || claim_tail(cache, length)) {
        longer->store = store_retain(cache->store);
    } else if ((st = store_regrow(ctx, cache, length, &longer->store)) != HMATH_OK) {
        hm_release(longer);
        return st;
    }
    if (rows) {
        put_rows(longer->store->keys, cache->length, key->data, rows, cache->key_width);
        put_rows(longer->store->values, cache->length, value->data, rows, cache->value_width);
    }
    longer->length = length;
    *out = longer;
    return HMATH_OK;
}

static hm_status show_rows(hm_context *ctx, hm_buffer *buffer, int64_t rows, int64_t width,
                           hm_tensor **out)
{
    const hm_shape shape = {.rank = 2, .extent = {rows, width}};
    hm_status st =
        buffer ? hm_tensor_over(ctx, buffer, &shape, out) : hm_tensor_create(ctx, &shape, out);
    if (st == HMATH_OK)
        atomic_init(&(*out)->known_finite, true);
    return st;
}

hm_status hm_cache_values(hm_context *ctx, const hm_kv_cache *cache, hm_tensor **keys,
                          hm_tensor **values)
{
    const hm_kv_store *store = cache->store;
    hm_tensor *first = NULL, *second = NULL;
    hm_status st =
        show_rows(ctx, store ? store->keys : NULL, cache->length, cache->key_width, &first);
    if (st == HMATH_OK)
        st = show_rows(ctx, store ? store->values : NULL, cache->length, cache->value_width,
                       &second);
    if (st != HMATH_OK) {
        hm_release(first);
        return st;
    }
    *keys = first;
    *values = second;
    return HMATH_OK;
}
