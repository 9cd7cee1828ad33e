#include "hmath_deeplearning.h"

#include "_bridge.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- arguments */

/* Python's memory, lent to a Value. `held` stays true while anything still refers to it. */
typedef struct loan {
    int held;
} loan;

static void loan_returned(void *user) { ((loan *)user)->held = 0; }

/* The shape of a lent tensor; `own` is room for it. */
static const int64_t *shape_of(const bridge_argument *a, int64_t own[2], int32_t *rank)
{
    if (a->form == BRIDGE_TENSOR) {
        *rank = (int32_t)a->length;
        return a->shape;
    }
    own[0] = a->length;
    own[1] = a->columns;
    *rank = a->form == BRIDGE_MATRIX ? 2 : 1;
    return own;
}

/*
 * A tensor over the caller's memory, without a copy; what it costs is that nothing may keep the
 * tensor beyond the call, since Python may change or free the memory. bridge_call notices where
 * something does.
 */
static hmath_status lend_tensor(hmath_context *ctx, const bridge_argument *a, loan *lent,
                                hmath_value **out)
{
    int64_t own[2];
    int32_t rank;
    const int64_t *shape = shape_of(a, own, &rank);
    if (!lent)
        return hmath_tensor_create(ctx, rank, shape, a->data, out);
    hmath_status st =
        hmath_tensor_adopt(ctx, rank, shape, (double *)a->data, loan_returned, lent, out);
    lent->held = st == HMATH_OK;
    return st;
}

/* Where `lent` is NULL the data is copied. A form that refers to an existing value retains it. */
static hmath_status make(hmath_context *ctx, const bridge_argument *a, loan *lent,
                         hmath_value **out)
{
    const size_t length = (size_t)a->length, columns = (size_t)a->columns;
    switch (a->form) {
    case BRIDGE_NONE: *out = NULL; return HMATH_OK;
    case BRIDGE_VALUE: *out = hmath_retain(a->data); return HMATH_OK;
    case BRIDGE_DOUBLE: return hmath_double_create(ctx, a->number, out);
    case BRIDGE_INT: return hmath_int_create(ctx, a->length, out);
    case BRIDGE_BOOL: return hmath_bool_create(ctx, (int)a->length, out);
    case BRIDGE_DOUBLES: return hmath_list_from_doubles(ctx, a->data, length, out);
    case BRIDGE_INTS: return hmath_list_from_ints(ctx, a->data, length, out);
    case BRIDGE_BOOLS: return hmath_list_from_bools(ctx, a->data, length, out);
    case BRIDGE_VALUES: return hmath_list_create(ctx, a->data, length, out);
    case BRIDGE_DOUBLE_ROWS: return hmath_rows_from_doubles(ctx, a->data, length, columns, out);
    case BRIDGE_INT_ROWS: return hmath_rows_from_ints(ctx, a->data, length, columns, out);
    case BRIDGE_BOOL_ROWS: return hmath_rows_from_bools(ctx, a->data, length, columns, out);
    case BRIDGE_VECTOR:
    case BRIDGE_MATRIX:
    case BRIDGE_TENSOR: return lend_tensor(ctx, a, lent, out);
    default: return HMATH_BAD_ARGUMENT;
    }
}

/* ---------------------------------------------------------------- calls */

typedef hmath_value *out;
typedef const hmath_value *in;
typedef hmath_status (*function0)(hmath_context *, out *);
typedef hmath_status (*function1)(hmath_context *, in, out *);
typedef hmath_status (*function2)(hmath_context *, in, in, out *);
typedef hmath_status (*function3)(hmath_context *, in, in, in, out *);
typedef hmath_status (*function4)(hmath_context *, in, in, in, in, out *);
typedef hmath_status (*function5)(hmath_context *, in, in, in, in, in, out *);
typedef hmath_status (*function6)(hmath_context *, in, in, in, in, in, in, out *);
typedef hmath_status (*function7)(hmath_context *, in, in, in, in, in, in, in, out *);
typedef hmath_status (*function8)(hmath_context *, in, in, in, in, in, in, in, in, out *);

static hmath_status apply(hmath_context *ctx, bridge_function f, hmath_value *const v[],
                          size_t count, out *o)
{
    switch (count) {
    case 0: return ((function0)f)(ctx, o);
    case 1: return ((function1)f)(ctx, v[0], o);
    case 2: return ((function2)f)(ctx, v[0], v[1], o);
    case 3: return ((function3)f)(ctx, v[0], v[1], v[2], o);
    case 4: return ((function4)f)(ctx, v[0], v[1], v[2], v[3], o);
    case 5: return ((function5)f)(ctx, v[0], v[1], v[2], v[3], v[4], o);
    case 6: return ((function6)f)(ctx, v[0], v[1], v[2], v[3], v[4], v[5], o);
    case 7: return ((function7)f)(ctx, v[0], v[1], v[2], v[3], v[4], v[5], v[6], o);
    case 8: return ((function8)f)(ctx, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], o);
    default: return HMATH_BAD_ARGUMENT;
    }
}

/* One attempt. *kept: something outlived the call that refers to memory which was only lent. */
static hmath_status attempt(hmath_context *ctx, bridge_function function,
                            const bridge_argument *arguments, size_t count, int lend, int *kept,
                            hmath_value **result)
{
    hmath_value *values[BRIDGE_MAX_ARGUMENTS] = {NULL};
    loan loans[BRIDGE_MAX_ARGUMENTS] = {{0}};
    hmath_status st = HMATH_OK;
    for (size_t i = 0; i < count && st == HMATH_OK; i++)
        st = make(ctx, &arguments[i], lend ? &loans[i] : NULL, &values[i]);
    if (st == HMATH_OK)
        st = apply(ctx, function, values, count, result);
    /* The error has to be taken before anything else is asked of the context. */
    if (st == HMATH_CHECKED && hmath_last_error_take(ctx, result) != HMATH_OK)
        st = HMATH_NO_MEMORY;

    for (size_t i = 0; i < count; i++)
        hmath_release(values[i]);
    *kept = 0;
    for (size_t i = 0; i < count; i++)
        *kept |= loans[i].held;
    if (*kept) { /* the result is what keeps it, and `loans` is about to go */
        hmath_release(*result);
        *result = NULL;
    }
    return st;
}

static hmath_status call(hmath_context *ctx, bridge_function function,
                         const bridge_argument *arguments, size_t count, hmath_value **result)
{
    if (count > BRIDGE_MAX_ARGUMENTS)
        return HMATH_BAD_ARGUMENT;
    int kept;
    const hmath_status st = attempt(ctx, function, arguments, count, 1, &kept, result);
    /* An operation that hands its input on (dropout in inference) is repeated with copies it may
     * keep. */
    return kept ? attempt(ctx, function, arguments, count, 0, &kept, result) : st;
}

hmath_status bridge_call(hmath_context *ctx, bridge_function function,
                         const bridge_argument *arguments, size_t count, bridge_result *result)
{
    hmath_value *value = NULL;
    const hmath_status st = call(ctx, function, arguments, count, &value);
    bridge_describe(value, result);
    return st;
}

double bridge_call_double(hmath_context *ctx, bridge_function function,
                          const bridge_argument *arguments, size_t count)
{
    hmath_value *value = NULL;
    double number = NAN;
    if (call(ctx, function, arguments, count, &value) == HMATH_OK &&
        hmath_double_get(value, &number) != HMATH_OK)
        number = NAN;
    hmath_release(value);
    return number;
}

double bridge_call_scalar(hmath_context *ctx, bridge_function function, const hmath_value *value,
                          double x)
{
    hmath_value *argument = NULL, *result = NULL;
    double number = NAN;
    if (hmath_double_create(ctx, x, &argument) == HMATH_OK &&
        ((function2)function)(ctx, value, argument, &result) == HMATH_OK &&
        hmath_double_get(result, &number) != HMATH_OK)
        number = NAN;
    hmath_release(argument);
    hmath_release(result);
    return number;
}

int bridge_call_map(hmath_context *ctx, bridge_function function, const double *values,
                    size_t count, double *out)
{
    hmath_value *list = NULL, *result = NULL;
    const double *found;
    size_t length;
    const int failed = hmath_list_from_doubles(ctx, values, count, &list) != HMATH_OK ||
                       ((function1)function)(ctx, list, &result) != HMATH_OK ||
                       hmath_list_doubles(result, &found, &length) != HMATH_OK || length != count;
    if (!failed && count > 0)
        memcpy(out, found, count * sizeof *out);
    hmath_release(list);
    hmath_release(result);
    return failed;
}

double bridge_call_lists(hmath_context *ctx, bridge_function function, const hmath_value *first,
                         const hmath_value *second, const double *left, size_t left_count,
                         const double *right, size_t right_count)
{
    hmath_value *a = NULL, *b = NULL, *result = NULL;
    double number = NAN;
    if (hmath_list_from_doubles(ctx, left, left_count, &a) == HMATH_OK &&
        hmath_list_from_doubles(ctx, right, right_count, &b) == HMATH_OK &&
        ((function4)function)(ctx, first, second, a, b, &result) == HMATH_OK &&
        hmath_double_get(result, &number) != HMATH_OK)
        number = NAN;
    hmath_release(a);
    hmath_release(b);
    hmath_release(result);
    return number;
}

hmath_value *bridge_tensor(hmath_context *ctx, int32_t rank, const int64_t *shape,
                           const double *values, int64_t count)
{
    int64_t size = 1;
    for (int32_t i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(size, shape[i], &size))
            return NULL;
    hmath_value *made = NULL;
    const hmath_status st = !values         ? hmath_tensor_zeros(ctx, rank, shape, &made)
                            : size == count ? hmath_tensor_create(ctx, rank, shape, values, &made)
                                            : HMATH_BAD_ARGUMENT;
    return st == HMATH_OK ? made : NULL;
}

typedef hmath_status unary_function(hmath_context *, const hmath_value *, hmath_value **);
typedef hmath_status binary_function(hmath_context *, const hmath_value *, const hmath_value *,
                                     hmath_value **);

hmath_value *bridge_unary(hmath_context *ctx, bridge_function function, const hmath_value *input)
{
    hmath_value *result = NULL;
    return ((unary_function *)function)(ctx, input, &result) == HMATH_OK ? result : NULL;
}

hmath_value *bridge_binary(hmath_context *ctx, bridge_function function, const hmath_value *left,
                           const hmath_value *right, double number)
{
    hmath_value *scalar = NULL, *result = NULL;
    if ((!left || !right) && hmath_tensor_create(ctx, 0, NULL, &number, &scalar) != HMATH_OK)
        return NULL;
    if (((binary_function *)function)(ctx, left ? left : scalar, right ? right : scalar, &result) !=
        HMATH_OK)
        result = NULL;
    hmath_release(scalar);
    return result;
}

typedef hmath_status reduction_function(hmath_context *, const hmath_value *, int32_t,
                                        const int64_t *, int, hmath_value **);

hmath_value *bridge_reduction(hmath_context *ctx, bridge_function function,
                              const hmath_value *input, int32_t axes, int64_t axis)
{
    hmath_value *result = NULL;
    if (axes && axis < 0)
        axis += hmath_tensor_rank(input);
    const int32_t count = axes ? 1 : HMATH_ALL_AXES;
    return ((reduction_function *)function)(ctx, input, count, &axis, 0, &result) == HMATH_OK
               ? result
               : NULL;
}

/* What the extents beside a -1 leave of a size; -1 where that is no whole number. */
static int64_t left_over(size_t rank, const int64_t *shape, int64_t size)
{
    int64_t left = size;
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] == -1)
            continue;
        if (shape[i] <= 0 || left % shape[i] != 0)
            return -1;
        left /= shape[i];
    }
    return left;
}

hmath_value *bridge_reshape(hmath_context *ctx, const hmath_value *input, size_t rank,
                            const int64_t *shape)
{
    int64_t extents[HMATH_TENSOR_MAX_RANK], unknown = 0;
    hmath_value *result = NULL;
    if (rank > HMATH_TENSOR_MAX_RANK)
        return NULL;
    for (size_t i = 0; i < rank; i++)
        unknown += shape[i] == -1;
    for (size_t i = 0; i < rank; i++)
        extents[i] = shape[i] != -1 ? shape[i]
                     : unknown == 1 ? left_over(rank, shape, hmath_tensor_size(input))
                                    : -1;
    return hmath_tensor_reshape(ctx, input, (int32_t)rank, extents, &result) == HMATH_OK ? result
                                                                                         : NULL;
}

double bridge_element(hmath_context *ctx, const hmath_value *input, size_t count,
                      const int64_t *index)
{
    const int64_t *shape = hmath_tensor_shape(input);
    int64_t position[HMATH_TENSOR_MAX_RANK];
    double element;
    if (!shape || hmath_tensor_rank(input) != (int32_t)count)
        return NAN;
    for (size_t i = 0; i < count; i++)
        position[i] = index[i] < 0 ? index[i] + shape[i] : index[i];
    return hmath_tensor_element(ctx, input, position, &element) == HMATH_OK ? element : NAN;
}

hmath_value *bridge_rows(hmath_context *ctx, const hmath_value *input, int64_t start, int64_t stop,
                         int64_t step)
{
    const int64_t *shape = hmath_tensor_shape(input);
    int64_t starts[HMATH_TENSOR_MAX_RANK] = {start}, stops[HMATH_TENSOR_MAX_RANK] = {stop};
    int64_t steps[HMATH_TENSOR_MAX_RANK] = {step};
    hmath_value *result = NULL;
    if (!shape || hmath_tensor_rank(input) == 0)
        return NULL;
    for (int32_t i = 1; i < hmath_tensor_rank(input); i++) {
        stops[i] = shape[i];
        steps[i] = 1;
    }
    return hmath_tensor_slice(ctx, input, starts, stops, steps, &result) == HMATH_OK ? result
                                                                                     : NULL;
}

hmath_value *bridge_row(hmath_context *ctx, const hmath_value *input, int64_t row)
{
    const int64_t *shape = hmath_tensor_shape(input);
    hmath_value *rows = NULL, *result = NULL;
    if (!shape || hmath_tensor_rank(input) == 0)
        return NULL;
    if (row < 0)
        row += shape[0];
    if ((rows = bridge_rows(ctx, input, row, row + 1, 1)) == NULL ||
        hmath_tensor_reshape(ctx, rows, hmath_tensor_rank(input) - 1, shape + 1, &result) !=
            HMATH_OK)
        result = NULL;
    hmath_release(rows);
    return result;
}

hmath_value *bridge_values(hmath_context *ctx, bridge_function function, hmath_value *const *values,
                           size_t count)
{
    hmath_value *result = NULL;
    return apply(ctx, function, values, count, &result) == HMATH_OK ? result : NULL;
}

hmath_value *bridge_norm(hmath_context *ctx, bridge_function function, int64_t axes, double epsilon,
                         hmath_value *input)
{
    hmath_value *values[3] = {NULL, NULL, input}, *result = NULL;
    if (hmath_int_create(ctx, axes, &values[0]) == HMATH_OK &&
        hmath_double_create(ctx, epsilon, &values[1]) == HMATH_OK)
        result = bridge_values(ctx, function, values, 3);
    hmath_release(values[0]);
    hmath_release(values[1]);
    return result;
}

hmath_value *bridge_dense(hmath_context *ctx, const hmath_value *input, const hmath_value *weights,
                          const double *bias, size_t count)
{
    hmath_value *list = NULL, *result = NULL;
    if (hmath_list_from_doubles(ctx, bias, count, &list) == HMATH_OK &&
        hmath_neural_layers_dense(ctx, input, weights, list, &result) != HMATH_OK)
        result = NULL;
    hmath_release(list);
    return result;
}

hmath_status bridge_make(hmath_context *ctx, const bridge_argument *argument, bridge_result *result)
{
    hmath_value *value = NULL;
    hmath_status st = make(ctx, argument, NULL, &value);
    if (st == HMATH_CHECKED && hmath_last_error_take(ctx, &value) != HMATH_OK)
        st = HMATH_NO_MEMORY;
    bridge_describe(value, result);
    return st;
}

/* ---------------------------------------------------------------- results */

/* The elements of a list, where they are plain numbers. The readers refuse what is not of their
 * type. */
static void describe_list(hmath_value *list, bridge_result *result)
{
    const double *doubles;
    const int64_t *ints;
    const uint8_t *bools;
    const int8_t *int8s;
    size_t length = (size_t)hmath_list_length(list), columns = 0;
    if (hmath_list_doubles(list, &doubles, &length) == HMATH_OK)
        result->element = BRIDGE_DOUBLES, result->data = result->doubles = doubles;
    else if (hmath_list_ints(list, &ints, &length) == HMATH_OK)
        result->element = BRIDGE_INTS, result->data = ints;
    else if (hmath_list_bools(list, &bools, &length) == HMATH_OK)
        result->element = BRIDGE_BOOLS, result->data = bools;
    else if (hmath_list_int8s(list, &int8s, &length) == HMATH_OK)
        result->element = BRIDGE_INT8S, result->data = int8s;
    else if (hmath_rows_doubles(list, &doubles, &length, &columns) == HMATH_OK)
        result->element = BRIDGE_DOUBLE_ROWS, result->data = doubles;
    else if (hmath_rows_ints(list, &ints, &length, &columns) == HMATH_OK)
        result->element = BRIDGE_INT_ROWS, result->data = ints;
    else if (hmath_rows_bools(list, &bools, &length, &columns) == HMATH_OK)
        result->element = BRIDGE_BOOL_ROWS, result->data = bools;
    else
        result->element = BRIDGE_VALUES;
    result->length = (int64_t)length;
    result->columns = (int64_t)columns;
}

void bridge_describe(hmath_value *value, bridge_result *result)
{
    memset(result, 0, sizeof *result);
    result->value = value;
    result->kind = hmath_kind(value);
    int truth = 0;
    size_t bytes = 0;
    hmath_status st = HMATH_OK;
    switch (result->kind) {
    case HMATH_KIND_DOUBLE: st = hmath_double_get(value, &result->number); break;
    case HMATH_KIND_INT: st = hmath_int_get(value, &result->length); break;
    case HMATH_KIND_BOOL:
        st = hmath_bool_get(value, &truth);
        result->length = truth;
        break;
    case HMATH_KIND_LIST: describe_list(value, result); break;
    case HMATH_KIND_TUPLE: result->length = hmath_tuple_length(value); break;
    case HMATH_KIND_STRING:
        st = hmath_string_get(value, (const char **)&result->data, &bytes);
        result->length = (int64_t)bytes;
        break;
    default: break;
    }
    (void)st; /* a reader of the value's own kind succeeds */
}

hmath_status bridge_item(hmath_context *ctx, const hmath_value *value, int64_t i,
                         bridge_result *result)
{
    hmath_value *item = NULL;
    const hmath_status st = hmath_kind(value) == HMATH_KIND_TUPLE
                                ? hmath_tuple_item(ctx, value, (size_t)i, &item)
                                : hmath_list_item(ctx, value, (size_t)i, &item);
    bridge_describe(item, result);
    return st;
}

/* ---------------------------------------------------------------- the library itself */

const char *bridge_library_path(void)
{
    Dl_info info;
    return dladdr((const void *)(uintptr_t)hmath_version, &info) ? info.dli_fname : NULL;
}
