#include "tensor/view.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "runtime/context.h"
#include "runtime/pool.h"

static hm_status fail_rank(hm_context *ctx, const char *argument, const char *expected,
                           int32_t rank)
{
    char actual[32];
    snprintf(actual, sizeof actual, "rank %d", rank);
    return hm_fail_shape(ctx, argument, expected, actual);
}

hm_status hm_check_vector(hm_context *ctx, const char *argument, const hm_doubles *view)
{
    return view->rank == 1 ? HMATH_OK : fail_rank(ctx, argument, "rank 1", view->rank);
}

/* Row 0 sets the length; the first row that has another one is told. */
static hm_status fail_ragged(hm_context *ctx, const char *argument, const hm_value *source)
{
    const hm_list *list = (const hm_list *)source;
    hm_value *const *items = list->data;
    int64_t expected = ((const hm_list *)items[0])->length, i = 1;
    while (i < list->length - 1 && ((const hm_list *)items[i])->length == expected)
        i++;
    char expected_text[64], actual_text[64];
    snprintf(expected_text, sizeof expected_text, "rows of length %lld", (long long)expected);
    snprintf(actual_text, sizeof actual_text, "length %lld in row %lld",
             (long long)((const hm_list *)items[i])->length, (long long)i);
    return hm_fail_shape(ctx, argument, expected_text, actual_text);
}

hm_status hm_check_matrix(hm_context *ctx, const char *argument, const hm_double_rows *view)
{
    if (view->ragged)
        return fail_ragged(ctx, argument, view->source);
    return view->rank == 2 ? HMATH_OK : fail_rank(ctx, argument, "rank 2", view->rank);
}

hm_status hm_check_bool_matrix(hm_context *ctx, const char *argument, const hm_bool_rows *view)
{
    return view->ragged ? fail_ragged(ctx, argument, view->source) : HMATH_OK;
}

hm_status hm_check_length(hm_context *ctx, const char *argument, int64_t length, int64_t expected)
{
    return length == expected ? HMATH_OK : hm_fail_dimension(ctx, argument, expected, length);
}

hm_status hm_check_some(hm_context *ctx, const char *argument, int64_t count)
{
    return count > 0 ? HMATH_OK : hm_fail_empty(ctx, argument);
}

/* ------------------------------------------------- finite? */

enum { FINITE_CHUNK = 1 << 17 }; /* elements a thread looks at: some 10 microseconds */

typedef struct finite_task {
    const hm_kernels *kernels;
    const double *data;
    int64_t n, chunks;
    atomic_bool spoiled;
} finite_task;

static void look_at_chunk(void *task, int64_t chunk)
{
    finite_task *t = task;
    int64_t first = hm_split(t->n, t->chunks, chunk), last = hm_split(t->n, t->chunks, chunk + 1);
    if (!t->kernels->reduce->within(t->data + first, last - first, -DBL_MAX, DBL_MAX))
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

bool hm_all_finite(const hm_context *ctx, const double *data, int64_t n)
{
    finite_task task = {.kernels = hm_context_kernels(ctx),
                        .data = data,
                        .n = n,
                        .chunks = hm_chunks(n, FINITE_CHUNK, 64)};
    hm_parallel_for(ctx, task.chunks, look_at_chunk, &task);
    return !task.spoiled;
}

hm_status hm_check_finite(hm_context *ctx, const char *argument, const double *data, int64_t n)
{
    if (hm_all_finite(ctx, data, n))
        return HMATH_OK;
    /* Another thread may be writing to memory that was lent: what was seen may be gone by now. */
    for (int64_t i = 0; i < n; i++) {
        const double x = data[i];
        if (!isfinite(x))
            return hm_fail_nonfinite(ctx, argument, i, x);
    }
    return HMATH_OK;
}

hm_status hm_check_tensor_finite(hm_context *ctx, const char *argument, const hm_tensor *tensor)
{
    if (hm_tensor_known_finite(tensor))
        return HMATH_OK;
    hm_status st = hm_check_finite(ctx, argument, tensor->data, tensor->size);
    if (st == HMATH_OK)
        hm_tensor_remember_finite(tensor);
    return st;
}

hm_status hm_check_doubles_finite(hm_context *ctx, const char *argument, const hm_doubles *view)
{
    const hm_tensor *tensor = hm_tensor_from_value(view->source);
    return tensor ? hm_check_tensor_finite(ctx, argument, tensor)
                  : hm_check_finite(ctx, argument, view->data, view->length);
}

hm_status hm_check_rows_finite(hm_context *ctx, const char *argument, const hm_double_rows *view)
{
    const hm_tensor *tensor = hm_tensor_from_value(view->source);
    return tensor ? hm_check_tensor_finite(ctx, argument, tensor)
                  : hm_check_finite(ctx, argument, view->data, view->rows * view->columns);
}

hm_status hm_check_scalar_finite(hm_context *ctx, const char *argument, double x)
{
    return isfinite(x) ? HMATH_OK : hm_fail_nonfinite(ctx, argument, HM_SCALAR, x);
}

hm_status hm_result_like(hm_context *ctx, const hm_value *source, int64_t n, hm_value **result,
                         double **data)
{
    const hm_tensor *like = hm_tensor_from_value(source);
    hm_tensor *tensor = NULL;
    hm_list *list = NULL;
    hm_status st = like ? hm_tensor_like(ctx, like, &tensor)
                        : hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, n, &list);
    if (st != HMATH_OK)
        return st;
    *result = like ? &tensor->base : &list->base;
    *data = like ? tensor->data : list->data;
    return HMATH_OK;
}

hm_status hm_list_of_doubles(hm_context *ctx, const hm_doubles *view, hm_list **out)
{
    const hm_list *list = hm_list_from_value(view->source);
    if (list && !list->block) {
        *out = hm_retain(list);
        return HMATH_OK;
    }
    return hm_list_copy(ctx, HM_ELEMENT_DOUBLE, view->data, view->length, out);
}

hm_status hm_rows_result_like(hm_context *ctx, const hm_value *source, int64_t rows,
                              int64_t columns, hm_value **result, double **data)
{
    hm_tensor *tensor = NULL;
    hm_list *list = NULL;
    hm_shape shape = {.rank = 2, .extent = {rows, columns}};
    bool like = hm_tensor_from_value(source) != NULL;
    hm_status st = like ? hm_tensor_create(ctx, &shape, &tensor)
                        : hm_rows_reserve(ctx, HM_ELEMENT_DOUBLE, rows, columns, &list);
    if (st != HMATH_OK)
        return st;
    *result = like ? &tensor->base : &list->base;
    *data = like ? tensor->data : list->data;
    return HMATH_OK;
}
