/* Short ways into the functions on tensors that take C's numbers: making, reading, picking, reducing. */
#include "native.h"

enum { NEAR = 1 << 30 };

/* ---------------------------------------------------------------- making */

/* The plain ints of a list or tuple, as many as a tensor has axes at most; -1: something else. */
static int integers(PyObject *x, int64_t *out)
{
    const int list = PyList_CheckExact(x);
    if (!list && !PyTuple_CheckExact(x))
        return -1;
    const Py_ssize_t n = list ? PyList_Size(x) : PyTuple_Size(x);
    if (n > HMATH_TENSOR_MAX_RANK)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!native_integer(list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i), &out[i]))
            return -1;
    return (int)n;
}

/* The handle for a call that succeeded, else None. */
static PyObject *made(hmath_status st, hmath_value *value)
{
    if (st != HMATH_OK)
        Py_RETURN_NONE;
    return native_own_kind(value);
}

/* zeros(shape) */
PyObject *native_zeros(PyObject *module, PyObject *shape)
{
    (void)module;
    hmath_context *ctx = native_context();
    int64_t extents[HMATH_TENSOR_MAX_RANK];
    const int rank = ctx ? integers(shape, extents) : -1;
    hmath_value *value = NULL;
    if (rank < 0)
        Py_RETURN_NONE;
    const hmath_status st = hmath_tensor_zeros(ctx, rank, extents, &value);
    return made(st, value);
}

/* tensor(shape, values) */
PyObject *native_tensor(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    hmath_context *ctx = native_context();
    int64_t shape[HMATH_TENSOR_MAX_RANK], size = 1;
    const int rank = ctx && count == 2 ? integers(arguments[0], shape) : -1;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(size, shape[i], &size))
            Py_RETURN_NONE;
    if (rank < 0)
        Py_RETURN_NONE;
    hmath_value *value = NULL;
    double room[NATIVE_SHORT];
    Py_ssize_t length = 0;
    double *numbers = native_numbers(arguments[1], room, &length);
    hmath_status st = HMATH_BAD_ARGUMENT;
    if (numbers && length == size)
        st = hmath_tensor_create(ctx, rank, shape, numbers, &value);
    if (numbers != room)
        PyMem_Free(numbers);
    return made(st, value);
}

/* ---------------------------------------------------------------- reading */

PyObject *native_shape(PyObject *module, PyObject *tensor)
{
    (void)module;
    hmath_value *value = native_value(tensor);
    const int32_t rank = value ? hmath_tensor_rank(value) : -1;
    const int64_t *shape = rank > 0 ? hmath_tensor_shape(value) : NULL;
    PyObject *tuple = rank >= 0 ? PyTuple_New(rank) : Py_NewRef(Py_None);
    for (int32_t i = 0; tuple && i < rank; i++) {
        PyObject *extent = PyLong_FromLongLong(shape[i]);
        if (!extent || PyTuple_SetItem(tuple, i, extent) != 0)
            Py_CLEAR(tuple);
    }
    hmath_release(value);
    return tuple;
}

/* The elements of a Tensor Double as a flat list. */
PyObject *native_values(PyObject *module, PyObject *tensor)
{
    (void)module;
    hmath_value *value = native_value(tensor);
    const double *data = value ? hmath_tensor_data(value) : NULL;
    const Py_ssize_t size = data ? (Py_ssize_t)hmath_tensor_size(value) : 0;
    PyObject *list = data ? native_floats(data, size) : Py_NewRef(Py_None);
    hmath_release(value);
    return list;
}

/* ---------------------------------------------------------------- reducing */

typedef hmath_status reduce(hmath_context *, const hmath_value *, int32_t, const int64_t *, int,
                            hmath_value **);

/* A reduction's short way: (tensor, axis), an axis that may count from the end, or None for all. */
static PyObject *reduced(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    void *address = PyLong_AsVoidPtr(self);
    hmath_context *ctx = native_context();
    int64_t axis = 0;
    if (!ctx || !address || count != 2 ||
        (arguments[1] != Py_None && !native_integer(arguments[1], &axis)))
        Py_RETURN_NONE;
    const int32_t axes = arguments[1] == Py_None ? HMATH_ALL_AXES : 1;
    hmath_value *value = native_value(arguments[0]), *result = NULL;
    if (!value)
        Py_RETURN_NONE;
    if (axis < 0)
        axis += hmath_tensor_rank(value);
    reduce *function = (reduce *)(uintptr_t)address;
    hmath_status st;
    if (hmath_tensor_size(value) <= NATIVE_TINY) {
        st = function(ctx, value, axes, &axis, 0, &result);
    } else {
        PyThreadState *thread = PyEval_SaveThread();
        st = function(ctx, value, axes, &axis, 0, &result);
        PyEval_RestoreThread(thread);
    }
    hmath_release(value);
    return made(st, result);
}

static PyMethodDef reduced_definition = {"reduction", (PyCFunction)(void (*)(void))reduced,
                                         METH_FASTCALL,
                                         "The result, or None: take the longer way."};

PyObject *native_reduction(PyObject *module, PyObject *address)
{
    (void)module;
    return PyCFunction_New(&reduced_definition, address);
}

/* ---------------------------------------------------------------- reshaping */

/* What the extents beside a -1 leave of a size; -1 where that is no whole number. */
static int64_t left_over(int rank, const int64_t *shape, int64_t size)
{
    int64_t left = size;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == -1)
            continue;
        if (shape[i] <= 0 || left % shape[i] != 0)
            return -1;
        left /= shape[i];
    }
    return left;
}

/* reshaped(tensor, shape), in which one extent may be -1: what is left over. */
PyObject *native_reshaped(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    hmath_context *ctx = native_context();
    int64_t shape[HMATH_TENSOR_MAX_RANK];
    const int rank = ctx && count == 2 ? integers(arguments[1], shape) : -1;
    hmath_value *value = rank >= 0 ? native_value(arguments[0]) : NULL, *result = NULL;
    if (!value)
        Py_RETURN_NONE;
    int unknown = 0;
    for (int i = 0; i < rank; i++)
        unknown += shape[i] == -1;
    for (int i = 0; i < rank && unknown == 1; i++)
        if (shape[i] == -1) {
            shape[i] = left_over(rank, shape, hmath_tensor_size(value));
            break;
        }
    const hmath_status st = hmath_tensor_reshape(ctx, value, rank, shape, &result);
    hmath_release(value);
    if (st != HMATH_OK)
        Py_RETURN_NONE;
    return native_own(Py_TYPE(arguments[0]), result);
}

/* ---------------------------------------------------------------- picking */

/* The element at a position of as many indices as there are axes, which may count from the end. */
static PyObject *element(hmath_context *ctx, const hmath_value *value, int count, int64_t *index)
{
    const int64_t *shape = hmath_tensor_shape(value);
    double number;
    if (count != hmath_tensor_rank(value))
        Py_RETURN_NONE;
    for (int i = 0; i < count; i++)
        if (index[i] < 0)
            index[i] += shape[i];
    if (hmath_tensor_element(ctx, value, index, &number) != HMATH_OK)
        Py_RETURN_NONE;
    return PyFloat_FromDouble(number);
}

static hmath_value *rows(hmath_context *ctx, const hmath_value *value, int64_t start, int64_t stop,
                         int64_t step)
{
    const int64_t *shape = hmath_tensor_shape(value);
    int64_t starts[HMATH_TENSOR_MAX_RANK] = {start}, stops[HMATH_TENSOR_MAX_RANK] = {stop};
    int64_t steps[HMATH_TENSOR_MAX_RANK] = {step};
    hmath_value *result = NULL;
    for (int32_t i = 1; i < hmath_tensor_rank(value); i++) {
        stops[i] = shape[i];
        steps[i] = 1;
    }
    return hmath_tensor_slice(ctx, value, starts, stops, steps, &result) == HMATH_OK ? result
                                                                                     : NULL;
}

/* Row `i`, which may count from the end, without its axis. */
static hmath_value *row(hmath_context *ctx, const hmath_value *value, int64_t i)
{
    const int64_t *shape = hmath_tensor_shape(value);
    if (i < 0)
        i += shape[0];
    hmath_value *one = i >= 0 && i < shape[0] ? rows(ctx, value, i, i + 1, 1) : NULL;
    hmath_value *result = NULL;
    if (!one || hmath_tensor_reshape(ctx, one, hmath_tensor_rank(value) - 1, shape + 1, &result) !=
                    HMATH_OK)
        result = NULL;
    hmath_release(one);
    return result;
}

/*
 * What an index finds in a tensor of rank 1 or more, a number or a value, which is NULL where it is not
 * usual: an int, a slice, or as many ints as there are axes.
 */
static PyObject *pick(hmath_context *ctx, const hmath_value *value, PyObject *index,
                      hmath_value **found)
{
    const int32_t rank = hmath_tensor_rank(value);
    int64_t position[HMATH_TENSOR_MAX_RANK];
    Py_ssize_t start, stop, step;
    *found = NULL;
    if (native_integer(index, position)) {
        if (rank == 1)
            return element(ctx, value, 1, position);
        *found = row(ctx, value, position[0]);
    } else if (PyTuple_CheckExact(index)) {
        return element(ctx, value, integers(index, position), position);
    } else if (PySlice_Check(index) && PySlice_Unpack(index, &start, &stop, &step) == 0) {
        PySlice_AdjustIndices((Py_ssize_t)hmath_tensor_shape(value)[0], &start, &stop, step);
        if (-NEAR < step && step < NEAR) /* beyond it, a step is cut to the axis */
            *found = rows(ctx, value, start, stop, step);
    }
    PyErr_Clear(); /* a slice of what is no integer */
    Py_RETURN_NONE;
}

PyObject *native_picked(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    hmath_context *ctx = native_context();
    hmath_value *value = ctx && count == 2 ? native_value(arguments[0]) : NULL, *found = NULL;
    PyObject *number =
        hmath_tensor_rank(value) < 1 ? Py_NewRef(Py_None) : pick(ctx, value, arguments[1], &found);
    hmath_release(value);
    if (!found)
        return number;
    Py_XDECREF(number);
    return native_own(Py_TYPE(arguments[0]), found);
}
