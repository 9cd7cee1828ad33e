/* The short way into a program, which has any number of inputs and outputs. */
#include "native.h"

enum { FEW = 16 }; /* inputs and outputs together that need no memory of their own */

/* The outputs of a run as a list; a float for a Double. */
static PyObject *objects(hmath_value **outputs, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = native_object(outputs[i], NULL);
        if (!list || !object || PyList_SetItem(list, i, object) != 0) {
            if (!list)
                Py_XDECREF(object);
            Py_CLEAR(list);
        }
    }
    return list;
}

/*
 * run(program, inputs): the list of outputs; None, and nothing ran, where an input is not usual; the status
 * where the run failed, since it may have called Python functions, whose failure is not to be repeated.
 */
PyObject *native_run(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    hmath_context *ctx = native_context();
    if (!ctx || count != 2 || !PyTuple_CheckExact(arguments[1]))
        Py_RETURN_NONE;
    hmath_value *program = native_value(arguments[0]);
    const Py_ssize_t outputs = (Py_ssize_t)hmath_program_outputs(program);
    const Py_ssize_t inputs = PyTuple_Size(arguments[1]);
    hmath_value *few[FEW] = {NULL}, **values = few;
    if (outputs >= 0 && inputs + outputs > FEW)
        values = PyMem_Calloc((size_t)(inputs + outputs), sizeof *values);
    PyObject *result = NULL;
    if (outputs < 0 || !values) {
        hmath_release(program);
        Py_RETURN_NONE;
    }
    Py_ssize_t made = 0;
    while (made < inputs) {
        values[made] = native_argument(ctx, 'x', PyTuple_GetItem(arguments[1], made));
        if (!values[made])
            break;
        made++;
    }
    if (made == inputs) {
        PyThreadState *thread =
            PyEval_SaveThread(); /* what a program costs only its run can tell */
        const hmath_status st = hmath_program_run(ctx, program, (const hmath_value *const *)values,
                                                  (size_t)inputs, values + inputs, (size_t)outputs);
        PyEval_RestoreThread(thread);
        result = st == HMATH_OK ? objects(values + inputs, outputs) : PyLong_FromLong(st);
    } else {
        result = Py_NewRef(Py_None);
    }
    for (Py_ssize_t i = 0; i < made; i++)
        hmath_release(values[i]);
    hmath_release(program);
    if (values != few)
        PyMem_Free(values);
    return result;
}
