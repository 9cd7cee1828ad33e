#include "runtime/list.h"

#include <stdio.h>
#include <string.h>

#include "runtime/checked.h"
#include "runtime/scalar.h"

/* Up to here the elements lie behind the list in one allocation; above, in a cached buffer. */
enum { INLINE_BYTES = 4096 };

static void list_dispose(hm_value *self, hm_released *released)
{
    hm_list *list = (hm_list *)self;
    if (list->element == HM_ELEMENT_VALUE)
        for (int64_t i = 0; i < list->length; i++)
            hm_release_later(released, ((hm_value **)list->data)[i]);
    hm_buffer_release(list->buffer);
    hm_release_later(released, list->block);
}

static void tuple_dispose(hm_value *self, hm_released *released)
{
    hm_tuple *tuple = (hm_tuple *)self;
    for (int64_t i = 0; i < tuple->length; i++)
        hm_release_later(released, tuple->items[i]);
}

static const hm_class list_class = {
    .kind = HMATH_KIND_LIST, .name = "List", .dispose = list_dispose};
static const hm_class tuple_class = {
    .kind = HMATH_KIND_TUPLE, .name = "Tuple", .dispose = tuple_dispose};

size_t hm_element_size(hm_element element)
{
    switch (element) {
    case HM_ELEMENT_NONE: return 1; /* never stored */
    case HM_ELEMENT_VALUE: return sizeof(hm_value *);
    case HM_ELEMENT_DOUBLE: return sizeof(double);
    case HM_ELEMENT_INT: return sizeof(int64_t);
    case HM_ELEMENT_BOOL: return sizeof(uint8_t);
    case HM_ELEMENT_INT8: return sizeof(int8_t);
    }
    return 1;
}

static const char *element_name(hm_element element)
{
    switch (element) {
    case HM_ELEMENT_NONE: return "nothing";
    case HM_ELEMENT_VALUE: return "values";
    case HM_ELEMENT_DOUBLE: return "Double";
    case HM_ELEMENT_INT: return "Int";
    case HM_ELEMENT_BOOL: return "Bool";
    case HM_ELEMENT_INT8: return "Int8";
    }
    return "nothing";
}

void hm_list_describe(const hm_list *list, char *text, size_t size)
{
    const char *rows = list->columns == HM_FLAT ? "" : "lists of ";
    snprintf(text, size, "List of %s%s", rows, element_name(list->element));
}

static hm_status reserve(hm_context *ctx, hm_element element, int64_t length, int64_t columns,
                         hm_list **out)
{
    size_t width = columns == HM_FLAT ? 1 : (size_t)columns, count, bytes, total;
    if (!hm_multiply_size((size_t)length, width, &count) ||
        !hm_bytes(0, count, hm_element_size(element), &bytes))
        return hm_fail_memory(ctx);

    bool inline_data = bytes <= INLINE_BYTES;
    total = sizeof(hm_list) + (inline_data ? bytes : 0);
    hm_list *list = NULL;
    hm_status st = hm_value_create(ctx, &list_class, total, &list);
    if (st != HMATH_OK)
        return st;
    list->element = length == 0 && columns == HM_FLAT ? HM_ELEMENT_NONE : element;
    list->length = length;
    list->columns = columns;
    if (inline_data) {
        list->data = list + 1;
    } else {
        if ((st = hm_buffer_create(ctx, bytes, &list->buffer)) != HMATH_OK) {
            list->length = 0; /* nothing is in it yet */
            hm_release(list);
            return st;
        }
        list->data = list->buffer->data;
    }
    *out = list;
    return HMATH_OK;
}

hm_status hm_list_reserve(hm_context *ctx, hm_element element, int64_t length, hm_list **out)
{
    return reserve(ctx, element, length, HM_FLAT, out);
}

hm_status hm_rows_reserve(hm_context *ctx, hm_element element, int64_t rows, int64_t columns,
                          hm_list **out)
{
    return reserve(ctx, element, rows, columns, out);
}

static hm_status copy(hm_context *ctx, hm_element element, const void *data, int64_t length,
                      int64_t columns, hm_list **out)
{
    hm_list *list = NULL;
    hm_status st = reserve(ctx, element, length, columns, &list);
    if (st != HMATH_OK)
        return st;
    int64_t count =
        columns == HM_FLAT ? length : length * columns; /* reserve checked the product */
    if (element == HM_ELEMENT_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)list->data)[i] = ((const uint8_t *)data)[i] != 0;
    else if (count)
        memcpy(list->data, data, (size_t)count * hm_element_size(element));
    *out = list;
    return HMATH_OK;
}

hm_status hm_list_copy(hm_context *ctx, hm_element element, const void *data, int64_t length,
                       hm_list **out)
{
    return copy(ctx, element, data, length, HM_FLAT, out);
}

hm_status hm_rows_copy(hm_context *ctx, hm_element element, const void *data, int64_t rows,
                       int64_t columns, hm_list **out)
{
    return copy(ctx, element, data, rows, columns, out);
}

/* ------------------------------------------------- packing whatever can be packed */

static bool all_of_kind(const hm_value *const *items, size_t n, int32_t kind)
{
    for (size_t i = 0; i < n; i++)
        if (!hm_value_is(items[i], kind))
            return false;
    return true;
}

static hm_status pack_scalars(hm_context *ctx, const hm_value *const *items, size_t n,
                              hm_element element, hm_list **out)
{
    hm_status st = hm_list_reserve(ctx, element, (int64_t)n, out);
    if (st != HMATH_OK)
        return st;
    void *data = (*out)->data;
    for (size_t i = 0; i < n; i++) {
        bool truth = false;
        if (element == HM_ELEMENT_DOUBLE)
            hm_double_get(items[i], (double *)data + i);
        else if (element == HM_ELEMENT_INT)
            hm_int_get(items[i], (int64_t *)data + i);
        else if (hm_bool_get(items[i], &truth))
            ((uint8_t *)data)[i] = truth;
    }
    return HMATH_OK;
}

/* Are the items flat lists of one length and one plain element type? Empty ones fit any type. */
static bool rows_fit(const hm_value *const *items, size_t n, hm_element *element, int64_t *columns)
{
    if (!all_of_kind(items, n, HMATH_KIND_LIST))
        return false;
    const hm_list *first = (const hm_list *)items[0];
    *element = first->element;
    *columns = first->length;
    if (first->element == HM_ELEMENT_VALUE)
        return false;
    for (size_t i = 0; i < n; i++) {
        const hm_list *row = (const hm_list *)items[i];
        if (row->columns != HM_FLAT || row->length != *columns || row->element != *element)
            return false;
    }
    return true;
}

static hm_status pack_rows(hm_context *ctx, const hm_value *const *items, size_t n,
                           hm_element element, int64_t columns, hm_list **out)
{
    hm_status st = hm_rows_reserve(ctx, element, (int64_t)n, columns, out);
    if (st != HMATH_OK)
        return st;
    size_t bytes = (size_t)columns * hm_element_size(element);
    for (size_t i = 0; i < n && columns; i++)
        memcpy((char *)(*out)->data + i * bytes, ((const hm_list *)items[i])->data, bytes);
    return HMATH_OK;
}

hm_status hm_list_create(hm_context *ctx, const hm_value *const *items, size_t n, hm_list **out)
{
    hm_element element;
    int64_t columns;
    if (n == 0)
        return hm_list_reserve(ctx, HM_ELEMENT_NONE, 0, out);
    if (all_of_kind(items, n, HMATH_KIND_DOUBLE))
        return pack_scalars(ctx, items, n, HM_ELEMENT_DOUBLE, out);
    if (all_of_kind(items, n, HMATH_KIND_INT))
        return pack_scalars(ctx, items, n, HM_ELEMENT_INT, out);
    if (all_of_kind(items, n, HMATH_KIND_BOOL))
        return pack_scalars(ctx, items, n, HM_ELEMENT_BOOL, out);
    if (rows_fit(items, n, &element, &columns))
        return pack_rows(ctx, items, n, element, columns, out);

    hm_status st = hm_list_reserve(ctx, HM_ELEMENT_VALUE, (int64_t)n, out);
    if (st != HMATH_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        ((hm_value **)(*out)->data)[i] = hm_retain(items[i]);
    return HMATH_OK;
}

static hm_status tuple_reserve(hm_context *ctx, size_t n, hm_tuple **out)
{
    size_t total;
    if (!hm_bytes(sizeof(hm_tuple), n, sizeof(hm_value *), &total))
        return hm_fail_memory(ctx);
    hm_status st = hm_value_create(ctx, &tuple_class, total, out);
    if (st == HMATH_OK)
        (*out)->length = (int64_t)n;
    return st;
}

hm_status hm_tuple_take(hm_context *ctx, hm_value *const *items, size_t n, hm_tuple **out)
{
    hm_tuple *tuple = NULL;
    hm_status st = tuple_reserve(ctx, n, &tuple);
    if (st != HMATH_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        tuple->items[i] = items[i];
    *out = tuple;
    return HMATH_OK;
}

hm_status hm_tuple_create(hm_context *ctx, const hm_value *const *items, size_t n, hm_tuple **out)
{
    hm_tuple *tuple = NULL;
    hm_status st = tuple_reserve(ctx, n, &tuple);
    if (st != HMATH_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        tuple->items[i] = hm_retain(items[i]);
    *out = tuple;
    return HMATH_OK;
}

/* ------------------------------------------------- reading */

static hm_status row_view(hm_context *ctx, const hm_list *block, int64_t i, hm_value **out)
{
    hm_list *row = NULL;
    hm_status st = hm_value_create(ctx, &list_class, sizeof *row, &row);
    if (st != HMATH_OK)
        return st;
    size_t bytes = (size_t)block->columns * hm_element_size(block->element);
    row->element = block->columns ? block->element : HM_ELEMENT_NONE;
    row->length = block->columns;
    row->columns = HM_FLAT;
    row->data = (char *)block->data + (size_t)i * bytes;
    row->block = hm_retain(block);
    *out = &row->base;
    return HMATH_OK;
}

hm_status hm_list_item(hm_context *ctx, const hm_list *list, int64_t i, hm_value **out)
{
    if (i < 0 || i >= list->length)
        return hm_fail_index(ctx, "i", HM_SCALAR, i, list->length);
    if (list->columns != HM_FLAT)
        return row_view(ctx, list, i, out);
    switch (list->element) {
    case HM_ELEMENT_VALUE: *out = hm_retain(((hm_value **)list->data)[i]); return HMATH_OK;
    case HM_ELEMENT_DOUBLE: return hm_double_create(ctx, ((double *)list->data)[i], out);
    case HM_ELEMENT_INT: return hm_int_create(ctx, ((int64_t *)list->data)[i], out);
    case HM_ELEMENT_BOOL: return hm_bool_create(ctx, ((uint8_t *)list->data)[i] != 0, out);
    case HM_ELEMENT_INT8: return hm_int_create(ctx, ((int8_t *)list->data)[i], out);
    case HM_ELEMENT_NONE: break; /* an empty list has no item i */
    }
    return hm_fail_index(ctx, "i", HM_SCALAR, i, list->length);
}

const hm_list *hm_list_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_LIST) ? (const hm_list *)v : NULL;
}

const hm_tuple *hm_tuple_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_TUPLE) ? (const hm_tuple *)v : NULL;
}

bool hm_list_is_flat(const hm_list *list, hm_element element)
{
    return list->length == 0 || (list->columns == HM_FLAT && list->element == element);
}

bool hm_list_is_rows(const hm_list *list, hm_element element)
{
    if (list->length == 0)
        return true;
    if (list->columns == HM_FLAT)
        return false;
    return list->columns == 0 || list->element == element;
}
