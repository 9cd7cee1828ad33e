#include "abi/edge.h"

#include "runtime/scalar.h"

hm_status hm_edge_enter(hm_context *ctx, const char *operation, hm_value **out)
{
    hm_status st = hm_enter(ctx, operation);
    if (st != HMATH_OK || out)
        return st;
    return hm_leave(ctx, hm_fail_argument(ctx, "out", "is null"));
}

static hm_status check_handle(hm_context *ctx, const char *name, const hm_value *v)
{
    if (!v)
        return hm_fail_argument(ctx, name, "is null");
    return hm_value_alive(v) ? HMATH_OK : hm_fail_argument(ctx, name, "is a released handle");
}

/* The failure for a handle that is not what `expected` names. */
static hm_status mismatch(hm_context *ctx, const char *name, const char *expected,
                          const hm_value *v)
{
    hm_status st = check_handle(ctx, name, v);
    return st != HMATH_OK ? st : hm_fail_type(ctx, name, expected, v);
}

hm_status hm_arg_double(hm_context *ctx, const char *name, const hm_value *v, double *out)
{
    return hm_double_get(v, out) ? HMATH_OK : mismatch(ctx, name, "Double", v);
}

hm_status hm_arg_int(hm_context *ctx, const char *name, const hm_value *v, int64_t *out)
{
    return hm_int_get(v, out) ? HMATH_OK : mismatch(ctx, name, "Int", v);
}

hm_status hm_arg_bool(hm_context *ctx, const char *name, const hm_value *v, bool *out)
{
    return hm_bool_get(v, out) ? HMATH_OK : mismatch(ctx, name, "Bool", v);
}

hm_status hm_arg_object(hm_context *ctx, const char *name, const hm_value *v, int32_t kind,
                        void *out)
{
    if (!hm_value_is(v, kind))
        return mismatch(ctx, name, hmath_kind_name(kind), v);
    *(const hm_value **)out = v;
    return HMATH_OK;
}

hm_status hm_arg_tensor(hm_context *ctx, const char *name, const hm_value *v, const hm_tensor **out)
{
    return hm_arg_object(ctx, name, v, HMATH_KIND_TENSOR_DOUBLE, out);
}

hm_status hm_arg_either_tensor(hm_context *ctx, const char *name, const hm_value *v,
                               const hm_tensor **out)
{
    *out = hm_tensor_either_from_value(v);
    return *out ? HMATH_OK : mismatch(ctx, name, "Tensor", v);
}

/* ------------------------------------------------- lists of plain numbers */

static bool flat_of(const hm_value *v, hm_element element, const void **data, int64_t *length)
{
    const hm_list *list = hm_list_from_value(v);
    if (!list || !hm_list_is_flat(list, element))
        return false;
    *data = list->data;
    *length = list->length;
    return true;
}

hm_status hm_arg_doubles(hm_context *ctx, const char *name, const hm_value *v, hm_doubles *out)
{
    const void *data;
    *out = (hm_doubles){.source = v, .rank = 1};
    if (flat_of(v, HM_ELEMENT_DOUBLE, &data, &out->length)) {
        out->data = data;
        return HMATH_OK;
    }
    if (!hm_value_is(v, HMATH_KIND_TENSOR_DOUBLE))
        return mismatch(ctx, name, "List of Double", v);
    const hm_tensor *tensor = (const hm_tensor *)v;
    out->data = tensor->data;
    out->length = tensor->size;
    out->rank = tensor->shape.rank;
    return HMATH_OK;
}

hm_status hm_arg_ints(hm_context *ctx, const char *name, const hm_value *v, hm_ints *out)
{
    const void *data;
    *out = (hm_ints){.source = v};
    if (!flat_of(v, HM_ELEMENT_INT, &data, &out->length))
        return mismatch(ctx, name, "List of Int", v);
    out->data = data;
    return HMATH_OK;
}

hm_status hm_arg_bools(hm_context *ctx, const char *name, const hm_value *v, hm_bools *out)
{
    const void *data;
    *out = (hm_bools){.source = v};
    if (!flat_of(v, HM_ELEMENT_BOOL, &data, &out->length))
        return mismatch(ctx, name, "List of Bool", v);
    out->data = data;
    return HMATH_OK;
}

/* ------------------------------------------------- lists of lists of plain numbers */

typedef struct rows {
    const void *data;
    int64_t rows, columns;
    bool ragged;
} rows;

/* A block of rows, or a list of lists of that element type whose lengths differ. */
static bool rows_of(const hm_value *v, hm_element element, rows *out)
{
    const hm_list *list = hm_list_from_value(v);
    if (!list)
        return false;
    if (hm_list_is_rows(list, element)) {
        *out =
            (rows){list->data, list->length, list->columns == HM_FLAT ? 0 : list->columns, false};
        return true;
    }
    if (list->columns != HM_FLAT || list->element != HM_ELEMENT_VALUE)
        return false;
    for (int64_t i = 0; i < list->length; i++) {
        const hm_list *row = hm_list_from_value(((hm_value **)list->data)[i]);
        if (!row || row->columns != HM_FLAT || !hm_list_is_flat(row, element))
            return false;
    }
    *out = (rows){.data = list->data, .rows = list->length, .ragged = true};
    return true;
}

hm_status hm_arg_double_rows(hm_context *ctx, const char *name, const hm_value *v,
                             hm_double_rows *out)
{
    rows found;
    *out = (hm_double_rows){.source = v, .rank = 2};
    if (rows_of(v, HM_ELEMENT_DOUBLE, &found)) {
        out->data = found.ragged ? NULL : found.data;
        out->rows = found.rows;
        out->columns = found.columns;
        out->ragged = found.ragged;
        return HMATH_OK;
    }
    if (!hm_value_is(v, HMATH_KIND_TENSOR_DOUBLE))
        return mismatch(ctx, name, "List of lists of Double", v);
    const hm_tensor *tensor = (const hm_tensor *)v;
    out->data = tensor->data;
    out->rank = tensor->shape.rank;
    if (out->rank == 2) {
        out->rows = tensor->shape.extent[0];
        out->columns = tensor->shape.extent[1];
    }
    return HMATH_OK;
}

hm_status hm_arg_bool_rows(hm_context *ctx, const char *name, const hm_value *v, hm_bool_rows *out)
{
    rows found;
    *out = (hm_bool_rows){.source = v};
    if (!rows_of(v, HM_ELEMENT_BOOL, &found))
        return mismatch(ctx, name, "List of lists of Bool", v);
    out->data = found.ragged ? NULL : found.data;
    out->rows = found.rows;
    out->columns = found.columns;
    out->ragged = found.ragged;
    return HMATH_OK;
}

/* ------------------------------------------------- tuples of results */

static hm_status publish(hm_context *ctx, hm_value *const *items, size_t n, hm_value **out)
{
    hm_tuple *tuple = NULL;
    hm_status st = hm_tuple_take(ctx, items, n, &tuple);
    if (st == HMATH_OK) {
        *out = &tuple->base;
        return st;
    }
    for (size_t i = 0; i < n; i++)
        hm_release(items[i]);
    return st;
}

hm_status hm_publish_pair(hm_context *ctx, hm_value *first, hm_value *second, hm_value **out)
{
    hm_value *const items[] = {first, second};
    return publish(ctx, items, 2, out);
}

hm_status hm_publish_triple(hm_context *ctx, hm_value *first, hm_value *second, hm_value *third,
                            hm_value **out)
{
    hm_value *const items[] = {first, second, third};
    return publish(ctx, items, 3, out);
}
