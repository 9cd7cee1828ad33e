/*
 * Where a query stands and which keys it may see. With a cached prefix of `offset` keys, query i
 * stands at position offset + i. Both are below 2^63, so that their sum fits an unsigned number and
 * never wraps.
 */
#include <math.h>

#include "neural/layers/check.h"
#include "neural/layers/layers.h"

hm_status hm_causal_mask(hm_context *ctx, int64_t queries, int64_t keys, int64_t offset,
                         hm_list **out)
{
    hm_status st;
    hm_list *mask = NULL;
    if ((st = hm_check_count(ctx, "queries", queries)) != HMATH_OK ||
        (st = hm_check_count(ctx, "keys", keys)) != HMATH_OK ||
        (st = hm_check_count(ctx, "offset", offset)) != HMATH_OK ||
        (st = hm_rows_reserve(ctx, HM_ELEMENT_BOOL, queries, keys, &mask)) != HMATH_OK)
        return st;
    uint8_t *allowed = mask->data;
    for (int64_t i = 0; i < queries; i++) {
        const uint64_t position = (uint64_t)offset + (uint64_t)i;
        for (int64_t j = 0; j < keys; j++)
            *allowed++ = (uint64_t)j <= position;
    }
    *out = mask;
    return HMATH_OK;
}

hm_status hm_alibi_bias(hm_context *ctx, double slope, int64_t queries, int64_t keys,
                        int64_t offset, hm_list **out)
{
    hm_status st;
    hm_list *bias = NULL;
    if ((st = hm_check_not_negative(ctx, "slope", slope)) != HMATH_OK ||
        (st = hm_check_count(ctx, "queries", queries)) != HMATH_OK ||
        (st = hm_check_count(ctx, "keys", keys)) != HMATH_OK ||
        (st = hm_check_count(ctx, "offset", offset)) != HMATH_OK ||
        (st = hm_rows_reserve(ctx, HM_ELEMENT_DOUBLE, queries, keys, &bias)) != HMATH_OK)
        return st;

    double lowest = 0, *data = bias->data;
    for (int64_t i = 0; i < queries; i++) {
        const uint64_t position = (uint64_t)offset + (uint64_t)i;
        for (int64_t j = 0; j < keys; j++) {
            const uint64_t key = (uint64_t)j;
            const uint64_t away = position < key ? key - position : position - key;
            const double element = 0.0 - slope * (double)away; /* +0 where they meet */
            lowest = element < lowest ? element : lowest;
            *data++ = element;
        }
    }
    if (!isfinite(lowest)) {
        hm_release(bias);
        return hm_fail_overflow(ctx);
    }
    *out = bias;
    return HMATH_OK;
}
