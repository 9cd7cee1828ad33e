/* The module's functions by name, and the context of each thread. */
#include "native.h"

#include <pthread.h>

/* ---------------------------------------------------------------- contexts */

/*
 * Made by the longer way, with the options in force, and destroyed with the thread; the main thread's with
 * the interpreter. A forked process goes on with the context of the thread that forked.
 */
static _Thread_local hmath_context *context;
static pthread_key_t thread_exit;

hmath_context *native_context(void) { return context; }

static void destroy(void *of_thread)
{
    hmath_context_destroy(of_thread);
    context = NULL;
}

static void destroy_last(void)
{
    hmath_context *last = context;
    pthread_setspecific(thread_exit, NULL);
    destroy(last);
}

/* context(): the address of this thread's, or 0. */
static PyObject *get_context(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromVoidPtr(context);
}

/* use_context(address): this thread's from now on, which has none yet. */
static PyObject *use_context(PyObject *module, PyObject *address)
{
    (void)module;
    hmath_context *given = PyLong_AsVoidPtr(address);
    if (!given)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "use_context(address)");
    if (pthread_setspecific(thread_exit, given) != 0) {
        hmath_context_destroy(given);
        return PyErr_NoMemory();
    }
    context = given;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the module */

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef functions[] = {
    {"own", FAST(native_handle_own), METH_FASTCALL, NULL},
    {"adopt", FAST(native_handle_adopt), METH_FASTCALL, NULL},
    {"owns", FAST(native_handle_owns), METH_FASTCALL, NULL},
    {"views", FAST(native_handle_views), METH_FASTCALL, NULL},
    {"address", native_handle_address, METH_O, NULL},
    {"context", get_context, METH_NOARGS, NULL},
    {"use_context", use_context, METH_O, NULL},
    {"know_array", native_know_array, METH_O, NULL},
    {"short", FAST(native_short), METH_FASTCALL, NULL},
    {"reduction", native_reduction, METH_O, NULL},
    {"packed", FAST(native_packed), METH_FASTCALL, NULL},
    {"unpacked", FAST(native_unpacked), METH_FASTCALL, NULL},
    {"tensor", FAST(native_tensor), METH_FASTCALL, NULL},
    {"zeros", native_zeros, METH_O, NULL},
    {"reshaped", FAST(native_reshaped), METH_FASTCALL, NULL},
    {"picked", FAST(native_picked), METH_FASTCALL, NULL},
    {"shape", native_shape, METH_O, NULL},
    {"values", native_values, METH_O, NULL},
    {"run", FAST(native_run), METH_FASTCALL, NULL},
    {"capsule", FAST(native_capsule), METH_FASTCALL, NULL},
    {"take", FAST(native_take), METH_FASTCALL, NULL},
    {"give_back", FAST(native_give_back), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hmath._native",
    .m_doc = "Handles, and the short ways into the library; described in _native.pyi.",
    .m_size = -1, /* of one interpreter */
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void); /* what the interpreter looks for */

PyMODINIT_FUNC PyInit__native(void)
{
    if (pthread_key_create(&thread_exit, destroy) != 0)
        return PyErr_NoMemory();
    PyObject *module = PyModule_Create(&definition);
    if (!module || native_add_handle(module) != 0) {
        Py_XDECREF(module);
        return NULL;
    }
    (void)Py_AtExit(destroy_last); /* where there is no room for it, the process's end will do */
    return module;
}
