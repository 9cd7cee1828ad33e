/*
 * The owner of one reference to a value: released when the object goes, or before, by dropping it.
 *
 * A handle has its reference in one form or in both, and makes the other when it is asked for: the pointer,
 * which the functions of this module take, and the view, cffi's object for the pointer with a reference of
 * its own, which the longer way takes. A view that is out in a call keeps the value alive whatever happens
 * to the handle meanwhile, so that one thread may drop what another one is using.
 */
#include "native.h"

#include <structmember.h>

typedef struct handle {
    PyObject_HEAD hmath_value *value; /* a reference of ours, or NULL */
    PyObject *view;                   /* a cdata that owns another one, or NULL */
    PyObject *weak_references;
} handle;

static PyTypeObject *handle_type;

/* The class that owns values of a kind. */
enum { KINDS = HMATH_KIND_PROGRAM + 1 };
static PyObject *classes[KINDS];

/* Python's functions from a pointer, as an int, to a view, and back. */
static PyObject *view_of, *address_of;

/* ---------------------------------------------------------------- the two forms */

/*
 * Making a form runs Python code, and other threads with it: what they did to the handle meanwhile stands.
 */

/* From a view to the pointer, with a reference. */
static hmath_value *value_of_view(PyObject *view)
{
    Py_INCREF(view);
    PyObject *address = PyObject_CallFunctionObjArgs(address_of, view, NULL);
    hmath_value *value = address ? hmath_retain(PyLong_AsVoidPtr(address)) : NULL;
    Py_XDECREF(address);
    Py_DECREF(view);
    if (!value)
        PyErr_Clear(); /* no memory: the longer way can do without the pointer */
    return value;
}

hmath_value *native_value(PyObject *x)
{
    if (!PyObject_TypeCheck(x, handle_type))
        return NULL;
    handle *self = (handle *)x;
    if (!self->value && self->view) {
        hmath_value *value = value_of_view(self->view);
        if (self->value || !self->view)
            hmath_release(value);
        else
            self->value = value;
    }
    return hmath_retain(self->value);
}

/* self._handle: the view, or None where the reference was dropped. */
static PyObject *get_view(PyObject *x, void *closure)
{
    (void)closure;
    handle *self = (handle *)x;
    PyObject *view = self->view;
    if (!view && !self->value)
        Py_RETURN_NONE;
    if (!view) {
        hmath_value *value = hmath_retain(self->value);
        PyObject *address = PyLong_FromVoidPtr(value);
        view = address ? PyObject_CallFunctionObjArgs(view_of, address, NULL) : NULL;
        Py_XDECREF(address);
        if (!view) {
            hmath_release(value);
            return NULL;
        }
        if (self->view || !self->value)
            return view;
        self->view = view;
    }
    Py_INCREF(view);
    return view;
}

/* Give up what the handle holds. Whatever runs on the way finds it empty. */
static void drop(handle *self)
{
    hmath_value *value = self->value;
    PyObject *view = self->view;
    self->value = NULL;
    self->view = NULL;
    hmath_release(value);
    Py_XDECREF(view);
}

static PyObject *get_closed(PyObject *x, void *closure)
{
    (void)closure;
    const handle *self = (const handle *)x;
    return PyBool_FromLong(!self->value && !self->view);
}

static PyObject *drop_method(PyObject *x, PyObject *unused)
{
    (void)unused;
    drop((handle *)x);
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- making and unmaking */

PyObject *native_own(PyTypeObject *cls, hmath_value *value)
{
    const allocfunc allocate = (allocfunc)PyType_GetSlot(cls, Py_tp_alloc);
    handle *self = (handle *)allocate(cls, 0);
    if (!self) {
        hmath_release(value);
        return NULL;
    }
    self->value = value;
    return (PyObject *)self;
}

PyObject *native_own_kind(hmath_value *value)
{
    const int32_t kind = hmath_kind(value);
    if (kind >= 0 && kind < KINDS && classes[kind])
        return native_own((PyTypeObject *)classes[kind], value);
    hmath_release(value);
    Py_RETURN_NONE;
}

static void deallocate(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    handle *self = (handle *)x;
    if (self->weak_references)
        PyObject_ClearWeakRefs(x);
    /* With a graph go functions of Python's, and this may happen while an exception is on its way. */
    PyObject *kind, *exception, *traceback;
    PyErr_Fetch(&kind, &exception, &traceback);
    drop(self);
    PyErr_Restore(kind, exception, traceback);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(x);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- the type */

static PyGetSetDef properties[] = {
    {"_handle", get_view, NULL, "The handle as cffi's functions take it; None: dropped.", NULL},
    {"_dropped", get_closed, NULL, "Whether the reference was given back.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"_drop", drop_method, METH_NOARGS, "Give the reference back. Doing it twice is fine."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(handle, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "One reference to a value of the library."},
    {Py_tp_dealloc, deallocate},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "hmath._native.Handle",
    .basicsize = sizeof(handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int native_add_handle(PyObject *module)
{
    handle_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!handle_type)
        return -1;
    return PyModule_AddObjectRef(module, "Handle", (PyObject *)handle_type);
}

/* ---------------------------------------------------------------- functions of the module */

static PyTypeObject *class_of(PyObject *cls)
{
    if (PyType_Check(cls) && PyType_IsSubtype((PyTypeObject *)cls, handle_type))
        return (PyTypeObject *)cls;
    PyErr_SetString(PyExc_TypeError, "a class of handles is needed");
    return NULL;
}

/* own(cls, address): a handle for a reference that is ours. */
PyObject *native_handle_own(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    PyTypeObject *cls = count == 2 ? class_of(arguments[0]) : NULL;
    hmath_value *value = cls ? PyLong_AsVoidPtr(arguments[1]) : NULL;
    if (!value)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "own(cls, address)");
    return native_own(cls, value);
}

/* adopt(cls, view): a handle for what a cdata owns. */
PyObject *native_handle_adopt(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    PyTypeObject *cls = count == 2 ? class_of(arguments[0]) : NULL;
    if (!cls)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "adopt(cls, view)");
    PyObject *self = native_own(cls, NULL);
    if (self) {
        Py_INCREF(arguments[1]);
        ((handle *)self)->view = arguments[1];
    }
    return self;
}

/* owns(kind, cls): from now on results of this kind are handles of this class. */
PyObject *native_handle_owns(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    int64_t kind = -1;
    PyTypeObject *cls = count == 2 ? class_of(arguments[1]) : NULL;
    if (!cls || !native_integer(arguments[0], &kind) || kind < 0 || kind >= KINDS)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "owns(kind, cls)");
    Py_INCREF(cls);
    Py_XDECREF(classes[kind]);
    classes[kind] = (PyObject *)cls;
    Py_RETURN_NONE;
}

/* views(view_of, address_of): how cffi makes its object of a pointer with a reference, and back. */
PyObject *native_handle_views(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "views(view_of, address_of)");
    Py_INCREF(arguments[0]);
    Py_INCREF(arguments[1]);
    Py_XDECREF(view_of);
    Py_XDECREF(address_of);
    view_of = arguments[0];
    address_of = arguments[1];
    Py_RETURN_NONE;
}

/* address(x): of an open handle's value; None for anything else. */
PyObject *native_handle_address(PyObject *module, PyObject *x)
{
    (void)module;
    hmath_value *value = native_value(x);
    PyObject *address = value ? PyLong_FromVoidPtr(value) : Py_NewRef(Py_None);
    hmath_release(value);
    return address;
}
