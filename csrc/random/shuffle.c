#include "random/shuffle.h"

#include <string.h>

#include "random/distributions.h"
#include "runtime/list.h"
#include "tensor/tensor.h"

/* Rows of `bytes` bytes each, gathered in the drawn order. */
static hm_status gather(hm_context *ctx, hm_stream *s, const void *from, void *to, int64_t rows,
                        size_t bytes)
{
    int64_t *order = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)rows, sizeof *order, &order);
    if (st != HMATH_OK)
        return st;
    hm_draw_permutation(s, order, rows);
    for (int64_t i = 0; i < rows && bytes; i++)
        memcpy((char *)to + (size_t)i * bytes, (const char *)from + (size_t)order[i] * bytes,
               bytes);
    hm_scratch_release(ctx, order);
    return HMATH_OK;
}

static hm_status shuffle_numbers(hm_context *ctx, const hm_list *list, hm_stream *s, hm_value **out)
{
    const bool flat = list->columns == HM_FLAT;
    const size_t row = hm_element_size(list->element) * (flat ? 1 : (size_t)list->columns);
    hm_list *result = NULL;
    hm_status st = flat ? hm_list_reserve(ctx, list->element, list->length, &result)
                        : hm_rows_reserve(ctx, list->element, list->length, list->columns, &result);
    if (st == HMATH_OK &&
        (st = gather(ctx, s, list->data, result->data, list->length, row)) == HMATH_OK) {
        *out = &result->base;
        result = NULL;
    }
    hm_release(result);
    return st;
}

static hm_status shuffle_values(hm_context *ctx, const hm_list *list, hm_stream *s, hm_value **out)
{
    const hm_value **items = NULL;
    hm_list *result = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)list->length, sizeof *items, &items);
    if (st == HMATH_OK &&
        (st = gather(ctx, s, list->data, items, list->length, sizeof *items)) == HMATH_OK &&
        (st = hm_list_create(ctx, items, (size_t)list->length, &result)) == HMATH_OK)
        *out = &result->base;
    hm_scratch_release(ctx, items);
    return st;
}

static hm_status shuffle_rows(hm_context *ctx, const hm_tensor *tensor, hm_stream *s,
                              hm_value **out)
{
    if (tensor->shape.rank == 0)
        return hm_fail_shape(ctx, "values", "rank >= 1", "rank 0");
    const int64_t rows = tensor->shape.extent[0];
    const size_t element = tensor->data ? sizeof(double) : sizeof(float);
    const size_t row = rows ? (size_t)(tensor->size / rows) * element : 0;
    hm_tensor *result = NULL;
    hm_status st = tensor->data ? hm_tensor_create(ctx, &tensor->shape, &result)
                                : hm_tensor_float_create(ctx, &tensor->shape, &result);
    if (st != HMATH_OK)
        return st;
    const void *from = tensor->data ? (const void *)tensor->data : tensor->floats;
    void *to = tensor->data ? (void *)result->data : result->floats;
    if ((st = gather(ctx, s, from, to, rows, row)) != HMATH_OK) {
        hm_release(result);
        return st;
    }
    const bool finite = atomic_load_explicit(&tensor->known_finite, memory_order_relaxed);
    atomic_store_explicit(&result->known_finite, finite, memory_order_relaxed);
    *out = &result->base;
    return HMATH_OK;
}

hm_status hm_shuffle(hm_context *ctx, const hm_value *values, hm_stream *s, hm_value **out)
{
    const hm_list *list = hm_list_from_value(values);
    if (list)
        return list->element == HM_ELEMENT_VALUE ? shuffle_values(ctx, list, s, out)
                                                 : shuffle_numbers(ctx, list, s, out);
    const hm_tensor *tensor = hm_tensor_from_value(values);
    return shuffle_rows(ctx, tensor ? tensor : hm_tensor_float_from_value(values), s, out);
}
