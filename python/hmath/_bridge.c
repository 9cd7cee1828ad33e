#include "hmath_deeplearning.h"

#include "_bridge.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
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

hmath_status bridge_make(hmath_context *ctx, const bridge_argument *argument, bridge_result *result)
{
    hmath_value *value = NULL;
    hmath_status st = make(ctx, argument, NULL, &value);
    if (st == HMATH_CHECKED && hmath_last_error_take(ctx, &value) != HMATH_OK)
        st = HMATH_NO_MEMORY;
    bridge_describe(value, result);
    return st;
}

hmath_status bridge_run(hmath_context *ctx, const hmath_value *program,
                        const bridge_argument *inputs, size_t count, hmath_value **outputs,
                        size_t results)
{
    hmath_value **values = calloc(count + 1, sizeof *values);
    loan *loans = calloc(count + 1, sizeof *loans);
    hmath_status st = values && loans ? HMATH_OK : HMATH_NO_MEMORY;
    for (size_t i = 0; i < count && st == HMATH_OK; i++)
        st = make(ctx, &inputs[i], &loans[i], &values[i]);
    if (st == HMATH_OK)
        st = hmath_program_run(ctx, program, (const hmath_value *const *)values, count, outputs,
                               results);
    for (size_t i = 0; values && loans && i < count; i++) {
        hmath_release(values[i]);
        assert(!loans[i].held); /* results are new, and callbacks get copies */
    }
    free(values);
    free(loans);
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
    result->value = (uintptr_t)value;
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

hmath_status bridge_item(hmath_context *ctx, const bridge_result *from, int64_t i,
                         bridge_result *result)
{
    const hmath_value *value = (const hmath_value *)from->value;
    hmath_value *item = NULL;
    const hmath_status st = from->kind == HMATH_KIND_TUPLE
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
