#include "tensor/shape.h"

#include <stdio.h>

#include "hmath_tensor.h"
#include "runtime/checked.h"

enum { SHAPE_TEXT = 128 };

bool hm_shape_equal(const hm_shape *a, const hm_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i])
            return false;
    return true;
}

bool hm_shape_size(const hm_shape *shape, int64_t *size)
{
    int64_t product = 1;
    bool empty = false;
    for (int32_t i = 0; i < shape->rank; i++) {
        empty = empty || shape->extent[i] == 0;
        if (shape->extent[i] != 0 && !hm_multiply_int(product, shape->extent[i], &product))
            return false;
    }
    *size = empty ? 0 : product;
    return product <= INT64_MAX / (int64_t)sizeof(double);
}

int64_t hm_shape_span(const hm_shape *shape, int32_t first, int32_t last)
{
    int64_t product = 1;
    for (int32_t i = first; i < last; i++)
        product *= shape->extent[i];
    return product;
}

void hm_shape_strides(const hm_shape *shape, int64_t stride[HM_MAX_RANK])
{
    int64_t span = 1;
    for (int32_t i = shape->rank - 1; i >= 0; i--) {
        stride[i] = span;
        span *= shape->extent[i];
    }
}

/* The extent of axis i from the last, i = 0, 1, ...; 1 where the shape has no such axis. */
static int64_t extent_from_last(const hm_shape *shape, int32_t i)
{
    return i < shape->rank ? shape->extent[shape->rank - 1 - i] : 1;
}

hm_status hm_shape_broadcast(hm_context *ctx, const char *argument, const hm_shape *a,
                             const hm_shape *b, hm_shape *out)
{
    hm_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int32_t i = 0; i < shape.rank; i++) {
        int64_t m = extent_from_last(a, i), n = extent_from_last(b, i);
        if (m != n && m != 1 && n != 1) {
            char expected[SHAPE_TEXT + 32], actual[SHAPE_TEXT];
            hm_shape_text(a, actual, SHAPE_TEXT);
            snprintf(expected, sizeof expected, "one that broadcasts with %s", actual);
            hm_shape_text(b, actual, SHAPE_TEXT);
            return hm_fail_shape(ctx, argument, expected, actual);
        }
        shape.extent[shape.rank - 1 - i] = m == 1 ? n : m;
    }
    *out = shape;
    return HMATH_OK;
}

bool hm_shape_broadcasts_to(const hm_shape *from, const hm_shape *to)
{
    if (from->rank > to->rank)
        return false;
    for (int32_t i = 0; i < from->rank; i++) {
        int64_t n = extent_from_last(from, i);
        if (n != 1 && n != extent_from_last(to, i))
            return false;
    }
    return true;
}

hm_status hm_axis_set(hm_context *ctx, const char *argument, int32_t rank, int32_t count,
                      const int64_t *axes, uint32_t *out)
{
    if (count == HMATH_ALL_AXES) {
        *out = (1u << rank) - 1;
        return HMATH_OK;
    }
    uint32_t set = 0;
    for (int32_t i = 0; i < count; i++) {
        if (axes[i] < 0 || axes[i] >= rank)
            return hm_fail_index(ctx, argument, i, axes[i], rank);
        if (set >> axes[i] & 1)
            return hm_fail_domain_int(ctx, argument, i, axes[i], "no axis twice");
        set |= 1u << axes[i];
    }
    *out = set;
    return HMATH_OK;
}

hm_status hm_shape_from_extents(hm_context *ctx, const char *argument, int64_t rank,
                                const int64_t *extents, hm_shape *out)
{
    hm_shape shape = {0};
    for (int64_t i = 0; i < rank; i++)
        if (extents[i] < 0)
            return hm_fail_domain_int(ctx, argument, i, extents[i], ">= 0");
    if (rank < 0 || rank > HM_MAX_RANK) {
        char actual[32];
        snprintf(actual, sizeof actual, "rank %lld", (long long)rank);
        return hm_fail_shape(ctx, argument, "rank 0 to 8", actual);
    }
    shape.rank = (int32_t)rank;
    for (int64_t i = 0; i < rank; i++)
        shape.extent[i] = extents[i];
    *out = shape;
    return HMATH_OK;
}

void hm_shape_text(const hm_shape *shape, char *text, size_t size)
{
    size_t n = 0;
    for (int32_t i = 0; i < shape->rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "(",
                              (long long)shape->extent[i]);
    if (n < size)
        snprintf(text + n, size - n, "%s", shape->rank == 0 ? "()" : shape->rank == 1 ? ",)" : ")");
}

hm_status hm_fail_shapes(hm_context *ctx, const char *argument, const hm_shape *expected,
                         const hm_shape *actual)
{
    char expected_text[SHAPE_TEXT], actual_text[SHAPE_TEXT];
    hm_shape_text(expected, expected_text, SHAPE_TEXT);
    hm_shape_text(actual, actual_text, SHAPE_TEXT);
    return hm_fail_shape(ctx, argument, expected_text, actual_text);
}

hm_status hm_check_rank(hm_context *ctx, const char *argument, const hm_shape *shape, int32_t rank)
{
    if (shape->rank == rank)
        return HMATH_OK;
    char expected_text[SHAPE_TEXT], actual_text[SHAPE_TEXT];
    snprintf(expected_text, SHAPE_TEXT, "rank %d", rank);
    snprintf(actual_text, SHAPE_TEXT, "rank %d", shape->rank);
    return hm_fail_shape(ctx, argument, expected_text, actual_text);
}
