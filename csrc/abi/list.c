/* Lists and tuples at the edge. */
#include "abi/edge.h"
#include "runtime/list.h"

/* ------------------------------------------------- from counted values */

static hm_status check_items(hm_context *ctx, const hmath_value *const *items, size_t n)
{
    if (!items && n)
        return hm_fail_argument(ctx, "items", "is null");
    if (n > (size_t)INT64_MAX)
        return hm_fail_memory(ctx);
    for (size_t i = 0; i < n; i++)
        if (!hm_value_alive(items[i]))
            return hm_fail_argument(ctx, "items", "holds a null or released handle");
    return HMATH_OK;
}

hmath_status hmath_list_create(hmath_context *ctx, const hmath_value *const *items, size_t n,
                               hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "list_create", out);
    if (st != HMATH_OK)
        return st;
    hm_list *list = NULL;
    if ((st = check_items(ctx, items, n)) == HMATH_OK &&
        (st = hm_list_create(ctx, items, n, &list)) == HMATH_OK)
        *out = &list->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_tuple_create(hmath_context *ctx, const hmath_value *const *items, size_t n,
                                hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tuple_create", out);
    if (st != HMATH_OK)
        return st;
    hm_tuple *tuple = NULL;
    if ((st = check_items(ctx, items, n)) == HMATH_OK &&
        (st = hm_tuple_create(ctx, items, n, &tuple)) == HMATH_OK)
        *out = &tuple->base;
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- from plain numbers */

static hm_status list_from(hm_context *ctx, hm_element element, const void *data, size_t n,
                           hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, "list_create", out);
    if (st != HMATH_OK)
        return st;
    if (!data && n)
        return hm_leave(ctx, hm_fail_argument(ctx, "data", "is null"));
    if (n > (size_t)INT64_MAX)
        return hm_leave(ctx, hm_fail_memory(ctx));
    hm_list *list = NULL;
    if ((st = hm_list_copy(ctx, element, data, (int64_t)n, &list)) == HMATH_OK)
        *out = &list->base;
    return hm_leave(ctx, st);
}

static hm_status rows_from(hm_context *ctx, hm_element element, const void *data, size_t rows,
                           size_t columns, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, "rows_create", out);
    if (st != HMATH_OK)
        return st;
    if (!data && rows && columns)
        return hm_leave(ctx, hm_fail_argument(ctx, "data", "is null"));
    if (rows > (size_t)INT64_MAX || columns > (size_t)INT64_MAX)
        return hm_leave(ctx, hm_fail_memory(ctx));
    hm_list *list = NULL;
    st = hm_rows_copy(ctx, element, data, (int64_t)rows, (int64_t)columns, &list);
    if (st == HMATH_OK)
        *out = &list->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_list_from_doubles(hmath_context *ctx, const double *data, size_t n,
                                     hmath_value **out)
{
    return list_from(ctx, HM_ELEMENT_DOUBLE, data, n, out);
}

hmath_status hmath_list_from_ints(hmath_context *ctx, const int64_t *data, size_t n,
                                  hmath_value **out)
{
    return list_from(ctx, HM_ELEMENT_INT, data, n, out);
}

hmath_status hmath_list_from_bools(hmath_context *ctx, const uint8_t *data, size_t n,
                                   hmath_value **out)
{
    return list_from(ctx, HM_ELEMENT_BOOL, data, n, out);
}

hmath_status hmath_list_from_int8s(hmath_context *ctx, const int8_t *data, size_t n,
                                   hmath_value **out)
{
    return list_from(ctx, HM_ELEMENT_INT8, data, n, out);
}

hmath_status hmath_rows_from_doubles(hmath_context *ctx, const double *data, size_t rows,
                                     size_t columns, hmath_value **out)
{
    return rows_from(ctx, HM_ELEMENT_DOUBLE, data, rows, columns, out);
}

hmath_status hmath_rows_from_ints(hmath_context *ctx, const int64_t *data, size_t rows,
                                  size_t columns, hmath_value **out)
{
    return rows_from(ctx, HM_ELEMENT_INT, data, rows, columns, out);
}

hmath_status hmath_rows_from_bools(hmath_context *ctx, const uint8_t *data, size_t rows,
                                   size_t columns, hmath_value **out)
{
    return rows_from(ctx, HM_ELEMENT_BOOL, data, rows, columns, out);
}

/* ------------------------------------------------- reading */

int64_t hmath_list_length(const hmath_value *v)
{
    const hm_list *list = hm_list_from_value(v);
    return list ? list->length : -1;
}

int64_t hmath_tuple_length(const hmath_value *v)
{
    const hm_tuple *tuple = hm_tuple_from_value(v);
    return tuple ? tuple->length : -1;
}

hmath_status hmath_list_item(hmath_context *ctx, const hmath_value *v, size_t i, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "list_item", out);
    if (st != HMATH_OK)
        return st;
    const hm_list *list = hm_list_from_value(v);
    if (!list)
        return hm_leave(ctx, hm_fail_argument(ctx, "v", "is no list"));
    int64_t place = i > (size_t)INT64_MAX ? INT64_MAX : (int64_t)i;
    return hm_leave(ctx, hm_list_item(ctx, list, place, out));
}

hmath_status hmath_tuple_item(hmath_context *ctx, const hmath_value *v, size_t i, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tuple_item", out);
    if (st != HMATH_OK)
        return st;
    const hm_tuple *tuple = hm_tuple_from_value(v);
    if (!tuple)
        return hm_leave(ctx, hm_fail_argument(ctx, "v", "is no tuple"));
    int64_t place = i > (size_t)INT64_MAX ? INT64_MAX : (int64_t)i;
    if (place >= tuple->length)
        return hm_leave(ctx, hm_fail_index(ctx, "i", HM_SCALAR, place, tuple->length));
    *out = hm_retain(tuple->items[place]);
    return hm_leave(ctx, HMATH_OK);
}

static hm_status read_flat(const hm_value *v, hm_element element, const void **data, size_t *n)
{
    const hm_list *list = hm_list_from_value(v);
    if (!list || !n || !hm_list_is_flat(list, element))
        return HMATH_BAD_ARGUMENT;
    *data = list->data;
    *n = (size_t)list->length;
    return HMATH_OK;
}

static hm_status read_rows(const hm_value *v, hm_element element, const void **data, size_t *rows,
                           size_t *columns)
{
    const hm_list *list = hm_list_from_value(v);
    if (!list || !rows || !columns || !hm_list_is_rows(list, element))
        return HMATH_BAD_ARGUMENT;
    *data = list->data;
    *rows = (size_t)list->length;
    *columns = list->columns == HM_FLAT ? 0 : (size_t)list->columns;
    return HMATH_OK;
}

#define READ_FLAT(plural, type, element) \
    hmath_status hmath_list_##plural(const hmath_value *v, const type **data, size_t *n) \
    { \
        const void *found = NULL; \
        hm_status st = data ? read_flat(v, element, &found, n) : HMATH_BAD_ARGUMENT; \
        if (st == HMATH_OK) \
            *data = found; \
        return st; \
    }
READ_FLAT(doubles, double, HM_ELEMENT_DOUBLE)
READ_FLAT(ints, int64_t, HM_ELEMENT_INT)
READ_FLAT(bools, uint8_t, HM_ELEMENT_BOOL)
READ_FLAT(int8s, int8_t, HM_ELEMENT_INT8)
#undef READ_FLAT

#define READ_ROWS(plural, type, element) \
    hmath_status hmath_rows_##plural(const hmath_value *v, const type **data, size_t *rows, \
                                     size_t *columns) \
    { \
        const void *found = NULL; \
        hm_status st = data ? read_rows(v, element, &found, rows, columns) : HMATH_BAD_ARGUMENT; \
        if (st == HMATH_OK) \
            *data = found; \
        return st; \
    }
READ_ROWS(doubles, double, HM_ELEMENT_DOUBLE)
READ_ROWS(ints, int64_t, HM_ELEMENT_INT)
READ_ROWS(bools, uint8_t, HM_ELEMENT_BOOL)
#undef READ_ROWS
