/*
 * Packed lists. A list of plain numbers is one contiguous buffer; a list of equally long lists of plain
 * numbers is one row-major block (`columns` >= 0), whose rows are views that keep the block alive.
 * A list of anything else holds counted values. What a list was made from makes no difference:
 * hm_list_create packs whatever can be packed.
 */
#ifndef HM_LIST_H
#define HM_LIST_H

#include "runtime/buffer.h"
#include "runtime/value.h"

typedef enum hm_element {
    HM_ELEMENT_NONE, /* an empty list, which is a list of every element type */
    HM_ELEMENT_VALUE,
    HM_ELEMENT_DOUBLE,
    HM_ELEMENT_INT,  /* int64_t */
    HM_ELEMENT_BOOL, /* uint8_t, 0 or 1 */
    HM_ELEMENT_INT8,
} hm_element;

enum { HM_FLAT = -1 };

typedef struct hm_list {
    hm_value base;
    hm_element element;
    int64_t length;  /* elements of a flat list, rows of a block */
    int64_t columns; /* HM_FLAT, or the length of each row */
    void *data;      /* doubles, ints ...; hm_value pointers for HM_ELEMENT_VALUE */
    hm_buffer
        *buffer; /* what data lies in; NULL where it lies behind the list itself or in `block` */
    const hm_value *block; /* a row view keeps its block */
} hm_list;

typedef struct hm_tuple {
    hm_value base;
    int64_t length;
    hm_value *items[];
} hm_tuple;

/* A list or tuple of n counted values, each retained. */
hm_status hm_list_create(hm_context *ctx, const hm_value *const *items, size_t n, hm_list **out);
hm_status hm_tuple_create(hm_context *ctx, const hm_value *const *items, size_t n, hm_tuple **out);

/* A tuple that takes over the n references. On failure they stay the caller's. */
hm_status hm_tuple_take(hm_context *ctx, hm_value *const *items, size_t n, hm_tuple **out);

/* A list whose uninitialised data the caller fills in before publishing it. */
hm_status hm_list_reserve(hm_context *ctx, hm_element element, int64_t length, hm_list **out);
hm_status hm_rows_reserve(hm_context *ctx, hm_element element, int64_t rows, int64_t columns,
                          hm_list **out);

/* The same with the data copied in. */
hm_status hm_list_copy(hm_context *ctx, hm_element element, const void *data, int64_t length,
                       hm_list **out);
hm_status hm_rows_copy(hm_context *ctx, hm_element element, const void *data, int64_t rows,
                       int64_t columns, hm_list **out);

/* Element i of a list as a new reference; a row is a view. IndexOutOfBounds. */
hm_status hm_list_item(hm_context *ctx, const hm_list *list, int64_t i, hm_value **out);

/* v as a list, or NULL. */
const hm_list *hm_list_from_value(const hm_value *v);
const hm_tuple *hm_tuple_from_value(const hm_value *v);

/* Does the list hold elements of this type, flat or in rows? An empty list holds every type. */
bool hm_list_is_flat(const hm_list *list, hm_element element);
bool hm_list_is_rows(const hm_list *list, hm_element element);

/* Bytes of one element. */
size_t hm_element_size(hm_element element);

/* "List of Double", "List of rows of Int" ... */
void hm_list_describe(const hm_list *list, char *text, size_t size);

#endif
