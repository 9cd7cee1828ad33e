/* Rows of a table, in the order asked for. */
#include <string.h>

#include "neural/layers/layers.h"

static hm_status check_indices(hm_context *ctx, const hm_ints *indices, int64_t vocabulary)
{
    for (int64_t i = 0; i < indices->length; i++)
        if (indices->data[i] < 0 || indices->data[i] >= vocabulary)
            return hm_fail_index(ctx, "indices", i, indices->data[i], vocabulary);
    return HMATH_OK;
}

hm_status hm_embedding(hm_context *ctx, const hm_tensor *weights, const hm_ints *indices,
                       hm_tensor **out)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, "weights", &weights->shape, 2)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "weights", weights)) != HMATH_OK ||
        (st = check_indices(ctx, indices, weights->shape.extent[0])) != HMATH_OK)
        return st;

    const int64_t features = weights->shape.extent[1];
    const hm_shape shape = {.rank = 2, .extent = {indices->length, features}};
    hm_tensor *rows = NULL;
    if ((st = hm_tensor_create(ctx, &shape, &rows)) != HMATH_OK)
        return st;
    for (int64_t i = 0; i < indices->length && features; i++)
        memcpy(rows->data + i * features, weights->data + indices->data[i] * features,
               (size_t)features * sizeof(double));
    atomic_init(&rows->known_finite, true);
    *out = rows;
    return HMATH_OK;
}
