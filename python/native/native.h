/*
 * hmath._native: who owns a handle in Python, and the short ways into the library.
 *
 * The package calls the library through cffi. What cffi cannot make cheap stands here: an object that
 * holds a hmath_value and gives it back when it goes (handle.c), and calls with the usual small
 * arguments that make no Python object on the way (short.c, tensor.c, program.c). A short way checks nothing and
 * reports nothing: whatever is not usual, a refusal by the library included, makes it return None, and
 * the caller takes the longer way, which finds out what is wrong and says so.
 *
 * The module is of one interpreter and lives under the GIL, as cffi's modules do.
 */
#ifndef HMATH_PYTHON_NATIVE_H
#define HMATH_PYTHON_NATIVE_H

#include <Python.h>

#include "hmath_deeplearning.h"

/* ---------------------------------------------------------------- handles (handle.c) */

/* Make the type and add it to the module: 0, or -1 with an exception, as everything that returns int. */
int native_add_handle(PyObject *module);

/* A reference to the value of an open handle; NULL, without an exception, where x is no such thing. */
hmath_value *native_value(PyObject *x);

/* A handle of a class for a reference that is ours and goes over, also where there is no memory. */
PyObject *native_own(PyTypeObject *cls, hmath_value *value);

/* The same of the class that owns values of this kind; None, and the value released, without one. */
PyObject *native_own_kind(hmath_value *value);

PyObject *native_handle_own(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_handle_adopt(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_handle_owns(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_handle_address(PyObject *module, PyObject *x);
PyObject *native_handle_views(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* ---------------------------------------------------------------- contexts (module.c) */

/* This thread's context, or NULL as long as the longer way has made none. */
hmath_context *native_context(void);

/* ---------------------------------------------------------------- short ways (short.c) */

enum {
    NATIVE_SHORT = 256, /* numbers in a list; more cost less to describe than to copy */
    /*
     * A call keeps the GIL where giving it back and getting it again would cost as much as the call: every
     * argument is small, and so is the number of their pairs, of which no operation here looks at one twice.
     * The worst, the powers of 65,536 pairs, take a quarter of a millisecond; the interpreter lets a thread have the
     * GIL for five.
     */
    NATIVE_TINY = 1024,
    NATIVE_TINY_PAIRS = 65536
};

/*
 * The numbers of a list or tuple of plain floats and ints: `room`, or what has to be freed where there
 * are more than NATIVE_SHORT; NULL where it is nothing of the kind.
 */
double *native_numbers(PyObject *x, double *room, Py_ssize_t *length);

/* The number that a plain float or int is; 0 where x is nothing of the kind. */
int native_number(PyObject *x, double *number);

/* Is x a plain int of 64 bits? */
int native_integer(PyObject *x, int64_t *integer);

/* A list of floats. */
PyObject *native_floats(const double *numbers, Py_ssize_t length);

/* The Value that an argument stands for in a form, ours to release; NULL where it is not usual. */
hmath_value *native_argument(hmath_context *ctx, char form, PyObject *x);

/* A result as an object, the value taken over; `container`: the argument whose container it takes, or NULL. */
PyObject *native_object(hmath_value *value, PyObject *container);

PyObject *native_short(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_know_array(PyObject *module, PyObject *array_type);

/* ---------------------------------------------------------------- lists of rows (rows.c) */

PyObject *native_packed(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_unpacked(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* ---------------------------------------------------------------- tensors (tensor.c) */

PyObject *native_tensor(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_zeros(PyObject *module, PyObject *shape);
PyObject *native_reduction(PyObject *module, PyObject *address);
PyObject *native_reshaped(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_picked(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_shape(PyObject *module, PyObject *tensor);
PyObject *native_values(PyObject *module, PyObject *tensor);

/* ---------------------------------------------------------------- programs (program.c) */

PyObject *native_run(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* ---------------------------------------------------------------- DLPack (capsule.c) */

PyObject *native_capsule(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_take(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *native_give_back(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
