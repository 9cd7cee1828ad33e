/*
 * The short way into a function of the library that takes Values: (context, Value, ..., out).
 *
 * Its form says, a letter an argument, what is usual there:
 *
 *     v  a handle                           d  a float or int, a Double
 *     x  a handle, or as d                  i  an int, an Int
 *     t  a handle, or a number that         b  a bool, a Bool
 *        stands for a tensor of rank 0      l  a handle, or few numbers in a list, tuple or array of NumPy's
 *                                           L  as l, and a result that is a list comes in its container
 *
 * A Value's kind is no business of this file: the library refuses what is of another kind than it needs.
 */
#include "native.h"

#include <string.h>

/* ---------------------------------------------------------------- NumPy's arrays */

/* numpy.ndarray, as soon as the longer way has met one, and how its protocol is asked for. */
static PyTypeObject *array_class;
static PyObject *array_struct;

/* What NumPy's protocol shares of an array, by a capsule: "The array interface protocol", version 3. */
typedef struct array_interface {
    int two;
    int rank;
    char kind;
    int item_bytes;
    int flags;
    const intptr_t *shape;
    const intptr_t *strides;
    void *data;
    PyObject *description;
} array_interface;

enum { ROW_MAJOR = 1, ALIGNED = 0x100, NATIVE_ORDER = 0x200 };

/* The doubles of an array of rank 1, in order in memory, while the array lives. */
static double *array_data(PyObject *x, Py_ssize_t *length)
{
    double *data = NULL;
    PyObject *capsule = PyObject_GetAttr(x, array_struct);
    const array_interface *array = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    const int needed = ROW_MAJOR | ALIGNED | NATIVE_ORDER;
    if (array && array->two == 2 && array->rank == 1 && array->kind == 'f' &&
        array->item_bytes == (int)sizeof *data && (array->flags & needed) == needed) {
        *length = array->shape[0];
        data = array->data;
    }
    if (!array)
        PyErr_Clear(); /* the longer way meets it again */
    Py_XDECREF(capsule);
    return data;
}

/* An array like `like`, which has as many elements, with other numbers in it; None where that fails. */
static PyObject *array_of(PyObject *like, const double *numbers, Py_ssize_t length)
{
    Py_ssize_t room = -1;
    PyObject *array = PyObject_CallMethod(like, "copy", NULL);
    double *data = array ? array_data(array, &room) : NULL;
    if (!data || room != length) {
        PyErr_Clear();
        Py_XDECREF(array);
        Py_RETURN_NONE;
    }
    if (length > 0)
        memcpy(data, numbers, (size_t)length * sizeof *numbers);
    return array;
}

/* know_array(ndarray): the class whose arrays may stand for lists from now on. */
PyObject *native_know_array(PyObject *module, PyObject *array_type)
{
    (void)module;
    if (!array_struct)
        array_struct = PyUnicode_InternFromString("__array_struct__");
    if (!array_struct)
        return NULL;
    Py_INCREF(array_type);
    Py_XDECREF(array_class);
    array_class = (PyTypeObject *)array_type;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- numbers */

/* A plain float or int, no bool and no subclass, as a double. */
int native_number(PyObject *x, double *number)
{
    if (PyFloat_CheckExact(x)) {
        *number = PyFloat_AsDouble(x);
        return 1;
    }
    if (!PyLong_CheckExact(x))
        return 0;
    *number = PyLong_AsDouble(x);
    if (*number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* beyond the largest double */
        return 0;
    }
    return 1;
}

int native_integer(PyObject *x, int64_t *integer)
{
    int beyond = 0;
    if (!PyLong_CheckExact(x))
        return 0;
    *integer = PyLong_AsLongLongAndOverflow(x, &beyond);
    return !beyond;
}

double *native_numbers(PyObject *x, double *room, Py_ssize_t *length)
{
    const int list = PyList_CheckExact(x);
    if (!list && !PyTuple_CheckExact(x))
        return NULL;
    const Py_ssize_t n = list ? PyList_Size(x) : PyTuple_Size(x);
    double *numbers = n <= NATIVE_SHORT ? room : PyMem_Malloc((size_t)n * sizeof *numbers);
    if (!numbers)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!native_number(list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i), &numbers[i])) {
            if (numbers != room)
                PyMem_Free(numbers);
            return NULL;
        }
    *length = n;
    return numbers;
}

/* ---------------------------------------------------------------- arguments */

static hmath_value *list_of(hmath_context *ctx, PyObject *x)
{
    double room[NATIVE_SHORT];
    Py_ssize_t length = 0;
    const Py_ssize_t given = PyList_CheckExact(x)    ? PyList_Size(x)
                             : PyTuple_CheckExact(x) ? PyTuple_Size(x)
                                                     : 0;
    const double *numbers = Py_TYPE(x) == array_class ? array_data(x, &length)
                            : given <= NATIVE_SHORT   ? native_numbers(x, room, &length)
                                                      : NULL;
    hmath_value *list = NULL;
    if (!numbers || length > NATIVE_SHORT ||
        hmath_list_from_doubles(ctx, numbers, (size_t)length, &list) != HMATH_OK)
        return NULL;
    return list;
}

hmath_value *native_argument(hmath_context *ctx, char form, PyObject *x)
{
    hmath_value *value = form == 'v' || form == 'x' || form == 't' || form == 'l' || form == 'L'
                             ? native_value(x)
                             : NULL;
    if (value || form == 'v')
        return value;
    double number;
    int64_t integer;
    hmath_status st = HMATH_BAD_ARGUMENT;
    switch (form) {
    case 'x':
    case 'd':
        if (native_number(x, &number))
            st = hmath_double_create(ctx, number, &value);
        break;
    case 't':
        if (native_number(x, &number))
            st = hmath_tensor_create(ctx, 0, NULL, &number, &value);
        break;
    case 'i':
        if (native_integer(x, &integer))
            st = hmath_int_create(ctx, integer, &value);
        break;
    case 'b':
        if (x == Py_True || x == Py_False)
            st = hmath_bool_create(ctx, x == Py_True, &value);
        break;
    default: return list_of(ctx, x);
    }
    return st == HMATH_OK ? value : NULL;
}

/* ---------------------------------------------------------------- results */

PyObject *native_floats(const double *numbers, Py_ssize_t length)
{
    PyObject *list = PyList_New(length);
    for (Py_ssize_t i = 0; list && i < length; i++) {
        PyObject *number = PyFloat_FromDouble(numbers[i]);
        if (!number || PyList_SetItem(list, i, number) != 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *native_object(hmath_value *value, PyObject *container)
{
    const double *numbers = NULL;
    double number;
    size_t length = 0;
    PyObject *result = NULL;
    switch (hmath_kind(value)) {
    case HMATH_KIND_DOUBLE:
        if (hmath_double_get(value, &number) == HMATH_OK)
            result = PyFloat_FromDouble(number);
        break;
    case HMATH_KIND_LIST:
        if (hmath_list_doubles(value, &numbers, &length) != HMATH_OK)
            result = Py_NewRef(Py_None);
        else if (container && Py_TYPE(container) == array_class)
            result = array_of(container, numbers, (Py_ssize_t)length);
        else
            result = native_floats(numbers, (Py_ssize_t)length);
        break;
    default: return native_own_kind(value);
    }
    hmath_release(value);
    return result;
}

/* ---------------------------------------------------------------- calls */

enum { ARGUMENTS = 4 };

typedef hmath_status function1(hmath_context *, const hmath_value *, hmath_value **);
typedef hmath_status function2(hmath_context *, const hmath_value *, const hmath_value *,
                               hmath_value **);
typedef hmath_status function3(hmath_context *, const hmath_value *, const hmath_value *,
                               const hmath_value *, hmath_value **);
typedef hmath_status function4(hmath_context *, const hmath_value *, const hmath_value *,
                               const hmath_value *, const hmath_value *, hmath_value **);

typedef struct short_way {
    void (*function)(void);
    int count;
    char form[ARGUMENTS + 1];
} short_way;

static hmath_status apply(hmath_context *ctx, const short_way *way, hmath_value *const v[],
                          hmath_value **out)
{
    switch (way->count) {
    case 1: return ((function1 *)way->function)(ctx, v[0], out);
    case 2: return ((function2 *)way->function)(ctx, v[0], v[1], out);
    case 3: return ((function3 *)way->function)(ctx, v[0], v[1], v[2], out);
    default: return ((function4 *)way->function)(ctx, v[0], v[1], v[2], v[3], out);
    }
}

/* Is so little to do that the GIL may be kept? */
static int tiny(hmath_value *const values[], int count)
{
    int64_t pairs = 1;
    for (int i = 0; i < count; i++) {
        const int64_t size = hmath_tensor_size(values[i]);
        if (size > NATIVE_TINY)
            return 0;
        if (size > 1)
            pairs *= size;
        if (pairs > NATIVE_TINY_PAIRS)
            return 0;
    }
    return 1;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const short_way *way = PyCapsule_GetPointer(self, NULL);
    hmath_context *ctx = native_context();
    if (!ctx || !way || count != way->count)
        Py_RETURN_NONE;

    hmath_value *values[ARGUMENTS] = {NULL}, *result = NULL;
    PyObject *container = NULL;
    hmath_status st = HMATH_OK;
    for (int i = 0; i < way->count && st == HMATH_OK; i++) {
        values[i] = native_argument(ctx, way->form[i], arguments[i]);
        if (!values[i])
            st = HMATH_BAD_ARGUMENT;
        if (way->form[i] == 'L')
            container = arguments[i];
    }
    if (st == HMATH_OK && tiny(values, way->count)) {
        st = apply(ctx, way, values, &result);
    } else if (st == HMATH_OK) {
        PyThreadState *thread = PyEval_SaveThread();
        st = apply(ctx, way, values, &result);
        PyEval_RestoreThread(thread);
    }
    for (int i = 0; i < way->count; i++)
        hmath_release(values[i]);
    if (st != HMATH_OK)
        Py_RETURN_NONE;
    return native_object(result, container);
}

static PyMethodDef call_definition = {"short way", (PyCFunction)(void (*)(void))call, METH_FASTCALL,
                                      "The result, or None: take the longer way."};

static void forget(PyObject *capsule) { PyMem_Free(PyCapsule_GetPointer(capsule, NULL)); }

/* short(address, form): the short way into the function there. */
PyObject *native_short(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    void *function = count == 2 ? PyLong_AsVoidPtr(arguments[0]) : NULL;
    Py_ssize_t length = 0;
    const char *form = function ? PyUnicode_AsUTF8AndSize(arguments[1], &length) : NULL;
    if (!form || length < 1 || length > ARGUMENTS || strspn(form, "vxtdiblL") != (size_t)length)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "short(address, form)");
    short_way *way = PyMem_Malloc(sizeof *way);
    if (!way)
        return PyErr_NoMemory();
    way->function = (void (*)(void))(uintptr_t)function;
    way->count = (int)length;
    memcpy(way->form, form, (size_t)length + 1);
    PyObject *capsule = PyCapsule_New(way, NULL, forget);
    if (!capsule) {
        PyMem_Free(way);
        return NULL;
    }
    PyObject *result = PyCFunction_New(&call_definition, capsule);
    Py_DECREF(capsule);
    return result;
}
