/* Lists of equal rows, packed and unpacked: masks and biases of attention have millions of elements. */
#include "native.h"

/* A row as the object that stands at an index; NULL, without an exception, where it is no list or tuple. */
static PyObject *row_at(PyObject *rows, Py_ssize_t index, Py_ssize_t columns)
{
    PyObject *row =
        PyList_CheckExact(rows) ? PyList_GetItem(rows, index) : PyTuple_GetItem(rows, index);
    const Py_ssize_t length = PyList_CheckExact(row)    ? PyList_Size(row)
                              : PyTuple_CheckExact(row) ? PyTuple_Size(row)
                                                        : -1;
    return length == columns ? row : NULL;
}

static PyObject *element_at(PyObject *row, Py_ssize_t index)
{
    return PyList_CheckExact(row) ? PyList_GetItem(row, index) : PyTuple_GetItem(row, index);
}

static int pack_bools(PyObject *row, Py_ssize_t columns, uint8_t *out)
{
    for (Py_ssize_t j = 0; j < columns; j++) {
        const PyObject *x = element_at(row, j);
        if (x != Py_True && x != Py_False)
            return 0;
        out[j] = x == Py_True;
    }
    return 1;
}

static int pack_doubles(PyObject *row, Py_ssize_t columns, double *out)
{
    for (Py_ssize_t j = 0; j < columns; j++)
        if (!native_number(element_at(row, j), &out[j]))
            return 0;
    return 1;
}

/*
 * packed(rows, count, columns, bools, address): the elements, bools or else plain numbers, one behind the other
 * to an address that has room for them. False where a row or an element is anything else, or where another
 * thread has changed their number since the room was made.
 */
PyObject *native_packed(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 5 || !(PyList_CheckExact(arguments[0]) || PyTuple_CheckExact(arguments[0])))
        Py_RETURN_FALSE;
    PyObject *rows = arguments[0];
    const Py_ssize_t n = PyList_CheckExact(rows) ? PyList_Size(rows) : PyTuple_Size(rows);
    const Py_ssize_t expected = PyLong_AsSsize_t(arguments[1]),
                     columns = PyLong_AsSsize_t(arguments[2]);
    const int bools = PyObject_IsTrue(arguments[3]);
    void *out = PyLong_AsVoidPtr(arguments[4]);
    if (PyErr_Occurred())
        return NULL;
    if (n != expected)
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *row = row_at(rows, i, columns);
        if (!row || !(bools ? pack_bools(row, columns, (uint8_t *)out + i * columns)
                            : pack_doubles(row, columns, (double *)out + i * columns)))
            Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

static PyObject *bools(const uint8_t *from, Py_ssize_t length)
{
    PyObject *list = PyList_New(length);
    for (Py_ssize_t j = 0; list && j < length; j++)
        if (PyList_SetItem(list, j, PyBool_FromLong(from[j])) != 0)
            Py_CLEAR(list);
    return list;
}

/* unpacked(address, rows, columns, bools): the elements there as a list of lists, each row one of its own. */
PyObject *native_unpacked(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "unpacked(address, rows, columns, bools)");
    const void *from = PyLong_AsVoidPtr(arguments[0]);
    const Py_ssize_t n = PyLong_AsSsize_t(arguments[1]), columns = PyLong_AsSsize_t(arguments[2]);
    const int are_bools = PyObject_IsTrue(arguments[3]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *rows = PyList_New(n);
    for (Py_ssize_t i = 0; rows && i < n; i++) {
        PyObject *row = are_bools ? bools((const uint8_t *)from + i * columns, columns)
                                  : native_floats((const double *)from + i * columns, columns);
        if (!row || PyList_SetItem(rows, i, row) != 0)
            Py_CLEAR(rows);
    }
    return rows;
}
